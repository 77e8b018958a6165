/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libvtac.h - the compiler for other compilers: a part of a network in, a function out
 *
 *	struct vtac_net *net = vtac_net_new();
 *	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_I8, 4, dims);
 *
 *	... vtac_net_conv2d(net, ...) ...		// or vtac_net_read_onnx()
 *	vtac_net_output(net, y, "y");
 *	if (vtac_net_compile(net, &options, &image, &size))
 *		... vtac_net_error(net) ...
 *	vtac_net_free(net);
 *
 * The function is a program image (docs/program-image.md), which vtaprog.h loads and runs
 * on a card, in parts on the CPU where the card has no operator: inputs and outputs are
 * plain arrays of the host's. vtac_net_emit_c() makes C of it.
 *
 * Numbers. Calls have the meaning of ONNX's operators, in floats. Integers are said as in
 * ONNX's quantised models: dequantize, operator, quantize. Between such, the card computes with
 * the given scales and zero points, and needs no images; weights stay the integers that
 * they are where a multiplier of 15 bits comes within 1/512 of input scale x weight scale /
 * output scale, as every power of two does. Rounding is to the nearest, halves up.
 * Floats without scales are calibrated (struct vtac_net_options).
 *
 * Errors. A call that fails returns NULL or -1, and so does each that is given its NULL:
 * check the last one. The reason is one sentence, which names the node. The first stays.
 *
 * Threads: a net belongs to one at a time. There is no global state.
 */
#ifndef LIBVTAC_H
#define LIBVTAC_H

#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vtac_net;
struct vtac_tensor;	/* a value of a net; lives as long as that */

/* NULL: no memory. */
struct vtac_net *vtac_net_new(void);
void vtac_net_free(struct vtac_net *net);
/* "" if nothing has failed; lives as long as @net. */
const char *vtac_net_error(const struct vtac_net *net);

/*
 * All of an ONNX model (a ModelProto) of @size bytes. Constants in other files are looked
 * for below @dir; NULL: there are none. Inputs and outputs are the model's.
 */
int vtac_net_read_onnx(struct vtac_net *net, const void *data, size_t size, const char *dir);

/*
 * Inputs, constants (@data is copied, row-major) and outputs. Types are those of
 * enum vtacpu_type: VTACPU_F32, I8, U8, I32. Names are unique; that of an input or output
 * is the program's tensor's.
 */
struct vtac_tensor *vtac_net_input(struct vtac_net *net, const char *name, uint32_t type, int rank,
				   const int64_t *dims);
struct vtac_tensor *vtac_net_const(struct vtac_net *net, uint32_t type, int rank,
				   const int64_t *dims, const void *data);
int vtac_net_output(struct vtac_net *net, struct vtac_tensor *y, const char *name);

/*
 * real = scale * (integer - zero). One scale (@n is 1), or one for each place of dimension 0,
 * as weights have. Biases: of int32, with scale(s) input scale x weight scale.
 */
struct vtac_tensor *vtac_net_dequantize(struct vtac_net *net, struct vtac_tensor *x,
					const float *scales, int64_t n, int32_t zero);
/* To VTACPU_I8 or VTACPU_U8: round(real / scale) + zero, cut off at the type's limits. */
struct vtac_tensor *vtac_net_quantize(struct vtac_net *net, struct vtac_tensor *x, float scale,
				      int32_t zero, uint32_t type);

/* [0] is height, [1] width; pad: top, left, bottom, right. 0 for a dilation or groups is 1. */
struct vtac_net_window {
	int64_t stride[2], dilation[2], pad[4];
	int64_t groups;			/* of a convolution */
	int64_t kernel[2];		/* of a pool */
};

/* All of floats. @name is the node's, in messages and reports; NULL makes one up. */

/* @x [n][c][h][w], @w [units][c / groups][kh][kw], @bias [units] or NULL */
struct vtac_tensor *vtac_net_conv2d(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				    struct vtac_tensor *w, struct vtac_tensor *bias,
				    const struct vtac_net_window *window);
/* @x [n][in], @w [units][in], @bias [units] or NULL */
struct vtac_tensor *vtac_net_dense(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				   struct vtac_tensor *w, struct vtac_tensor *bias);
/* Of one shape, or as numpy broadcasts. */
enum vtac_net_binary { VTAC_NET_ADD, VTAC_NET_MUL, VTAC_NET_MAX, VTAC_NET_MIN };
struct vtac_tensor *vtac_net_binary(struct vtac_net *net, const char *name,
				    enum vtac_net_binary what, struct vtac_tensor *a,
				    struct vtac_tensor *b);
/* min(max(x, lo), hi); relu is 0 and INFINITY */
struct vtac_tensor *vtac_net_clip(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				  float lo, float hi);
enum vtac_net_pool { VTAC_NET_MAX_POOL, VTAC_NET_AVG_POOL };
struct vtac_tensor *vtac_net_pool(struct vtac_net *net, const char *name, enum vtac_net_pool what,
				  struct vtac_tensor *x, const struct vtac_net_window *window);
/* The mean of each channel: [n][c][1][1] */
struct vtac_tensor *vtac_net_global_mean(struct vtac_net *net, const char *name,
					 struct vtac_tensor *x);
/* Along dimension @axis */
struct vtac_tensor *vtac_net_concat(struct vtac_net *net, const char *name, unsigned int n,
				    struct vtac_tensor *const *parts, int axis);
/* [n][c * h * w] */
struct vtac_tensor *vtac_net_flatten(struct vtac_net *net, const char *name, struct vtac_tensor *x);

struct vtac_net_options {
	const struct vtaops_core *core;	/* by vtaops_core_init() or vtaprog_core() */
	const char *name;		/* of the program; NULL: the model's */
	/* Keep on the card what costs more there than on the CPU, its copies included. */
	int no_prune;
	const char *const *cpu;		/* nodes that stay on the CPU */
	unsigned int n_cpu;
	/*
	 * Images to calibrate floats with: @image writes the @count values of input @input in
	 * image @i, and returns 0, or another number to give up. May be NULL.
	 */
	unsigned int images;
	int (*image)(void *priv, unsigned int i, const char *input, float *values, size_t count);
	void *priv;
};

/*
 * A program image of @net, to be freed with free(), with the report that `vtac report`
 * prints in it. @net stays what it is, and can be compiled for another core. The same net
 * and options give the same bytes.
 */
int vtac_net_compile(struct vtac_net *net, const struct vtac_net_options *options,
		     uint8_t **image, size_t *size);

/*
 * A program image as C in directory @dir, which is made (docs/models.md): @name_run() and
 * what it needs. -1 and the reason in @why of @why_size bytes.
 */
int vtac_net_emit_c(const void *image, size_t size, const char *name, const char *dir, char *why,
		    size_t why_size);

#ifdef __cplusplus
}
#endif

#endif /* LIBVTAC_H */
