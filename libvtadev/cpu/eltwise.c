// SPDX-License-Identifier: Apache-2.0
/* Value by value: of two operands with broadcasting, and of one. */
#include "cpu_impl.h"

/* Is an operand like the output? Then it can be the output. */
static bool is_plain(const struct vtacpu_broadcast *c, const uint32_t *stride)
{
	uint64_t step = 1;

	for (uint32_t i = c->rank; i--; step *= c->dims[i])
		if (c->dims[i] > 1 && stride[i] != step)
			return false;
	return true;
}

int cpu_strided_need(struct vtacpu_need *need, uint32_t rank, const uint32_t *dims,
		     const uint32_t *stride, uint32_t value)
{
	uint64_t count = 1;

	if (rank > VTACPU_RANK_MAX || !cpu_count(dims, rank))
		return cpu_bad(need, "a size is 0, or too large");
	for (uint32_t i = 0; i < rank; i++) {
		uint64_t most = cpu_mul(dims[i] - 1ull, stride[i]);

		if (stride[i] > COUNT_MAX)
			return cpu_bad(need, "a stride is too large");
		if (most > VTACPU_BYTES_MAX || count + most > VTACPU_BYTES_MAX)
			return cpu_bad(need, "an operand is larger than 2 GiB");
		count += most;
	}
	return cpu_operand(need, count, value);
}

int cpu_broadcast_need(const struct vtacpu_broadcast *c, struct vtacpu_need *need, uint32_t value)
{
	if (cpu_strided_need(need, c->rank, c->dims, c->a_stride, value) ||
	    cpu_strided_need(need, c->rank, c->dims, c->b_stride, value))
		return -1;
	need->work = cpu_count(c->dims, c->rank);
	need->in_place = (is_plain(c, c->a_stride) ? 1u : 0) | (is_plain(c, c->b_stride) ? 2u : 0);
	return 0;
}

int cpu_binary_f32_need(const struct vtacpu_binary_f32 *p, struct vtacpu_need *need)
{
	if (p->cast.op > VTACPU_DIV)
		return cpu_bad(need, "no such operator");
	if (cpu_broadcast_need(&p->cast, need, 4) ||
	    cpu_operand(need, cpu_count(p->cast.dims, p->cast.rank), 4))
		return -1;
	return cpu_act_ok(need, &p->act);
}

int cpu_binary_i8_need(const struct vtacpu_binary_i8 *p, struct vtacpu_need *need)
{
	if (p->cast.op >= VTACPU_DIV || p->post.vectors)
		return cpu_bad(need, "no such operator of bytes, or values for channels");
	/* It has no vectors, so no operands of them. */
	if (cpu_broadcast_need(&p->cast, need, 1))
		return -1;
	if (cpu_post_need(need, &p->post, false, 1))
		return -1;
	need->operands = 2;
	return cpu_operand(need, cpu_count(p->cast.dims, p->cast.rank), 1);
}

uint32_t cpu_collapse(uint32_t rank, const uint32_t *dims, uint32_t operands,
		      const uint32_t *const *stride, struct cpu_rows *r)
{
	uint32_t at = 0;

	*r = (struct cpu_rows) { .rank = 0 };
	for (uint32_t i = 0; i < rank; i++) {
		bool joins = at > 0;

		if (dims[i] == 1)
			continue;
		for (uint32_t o = 0; o < operands; o++)
			joins = joins && r->stride[o][at - 1] == (uint64_t)stride[o][i] * dims[i];
		at -= joins;
		r->dims[at] = joins ? r->dims[at] * dims[i] : dims[i];
		for (uint32_t o = 0; o < operands; o++)
			r->stride[o][at] = stride[o][i];
		at++;
	}
	r->rank = at ? at - 1 : 0;
	r->n = at ? r->dims[at - 1] : 1;
	for (uint32_t o = 0; o < operands; o++)
		r->step[o] = at ? r->stride[o][at - 1] : 0;
	r->operands = operands;
	r->rows = 1;
	for (uint32_t i = 0; i < r->rank; i++)
		r->rows *= r->dims[i];
	return r->n;
}

