// SPDX-License-Identifier: Apache-2.0
/* The inputs of each output of a convolution. */
#include "window.h"

int cpu_window_need(const struct vtacpu_window *w, struct vtacpu_need *need,
		    struct window_counts *counts)
{
	const uint32_t x[] = { w->n, w->ic, w->ih, w->iw }, y[] = { w->n, w->oc, w->oh, w->ow };
	const uint32_t k[] = { w->oc, w->kh, w->kw };

	counts->x = cpu_count(x, 4);
	counts->y = cpu_count(y, 4);
	if (!counts->x || !counts->y || !cpu_count(k, 3))
		return cpu_bad(need, "a size is 0, or too large");
	if (!w->groups || w->ic % w->groups || w->oc % w->groups)
		return cpu_bad(need, "the channels are not a multiple of the groups");
	if (w->transposed > 1)
		return cpu_bad(need, "a flag is neither 0 nor 1");
	if (!w->stride_h || !w->stride_w || !w->dil_h || !w->dil_w || w->stride_h > STEP_MAX ||
	    w->stride_w > STEP_MAX || w->dil_h > STEP_MAX || w->dil_w > STEP_MAX ||
	    w->pad_top > (int32_t)STEP_MAX || w->pad_top < -(int32_t)STEP_MAX ||
	    w->pad_left > (int32_t)STEP_MAX || w->pad_left < -(int32_t)STEP_MAX)
		return cpu_bad(need, "a stride or dilation is 0, or it or a pad is too large");
	counts->w = cpu_mul(cpu_count(k, 3), w->ic / w->groups);
	counts->work = cpu_mul(counts->y, counts->w / w->oc);
	return 0;
}

uint32_t cpu_window_offsets(const struct vtacpu_window *w, size_t first, uint32_t n,
			    uint32_t ky, uint32_t kx, int32_t *offsets)
{
	uint32_t oy = (uint32_t)(first / w->ow), ox = (uint32_t)(first % w->ow), inside = 0;
	int64_t y = -1;
	bool row = true;

	for (uint32_t i = 0; i < n; i++) {
		int64_t x;

		if (row)
			y = window_input(w->transposed, oy, ky, w->stride_h, w->pad_top, w->dil_h,
					 w->ih);
		row = false;
		x = window_input(w->transposed, ox, kx, w->stride_w, w->pad_left, w->dil_w, w->iw);
		offsets[i] = y < 0 || x < 0 ? -1 : (int32_t)(y * w->iw + x);
		inside += offsets[i] >= 0;
		if (++ox == w->ow) {
			ox = 0;
			oy++;
			row = true;
		}
	}
	return inside;
}

void cpu_window_span(const struct vtacpu_window *w, uint32_t kx, uint32_t *from, uint32_t *to,
		     uint32_t *at)
{
	int64_t shift = (int64_t)kx * w->dil_w - w->pad_left, stride = w->stride_w;
	int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
	/* x * stride + shift < iw */
	int64_t end = w->iw > shift ? (w->iw - shift - 1) / stride + 1 : 0;

	if (end > w->ow)
		end = w->ow;
	if (first > end)
		first = end;
	*from = (uint32_t)first;
	*to = (uint32_t)end;
	*at = (uint32_t)(first * stride + shift);
}
