// SPDX-License-Identifier: Apache-2.0
/*
 * subgraphs_vta.c - the functions for the card
 *
 * A function's instruction stream has the addresses of its tensors in it, so it
 * is made when the function is first called with them, and again if they change.
 * An executor that keeps its tensors, as they do, pays once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "subgraphs.h"
#include "vta_device_api.h"
#include "vtadev.h"
#include "vtaops.h"
#include "weights.h"

#define LAYERS_MAX	2	/* of a function */

static const DLDevice cpu = { kDLCPU, 0 };
static const DLDataType int8 = { kDLInt, 8, 1 };

/* A run of layers of the network, as one stream. */
struct function {
	unsigned int first, layers;
	void *between[LAYERS_MAX - 1];	/* what only its own layers see */
	void *code;			/* instructions, then micro-ops */
	uint32_t insns;
	uint32_t arg, out;		/* addresses that it is for */
};

static struct {
	DLDevice dev;
	uint32_t batch;
	struct vtaops_core core;
	void *wgt[DIGITS_LAYERS], *bias[DIGITS_LAYERS];
	struct function conv2_conv3, dense;
} module = {
	.conv2_conv3 = { .first = 1, .layers = 2 },
	.dense = { .first = 3, .layers = 1 },
};

/* ---- Constants ---- */

static int32_t put(const void *data, size_t bytes, void **space)
{
	int err = vta_api_alloc_data_space(module.dev, bytes, 0, int8, space);

	if (err)
		return err;
	return vta_api_copy_data_from_to(data, 0, *space, 0, bytes, cpu, module.dev, int8, NULL);
}

static int32_t put_layer(unsigned int i)
{
	const struct digits_layer *l = &digits_layers[i];
	size_t wgt = vtaops_wgt_bytes(&module.core, l->out_channels, l->in_channels, l->kernel,
				      l->kernel);
	size_t bias = vtaops_bias_bytes(&module.core, l->out_channels);
	char *packed = calloc(1, wgt + bias);
	int32_t err;

	if (!packed)
		return -ENOMEM;
	vtaops_pack_wgt(&module.core, packed, l->weights, l->out_channels, l->in_channels,
			l->kernel, l->kernel);
	vtaops_pack_bias(&module.core, packed + wgt, l->bias, l->out_channels);
	err = put(packed, wgt, &module.wgt[i]);
	if (!err)
		err = put(packed + wgt, bias, &module.bias[i]);
	free(packed);
	return err;
}

static int32_t init_core(void)
{
	struct vtadev *card = vta_api_card(module.dev);
	const struct vtadev_info *info;

	if (!card)
		return -ENOENT;
	info = vtadev_info(card);
	module.core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	if (vtaops_core_init(&module.core) || info->log_inp_width != 3 || info->log_wgt_width != 3)
		return -EOPNOTSUPP;
	return 0;
}

/* What lies between the layers of a function, on the card. */
static int32_t make_between(struct function *f)
{
	int32_t err = 0;

	for (unsigned int i = 0; !err && i + 1 < f->layers; i++) {
		const struct digits_layer *l = &digits_layers[f->first + i];
		size_t bytes = vtaops_act_bytes(&module.core, module.batch, l->out_channels,
						l->out_height, l->out_width);

		err = vta_api_alloc_data_space(module.dev, bytes, 0, int8, &f->between[i]);
	}
	return err;
}

int32_t digits_vta_init(DLDevice dev, uint32_t batch)
{
	int32_t err;

	module.dev = dev;
	module.batch = batch;
	err = init_core();
	for (unsigned int i = module.conv2_conv3.first; !err && i < DIGITS_LAYERS; i++)
		err = put_layer(i);
	if (!err)
		err = make_between(&module.conv2_conv3);
	if (!err)
		err = make_between(&module.dense);
	return err;
}

static void drop(void **space)
{
	vta_api_free_data_space(module.dev, *space);
	*space = NULL;
}

static void drop_function(struct function *f)
{
	for (unsigned int i = 0; i + 1 < f->layers; i++)
		drop(&f->between[i]);
	drop(&f->code);
}

void digits_vta_exit(void)
{
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		drop(&module.wgt[i]);
		drop(&module.bias[i]);
	}
	drop_function(&module.conv2_conv3);
	drop_function(&module.dense);
}

