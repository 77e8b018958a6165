/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaops.h - operators for the VTA core: lowering, and data layouts
 *
 * A stream for the card is generated in three steps: describe the core
 * (vtaops_core_init(), with the card's configuration), call the operators in
 * order on a builder, end with vtaops_finish(). The result is an array of
 * instructions and one of micro-ops, which the caller places in memory that the card can
 * read; a RUN descriptor executes them. The operators of one stream are executed in
 * order: each sees the results of those before it.
 *
 * This part needs no operating system: it allocates nothing, keeps no state
 * except the builder's and calls only memset, memcpy and memcmp. The caller provides
 * the storage; a builder without storage counts what is needed:
 *
 *	vtaops_begin(&b, &core, NULL, 0, NULL, 0, 0);
 *	... operators ...
 *	vtaops_finish(&b);		// b.insns and b.uops are the counts
 *
 * The counts do not depend on addresses. One thread at a time uses a builder; different builders
 * are independent. Functions without a builder may be called by any thread.
 *
 * ADDRESSES are device addresses and multiples of the element's bytes: inp_bytes for activations,
 * matrices, outputs and residuals, wgt_bytes for weights, acc_bytes for bias, muls, shifts and
 * res_muls and for the weights of vtaops_depthwise(). Dimensions are 1 to 2^20.
 *
 * Packed layouts (the order of elements in memory; elements as in docs/isa.md):
 *	activations	[N / BATCH][C / BLOCK][H][W] of [BATCH][BLOCK]
 *	matrices	[N / BATCH][C / BLOCK] of [BATCH][BLOCK]
 *	weights		[O / BLOCK][I / BLOCK][KH][KW] of [BLOCK][BLOCK]
 *	bias		[O / BLOCK] of [BATCH][BLOCK], 32-bit
 * with N, C, I and O rounded up to whole elements; the added values are 0.
 */
#ifndef VTAOPS_H
#define VTAOPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The core's configuration (log2, names of vta_config.json: docs/isa.md, section 1) and sizes. */
struct vtaops_core {
	unsigned int log_inp_width, log_wgt_width, log_acc_width;
	unsigned int log_batch, log_block;
	unsigned int log_uop_buff_size, log_inp_buff_size;
	unsigned int log_wgt_buff_size, log_acc_buff_size;
	/* Derived by vtaops_core_init(): */
	uint32_t batch, block;		/* rows and columns of an inp element, in values */
	uint32_t inp_bytes;		/* of an inp element, and of an OUT element */
	uint32_t wgt_bytes, acc_bytes;	/* of a wgt and an acc element */
	uint32_t log_uop_depth, log_inp_depth, log_wgt_depth, log_acc_depth;
};

/*
 * Errors, which the operators return negated. A builder keeps its first error and the reason
 * (vtaops_builder.why); later calls on it do nothing and return this error.
 */
enum vtaops_error {
	VTAOPS_EINVAL = 1,	/* an invalid shape or parameter */
	VTAOPS_EALIGN,		/* an address is not a multiple of the element's bytes */
	VTAOPS_EFIT,		/* no tile of the layer fits the core's scratchpads */
	VTAOPS_ESPACE,		/* the storage for instructions or micro-ops is full */
	VTAOPS_ECORE,		/* the core does not support it, or its configuration is invalid */
};

/*
 * vtaops_core_init() - compute the derived fields of @core from its logarithms
 *
 * Returns 0, or -VTAOPS_ECORE if these are not a valid configuration.
 */
int vtaops_core_init(struct vtaops_core *core);

/* A 128-bit instruction, low word first (docs/isa.md, section 2). */
struct vtaops_insn {
	uint64_t word[2];
};

/* Model of the core's time while a stream is generated; private to the library. */
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
	size_t insn_max, uop_max;	/* size of the storage, in instructions and micro-ops */
	size_t insns, uops;		/* generated so far */
	uint32_t uop_addr;		/* device address of uop[0] */
	uint64_t cycles;		/* of the stream so far: docs/isa.md, section 9 */
	int error;			/* 0 or an enum vtaops_error, negated */
	const char *why;		/* after an error: a sentence, valid as long as *b */
	/* Private: */
	uint32_t uop_sram;		/* micro-ops in the scratchpad */
	unsigned int pops;		/* of the next instruction */
	struct vtaops_time time;
	char text[120];
};

