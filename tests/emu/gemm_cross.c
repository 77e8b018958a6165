// SPDX-License-Identifier: GPL-2.0-only
/*
 * gemm_cross.c - GEMM's kernel for Arm against sums that are taken one by one
 *
 * It needs no library, so that a cross compiler builds it alone (gemm_cross.sh).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core_gemm.h"

#define BLOCK_MAX	64
#define LINES		3u
#define ROWS		7u
#define SUMS		(BLOCK_MAX * LINES * ROWS)

static int32_t acc[SUMS], expected[SUMS];
static uint8_t inp[BLOCK_MAX * (LINES + ROWS)];
static int8_t wgt[BLOCK_MAX * BLOCK_MAX];

static void fill(void)
{
	size_t i;

	for (i = 0; i < sizeof(inp); i++)
		inp[i] = (uint8_t)(rand() % 3 ? rand() : 0);
	for (i = 0; i < sizeof(wgt); i++)
		wgt[i] = (int8_t)(rand() % 3 ? rand() : -128);
	for (i = 0; i < SUMS; i++)
		acc[i] = (int32_t)((uint32_t)rand() * 2);
	memcpy(expected, acc, sizeof(expected));
}

static void expect_row(uint32_t block, int32_t *to, const uint8_t *from)
{
	uint32_t out, in, sum;

	for (out = 0; out < block; out++) {
		sum = (uint32_t)to[out];
		for (in = 0; in < block; in++)
			sum += (uint32_t)((from[in] - CORE_INP_ZERO) *
					  wgt[core_wgt_offset(block, out, in)]);
		to[out] = (int32_t)sum;
	}
}

static int compare(const struct core_gemm *kernel, uint32_t block, size_t dst)
{
	const struct core_rows rows = {
		.count = { ROWS, LINES }, .dst = { dst, ROWS * block }, .src = { block, block },
	};
	uint32_t line, row;

	fill();
	kernel->run(block, acc, inp, wgt, &rows);
	for (line = 0; line < LINES; line++)
		for (row = 0; row < ROWS; row++)
			expect_row(block, expected + line * rows.dst[1] + row * rows.dst[0],
				   inp + line * rows.src[1] + row * rows.src[0]);
	return memcmp(acc, expected, sizeof(acc)) ? -1 : 0;
}

int main(void)
{
	const struct core_gemm *kernel = &core_gemm_neon;
	uint32_t block;

	if (!kernel->supported()) {
		printf("%s: this processor does not have it\n", kernel->name);
		return 1;
	}
	for (block = kernel->block; block <= BLOCK_MAX; block *= 2)
		for (int n = 0; n < 100; n++)
			if (compare(kernel, block, n % 2 ? block : 0)) {
				printf("%s: wrong sums of blocks of %u\n", kernel->name, block);
				return 1;
			}
	return 0;
}
