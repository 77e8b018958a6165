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

#endif /* CPU_WINDOW_H */