/**
 * vtaops_begin() - start a stream
 * @b: the builder, of any content
 * @core: by vtaops_core_init(); it must live as long as the builder is used
 * @insn: storage for instructions; NULL: they are only counted, without limit
 * @insn_max: instructions that @insn has room for
 * @uop: storage for micro-ops; NULL likewise
 * @uop_max: micro-ops that @uop has room for
 * @uop_addr: device address of the micro-ops, a multiple of 4
 *
 * An error is returned by the next call on the builder.
 */
void vtaops_begin(struct vtaops_builder *b, const struct vtaops_core *core,
		  struct vtaops_insn *insn, size_t insn_max,
		  uint32_t *uop, size_t uop_max, uint32_t uop_addr);

/* vtaops_finish() - end the stream. Returns 0 or the builder's error. */
int vtaops_finish(struct vtaops_builder *b);

/**
 * struct vtaops_work - the work of instructions that follow each other in a stream
 * @cycles: the stream's time grows by so many cycles (docs/isa.md, section 9). Those of weights
 *          that are loaded while the part before still computes are that part's.
 * @gemm_uops: micro-ops of GEMMs that multiply, each BATCH * BLOCK * BLOCK multiplications
 * @alu_cycles: cycles in which ALUs, and GEMMs with reset, execute micro-ops
 * @load_bytes: bytes of memory that LOADs read
 * @store_bytes: bytes of memory that STOREs write
 * @port_cycles: cycles in which the busiest of the three modules moves bytes
 *
 * No order of the same instructions takes fewer cycles than @gemm_uops + @alu_cycles, or than
 * @port_cycles, from the begin of the first to the end of the last.
 */
struct vtaops_work {
	uint64_t cycles;
	uint64_t gemm_uops, alu_cycles;
	uint64_t load_bytes, store_bytes;
	uint64_t port_cycles;
};

/**
 * vtaops_work() - count the work of the parts of a stream
 * @core: the core
 * @insns: instructions of the stream as they are in memory, 16 bytes each, not aligned
 * @insn_count: number of them
 * @cuts: first instructions of all parts but the first, rising, above 0 and below @insn_count
 * @count: number of @cuts; there is one part more
 * @work: out: an array with the work of each part
 *
 * Returns 0. Errors: -VTAOPS_EINVAL (invalid @cuts), -VTAOPS_ECORE (in the stream's order an
 * instruction waits for a token that comes later, or tokens are left at its end, as in no stream of
 * these operators).
 */
int vtaops_work(const struct vtaops_core *core, const void *insns, uint32_t insn_count,
		const uint32_t *cuts, uint32_t count, struct vtaops_work *work);

/**
 * vtaops_limit() - what limits the speed of work, by the roofline model
 * @work: the work
 * @cycles: out: the least cycles of the work in any order: of @gemm_uops + @alu_cycles and
 *          @port_cycles, the greater
 *
 * Returns "compute" or "memory", which of the two @cycles is; or "latency" if @work->cycles is more
 * than twice @cycles: then instructions mostly wait for each other, or are short.
 */
const char *vtaops_limit(const struct vtaops_work *work, uint64_t *cycles);

/*
 * The output stage: an accumulator is stored as
 *	out = min(max((acc * mul + bias) >> shift, lo), hi)
 * in 32 bits, which wrap: the caller must choose values that do not overflow. The shift is
 * arithmetic: it rounds down, or to the nearest (half up) if round is not 0. relu is
 * lo = 0; lo and hi must be representable in OUT. mul and shift are the same
 * for all channels; bias, muls and shifts are vectors with a value for each channel
 * (vtaops_pack_bias()). A value of shifts may be negative, for a shift to the left. shifts and
 * round exclude each other: add half of the rounding step to the bias instead.
 */
