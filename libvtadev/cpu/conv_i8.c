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

/* A result of 16 bits has limits of its own. */
static int post_need(struct vtacpu_need *need, const struct vtacpu_conv_i8 *p)
{
	struct vtacpu_post post = p->post;

	if (post.vectors & VTACPU_LOW) {
		if (p->y_unsigned || post.lo > post.hi || post.lo < -32768 || post.hi > 32767)
			return cpu_bad(need, "the limits are not within 16 bits");
		post.vectors &= ~(uint32_t)VTACPU_LOW;
		post.lo = 0;
		post.hi = 0;
	}
	return cpu_post_need(need, &post, p->y_unsigned, p->win.oc);
}

/* The low half of a residual of 16 bits is in the place of the shifts. */
static int low_need(struct vtacpu_need *need, const struct vtacpu_conv_i8 *p, uint64_t count)
{
	if (p->has_res < 3)
		return 0;
	if (p->post.vectors & VTACPU_SHIFTS)
		return cpu_bad(need, "a residual of 16 bits excludes shifts of channels");
	need->operands--;
	return cpu_operand(need, count, 1);
}

int cpu_conv_i8_need(const struct vtacpu_conv_i8 *p, struct vtacpu_need *need)
{
	struct window_counts c;

	if (cpu_window_need(&p->win, need, &c) || cpu_operand(need, c.x, 1) ||
	    cpu_operand(need, c.w, 1) || cpu_flag_ok(need, p->x_unsigned) ||
	    cpu_flag_ok(need, p->w_unsigned) || cpu_flag_ok(need, p->y_unsigned) ||
	    cpu_operand_if(need, p->has_res, c.y, 1) ||
	    post_need(need, p) || low_need(need, p, c.y) ||
	    (p->has_res > 1 && cpu_operand(need, p->win.oc, 4)) || cpu_operand(need, c.y, 1))
		return -1;
	if (p->x_zero < -128 || p->x_zero > 255 || p->w_zero < -128 || p->w_zero > 255 ||
	    p->res_shift > 31)
		return cpu_bad(need, "a zero point has more than 8 bits, or a shift is above 31");
	if (p->has_res > 3 || (p->has_res > 1 && p->res_shift))
		return cpu_bad(need, "has_res is above 3, or has a shift and multipliers");
	need->work = c.work;
	return cpu_scratch(need, scratch_bytes(&p->win, &c));
}

/* A byte's value less its zero point, for either sign: (byte ^ flip) - less */
struct code {
	uint8_t flip;
	int16_t less;
};

static struct code code(bool is_unsigned, int32_t zero)
{
	return (struct code) { is_unsigned ? 0 : 128, (int16_t)(is_unsigned ? zero : zero + 128) };
}

CPU_INLINE int16_t decode(uint8_t byte, struct code c)
{
	return (int16_t)((byte ^ c.flip) - c.less);
}

#define SQUARE	16u		/* values and channels that are widened at a time */

/* A square of @channels rows, @plane apart, to columns of @to. */
CPU_INLINE void widen_square(int16_t *restrict to, const uint8_t *restrict x, size_t plane,
			     size_t channels, size_t row, struct code c)
{
	int16_t square[SQUARE][SQUARE];

	for (size_t k = 0; k < row; k++)
		for (size_t i = 0; i < SQUARE; i++)
			square[k][i] = decode(x[k * plane + i], c);
	for (size_t i = 0; i < SQUARE; i++)
		for (size_t k = 0; k < row; k++)
			to[i * channels + k] = square[k][i];
}

/* [channels][plane] to [plane][channels], in squares, so that both sides stay in the cache. */
CPU_BODY widen_x_body(bool wide, int16_t *to, const uint8_t *x, size_t plane, size_t channels,
		      struct code c)
{
	size_t at = 0;

	(void)wide;
	for (; at + SQUARE <= plane; at += SQUARE) {
		int16_t *y = to + at * channels;
		size_t k = 0;

		for (; k + SQUARE <= channels; k += SQUARE)
			widen_square(y + k, x + k * plane + at, plane, channels, SQUARE, c);
		if (k < channels)
			widen_square(y + k, x + k * plane + at, plane, channels, channels - k, c);
	}
	for (size_t k = 0; k < channels; k++)
		for (size_t i = at; i < plane; i++)
			to[i * channels + k] = decode(x[k * plane + i], c);
}

static void widen_x(int16_t *to, const uint8_t *x, size_t plane, size_t channels, struct code c);
CPU_WIDE(widen_x, (int16_t *to, const uint8_t *x, size_t plane, size_t channels, struct code c),
	 to, x, plane, channels, c)

