// SPDX-License-Identifier: Apache-2.0
/* Values from places, and to places, that other values name. */
#include "cpu_impl.h"

static int index_type_ok(struct vtacpu_need *need, uint32_t type)
{
	return type == VTACPU_I32 || type == VTACPU_I64 ? 0 :
	       cpu_bad(need, "indices are not int32 or int64");
}

/* Index @at, from 0 to @size - 1; @size if it is out of range. */
CPU_INLINE size_t index_at(const void *index, size_t at, uint32_t type, uint32_t size)
{
	int64_t i = type == VTACPU_I64 ? ((const int64_t *)index)[at] :
		    cpu_integer(index, at, type);

	i += i < 0 ? size : 0;
	return i >= 0 && i < size ? (size_t)i : size;
}

/* y = y op x */
CPU_BODY scatter_one(uint32_t type, uint32_t op, void *y, size_t to, const void *x, size_t from)
{
	if (type == VTACPU_F32) {
		float a = ((const float *)x)[from], *b = (float *)y + to;

		*b = op == VTACPU_SCATTER_ADD ? *b + a : op == VTACPU_SCATTER_MUL ? *b * a :
		     op == VTACPU_SCATTER_MAX ? (*b > a ? *b : a) :
		     op == VTACPU_SCATTER_MIN ? (*b < a ? *b : a) : a;
	} else {
		int64_t a = cpu_integer(x, from, type), b = cpu_integer(y, to, type);

		cpu_put_integer(y, to, type,
				op == VTACPU_SCATTER_ADD ? (int64_t)((uint64_t)b + (uint64_t)a) :
				op == VTACPU_SCATTER_MUL ? (int64_t)((uint64_t)b * (uint64_t)a) :
				op == VTACPU_SCATTER_MAX ? (b > a ? b : a) :
				op == VTACPU_SCATTER_MIN ? (b < a ? b : a) : a);
	}
}

/* ---- one axis ---- */

int cpu_gather_need(const struct vtacpu_gather *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->outer, p->dim, p->inner };
	const uint32_t y[] = { p->outer, p->count, p->inner };

	if (p->bytes != 1 && p->bytes != 2 && p->bytes != 4 && p->bytes != 8)
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	if (index_type_ok(need, p->index_type))
		return -1;
	if (!cpu_count(x, 3) || !cpu_count(y, 3))
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_count(y, 3);
	return cpu_operand(need, cpu_count(x, 3), p->bytes) ||
	       cpu_operand(need, p->count, vtacpu_type_bytes(p->index_type)) ||
	       cpu_operand(need, need->work, p->bytes) ? -1 : 0;
}

void vtacpu_gather(const struct vtacpu_gather *p, void *const *io, void *scratch)
{
	size_t row = (size_t)p->inner * p->bytes;
	uint8_t *y = io[2];

	(void)scratch;
	for (size_t o = 0; o < p->outer; o++)
		for (size_t k = 0; k < p->count; k++, y += row) {
			size_t i = index_at(io[1], k, p->index_type, p->dim);

			if (i < p->dim)
				memcpy(y, (const uint8_t *)io[0] + (o * p->dim + i) * row, row);
			else
				memset(y, 0, row);
		}
}

int cpu_one_hot_need(const struct vtacpu_one_hot *p, struct vtacpu_need *need)
{
	const uint32_t y[] = { p->outer, p->depth, p->inner };

	if (p->bytes != 1 && p->bytes != 2 && p->bytes != 4 && p->bytes != 8)
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	if (index_type_ok(need, p->index_type))
		return -1;
	if (!cpu_count(y, 3))
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_count(y, 3);
	return cpu_operand(need, need->work / p->depth, vtacpu_type_bytes(p->index_type)) ||
	       cpu_operand(need, 2, p->bytes) || cpu_operand(need, need->work, p->bytes) ? -1 : 0;
}

void vtacpu_one_hot(const struct vtacpu_one_hot *p, void *const *io, void *scratch)
{
	const uint8_t *values = io[1];
	uint8_t *y = io[2];

	(void)scratch;
	for (size_t o = 0; o < p->outer; o++)
		for (size_t d = 0; d < p->depth; d++)
			for (size_t i = 0; i < p->inner; i++, y += p->bytes) {
				size_t at = index_at(io[0], o * p->inner + i, p->index_type,
						     p->depth);

				cpu_copy_value(y, values + (at == d) * p->bytes, p->bytes);
			}
}

