// SPDX-License-Identifier: GPL-2.0-only
/*
 * peak.c - multiply-adds of 32 and of 8 bits on registers alone, as many as a device can do
 *
 * Products of bytes are added up in 32 bits where an instruction does that, four products
 * each, as on GPUs and by VNNI; elsewhere they are multiplied in 16 bits. The host's rate is that
 * of its best instruction set. Each chain of sums is independent of the others.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "bench.h"
#include "peak.h"

#define FIRST	1024u		/* rounds to begin with */
#define RUNS	50		/* in the time to measure for, at most */
#define GROUP	64

/* The best of many short runs: what else the machine does makes a rate lower, never higher. */
struct meter {
	double ns;		/* to go on for */
	double took;		/* so far */
	double best;		/* rounds a nanosecond */
	uint32_t rounds;	/* of the next run */
};

static bool meter_goes_on(const struct meter *m)
{
	return m->took < m->ns;
}

static void meter_add(struct meter *m, double took)
{
	m->best = m->rounds / took > m->best ? m->rounds / took : m->best;
	m->took += took;
	if (took < m->ns / RUNS && m->rounds < 1u << 31)
		m->rounds *= 2;
}

/* ---- The host ---- */

enum { CHAINS = 8 };		/* more than a multiplier has stages */

typedef int32_t words __attribute__((vector_size(32)));
typedef int16_t halves __attribute__((vector_size(32)));

/* A loop, and the multiplications of a chain's step. */
struct host_loop {
	bool (*supported)(void);	/* NULL: any processor has the instructions */
	void (*run)(uint64_t rounds, int seed, double *sum);
	size_t products;
};

/* Uses all chains, so that the compiler computes them. */
static double chains_sum(const void *x, size_t size)
{
	double sum = 0;
	int32_t word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		memcpy(&word, (const char *)x + at, sizeof(word));
		sum += word;
	}
	return sum;
}

/*
 * A loop that the compiler cannot shorten: it does not know @seed. @set1 makes a vector of @vec of
 * equal words, and @step is a chain's next vector, of itself and the same factor.
 */
#define HOST_LOOP(name, isa, vec, set1, step)				\
static __attribute__((isa)) void name(uint64_t rounds, int seed, double *sum)	\
{									\
	const vec factor = set1(seed);					\
	vec x[CHAINS];							\
									\
	for (int i = 0; i < CHAINS; i++)				\
		x[i] = set1(seed + i);					\
	for (uint64_t n = 0; n < rounds; n++) {				\
		_Pragma("GCC unroll 8")					\
		for (int i = 0; i < CHAINS; i++)			\
			x[i] = step(x[i], factor);			\
	}								\
	*sum = chains_sum(x, sizeof(x));				\
}

#define SET_WORDS(n)		((words) { 0 } + (int32_t)(n))
#define SET_HALVES(n)		((halves) { 0 } + (int16_t)(n))
#define MULTIPLY(x, factor)	((x) * (factor) + (factor))
#define MADD(x, factor)		_mm256_add_epi32(x, _mm256_madd_epi16(x, factor))
#define MADD_128(x, factor)	_mm_add_epi32(x, _mm_madd_epi16(x, factor))
#define DOT_256(x, factor)	_mm256_dpbusd_avx_epi32(x, x, factor)
#define DOT_512(x, factor)	_mm512_dpbusd_epi32(x, x, factor)

#if defined(__x86_64__)
#define FOR_ALL_PROCESSORS	target_clones("avx2", "default")
#else
#define FOR_ALL_PROCESSORS	unused
#endif

HOST_LOOP(host_words, FOR_ALL_PROCESSORS, words, SET_WORDS, MULTIPLY)
HOST_LOOP(host_halves, FOR_ALL_PROCESSORS, halves, SET_HALVES, MULTIPLY)

