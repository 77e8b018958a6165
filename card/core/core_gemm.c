// SPDX-License-Identifier: Apache-2.0
/*
 * core_gemm.c - GEMM: its loops, and the kernel that a core uses
 *
 * A GEMM reads of ACC only its own sums, and sums wrap: in whichever order micro-ops are executed,
 * they come to the same bits. So each block of weights is multiplied by all rows of inputs that
 * it has in a part of the loops, before the next one is used. A loop whose factor for weights is
 * 0 goes over rows, and so do micro-ops in a row with the same weights, if their other indices
 * are an arithmetic progression.
 */
#include <stdlib.h>
#include <string.h>

#include "core_axis.h"
#include "core_impl.h"

/* Rows in a part of the loops: their sums and inputs stay in a first-level cache. */
#define PART_ROWS	256u

/* ---- Kernels ---- */

#define LANES	8u
#define DEPTH	16u

/*
 * A tile of @lanes channels by @depth values, of which the compiler makes vectors if it can: both
 * are constants, and the weights are in the order of the sums.
 */
static __always_inline
void multiply_tile(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
		   const struct core_rows *rows, uint32_t lanes, uint32_t depth)
{
	uint32_t line, row, i, k, sum[LANES];
	int16_t w[DEPTH][LANES], x;

	for (k = 0; k < depth; k++)
		for (i = 0; i < lanes; i++)
			w[k][i] = wgt[core_wgt_offset(block, i, k)];
	for (line = 0; line < rows->count[1]; line++) {
		int32_t *to = acc + line * rows->dst[1];
		const uint8_t *from = inp + line * rows->src[1];

		for (row = 0; row < rows->count[0]; row++) {
			for (i = 0; i < lanes; i++)
				sum[i] = (uint32_t)to[i];
			for (k = 0; k < depth; k++) {
				x = (int16_t)(from[k] - CORE_INP_ZERO);
				for (i = 0; i < lanes; i++)
					sum[i] += (uint32_t)(x * w[k][i]);
			}
			for (i = 0; i < lanes; i++)
				to[i] = (int32_t)sum[i];
			to += rows->dst[0];
			from += rows->src[0];
		}
	}
}

static void gemm_portable(uint32_t block, int32_t *acc, const uint8_t *inp, const int8_t *wgt,
			  const struct core_rows *rows)
{
	uint32_t in, out;

	switch (block) {
	case 2:
		return multiply_tile(2, acc, inp, wgt, rows, 2, CORE_QUAD);
	case 4:
		return multiply_tile(4, acc, inp, wgt, rows, 4, 4);
	case 8:
		return multiply_tile(8, acc, inp, wgt, rows, 8, 8);
	}
	for (out = 0; out < block; out += LANES)
		for (in = 0; in < block; in += DEPTH)
			multiply_tile(block, acc + out, inp + in,
				      wgt + core_wgt_offset(block, out, in), rows, LANES, DEPTH);
}

static const struct core_gemm portable = { "portable", 1, NULL, gemm_portable, NULL };

const struct core_gemm *const core_gemms[] = {
#if defined(__x86_64__)
	&core_gemm_avx512vnni,
	&core_gemm_avxvnni,
	&core_gemm_avx2,
	&core_gemm_sse2,
#elif defined(__aarch64__)
	&core_gemm_neon,
#endif
	&portable,
	NULL,
};

bool core_gemm_usable(const struct core_gemm *gemm, uint32_t block)
{
	return block >= gemm->block && (!gemm->supported || gemm->supported());
}

/* The name is a developer's: a kernel that cannot be used makes no core. */
const struct core_gemm *core_gemm_choose(uint32_t block)
{
	const char *name = getenv(CORE_GEMM_ENV);
	const struct core_gemm *const *gemm = core_gemms;

	for (; *gemm; gemm++) {
		if (name && *name && strcmp(name, (*gemm)->name))
			continue;
		if (core_gemm_usable(*gemm, block))
			return *gemm;
		if (name && *name && block < (*gemm)->block)
			return &portable;
	}
	return NULL;
}

/* ---- Rows ---- */

/* The longest dimension is the innermost: the kernels have the fewest lines. */
static void sort_axes(struct core_axes *axes)
{
	struct core_axis longest;
	unsigned int i, at = 0;

	for (i = 1; i < axes->n; i++)
		if (axes->axis[i].count > axes->axis[at].count)
			at = i;
	if (!at)
		return;
	longest = axes->axis[at];
	axes->axis[at] = axes->axis[0];
	axes->axis[0] = longest;
}

static void multiply_rows(const struct core *core, int32_t *acc, const uint8_t *inp,
			  const int8_t *wgt, const struct core_axis *axes, unsigned int n)
{
	struct core_rows plane = { .count = { 1, 1 } };
	uint32_t i;

	if (n > 2) {
		n--;
		for (i = 0; i < axes[n].count; i++)
			multiply_rows(core, acc + i * axes[n].dst, inp + i * axes[n].src, wgt, axes,
				      n);
		return;
	}
	for (i = 0; i < n; i++) {
		plane.count[i] = axes[i].count;
		plane.dst[i] = axes[i].dst;
		plane.src[i] = axes[i].src;
	}
	core->gemm->run(core->block, acc, inp, wgt, &plane);
}