/* ---- Functions ---- */

static void push_layer(struct vtaops_builder *b, unsigned int i, uint32_t arg, uint32_t out)
{
	const struct digits_layer *l = &digits_layers[i];
	struct vtaops_conv2d op = {
		.inp = arg, .out = out, .wgt = vta_api_address(module.wgt[i]),
		.n = module.batch, .in = l->in_channels, .h = l->in_height, .w = l->in_width,
		.units = l->out_channels, .kh = l->kernel, .kw = l->kernel,
		.stride_h = l->stride, .stride_w = l->stride, .pad_h = l->pad, .pad_w = l->pad,
		.post = {
			.bias = vta_api_address(module.bias[i]), .shift = l->shift,
			.lo = l->relu ? 0 : -128, .hi = 127,
		},
	};

	vtaops_conv2d(b, &op);
}

static int32_t push_all(struct vtaops_builder *b, const struct function *f)
{
	for (unsigned int i = 0; i < f->layers; i++)
		push_layer(b, f->first + i, i ? vta_api_address(f->between[i - 1]) : f->arg,
			   i + 1 < f->layers ? vta_api_address(f->between[i]) : f->out);
	return vtaops_finish(b) ? -EOPNOTSUPP : 0;
}

/* Makes the stream: counted first, then written. */
static int32_t compile(struct function *f)
{
	size_t insn_bytes, uop_bytes;
	struct vtaops_builder b;
	char *code;
	int32_t err;

	vtaops_begin(&b, &module.core, NULL, 0, NULL, 0, 0);
	err = push_all(&b, f);
	if (err)
		return err;
	insn_bytes = b.insns * sizeof(struct vtaops_insn);
	uop_bytes = b.uops * sizeof(uint32_t);
	code = calloc(1, insn_bytes + uop_bytes);
	if (!code)
		return -ENOMEM;
	drop(&f->code);
	err = vta_api_alloc_data_space(module.dev, insn_bytes + uop_bytes, 0, int8, &f->code);
	if (!err) {
		vtaops_begin(&b, &module.core, (struct vtaops_insn *)code, b.insns,
			     (uint32_t *)(code + insn_bytes), b.uops,
			     vta_api_address(f->code) + (uint32_t)insn_bytes);
		err = push_all(&b, f);
		f->insns = (uint32_t)b.insns;
	}
	if (!err)
		err = vta_api_copy_data_from_to(code, 0, f->code, 0, insn_bytes + uop_bytes, cpu,
						module.dev, int8, NULL);
	free(code);
	return err;
}

/* What the function was made for: int8 on the card, without strides. */
static bool is_tensor(const DLTensor *t, unsigned int channels, unsigned int height,
		      unsigned int width)
{
	return t->device.device_type == module.dev.device_type &&
	       t->device.device_id == module.dev.device_id && t->data &&
	       t->dtype.code == kDLInt && t->dtype.bits == 8 && t->dtype.lanes == 1 &&
	       t->ndim == 4 && !t->strides && t->shape[0] == module.batch &&
	       t->shape[1] == channels && t->shape[2] == height && t->shape[3] == width;
}

static int32_t call(struct function *f, const DLTensor *arg, const DLTensor *out)
{
	const struct digits_layer *from = &digits_layers[f->first];
	const struct digits_layer *to = &digits_layers[f->first + f->layers - 1];
	uint32_t arg_addr, out_addr;
	int32_t err = 0;

	if (!is_tensor(arg, from->in_channels, from->in_height, from->in_width) ||
	    !is_tensor(out, to->out_channels, to->out_height, to->out_width))
		return -EINVAL;
	arg_addr = vta_api_address(arg->data) + (uint32_t)arg->byte_offset;
	out_addr = vta_api_address(out->data) + (uint32_t)out->byte_offset;
	if (!f->code || f->arg != arg_addr || f->out != out_addr) {
		f->arg = arg_addr;
		f->out = out_addr;
		err = compile(f);
	}
	return err ? err : vta_api_run(module.dev, f->code, 0, f->insns, NULL);
}

int32_t digits_vta_conv2_conv3(DLTensor *arg, DLTensor *out)
{
	return call(&module.conv2_conv3, arg, out);
}

int32_t digits_vta_dense(DLTensor *arg, DLTensor *out)
{
	return call(&module.dense, arg, out);
}
