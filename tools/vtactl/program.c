// SPDX-License-Identifier: GPL-2.0-only
/*
 * program.c - vtactl program info: describe a program image
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"
#include "values.h"

uint8_t *program_read(const char *path, struct vtaimage *image)
{
	size_t size;
	uint8_t *data = values_read_file(path, &size);

	if (!data) {
		ctl_fail(path, strerror(errno));
		return NULL;
	}
	if (vtaimage_open(image, data, size)) {
		ctl_fail(path, image->why);
		free(data);
		return NULL;
	}
	return data;
}

static const char *role_name(enum vtaimage_role role)
{
	return role == VTAIMAGE_INPUT ? "input" : role == VTAIMAGE_OUTPUT ? "output" :
	       role == VTAIMAGE_SIZE ? "size" : "internal";
}

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_int64((int64_t)value));
}

static struct json_object *tensor_json(const struct vtaimage_tensor *t)
{
	struct json_object *to = json_object_new_object(), *shape = json_object_new_array();

	for (uint32_t i = 0; i < t->rank; i++)
		json_object_array_add(shape, json_object_new_int64(t->dims[i]));
	json_object_object_add(to, "name", json_object_new_string(t->name));
	json_object_object_add(to, "role", json_object_new_string(role_name(t->role)));
	json_object_object_add(to, "type", json_object_new_string(values_type_name(t->type)));
	json_object_object_add(to, "shape", shape);
	if (t->layout == VTAIMAGE_PACKED)
		add_number(to, "packed_bytes", t->bytes);
	if (t->role == VTAIMAGE_SIZE)
		add_number(to, "dimension", (uint64_t)t->zero);
	if (t->scale > 0) {
		json_object_object_add(to, "scale", json_object_new_double((double)t->scale));
		json_object_object_add(to, "zero", json_object_new_int(t->zero));
	}
	return to;
}

static uint64_t instructions(const struct vtaimage *image)
{
	struct vtaimage_stream stream;
	uint64_t count = 0;

	for (uint32_t i = 0; i < image->stream_count; i++) {
		vtaimage_stream(image, i, &stream);
		count += stream.insn_count;
	}
	return count;
}

static uint64_t cpu_steps(const struct vtaimage *image)
{
	struct vtaimage_step step;
	uint64_t count = 0;

	for (uint32_t i = 0; i < image->step_count; i++) {
		vtaimage_step(image, i, &step);
		count += step.kind == VTAIMAGE_CPU;
	}
	return count;
}

static struct json_object *info_json(const struct vtaimage *image)
{
	struct json_object *to = json_object_new_object(), *tensors = json_object_new_array();
	struct json_object *core = json_object_new_object();
	struct vtaimage_tensor t;

	json_object_object_add(to, "name", json_object_new_string(image->name));
	add_number(to, "version", image->version);
	add_number(core, "LOG_INP_WIDTH", image->core.log_inp_width);
	add_number(core, "LOG_WGT_WIDTH", image->core.log_wgt_width);
	add_number(core, "LOG_ACC_WIDTH", image->core.log_acc_width);
	add_number(core, "LOG_BATCH", image->core.log_batch);
	add_number(core, "LOG_BLOCK", image->core.log_block);
	add_number(core, "LOG_UOP_BUFF_SIZE", image->core.log_uop_buff_size);
	add_number(core, "LOG_INP_BUFF_SIZE", image->core.log_inp_buff_size);
	add_number(core, "LOG_WGT_BUFF_SIZE", image->core.log_wgt_buff_size);
	add_number(core, "LOG_ACC_BUFF_SIZE", image->core.log_acc_buff_size);
	json_object_object_add(to, "core", core);
	add_number(to, "model_bytes", image->model_bytes);
	add_number(to, "arena_bytes", image->arena_bytes);
	add_number(to, "constant_bytes", image->consts_bytes);
	add_number(to, "host_bytes", image->host_bytes);
	add_number(to, "streams", image->stream_count);
	add_number(to, "instructions", instructions(image));
	add_number(to, "cpu_steps", cpu_steps(image));
	add_number(to, "relocations", image->reloc_count);
	add_number(to, "cycles", image->cycles);
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		json_object_array_add(tensors, tensor_json(&t));
	}
	json_object_object_add(to, "tensors", tensors);
	return to;
}

/* The first variant, with an array of all if there are several. */
static void print_json(const struct vtaimage *image)
{
	struct json_object *to = info_json(image), *all = json_object_new_array();
	struct vtaimage variant;

	for (uint32_t i = 0; !vtaimage_variant(image, i, &variant); i++)
		json_object_array_add(all, info_json(&variant));
	if (vtaimage_variants(image) > 1)
		json_object_object_add(to, "variants", all);
	else
		json_object_put(all);
	puts(json_object_to_json_string_ext(to, JSON_C_TO_STRING_PRETTY |
						JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(to);
}

static void print_tensors(const struct vtaimage *image)
{
	struct vtaimage_tensor t;
	uint32_t dim = 0;
	bool sized;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		printf("%-10s %s %s", role_name(t.role), t.name, values_type_name(t.type));
		sized = vtaimage_size_of(image, i, &dim) >= 0;
		for (uint32_t j = 0; j < t.rank; j++)
			printf("%s[%s%" PRIu32 "]", j ? "" : " ", sized && j == dim ? "<=" : "",
			       t.dims[j]);
		puts("");
	}
}

static void print_variant(const struct vtaimage *image, uint32_t number)
{
	if (vtaimage_variants(image) > 1)
		printf("variant    %" PRIu32 "\n", number);
	printf("card       %" PRIu32 " streams, %" PRIu64 " instructions, %" PRIu64
	       " cycles by the card's model\n", image->stream_count, instructions(image),
	       image->cycles);
	printf("host       %" PRIu64 " steps by the CPU\n", cpu_steps(image));
	printf("memory     %" PRIu32 " bytes of model, %" PRIu32 " of arena, on the card; %" PRIu32
	       " of constants, %" PRIu32 " of host memory\n", image->model_bytes,
	       image->arena_bytes, image->consts_bytes, image->host_bytes);
	print_tensors(image);
}

static void info_text(const struct vtaimage *image)
{
	const struct vtaops_core *c = &image->core;
	struct vtaimage variant;

	printf("program    %s\n", image->name);
	printf("core       int%u inputs, int%u weights, %u x %u x %u, buffers of %u KiB uop, "
	       "%u KiB inp, %u KiB wgt, %u KiB acc\n",
	       1u << c->log_inp_width, 1u << c->log_wgt_width, c->batch, c->block, c->block,
	       1u << c->log_uop_buff_size >> 10, 1u << c->log_inp_buff_size >> 10,
	       1u << c->log_wgt_buff_size >> 10, 1u << c->log_acc_buff_size >> 10);
	for (uint32_t i = 0; !vtaimage_variant(image, i, &variant); i++)
		print_variant(&variant, i);
}

int program_info(const char *path, bool json)
{
	struct vtaimage image;
	uint8_t *data = program_read(path, &image);

	if (!data)
		return 1;
	if (json)
		print_json(&image);
	else
		info_text(&image);
	free(data);
	return 0;
}
