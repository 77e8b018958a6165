// SPDX-License-Identifier: Apache-2.0
/*
 * Convolutions of bytes. Inputs and weights become 16 bits wide, with the channels next
 * to each other, so that a tap of an output is a row to copy, and an output a product of
 * two rows.
 */
#include "window.h"

#define STRIP	32u		/* outputs at a time */

/* The scratch memory's parts, in int16; each row a multiple of 8. */
struct layout {
	size_t ic, oc;		/* channels of a group */
	size_t k;		/* of a row: taps * ic, rounded up */
	size_t x, w, cols;	/* values in each part */
};

static struct layout layout(const struct vtacpu_window *w)
{
	struct layout l = { .ic = w->ic / w->groups, .oc = w->oc / w->groups };

	l.k = up8(l.ic * window_taps(w));
	l.x = up8((size_t)w->ih * w->iw * l.ic);
	l.w = (l.oc + 1) / 2 * 2 * l.k;
	l.cols = STRIP * l.k;
	return l;
}

/* Room for a row of a depthwise one's sums, or for the parts above. */
static uint64_t scratch_bytes(const struct vtacpu_window *w, const struct window_counts *c)
{
	uint64_t k = cpu_mul(w->ic / w->groups, cpu_mul(w->kh, w->kw));

	if (window_is_depthwise(w))
		return 4ull * w->ow;
	if (k > VTACPU_BYTES_MAX || c->w > VTACPU_BYTES_MAX || c->x > VTACPU_BYTES_MAX)
		return UINT64_MAX;
	k = (k + 7) & ~7ull;
	return 2 * (c->x + 8 + cpu_mul(w->oc / w->groups + 1 + STRIP, k));
}

int cpu_conv_i8_need(const struct vtacpu_conv_i8 *p, struct vtacpu_need *need)
{
	struct window_counts c;

	if (cpu_window_need(&p->win, need, &c) || cpu_operand(need, c.x, 1) ||
	    cpu_operand(need, c.w, 1) || cpu_flag_ok(need, p->x_unsigned) ||
	    cpu_flag_ok(need, p->w_unsigned) || cpu_flag_ok(need, p->y_unsigned) ||
	    cpu_operand_if(need, p->has_res, c.y, 1) ||
	    cpu_post_need(need, &p->post, p->y_unsigned, p->win.oc) ||
	    (p->has_res > 1 && cpu_operand(need, p->win.oc, 4)) || cpu_operand(need, c.y, 1))
		return -1;
	if (p->x_zero < -128 || p->x_zero > 255 || p->w_zero < -128 || p->w_zero > 255 ||
	    p->res_shift > 31)
		return cpu_bad(need, "a zero point has more than 8 bits, or a shift is above 31");
	if (p->has_res > 2 || (p->has_res > 1 && p->res_shift))
		return cpu_bad(need, "has_res is above 2, or has a shift and multipliers");
	need->work = c.work;
	return cpu_scratch(need, scratch_bytes(&p->win, &c));
}

/* [channels][plane] to [plane][channels]. */
static void widen_x(const struct vtacpu_conv_i8 *p, int16_t *dst, const uint8_t *x,
		    size_t channels)
{
	size_t plane = (size_t)p->win.ih * p->win.iw;

	/* In squares, so that both sides stay in the cache. */
	for (size_t at = 0; at < plane; at += 16) {
		size_t end = plane - at < 16 ? plane : at + 16;

		for (size_t c = 0; c < channels; c++)
			for (size_t i = at; i < end; i++)
				dst[i * channels + c] = cpu_value(x, c * plane + i, p->x_unsigned,
								  p->x_zero);
	}
}

/* [oc][ic][taps] to [oc][taps][ic], with zeros behind each row, and a row if oc is odd. */
static void widen_w(const struct vtacpu_conv_i8 *p, const struct layout *l, int16_t *dst,
		    const uint8_t *w)
{
	size_t taps = window_taps(&p->win);

	memset(dst, 0, l->w * sizeof(*dst));
	for (size_t o = 0; o < l->oc; o++, dst += l->k)
		for (size_t c = 0; c < l->ic; c++)
			for (size_t t = 0; t < taps; t++)
				dst[t * l->ic + c] = cpu_value(w++, 0, p->w_unsigned, p->w_zero);
}

/* One row of @l->k values for each of @n outputs from @first on. */
static void fill_strip(const struct vtacpu_window *w, const struct layout *l, int16_t *cols,
		       const int16_t *x, size_t first, uint32_t n)
{
	size_t bytes = l->ic * sizeof(*x), taps = window_taps(w);

	for (uint32_t ky = 0; ky < w->kh; ky++) {
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			int16_t *dst = cols + ((size_t)ky * w->kw + kx) * l->ic;
			int32_t off[STRIP];

			cpu_window_offsets(w, first, n, ky, kx, off);
			for (uint32_t i = 0; i < n; i++, dst += l->k) {
				if (off[i] < 0)
					memset(dst, 0, bytes);
				else
					memcpy(dst, x + (size_t)off[i] * l->ic, bytes);
			}
		}
	}
	for (uint32_t i = 0; i < n; i++)
		memset(cols + i * l->k + taps * l->ic, 0,
		       (l->k - taps * l->ic) * sizeof(*cols));
	/* A product takes four rows: what is in those behind does not matter, but is read. */
	for (uint32_t i = n; i % DOT_COLS; i++)
		memset(cols + i * l->k, 0, l->k * sizeof(*cols));
}