struct vtaops_post {
	uint32_t bias;		/* device address, 0 for none */
	uint32_t muls, shifts;	/* likewise; mul or shift must then be 0 */
	int mul;		/* -32768 to 32767; 0: 1 */
	unsigned int shift;	/* 0 to 31 */
	int lo, hi;		/* lo <= hi */
	int round;
};

/*
 * Operators add instructions and micro-ops to a builder's stream, and return 0 or the builder's
 * error (enum vtaops_error, negated).
 *
 * With a residual, a tensor of the output's shape and layout, the sums of a layer begin with
 * res << res_shift, or with res * res_muls of the output channel (only on a core with int8
 * inputs). The output must overlap neither the input nor the residual.
 */
struct vtaops_dense {
	uint32_t inp, wgt, out;		/* device addresses */
	uint32_t res;			/* likewise, 0 for none */
	unsigned int res_shift;		/* 0 to 31 */
	uint32_t n, in, units;		/* rows, inputs and outputs of a row */
	struct vtaops_post post;
};

/*
 * vtaops_dense() - multiply a matrix by weights: out = post(acc) with
 *	acc[n][o] = (res[n][o] << res_shift) + sum over i of inp[n][i] * wgt[o][i]
 * inp is [n][in], wgt [units][in], out [n][units]; all are packed (KH = KW = 1).
 */
int vtaops_dense(struct vtaops_builder *b, const struct vtaops_dense *op);

/*
 * vtaops_dense_start() - the same with sums that begin with a vector instead of a residual:
 *	acc[n][o] = start[o] + sum over i of inp[n][i] * wgt[o][i]
 * in 32 bits, which wrap. @start is the device address of values (vtaops_pack_bias()) that are each
 * at most the least of OUT: such values take the place of older results by MIN, which clears, too,
 * and so costs an element 1 cycle less than a bias. If mul is odd, start * mul can be any bias mod
 * 2^32.
 */
int vtaops_dense_start(struct vtaops_builder *b, const struct vtaops_dense *op, uint32_t start);

/*
 * A two-dimensional convolution (cross-correlation, as usual in machine learning) with zero
 * padding. The output height is, and the width likewise,
 *	(h + 2 pad_h + end_h - (kh - 1) dil_h - 1) / stride_h + 1
 * rounded down. There are pad_h rows of padding above the input and pad_h + end_h below it; each is
 * less than the dilated kernel's size and not negative.
 *
 * transposed (not 0): the transposed convolution, as ONNX's ConvTranspose: input value (y, x) times
 * weight (i, j) is added to output (y stride_h - pad_h + i dil_h, x stride_w - pad_w + j dil_w).
 * Weights are [units][in][kh][kw]; end_h and end_w are 0. The output height is
 *	(h - 1) stride_h - 2 pad_h + (kh - 1) dil_h + 1 + out_pad_h
 * with out_pad_h below stride_h. There is no residual.
 *
 * groups: the output channels of a group depend only on the group's input channels. Weights are
 * [units][in / groups][kh][kw], packed by vtaops_pack_wgt_groups(). in and units are multiples of
 * groups.
 */
struct vtaops_conv2d {
	uint32_t inp, wgt, out;		/* device addresses */
	uint32_t res;			/* likewise, 0 for none */
	uint32_t res_muls;		/* likewise, a vector (vtaops_pack_bias()): no res_shift */
	unsigned int res_shift;		/* 0 to 31 */
	uint32_t n, in, h, w;		/* input: images, channels, size */
	uint32_t units, kh, kw;		/* output channels, kernel */
	uint32_t stride_h, stride_w, pad_h, pad_w;
	int32_t end_h, end_w;		/* additional padding below and at the right */
	uint32_t dil_h, dil_w;		/* 0: 1 */
	uint32_t groups;		/* 0: 1 */
	uint32_t out_pad_h, out_pad_w;	/* only if transposed */
	int transposed;
	struct vtaops_post post;
};

