// SPDX-License-Identifier: Apache-2.0
/*
 * core_gemm_x86.c - GEMM's kernels for x86-64
 *
 * A block is computed in tiles of 16 output channels, or the 8 of a block of 8, and as many values
 * of the inner dimension as registers can hold weights of.
 */
#include "core_gemm.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

static inline int32_t quad_at(const uint8_t *inp, uint32_t quad)
{
	int32_t four;

	memcpy(&four, inp + quad * CORE_QUAD, sizeof(four));
	return four;
}

/* The tile of weights at channels @out and @in. */
static inline const int8_t *tile_at(const int8_t *wgt, uint32_t block, uint32_t out, uint32_t in)
{
	return wgt + core_wgt_offset(block, out, in);
}

/* ---- AVX-512 VNNI ---- */

#define AVX512VNNI	"avx512f,avx512vl,avx512bw,avx512vnni"

#define TILE	tile_512_8
#define ISA	AVX512VNNI
#define LANES	8
#define DOT	_mm256_dpbusd_epi32
#include "core_gemm_dot.h"

#define TILE	tile_512
#define TILE_8	tile_512_8
#define GEMM	gemm_avx512vnni
#define ISA	AVX512VNNI
#define LANES	16
#define DOT	_mm512_dpbusd_epi32
#include "core_gemm_dot.h"

static bool has_avx512vnni(void)
{
	return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vnni");
}

const struct core_gemm core_gemm_avx512vnni = {
	"avx512-vnni", 8, has_avx512vnni, gemm_avx512vnni,
};

/* ---- AVX-VNNI: the same instruction on vectors of AVX2 ---- */

#define TILE	tile_256
#define TILE_8	tile_256
#define GEMM	gemm_avxvnni
#define ISA	"avx2,avxvnni"
#define LANES	8
#define DOT	_mm256_dpbusd_avx_epi32
#include "core_gemm_dot.h"

/* CPUID 7.1: EAX bit 4; __builtin_cpu_supports() of older compilers does not know it. */
static bool has_avxvnni(void)
{
	unsigned int a, b, c, d;

	return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
	       a & 1u << 4;
}

const struct core_gemm core_gemm_avxvnni = { "avx-vnni", 8, has_avxvnni, gemm_avxvnni };

/* ---- AVX2: products of 16 bits, two to each sum ---- */

static __always_inline __attribute__((target("avx2")))
__m256i add_products(__m256i sum, __m256i a, __m256i b)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/*
 * A tile of two quads. Values 0 and 2 of a quad are one half of its pairs, 1 and 3 the other: so
 * bytes become 16 bits by a mask or a shift, without a shuffle.
 */
static __always_inline __attribute__((target("avx2")))
void tile_avx2(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
	       const struct core_rows *rows, int vectors)
{
	const __m256i mask = _mm256_set1_epi16(0xff), zero = _mm256_set1_epi16(CORE_INP_ZERO);
	__m256i even[2][2], odd[2][2], offset[2], sum[2], x_even, x_odd, four;
	uint32_t line, row;
	int q, v;

#pragma GCC unroll 2
	for (v = 0; v < vectors; v++) {
		offset[v] = _mm256_setzero_si256();
#pragma GCC unroll 2
		for (q = 0; q < 2; q++) {
			four = _mm256_loadu_si256((const void *)tile_at(wgt, block, v * 8, q * 4));
			odd[q][v] = _mm256_srai_epi16(four, 8);
			even[q][v] = _mm256_srai_epi16(_mm256_slli_epi16(four, 8), 8);
			four = _mm256_add_epi16(even[q][v], odd[q][v]);
			offset[v] = _mm256_add_epi16(offset[v], four);
		}
		offset[v] = _mm256_madd_epi16(offset[v], zero);
	}
	for (line = 0; line < rows->count[1]; line++) {
		int32_t *to = acc + line * rows->dst[1];
		const uint8_t *from = inp + line * rows->src[1];

		for (row = 0; row < rows->count[0]; row++) {
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				sum[v] = _mm256_loadu_si256((const void *)(to + v * 8));
				sum[v] = _mm256_sub_epi32(sum[v], offset[v]);
			}
#pragma GCC unroll 2
			for (q = 0; q < 2; q++) {
				four = _mm256_set1_epi32(quad_at(from, q));
				x_even = _mm256_and_si256(four, mask);
				x_odd = _mm256_srli_epi16(four, 8);
#pragma GCC unroll 2
				for (v = 0; v < vectors; v++) {
					sum[v] = add_products(sum[v], x_even, even[q][v]);
					sum[v] = add_products(sum[v], x_odd, odd[q][v]);
				}
			}
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++)
				_mm256_storeu_si256((void *)(to + v * 8), sum[v]);
			to += rows->dst[0];
			from += rows->src[0];
		}
	}
}

__attribute__((target("avx2")))
static void gemm_avx2(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		      const struct core_rows *rows)
{
	uint32_t in, out;

	if (block == 8) {
		tile_avx2(8, acc, inp, wgt, rows, 1);
		return;
	}
	if (block == 16) {
		tile_avx2(16, acc, inp, wgt, rows, 2);
		tile_avx2(16, acc, inp + 8, tile_at(wgt, 16, 0, 8), rows, 2);
		return;
	}
	for (out = 0; out < block; out += 16)
		for (in = 0; in < block; in += 8)
			tile_avx2(block, acc + out, inp + in, tile_at(wgt, block, out, in), rows,
				  2);
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct core_gemm core_gemm_avx2 = { "avx2", 8, has_avx2, gemm_avx2 };
#endif
