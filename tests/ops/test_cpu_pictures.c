// SPDX-License-Identifier: GPL-2.0-only
/* Resized pictures, parts of pictures and boxes, on the CPU, against the formulas of vtacpu.h. */
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

/* ---- boxes ---- */

struct box {
	float top, left, bottom, right;
};

static struct box box_of(const float *v, uint32_t centre)
{
	if (centre)
		return (struct box) { v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2,
				      v[0] + v[2] / 2 };
	return (struct box) { fminf(v[0], v[2]), fminf(v[1], v[3]), fmaxf(v[0], v[2]),
			      fmaxf(v[1], v[3]) };
}

static bool boxes_overlap(const float *v, const float *w, const struct vtacpu_nms *p)
{
	struct box a = box_of(v, p->centre), b = box_of(w, p->centre);
	float high = fminf(a.bottom, b.bottom) - fmaxf(a.top, b.top), both, all;
	float wide = fminf(a.right, b.right) - fmaxf(a.left, b.left);

	if (!(high > 0) || !(wide > 0))
		return false;
	both = high * wide;
	all = (a.bottom - a.top) * (a.right - a.left) + (b.bottom - b.top) * (b.right - b.left);
	return both > p->iou * (all - both);
}

/* Corners are whole sixteenths, so that each way to compute areas has the same bits. */
static void fill_boxes(const struct vtacpu_nms *p, struct call *c)
{
	for (size_t i = 0; i < (size_t)p->batch * p->boxes * 4; i++)
		((float *)c->io[0])[i] = (float)rnd(16 * 8) / 16;
	for (size_t i = 0; i < (size_t)p->batch * p->classes * p->boxes; i++)
		((float *)c->io[1])[i] = rnd(20) ? (float)rnd(40) / 40 : NAN;
	if (p->has_count)
		*(int64_t *)c->io[2] = rnd(p->boxes + 2) - 1;
}

/* The best candidate that is left, or -1. */
static int64_t best_of(const struct vtacpu_nms *p, const float *scores, const bool *gone, int64_t n)
{
	int64_t best = -1;

	for (int64_t i = 0; i < n; i++)
		if (!gone[i] && !isnan(scores[i]) && (!p->has_score || scores[i] > p->score) &&
		    (best < 0 || scores[i] > scores[best]))
			best = i;
	return best;
}

TEST(boxes_that_overlap_a_better_one_are_left_out)
{
	for (uint32_t i = 0; i < 60; i++) {
		struct vtacpu_nms p = {
			.batch = 1 + rnd(2), .classes = 1 + rnd(3), .boxes = 1 + rnd(90),
			.centre = rnd(2), .has_count = rnd(2), .has_score = rnd(2), .score = 0.2f,
			.iou = (float)rnd(8) / 8,
		};
		int64_t *y, n;
		struct call c;
		size_t rows;

		p.most = 1 + rnd(p.boxes);
		prepare(&c, VTACPU_NMS, &p, 1);
		fill_boxes(&p, &c);
		run(&c, VTACPU_NMS, &p);
		y = c.io[3];
		n = p.has_count ? *(int64_t *)c.io[2] : p.boxes;
		n = n < p.boxes ? n : p.boxes;
		rows = (size_t)p.batch * p.classes * p.most;
		for (uint32_t k = 0; k < p.batch * p.classes; k++) {
			size_t image = k / p.classes;
			const float *boxes = (float *)c.io[0] + image * p.boxes * 4;
			const float *scores = (float *)c.io[1] + (size_t)k * p.boxes;
			const int64_t *first = y;
			bool gone[90] = { false };
			int64_t best;

			while (y - first < 3 * (int64_t)p.most &&
			       (best = best_of(&p, scores, gone, n)) >= 0) {
				gone[best] = true;
				for (const int64_t *z = first; z < y && best >= 0; z += 3)
					if (boxes_overlap(boxes + 4 * best, boxes + 4 * z[2], &p))
						best = -1;
				if (best < 0)
					continue;
				assert_int_equal(y[0], k / p.classes);
				assert_int_equal(y[1], k % p.classes);
				assert_int_equal(y[2], best);
				y += 3;
			}
		}
		for (; y < (int64_t *)c.io[3] + 3 * rows; y++)
			assert_int_equal(*y, -1);
		drop(&c);
	}
}