void cpu_next_row(struct cpu_rows *r)
{
	for (uint32_t i = r->rank; i--;) {
		bool back = ++r->index[i] == r->dims[i];

		for (uint32_t o = 0; o < r->operands; o++)
			r->at[o] += r->stride[o][i] -
				    (back ? (size_t)r->dims[i] * r->stride[o][i] : 0);
		if (!back)
			return;
		r->index[i] = 0;
	}
}

static void start_rows(const struct vtacpu_broadcast *c, struct cpu_rows *r)
{
	const uint32_t *const strides[] = { c->a_stride, c->b_stride };

	cpu_collapse(c->rank, c->dims, 2, strides, r);
}

CPU_INLINE
void float_row(uint32_t op, float *y, const float *a, size_t as, const float *b, size_t bs,
	       uint32_t n)
{
	/* The frequent strides have a loop each that the compiler vectorises. */
	if (as == 1 && bs == 1)
		for (uint32_t i = 0; i < n; i++)
			y[i] = cpu_two_floats(op, a[i], b[i]);
	else if (as == 1 && bs == 0)
		for (uint32_t i = 0; i < n; i++)
			y[i] = cpu_two_floats(op, a[i], b[0]);
	else
		for (uint32_t i = 0; i < n; i++)
			y[i] = cpu_two_floats(op, a[i * as], b[i * bs]);
}

CPU_BODY cpu_float_row_body(bool wide, uint32_t op, float *y, const float *a, size_t as,
			    const float *b, size_t bs, uint32_t n)
{
	(void)wide;
	switch (op) {
	case VTACPU_ADD:
		float_row(VTACPU_ADD, y, a, as, b, bs, n);
		return;
	case VTACPU_SUB:
		float_row(VTACPU_SUB, y, a, as, b, bs, n);
		return;
	case VTACPU_MUL:
		float_row(VTACPU_MUL, y, a, as, b, bs, n);
		return;
	case VTACPU_DIV:
		float_row(VTACPU_DIV, y, a, as, b, bs, n);
		return;
	case VTACPU_MAX:
		float_row(VTACPU_MAX, y, a, as, b, bs, n);
		return;
	default:
		float_row(VTACPU_MIN, y, a, as, b, bs, n);
	}
}

CPU_WIDE(cpu_float_row, (uint32_t op, float *y, const float *a, size_t as, const float *b,
			 size_t bs, uint32_t n), op, y, a, as, b, bs, n)

void vtacpu_binary_f32(const struct vtacpu_binary_f32 *p, void *const *io, void *scratch)
{
	struct cpu_rows r;
	float *y = io[2];

	(void)scratch;
	start_rows(&p->cast, &r);
	for (size_t i = 0; i < r.rows; i++, y += r.n, cpu_next_row(&r)) {
		cpu_float_row(p->cast.op, y, (const float *)io[0] + r.at[0], r.step[0],
			      (const float *)io[1] + r.at[1], r.step[1], r.n);
		cpu_act(&p->act, y, r.n);
	}
}

/* In 32 bits that wrap. */
static inline int32_t int_of(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case VTACPU_ADD:
		return (int32_t)(a + b);
	case VTACPU_SUB:
		return (int32_t)(a - b);
	case VTACPU_MUL:
		return (int32_t)(a * b);
	case VTACPU_MAX:
		return (int32_t)a > (int32_t)b ? (int32_t)a : (int32_t)b;
	default:
		return (int32_t)a < (int32_t)b ? (int32_t)a : (int32_t)b;
	}
}

#define CHUNK	256u		/* sums at a time, on the stack */

