/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaops.h - operators for the VTA core: lowering, and data layouts
 *
 * A stream for the card is made in three steps: describe the core
 * (vtaops_core_init(), with what the card reports), call the operators in
 * order on a builder, end with vtaops_finish(). The result is an array of
 * instructions and one of micro-ops, to be placed in memory that the card can
 * read; a RUN descriptor executes them. Operators of one stream follow each
 * other: each sees the results of those before it.
 *
 * This part needs no operating system: it allocates nothing, keeps no state
 * but the builder's and calls nothing but memset, memcpy and memcmp. Storage comes
 * from the caller; a builder without storage counts what is needed:
 *
 *	vtaops_begin(&b, &core, NULL, 0, NULL, 0, 0);
 *	... operators ...
 *	vtaops_finish(&b);		// b.insns and b.uops are now known
 *
 * The counts do not depend on addresses. A builder is used by one thread at a
 * time; different builders are independent.
 *
 * Packed layouts (the order of elements in memory; elements as in docs/isa.md):
 *	activations	[N / BATCH][C / BLOCK][H][W] of [BATCH][BLOCK]
 *	matrices	[N / BATCH][C / BLOCK] of [BATCH][BLOCK]
 *	weights		[O / BLOCK][I / BLOCK][KH][KW] of [BLOCK][BLOCK]
 *	bias		[O / BLOCK] of [BATCH][BLOCK], 32-bit
 * with N, C, I and O rounded up to whole elements; what is added reads as 0.
 */
#ifndef VTAOPS_H
#define VTAOPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The core's configuration (log2, the names of vta_config.json) and sizes. */
struct vtaops_core {
	unsigned int log_inp_width, log_wgt_width, log_acc_width;
	unsigned int log_batch, log_block;
	unsigned int log_uop_buff_size, log_inp_buff_size;
	unsigned int log_wgt_buff_size, log_acc_buff_size;
	/* Derived by vtaops_core_init(): */
	uint32_t batch, block;		/* values */
	uint32_t inp_bytes;		/* of an element; of OUT too */
	uint32_t wgt_bytes, acc_bytes;
	uint32_t log_uop_depth, log_inp_depth, log_wgt_depth, log_acc_depth;
};

/*
 * Errors, returned negated by the operators. A builder that has failed keeps
 * its first error and the reason (vtaops_builder.why), and does nothing more.
 */
enum vtaops_error {
	VTAOPS_EINVAL = 1,	/* a shape or parameter that means nothing */
	VTAOPS_EALIGN,		/* address not a multiple of the element */
	VTAOPS_EFIT,		/* no tile of it fits the core's scratchpads */
	VTAOPS_ESPACE,		/* the storage for instructions or micro-ops */
	VTAOPS_ECORE,		/* the core cannot do it, or its config is invalid */
};

/*
 * Fill in the derived fields. Returns 0, or -VTAOPS_ECORE if the logarithms
 * are not a valid configuration.
 */
int vtaops_core_init(struct vtaops_core *core);

struct vtaops_insn {
	uint64_t word[2];
};

/* The core's clock as the stream is made; private to the library. */
#define VTAOPS_TOKENS	8
struct vtaops_time {
	uint64_t end[3];			/* of each module's last instruction */
	uint64_t pushed[4][VTAOPS_TOKENS];	/* when each waiting token was */
	uint8_t first[4], tokens[4];
	uint8_t last;				/* module of the last instruction */
};

struct vtaops_builder {
	const struct vtaops_core *core;
	struct vtaops_insn *insn;	/* storage, may be NULL */
	uint32_t *uop;			/* storage, may be NULL */
	size_t insn_max, uop_max;	/* its size, in instructions and micro-ops */
	size_t insns, uops;		/* made so far */
	uint32_t uop_addr;		/* device address of uop[0] */
	uint64_t cycles;		/* the stream so far takes: docs/isa.md, 9 */
	int error;			/* 0 or an enum vtaops_error, negated */
	const char *why;		/* a sentence, if error; valid as the builder is */
	/* Private: */
	uint32_t uop_sram;		/* micro-ops in the scratchpad */
	unsigned int pops;		/* of the next instruction */
	struct vtaops_time time;
	char text[120];
};

