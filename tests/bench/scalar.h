/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scalar.h - GEMM as plain loops: what the emulator's arithmetic is measured by
 */
#ifndef TESTS_BENCH_SCALAR_H
#define TESTS_BENCH_SCALAR_H

#include <stdint.h>

/**
 * struct scalar_gemm - one GEMM instruction, and the scratchpads it works on
 * @batch: rows of an input element
 * @block: columns of an input element; a weight element is @block x @block
 * @inp: [element][batch][block]
 * @wgt: [element][out][in]
 * @acc: [element][batch][block]
 * @uops: dst, src, wgt of each micro-op
 * @uop_end: micro-ops are 0 to here
 * @iter: how often the loops go round: outer, inner
 * @dst: factors: outer, inner
 * @src: the same
 * @wgt_factor: the same
 */
struct scalar_gemm {
	uint32_t batch, block;
	const int8_t *inp;
	const int8_t *wgt;
	int32_t *acc;
	const uint16_t (*uops)[3];
	uint32_t uop_end;
	uint32_t iter[2];
	uint32_t dst[2], src[2], wgt_factor[2];
};

void scalar_gemm(const struct scalar_gemm *g);

#endif /* TESTS_BENCH_SCALAR_H */