void vtacpu_binary_i8(const struct vtacpu_binary_i8 *p, void *const *io, void *scratch)
{
	void *const none[3] = { NULL };
	struct cpu_post post = cpu_post(&p->post, none, false);
	struct cpu_rows r;
	int8_t *y = io[2];

	(void)scratch;
	start_rows(&p->cast, &r);
	for (size_t i = 0; i < r.rows; i++, y += r.n, cpu_next_row(&r)) {
		const int8_t *a = (const int8_t *)io[0] + r.at[0];
		const int8_t *b = (const int8_t *)io[1] + r.at[1];

		for (uint32_t at = 0; at < r.n; at += CHUNK) {
			uint32_t some = min_u32(CHUNK, r.n - at);
			int32_t acc[CHUNK];

			for (uint32_t j = 0; j < some; j++)
				acc[j] = int_of(p->cast.op,
						(uint32_t)a[(at + j) * r.step[0]] *
							(uint32_t)p->a_mul,
						(uint32_t)b[(at + j) * r.step[1]] *
							(uint32_t)p->b_mul);
			cpu_post_row(&post, 0, acc, y + at, some);
		}
	}
}

int cpu_unary_f32_need(const struct vtacpu_unary_f32 *p, struct vtacpu_need *need)
{
	if (!p->count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = p->count;
	need->in_place = 1;
	return cpu_operand(need, p->count, 4) || cpu_operand(need, p->count, 4) ||
	       cpu_act_ok(need, &p->act) ? -1 : 0;
}

void vtacpu_unary_f32(const struct vtacpu_unary_f32 *p, void *const *io, void *scratch)
{
	(void)scratch;
	if (io[0] != io[1])
		memcpy(io[1], io[0], p->count * sizeof(float));
	cpu_act(&p->act, io[1], p->count);
}

int cpu_rescale_i8_need(const struct vtacpu_rescale_i8 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->channels, p->inner };
	uint64_t count = cpu_count(dims, 3);

	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	if ((p->x_type != VTACPU_I8 && p->x_type != VTACPU_U8 && p->x_type != VTACPU_I32) ||
	    (p->y_type != VTACPU_I8 && p->y_type != VTACPU_U8))
		return cpu_bad(need, "a type is not one that can be rescaled");
	need->work = count;
	return cpu_operand(need, count, vtacpu_type_bytes(p->x_type)) ||
	       cpu_post_need(need, &p->post, p->y_type == VTACPU_U8, p->channels) ||
	       cpu_operand(need, count, 1) ? -1 : 0;
}

static int32_t value_of(const void *x, size_t at, uint32_t type)
{
	return type == VTACPU_I32 ? ((const int32_t *)x)[at] :
	       cpu_value(x, at, type == VTACPU_U8, 0);
}

void vtacpu_rescale_i8(const struct vtacpu_rescale_i8 *p, void *const *io, void *scratch)
{
	struct cpu_post post = cpu_post(&p->post, io + 1, p->y_type == VTACPU_U8);
	size_t at = 0;

	(void)scratch;
	for (size_t i = 0; i < (size_t)p->outer * p->channels; i++) {
		for (uint32_t done = 0, n; done < p->inner; done += n, at += n) {
			int32_t acc[CHUNK];

			n = min_u32(CHUNK, p->inner - done);
			for (uint32_t j = 0; j < n; j++)
				acc[j] = value_of(io[0], at + j, p->x_type);
			cpu_post_row(&post, (uint32_t)(i % p->channels), acc,
				     (uint8_t *)io[4] + at, n);
		}
	}
}

int cpu_table_i8_need(const struct vtacpu_table_i8 *p, struct vtacpu_need *need)
{
	if (!p->count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = p->count;
	need->in_place = 1;
	return cpu_operand(need, p->count, 1) || cpu_operand(need, 256, 1) ||
	       cpu_operand(need, p->count, 1) ? -1 : 0;
}

void vtacpu_table_i8(const struct vtacpu_table_i8 *p, void *const *io, void *scratch)
{
	const uint8_t *x = io[0], *table = io[1];
	uint8_t *y = io[2];

	(void)scratch;
	for (uint32_t i = 0; i < p->count; i++)
		y[i] = table[x[i]];
}
