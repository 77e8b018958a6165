// SPDX-License-Identifier: Apache-2.0
/* Programs on a card: memory for an image's two segments, and for its tensors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "vtaprog.h"

#define UPLOAD_NS	(60 * 1000000000ll)

struct vtaprog {
	struct vtadev_queue *queue;
	struct vtadev_buf *model, *arena;	/* card memory; arena may be NULL */
	struct vtadev_buf *host;		/* inputs and outputs, one behind the other */
	uint8_t *map;
	struct vtaimage_tensor *tensors;
	uint32_t *at;				/* where each is in @host */
	uint32_t count;
	struct vta_desc *work;			/* a run */
	unsigned int descs;
};

int vtaprog_core(const struct vtadev *dev, struct vtaops_core *core)
{
	const struct vtadev_info *info = vtadev_info(dev);

	*core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	return vtaops_core_init(core) ? -EPROTO : 0;
}

static int said(int err, char *why, const char *what)
{
	snprintf(why, VTAPROG_WHY_MAX, "%s: %s", what, vtadev_strerror(err));
	return err;
}

/* A run is one batch: see vtaprog_submit(). */
static int fits_ring(const struct vtadev_queue *queue, const struct vtaimage *image,
		     char why[VTAPROG_WHY_MAX])
{
	uint32_t entries = vtadev_queue_entries(queue), descs = 1, needed = 1;
	struct vtaimage_tensor tensor;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &tensor);
		descs += tensor.role != VTAIMAGE_INTERNAL;
	}
	if (descs <= entries)
		return 0;
	while (needed < descs)
		needed *= 2;
	snprintf(why, VTAPROG_WHY_MAX, "a run is %u descriptors, the queue's ring holds %u: "
		 "make it with ring_entries = %u or more", descs, entries, needed);
	return -ENOSPC;
}

static int load_model(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	struct vtadev_buf *staging;
	struct vta_desc copy;
	uint64_t seq;
	void *map;
	int err;

	err = vtadev_buf_alloc(dev, image->model_bytes, VTADEV_HOST, &staging);
	if (err)
		return err;
	err = vtadev_buf_map(staging, &map);
	if (!err && vtaimage_place(image, vtadev_buf_addr(prog->model),
				   prog->arena ? vtadev_buf_addr(prog->arena) : 0, map))
		err = -EINVAL;
	if (!err) {
		copy = vtadev_desc_copy(vtadev_buf_addr(prog->model), vtadev_buf_addr(staging),
					image->model_bytes);
		err = vtadev_submit(prog->queue, &copy, 1, &seq);
	}
	if (!err)
		err = vtadev_wait(prog->queue, seq, UPLOAD_NS);
	vtadev_buf_free(staging);
	return err;
}

/* The tensors' places with the host, and the descriptors of a run. */
static int make_tensors(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	uint64_t total = 0;
	uint32_t host, card, i;
	void *map;
	int err;

	prog->tensors = calloc(image->tensor_count + 1, sizeof(*prog->tensors));
	prog->at = calloc(image->tensor_count + 1, sizeof(*prog->at));
	prog->work = calloc(image->tensor_count + 1, sizeof(*prog->work));
	if (!prog->tensors || !prog->at || !prog->work)
		return -ENOMEM;
	prog->count = image->tensor_count;
	for (i = 0; i < prog->count; i++) {
		vtaimage_tensor(image, i, &prog->tensors[i]);
		prog->at[i] = (uint32_t)total;
		if (prog->tensors[i].role != VTAIMAGE_INTERNAL)
			total += ((uint64_t)prog->tensors[i].bytes + 63) & ~63ull;
		/* Tensors may share the arena, but have a place each with the host. */
		if (total > UINT32_MAX)
			return -ENOSPC;
	}
	if (total) {
		err = vtadev_buf_alloc(dev, (size_t)total, VTADEV_HOST, &prog->host);
		if (!err)
			err = vtadev_buf_map(prog->host, &map);
		if (err)
			return err;
		prog->map = map;
	}
	host = prog->host ? vtadev_buf_addr(prog->host) : 0;
	card = prog->arena ? vtadev_buf_addr(prog->arena) : 0;
	for (i = 0; i < prog->count; i++) {
		const struct vtaimage_tensor *t = &prog->tensors[i];

		if (t->role == VTAIMAGE_INPUT)
			prog->work[prog->descs++] =
				vtadev_desc_copy(card + t->offset, host + prog->at[i],
						 t->bytes);
	}
	prog->work[prog->descs++] = vtadev_desc_run(vtadev_buf_addr(prog->model) + image->insn_at,
						    image->insn_count, 0);
	for (i = 0; i < prog->count; i++) {
		const struct vtaimage_tensor *t = &prog->tensors[i];

		if (t->role == VTAIMAGE_OUTPUT)
			prog->work[prog->descs++] =
				vtadev_desc_copy(host + prog->at[i], card + t->offset,
						 t->bytes);
	}
	return 0;
}

