// SPDX-License-Identifier: GPL-2.0-only
/*
 * codegen.c - the code generator: compile the card's part of a network
 *
 *	codegen FILE.c
 *
 * The digits network behind its first layer, handed to libvtac call by call, as a visitor of
 * a compiler's graph would. The program image for the core of TVM's default configuration
 * that comes back is written as an array of C.
 *
 * In the network's integers out = (bias + sum) >> shift: with scale 1 for the first input and
 * all weights, each layer's outputs have its inputs' scale * 2^shift.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libvtac.h"
#include "network.h"
#include "output.h"
#include "subgraphs.h"

#define FIRST	1		/* layer 0 is the CPU's */

/* Of TVM's default configuration; vtaprog_core() has that of a card. */
static struct vtaops_core core = {
	.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_batch = 0,
	.log_block = 4, .log_uop_buff_size = 15, .log_inp_buff_size = 15,
	.log_wgt_buff_size = 18, .log_acc_buff_size = 17,
};

/* Add the bias without the half step, as the card rounds by itself. */
static struct vtac_tensor *add_bias(struct vtac_net *net, const struct digits_layer *l,
				    float scale)
{
	const int64_t dims[] = { l->out_channels };
	struct vtac_tensor *t = NULL;
	int32_t *bias = calloc(l->out_channels, sizeof(*bias));

	for (unsigned int i = 0; bias && i < l->out_channels; i++)
		bias[i] = digits_bias(l)[i] - (1 << (l->shift - 1));
	if (bias)
		t = vtac_net_const(net, VTACPU_I32, 1, dims, bias);
	free(bias);
	return vtac_net_dequantize(net, t, &scale, 1, 0);
}

/* Add a layer of integers. @scale is the inputs', and is set to the outputs'. */
static struct vtac_tensor *add_layer(struct vtac_net *net, const struct digits_layer *l,
				     struct vtac_tensor *x, float *scale)
{
	const int64_t dims[] = { l->out_channels, l->in_channels, l->kernel, l->kernel };
	const struct vtac_net_window window = {
		.stride = { l->stride, l->stride }, .pad = { l->pad, l->pad, l->pad, l->pad } };
	const float one = 1;
	struct vtac_tensor *w = vtac_net_const(net, VTACPU_I8, 4, dims, digits_weights(l)), *y;

	x = vtac_net_dequantize(net, x, scale, 1, 0);
	w = vtac_net_dequantize(net, w, &one, 1, 0);
	y = vtac_net_conv2d(net, l->name, x, w, add_bias(net, l, *scale), &window);
	if (l->relu)
		y = vtac_net_clip(net, NULL, y, 0, INFINITY);
	*scale = ldexpf(*scale, l->shift);
	return vtac_net_quantize(net, y, *scale, 0, VTACPU_I8);
}

static int build(struct vtac_net *net)
{
	const struct digits_layer *first = &digits_network.layer[FIRST];
	const int64_t dims[] = { DIGITS_BATCH, first->in_channels, first->in_side,
				 first->in_side };
	struct vtac_tensor *x = vtac_net_input(net, "arg", VTACPU_I8, 4, dims);
	float scale = 1;

	for (unsigned int i = FIRST; i < digits_network.layers; i++)
		x = add_layer(net, &digits_network.layer[i], x, &scale);
	return vtac_net_output(net, x, "out");
}

static int write_array(const char *path, const uint8_t *image, size_t size)
{
	struct output out;
	int err = output_open(&out, path, 0666);

	if (err)
		return err;
	fprintf(out.file, "/* Made by codegen. */\n#include \"subgraphs.h\"\n\n"
		"const size_t digits_vta_size = %zu;\n"
		"const uint8_t digits_vta_image[] = {", size);
	for (size_t i = 0; i < size; i++)
		fprintf(out.file, "%s%u,", i % 16 ? " " : "\n\t", image[i]);
	fputs("\n};\n", out.file);
	return output_close(&out);
}

int main(int argc, char **argv)
{
	const struct vtac_net_options options = { .core = &core, .name = "digits", .no_prune = 1 };
	struct vtac_net *net = vtac_net_new();
	uint8_t *image = NULL;
	size_t size;
	int err;

	if (argc != 2 || !net || vtaops_core_init(&core)) {
		fprintf(stderr, "usage: codegen FILE.c\n");
		return 2;
	}
	err = build(net) || vtac_net_compile(net, &options, &image, &size);
	if (err) {
		fprintf(stderr, "codegen: %s\n", vtac_net_error(net));
	} else {
		err = write_array(argv[1], image, size);
		if (err)
			fprintf(stderr, "codegen: %s: %s\n", argv[1], strerror(-err));
	}
	free(image);
	vtac_net_free(net);
	return err ? 1 : 0;
}
