// SPDX-License-Identifier: GPL-2.0-only
/*
 * scalar.c - docs/isa.md's GEMM word for word, for bytes; compiled by -O2
 */
#include "scalar.h"

static void multiply(const struct scalar_gemm *g, int32_t *acc, const int8_t *inp,
		     const int8_t *wgt)
{
	for (uint32_t b = 0; b < g->batch; b++) {
		for (uint32_t out = 0; out < g->block; out++) {
			uint32_t sum = (uint32_t)acc[b * g->block + out];

			for (uint32_t in = 0; in < g->block; in++)
				sum += (uint32_t)(inp[b * g->block + in] *
						  wgt[out * g->block + in]);
			acc[b * g->block + out] = (int32_t)sum;
		}
	}
}

void scalar_gemm(const struct scalar_gemm *g)
{
	uint32_t values = g->batch * g->block;

	for (uint32_t i = 0; i < g->iter[0]; i++) {
		for (uint32_t j = 0; j < g->iter[1]; j++) {
			for (uint32_t u = 0; u < g->uop_end; u++) {
				uint32_t dst = g->uops[u][0] + i * g->dst[0] + j * g->dst[1];
				uint32_t src = g->uops[u][1] + i * g->src[0] + j * g->src[1];
				uint32_t wgt = g->uops[u][2] + i * g->wgt_factor[0] +
					       j * g->wgt_factor[1];

				multiply(g, g->acc + dst * values, g->inp + src * values,
					 g->wgt + wgt * g->block * g->block);
			}
		}
	}
}
