/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_gemm_dot.h - a kernel on vectors of sums; core_gemm_x86.c includes this for each kind
 *
 * Defined by the includer, and undefined here: TILE and LIST_TILE, names of the tiles' functions;
 * ISA; LANES, the sums in a vector, 8 or 16; and DOT, which adds products of unsigned and signed
 * bytes, four to each sum. With GEMM and LIST, names of the kernel's functions, and TILE_8 and
 * LIST_TILE_8, the tiles' functions for blocks of 8, the kernel is made as well.
 */
#if LANES == 16
#define VEC	__m512i
#define LOAD	_mm512_loadu_si512
#define STORE	_mm512_storeu_si512
#define SET1	_mm512_set1_epi32
#define ZERO	_mm512_setzero_si512
#define ADD	_mm512_add_epi32
#define SUB	_mm512_sub_epi32
#define XOR	_mm512_xor_si512
#else
#define VEC	__m256i
#define LOAD	_mm256_loadu_si256
#define STORE	_mm256_storeu_si256
#define SET1	_mm256_set1_epi32
#define ZERO	_mm256_setzero_si256
#define ADD	_mm256_add_epi32
#define SUB	_mm256_sub_epi32
#define XOR	_mm256_xor_si256
#endif

/*
 * A tile of weights stays in registers while the rows go by: @vectors of channels by @quads. It
 * takes off what CORE_INP_ZERO adds to the sums: the sum of the weights, times it.
 */
static __always_inline __attribute__((target(ISA)))
void TILE(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
	  const struct core_rows *rows, int quads, int vectors)
{
	const VEC zeroes = SET1((int)(CORE_INP_ZERO * 0x01010101u));
	VEC w[4][2], offset[2], sum[2];
	uint32_t line, row;
	int q, v;

#pragma GCC unroll 2
	for (v = 0; v < vectors; v++) {
		offset[v] = ZERO();
#pragma GCC unroll 4
		for (q = 0; q < quads; q++) {
			w[q][v] = LOAD((const void *)
				       (wgt + ((size_t)q * block + v * LANES) * CORE_QUAD));
			offset[v] = DOT(offset[v], zeroes, w[q][v]);
		}
	}
	for (line = 0; line < rows->count[1]; line++) {
		int32_t *to = acc + line * rows->dst[1];
		const uint8_t *from = inp + line * rows->src[1];

		for (row = 0; row < rows->count[0]; row++) {
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				sum[v] = SUB(LOAD((const void *)(to + v * LANES)), offset[v]);
#pragma GCC unroll 4
				for (q = 0; q < quads; q++)
					sum[v] = DOT(sum[v], SET1(quad_at(from, q)), w[q][v]);
				STORE((void *)(to + v * LANES), sum[v]);
			}
			to += rows->dst[0];
			from += rows->src[0];
		}
	}
}

/*
 * All values of @vectors of channels from @out on, for each micro-op in turn: weights that are used
 * once are not worth a register. Sums stay as long as micro-ops have one destination. Here the
 * weights are the unsigned bytes, by an exclusive or, so that what is to be taken off is the same
 * for all channels: the sum of the inputs, times CORE_INP_ZERO. Quads alternate between two sums,
 * so that fewer instructions wait for the one before them. @quads: of a row, of at most 16 values.
 */
static __always_inline __attribute__((target(ISA)))
void LIST_TILE(uint32_t block, const struct core_list *list, uint32_t out, int quads,
	       int vectors)
{
	const VEC flip = SET1((int)(CORE_INP_ZERO * 0x01010101u));
	const struct core_uop *uop = list->uop, *end = uop + list->n;
	const size_t dst = list->dst, src = list->src, bytes = list->block_bytes;
	int32_t *acc = list->acc + out, *to = acc + uop->dst * dst, *next;
	const int8_t *wgt = list->wgt + out * CORE_QUAD, *w;
	__m128i inp_sum = _mm_setzero_si128();
	VEC sum[2], odd[2], x, four;
	const uint8_t *from;
	struct row16 row;
	uint32_t in;
	int q, v;

#pragma GCC unroll 2
	for (v = 0; v < vectors; v++) {
		sum[v] = LOAD((const void *)(to + v * LANES));
		odd[v] = ZERO();
	}
	for (; uop < end; uop++) {
		next = acc + uop->dst * dst;
		from = list->inp + uop->src * src;
		w = wgt + uop->wgt * bytes;
		if (next != to) {
			x = SET1(take_offset(&inp_sum));
#pragma GCC unroll 2
			for (v = 0; v < vectors; v++) {
				sum[v] = SUB(ADD(sum[v], odd[v]), x);
				STORE((void *)(to + v * LANES), sum[v]);
				sum[v] = LOAD((const void *)(next + v * LANES));
				odd[v] = ZERO();
			}
			to = next;
		}
		for (in = 0; in < block; in += 16) {
			row = signed_row(from + in, block, &inp_sum);
#pragma GCC unroll 4
			for (q = 0; q < quads; q++) {
				x = SET1(row.quad[q]);
#pragma GCC unroll 2
				for (v = 0; v < vectors; v++) {
					four = LOAD((const void *)(w + v * LANES * CORE_QUAD));
					four = XOR(four, flip);
					if (q % 2)
						odd[v] = DOT(odd[v], four, x);
					else
						sum[v] = DOT(sum[v], four, x);
				}
				w += block * CORE_QUAD;
			}
		}
	}
	x = SET1(take_offset(&inp_sum));
#pragma GCC unroll 2
	for (v = 0; v < vectors; v++) {
		sum[v] = SUB(ADD(sum[v], odd[v]), x);
		STORE((void *)(to + v * LANES), sum[v]);
	}
}

#ifdef GEMM
__attribute__((target(ISA)))
static void GEMM(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		 const struct core_rows *rows)
{
	uint32_t in, out;

	if (block == 8) {
		TILE_8(8, acc, inp, wgt, rows, 2, 1);
		return;
	}
	if (block == 16) {
		TILE(16, acc, inp, wgt, rows, 4, 16 / LANES);
		return;
	}
	for (out = 0; out < block; out += 16)
		for (in = 0; in < block; in += 16)
			TILE(block, acc + out, inp + in, tile_at(wgt, block, out, in), rows, 4,
			     16 / LANES);
}

__attribute__((target(ISA)))
static void LIST(uint32_t block, const struct core_list *list)
{
	uint32_t out;

	if (block == 8) {
		LIST_TILE_8(8, list, 0, 2, 1);
		return;
	}
	if (block == 16) {
		LIST_TILE(16, list, 0, 4, 16 / LANES);
		return;
	}
	for (out = 0; out < block; out += 16)
		LIST_TILE(block, list, out, 4, 16 / LANES);
}
#undef GEMM
#undef LIST
#undef TILE_8
#undef LIST_TILE_8
#endif

#undef TILE
#undef LIST_TILE
#undef ISA
#undef VEC
#undef LANES
#undef LOAD
#undef STORE
#undef SET1
#undef ZERO
#undef ADD
#undef SUB
#undef XOR
#undef DOT
