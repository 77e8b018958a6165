// SPDX-License-Identifier: Apache-2.0
/*
 * core_gemm.c - GEMM's arithmetic
 *
 * acc[batch][out] += sum over in of inp[batch][in] * wgt[out][in]. Values are
 * at most 8 bits wide and kept as 16, two of the inner dimension side by side
 * (see struct core): the sum of two products has 17 bits and is exact, only
 * the accumulation wraps. Both kernels so give the same bits.
 */
#include <string.h>

#include "core_impl.h"

#define LANES_MAX	8u

static inline const int16_t *inp_at(const struct core *core, uint32_t index)
{
	return (const int16_t *)core->inp.mem + (size_t)index * core->batch * core->pairs * 2;
}

static inline const int16_t *wgt_at(const struct core *core, uint32_t index)
{
	return (const int16_t *)core->wgt.mem + (size_t)index * core->pairs * core->block * 2;
}

static inline int32_t *acc_at(const struct core *core, uint32_t index)
{
	return (int32_t *)core->acc.mem + (size_t)index * core->batch * core->block;
}

void core_gemm_reset(const struct core *core, const struct vta_isa_loop *loop,
		     const struct core_uop *uop, uint32_t n, struct core_index base)
{
	(void)loop;
	for (; n; n--, uop++)
		memset(acc_at(core, uop->dst + base.dst), 0, core->acc.elem_size);
}

/*
 * One row of the batch, @lanes output channels at a time: with a constant few
 * of them the compiler keeps the sums in what vector registers there are.
 */
static __always_inline
void multiply(int32_t *acc, const int16_t *inp, const int16_t *wgt, uint32_t pairs,
	      uint32_t block, uint32_t lanes)
{
	const int16_t *w, *x;
	uint32_t pair, out, i;
	int32_t sum[LANES_MAX];

	for (out = 0; out < block; out += lanes) {
		for (i = 0; i < lanes; i++)
			sum[i] = 0;
		for (pair = 0; pair < pairs; pair++) {
			x = inp + pair * 2;
			w = wgt + ((size_t)pair * block + out) * 2;
			for (i = 0; i < lanes; i++)
				sum[i] += x[0] * w[i * 2] + x[1] * w[i * 2 + 1];
		}
		for (i = 0; i < lanes; i++)
			acc[out + i] = (int32_t)((uint32_t)acc[out + i] + (uint32_t)sum[i]);
	}
}

void core_gemm_portable(const struct core *core, const struct vta_isa_loop *loop,
			const struct core_uop *uop, uint32_t n, struct core_index base)
{
	uint32_t pairs = core->pairs;
	uint32_t block = core->block;
	uint32_t b;

	(void)loop;
	for (; n; n--, uop++) {
		const int16_t *inp = inp_at(core, uop->src + base.src);
		const int16_t *wgt = wgt_at(core, uop->wgt + base.wgt);
		int32_t *acc = acc_at(core, uop->dst + base.dst);

		for (b = 0; b < core->batch; b++, acc += block, inp += pairs * 2) {
			if (block % LANES_MAX)
				multiply(acc, inp, wgt, pairs, block, 1);
			else
				multiply(acc, inp, wgt, pairs, block, LANES_MAX);
		}
	}
}

#ifdef __x86_64__
#include <immintrin.h>

#define VECTORS_MAX	4

/*
 * One row of the batch, @vectors * 8 output channels at a time. The weights
 * lie as VPMADDWD wants them, so no sum is taken across a vector.
 */
static __always_inline __attribute__((target("avx2")))
void multiply_avx2(int32_t *acc, const int16_t *inp, const int16_t *wgt, uint32_t pairs,
		   uint32_t block, int vectors)
{
	const __m256i *from;
	__m256i sum[VECTORS_MAX], two, products;
	uint32_t pair, out;
	int32_t both;
	int v;

	for (out = 0; out < block; out += (uint32_t)vectors * 8) {
		for (v = 0; v < vectors; v++)
			sum[v] = _mm256_setzero_si256();
		for (pair = 0; pair < pairs; pair++) {
			memcpy(&both, inp + pair * 2, sizeof(both));
			two = _mm256_set1_epi32(both);
			from = (const __m256i *)(wgt + ((size_t)pair * block + out) * 2);
			for (v = 0; v < vectors; v++) {
				products = _mm256_madd_epi16(two, _mm256_loadu_si256(from + v));
				sum[v] = _mm256_add_epi32(sum[v], products);
			}
		}
		for (v = 0; v < vectors; v++) {
			__m256i *to = (__m256i *)(acc + out) + v;

			_mm256_storeu_si256(to, _mm256_add_epi32(sum[v], _mm256_loadu_si256(to)));
		}
	}
}

static __always_inline __attribute__((target("avx2")))
void gemm_avx2(const struct core *core, const struct core_uop *uop, uint32_t n,
	       struct core_index base, uint32_t batch, uint32_t block, int vectors)
{
	uint32_t pairs = block / 2;
	uint32_t b;

	for (; n; n--, uop++) {
		const int16_t *inp = inp_at(core, uop->src + base.src);
		const int16_t *wgt = wgt_at(core, uop->wgt + base.wgt);
		int32_t *acc = acc_at(core, uop->dst + base.dst);

		for (b = 0; b < batch; b++)
			multiply_avx2(acc + b * block, inp + b * block, wgt, pairs, block, vectors);
	}
}

__attribute__((target("avx2")))
static void gemm_avx2_8(const struct core *core, const struct vta_isa_loop *loop,
			const struct core_uop *uop, uint32_t n, struct core_index base)
{
	(void)loop;
	gemm_avx2(core, uop, n, base, core->batch, 8, 1);
}

/* The default configuration's shape. */
__attribute__((target("avx2")))
static void gemm_avx2_1x16(const struct core *core, const struct vta_isa_loop *loop,
			   const struct core_uop *uop, uint32_t n, struct core_index base)
{
	(void)loop;
	gemm_avx2(core, uop, n, base, 1, 16, 2);
}

__attribute__((target("avx2")))
static void gemm_avx2_16(const struct core *core, const struct vta_isa_loop *loop,
			 const struct core_uop *uop, uint32_t n, struct core_index base)
{
	(void)loop;
	gemm_avx2(core, uop, n, base, core->batch, 16, 2);
}

__attribute__((target("avx2")))
static void gemm_avx2_32(const struct core *core, const struct vta_isa_loop *loop,
			 const struct core_uop *uop, uint32_t n, struct core_index base)
{
	(void)loop;
	gemm_avx2(core, uop, n, base, core->batch, core->block, VECTORS_MAX);
}

static core_kernel_fn *avx2_kernel(const struct core *core)
{
	if (!__builtin_cpu_supports("avx2") || core->block < 8)
		return NULL;
	if (core->block == 8)
		return gemm_avx2_8;
	if (core->block == 16)
		return core->batch == 1 ? gemm_avx2_1x16 : gemm_avx2_16;
	return gemm_avx2_32;
}
#else
static core_kernel_fn *avx2_kernel(const struct core *core)
{
	(void)core;
	return NULL;
}
#endif

core_kernel_fn *core_gemm_best(const struct core *core)
{
	core_kernel_fn *kernel = avx2_kernel(core);

	return kernel ? kernel : core_gemm_portable;
}
