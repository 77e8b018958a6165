// SPDX-License-Identifier: Apache-2.0
/*
 * Convolutions of floats. For a strip of outputs the inputs of all taps are brought into
 * panels of 8 columns; the weights, as they are, are the matrix to multiply them with.
 */
#include "window.h"

#define STRIP	32u		/* outputs at a time */
#define TILES	(STRIP / MAC_COLS)

static size_t depth(const struct vtacpu_window *w)
{
	return w->ic / w->groups * window_taps(w);
}

int cpu_conv_f32_need(const struct vtacpu_conv_f32 *p, struct vtacpu_need *need)
{
	struct window_counts c;

	if (cpu_window_need(&p->win, need, &c) || cpu_operand(need, c.x, 4) ||
	    cpu_operand(need, c.w, 4) || cpu_flag_ok(need, p->has_bias) ||
	    cpu_flag_ok(need, p->has_res) ||
	    cpu_operand_if(need, p->has_bias, p->win.oc, 4) ||
	    cpu_operand_if(need, p->has_res, c.y, 4) || cpu_operand(need, c.y, 4) ||
	    cpu_act_ok(need, &p->act))
		return -1;
	need->work = c.work;
	if (window_is_depthwise(&p->win))
		return 0;
	return cpu_scratch(need, cpu_mul(depth(&p->win), STRIP * sizeof(float)));
}

/* Tap @t of all channels, for 8 outputs whose inputs are at @off. */
static void fill_tap(float *panel, const float *x, size_t channels, size_t plane, size_t taps,
		     const int32_t *off, uint32_t inside)
{
	/* Offsets that are inside rise: if the first and the last are 7 apart, all are a row. */
	bool row = inside == MAC_COLS && off[MAC_COLS - 1] - off[0] == MAC_COLS - 1;

	for (size_t c = 0; c < channels; c++, x += plane, panel += taps * MAC_COLS) {
		if (row)
			memcpy(panel, x + off[0], MAC_COLS * sizeof(float));
		else if (!inside)
			memset(panel, 0, MAC_COLS * sizeof(float));
		else
			for (unsigned int i = 0; i < MAC_COLS; i++)
				panel[i] = off[i] < 0 ? 0 : x[off[i]];
	}
}

/* The panels of @n outputs from @first on, one behind the other. */
static void fill_strip(const struct vtacpu_window *w, float *panels, const float *x,
		       size_t first, uint32_t n)
{
	size_t channels = w->ic / w->groups, plane = (size_t)w->ih * w->iw, taps = window_taps(w);

	for (uint32_t at = 0; at < n; at += MAC_COLS) {
		uint32_t count = min_u32(MAC_COLS, n - at);
		float *panel = panels + at * depth(w);

		for (uint32_t ky = 0; ky < w->kh; ky++) {
			for (uint32_t kx = 0; kx < w->kw; kx++) {
				int32_t off[MAC_COLS];
				uint32_t inside = cpu_window_offsets(w, first + at, count, ky, kx,
								     off);

				for (uint32_t i = count; i < MAC_COLS; i++)
					off[i] = -1;
				fill_tap(panel + ((size_t)ky * w->kw + kx) * MAC_COLS, x, channels,
					 plane, taps, off, inside);
			}
		}
	}
}

/* The place of a group's outputs, and its operands. */
struct group {
	const struct vtacpu_conv_f32 *p;
	const float *w, *bias, *res;
	float *y;
	size_t plane;		/* of the output */
};

static void store_outputs(const struct group *g, size_t at, const float *sums, uint32_t n)
{
	float *y = g->y + at;

	memcpy(y, sums, n * sizeof(*y));
	if (g->res)
		for (uint32_t i = 0; i < n; i++)
			y[i] += g->res[at + i];
	cpu_act(&g->p->act, y, n);
}

static void run_strip(const struct group *g, const float *panels, size_t first, uint32_t n)
{
	const struct vtacpu_window *w = &g->p->win;
	size_t k = depth(w);
	uint32_t channels = w->oc / w->groups;

	for (uint32_t o = 0; o < channels; o += MAC_ROWS) {
		uint32_t rows = min_u32(MAC_ROWS, channels - o);

		for (uint32_t at = 0; at < n; at += MAC_COLS) {
			float sums[MAC_ROWS * MAC_COLS];

			cpu_mac_f32(sums, g->bias ? g->bias + o : NULL, g->w + o * k, k, 1, rows,
				    panels + at * k, k);
			for (uint32_t r = 0; r < rows; r++)
				store_outputs(g, (o + r) * g->plane + first + at,
					      sums + r * MAC_COLS, min_u32(MAC_COLS, n - at));
		}
	}
}

/* One row of one channel's output; taps in their order. */
static void depthwise_row(const struct vtacpu_window *w, float *restrict y,
			  const float *restrict x, const float *weights, uint32_t oy)
{
	for (uint32_t ky = 0; ky < w->kh; ky++) {
		int64_t iy = window_input(false, oy, ky, w->stride_h, w->pad_top, w->dil_h, w->ih);

		if (iy < 0)
			continue;
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			float v = weights[(size_t)ky * w->kw + kx];
			uint32_t from, to, at;
			const float *row;

			cpu_window_span(w, kx, &from, &to, &at);
			row = x + iy * w->iw + at;
			if (w->stride_w == 1)
				for (uint32_t i = from; i < to; i++)
					y[i] += v * row[i - from];
			else
				for (uint32_t i = from; i < to; i++)
					y[i] += v * row[(size_t)(i - from) * w->stride_w];
		}
	}
}

static void depthwise(const struct vtacpu_conv_f32 *p, const float *x, const float *weights,
		      const float *bias, const float *res, float *y)
{
	const struct vtacpu_window *w = &p->win;

	for (uint32_t i = 0; i < w->n * w->oc; i++, x += (size_t)w->ih * w->iw) {
		uint32_t c = i % w->oc;
		float start = bias ? bias[c] : 0;

		for (uint32_t oy = 0; oy < w->oh; oy++, y += w->ow) {
			for (uint32_t ox = 0; ox < w->ow; ox++)
				y[ox] = start;
			depthwise_row(w, y, x, weights + c * window_taps(w), oy);
			for (uint32_t ox = 0; res && ox < w->ow; ox++)
				y[ox] += *res++;
			cpu_act(&p->act, y, w->ow);
		}
	}
}

void vtacpu_conv_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch)
{
	const struct vtacpu_window *w = &p->win;
	const float *x = io[0], *weights = io[1], *bias = io[2], *res = io[3];
	size_t in = (size_t)w->ih * w->iw, out = (size_t)w->oh * w->ow;
	size_t ic = w->ic / w->groups, oc = w->oc / w->groups;
	float *y = io[4];

	if (window_is_depthwise(w)) {
		depthwise(p, x, weights, bias, res, y);
		return;
	}
	for (uint32_t image = 0; image < w->n; image++) {
		for (uint32_t i = 0; i < w->groups; i++) {
			size_t at = ((size_t)image * w->oc + i * oc) * out;
			struct group g = {
				.p = p, .w = weights + i * oc * depth(w), .plane = out,
				.bias = bias ? bias + i * oc : NULL, .y = y + at,
				.res = res ? res + at : NULL,
			};

			for (size_t first = 0; first < out; first += STRIP) {
				uint32_t n = out - first < STRIP ? (uint32_t)(out - first) : STRIP;

				fill_strip(w, scratch, x, first, n);
				run_strip(&g, scratch, first, n);
			}
			x += ic * in;
		}
	}
}