/*
 * Start a stream. @uop_addr is where the micro-ops will be for the card, a
 * multiple of 4. With @insn or @uop NULL, nothing is stored there and the
 * space is unlimited.
 */
void vtaops_begin(struct vtaops_builder *b, const struct vtaops_core *core,
		  struct vtaops_insn *insn, size_t insn_max,
		  uint32_t *uop, size_t uop_max, uint32_t uop_addr);

/* End the stream: returns 0 or the builder's error. */
int vtaops_finish(struct vtaops_builder *b);

/*
 * What happens to an accumulator before it is stored as OUT:
 *	out = min(max((acc * mul + bias) >> shift, lo), hi)
 * in 32 bits that wrap: the caller sees to it that they do not. The shift is
 * arithmetic: it rounds down, or to the nearest (half up) with round set. relu is
 * lo = 0; lo and hi must be representable in OUT. mul and shift are the same
 * for all channels; muls and shifts are vectors with a value for each, as bias
 * is (vtaops_pack_bias()). A shift there may be negative, to the left; it does not
 * go with round: half of the step can be added to the bias.
 */
struct vtaops_post {
	uint32_t bias;		/* device address, 0 for none */
	uint32_t muls, shifts;	/* likewise; with mul or shift 0 */
	int mul;		/* of 16 bits; 0 stands for 1 */
	unsigned int shift;	/* 0 to 31 */
	int lo, hi;		/* lo <= hi */
	int round;
};

/*
 * The sums of a layer begin with res << res_shift if there is a residual: a
 * tensor of the output's shape and layout (a core with int8 inputs only). The
 * output overlaps neither the input nor the residual.
 *
 * Dense: acc[n][o] = res[n][o] + sum over i of inp[n][i] * wgt[o][i].
 * Matrices and weights packed (KH = KW = 1).
 */
struct vtaops_dense {
	uint32_t inp, wgt, out;		/* device addresses */
	uint32_t res;			/* likewise, 0 for none */
	unsigned int res_shift;		/* 0 to 31 */
	uint32_t n, in, units;		/* rows, inputs, outputs */
	struct vtaops_post post;
};

int vtaops_dense(struct vtaops_builder *b, const struct vtaops_dense *op);

/*
 * 2-D convolution (cross-correlation, as everywhere in machine learning) with
 * zero padding. Activations packed. Output height, and width likewise:
 *	(h + 2 pad_h + end_h - (kh - 1) dil_h - 1) / stride_h + 1
 * There are pad_h rows of padding above the input and pad_h + end_h below it; each is
 * less than the dilated kernel's size and not negative.
 *
 * transposed: each input is spread over the outputs that a convolution with
 * these parameters would make it from; weights as if for that convolution's
 * transpose, [units][in][kh][kw]; end_h and end_w are 0. The output's height is
 *	(h - 1) stride_h - 2 pad_h + (kh - 1) dil_h + 1 + out_pad_h
 * with out_pad_h below stride_h. No residual.
 *
 * groups: output channels of a group see the group's inputs only. Weights are
 * [units][in / groups][kh][kw], packed by vtaops_pack_wgt_groups().
 */
struct vtaops_conv2d {
	uint32_t inp, wgt, out;		/* device addresses */
	uint32_t res;			/* likewise, 0 for none */
	unsigned int res_shift;		/* 0 to 31 */
	uint32_t n, in, h, w;		/* input: images, channels, size */
	uint32_t units, kh, kw;		/* output channels, kernel */
	uint32_t stride_h, stride_w, pad_h, pad_w;
	int32_t end_h, end_w;		/* more padding behind than before */
	uint32_t dil_h, dil_w;		/* 0 stands for 1 */
	uint32_t groups;		/* 0 stands for 1 */
	uint32_t out_pad_h, out_pad_w;	/* of a transposed one */
	int transposed;
	struct vtaops_post post;
};