#if defined(__x86_64__)
HOST_LOOP(host_madd_128, target("sse2"), __m128i, _mm_set1_epi32, MADD_128)
HOST_LOOP(host_madd, target("avx2"), __m256i, _mm256_set1_epi32, MADD)
HOST_LOOP(host_dot_256, target("avx2,avxvnni"), __m256i, _mm256_set1_epi32, DOT_256)
HOST_LOOP(host_dot_512, target("avx512f,avx512vnni"), __m512i, _mm512_set1_epi32, DOT_512)

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

/* CPUID 7.1, EAX bit 4 */
static bool has_avxvnni(void)
{
	unsigned int a, b, c, d;

	return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1u << 4;
}

static bool has_avx512vnni(void)
{
	return __builtin_cpu_supports("avx512vnni");
}
#endif

static const struct host_loop host_bytes[] = {
	{ NULL, host_halves, sizeof(halves) / sizeof(int16_t) },
#if defined(__x86_64__)
	{ NULL, host_madd_128, 8 },
	{ has_avx2, host_madd, 16 },
	{ has_avxvnni, host_dot_256, 32 },
	{ has_avx512vnni, host_dot_512, 64 },
#endif
};

static double host_rate(void (*loop)(uint64_t rounds, int seed, double *sum), size_t lanes,
			double ns)
{
	struct meter m = { .ns = ns, .rounds = FIRST };
	volatile double sink;
	double begin, sum;

	while (meter_goes_on(&m)) {
		begin = now_ns();
		loop(m.rounds, (int)m.rounds | 1, &sum);
		meter_add(&m, now_ns() - begin);
		sink = sum;
	}
	(void)sink;
	return m.best * CHAINS * (double)lanes * 1e9;
}

struct peak peak_host(double ns)
{
	struct peak peak = {
		.int32 = host_rate(host_words, sizeof(words) / sizeof(int32_t), ns),
	};
	double rate;

	for (size_t i = 0; i < sizeof(host_bytes) / sizeof(host_bytes[0]); i++) {
		const struct host_loop *loop = &host_bytes[i];

		if (loop->supported && !loop->supported())
			continue;
		rate = host_rate(loop->run, loop->products, ns);
		peak.int8 = rate > peak.int8 ? rate : peak.int8;
	}
	return peak;
}

/* ---- OpenCL ---- */

/* 16 chains in each work-item. DOT has four products of bytes for each of them. */
static const char source[] =
	"#if defined(__NV_CL_C_VERSION)\n"
	"int dot4(int a, int b, int c)\n"
	"{ int d; asm volatile(\"dp4a.s32.s32 %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c));"
	" return d; }\n"
	"#define DOT(x) dot4(x, a, x)\n"
	"#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)\n"
	"#define DOT(x) (dot_4x8packed_ss_int((uint)(x), (uint)a) + x)\n"
	"#endif\n"
	"#define EACH(OP) x.s0 = OP(x.s0); x.s1 = OP(x.s1); x.s2 = OP(x.s2); x.s3 = OP(x.s3);"
	" x.s4 = OP(x.s4); x.s5 = OP(x.s5); x.s6 = OP(x.s6); x.s7 = OP(x.s7);"
	" x.s8 = OP(x.s8); x.s9 = OP(x.s9); x.sa = OP(x.sa); x.sb = OP(x.sb);"
	" x.sc = OP(x.sc); x.sd = OP(x.sd); x.se = OP(x.se); x.sf = OP(x.sf);\n"
	"int sum(int16 x)\n"
	"{ int8 y = x.lo + x.hi; int4 z = y.lo + y.hi; return z.x + z.y + z.z + z.w; }\n"
	"__kernel void words(__global int *out, int a, uint rounds)\n"
	"{ int16 x = (int16)(a + (int)get_global_id(0)) + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,"
	" 10, 11, 12, 13, 14, 15);\n"
	"  for (uint n = 0; n < rounds; n++) x = x * a + a;\n"
	"  out[get_global_id(0)] = sum(x); }\n"
	"__kernel void bytes(__global int *out, int a, uint rounds)\n"
	"#ifdef DOT\n"
	"{ int16 x = (int16)(a + (int)get_global_id(0)) + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,"
	" 10, 11, 12, 13, 14, 15);\n"
	"  for (uint n = 0; n < rounds; n++) { EACH(DOT) }\n"
	"  out[get_global_id(0)] = sum(x); }\n"
	"__kernel void fours(__global int *out) { out[0] = 4; }\n"
	"#else\n"
	"{ short16 x = (short16)(short)(a + (int)get_global_id(0)) + (short16)(0, 1, 2, 3, 4, 5, 6,"
	" 7, 8, 9, 10, 11, 12, 13, 14, 15);\n"
	"  for (uint n = 0; n < rounds; n++) x = x * (short)a + (short)a;\n"
	"  out[get_global_id(0)] = sum(convert_int16(x)); }\n"
	"#endif\n";