/*
 * vtaops_conv2d() - convolve: out = post(acc) with res as in vtaops_dense(). inp is [n][in][h][w],
 * out [n][units][..out_h][..out_w], wgt [units][in][kh][kw]; all are packed.
 */
int vtaops_conv2d(struct vtaops_builder *b, const struct vtaops_conv2d *op);

/* vtaops_conv2d_start() - the same with sums that begin with a vector, as vtaops_dense_start() */
int vtaops_conv2d_start(struct vtaops_builder *b, const struct vtaops_conv2d *op, uint32_t start);

/*
 * vtaops_conv2d_around() - the same, or with a residual, with other values than zeros around the
 * input. @start may be 0: none. @around is the device address of the values, an image of one
 * position, [BATCH][in][1][1], packed (vtaops_pack_act()): a value of each channel, for each row of
 * the batch. For tensors whose real 0 is another integer. A transposed convolution has none.
 */
int vtaops_conv2d_around(struct vtaops_builder *b, const struct vtaops_conv2d *op, uint32_t start,
			 uint32_t around);

/*
 * Results and residuals of 16 bits: value = 256 * high + low, in two tensors of one shape. high is
 * the value in steps of 256, rounded to the nearest, and low, from -128 to 127, what that leaves.
 * These are the low ones of what struct vtaops_conv2d has.
 */
struct vtaops_fine {
	uint32_t res, out;	/* device addresses, 0 for none */
};

/*
 * vtaops_conv2d_fine() - a convolution with residual or result of 16 bits, or both
 *
 * With fine->res, the sums begin with ((res << 8) + fine->res) * res_muls >> 8; res and res_muls
 * are needed. With fine->out, lo and hi of the output stage are limits of the result of 16 bits,
 * from -32768 to 32639. @around is as in vtaops_conv2d_around(), or 0. The convolution is not
 * transposed.
 */
int vtaops_conv2d_fine(struct vtaops_builder *b, const struct vtaops_conv2d *op,
		       const struct vtaops_fine *fine, uint32_t around);

/*
 * vtaops_conv2d_out_h() - output height; 0 for a shape without outputs
 * vtaops_conv2d_out_w() - output width, likewise
 */
uint32_t vtaops_conv2d_out_h(const struct vtaops_conv2d *op);
uint32_t vtaops_conv2d_out_w(const struct vtaops_conv2d *op);

/**
 * vtaops_conv2d_parts() - number of parts in which the card computes a convolution with groups
 * @core: by vtaops_core_init()
 * @in: input channels
 * @units: output channels
 * @groups: groups of the convolution
 *
 * Each part has whole channel blocks. The number is @groups if the channels of a group are
 * multiples of BLOCK; otherwise one part has several groups, with zero weights between them, and
 * the last part may have fewer groups than the others. 0 if the channels are not multiples of
 * @groups.
 */
uint32_t vtaops_conv2d_parts(const struct vtaops_core *core, uint32_t in, uint32_t units,
			     uint32_t groups);

/*
 * The following operators read int8 tensors into the accumulators by LOAD. On cores with
 * narrower inputs they use GEMM with the identity as weights, and need the device
 * address of one wgt element of vtaops_pack_identity(); without it they return -VTAOPS_ECORE.
 *
 * Element-wise operators on @elements OUT elements of packed data (any layout). offset accounts for
 * zero points of the operands. post must have no vectors (bias, muls, shifts). out may be a or b,
 * and overlaps them in no other way.
 *
 * With repeat, each element of b is used for repeat consecutive elements of a: repeat =
 * H * W broadcasts one value for each channel, [N][C][1][1], to [N][C][H][W]. b then has elements
 * / repeat elements, and out does not overlap b.
 */
