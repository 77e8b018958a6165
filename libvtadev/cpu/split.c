// SPDX-License-Identifier: Apache-2.0
/*
 * Convolutions and matrix products in parts, which several threads run at once. A kernel adds up
 * each output in the same order whatever else it computes: the number of parts changes no bit.
 */
#include "cpu_impl.h"

/* The multiplications of a part take longer than to wake a thread. */
#define WORK_LEAST	500000u
/* Each part brings all inputs into its order: much of its work with fewer channels or rows. */
#define CHANNELS_LEAST	16u
#define ROWS_LEAST	8u
#define COLUMNS_LEAST	64u

/* The dimension that a kernel is cut along: @all of these, at least @least for each part. */
enum along { ALONG_NOTHING, ALONG_IMAGES, ALONG_GROUPS, ALONG_CHANNELS, ALONG_BATCH, ALONG_ROWS,
	     ALONG_COLUMNS };
struct cut {
	enum along along;
	uint32_t all, least;
	unsigned int dim;		/* of a batch */
};

static struct cut cut_window(const struct vtacpu_window *w)
{
	if (w->n > 1)
		return (struct cut) { ALONG_IMAGES, w->n, 1, 0 };
	if (w->groups > 1)
		return (struct cut) { ALONG_GROUPS, w->groups, 1, 0 };
	return (struct cut) { ALONG_CHANNELS, w->oc, CHANNELS_LEAST, 0 };
}

/* The vectors of integers and packed matrices are for all columns, so these have no parts. */
static struct cut cut_matrices(const struct vtacpu_matrices *m, bool columns)
{
	for (unsigned int i = 0; i < 3; i++)
		if (m->batch[i] > 1)
			return (struct cut) { ALONG_BATCH, m->batch[i], 1, i };
	if (m->m > 1)
		return (struct cut) { ALONG_ROWS, m->m, ROWS_LEAST, 0 };
	return (struct cut) { columns ? ALONG_COLUMNS : ALONG_NOTHING, m->n, COLUMNS_LEAST, 0 };
}

static struct cut cut_kernel(uint32_t kernel, const void *params)
{
	switch (kernel) {
	case VTACPU_CONV_F32:
		return cut_window(&((const struct vtacpu_conv_f32 *)params)->win);
	case VTACPU_CONV_I8:
		return cut_window(&((const struct vtacpu_conv_i8 *)params)->win);
	case VTACPU_GEMM_F32:
		return cut_matrices(&((const struct vtacpu_gemm_f32 *)params)->mat, true);
	case VTACPU_GEMM_PACKED_F32:
		return cut_matrices(&((const struct vtacpu_gemm_f32 *)params)->mat, false);
	case VTACPU_GEMM_I8:
		return cut_matrices(&((const struct vtacpu_gemm_i8 *)params)->mat, false);
	case VTACPU_GEMM_ROUNDED:
		return (struct cut) { ALONG_ROWS, ((const struct vtacpu_gemm_rounded *)params)->m,
				      ROWS_LEAST, 0 };
	default:
		return (struct cut) { .along = ALONG_NOTHING };
	}
}

unsigned int vtacpu_parts(uint32_t kernel, const void *params, const struct vtacpu_need *need,
			  unsigned int most)
{
	struct cut cut = cut_kernel(kernel, params);
	uint64_t n = need->work / WORK_LEAST;

	if (cut.along == ALONG_NOTHING)
		return 1;
	n = n < most ? n : most;
	n = n < cut.all / cut.least ? n : cut.all / cut.least;
	return n > 1 ? (unsigned int)n : 1;
}

/* Moves operand @i, of @all equal pieces, to piece @first. */
static void move_operand(struct vtacpu_part *part, const struct vtacpu_need *need, uint32_t i,
			 uint32_t all, uint32_t first)
{
	if (need->bytes[i])
		part->io[i] = (char *)part->io[i] + need->bytes[i] / all * first;
}