int vtaprog_load(struct vtadev *dev, struct vtadev_queue *queue, const void *data, size_t size,
		 struct vtaprog **out, char why[VTAPROG_WHY_MAX])
{
	struct vtaops_core core;
	struct vtaimage image;
	struct vtaprog *prog;
	int err;

	err = vtaprog_core(dev, &core);
	if (err)
		return said(err, why, "the card");
	if (vtaimage_open(&image, data, size)) {
		snprintf(why, VTAPROG_WHY_MAX, "%s", image.why);
		return -EINVAL;
	}
	if (image.version != 1) {
		snprintf(why, VTAPROG_WHY_MAX, "the image has version 2, which is not run yet");
		return -EINVAL;
	}
	if (vtaimage_fits(&image, &core)) {
		snprintf(why, VTAPROG_WHY_MAX, "%s", image.why);
		return -ENOEXEC;
	}
	err = fits_ring(queue, &image, why);
	if (err)
		return err;
	prog = calloc(1, sizeof(*prog));
	if (!prog)
		return said(-ENOMEM, why, "the program");
	prog->queue = queue;
	err = vtadev_buf_alloc_at(dev, image.model_bytes, VTADEV_CARD, image.align, 0,
				  &prog->model);
	if (!err && image.arena_bytes)
		err = vtadev_buf_alloc_at(dev, image.arena_bytes, VTADEV_CARD, image.align, 0,
					  &prog->arena);
	if (err) {
		vtaprog_free(prog);
		return said(err, why, "card memory for the program");
	}
	err = make_tensors(dev, prog, &image);
	if (!err)
		err = load_model(dev, prog, &image);
	if (err) {
		vtaprog_free(prog);
		return said(err, why, "bringing the program to the card");
	}
	*out = prog;
	return 0;
}

void vtaprog_free(struct vtaprog *prog)
{
	if (!prog)
		return;
	vtadev_buf_free(prog->host);
	vtadev_buf_free(prog->arena);
	vtadev_buf_free(prog->model);
	free(prog->tensors);
	free(prog->at);
	free(prog->work);
	free(prog);
}

uint32_t vtaprog_tensors(const struct vtaprog *prog)
{
	return prog->count;
}

const struct vtaimage_tensor *vtaprog_tensor(const struct vtaprog *prog, uint32_t i)
{
	return i < prog->count ? &prog->tensors[i] : NULL;
}

int vtaprog_map(struct vtaprog *prog, uint32_t i, void **ptr)
{
	if (i >= prog->count || prog->tensors[i].role == VTAIMAGE_INTERNAL)
		return -ENOENT;
	*ptr = prog->map + prog->at[i];
	return 0;
}

int vtaprog_submit(struct vtaprog *prog, uint64_t *seq)
{
	return vtadev_submit(prog->queue, prog->work, prog->descs, seq);
}
