// SPDX-License-Identifier: GPL-2.0-only
/*
 * program.c - vtactl program: say what a program image is, and run it
 *
 * Files of tensors are what people have: one byte for each value, [N][C][H][W], with
 * nothing else. Packing is done here.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"
#include "vtaprog.h"

#define FILE_MAX	((size_t)1 << 31)
#define RUN_NS		(600 * 1000000000ll)

/* All of a file, to be freed; NULL with errno set. */
static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	size_t room = 1 << 16, used = 0;
	uint8_t *data = file ? malloc(room) : NULL, *more;

	while (data) {
		used += fread(data + used, 1, room - used, file);
		if (used < room)
			break;
		errno = EFBIG;
		more = room < FILE_MAX ? realloc(data, room *= 2) : NULL;
		if (!more)
			free(data);
		data = more;
	}
	if (data && ferror(file)) {
		free(data);
		data = NULL;
		errno = EIO;
	}
	if (file)
		fclose(file);
	*size = used;
	return data;
}

static uint8_t *read_image(const char *path, size_t *size, struct vtaimage *image)
{
	uint8_t *data = read_file(path, size);

	if (!data) {
		ctl_fail(path, strerror(errno));
		return NULL;
	}
	if (vtaimage_open(image, data, *size)) {
		ctl_fail(path, image->why);
		free(data);
		return NULL;
	}
	return data;
}

static const char *role_name(enum vtaimage_role role)
{
	return role == VTAIMAGE_INPUT ? "input" : role == VTAIMAGE_OUTPUT ? "output" : "internal";
}

static void add(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_int64((int64_t)value));
}

static struct json_object *tensor_json(const struct vtaimage_tensor *t)
{
	struct json_object *to = json_object_new_object(), *shape = json_object_new_array();
	const uint32_t sizes[] = { t->n, t->c, t->h, t->w };

	for (unsigned int i = 0; i < 4; i++)
		json_object_array_add(shape, json_object_new_int64(sizes[i]));
	json_object_object_add(to, "name", json_object_new_string(t->name));
	json_object_object_add(to, "role", json_object_new_string(role_name(t->role)));
	json_object_object_add(to, "shape", shape);
	add(to, "packed_bytes", t->bytes);
	return to;
}

static void info_json(const struct vtaimage *image)
{
	struct json_object *to = json_object_new_object(), *tensors = json_object_new_array();
	struct json_object *core = json_object_new_object();
	struct vtaimage_tensor t;

	json_object_object_add(to, "name", json_object_new_string(image->name));
	add(core, "LOG_INP_WIDTH", image->core.log_inp_width);
	add(core, "LOG_WGT_WIDTH", image->core.log_wgt_width);
	add(core, "LOG_ACC_WIDTH", image->core.log_acc_width);
	add(core, "LOG_BATCH", image->core.log_batch);
	add(core, "LOG_BLOCK", image->core.log_block);
	add(core, "LOG_UOP_BUFF_SIZE", image->core.log_uop_buff_size);
	add(core, "LOG_INP_BUFF_SIZE", image->core.log_inp_buff_size);
	add(core, "LOG_WGT_BUFF_SIZE", image->core.log_wgt_buff_size);
	add(core, "LOG_ACC_BUFF_SIZE", image->core.log_acc_buff_size);
	json_object_object_add(to, "core", core);
	add(to, "model_bytes", image->model_bytes);
	add(to, "arena_bytes", image->arena_bytes);
	add(to, "instructions", image->insn_count);
	add(to, "relocations", image->reloc_count);
	add(to, "cycles", image->cycles);
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		json_object_array_add(tensors, tensor_json(&t));
	}
	json_object_object_add(to, "tensors", tensors);
	puts(json_object_to_json_string_ext(to, JSON_C_TO_STRING_PRETTY |
						JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(to);
}

static void info_text(const struct vtaimage *image)
{
	const struct vtaops_core *c = &image->core;
	struct vtaimage_tensor t;

	printf("program    %s\n", image->name);
	printf("core       int%u inputs, int%u weights, %u x %u x %u, buffers of %u KiB uop, "
	       "%u KiB inp, %u KiB wgt, %u KiB acc\n",
	       1u << c->log_inp_width, 1u << c->log_wgt_width, c->batch, c->block, c->block,
	       1u << c->log_uop_buff_size >> 10, 1u << c->log_inp_buff_size >> 10,
	       1u << c->log_wgt_buff_size >> 10, 1u << c->log_acc_buff_size >> 10);
	printf("stream     %" PRIu32 " instructions, %" PRIu64 " cycles by the card's model\n",
	       image->insn_count, image->cycles);
	printf("memory     %" PRIu32 " bytes of model, %" PRIu32 " of arena\n",
	       image->model_bytes, image->arena_bytes);
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		printf("%-10s %s [%" PRIu32 "][%" PRIu32 "][%" PRIu32 "][%" PRIu32 "]\n",
		       role_name(t.role), t.name, t.n, t.c, t.h, t.w);
	}
}

int program_info(const char *path, bool json)
{
	struct vtaimage image;
	size_t size;
	uint8_t *data = read_image(path, &size, &image);

	if (!data)
		return 1;
	if (json)
		info_json(&image);
	else
		info_text(&image);
	free(data);
	return 0;
}

/* The file that is given for a tensor, or NULL. */
static const char *file_of(const char *name, char **assigns, int count)
{
	size_t len = strlen(name);

	for (int i = 0; i < count; i++)
		if (!strncmp(assigns[i], name, len) && assigns[i][len] == '=')
			return assigns[i] + len + 1;
	return NULL;
}

