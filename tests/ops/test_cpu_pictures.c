// SPDX-License-Identifier: GPL-2.0-only
/* Pictures of another size, and parts of pictures, on the CPU, against the formulas of vtacpu.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

/* ---- pictures of another size ---- */

/* The coordinate of an output, by half pixels. */
static float source(uint32_t at, float scale)
{
	return ((float)at + 0.5f) / scale - 0.5f;
}

static float limit(float x, uint32_t size)
{
	return fminf(fmaxf(x, 0), (float)(size - 1));
}

static float linear(const float *plane, uint32_t wide, uint32_t high, float x, float y)
{
	uint32_t left = (uint32_t)x, top = (uint32_t)y;
	uint32_t right = left + 1 < wide ? left + 1 : left, below = top + 1 < high ? top + 1 : top;
	float across = x - (float)left, down = y - (float)top, above, under;

	above = plane[top * wide + left] * (1 - across) + plane[top * wide + right] * across;
	under = plane[below * wide + left] * (1 - across) + plane[below * wide + right] * across;
	return above * (1 - down) + under * down;
}

/* To the bit, whatever rows and columns share; up and down, several planes. */
TEST(resized_pictures_are_those_of_plain_loops)
{
	for (uint32_t i = 0; i < 100; i++) {
		struct vtacpu_resize p = {
			.type = VTACPU_F32, .planes = 1 + rnd(5), .ih = 1 + rnd(12),
			.iw = 1 + rnd(30), .oh = 1 + rnd(30), .ow = 1 + rnd(40),
			.mode = rnd(3) ? VTACPU_LINEAR : VTACPU_NEAREST,
			.coord = VTACPU_HALF_PIXEL, .round = VTACPU_ROUND_FLOOR,
		};
		struct call c;
		size_t at = 0;

		p.scale_h = (float)p.oh / (float)p.ih;
		p.scale_w = (float)p.ow / (float)p.iw;
		prepare(&c, VTACPU_RESIZE, &p, 1);
		run(&c, VTACPU_RESIZE, &p);
		for (uint32_t k = 0; k < p.planes; k++)
			for (uint32_t o = 0; o < p.oh * p.ow; o++, at++) {
				const float *plane = (float *)c.io[0] + (size_t)k * p.ih * p.iw;
				float x = source(o % p.ow, p.scale_w), want;
				float y = source(o / p.ow, p.scale_h);

				x = limit(p.mode == VTACPU_LINEAR ? x : floorf(x), p.iw);
				y = limit(p.mode == VTACPU_LINEAR ? y : floorf(y), p.ih);
				want = p.mode == VTACPU_LINEAR ? linear(plane, p.iw, p.ih, x, y) :
				       plane[(uint32_t)y * p.iw + (uint32_t)x];
				if (((float *)c.io[1])[at] != want)
					fail_msg("%ux%u to %ux%u: output %zu", p.iw, p.ih, p.ow,
						 p.oh, at);
			}
		drop(&c);
	}
}

/* ---- parts of pictures ---- */

/* The four weighted values around (@y, @x); false: outside. */
static bool around(const struct vtacpu_roi_align *p, const float *plane, double y, double x,
		   double value[4])
{
	uint32_t top, left, below, right;
	double down, across;

	if (y < -1 || y > p->h || x < -1 || x > p->w)
		return false;
	y = fmin(fmax(y, 0), p->h - 1);
	x = fmin(fmax(x, 0), p->w - 1);
	top = (uint32_t)y;
	left = (uint32_t)x;
	below = top + 1 < p->h ? top + 1 : top;
	right = left + 1 < p->w ? left + 1 : left;
	down = y - top;
	across = x - left;
	value[0] = (1 - down) * (1 - across) * plane[top * p->w + left];
	value[1] = (1 - down) * across * plane[top * p->w + right];
	value[2] = down * (1 - across) * plane[below * p->w + left];
	value[3] = down * across * plane[below * p->w + right];
	return true;
}

/* The samples of a bin in one direction. */
static uint32_t samples_of(const struct vtacpu_roi_align *p, double size)
{
	return p->samples ? p->samples : (uint32_t)fmax(1, ceil(size));
}

static double bin_value(const struct vtacpu_roi_align *p, const float *plane, const float *roi,
			uint32_t row, uint32_t col)
{
	double off = p->half ? 0.5 : 0, top = roi[1] * p->scale - off;
	double left = roi[0] * p->scale - off, height = roi[3] * p->scale - off - top;
	double width = roi[2] * p->scale - off - left, sum = 0, most = -INFINITY, value[4];
	uint32_t rows, cols;

	if (!p->half) {
		height = fmax(height, 1);
		width = fmax(width, 1);
	}
	height /= p->oh;
	width /= p->ow;
	rows = samples_of(p, height);
	cols = samples_of(p, width);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < cols; j++) {
			if (!around(p, plane, top + row * height + (i + 0.5) * height / rows,
				    left + col * width + (j + 0.5) * width / cols, value))
				continue;
			for (uint32_t k = 0; k < 4; k++) {
				sum += value[k];
				most = fmax(most, value[k]);
			}
		}
	if (p->max)
		return isinf(most) ? 0 : most;
	return sum / (rows * cols);
}

/*
 * Coordinates are multiples of a sixteenth, and bins are halves, quarters and eighths: floats and
 * doubles agree on what is outside.
 */
static void fill_regions(const struct vtacpu_roi_align *p, struct call *c)
{
	float *roi = c->io[1];
	int64_t *image = c->io[2];

	for (uint32_t i = 0; i < p->count; i++, roi += 4) {
		roi[0] = (float)rnd(16 * (p->w + 8)) / 16 - 4;
		roi[1] = (float)rnd(16 * (p->h + 8)) / 16 - 4;
		roi[2] = roi[0] + (float)rnd(16 * p->w) / 16;
		roi[3] = roi[1] + (float)rnd(16 * p->h) / 16;
		image[i] = (int64_t)rnd(p->n + 2) - 1;
	}
}

TEST(regions_are_pooled)
{
	for (uint32_t i = 0; i < 120; i++) {
		/* Some bins have more samples than there is room for. */
		uint32_t large = rnd(6) == 0;
		const struct vtacpu_roi_align p = {
			.n = 1 + rnd(3), .c = 1 + rnd(9), .h = 1 + rnd(large ? 70 : 9),
			.w = 1 + rnd(large ? 70 : 9), .count = 1 + rnd(large ? 2 : 6),
			.oh = 1u << rnd(3), .ow = 1u << rnd(3),
			.samples = large ? rnd(2) * 32 : rnd(2) * (1u << rnd(3)),
			.max = rnd(2), .half = rnd(2), .scale = rnd(2) ? 1 : 0.5f,
		};
		struct call c;
		size_t at = 0;

		prepare(&c, VTACPU_ROI_ALIGN, &p, 1);
		fill_regions(&p, &c);
		run(&c, VTACPU_ROI_ALIGN, &p);
		for (uint32_t r = 0; r < p.count; r++) {
			int64_t image = ((int64_t *)c.io[2])[r];

			for (uint32_t k = 0; k < p.c; k++)
				for (uint32_t bin = 0; bin < p.oh * p.ow; bin++, at++) {
					const float *x = c.io[0];
					double want = 0;

					x += ((size_t)image * p.c + k) * p.h * p.w;
					if (image >= 0 && image < p.n)
						want = bin_value(&p, x, (float *)c.io[1] + 4 * r,
								 bin / p.ow, bin % p.ow);
					same_float(((float *)c.io[3])[at], want, 4);
				}
		}
		drop(&c);
	}
}