struct vtaops_eltwise {
	uint32_t a, b, out;		/* device addresses */
	uint32_t identity;		/* likewise, 0 for none */
	uint32_t elements;
	uint32_t repeat;		/* divides elements; 0: 1 */
	unsigned int a_shift, b_shift;	/* 0 to 31 */
	int offset;			/* -VTAOPS_OFFSET_MAX to VTAOPS_OFFSET_MAX */
	struct vtaops_post post;
};

/* An offset is added in up to 8 immediates of 16 bits. */
#define VTAOPS_OFFSET_MAX	(8 * 32767)

/* vtaops_add() - out = post((a << a_shift) + (b << b_shift) + offset) */
int vtaops_add(struct vtaops_builder *b, const struct vtaops_eltwise *op);
/* vtaops_mul() - out = post((a << a_shift) * (b << b_shift) + offset) */
int vtaops_mul(struct vtaops_builder *b, const struct vtaops_eltwise *op);
/* vtaops_max() - out = post(max(a << a_shift, b << b_shift) + offset) */
int vtaops_max(struct vtaops_builder *b, const struct vtaops_eltwise *op);
/* vtaops_min() - out = post(min(a << a_shift, b << b_shift) + offset) */
int vtaops_min(struct vtaops_builder *b, const struct vtaops_eltwise *op);
/*
 * vtaops_shift() - out = post(((a << a_shift) >> (b << b_shift)) + offset); negative: to the left
 */
int vtaops_shift(struct vtaops_builder *b, const struct vtaops_eltwise *op);
/*
 * vtaops_requantise() - out = post((a << a_shift) + offset): a shift, a multiplication by a number,
 * relu or clip. b is not read.
 */
int vtaops_requantise(struct vtaops_builder *b, const struct vtaops_eltwise *op);

/*
 * A function of one value in integers: with clip(x, lo, hi) = min(max(x, lo), hi),
 *	sum = offset + sum over the ramps of mul * clip(x, lo, hi)
 *	y = clip((((times ? sum * (x - zero) : sum) >> first) + bias) >> shift, lo, hi)
 * in 32 bits, which wrap, by arithmetic shifts. x and y have the width of INP. Any function of
 * integers is such a sum; a smooth one of few ramps.
 */
struct vtaops_ramp {
	int lo, hi;		/* lo <= hi, both representable in INP */
	int mul;		/* -32768 to 32767 */
};

#define VTAOPS_RAMPS_MAX	1024

struct vtaops_formula {
	const struct vtaops_ramp *ramps;
	uint32_t count;		/* of them, 1 to VTAOPS_RAMPS_MAX */
	int times;		/* not 0: the sum is multiplied */
	int zero;		/* representable in INP */
	int offset, bias;	/* -VTAOPS_OFFSET_MAX to VTAOPS_OFFSET_MAX */
	unsigned int first, shift;	/* 0 to 31 */
	int lo, hi;		/* lo <= hi, both representable in OUT */
};

/* vtaops_formula_value() - y of @x; the lower 32 bits of sums count, as on the card */
int vtaops_formula_value(const struct vtaops_formula *f, int x);
/* vtaops_formula_cycles() - cycles of the card's ALU and of its loads for each element, nearly */
uint32_t vtaops_formula_cycles(const struct vtaops_core *core, const struct vtaops_formula *f);

/* @elements are OUT elements of packed data, of any layout. out may be a. */
struct vtaops_function {
	uint32_t a, out;	/* device addresses */
	uint32_t identity;	/* as in struct vtaops_eltwise */
	uint32_t elements;
	struct vtaops_formula formula;
};

/* vtaops_function() - out = formula(a), value by value */
int vtaops_function(struct vtaops_builder *b, const struct vtaops_function *op);

/*
 * Channels of one tensor or of several, which have the same images and sizes, in any order: splits
 * and joins that are no whole blocks, and shuffles. Channels of the output may repeat. The output
 * must not overlap an input.
 */
struct vtaops_source {
	uint32_t inp;		/* device address */
	uint32_t c;		/* channels */
};

struct vtaops_pick {
	uint32_t source, channel;	/* number of the input, and of its channel */
};