/* Every NAME=FILE names an input or an output, and every input has one. */
static int check_assigns(const struct vtaimage *image, char **assigns, int count)
{
	struct vtaimage_tensor t;

	for (int i = 0; i < count; i++) {
		char name[VTAIMAGE_NAME_MAX];
		size_t len = strcspn(assigns[i], "=");
		int at = -1;

		if (assigns[i][len] && len < sizeof(name)) {
			memcpy(name, assigns[i], len);
			name[len] = '\0';
			at = vtaimage_find(image, name);
		}
		if (at >= 0)
			vtaimage_tensor(image, (uint32_t)at, &t);
		if (at < 0 || t.role == VTAIMAGE_INTERNAL)
			return ctl_fail(assigns[i], "not NAME=FILE of an input or output");
	}
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role == VTAIMAGE_INPUT && !file_of(t.name, assigns, count))
			return ctl_fail(t.name, "this input needs a file: NAME=FILE");
	}
	return 0;
}

/* At most 2^32: an image has 1 GiB of them, four in a byte. */
static uint64_t values_of(const struct vtaimage_tensor *t)
{
	return (uint64_t)t->n * t->c * t->h * t->w;
}

static int put_input(const struct vtaops_core *core, const struct vtaimage_tensor *t,
		     const char *path, void *packed)
{
	uint64_t want = values_of(t);
	size_t size;
	uint8_t *data = read_file(path, &size);
	int ret = 0;

	if (!data)
		return ctl_fail(path, strerror(errno));
	if (size != want) {
		fprintf(stderr, "vtactl: %s: has %zu bytes, input %s has %" PRIu64 " values\n",
			path, size, t->name, want);
		ret = 1;
	} else {
		vtaops_pack_act(core, packed, (const int8_t *)data, t->n, t->c, t->h, t->w);
	}
	free(data);
	return ret;
}

static int get_output(const struct vtaops_core *core, const struct vtaimage_tensor *t,
		      const char *path, const void *packed)
{
	size_t count = (size_t)values_of(t);
	int8_t *values = values_of(t) <= FILE_MAX ? malloc(count) : NULL;
	FILE *file;
	int ret = 0;

	if (!values)
		return ctl_fail(path, strerror(values_of(t) <= FILE_MAX ? ENOMEM : EFBIG));
	vtaops_unpack_act(core, values, packed, t->n, t->c, t->h, t->w);
	file = fopen(path, "wbe");
	if (!file || fwrite(values, 1, count, file) != count)
		ret = ctl_fail(path, strerror(errno));
	if (file && fclose(file) && !ret)
		ret = ctl_fail(path, strerror(errno));
	free(values);
	return ret;
}

/* All tensors of a role, from or to their files. */
static int transfer(struct vtaprog *prog, const struct vtaops_core *core, enum vtaimage_role role,
		    char **assigns, int count)
{
	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
		const char *path = file_of(t->name, assigns, count);
		void *packed;

		if (t->role != role || !path || vtaprog_map(prog, i, &packed))
			continue;
		if (role == VTAIMAGE_INPUT ? put_input(core, t, path, packed) :
					     get_output(core, t, path, packed))
			return 1;
	}
	return 0;
}

static int run_on(struct vtadev *dev, const char *path, const uint8_t *data, size_t size,
		  const struct vtaimage *image, char **assigns, int count)
{
	struct vtadev_queue *queue;
	char why[VTAPROG_WHY_MAX], text[VTADEV_FAULT_TEXT_MAX];
	struct vtadev_fault fault;
	struct vtaprog *prog = NULL;
	uint64_t seq;
	int ret, err;

	err = vtadev_queue_create(dev, NULL, &queue);
	if (err)
		return ctl_fail("making a queue", vtadev_strerror(err));
	ret = vtaprog_load(dev, queue, data, size, &prog, why) ? ctl_fail(path, why) : 0;
	if (!ret)
		ret = transfer(prog, &image->core, VTAIMAGE_INPUT, assigns, count);
	if (!ret) {
		err = vtaprog_submit(prog, &seq);
		if (!err)
			err = vtadev_wait(queue, seq, RUN_NS);
		if (err)
			ret = ctl_fail(path, ctl_why(dev, err, text));
		if (err == -EIO && !vtadev_fault(queue, &fault)) {
			vtadev_fault_text(&fault, text, sizeof(text));
			ctl_fail(path, text);
		}
	}
	if (!ret)
		ret = transfer(prog, &image->core, VTAIMAGE_OUTPUT, assigns, count);
	vtadev_queue_destroy(queue);
	vtaprog_free(prog);
	return ret;
}

int program_run(const char *which, const char *path, char **assigns, int count)
{
	struct vtadev_card *cards;
	struct vtaimage image;
	struct vtadev *dev;
	size_t size, nr_cards;
	uint8_t *data = read_image(path, &size, &image);
	int ret;

	if (!data)
		return CTL_ERROR;
	ret = check_assigns(&image, assigns, count);
	if (ret)
		goto out;
	ret = ctl_cards(which, &cards, &nr_cards);
	if (ret)
		goto out;
	ret = ctl_open(&cards[0], &dev);
	vtadev_list_free(cards);
	if (ret)
		goto out;
	ret = run_on(dev, path, data, size, &image, assigns, count);
	vtadev_close(dev);
out:
	free(data);
	return ret;
}