/* The operand behind the output stage's: what the residual is multiplied by, or the output. */
static const int32_t *res_muls(const struct vtacpu_conv_i8 *p, void *const *io)
{
	return p->has_res > 1 ? io[6] : NULL;
}

static uint8_t *output(const struct vtacpu_conv_i8 *p, void *const *io)
{
	return p->has_res > 1 ? io[7] : io[6];
}

static void add_res(const struct vtacpu_conv_i8 *p, void *const *io, uint32_t channel,
		    size_t at, int32_t *acc, uint32_t n)
{
	const int32_t *muls = res_muls(p, io);
	uint32_t mul = muls ? (uint32_t)muls[channel] : 1u << p->res_shift;
	const int8_t *res = io[2];

	for (uint32_t i = 0; res && i < n; i++)
		acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)res[at + i] * mul);
}

/* Outputs of channels from @channel on; @at is the place of the first. */
static void run_strip(const struct vtacpu_conv_i8 *p, const struct layout *l, void *const *io,
		      uint32_t channel, size_t at, const int16_t *w, const int16_t *cols,
		      uint32_t n)
{
	struct cpu_post post = cpu_post(&p->post, io + 3, p->y_unsigned);
	size_t plane = (size_t)p->win.oh * p->win.ow;
	uint8_t *y = output(p, io);

	for (uint32_t o = 0; o < l->oc; o += DOT_ROWS) {
		int32_t acc[DOT_ROWS][STRIP];

		for (uint32_t i = 0; i < n; i += DOT_COLS) {
			int32_t sums[DOT_ROWS * DOT_COLS];

			cpu_dot_i16(sums, w + o * l->k, cols + i * l->k, l->k);
			for (unsigned int r = 0; r < DOT_ROWS; r++)
				memcpy(&acc[r][i], sums + r * DOT_COLS, DOT_COLS * sizeof(*sums));
		}
		for (uint32_t r = 0; r < DOT_ROWS && o + r < l->oc; r++) {
			size_t row = at + (o + r) * plane;

			add_res(p, io, channel + o + r, row, acc[r], n);
			cpu_post_row(&post, channel + o + r, acc[r], y + row, n);
		}
	}
}

static void depthwise_row(const struct vtacpu_conv_i8 *p, int32_t *restrict acc,
			  const void *restrict x, size_t plane_at, const uint8_t *weights,
			  uint32_t oy)
{
	const struct vtacpu_window *w = &p->win;

	for (uint32_t ky = 0; ky < w->kh; ky++) {
		int64_t iy = window_input(false, oy, ky, w->stride_h, w->pad_top, w->dil_h, w->ih);

		if (iy < 0)
			continue;
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			int32_t v = cpu_value(weights, (size_t)ky * w->kw + kx, p->w_unsigned,
					      p->w_zero);
			uint32_t from, to, at;
			size_t row;

			cpu_window_span(w, kx, &from, &to, &at);
			row = plane_at + (size_t)iy * w->iw + at;
			for (uint32_t i = from; i < to; i++)
				acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)
					(v * cpu_value(x, row + (size_t)(i - from) * w->stride_w,
						       p->x_unsigned, p->x_zero)));
		}
	}
}

static void depthwise(const struct vtacpu_conv_i8 *p, void *const *io, int32_t *acc)
{
	struct cpu_post post = cpu_post(&p->post, io + 3, p->y_unsigned);
	const struct vtacpu_window *w = &p->win;
	const uint8_t *weights = io[1];
	uint8_t *y = output(p, io);
	size_t at = 0;

	for (uint32_t i = 0; i < w->n * w->oc; i++) {
		uint32_t c = i % w->oc;

		for (uint32_t oy = 0; oy < w->oh; oy++, at += w->ow) {
			memset(acc, 0, w->ow * sizeof(*acc));
			depthwise_row(p, acc, io[0], (size_t)i * w->ih * w->iw,
				      weights + c * window_taps(w), oy);
			add_res(p, io, c, at, acc, w->ow);
			cpu_post_row(&post, c, acc, y + at, w->ow);
		}
	}
}

void vtacpu_conv_i8(const struct vtacpu_conv_i8 *p, void *const *io, void *scratch)
{
	const struct vtacpu_window *w = &p->win;
	const struct layout l = layout(w);
	int16_t *x = scratch, *weights = x + l.x, *cols = weights + l.w;
	size_t in = (size_t)w->ih * w->iw, out = (size_t)w->oh * w->ow;
	const uint8_t *src = io[0], *w_src = io[1];

	if (window_is_depthwise(w)) {
		depthwise(p, io, scratch);
		return;
	}
	for (uint32_t g = 0; g < w->groups; g++) {
		widen_w(p, &l, weights, w_src + g * l.oc * l.ic * window_taps(w));
		for (uint32_t image = 0; image < w->n; image++) {
			size_t channel = g * l.oc;
			size_t at = ((size_t)image * w->oc + channel) * out;

			widen_x(p, x, src + ((size_t)image * w->ic + g * l.ic) * in, l.ic);
			for (size_t first = 0; first < out; first += STRIP) {
				uint32_t n = out - first < STRIP ? (uint32_t)(out - first) : STRIP;

				fill_strip(w, &l, cols, x, first, n);
				run_strip(p, &l, io, (uint32_t)channel, at + first, weights, cols,
					  n);
			}
		}
	}
}