int cpu_reverse_sequence_need(const struct vtacpu_reverse_sequence *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->steps, p->batch, p->inner };

	if (p->bytes != 1 && p->bytes != 2 && p->bytes != 4 && p->bytes != 8)
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	if (index_type_ok(need, p->length_type) || cpu_flag_ok(need, p->batch_first))
		return -1;
	if (!cpu_count(dims, 3))
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_count(dims, 3);
	return cpu_operand(need, need->work, p->bytes) ||
	       cpu_operand(need, p->batch, vtacpu_type_bytes(p->length_type)) ||
	       cpu_operand(need, need->work, p->bytes) ? -1 : 0;
}

void vtacpu_reverse_sequence(const struct vtacpu_reverse_sequence *p, void *const *io,
			     void *scratch)
{
	size_t row = (size_t)p->inner * p->bytes;
	size_t step = p->batch_first ? row : row * p->batch;
	size_t image = p->batch_first ? row * p->steps : row;

	(void)scratch;
	for (size_t b = 0; b < p->batch; b++) {
		int64_t n = cpu_integer(io[1], b, p->length_type);
		size_t length = n < 0 ? 0 : n < p->steps ? (size_t)n : p->steps;

		for (size_t t = 0; t < p->steps; t++) {
			size_t from = t < length ? length - 1 - t : t;

			memcpy((uint8_t *)io[2] + b * image + t * step,
			       (const uint8_t *)io[0] + b * image + from * step, row);
		}
	}
}

/* ---- elements ---- */

static int elements_need(const struct vtacpu_elements *p, struct vtacpu_need *need, bool scatter)
{
	uint64_t count = cpu_count(p->dims, p->rank), places = cpu_count(p->index_dims, p->rank);
	uint32_t bytes = vtacpu_type_bytes(p->type);

	if (!cpu_type_ok(need, p->type) || index_type_ok(need, p->index_type))
		return -1;
	if (p->axis >= p->rank || !count || !places || p->op >= VTACPU_SCATTER_OPS)
		return cpu_bad(need, "a size is 0, or too large, or there is no such axis");
	for (uint32_t i = 0; i < p->rank; i++)
		if (i != p->axis && p->index_dims[i] > p->dims[i])
			return cpu_bad(need, "there are indices beyond a dimension");
	need->work = places;
	if (cpu_operand(need, count, bytes) ||
	    cpu_operand(need, places, vtacpu_type_bytes(p->index_type)) ||
	    cpu_operand(need, places, bytes))
		return -1;
	need->in_place = scatter;
	return scatter ? cpu_operand(need, count, bytes) : 0;
}

int cpu_gather_elements_need(const struct vtacpu_elements *p, struct vtacpu_need *need)
{
	return elements_need(p, need, false);
}

int cpu_scatter_elements_need(const struct vtacpu_elements *p, struct vtacpu_need *need)
{
	return elements_need(p, need, true);
}

/* Values from one place of @dims to the next; returns that of @axis, whose own is then 0. */
static size_t strides_but(const struct vtacpu_elements *p, uint32_t *stride)
{
	size_t step = 1, own = 1;

	for (uint32_t i = p->rank; i--; step *= p->dims[i]) {
		own = i == p->axis ? step : own;
		stride[i] = i == p->axis ? 0 : (uint32_t)step;
	}
	return own;
}

void vtacpu_gather_elements(const struct vtacpu_elements *p, void *const *io, void *scratch)
{
	struct cpu_places at = { .rank = p->rank, .dims = p->index_dims };
	size_t places = (size_t)cpu_count(p->index_dims, p->rank), own;
	uint32_t stride[VTACPU_RANK_MAX], bytes = vtacpu_type_bytes(p->type);
	uint8_t *y = io[2];

	(void)scratch;
	own = strides_but(p, stride);
	for (size_t k = 0; k < places; k++, y += bytes) {
		size_t i = index_at(io[1], k, p->index_type, p->dims[p->axis]);

		if (i < p->dims[p->axis])
			cpu_copy_value(y, (const uint8_t *)io[0] + (at.a + i * own) * bytes, bytes);
		else
			memset(y, 0, bytes);
		cpu_next_place(&at, stride, NULL, NULL);
	}
}

