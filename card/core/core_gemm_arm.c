// SPDX-License-Identifier: Apache-2.0
/*
 * core_gemm_arm.c - GEMM's kernel for 64-bit Arm with SDOT and UDOT (FEAT_DotProd)
 *
 * Four channels are a vector. SDOT multiplies signed bytes, so a row of inputs loses
 * CORE_INP_ZERO by one exclusive or, before it is used.
 */
#include "core_gemm.h"

#ifdef __aarch64__
#include <arm_neon.h>
#include <sys/auxv.h>

#define DOTPROD		"arch=armv8.2-a+dotprod"

/* 16 channels by four quads. */
__attribute__((target(DOTPROD)))
static void tile_16(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		    const struct core_rows *rows)
{
	const uint8x16_t zero = vdupq_n_u8(CORE_INP_ZERO);
	int8x16_t w[4][4], x;
	uint32_t line, row;
	int32x4_t sum;
	int q, v;

#pragma GCC unroll 4
	for (q = 0; q < 4; q++) {
#pragma GCC unroll 4
		for (v = 0; v < 4; v++)
			w[q][v] = vld1q_s8(wgt + core_wgt_offset(block, v * 4, q * CORE_QUAD));
	}
	for (line = 0; line < rows->count[1]; line++) {
		int32_t *to = acc + line * rows->dst[1];
		const uint8_t *from = inp + line * rows->src[1];

		for (row = 0; row < rows->count[0]; row++) {
			x = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from), zero));
#pragma GCC unroll 4
			for (v = 0; v < 4; v++) {
				sum = vld1q_s32(to + v * 4);
				sum = vdotq_laneq_s32(sum, w[0][v], x, 0);
				sum = vdotq_laneq_s32(sum, w[1][v], x, 1);
				sum = vdotq_laneq_s32(sum, w[2][v], x, 2);
				sum = vdotq_laneq_s32(sum, w[3][v], x, 3);
				vst1q_s32(to + v * 4, sum);
			}
			to += rows->dst[0];
			from += rows->src[0];
		}
	}
}

static void gemm_neon(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		      const struct core_rows *rows)
{
	uint32_t in, out;

	for (out = 0; out < block; out += 16)
		for (in = 0; in < block; in += 16)
			tile_16(block, acc + out, inp + in,
				wgt + core_wgt_offset(block, out, in), rows);
}

static bool has_dotprod(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

const struct core_gemm core_gemm_neon = { "neon-dotprod", 16, has_dotprod, gemm_neon, NULL };
#endif
