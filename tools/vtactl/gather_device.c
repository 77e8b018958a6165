// SPDX-License-Identifier: GPL-2.0-only
/*
 * gather_device.c - gather the status of a device in the process, as JSON
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "gather.h"
#include "vtadev.h"

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_uint64(value));
}

static void add_text(struct json_object *to, const char *name, const char *text)
{
	json_object_object_add(to, name, json_object_new_string(text));
}

static struct json_object *config_of(const struct vtadev_info *info)
{
	struct json_object *config = json_object_new_object();

	add_number(config, "LOG_ACC_BUFF_SIZE", info->log_acc_buff_size);
	add_number(config, "LOG_ACC_WIDTH", info->log_acc_width);
	add_number(config, "LOG_BATCH", info->log_batch);
	add_number(config, "LOG_BLOCK", info->log_block);
	add_number(config, "LOG_INP_BUFF_SIZE", info->log_inp_buff_size);
	add_number(config, "LOG_INP_WIDTH", info->log_inp_width);
	add_number(config, "LOG_TOKENS", info->log_tokens);
	add_number(config, "LOG_UOP_BUFF_SIZE", info->log_uop_buff_size);
	add_number(config, "LOG_WAITING", info->log_waiting);
	add_number(config, "LOG_WGT_BUFF_SIZE", info->log_wgt_buff_size);
	add_number(config, "LOG_WGT_WIDTH", info->log_wgt_width);
	return config;
}

static struct json_object *total(uint64_t value)
{
	struct json_object *both = json_object_new_object();

	add_number(both, "total", value);
	json_object_object_add(both, "used", NULL);
	return both;
}

static struct json_object *memory_of(struct vtadev *dev)
{
	struct json_object *memory = json_object_new_object();
	uint64_t bytes;

	add_number(memory, "size", vtadev_info(dev)->mem_size);
	json_object_object_add(memory, "free", vtadev_mem_free(dev, &bytes) ? NULL :
			       json_object_new_uint64(bytes));
	return memory;
}

/* Values that only the driver knows. */
static void add_unknown(struct json_object *to)
{
	static const char *const names[] = {
		"state", "generation", "vectors", "temperature", "power", "throttled", "holders",
		"usage", "recovery", "counters", "faults", "resets",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_object_object_add(to, names[i], NULL);
}

int gather_device(const char *which, struct json_object **status)
{
	const struct vtadev_info *info;
	struct json_object *s;
	struct vtadev *dev;
	char text[64];
	int tvm, err = vtadev_open(which, &dev);

	if (err)
		return err;
	*status = s = json_object_new_object();
	info = vtadev_info(dev);
	json_object_object_add(s, "index", NULL);
	add_text(s, "node", info->card.node);
	json_object_object_add(s, "accessible", json_object_new_boolean(true));
	json_object_object_add(s, "pci", NULL);
	snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, info->contract_major,
		 info->contract_minor);
	add_text(s, "contract", text);
	snprintf(text, sizeof(text), "%u.%u.%u", info->hw_ver_major, info->hw_ver_minor,
		 info->hw_ver_patch);
	add_text(s, "hw_ver", text);
	snprintf(text, sizeof(text), "%016" PRIx64, info->serial);
	add_text(s, "serial", text);
	add_number(s, "clock_khz", info->clock_khz);
	json_object_object_add(s, "memory", memory_of(dev));
	json_object_object_add(s, "queues", total(info->queues));
	json_object_object_add(s, "contexts", total(info->contexts));
	json_object_object_add(s, "config", config_of(info));
	tvm = vtadev_tvm_fields(info->log_uop_depth, info->log_acc_depth);
	json_object_object_add(s, "tvm", json_object_new_boolean(tvm));
	add_unknown(s);
	vtadev_close(dev);
	return 0;
}