/* ---- Loops ---- */

/* A part of the loops: @out by @in iterations from @base on, with the weights unchanged. */
struct part {
	const struct core *core;
	const struct vta_isa_loop *loop;
	struct core_index base;
	uint32_t out;
	uint32_t in;
};

/* Returns true if each of @n micro-ops, whole CORE_UOPS_AT_ONCE, has weights unlike the next. */
static CORE_FOR_ALL_PROCESSORS bool all_change(const struct core_uop *uop, uint32_t n)
{
	uint16_t same[CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS] = { 0 }, any = 0;
	const uint16_t *field = &uop->dst;
	uint32_t i;

	for (; n; n -= CORE_UOPS_AT_ONCE, field += CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS)
		for (i = 0; i < CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS; i++)
			same[i] |= field[i] == field[i + CORE_UOP_FIELDS];
	for (i = 0; i < CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS; i += CORE_UOP_FIELDS)
		any |= same[i + 2];	/* that of wgt */
	return !any;
}

/* Micro-ops from @uop on, at most @most, whose weights differ from those of the next. */
static uint32_t count_list(const struct core_uop *uop, uint32_t most)
{
	uint32_t n = (most - 1) / CORE_UOPS_AT_ONCE * CORE_UOPS_AT_ONCE;

	if (n < 2 * CORE_UOPS_AT_ONCE || uop[0].wgt == uop[1].wgt || !all_change(uop, n))
		n = 0;
	while (n + 1 < most && uop[n].wgt != uop[n + 1].wgt)
		n++;
	return n + 1 == most ? most : n;
}

/* One row for each micro-op. */
static void multiply_list(const struct part *part, const struct core_uop *uop, uint32_t n)
{
	const struct core *core = part->core;
	const struct core_list list = {
		.uop = uop, .n = n,
		.dst = core->acc.elem_size / sizeof(int32_t), .src = core->inp.elem_size,
		.block_bytes = core->wgt.elem_size,
		.acc = (int32_t *)core->acc.mem +
		       part->base.dst * (core->acc.elem_size / sizeof(int32_t)),
		.inp = (const uint8_t *)core->inp.mem + part->base.src * core->inp.elem_size,
		.wgt = (const int8_t *)core->wgt.mem + part->base.wgt * core->wgt.elem_size,
	};

	core->gemm->run_list(core->block, &list);
}

/* Returns the number of micro-ops, from @uop on, that it has executed for all of the part. */
static uint32_t multiply_part(const struct part *part, const struct core_uop *uop, uint32_t n)
{
	const struct core *core = part->core;
	const struct vta_isa_loop *loop = part->loop;
	size_t dst = core->acc.elem_size / sizeof(int32_t), src = core->inp.elem_size;
	uint32_t most = PART_ROWS / (part->out * part->in);
	struct core_axes rows = { .n = 0 };
	struct core_index by;

	if (core->gemm->run_list && part->in * part->out * core->batch == 1) {
		uint32_t listed = count_list(uop, n < most ? n : most);

		if (listed) {
			multiply_list(part, uop, listed);
			return listed;
		}
	}
	n = core_count_progression(uop, n < most ? n : most, true, &by);
	core_add_axis(&rows, core->batch, core->block, src / core->batch);
	core_add_axis(&rows, n, by.dst * dst, by.src * src);
	core_add_axis(&rows, part->in, loop->dst_factor_in * dst, loop->src_factor_in * src);
	core_add_axis(&rows, part->out, loop->dst_factor_out * dst, loop->src_factor_out * src);
	sort_axes(&rows);
	multiply_rows(core, (int32_t *)core->acc.mem + (uop->dst + part->base.dst) * dst,
		      (const uint8_t *)core->inp.mem + (uop->src + part->base.src) * src,
		      (const int8_t *)core->wgt.mem +
		      (uop->wgt + part->base.wgt) * core->wgt.elem_size, rows.axis, rows.n);
	return n;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

enum core_result core_gemm_run(struct core_run *run, const struct vta_isa_loop *loop)
{
	const struct core_uop *uop = run->core->uop.mem;
	uint32_t period = core_uops_between_stops(run->core, loop), left = period;
	uint32_t rows = smaller(period, PART_ROWS);
	uint32_t in_most = loop->wgt_factor_in ? 1 : smaller(loop->iter_in, rows);
	uint32_t out_most = loop->wgt_factor_out ? 1 : smaller(loop->iter_out, rows / in_most);
	struct part part = { .core = run->core, .loop = loop };
	uint32_t i, j, u, n, done;

	for (i = 0; i < loop->iter_out; i += part.out) {
		part.out = smaller(loop->iter_out - i, out_most);
		for (j = 0; j < loop->iter_in; j += part.in) {
			part.in = smaller(loop->iter_in - j, in_most);
			part.base = core_index_at(loop, i, j);
			for (u = loop->uop_bgn; u < loop->uop_end; u += n) {
				n = multiply_part(&part, uop + u, loop->uop_end - u);
				done = n * part.in * part.out;
				run->stats->gemm_uops += done;
				left -= smaller(left, done);
				if (left)
					continue;
				if (core_run_stopped(run))
					return CORE_STOPPED;
				left = period;
			}
		}
	}
	return CORE_DONE;
}