/* [oc][ic][taps] to [oc][taps][ic], with zeros behind each row, and a row if oc is odd. */
static void widen_w(const struct vtacpu_conv_i8 *p, const struct layout *l, int16_t *restrict dst,
		    const uint8_t *restrict w)
{
	struct code by = code(p->w_unsigned, p->w_zero);
	size_t taps = window_taps(&p->win);

	memset(dst, 0, l->w * sizeof(*dst));
	for (size_t o = 0; o < l->oc; o++, dst += l->k, w += l->ic * taps)
		for (size_t t = 0; t < taps; t++)
			for (size_t c = 0; c < l->ic; c++)
				dst[t * l->ic + c] = decode(w[c * taps + t], by);
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

/* Its shifts, if they are not the residual's low half, are an operand. */
static struct cpu_post output_stage(const struct vtacpu_conv_i8 *p, void *const *io)
{
	struct cpu_post post = cpu_post(&p->post, io + 3, p->y_unsigned);

	if (p->has_res > 2)
		post.shifts = NULL;
	return post;
}

static void add_res(const struct vtacpu_conv_i8 *p, void *const *io, uint32_t channel,
		    size_t at, int32_t *acc, uint32_t n)
{
	const int32_t *muls = res_muls(p, io);
	uint32_t mul = muls ? (uint32_t)muls[channel] : 1u << p->res_shift;
	const int8_t *res = io[2], *low = p->has_res > 2 ? io[5] : NULL;

	for (uint32_t i = 0; low && i < n; i++) {
		uint32_t value = ((uint32_t)res[at + i] << 8) + (uint32_t)low[at + i];

		acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)((int32_t)(value * mul) >> 8));
	}
	if (low)
		return;
	for (uint32_t i = 0; res && i < n; i++)
		acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)res[at + i] * mul);
}

/* Is each output of the values at its own place alone, whose row in x is one of a product? */
static bool is_in_place(const struct vtacpu_window *w, const struct layout *l)
{
	return window_taps(w) == 1 && w->stride_h == 1 && w->stride_w == 1 && !w->pad_top &&
	       !w->pad_left && w->oh == w->ih && w->ow == w->iw && l->k == l->ic;
}

/* Outputs of channels from @channel on; @at is the place of the first. */
static void run_strip(const struct vtacpu_conv_i8 *p, const struct layout *l, void *const *io,
		      uint32_t channel, size_t at, const int16_t *w, const int16_t *cols,
		      uint32_t n)
{
	struct cpu_post post = output_stage(p, io);
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

/* acc[i] += v * x[i * step] */
CPU_BODY add_line_body(bool wide, int32_t *restrict acc, const uint8_t *restrict x, uint32_t step,
		       uint32_t n, int32_t v, struct code c)
{
	(void)wide;
	if (step == 1)
		for (uint32_t i = 0; i < n; i++)
			acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(v * decode(x[i], c)));
	else
		for (uint32_t i = 0; i < n; i++)
			acc[i] = (int32_t)((uint32_t)acc[i] +
					   (uint32_t)(v * decode(x[(size_t)i * step], c)));
}

static void add_line(int32_t *restrict acc, const uint8_t *restrict x, uint32_t step, uint32_t n,
		     int32_t v, struct code c);
CPU_WIDE(add_line, (int32_t *restrict acc, const uint8_t *restrict x, uint32_t step, uint32_t n,
		    int32_t v, struct code c), acc, x, step, n, v, c)

static void depthwise_row(const struct vtacpu_conv_i8 *p, int32_t *acc, const uint8_t *plane,
			  const uint8_t *weights, uint32_t oy)
{
	struct code of_x = code(p->x_unsigned, p->x_zero), of_w = code(p->w_unsigned, p->w_zero);
	const struct vtacpu_window *w = &p->win;

	for (uint32_t ky = 0; ky < w->kh; ky++) {
		int64_t iy = window_input(false, oy, ky, w->stride_h, w->pad_top, w->dil_h, w->ih);

		if (iy < 0)
			continue;
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			uint32_t from, to, at;

			cpu_window_span(w, kx, &from, &to, &at);
			if (from < to)
				add_line(acc + from, plane + (size_t)iy * w->iw + at, w->stride_w,
					 to - from, decode(weights[(size_t)ky * w->kw + kx], of_w),
					 of_x);
		}
	}
}

static void depthwise(const struct vtacpu_conv_i8 *p, void *const *io, int32_t *acc)
{
	struct cpu_post post = output_stage(p, io);
	const struct vtacpu_window *w = &p->win;
	const uint8_t *x = io[0], *weights = io[1];
	uint8_t *y = output(p, io);
	size_t at = 0;

	for (uint32_t i = 0; i < w->n * w->oc; i++) {
		uint32_t c = i % w->oc;

		for (uint32_t oy = 0; oy < w->oh; oy++, at += w->ow) {
			memset(acc, 0, w->ow * sizeof(*acc));
			depthwise_row(p, acc, x + (size_t)i * w->ih * w->iw,
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
	struct code of_x = code(p->x_unsigned, p->x_zero);

	if (window_is_depthwise(w)) {
		depthwise(p, io, scratch);
		return;
	}
	for (uint32_t g = 0; g < w->groups; g++) {
		widen_w(p, &l, weights, w_src + g * l.oc * l.ic * window_taps(w));
		for (uint32_t image = 0; image < w->n; image++) {
			size_t channel = g * l.oc;
			size_t at = ((size_t)image * w->oc + channel) * out;

			widen_x(x, src + ((size_t)image * w->ic + g * l.ic) * in, in, l.ic, of_x);
			for (size_t first = 0; first < out; first += STRIP) {
				uint32_t n = out - first < STRIP ? (uint32_t)(out - first) : STRIP;
				/* A last product reads rows behind these. */
				bool in_place = is_in_place(w, &l) && n % DOT_COLS == 0;

				if (!in_place)
					fill_strip(w, &l, cols, x, first, n);
				run_strip(p, &l, io, (uint32_t)channel, at + first, weights,
					  in_place ? x + first * l.k : cols, n);
			}
		}
	}
}
