// SPDX-License-Identifier: Apache-2.0
/*
 * Convolutions of floats whose channels are alone. The inputs of a strip of outputs are brought
 * into scratch memory in rows, with zeros around them, whose columns are sorted by their remainder
 * modulo the stride: a tap of eight neighbouring outputs is eight neighbouring values.
 */
#include "window.h"

#define FLOATS		(6u << 10)	/* inputs of a strip, in a small cache */
#define FLOATS_MAX	(64u << 10)	/* of a strip of one row */
#define TAPS_MAX	1024u

/* A strip of @rows rows of outputs: @lines of inputs, each @phases times @width floats. */
struct strip {
	uint32_t rows, lines, phases, width;
};

static bool size_strip(const struct vtacpu_window *w, uint32_t rows, struct strip *s)
{
	uint64_t down = (w->kh - 1ull) * w->dil_h + 1, across = (w->kw - 1ull) * w->dil_w;
	uint64_t lines = (rows - 1ull) * w->stride_h + down;
	uint64_t width = up8(w->ow) + across / w->stride_w;

	if (w->stride_h > down || w->stride_w > across + 1 || lines > FLOATS_MAX ||
	    width > FLOATS_MAX || lines * width * w->stride_w > FLOATS_MAX)
		return false;
	*s = (struct strip) { rows, (uint32_t)lines, w->stride_w, (uint32_t)width };
	return true;
}

static size_t strip_floats(const struct strip *s)
{
	return (size_t)s->lines * s->phases * s->width;
}

bool cpu_is_depthwise(const struct vtacpu_window *w)
{
	struct strip s;

	return window_is_depthwise(w) && window_taps(w) <= TAPS_MAX && w->ow <= FLOATS_MAX &&
	       size_strip(w, 1, &s);
}

static struct strip choose_strip(const struct vtacpu_window *w)
{
	struct strip s = { 0 }, more;

	size_strip(w, 1, &s);
	while (s.rows < w->oh && size_strip(w, s.rows + 1, &more) && strip_floats(&more) <= FLOATS)
		s = more;
	return s;
}

uint64_t cpu_depthwise_scratch(const struct vtacpu_window *w)
{
	const struct strip s = choose_strip(w);

	return strip_floats(&s) * sizeof(float) + window_taps(w) * sizeof(uint32_t);
}

static void place_taps(const struct vtacpu_window *w, const struct strip *s, uint32_t *at)
{
	for (uint32_t ky = 0; ky < w->kh; ky++)
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			uint32_t x = kx * w->dil_w;

			*at++ = (ky * w->dil_h * s->phases + x % w->stride_w) * s->width +
				x / w->stride_w;
		}
}

/* The inputs of a channel, from row @row on; what is outside of the picture is 0 already. */
CPU_BODY fill_lines(const struct vtacpu_window *w, const struct strip *s, float *to,
		    const float *x, int64_t row)
{
	int64_t first = row < 0 ? -row : 0, end = w->ih - row;

	end = end < s->lines ? end : s->lines;
	for (uint32_t k = 0; k < s->phases; k++) {
		const struct window_line line = window_line(s->width, (int64_t)k - w->pad_left,
							    w->stride_w, w->iw);

		for (int64_t i = first; i < end; i++)
			window_copy_line(to + (i * s->phases + k) * s->width,
					 x + (row + i) * w->iw, &line);
	}
}

/* A channel of a strip: rows of @n outputs, whose inputs are @step apart. */
struct channel {
	const uint32_t *at;
	const float *weights, *end;	/* end: of the channel's outputs in all strips */
	float bias;
	uint32_t taps, n, rows;
	size_t step;
};

/* The last vector of a row may write over the next row, which is made afterwards. */
CPU_BODY put_vector(const struct channel *c, float *y, uint32_t x, const cpu_v8 *v)
{
	if (c->end - (y + x) >= CPU_LANES)
		*(cpu_v8 *)(y + x) = *v;
	else
		cpu_copy_lanes(y + x, (const float *)v, c->n - x);
}

/* Three by three taps, whose weights stay in registers. */
CPU_BODY add_nine(const struct channel *c, const float *in, float *y)
{
	size_t second = c->at[1], third = c->at[2];
	cpu_v8 w[9] = { { 0 } };

#pragma GCC unroll 9
	for (uint32_t t = 0; t < 9; t++)
		w[t] = cpu_splat(c->weights[t]);
	for (uint32_t r = 0; r < c->rows; r++, in += c->step, y += c->n) {
		const float *from[3] = { in, in + c->at[3], in + c->at[6] };

		for (uint32_t x = 0; x < c->n; x += CPU_LANES) {
			cpu_v8 sum = cpu_splat(c->bias);

#pragma GCC unroll 3
			for (uint32_t k = 0; k < 3; k++) {
				sum += w[3 * k] * *(const cpu_v8 *)(from[k] + x);
				sum += w[3 * k + 1] * *(const cpu_v8 *)(from[k] + x + second);
				sum += w[3 * k + 2] * *(const cpu_v8 *)(from[k] + x + third);
			}
			put_vector(c, y, x, &sum);
		}
	}
}