struct vtaops_channels {
	const struct vtaops_source *sources;
	uint32_t count;			/* of them */
	const struct vtaops_pick *picks;	/* of each output channel */
	uint32_t wgt, out;		/* device addresses; wgt: vtaops_pack_channels() */
	uint32_t n, c, h, w;		/* output: images, channels, size */
};

/* vtaops_channels() - out[n][c] = input picks[c].source's [n][picks[c].channel], all packed */
int vtaops_channels(struct vtaops_builder *b, const struct vtaops_channels *op);

/*
 * Products of two computed matrices, one for each head of each image:
 *	out[m][n] = post(sum over k of a[m][k] * b[k][n])
 * The matrices of all heads are parts of one packed matrix. By rows, it has the rows of one head
 * behind those of another, [images * heads * rows][columns]; by columns, heads share an image's
 * rows, [images * rows][heads * columns], and their columns are whole blocks. With b_turned, b of a
 * head is [n][k], its transpose. If there are several heads or images, m and the rows of b are
 * multiples of BATCH.
 *
 * The operator brings b into the order of weights first, in @scratch. post has no vectors (bias,
 * muls, shifts). The core's inputs and weights have one width, and BATCH is at most BLOCK.
 */
struct vtaops_matmul {
	uint32_t a, b, out;	/* device addresses */
	/* likewise, of vtaops_matmul_scratch() bytes, a multiple of wgt_bytes: */
	uint32_t scratch;
	uint32_t identity;	/* of one wgt element of vtaops_pack_identity() */
	uint32_t ones;		/* vtaops_pack_bias() of k ones, if BLOCK does not divide k */
	uint32_t images, heads, m, n, k;
	int a_columns, b_columns, out_columns;	/* not 0: heads are columns */
	int b_turned;
	struct vtaops_post post;
};

/* vtaops_matmul() - multiply two computed matrices, of each head of each image */
int vtaops_matmul(struct vtaops_builder *b, const struct vtaops_matmul *op);
/* vtaops_matmul_scratch() - bytes that it needs; 0 if they are more than 4 GiB or none */
size_t vtaops_matmul_scratch(const struct vtaops_core *core, const struct vtaops_matmul *op);

/*
 * Normalisation of each position by its own channels, x[0] to x[c - 1]: with mean, their mean, and
 * variance, that of (x - mean)^2,
 *	acc = (x - mean) / sqrt(variance + epsilon / (c << places)), times 2^(18 - shift)
 *	out = post(acc)
 * which is LayerNormalization of the channels; or rms, where the number zero takes the place of
 * the mean. acc is computed in 32 bits, without rounding before, as
 *	acc = (x * factor + offset) >> shift
 * by two numbers of the position, which vtaops_norm_factors() gives. |acc| is at most
 * 2^(18 - shift) * sqrt(c), and hardly more.
 */
struct vtaops_norm_form {
	uint32_t c;		/* channels, 1 to VTAOPS_NORM_MAX */
	int rms;		/* not 0: without a mean */
	int zero;		/* rms: -128 to 127, instead of it */
	uint32_t epsilon;	/* 0 to 2^28 */
	unsigned int shift;	/* 0 to 17 */
};

#define VTAOPS_NORM_MAX		8192
#define VTAOPS_NORM_PLACES	18

/* vtaops_norm_places() - the places of epsilon for @c channels */
unsigned int vtaops_norm_places(uint32_t c);
/*
 * vtaops_norm_factors() - the numbers of a position by the sums of its channels and of their
 * squares, by the card's own steps
 */
void vtaops_norm_factors(const struct vtaops_norm_form *f, int32_t sum, int32_t squares,
			 int32_t *factor, int32_t *offset);
/* vtaops_norm_value() - acc of @x */
int32_t vtaops_norm_value(const struct vtaops_norm_form *f, int x, int32_t factor, int32_t offset);

/*
 * Activations [n][c][h][w], packed. The core has int8 inputs and weights, and BATCH is at most
 * BLOCK. post may have vectors. The output overlaps neither the input nor the scratch memory.
 */
