// SPDX-License-Identifier: Apache-2.0
/* Windows that move over each channel alone. */
#include "cpu_impl.h"

static int pool_need(const struct vtacpu_pool_window *p, struct vtacpu_need *need, uint32_t value)
{
	const uint32_t x[] = { p->n, p->c, p->ih, p->iw }, y[] = { p->n, p->c, p->oh, p->ow };
	const uint32_t k[] = { p->kh, p->kw };

	if (!cpu_count(x, 4) || !cpu_count(y, 4) || !cpu_count(k, 2))
		return cpu_bad(need, "a size is 0, or too large");
	if (!p->stride_h || !p->stride_w || !p->dil_h || !p->dil_w || p->stride_h > STEP_MAX ||
	    p->stride_w > STEP_MAX || p->dil_h > STEP_MAX || p->dil_w > STEP_MAX ||
	    p->pad_top > STEP_MAX || p->pad_left > STEP_MAX || p->pad_bottom > STEP_MAX ||
	    p->pad_right > STEP_MAX)
		return cpu_bad(need, "a stride or dilation is 0, or it or a pad is too large");
	need->work = cpu_mul(cpu_count(y, 4), cpu_count(k, 2));
	return cpu_operand(need, cpu_count(x, 4), value);
}

static uint64_t outputs(const struct vtacpu_pool_window *p)
{
	const uint32_t y[] = { p->n, p->c, p->oh, p->ow };

	return cpu_count(y, 4);
}

int cpu_pool_window_f32_need(const struct vtacpu_pool_window_f32 *p, struct vtacpu_need *need)
{
	if (p->pool.kind > VTACPU_POOL_SUM)
		return cpu_bad(need, "no such kind of pool");
	if (pool_need(&p->pool, need, 4) || cpu_operand(need, outputs(&p->pool), 4))
		return -1;
	return cpu_act_ok(need, &p->act);
}

int cpu_pool_window_i8_need(const struct vtacpu_pool_window_i8 *p, struct vtacpu_need *need)
{
	if (p->pool.kind != VTACPU_POOL_MAX && p->pool.kind != VTACPU_POOL_SUM)
		return cpu_bad(need, "no such kind of pool of bytes");
	if (cpu_flag_ok(need, p->is_unsigned) || pool_need(&p->pool, need, 1) ||
	    cpu_post_need(need, &p->post, p->is_unsigned, p->pool.c))
		return -1;
	return cpu_operand(need, outputs(&p->pool), 1);
}

/* The taps [from, to) of a window that starts at @at, which are inside. */
struct taps {
	uint32_t from, to;
};

static struct taps inside(int64_t at, uint32_t k, uint32_t dil, uint32_t size)
{
	int64_t from = at < 0 ? (-at + dil - 1) / dil : 0;
	int64_t to = at < size ? (size - at - 1) / dil + 1 : 0;

	to = to > k ? k : to;
	from = from > to ? to : from;
	return (struct taps) { (uint32_t)from, (uint32_t)to };
}

/* Number of taps within the input and its pads. */
static uint32_t within(int64_t at, uint32_t k, uint32_t dil, uint32_t before, uint32_t size,
		       uint32_t after)
{
	struct taps t = inside(at + before, k, dil, before + size + after);

	return t.to - t.from;
}

/* Place of the window of an output. */
struct place {
	int64_t y, x;
	struct taps ty, tx;
};

static struct place place_window(const struct vtacpu_pool_window *p, uint32_t oy, uint32_t ox)
{
	struct place at = { .y = (int64_t)oy * p->stride_h - p->pad_top,
			    .x = (int64_t)ox * p->stride_w - p->pad_left };

	at.ty = inside(at.y, p->kh, p->dil_h, p->ih);
	at.tx = inside(at.x, p->kw, p->dil_w, p->iw);
	return at;
}

static uint64_t values(const struct vtacpu_pool_window *p, const struct place *at)
{
	if (p->kind == VTACPU_POOL_AVG_PAD)
		return (uint64_t)within(at->y, p->kh, p->dil_h, p->pad_top, p->ih, p->pad_bottom) *
		       within(at->x, p->kw, p->dil_w, p->pad_left, p->iw, p->pad_right);
	return (uint64_t)(at->ty.to - at->ty.from) * (at->tx.to - at->tx.from);
}

/* One output: of rows too short to go tap by tap. */
static float pool_one(const struct vtacpu_pool_window *p, const float *x, const struct place *at)
{
	bool greatest = p->kind == VTACPU_POOL_MAX;
	float v = greatest ? -3.402823466e38f : 0;

	for (uint32_t ky = at->ty.from; ky < at->ty.to; ky++) {
		const float *row = x + (at->y + (int64_t)ky * p->dil_h) * p->iw + at->x;

		for (uint32_t kx = at->tx.from; kx < at->tx.to; kx++) {
			float a = row[(int64_t)kx * p->dil_w];

			v = !greatest ? v + a : v > a ? v : a;
		}
	}
	return v;
}

#define SHORT	4u
#define SPANS	16u		/* taps whose spans are computed once for a row */

/* Outputs [from, to) of a row take tap @kx from input at + (x - from) * stride_w. */
struct span {
	uint32_t from, to;
	int64_t at;
};

static struct span span_of(const struct vtacpu_pool_window *p, uint32_t kx)
{
	int64_t shift = (int64_t)kx * p->dil_w - p->pad_left, stride = p->stride_w;
	int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
	int64_t end = p->iw > shift ? (p->iw - shift - 1) / stride + 1 : 0;

	end = end > p->ow ? p->ow : end;
	first = first > end ? end : first;
	return (struct span) { (uint32_t)first, (uint32_t)end, first * stride + shift };
}