#define VECTORS	4u

/* @n vectors of outputs, a constant. */
CPU_BODY add_vectors(const struct channel *c, const float *in, float *y, uint32_t x, uint32_t n)
{
	cpu_v8 sum[VECTORS];

	for (uint32_t i = 0; i < n; i++)
		sum[i] = cpu_splat(c->bias);
	for (uint32_t t = 0; t < c->taps; t++) {
		const float *from = in + c->at[t] + x;
		cpu_v8 weight = cpu_splat(c->weights[t]);

#pragma GCC unroll 4
		for (uint32_t i = 0; i < n; i++)
			sum[i] += weight * *(const cpu_v8 *)(from + i * CPU_LANES);
	}
	for (uint32_t i = 0; i < n; i++)
		put_vector(c, y, x + i * CPU_LANES, &sum[i]);
}

CPU_BODY add_rows(const struct channel *c, const float *in, float *y)
{
	for (uint32_t r = 0; r < c->rows; r++, in += c->step, y += c->n) {
		uint32_t x = 0;

		for (; x + (VECTORS - 1) * CPU_LANES < c->n; x += VECTORS * CPU_LANES)
			add_vectors(c, in, y, x, VECTORS);
		if (x + CPU_LANES < c->n) {
			add_vectors(c, in, y, x, 2);
			x += 2 * CPU_LANES;
		}
		if (x < c->n)
			add_vectors(c, in, y, x, 1);
	}
}

/* Outputs [@at, @at + @n) have their sums. */
static void finish_outputs(const struct vtacpu_conv_f32 *p, void *const *io, size_t at, size_t n)
{
	const float *res = io[3];
	float *y = (float *)io[4] + at;

	for (size_t i = 0; res && i < n; i++)
		y[i] += res[at + i];
	cpu_act(&p->act, y, n);
}

/* Channels of small pictures are finished together. */
#define TOGETHER	16u

/* All channels of an image, of the strip at row @oy. */
CPU_BODY run_strip_body(bool wide, const struct vtacpu_conv_f32 *p, const struct strip *s,
			void *const *io, float *inputs, const uint32_t *at, uint32_t image,
			uint32_t oy)
{
	const struct vtacpu_window *w = &p->win;
	size_t in = (size_t)w->ih * w->iw, out = (size_t)w->oh * w->ow;
	uint32_t together = s->rows < w->oh ? 1 : TOGETHER, ready = 0;
	struct channel c = {
		.at = at, .taps = (uint32_t)window_taps(w), .n = w->ow,
		.rows = min_u32(s->rows, w->oh - oy),
		.step = (size_t)w->stride_h * s->phases * s->width,
	};

	(void)wide;
	memset(inputs, 0, strip_floats(s) * sizeof(*inputs));
	for (uint32_t k = 0; k < w->oc; k++) {
		size_t number = (size_t)image * w->oc + k;
		float *y = (float *)io[4] + number * out + (size_t)oy * w->ow;

		c.weights = (const float *)io[1] + (size_t)k * c.taps;
		c.bias = io[2] ? ((const float *)io[2])[k] : 0;
		c.end = (const float *)io[4] + (number + 1) * out;
		fill_lines(w, s, inputs, (const float *)io[0] + number * in,
			   (int64_t)oy * w->stride_h - w->pad_top);
		if (w->kh == 3 && w->kw == 3)
			add_nine(&c, inputs, y);
		else
			add_rows(&c, inputs, y);
		if (++ready == together || k + 1 == w->oc) {
			finish_outputs(p, io, (number + 1 - ready) * out + (size_t)oy * w->ow,
				       (ready - 1) * out + (size_t)c.rows * w->ow);
			ready = 0;
		}
	}
}

static void run_strip(const struct vtacpu_conv_f32 *p, const struct strip *s, void *const *io,
		      float *inputs, const uint32_t *at, uint32_t image, uint32_t oy);
CPU_WIDE(run_strip, (const struct vtacpu_conv_f32 *p, const struct strip *s, void *const *io,
		     float *inputs, const uint32_t *at, uint32_t image, uint32_t oy),
	 p, s, io, inputs, at, image, oy)

void cpu_depthwise_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch)
{
	const struct strip s = choose_strip(&p->win);
	float *inputs = scratch;
	uint32_t *at = (void *)(inputs + strip_floats(&s));

	place_taps(&p->win, &s, at);
	for (uint32_t image = 0; image < p->win.n; image++)
		for (uint32_t oy = 0; oy < p->win.oh; oy += s.rows)
			run_strip(p, &s, io, inputs, at, image, oy);
}