struct vtaops_norm {
	uint32_t inp, out;	/* device addresses */
	/* likewise, of vtaops_norm_scratch() bytes, a multiple of wgt_bytes: */
	uint32_t scratch;
	/* likewise, of vtaops_pack_norm(), a multiple of wgt_bytes and of acc_bytes: */
	uint32_t tables;
	uint32_t ones;		/* vtaops_pack_bias() of c ones, if BLOCK does not divide c */
	uint32_t n, h, w;
	struct vtaops_norm_form form;
	struct vtaops_post post;
};

/*
 * vtaops_norm() - normalise each position. The counts depend on whether inp is a multiple of
 * wgt_bytes: then, and if pixels and channels are whole weights, no copy of the input is made.
 */
int vtaops_norm(struct vtaops_builder *b, const struct vtaops_norm *op);
/* vtaops_norm_scratch() - bytes that it needs; 0 if they are more than 4 GiB or none */
size_t vtaops_norm_scratch(const struct vtaops_core *core, const struct vtaops_norm *op);
/* vtaops_norm_bytes() - bytes of the tables; 0 for a core that cannot normalise */
size_t vtaops_norm_bytes(const struct vtaops_core *core);
/* vtaops_pack_norm() - make the tables, which depend on nothing else: zeros and ones */
void vtaops_pack_norm(const struct vtaops_core *core, void *dst);

/*
 * Window operators, which treat each channel separately. Activations are packed; sizes are those
 * of a convolution. The output must not overlap the input.
 */
struct vtaops_window {
	uint32_t inp, out;		/* device addresses */
	uint32_t wgt;			/* only depthwise: vtaops_pack_depthwise() */
	/* as in struct vtaops_eltwise; sums are by GEMM then, if that takes fewer cycles */
	uint32_t identity;
	uint32_t n, c, h, w;		/* input: images, channels, size */
	uint32_t kh, kw;		/* window */
	uint32_t stride_h, stride_w, pad_h, pad_w;
	int32_t end_h, end_w;		/* additional padding below and at the right */
	uint32_t dil_h, dil_w;		/* 0: 1 */
	struct vtaops_post post;
};

/* vtaops_max_pool() - out = post(greatest value of the window); padding is ignored */
int vtaops_max_pool(struct vtaops_builder *b, const struct vtaops_window *op);
/* vtaops_sum_pool() - out = post(sum of the window); padding counts as 0 */
int vtaops_sum_pool(struct vtaops_builder *b, const struct vtaops_window *op);
/*
 * vtaops_avg_pool() - out = sum of the window / (kh * kw), rounded to the nearest
 * (vtaops_average()), clipped by lo and hi of post, whose other fields must be 0
 */
int vtaops_avg_pool(struct vtaops_builder *b, const struct vtaops_window *op);
/*
 * vtaops_depthwise() - out = post(sum of wgt * inp), by ALU. A vtaops_conv2d() with groups = c is
 * faster, for BLOCK times the memory.
 */
int vtaops_depthwise(struct vtaops_builder *b, const struct vtaops_window *op);

/*
 * vtaops_window_out_h() - output height; 0 for a shape without outputs
 * vtaops_window_out_w() - output width, likewise
 */
uint32_t vtaops_window_out_h(const struct vtaops_window *op);
uint32_t vtaops_window_out_w(const struct vtaops_window *op);

/*
 * vtaops_out_size() - (in + 2 pad - (k - 1) dil - 1) / stride + 1, rounded down: an output's height
 * or width; 0 for a shape without outputs
 */
uint32_t vtaops_out_size(uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad);

/*
 * vtaops_average() - set mul, shift and round of @post to divide a sum of @count values (1 to
 * 65536) by @count, rounded to the nearest. Before rounding, the error is at most 1/256 for up to
 * 512 values, and count / 131072 for more.
 */
void vtaops_average(struct vtaops_post *post, uint32_t count);