CPU_BODY pool_tap(bool greatest, float *y, const float *x, uint32_t step, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		float a = x[(size_t)i * step];

		y[i] = !greatest ? y[i] + a : y[i] > a ? y[i] : a;
	}
}

/* Output row @oy of a channel, tap by tap in their order. */
CPU_BODY pool_row_body(bool wide, const struct vtacpu_pool_window *p, float *y, const float *x,
		       uint32_t oy)
{
	struct place at = place_window(p, oy, 0);
	bool greatest = p->kind == VTACPU_POOL_MAX;
	struct span spans[SPANS];

	(void)wide;
	for (uint32_t ox = 0; p->ow <= SHORT && ox < p->ow; ox++) {
		at = place_window(p, oy, ox);
		y[ox] = pool_one(p, x, &at);
	}
	if (p->ow <= SHORT)
		return;
	for (uint32_t kx = 0; kx < p->kw && kx < SPANS; kx++)
		spans[kx] = span_of(p, kx);
	for (uint32_t ox = 0; ox < p->ow; ox++)
		y[ox] = greatest ? -3.402823466e38f : 0;
	for (uint32_t ky = at.ty.from; ky < at.ty.to; ky++) {
		const float *row = x + (at.y + (int64_t)ky * p->dil_h) * p->iw;

		for (uint32_t kx = 0; kx < p->kw; kx++) {
			struct span s = kx < SPANS ? spans[kx] : span_of(p, kx);
			uint32_t n = s.to - s.from;

			/* The frequent strides have a loop each that the compiler vectorises. */
			if (!n)
				continue;
			if (greatest && p->stride_w == 1)
				pool_tap(true, y + s.from, row + s.at, 1, n);
			else if (greatest && p->stride_w == 2)
				pool_tap(true, y + s.from, row + s.at, 2, n);
			else if (!greatest && p->stride_w == 1)
				pool_tap(false, y + s.from, row + s.at, 1, n);
			else
				pool_tap(greatest, y + s.from, row + s.at, p->stride_w, n);
		}
	}
}

static void pool_row(const struct vtacpu_pool_window *p, float *y, const float *x, uint32_t oy);
CPU_WIDE(pool_row, (const struct vtacpu_pool_window *p, float *y, const float *x, uint32_t oy),
	 p, y, x, oy)

/* Sums become averages. Windows that are wholly inside have equally many values. */
static void divide_row(const struct vtacpu_pool_window *p, float *y, uint32_t oy)
{
	struct span first = span_of(p, 0), last = span_of(p, p->kw - 1);
	struct place at = place_window(p, oy, first.from);
	float all = (float)values(p, &at);

	for (uint32_t ox = 0; ox < p->ow; ox++) {
		uint64_t n;

		if (ox == first.from && last.to > ox) {
			for (; ox < last.to; ox++)
				y[ox] = all != 0 ? y[ox] / all : y[ox];
			if (ox == p->ow)
				return;
		}
		at = place_window(p, oy, ox);
		n = values(p, &at);
		y[ox] = n ? y[ox] / (float)n : y[ox];
	}
}

void vtacpu_pool_window_f32(const struct vtacpu_pool_window_f32 *p, void *const *io, void *scratch)
{
	const struct vtacpu_pool_window *pool = &p->pool;
	const float *x = io[0];
	float *y = io[1];

	(void)scratch;
	for (size_t c = 0; c < (size_t)pool->n * pool->c; c++) {
		for (uint32_t oy = 0; oy < pool->oh; oy++, y += pool->ow) {
			pool_row(pool, y, x, oy);
			if (pool->kind == VTACPU_POOL_AVG || pool->kind == VTACPU_POOL_AVG_PAD)
				divide_row(pool, y, oy);
			cpu_act(&p->act, y, pool->ow);
		}
		x += (size_t)pool->ih * pool->iw;
	}
}

static int32_t pool_byte(const struct vtacpu_pool_window_i8 *p, const uint8_t *x,
			 const struct place *at)
{
	bool greatest = p->pool.kind == VTACPU_POOL_MAX;
	int32_t v = !greatest || p->is_unsigned ? 0 : -128;

	for (uint32_t ky = at->ty.from; ky < at->ty.to; ky++) {
		const uint8_t *row = x + (at->y + (int64_t)ky * p->pool.dil_h) * p->pool.iw + at->x;

		for (uint32_t kx = at->tx.from; kx < at->tx.to; kx++) {
			uint8_t byte = row[(int64_t)kx * p->pool.dil_w];
			int32_t a = p->is_unsigned ? byte : (int8_t)byte;

			/* Enough of them wrap, as on the card. */
			v = !greatest ? (int32_t)((uint32_t)v + (uint32_t)a) : v > a ? v : a;
		}
	}
	return v;
}

void vtacpu_pool_window_i8(const struct vtacpu_pool_window_i8 *p, void *const *io, void *scratch)
{
	struct cpu_post post = cpu_post(&p->post, io + 1, p->is_unsigned);
	const struct vtacpu_pool_window *pool = &p->pool;
	const uint8_t *x = io[0];
	uint8_t *y = io[4];

	(void)scratch;
	for (size_t c = 0; c < (size_t)pool->n * pool->c; c++) {
		for (uint32_t oy = 0; oy < pool->oh; oy++) {
			for (uint32_t ox = 0; ox < pool->ow; ox++) {
				struct place at = place_window(pool, oy, ox);
				int32_t v = pool_byte(p, x, &at);

				cpu_post_row(&post, (uint32_t)(c % pool->c), &v, y++, 1);
			}
		}
		x += (size_t)pool->ih * pool->iw;
	}
}
