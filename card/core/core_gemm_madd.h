/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_gemm_madd.h - a kernel that multiplies in 16 bits and adds two products to each sum;
 * core_gemm_x86.c includes this for each size of vectors
 *
 * Defined by the includer, and undefined here: TILE and LIST_TILE, names of the tiles' functions;
 * GEMM and LIST, those of the kernel's; ISA; and LANES, the sums in a vector, 4 or 8.
 */
#if LANES == 8
#define VEC	__m256i
#define OP(name)	_mm256_##name
#define BITS(name)	_mm256_##name##_si256
#else
#define VEC	__m128i
#define OP(name)	_mm_##name
#define BITS(name)	_mm_##name##_si128
#endif

/*
 * A tile of two quads by @vectors of channels. Values 0 and 2 of a quad are one half of its pairs,
 * 1 and 3 the other: so bytes become 16 bits by a mask or a shift, without a shuffle.
 */
static __always_inline __attribute__((target(ISA)))
void TILE(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
	  const struct core_rows *rows, int vectors)
{
	const VEC mask = OP(set1_epi16)(0xff), zero = OP(set1_epi16)(CORE_INP_ZERO);
	VEC even[2][2], odd[2][2], offset[2], sum[2], x_even, x_odd, four;
	uint32_t line, row;
	int q, v;

#pragma GCC unroll 2
	for (v = 0; v < vectors; v++) {
		offset[v] = BITS(setzero)();
#pragma GCC unroll 2
		for (q = 0; q < 2; q++) {
			four = BITS(loadu)((const void *)tile_at(wgt, block, v * LANES, q * 4));
			odd[q][v] = OP(srai_epi16)(four, 8);
			even[q][v] = OP(srai_epi16)(OP(slli_epi16)(four, 8), 8);
			four = OP(add_epi16)(even[q][v], odd[q][v]);
			offset[v] = OP(add_epi16)(offset[v], four);
		}
		offset[v] = OP(madd_epi16)(offset[v], zero);
	}
	for (line = 0; line < rows->count[1]; line++) {
		int32_t *to = acc + line * rows->dst[1];
		const uint8_t *from = inp + line * rows->src[1];

		for (row = 0; row < rows->count[0]; row++) {
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				sum[v] = BITS(loadu)((const void *)(to + v * LANES));
				sum[v] = OP(sub_epi32)(sum[v], offset[v]);
			}
#pragma GCC unroll 2
			for (q = 0; q < 2; q++) {
				four = OP(set1_epi32)(quad_at(from, q));
				x_even = BITS(and)(four, mask);
				x_odd = OP(srli_epi16)(four, 8);
#pragma GCC unroll 2
				for (v = 0; v < vectors; v++) {
					four = OP(madd_epi16)(x_even, even[q][v]);
					sum[v] = OP(add_epi32)(sum[v], four);
					four = OP(madd_epi16)(x_odd, odd[q][v]);
					sum[v] = OP(add_epi32)(sum[v], four);
				}
			}
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++)
				BITS(storeu)((void *)(to + v * LANES), sum[v]);
			to += rows->dst[0];
			from += rows->src[0];
		}
	}
}

__attribute__((target(ISA)))
static void GEMM(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		 const struct core_rows *rows)
{
	uint32_t in, out;

	if (block < 2 * LANES) {
		TILE(LANES, acc, inp, wgt, rows, 1);
		return;
	}
	if (block == 16) {	/* a constant, for the tile's addresses */
		for (out = 0; out < 16; out += 2 * LANES)
			for (in = 0; in < 16; in += 8)
				TILE(16, acc + out, inp + in, tile_at(wgt, 16, out, in), rows, 2);
		return;
	}
	for (out = 0; out < block; out += 2 * LANES)
		for (in = 0; in < block; in += 8)
			TILE(block, acc + out, inp + in, tile_at(wgt, block, out, in), rows, 2);
}

/*
 * All values of @vectors of channels from @out on, for each micro-op in turn: weights that are used
 * once are not worth a register. Sums stay as long as micro-ops have one destination.
 */
static __always_inline __attribute__((target(ISA)))
void LIST_TILE(uint32_t block, const struct core_list *list, uint32_t out, int vectors)
{
	const VEC mask = OP(set1_epi16)(0xff), zero = OP(set1_epi16)(CORE_INP_ZERO);
	VEC sum[2], x_even, x_odd, four, even, odd;
	int32_t *to = list->acc + list->uop->dst * list->dst + out, *next;
	const uint8_t *from;
	const int8_t *wgt;
	uint32_t i, in;
	int v;

#pragma GCC unroll 2
	for (v = 0; v < vectors; v++)
		sum[v] = BITS(loadu)((const void *)(to + v * LANES));
	for (i = 0; i < list->n; i++) {
		next = list->acc + list->uop[i].dst * list->dst + out;
		from = list->inp + list->uop[i].src * list->src;
		wgt = list->wgt + list->uop[i].wgt * list->block_bytes;
		if (next != to) {
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				BITS(storeu)((void *)(to + v * LANES), sum[v]);
				sum[v] = BITS(loadu)((const void *)(next + v * LANES));
			}
			to = next;
		}
#pragma GCC unroll 4
		for (in = 0; in < block; in += CORE_QUAD) {
			four = OP(set1_epi32)(quad_at(from, in / CORE_QUAD));
			x_even = OP(sub_epi16)(BITS(and)(four, mask), zero);
			x_odd = OP(sub_epi16)(OP(srli_epi16)(four, 8), zero);
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				four = BITS(loadu)((const void *)
						   tile_at(wgt, block, out + v * LANES, in));
				odd = OP(srai_epi16)(four, 8);
				even = OP(srai_epi16)(OP(slli_epi16)(four, 8), 8);
				sum[v] = OP(add_epi32)(sum[v], OP(madd_epi16)(x_even, even));
				sum[v] = OP(add_epi32)(sum[v], OP(madd_epi16)(x_odd, odd));
			}
		}
	}
#pragma GCC unroll 2
	for (v = 0; v < vectors; v++)
		BITS(storeu)((void *)(to + v * LANES), sum[v]);
}

__attribute__((target(ISA)))
static void LIST(uint32_t block, const struct core_list *list)
{
	uint32_t out;

	if (block < 2 * LANES) {
		LIST_TILE(LANES, list, 0, 1);
		return;
	}
	for (out = 0; out < block; out += 2 * LANES) {
		if (block == 16)
			LIST_TILE(16, list, out, 2);
		else
			LIST_TILE(block, list, out, 2);
	}
}

#undef TILE
#undef LIST_TILE
#undef LIST
#undef GEMM
#undef ISA
#undef VEC
#undef OP
#undef BITS
#undef LANES
