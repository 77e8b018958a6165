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
	"avx512-vnni", 8, has_avx512vnni, gemm_avx512vnni, NULL,
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

const struct core_gemm core_gemm_avxvnni = { "avx-vnni", 8, has_avxvnni, gemm_avxvnni, NULL };

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
