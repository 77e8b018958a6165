// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernels.c - the CPU's float kernels (libvtadev/cpu), one thread, against simple limits
 *
 * The limit of a kernel is the longer of two times, both measured in the same run: that of its
 * multiplications and additions in a loop on registers alone, and that of memcpy() for as many
 * bytes as its operands have. Times are of the thread on a processor.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "vtacpu.h"

#define ROUNDS		15u
#define SHORT_NS	200000.0	/* a shorter kernel is called several times a round */
#define CALLS_MAX	512u

/**
 * struct kind - a kernel with its sizes
 * @name: for people
 * @kernel: enum vtacpu_kernel
 * @p: its parameters
 * @sums: need.work is of multiplications that are added up
 */
static const struct kind {
	const char *name;
	uint32_t kernel;
	union vtacpu_params p;
	bool sums;
} kinds[] = {
#define CONV(name, in, size, out, k, stride, by)						\
	{ name, VTACPU_CONV_F32, { .conv_f32 = { .win = {					\
		.n = 1, .ic = in, .ih = size, .iw = size, .oc = out,				\
		.oh = ((size) - 1) / (stride) + 1, .ow = ((size) - 1) / (stride) + 1,		\
		.kh = k, .kw = k, .stride_h = stride, .stride_w = stride,			\
		.pad_top = (k) / 2, .pad_left = (k) / 2, .dil_h = 1, .dil_w = 1,		\
		.groups = by },									\
		.has_bias = 1, .act = { VTACPU_ACT_CLIP, 0, 6 } } }, true }
	CONV("conv 3x3, 64 to 64, 56", 64, 56, 64, 3, 1, 1),
	CONV("conv 3x3, 256 to 256, 14", 256, 14, 256, 3, 1, 1),
	CONV("conv 3x3 / 2, 128 to 128, 56", 128, 56, 128, 3, 2, 1),
	CONV("conv 3x3 / 2, 3 to 32, 224", 3, 224, 32, 3, 2, 1),
	CONV("conv 7x7 / 2, 3 to 64, 224", 3, 224, 64, 7, 2, 1),
	CONV("conv 1x1, 64 to 256, 56", 64, 56, 256, 1, 1, 1),
	CONV("conv 1x1, 24 to 144, 56", 24, 56, 144, 1, 1, 1),
	CONV("conv 1x1, 960 to 160, 7", 960, 7, 160, 1, 1, 1),
	CONV("conv 1x1 / 2, 256 to 512, 56", 256, 56, 512, 1, 2, 1),
	CONV("conv 3x3, 32 groups of 4, 56", 128, 56, 128, 3, 1, 32),
	CONV("depthwise 3x3, 144, 56", 144, 56, 144, 3, 1, 144),
	CONV("depthwise 3x3 / 2, 144, 56", 144, 56, 144, 3, 2, 144),
	CONV("depthwise 5x5, 240, 28", 240, 28, 240, 5, 1, 240),
	CONV("depthwise 3x3, 576, 14", 576, 14, 576, 3, 1, 576),
	CONV("depthwise 5x5, 1152, 7", 1152, 7, 1152, 5, 1, 1152),
#define GEMM(name, many, rows, cols, inner, ar, ac, br, bc)					\
	{ name, VTACPU_GEMM_F32, { .gemm_f32 = { .mat = {					\
		.batch = { 1, 1, many }, .m = rows, .n = cols, .k = inner,			\
		.a_batch = { 0, 0, (rows) * (inner) }, .a_row = ar, .a_col = ac,		\
		.b_batch = { 0, 0, (inner) * (cols) }, .b_row = br, .b_col = bc },		\
		.alpha = 1, .beta = 1 } }, true }
	GEMM("MatMul 197x768 by 768x768", 1, 197, 768, 768, 768, 1, 768, 1),
	GEMM("MatMul 128x768 by 768x3072", 1, 128, 3072, 768, 768, 1, 3072, 1),
	GEMM("12 MatMul 197x64 by 64x197, transposed", 12, 197, 197, 64, 64, 1, 1, 64),
	GEMM("12 MatMul 197x197 by 197x64", 12, 197, 64, 197, 197, 1, 64, 1),
	GEMM("Gemm 1x1280 by 1280x1000, transposed", 1, 1, 1000, 1280, 1280, 1, 1, 1280),
#define UNARY(name, kind, x, y)									\
	{ name, VTACPU_UNARY_F32, { .unary_f32 = { 200000, { kind, x, y } } }, false }
	UNARY("Relu", VTACPU_ACT_CLIP, 0, 3.4e38f),
	UNARY("HardSwish", VTACPU_ACT_HARD_SWISH, 0, 0),
	UNARY("Exp", VTACPU_ACT_EXP, 0, 0),
	UNARY("Sigmoid", VTACPU_ACT_SIGMOID, 0, 0),
	UNARY("Tanh", VTACPU_ACT_TANH, 0, 0),
	UNARY("Erf", VTACPU_ACT_ERF, 0, 0),
	UNARY("Gelu", VTACPU_ACT_GELU, 0, 0),
	UNARY("Sqrt", VTACPU_ACT_SQRT, 0, 0),
	UNARY("Log", VTACPU_ACT_LOG, 0, 0),
#define BROADCAST(op, a0, a1, a2, b0, b1, b2)							\
	{ op, 3, { 144, 56, 56 }, { a0, a1, a2 }, { b0, b1, b2 } }
	{ "Add of two", VTACPU_BINARY_F32, { .binary_f32 = {
		BROADCAST(VTACPU_ADD, 3136, 56, 1, 3136, 56, 1), { 0 } } }, false },
	{ "Mul by channel", VTACPU_BINARY_F32, { .binary_f32 = {
		BROADCAST(VTACPU_MUL, 3136, 56, 1, 1, 0, 0), { 0 } } }, false },
	{ "Div by one", VTACPU_BINARY_F32, { .binary_f32 = {
		BROADCAST(VTACPU_DIV, 3136, 56, 1, 0, 0, 0), { 0 } } }, false },
	{ "Pow by 2", VTACPU_BINARY, { .binary = {
		BROADCAST(VTACPU_POW, 3136, 56, 1, 0, 0, 0), VTACPU_F32 } }, false },
	{ "Less of two", VTACPU_BINARY, { .binary = {
		BROADCAST(VTACPU_LESS, 3136, 56, 1, 3136, 56, 1), VTACPU_F32 } }, false },
	{ "Add of int64", VTACPU_BINARY, { .binary = {
		BROADCAST(VTACPU_ADD, 3136, 56, 1, 3136, 56, 1), VTACPU_I64 } }, false },
	{ "Where", VTACPU_SELECT, { .select = { 4, 3, { 144, 56, 56 },
		{ 0, 56, 1 }, { 3136, 56, 1 }, { 0, 0, 0 } } }, false },
	{ "Softmax, 12 x 197 rows of 197", VTACPU_SOFTMAX_F32, { .softmax_f32 = {
		12 * 197, 197, 1 } }, false },
	{ "Softmax, 21 planes", VTACPU_SOFTMAX_F32, { .softmax_f32 = { 1, 21, 16384 } }, false },
	{ "LayerNormalization, 197 rows of 768", VTACPU_NORM_F32, { .norm_f32 = {
		.rows = 197, .count = 768, .period = 1, .plane = 1, .has_scale = 1,
		.has_bias = 1, .epsilon = 0.00001f } }, false },
	{ "InstanceNormalization, 64 of 56 x 56", VTACPU_NORM_F32, { .norm_f32 = {
		.rows = 64, .count = 3136, .period = 64, .plane = 3136, .has_scale = 1,
		.has_bias = 1, .epsilon = 0.00001f } }, false },
	{ "BatchNormalization, 144, 56", VTACPU_BATCH_NORM_F32, { .batch_norm_f32 = {
		1, 144, 3136, 0.00001f, { VTACPU_ACT_CLIP, 0, 6 } } }, false },
	{ "GlobalAveragePool, 960, 7", VTACPU_REDUCE_F32, { .reduce_f32 = {
		VTACPU_REDUCE_MEAN, 3, 6, { 960, 7, 7 } } }, false },
	{ "ReduceMean over channels, 144, 56", VTACPU_REDUCE_F32, { .reduce_f32 = {
		VTACPU_REDUCE_MEAN, 2, 1, { 144, 3136 } } }, false },
#define POOL(name, op, k, step, pad, in, out)							\
	{ name, VTACPU_POOL_WINDOW_F32, { .pool_window_f32 = { .pool = {			\
		.kind = op, .n = 1, .c = 64, .ih = in, .iw = in, .oh = out, .ow = out,		\
		.kh = k, .kw = k, .stride_h = step, .stride_w = step, .pad_top = pad,		\
		.pad_left = pad, .pad_bottom = pad, .pad_right = pad,				\
		.dil_h = 1, .dil_w = 1 } } }, false }
	POOL("MaxPool 3x3 / 2", VTACPU_POOL_MAX, 3, 2, 1, 112, 56),
	POOL("MaxPool 2x2 / 2", VTACPU_POOL_MAX, 2, 2, 0, 112, 56),
	POOL("AveragePool 3x3", VTACPU_POOL_AVG, 3, 1, 1, 56, 56),
	{ "Transpose, 197 x 12 x 64", VTACPU_MOVE, { .move = { 4, 3, { 12, 197, 64 },
		{ 64, 768, 1 }, { 12608, 64, 1 }, 0, 0, 151296, 151296 } }, false },
	{ "Transpose, 3136 x 96", VTACPU_MOVE, { .move = { 4, 2, { 96, 3136 },
		{ 1, 96 }, { 3136, 1 }, 0, 0, 301056, 301056 } }, false },
	{ "Transpose, 96 x 3136", VTACPU_MOVE, { .move = { 4, 2, { 3136, 96 },
		{ 1, 3136 }, { 96, 1 }, 0, 0, 301056, 301056 } }, false },
	{ "Concat, a part", VTACPU_MOVE, { .move = { 4, 2, { 1, 301056 },
		{ 0, 1 }, { 0, 1 }, 0, 301056, 301056, 602112 } }, false },
	{ "Pad, 64, 56", VTACPU_PAD, { .pad = { 4, 3, VTACPU_PAD_CONSTANT, { 64, 56, 56 },
		{ 64, 58, 58 }, { 0, 1, 1 }, { 0, 0 } } }, false },
	{ "Gather, 128 rows of 768", VTACPU_GATHER, { .gather = { 4, VTACPU_I64, 1, 3000, 768,
		128 } }, false },
	{ "Resize, linear, 28 to 56", VTACPU_RESIZE, { .resize = { VTACPU_F32, 64, 28, 28, 56, 56,
		VTACPU_LINEAR, VTACPU_HALF_PIXEL, 0, 2, 2 } }, false },
	{ "Resize, nearest, 28 to 56", VTACPU_RESIZE, { .resize = { VTACPU_F32, 64, 28, 28, 56, 56,
		VTACPU_NEAREST, VTACPU_ASYMMETRIC, VTACPU_ROUND_FLOOR, 2, 2 } }, false },
	{ "QuantizeLinear", VTACPU_QUANTISE, { .quantise = { 1, 1, 200704, VTACPU_I8, 0, -128,
		127 } }, false },
	{ "DequantizeLinear", VTACPU_DEQUANTISE, { .dequantise = { 1, 1, 200704, VTACPU_I8,
		0 } }, false },
	{ "Cast of int64", VTACPU_CAST, { .cast = { 200704, VTACPU_I64, VTACPU_F32 } }, false },
};