struct rig {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem out;
	size_t items;
};

static void rig_open(struct rig *rig, cl_device_id id)
{
	const char *text = source;
	cl_uint units = 1;
	cl_int err;

	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	rig->items = (size_t)units * 32 * GROUP;
	rig->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
	must(err, "clCreateContext");
	rig->queue = clCreateCommandQueue(rig->context, id, 0, &err);
	must(err, "clCreateCommandQueue");
	rig->out = clCreateBuffer(rig->context, CL_MEM_WRITE_ONLY, rig->items * sizeof(cl_int),
				  NULL, &err);
	must(err, "clCreateBuffer");
	rig->program = clCreateProgramWithSource(rig->context, 1, &text, NULL, &err);
	must(err, "clCreateProgramWithSource");
	must(clBuildProgram(rig->program, 1, &id, NULL, NULL, NULL), "clBuildProgram");
}

static void rig_close(struct rig *rig)
{
	clReleaseProgram(rig->program);
	clReleaseMemObject(rig->out);
	clReleaseCommandQueue(rig->queue);
	clReleaseContext(rig->context);
}

/* The kernel's rounds a second, of all work-items. */
static double rig_rate(const struct rig *rig, const char *name, double ns)
{
	const size_t group = GROUP;
	const cl_int factor = 0x01030507;
	struct meter m = { .ns = ns, .rounds = FIRST };
	cl_kernel kernel;
	double begin;
	cl_int err;

	kernel = clCreateKernel(rig->program, name, &err);
	must(err, "clCreateKernel");
	must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &rig->out), "an argument");
	must(clSetKernelArg(kernel, 1, sizeof(factor), &factor), "an argument");
	for (unsigned int n = 0; meter_goes_on(&m); n++) {
		must(clSetKernelArg(kernel, 2, sizeof(m.rounds), &m.rounds), "an argument");
		begin = now_ns();
		must(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &rig->items, &group, 0,
					    NULL, NULL), "a launch");
		must(clFinish(rig->queue), "a kernel");
		/* The first launch is not measured: it may compile. */
		if (n)
			meter_add(&m, now_ns() - begin);
	}
	clReleaseKernel(kernel);
	return m.best * (double)rig->items * 1e9;
}

/* Products of bytes in each chain's step. */
static double bytes_at_once(const struct rig *rig)
{
	cl_int err;
	cl_kernel kernel = clCreateKernel(rig->program, "fours", &err);

	if (err)
		return 1;
	clReleaseKernel(kernel);
	return 4;
}

struct peak peak_opencl(cl_device_id id, double ns)
{
	struct peak peak;
	struct rig rig;

	rig_open(&rig, id);
	peak.int32 = rig_rate(&rig, "words", ns) * 16;
	peak.int8 = rig_rate(&rig, "bytes", ns) * 16 * bytes_at_once(&rig);
	rig_close(&rig);
	return peak;
}