int vtaops_conv2d(struct vtaops_builder *b, const struct vtaops_conv2d *op);

/* 0 of a shape that has no outputs. */
uint32_t vtaops_conv2d_out_h(const struct vtaops_conv2d *op);
uint32_t vtaops_conv2d_out_w(const struct vtaops_conv2d *op);

/*
 * In how many parts of whole channel blocks the card computes a convolution
 * with @groups: as many as there are groups if their channels are multiples of
 * BLOCK; several groups go together, with zeros between, if not. The last part may
 * have fewer groups than the others. 0 if the channels are no multiples of the groups.
 */
uint32_t vtaops_conv2d_parts(const struct vtaops_core *core, uint32_t in, uint32_t units,
			     uint32_t groups);

/*
 * What follows brings int8 tensors into the accumulators by LOAD. Cores with
 * narrower inputs do it by GEMM and need the identity as weights: the device
 * address of one wgt element by vtaops_pack_identity(), else -VTAOPS_ECORE.
 *
 * Element-wise on packed data of @elements OUT elements (any layout), each
 * operand shifted left first:
 *	add	out = post((a << a_shift) + (b << b_shift)); mul, max, min likewise
 *	shift	out = post((a << a_shift) >> (b << b_shift)); by less than 0 to the left
 *	requantise	out = post(a << a_shift)
 * offset is added before post: what zero points of the operands amount to.
 * requantise is a shift or multiplication by a number, relu or clip, as post says;
 * that has no values per channel. out may be a or b.
 *
 * With repeat, each element of b is for that many of a, one behind the other: repeat =
 * H * W spreads a value for each channel, [N][C][1][1], over [N][C][H][W]. b has elements
 * / repeat elements then, and out does not overlap it.
 */
struct vtaops_eltwise {
	uint32_t a, b, out;		/* device addresses */
	uint32_t identity;		/* likewise, 0 for none */
	uint32_t elements;
	uint32_t repeat;		/* 0 stands for 1 */
	unsigned int a_shift, b_shift;	/* 0 to 31 */
	int offset;			/* up to VTAOPS_OFFSET_MAX in both directions */
	struct vtaops_post post;
};

/* An offset is added by 16 bits at a time. */
#define VTAOPS_OFFSET_MAX	(8 * 32767)

int vtaops_add(struct vtaops_builder *b, const struct vtaops_eltwise *op);
int vtaops_mul(struct vtaops_builder *b, const struct vtaops_eltwise *op);
int vtaops_max(struct vtaops_builder *b, const struct vtaops_eltwise *op);
int vtaops_min(struct vtaops_builder *b, const struct vtaops_eltwise *op);
int vtaops_shift(struct vtaops_builder *b, const struct vtaops_eltwise *op);
int vtaops_requantise(struct vtaops_builder *b, const struct vtaops_eltwise *op);

/*
 * Windows that move over each channel alone; activations packed, sizes as of a
 * convolution. The output does not overlap the input.
 *	max_pool	out = post(greatest value), padding does not count
 *	sum_pool	out = post(sum), padding counts as 0
 *	avg_pool	out = sum / (kh * kw), rounded to the nearest, clipped as post
 *			says, which has nothing else (see vtaops_average())
 *	depthwise	out = post(sum of wgt * inp), by ALU; a convolution with
 *			groups = channels is faster, for BLOCK times the memory
 */
