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
 * plain arrays of the host. vtac_net_emit_c() makes C of it.
 *
 * NUMBERS. Calls have the meaning of ONNX's operators, in floats. Integers are expressed as in
 * ONNX's quantised models: dequantize, operator, quantize. Between such, the card computes with
 * the given scales and zero points, and needs no images. Weights keep their integers if a
 * multiplier of 15 bits comes within 1/512 of input scale x weight scale / output scale, as every
 * power of two does. Rounding is to the nearest, halves up. Floats without scales are calibrated
 * (struct vtac_net_options).
 *
 * SHAPES are row-major, each size from 1, with at most 8 dimensions and 2^31 - 1 values. Pictures
 * are [n][c][h][w]. Operators check shapes when the net is compiled.
 *
 * ERRORS. Calls return NULL or -1 on failure and propagate a NULL argument, so it is enough to
 * check the last call. vtac_net_error() has the reason of the first failure, a sentence that names
 * the node. After it the net cannot be compiled.
 *
 * MEMORY. A net owns its tensors and copies all that it is given; vtac_net_free() frees them. It
 * uses up to 4 GiB.
 *
 * THREADS. One thread uses a net at a time. There is no global state: threads may use different
 * nets at once. Calls return in the caller's thread; vtac_net_compile() starts threads of its own
 * and ends them.
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
struct vtac_tensor;	/* a value of a net; lives as long as the net */

/* vtac_net_new() - a net without nodes; NULL without memory */
struct vtac_net *vtac_net_new(void);

/* vtac_net_free() - free a net, with its tensors, or NULL */
void vtac_net_free(struct vtac_net *net);

/* vtac_net_error() - the reason of the first failure, "" if there is none; lives as long as @net */
const char *vtac_net_error(const struct vtac_net *net);

/**
 * vtac_net_read_onnx() - read all of an ONNX model
 * @net: a net without nodes
 * @data: a ModelProto of @size bytes, which may be forged; not needed after the call
 * @size: bytes
 * @dir: the directory that constants in other files must be below; NULL: there are none
 *
 * Inputs and outputs are the model's. Returns 0 or -1.
 */
int vtac_net_read_onnx(struct vtac_net *net, const void *data, size_t size, const char *dir);

/**
 * struct vtac_net_value - an input of a net
 * @name: lives as long as the net
 * @type: enum vtacpu_type
 * @rank: number of dimensions
 * @dims: sizes; -1: the model leaves it open
 */
struct vtac_net_value {
	const char *name;
	uint32_t type;
	int rank;
	int64_t dims[8];
};

/* vtac_net_input_at() - describe input @i, from 0; returns 0, or -1: there are no more */
int vtac_net_input_at(const struct vtac_net *net, unsigned int i, struct vtac_net_value *value);

/**
 * vtac_net_input() - add an input
 * @net: the net
 * @name: unique; the name of the program's tensor
 * @type: enum vtacpu_type: VTACPU_F32, I8, U8 or I32, as for all calls
 * @rank: number of dimensions, 0 to 8
 * @dims: sizes
 */
struct vtac_tensor *vtac_net_input(struct vtac_net *net, const char *name, uint32_t type, int rank,
				   const int64_t *dims);

/* vtac_net_const() - add a constant of @data, row-major, which is copied; see vtac_net_input() */
struct vtac_tensor *vtac_net_const(struct vtac_net *net, uint32_t type, int rank,
				   const int64_t *dims, const void *data);

/**
 * vtac_net_output() - make a tensor an output
 * @net: the net
 * @y: the tensor, no constant
 * @name: the name of the program's tensor
 *
 * Returns 0 or -1.
 */
int vtac_net_output(struct vtac_net *net, struct vtac_tensor *y, const char *name);

/**
 * vtac_net_dequantize() - integers as floats: scale * (integer - zero)
 * @net: the net
 * @x: integers, of any shape
 * @scales: real units of an integer step, above 0
 * @n: number of @scales: 1, or the size of dimension 0, as weights have
 * @zero: the integer of 0.0, within @x's type; 0 if @x is of int32
 *
 * A bias is of int32, with scales input scale x weight scale.
 */
struct vtac_tensor *vtac_net_dequantize(struct vtac_net *net, struct vtac_tensor *x,
					const float *scales, int64_t n, int32_t zero);

/**
 * vtac_net_quantize() - floats as integers: round(real / scale) + zero, clamped to the type
 * @net: the net
 * @x: floats, of any shape
 * @scale: real units of an integer step, above 0
 * @zero: the integer of 0.0, within the type
 * @type: VTACPU_I8 or VTACPU_U8
 */
struct vtac_tensor *vtac_net_quantize(struct vtac_net *net, struct vtac_tensor *x, float scale,
				      int32_t zero, uint32_t type);