/*
 * Packing, on the host. The functions vtaops_..._bytes() return the bytes of the packed form; 0 if
 * the shape is empty or needs more than 4 GiB, which no card can address. Sources of packing are
 * plain row-major int8 values, [n][c][h][w] or [o][i][kh][kw], of which the low INP or WGT width
 * bits are kept. Source and destination do not overlap. They cannot fail.
 */

/* vtaops_act_bytes() - bytes of packed activations [n][c][h][w] */
size_t vtaops_act_bytes(const struct vtaops_core *core,
			uint32_t n, uint32_t c, uint32_t h, uint32_t w);
/*
 * vtaops_act_is_packed() - 1 if the packed form equals the plain form, so that packing can be
 * omitted; else 0
 */
int vtaops_act_is_packed(const struct vtaops_core *core,
			 uint32_t n, uint32_t c, uint32_t h, uint32_t w);
/* vtaops_pack_act() - pack activations: vtaops_act_bytes() bytes at @dst */
void vtaops_pack_act(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t n, uint32_t c, uint32_t h, uint32_t w);
/* vtaops_unpack_act() - the reverse: @n * @c * @h * @w values at @dst */
void vtaops_unpack_act(const struct vtaops_core *core, int8_t *dst, const void *src,
		       uint32_t n, uint32_t c, uint32_t h, uint32_t w);

/* vtaops_wgt_bytes() - bytes of packed weights [o][i][kh][kw] */
size_t vtaops_wgt_bytes(const struct vtaops_core *core,
			uint32_t o, uint32_t i, uint32_t kh, uint32_t kw);
/* vtaops_pack_wgt() - pack weights: vtaops_wgt_bytes() bytes at @dst */
void vtaops_pack_wgt(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t o, uint32_t i, uint32_t kh, uint32_t kw);

/* vtaops_wgt_groups_bytes() - likewise of a convolution with groups and @i inputs in total */
size_t vtaops_wgt_groups_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i,
			       uint32_t kh, uint32_t kw, uint32_t groups);
/* vtaops_pack_wgt_groups() - pack these; @src is [o][i / groups][kh][kw] */
void vtaops_pack_wgt_groups(const struct vtaops_core *core, void *dst, const int8_t *src,
			    uint32_t o, uint32_t i, uint32_t kh, uint32_t kw, uint32_t groups);

/* vtaops_depthwise_bytes() - bytes of packed weights of vtaops_depthwise(), of 32 bits each */
size_t vtaops_depthwise_bytes(const struct vtaops_core *core, uint32_t c, uint32_t kh,
			      uint32_t kw);
/* vtaops_pack_depthwise() - pack these; @src is [c][kh][kw] */
void vtaops_pack_depthwise(const struct vtaops_core *core, void *dst, const int8_t *src,
			   uint32_t c, uint32_t kh, uint32_t kw);

/* vtaops_channels_bytes() - bytes of the weights of vtaops_channels() with @c output channels */
size_t vtaops_channels_bytes(const struct vtaops_core *core, const struct vtaops_pick *picks,
			     uint32_t c);
/* vtaops_pack_channels() - make these weights, which depend on nothing else */
void vtaops_pack_channels(const struct vtaops_core *core, void *dst,
			  const struct vtaops_pick *picks, uint32_t c);

/* vtaops_pack_identity() - the identity matrix as one wgt element: core->wgt_bytes bytes at @dst */
void vtaops_pack_identity(const struct vtaops_core *core, void *dst);

/* vtaops_bias_bytes() - bytes of a packed vector: bias, muls or shifts of struct vtaops_post */
size_t vtaops_bias_bytes(const struct vtaops_core *core, uint32_t o);
/* vtaops_pack_bias() - pack a vector; @src has one value for each of @o channels */
void vtaops_pack_bias(const struct vtaops_core *core, void *dst, const int32_t *src,
		      uint32_t o);

#ifdef __cplusplus
}
#endif

#endif /* VTAOPS_H */