struct vtaops_window {
	uint32_t inp, out;		/* device addresses */
	uint32_t wgt;			/* of depthwise: by vtaops_pack_depthwise() */
	uint32_t identity;		/* 0 for none */
	uint32_t n, c, h, w;		/* input: images, channels, size */
	uint32_t kh, kw;
	uint32_t stride_h, stride_w, pad_h, pad_w;
	int32_t end_h, end_w;		/* more padding behind than before */
	uint32_t dil_h, dil_w;		/* 0 stands for 1 */
	struct vtaops_post post;
};

int vtaops_max_pool(struct vtaops_builder *b, const struct vtaops_window *op);
int vtaops_sum_pool(struct vtaops_builder *b, const struct vtaops_window *op);
int vtaops_avg_pool(struct vtaops_builder *b, const struct vtaops_window *op);
int vtaops_depthwise(struct vtaops_builder *b, const struct vtaops_window *op);

/* 0 of a shape that has no outputs. */
uint32_t vtaops_window_out_h(const struct vtaops_window *op);
uint32_t vtaops_window_out_w(const struct vtaops_window *op);

/* (in + 2 pad - (k - 1) dil - 1) / stride + 1; 0 of a shape that has no outputs. */
uint32_t vtaops_out_size(uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad);

/*
 * Set mul, shift and round to divide a sum of @count values (1 to 65536) by their
 * number: to the nearest, with an error of at most 1/256 before that for up to 512
 * values and count / 131072 for more.
 */
void vtaops_average(struct vtaops_post *post, uint32_t count);

/*
 * Packing, on the host. Sizes are bytes of the packed form; sources are plain
 * row-major int8 values, of which the low INP or WGT width is kept. Source and
 * destination do not overlap. 0 from a size function: the shape is empty or
 * over 4 GiB, which no card can address.
 */
size_t vtaops_act_bytes(const struct vtaops_core *core,
			uint32_t n, uint32_t c, uint32_t h, uint32_t w);
/* Is the packed form the plain one, so that packing can be left out? */
int vtaops_act_is_packed(const struct vtaops_core *core,
			 uint32_t n, uint32_t c, uint32_t h, uint32_t w);
void vtaops_pack_act(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t n, uint32_t c, uint32_t h, uint32_t w);
void vtaops_unpack_act(const struct vtaops_core *core, int8_t *dst, const void *src,
		       uint32_t n, uint32_t c, uint32_t h, uint32_t w);

size_t vtaops_wgt_bytes(const struct vtaops_core *core,
			uint32_t o, uint32_t i, uint32_t kh, uint32_t kw);
void vtaops_pack_wgt(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t o, uint32_t i, uint32_t kh, uint32_t kw);

/* The same for a convolution with groups: @i inputs in all, @src [o][i / groups][kh][kw]. */
size_t vtaops_wgt_groups_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i,
			       uint32_t kh, uint32_t kw, uint32_t groups);
void vtaops_pack_wgt_groups(const struct vtaops_core *core, void *dst, const int8_t *src,
			    uint32_t o, uint32_t i, uint32_t kh, uint32_t kw, uint32_t groups);

/* Weights of vtaops_depthwise(): @src is [c][kh][kw], packed as 32 bits. */
size_t vtaops_depthwise_bytes(const struct vtaops_core *core, uint32_t c, uint32_t kh,
			      uint32_t kw);
void vtaops_pack_depthwise(const struct vtaops_core *core, void *dst, const int8_t *src,
			   uint32_t c, uint32_t kh, uint32_t kw);

/* One wgt element (core->wgt_bytes) with ones where input and output are the same. */
void vtaops_pack_identity(const struct vtaops_core *core, void *dst);

/* bias, muls or shifts of struct vtaops_post: one value for each of @o channels. */
size_t vtaops_bias_bytes(const struct vtaops_core *core, uint32_t o);
void vtaops_pack_bias(const struct vtaops_core *core, void *dst, const int32_t *src,
		      uint32_t o);

#ifdef __cplusplus
}
#endif

#endif /* VTAOPS_H */