/* A kernel with its operands. */
struct call {
	const struct kind *kind;
	struct vtacpu_need need;
	void *io[VTACPU_OPERANDS_MAX], *scratch;
	size_t bytes;			/* of all operands that it reads and writes */
	void *from, *to;		/* half as many each, for memcpy() */
	unsigned int calls;		/* in a round */
};

static void *random_floats(size_t bytes)
{
	float *x = must_ptr(aligned_alloc(64, (bytes + 127) / 64 * 64), "an operand");

	for (size_t i = 0; i < bytes / sizeof(*x); i++)
		x[i] = (float)(rand() % 20001 - 10000) / 4000;
	return x;
}

static void prepare(struct call *c, const struct kind *kind)
{
	*c = (struct call) { .kind = kind, .calls = 1 };
	if (vtacpu_need(kind->kernel, &kind->p, &c->need)) {
		fprintf(stderr, "bench: %s: %s\n", kind->name, c->need.why);
		exit(1);
	}
	for (uint32_t i = 0; i < c->need.operands; i++) {
		if (!c->need.bytes[i])
			continue;
		c->io[i] = random_floats(c->need.bytes[i]);
		/* Of integers, and of the variance of a batch norm: none is negative. */
		for (size_t j = 0; (kind->kernel == VTACPU_GATHER && i == 1) && j < 128; j++)
			((int64_t *)c->io[i])[j] = rand() % 3000;
		for (size_t j = 0; kind->kernel == VTACPU_BATCH_NORM_F32 && i == 4 &&
		     j < kind->p.batch_norm_f32.c; j++)
			((float *)c->io[i])[j] = 1;
		if (kind->kernel == VTACPU_BINARY && kind->p.binary.cast.op == VTACPU_POW && i == 1)
			*(float *)c->io[i] = 2;
		c->bytes += c->need.bytes[i];
	}
	if (kind->kernel == VTACPU_GATHER)
		c->bytes = 2 * c->need.bytes[2];
	if (c->need.partial)
		c->bytes = 2 * c->need.bytes[0];
	c->scratch = must_ptr(aligned_alloc(64, (c->need.scratch + 127) / 64 * 64), "scratch");
	c->from = random_floats(c->bytes / 2);
	c->to = random_floats(c->bytes / 2);
}

