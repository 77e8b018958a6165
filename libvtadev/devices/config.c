// SPDX-License-Identifier: Apache-2.0
/*
 * config.c - which core a device is to have; the emulator's reader finds what is wrong
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>

#include "devices/config.h"
#include "vtadev_device.h"

/* The clock that the model's cycles are of, as the emulated card's. */
#define CLOCK_KHZ	100000u

static void describe(const struct core_config *config, struct vta_info *info)
{
	info->clock_khz = CLOCK_KHZ;
	info->hw_ver = config->hw_ver;
	info->log_inp_width = (uint8_t)config->log_inp_width;
	info->log_wgt_width = (uint8_t)config->log_wgt_width;
	info->log_acc_width = (uint8_t)config->log_acc_width;
	info->log_batch = (uint8_t)config->log_batch;
	info->log_block = (uint8_t)config->log_block;
	info->log_uop_buff_size = (uint8_t)config->log_uop_buff_size;
	info->log_inp_buff_size = (uint8_t)config->log_inp_buff_size;
	info->log_wgt_buff_size = (uint8_t)config->log_wgt_buff_size;
	info->log_acc_buff_size = (uint8_t)config->log_acc_buff_size;
	info->log_tokens = (uint8_t)config->log_tokens;
	info->log_waiting = (uint8_t)config->log_waiting;
}

int config_open(const char *path, struct core_config *config, struct vta_info *info, char *why,
		size_t why_size)
{
	char err[VTADEV_DEVICE_WHY_MAX / 2];

	*config = core_config_default;
	if (*path && core_config_load(config, path, err, sizeof(err))) {
		snprintf(why, why_size, "%.100s: %s", path, err);
		return -EINVAL;
	}
	describe(config, info);
	return 0;
}

int config_cores(const char *path, unsigned int most, uint16_t *cores, char *why, size_t why_size)
{
	struct json_object *root = *path ? json_object_from_file(path) : NULL, *value;
	int64_t n = 0;
	int err = 0;

	if (root && json_object_object_get_ex(root, "CORES", &value)) {
		n = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
		if (n < 1 || n > most) {
			snprintf(why, why_size, "%.100s: CORES is %.20s, but must be 1 to %u", path,
				 json_object_to_json_string(value), most);
			err = -EINVAL;
		}
	}
	json_object_put(root);
	if (!err && n)
		*cores = (uint16_t)n;
	return err;
}