/* All rows of the index; their values are @step apart in each row of y. */
CPU_BODY scatter_rows(const struct vtacpu_elements *p, void *const *io, uint32_t type,
		      uint32_t index_type, uint32_t op)
{
	struct cpu_places at = { .rank = p->rank - 1, .dims = p->index_dims };
	uint32_t stride[VTACPU_RANK_MAX] = { 0 }, n = p->index_dims[p->rank - 1];
	size_t places = (size_t)cpu_count(p->index_dims, p->rank), own = strides_but(p, stride);
	size_t step = stride[p->rank - 1];

	for (size_t k = 0; k < places; k += n) {
		for (size_t j = 0; j < n; j++) {
			size_t i = index_at(io[1], k + j, index_type, p->dims[p->axis]);

			if (i < p->dims[p->axis])
				scatter_one(type, op, io[3], at.a + j * step + i * own, io[2],
					    k + j);
		}
		cpu_next_place(&at, stride, NULL, NULL);
	}
}

void vtacpu_scatter_elements(const struct vtacpu_elements *p, void *const *io, void *scratch)
{
	(void)scratch;
	if (io[3] != io[0])
		memcpy(io[3], io[0],
		       (size_t)cpu_count(p->dims, p->rank) * vtacpu_type_bytes(p->type));
	/* Detectors scatter floats. */
	if (p->type == VTACPU_F32 && p->index_type == VTACPU_I64 && p->op == VTACPU_SCATTER_SET)
		scatter_rows(p, io, VTACPU_F32, VTACPU_I64, VTACPU_SCATTER_SET);
	else
		scatter_rows(p, io, p->type, p->index_type, p->op);
}

/* ---- slices ---- */

static int slices_need(const struct vtacpu_slices *p, struct vtacpu_need *need, bool scatter)
{
	uint32_t bytes = vtacpu_type_bytes(p->type);
	uint64_t slices = cpu_count(p->sizes, p->depth), rows;

	if (!cpu_type_ok(need, p->type) || index_type_ok(need, p->index_type))
		return -1;
	if (!p->depth || !slices || !p->batch || !p->rows || !p->inner ||
	    p->op >= VTACPU_SCATTER_OPS || (scatter && p->batch != 1))
		return cpu_bad(need, "a size is 0, or too large");
	rows = cpu_mul(p->batch, p->rows);
	need->work = cpu_mul(rows, p->inner);
	if (cpu_operand(need, cpu_mul(cpu_mul(p->batch, slices), p->inner), bytes) ||
	    cpu_operand(need, cpu_mul(rows, p->depth), vtacpu_type_bytes(p->index_type)) ||
	    cpu_operand(need, need->work, bytes))
		return -1;
	need->in_place = scatter;
	return scatter ? cpu_operand(need, cpu_mul(slices, p->inner), bytes) : 0;
}

int cpu_gather_nd_need(const struct vtacpu_slices *p, struct vtacpu_need *need)
{
	return slices_need(p, need, false);
}

int cpu_scatter_nd_need(const struct vtacpu_slices *p, struct vtacpu_need *need)
{
	return slices_need(p, need, true);
}

/* The slice that index @row names; false: one of its coordinates is out of range. */
static bool slice_at(const struct vtacpu_slices *p, const void *index, size_t row, size_t *slice)
{
	*slice = 0;
	for (uint32_t d = 0; d < p->depth; d++) {
		size_t i = index_at(index, row * p->depth + d, p->index_type, p->sizes[d]);

		if (i == p->sizes[d])
			return false;
		*slice = *slice * p->sizes[d] + i;
	}
	return true;
}

void vtacpu_gather_nd(const struct vtacpu_slices *p, void *const *io, void *scratch)
{
	size_t bytes = (size_t)p->inner * vtacpu_type_bytes(p->type), slice;
	size_t each = (size_t)cpu_count(p->sizes, p->depth);
	uint8_t *y = io[2];

	(void)scratch;
	for (size_t row = 0; row < (size_t)p->batch * p->rows; row++, y += bytes) {
		const uint8_t *x = (const uint8_t *)io[0] + row / p->rows * each * bytes;

		if (slice_at(p, io[1], row, &slice))
			memcpy(y, x + slice * bytes, bytes);
		else
			memset(y, 0, bytes);
	}
}

void vtacpu_scatter_nd(const struct vtacpu_slices *p, void *const *io, void *scratch)
{
	size_t each = (size_t)cpu_count(p->sizes, p->depth), slice;

	(void)scratch;
	if (io[3] != io[0])
		memcpy(io[3], io[0], each * p->inner * vtacpu_type_bytes(p->type));
	for (size_t row = 0; row < p->rows; row++) {
		if (!slice_at(p, io[1], row, &slice))
			continue;
		for (size_t i = 0; i < p->inner; i++)
			scatter_one(p->type, p->op, io[3], slice * p->inner + i, io[2],
				    row * p->inner + i);
	}
}