static void drop(struct call *c)
{
	for (uint32_t i = 0; i < c->need.operands; i++)
		free(c->io[i]);
	free(c->scratch);
	free(c->from);
	free(c->to);
}

/* Of this thread on a processor: what others do there in between does not count. */
static double busy_ns(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), "reading the thread's time");
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run_kernel(struct call *c)
{
	double start = busy_ns();

	for (unsigned int i = 0; i < c->calls; i++)
		vtacpu_run(c->kind->kernel, &c->kind->p, c->io, c->scratch);
	return (busy_ns() - start) / c->calls;
}

static double run_copy(struct call *c)
{
	double start = busy_ns();

	for (unsigned int i = 0; i < c->calls; i++) {
		memcpy(c->to, c->from, c->bytes / 2);
		__asm__ volatile("" : : "r"(c->to) : "memory");
	}
	return (busy_ns() - start) / c->calls;
}

/* ---- multiplications and additions on registers ---- */

enum { CHAINS = 14 };		/* as many as there are registers for */

typedef float lanes __attribute__((vector_size(32)));

/* AVX2 has no instruction that multiplies and adds: the kernels use none either. */
#if defined(__x86_64__)
#define FOR_ALL_PROCESSORS	__attribute__((target_clones("avx2", "default")))
#else
#define FOR_ALL_PROCESSORS
#endif

