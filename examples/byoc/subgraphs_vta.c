// SPDX-License-Identifier: Apache-2.0
/*
 * subgraphs_vta.c - the function for the card: a program image, and tensors for it
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "subgraphs.h"
#include "vtaprog.h"

#define WAIT_NS	(10 * 1000000000ll)

static struct {
	struct vtadev_queue *queue;
	struct vtaprog *prog;
	const struct vtaimage_tensor *arg, *out;
	void *arg_data, *out_data;
	unsigned int copies;
	char why[VTAPROG_WHY_MAX];
} module;

/* Find tensor @name of the program, and its memory. */
static const struct vtaimage_tensor *find(const char *name, void **data)
{
	for (uint32_t i = 0; i < vtaprog_tensors(module.prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(module.prog, i);

		if (!strcmp(t->name, name) && !vtaprog_map(module.prog, i, data))
			return t;
	}
	return NULL;
}

static void count_copies(const struct vtaimage *image)
{
	struct vtaimage_step step;

	for (uint32_t i = 0; i < image->step_count; i++) {
		vtaimage_step(image, i, &step);
		module.copies += step.kind == VTAIMAGE_COPY;
	}
}

int32_t digits_vta_init(struct vtadev *dev)
{
	struct vtaimage image;
	int err;

	if (vtaimage_open(&image, digits_vta_image, digits_vta_size)) {
		snprintf(module.why, sizeof(module.why), "%s", image.why);
		return -EINVAL;
	}
	err = vtadev_queue_create(dev, NULL, &module.queue);
	if (!err)
		err = vtaprog_load(dev, module.queue, &image, &module.prog, module.why);
	if (err)
		return err;
	module.arg = find("arg", &module.arg_data);
	module.out = find("out", &module.out_data);
	count_copies(&image);
	return module.arg && module.out ? 0 : -ENOENT;
}

void digits_vta_exit(void)
{
	vtaprog_free(module.prog);
	vtadev_queue_destroy(module.queue);
	module.prog = NULL;
	module.queue = NULL;
}

const char *digits_vta_error(void)
{
	return module.why;
}

unsigned int digits_vta_copies(void)
{
	return module.copies;
}

/* Check that the function was made for @t: int8 of the CPU, of its shape, without strides. */
static bool is_tensor(const DLTensor *t, const struct vtaimage_tensor *like)
{
	if (t->device.device_type != kDLCPU || !t->data || t->dtype.code != kDLInt ||
	    t->dtype.bits != 8 || t->dtype.lanes != 1 || t->strides ||
	    t->ndim != (int)like->rank)
		return false;
	for (int i = 0; i < t->ndim; i++)
		if (t->shape[i] != like->dims[i])
			return false;
	return true;
}

int32_t digits_vta(DLTensor *arg, DLTensor *out)
{
	int err;

	if (!is_tensor(arg, module.arg) || !is_tensor(out, module.out))
		return -EINVAL;
	memcpy(module.arg_data, (const char *)arg->data + arg->byte_offset, module.arg->bytes);
	err = vtaprog_run(module.prog, WAIT_NS);
	if (!err)
		memcpy((char *)out->data + out->byte_offset, module.out_data, module.out->bytes);
	return err;
}
