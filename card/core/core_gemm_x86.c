// SPDX-License-Identifier: Apache-2.0
/*
 * core_gemm_x86.c - GEMM's kernels for x86-64
 *
 * A block is computed in tiles of output channels, and as many values of the inner dimension, as
 * registers can hold weights of.
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

/* ---- Rows of inputs as signed bytes, for lists ---- */

struct row16 {
	int32_t quad[4];
};

/*
 * 16 values, or the 8 that a block of 8 has, as signed bytes, whose sum is added to that of both
 * halves of *@sum. Quads are in memory, so that one instruction reads one for all lanes.
 */
static __always_inline struct row16 signed_row(const uint8_t *inp, uint32_t block, __m128i *sum)
{
	const __m128i flip = _mm_set1_epi8((char)CORE_INP_ZERO);
	struct row16 row;
	__m128i x;

	x = block == 8 ? _mm_loadl_epi64((const void *)inp) : _mm_loadu_si128((const void *)inp);
	*sum = _mm_add_epi64(*sum, _mm_sad_epu8(x, _mm_setzero_si128()));
	*sum = _mm_sub_epi64(*sum, _mm_cvtsi32_si128((block == 8 ? 8 : 16) * CORE_INP_ZERO));
	x = _mm_xor_si128(x, flip);
	memcpy(&row, &x, sizeof(row));
	__asm__("" : "+m"(row));
	return row;
}

/* Returns the sum of all values since the last time, times CORE_INP_ZERO; it wraps. */
static __always_inline int32_t take_offset(__m128i *sum)
{
	const __m128i both = _mm_add_epi64(*sum, _mm_unpackhi_epi64(*sum, *sum));

	*sum = _mm_setzero_si128();
	return (int32_t)((uint32_t)_mm_cvtsi128_si32(both) * CORE_INP_ZERO);
}

/* ---- AVX-512 VNNI ---- */

#define AVX512VNNI	"avx512f,avx512vl,avx512bw,avx512vnni"

#define TILE	tile_512_8
#define LIST_TILE	list_tile_512_8
#define ISA	AVX512VNNI
#define LANES	8
#define DOT	_mm256_dpbusd_epi32
#include "core_gemm_dot.h"

#define TILE	tile_512
#define LIST_TILE	list_tile_512
#define TILE_8	tile_512_8
#define LIST_TILE_8	list_tile_512_8
#define GEMM	gemm_avx512vnni
#define LIST	list_avx512vnni
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
	"avx512-vnni", 8, has_avx512vnni, gemm_avx512vnni, list_avx512vnni,
};

/* ---- AVX-VNNI: the same instruction on vectors of AVX2 ---- */

#define TILE	tile_256
#define LIST_TILE	list_tile_256
#define TILE_8	tile_256
#define LIST_TILE_8	list_tile_256
#define GEMM	gemm_avxvnni
#define LIST	list_avxvnni
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

const struct core_gemm core_gemm_avxvnni = {
	"avx-vnni", 8, has_avxvnni, gemm_avxvnni, list_avxvnni,
};

/* ---- AVX2, and SSE2, which all these processors have: products of 16 bits ---- */

#define TILE	tile_avx2
#define LIST_TILE	list_tile_avx2
#define GEMM	gemm_avx2
#define LIST	list_avx2
#define ISA	"avx2"
#define LANES	8
#include "core_gemm_madd.h"

#define TILE	tile_sse2
#define LIST_TILE	list_tile_sse2
#define GEMM	gemm_sse2
#define LIST	list_sse2
#define ISA	"sse2"
#define LANES	4
#include "core_gemm_madd.h"

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct core_gemm core_gemm_avx2 = { "avx2", 8, has_avx2, gemm_avx2, list_avx2 };
const struct core_gemm core_gemm_sse2 = { "sse2", 8, NULL, gemm_sse2, list_sse2 };
#endif