/* In elements: [0] is height, [1] width; pad: top, left, bottom, right. Strides are at least 1. */
struct vtac_net_window {
	int64_t stride[2];
	int64_t dilation[2];		/* 0 is 1 */
	int64_t pad[4];
	int64_t groups;			/* of a convolution; 0 is 1 */
	int64_t kernel[2];		/* of a pool */
};

/*
 * Operators take and return floats. @name is the node's, in messages and reports; NULL makes one
 * up. The tensors belong to @net.
 */

/**
 * vtac_net_conv2d() - convolve
 * @net: the net
 * @name: of the node, or NULL
 * @x: [n][c][h][w]
 * @w: [units][c / groups][kh][kw]
 * @bias: [units], or NULL
 * @window: its kernel is not used: @w has it
 *
 * Returns [n][units][oh][ow].
 */
struct vtac_tensor *vtac_net_conv2d(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				    struct vtac_tensor *w, struct vtac_tensor *bias,
				    const struct vtac_net_window *window);

/* vtac_net_dense() - x [n][in] times w [units][in], with bias [units] or NULL: [n][units] */
struct vtac_tensor *vtac_net_dense(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				   struct vtac_tensor *w, struct vtac_tensor *bias);

enum vtac_net_binary { VTAC_NET_ADD, VTAC_NET_MUL, VTAC_NET_MAX, VTAC_NET_MIN };

/* vtac_net_binary() - @a and @b, value by value: of one shape, or as numpy broadcasts */
struct vtac_tensor *vtac_net_binary(struct vtac_net *net, const char *name,
				    enum vtac_net_binary what, struct vtac_tensor *a,
				    struct vtac_tensor *b);

/* vtac_net_clip() - min(max(x, lo), hi), of any shape; a relu is 0 and INFINITY */
struct vtac_tensor *vtac_net_clip(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				  float lo, float hi);

enum vtac_net_pool { VTAC_NET_MAX_POOL, VTAC_NET_AVG_POOL };

/* vtac_net_pool() - the maximum or mean of windows of [n][c][h][w]; padding is not counted */
struct vtac_tensor *vtac_net_pool(struct vtac_net *net, const char *name, enum vtac_net_pool what,
				  struct vtac_tensor *x, const struct vtac_net_window *window);

/* vtac_net_global_mean() - the mean of each channel of [n][c][h][w]: [n][c][1][1] */
struct vtac_tensor *vtac_net_global_mean(struct vtac_net *net, const char *name,
					 struct vtac_tensor *x);

/**
 * vtac_net_concat() - join tensors
 * @net: the net
 * @name: of the node, or NULL
 * @n: number of @parts
 * @parts: tensors whose sizes differ in dimension @axis alone
 * @axis: from 0
 */
struct vtac_tensor *vtac_net_concat(struct vtac_net *net, const char *name, unsigned int n,
				    struct vtac_tensor *const *parts, int axis);

/* vtac_net_flatten() - [n][c][h][w] as [n][c * h * w] */
struct vtac_tensor *vtac_net_flatten(struct vtac_net *net, const char *name, struct vtac_tensor *x);

/**
 * struct vtac_net_shape - the shape of an input whose sizes the model leaves open
 * @input: its name; NULL: the only input
 * @rank: the model's
 * @dims: sizes
 */
struct vtac_net_shape {
	const char *input;
	int rank;
	int64_t dims[8];
};

/**
 * struct vtac_net_images - images of an input to calibrate floats with, in files of numpy's
 * @input: name of the input
 * @path: an array whose first dimension counts images (.npy), or a directory of such files, whose
 *	images are taken in the order of their names
 */
struct vtac_net_images {
	const char *input, *path;
};

/* Bits of results: 16 are two int8 tensors, where that is possible; AUTO: where they gain most */
enum vtac_net_bits { VTAC_NET_8_BITS, VTAC_NET_16_BITS, VTAC_NET_AUTO_BITS };

/**
 * struct vtac_net_precision - the bits of a node's result, which needs images to calibrate with
 * @node: its name, or its output's; NULL: all that are not named
 * @bits: of a node not AUTO. A node that cannot have 16 is an error, if it is named
 */
struct vtac_net_precision {
	const char *node;
	enum vtac_net_bits bits;
};