/* Returns a value that needs all sums, so that the compiler drops none. */
static FOR_ALL_PROCESSORS float add_products(uint64_t rounds, float seed)
{
	const lanes factor = (lanes){ 0 } + seed;
	lanes x[CHAINS];
	float sum = 0;

	for (int i = 0; i < CHAINS; i++)
		x[i] = factor + (float)i;
	for (uint64_t n = 0; n < rounds; n++)
#pragma GCC unroll 14
		for (int i = 0; i < CHAINS; i++)
			x[i] = x[i] * factor + factor;
	for (int i = 0; i < CHAINS; i++)
		sum += x[i][0];
	return sum;
}

/* ns of one product that is added up. */
static double run_products(void)
{
	const uint64_t rounds = 20000;
	volatile float sink;
	double start = busy_ns();

	sink = add_products(rounds, 0.5f);
	(void)sink;
	return (busy_ns() - start) / (double)(rounds * CHAINS * (sizeof(lanes) / sizeof(float)));
}

static void one_kind(struct bench *bench, const struct kind *kind)
{
	struct json_object *to = json_sub(bench->results, kind->name);
	double own = INFINITY, copy = INFINITY, product = INFINITY, limit;
	struct call c;

	prepare(&c, kind);
	own = run_kernel(&c);
	while (c.calls < CALLS_MAX && own * c.calls < SHORT_NS)
		c.calls *= 2;
	for (unsigned int i = 0; i < bench_times(bench, ROUNDS); i++) {
		own = fmin(own, run_kernel(&c));
		copy = fmin(copy, run_copy(&c));
		if (kind->sums)
			product = fmin(product, run_products());
	}
	limit = kind->sums ? fmax(copy, product * (double)c.need.work) : copy;
	printf("%-40s %10.1f %10.1f %8.2f\n", kind->name, own / 1000, limit / 1000, own / limit);
	json_num(to, "ns", own);
	json_num(to, "limit_ns", limit);
	json_num(to, "ratio", own / limit);
	drop(&c);
}

int main(int argc, char **argv)
{
	struct bench bench;

	bench_begin(&bench, "kernels", argc, argv);
	srand(1);
	printf("\nKernels for the CPU, one thread: least microseconds of %u rounds\n", ROUNDS);
	printf("%-40s %10s %10s %8s\n", "kernel", "us", "limit", "ratio");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		one_kind(&bench, &kinds[i]);
	bench_end(&bench);
	return 0;
}
