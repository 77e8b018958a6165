/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of each output of a convolution. */
#ifndef CPU_WINDOW_H
#define CPU_WINDOW_H

#include "cpu_impl.h"

/* Check a window; count the values of x, w and y. */
struct window_counts {
	uint64_t x, w, y;
	uint64_t work;		/* multiplications */
};
int cpu_window_need(const struct vtacpu_window *win, struct vtacpu_need *need,
		    struct window_counts *counts);

static inline size_t window_taps(const struct vtacpu_window *w)
{
	return (size_t)w->kh * w->kw;
}

/* The input position of tap @k in one direction; -1 if there is none. */
static inline int64_t window_input(bool transposed, uint32_t out, uint32_t k, uint32_t stride,
				   int32_t pad, uint32_t dil, uint32_t size)
{
	int64_t at;

	if (!transposed) {
		at = (int64_t)out * stride - pad + (int64_t)k * dil;
	} else {
		at = (int64_t)out + pad - (int64_t)k * dil;
		if (at < 0 || at % stride)
			return -1;
		at /= stride;
	}
	return at >= 0 && at < size ? at : -1;
}

/*
 * Offsets in the input plane of tap (@ky, @kx) for @n outputs from number @first on;
 * -1 where it is outside. Returns how many are inside.
 */
uint32_t cpu_window_offsets(const struct vtacpu_window *w, size_t first, uint32_t n,
			    uint32_t ky, uint32_t kx, int32_t *offsets);

/* Is each channel alone, and not transposed? Then a row at a time is faster. */
static inline bool window_is_depthwise(const struct vtacpu_window *w)
{
	return w->groups > 1 && w->ic == w->groups && w->oc == w->groups && !w->transposed;
}

/*
 * Outputs [*from, *to) of a row take tap @kx from input *at + (x - *from) * stride_w.
 */
void cpu_window_span(const struct vtacpu_window *w, uint32_t kx, uint32_t *from, uint32_t *to,
		     uint32_t *at);

/* ---- inputs in lines ---- */

/* Values [first, end) of a line are in the picture: those @step apart from column @at on. */
struct window_line {
	size_t n, first, end;
	int64_t at;
	uint32_t step;
};

static inline struct window_line window_line(size_t n, int64_t at, uint32_t step, uint32_t size)
{
	int64_t first = at < 0 ? (-at + step - 1) / step : 0;
	int64_t end = at < size ? (size - at - 1) / step + 1 : 0;

	end = end > (int64_t)n ? (int64_t)n : end;
	first = first > end ? end : first;
	return (struct window_line) { n, (size_t)first, (size_t)end, at, step };
}

/* The values of row @x that are in the line. */
CPU_BODY window_copy_line(float *to, const float *x, const struct window_line *l)
{
	const float *from = x + l->at;
	size_t i = l->first;

	if (l->step == 1) {
		for (; i + CPU_LANES <= l->end; i += CPU_LANES)
			*(cpu_v8 *)(to + i) = *(const cpu_v8 *)(from + i);
		cpu_copy_lanes(to + i, from + i, (uint32_t)(l->end - i));
	} else if (l->step == 2) {
		/* The value behind the last one may not be there. */
		for (; i + CPU_LANES < l->end; i += CPU_LANES) {
			cpu_v8 a = *(const cpu_v8 *)(from + 2 * i);
			cpu_v8 b = *(const cpu_v8 *)(from + 2 * i + CPU_LANES);

			*(cpu_v8 *)(to + i) = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12,
								      14);
		}
		for (; i < l->end; i++)
			to[i] = from[2 * i];
	} else {
		for (; i < l->end; i++)
			to[i] = from[i * l->step];
	}
}

/* The whole line of row @x, with zeros outside of it. */
CPU_BODY window_fill_line(float *to, const float *x, struct window_line l)
{
	for (size_t i = 0; i < l.first; i++)
		to[i] = 0;
	window_copy_line(to, x, &l);
	for (size_t i = l.end; i < l.n; i++)
		to[i] = 0;
}

/* ---- conv_transposed.c ---- */

/* Bytes, or more than there may be. */
uint64_t cpu_transposed_scratch(const struct vtacpu_window *w);
void cpu_transposed_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch);

/* ---- conv_depthwise.c ---- */

/* Is this a convolution for the functions below? */
bool cpu_is_depthwise(const struct vtacpu_window *w);
uint64_t cpu_depthwise_scratch(const struct vtacpu_window *w);
void cpu_depthwise_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch);

#endif /* CPU_WINDOW_H */