/**
 * struct vtac_net_options - how to compile; zeroed ones but @core are the defaults
 * @core: the card's, by vtaops_core_init() or vtaprog_core()
 * @name: of the program; NULL: the model's
 * @no_card: everything on the CPU, in floats if the model has floats; needs no images
 * @no_prune: also keep nodes on the card that cost more there than on the CPU, with their copies
 * @cpu: names of nodes that stay on the CPU
 * @n_cpu: number of @cpu
 * @images: number of images to calibrate floats with
 * @image: write the @count values of input @input in image @i, from 0; returns 0, or another number
 *	to fail. Called in the thread of vtac_net_compile(), more than once for an image. May be
 *	NULL.
 * @files: images of each input, as many of all of them, in place of @image; at most @images of them
 *	are used, or all if that is 0
 * @n_files: number of @files
 * @priv: for @image, @progress and @warn
 * @shapes: of inputs; without, an open first dimension is 1, and another is an error. If an input
 *	is in them several times, the program has as many variants (vtaimage_variant()), and other
 *	inputs are in them as often, or once for all variants; @image is asked for each variant's
 *	sizes
 * @n_shapes: number of @shapes
 * @labels: classes of the first output, UTF-8 with a line each, as many as it has, or NULL
 * @preprocess: how a picture becomes an input, for programs that read pictures; or NULL
 * @progress: called in the thread of vtac_net_compile() when @done of @total steps of @what are
 *	done; @total is 0 if it is not known. Returns 0, or another number to fail. May be NULL.
 * @threads: that compute, with the caller's, up to VTAC_NET_THREADS_MAX; 0: as many as there are
 *	processors that this process may use. The program is the same for any number
 * @precisions: bits of results; without, all have 8
 * @n_precisions: number of @precisions
 * @extra_cycles: most cycles that VTAC_NET_AUTO_BITS adds, in percent of all, to 1000; 0: 25
 * @warn: called in the thread of vtac_net_compile(), once for a program, with sentences if its
 *	results are not accurate: without images, ranges of a model of floats are those of random
 *	inputs (pixels as @preprocess makes them, or normal values). NULL: such a model is an error
 */
struct vtac_net_options {
	const struct vtaops_core *core;
	const char *name;
	int no_card;
	int no_prune;
	const char *const *cpu;
	unsigned int n_cpu;
	unsigned int images;
	int (*image)(void *priv, unsigned int i, const char *input, float *values, size_t count);
	const struct vtac_net_images *files;
	unsigned int n_files;
	void *priv;
	const struct vtac_net_shape *shapes;
	unsigned int n_shapes;
	const char *labels;
	const struct vtaimage_preprocess *preprocess;
	int (*progress)(void *priv, const char *what, uint64_t done, uint64_t total);
	unsigned int threads;
	const struct vtac_net_precision *precisions;
	unsigned int n_precisions;
	unsigned int extra_cycles;
	void (*warn)(void *priv, const char *text);
};

#define VTAC_NET_THREADS_MAX	64
#define VTAC_NET_EXTRA_CYCLES_MAX	1000

/**
 * struct vtac_net_placement - the devices of a net's nodes
 * @card: number of nodes on the card, after activations are merged into them
 * @cpu: number of nodes on the CPU
 * @unscaled: a tensor of the card has no scale in the model: vtac_net_compile() needs images, or
 *	warns
 */
struct vtac_net_placement {
	unsigned int card, cpu;
	int unscaled;
};

/**
 * vtac_net_place() - choose a device for each node, without compiling
 * @net: the net, which does not change
 * @options: for the program; images are not read
 * @placement: out: the devices
 *
 * Takes about as long as reading the model; the first of several variants is placed. Returns 0,
 * and then vtac_net_compile() refuses no node; or -1: vtac_net_refused() names the nodes that stop
 * it, if there are such.
 */
int vtac_net_place(struct vtac_net *net, const struct vtac_net_options *options,
		   struct vtac_net_placement *placement);

/**
 * vtac_net_refused() - name a node that cannot be compiled
 * @net: a net of which a call has failed
 * @i: which of them, from 0
 * @why: out: the reason, a sentence; may be NULL
 *
 * Returns its name in the model, or that of its first output if it has none; both texts live as
 * long as @net. NULL: there are no more.
 */
const char *vtac_net_refused(const struct vtac_net *net, unsigned int i, const char **why);

/**
 * vtac_net_compile() - compile a net to a program image
 * @net: the net, which does not change and can be compiled for another core
 * @options: for this program
 * @image: out: the image, to be freed with free(); it includes the report of `vtac report`
 * @size: out: bytes
 *
 * The same net and options give the same bytes. Returns 0 or -1.
 */
int vtac_net_compile(struct vtac_net *net, const struct vtac_net_options *options,
		     uint8_t **image, size_t *size);

/**
 * vtac_net_emit_c() - write a program image as C (docs/models.md)
 * @image: the image, which may be forged
 * @size: bytes
 * @name: prefix of its functions, as in NAME_run()
 * @dir: directory for the files, which is made
 * @why: out: after an error, a sentence with the reason
 * @why_size: bytes of @why
 *
 * Needs no net; threads may call it at once for different directories. Returns 0 or -1.
 */
int vtac_net_emit_c(const void *image, size_t size, const char *name, const char *dir, char *why,
		    size_t why_size);

#ifdef __cplusplus
}
#endif

#endif /* LIBVTAC_H */