/* @res: number of the operand that is added to the output */
static void narrow_window(struct vtacpu_part *part, const struct vtacpu_need *need,
			  struct vtacpu_window *w, const struct cut *cut, uint32_t res,
			  uint32_t first, uint32_t count)
{
	uint32_t last = need->operands - 1;

	if (cut->along == ALONG_IMAGES) {
		move_operand(part, need, 0, cut->all, first);
		move_operand(part, need, res, cut->all, first);
		move_operand(part, need, last, cut->all, first);
		w->n = count;
		return;
	}
	/* All but the input have output channels as first dimension; groups are of both. */
	for (uint32_t i = cut->along == ALONG_GROUPS ? 0 : 1; i <= last; i++)
		move_operand(part, need, i, cut->all, first);
	if (cut->along == ALONG_GROUPS) {
		w->ic = w->ic / w->groups * count;
		w->oc = w->oc / w->groups * count;
		w->groups = count;
	} else {
		w->oc = count;
	}
}

/* Moves operand @i by so many values. */
static void move_values(struct vtacpu_part *part, const struct vtacpu_need *need, uint32_t i,
			size_t values)
{
	if (need->bytes[i])
		part->io[i] = (char *)part->io[i] + values * need->value[i];
}

static void narrow_matrices(struct vtacpu_part *part, const struct vtacpu_need *need,
			    struct vtacpu_matrices *m, const struct cut *cut, size_t first,
			    uint32_t count)
{
	size_t a = 0, b = 0, c = 0, y = 0;

	if (cut->along == ALONG_BATCH) {
		a = first * m->a_batch[cut->dim];
		b = first * m->b_batch[cut->dim];
		c = first * m->c_batch[cut->dim];
		y = first * m->m * m->n;
		for (unsigned int i = cut->dim + 1; i < 3; i++)
			y *= m->batch[i];
		m->batch[cut->dim] = count;
	} else if (cut->along == ALONG_ROWS) {
		a = first * m->a_row;
		c = first * m->c_row;
		y = first * m->n;
		m->m = count;
	} else {
		b = first * m->b_col;
		c = first * m->c_col;
		y = first;
		m->n = count;
	}
	move_values(part, need, 0, a);
	move_values(part, need, 1, b);
	move_values(part, need, 2, c);
	move_values(part, need, need->operands - 1, y);
}

static void narrow_rounded(struct vtacpu_part *part, const struct vtacpu_need *need,
			   struct vtacpu_gemm_rounded *p, size_t first, uint32_t count)
{
	move_values(part, need, 0, first * p->k);
	move_values(part, need, need->operands - 1, first * p->n);
	p->m = count;
}

void vtacpu_part(uint32_t kernel, const void *params, const struct vtacpu_need *need,
		 void *const *io, unsigned int i, unsigned int n, struct vtacpu_part *part)
{
	struct cut cut = cut_kernel(kernel, params);
	uint32_t first = (uint32_t)((uint64_t)cut.all * i / n);
	uint32_t count = (uint32_t)((uint64_t)cut.all * (i + 1) / n) - first;

	*part = (struct vtacpu_part) { .kernel = kernel };
	memcpy(&part->params, params, vtacpu_params_bytes(kernel));
	for (uint32_t k = 0; k < need->operands; k++)
		part->io[k] = io[k];
	if (n < 2)
		return;
	if (kernel == VTACPU_CONV_I8 && part->params.conv_i8.has_res > 2 &&
	    cut.along == ALONG_IMAGES)
		move_operand(part, need, 5, cut.all, first);
	if (kernel == VTACPU_CONV_F32)
		narrow_window(part, need, &part->params.conv_f32.win, &cut, 3, first, count);
	else if (kernel == VTACPU_CONV_I8)
		narrow_window(part, need, &part->params.conv_i8.win, &cut, 2, first, count);
	else if (kernel == VTACPU_GEMM_F32 || kernel == VTACPU_GEMM_PACKED_F32)
		narrow_matrices(part, need, &part->params.gemm_f32.mat, &cut, first, count);
	else if (kernel == VTACPU_GEMM_ROUNDED)
		narrow_rounded(part, need, &part->params.gemm_rounded, first, count);
	else
		narrow_matrices(part, need, &part->params.gemm_i8.mat, &cut, first, count);
}
