// SPDX-License-Identifier: Apache-2.0
/*
 * From a picture to a network's input (struct vtaimage_preprocess): first the rows become
 * as wide as the input, then the columns as high. Filters cover all pixels that an output
 * represents.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

/* Of a picture that is cut off. */
#define SIZE_LIMIT	(1u << 30)
/* Floats between the two directions. */
#define VALUES_MAX	((size_t)256 << 20)

/* In one direction: @size positions from @at on show the @source pixels. */
struct span {
	uint32_t out;		/* positions of the input */
	int64_t at, size;
	uint32_t source;
	double scale;		/* pixels for a position */
};

/* The pixels that one position is made of. */
struct taps {
	uint32_t first, count;
	float *weight;		/* [count] */
};

static double radius(uint32_t filter)
{
	return filter == VTAIMAGE_FILTER_CUBIC ? 2 : 1;
}

static double curve(uint32_t filter, double x)
{
	const double a = -0.5;

	x = fabs(x);
	if (filter == VTAIMAGE_FILTER_LINEAR)
		return x < 1 ? 1 - x : 0;
	if (x < 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static uint32_t most_taps(const struct span *s, uint32_t filter)
{
	double wide = 2 * radius(filter) * (s->scale > 1 ? s->scale : 1) + 3;

	return wide > s->source ? s->source : (uint32_t)wide;
}

static void find_taps(const struct span *s, uint32_t filter, uint32_t i, struct taps *t)
{
	double middle = ((double)i - (double)s->at + 0.5) * s->scale;
	double stretch = s->scale > 1 ? s->scale : 1, reach = radius(filter) * stretch, sum = 0;
	int64_t from = (int64_t)floor(middle - reach), to = (int64_t)ceil(middle + reach);

	if (filter == VTAIMAGE_FILTER_NEAREST) {
		from = (int64_t)floor(middle);
		to = from + 1;
	}
	from = from < 0 ? 0 : from >= s->source ? s->source - 1 : from;
	to = to > s->source ? s->source : to <= from ? from + 1 : to;
	t->first = (uint32_t)from;
	t->count = 0;
	for (int64_t j = from; j < to; j++) {
		double w = filter == VTAIMAGE_FILTER_NEAREST ? 1 :
			   curve(filter, ((double)j + 0.5 - middle) / stretch);

		t->weight[t->count++] = (float)w;
		sum += w;
	}
	for (uint32_t j = 0; j < t->count; j++)
		t->weight[j] = sum != 0 ? (float)(t->weight[j] / sum) : 1.0f / (float)t->count;
}

/* Is a position beside the picture? */
static int is_pad(const struct span *s, uint32_t i)
{
	return i < s->at || i >= s->at + s->size;
}

static uint32_t fitted(double size, uint32_t most)
{
	double v = floor(size + 0.5);

	return v < 1 ? 1 : v > most ? most : (uint32_t)v;
}

static void place_picture(const struct picture *p, uint32_t fit, struct span *x, struct span *y)
{
	double across = (double)x->out / p->width, down = (double)y->out / p->height;
	double scale = fit == VTAIMAGE_CROP ? fmax(across, down) : fmin(across, down);

	x->source = p->width;
	y->source = p->height;
	x->size = x->out;
	y->size = y->out;
	if (fit != VTAIMAGE_STRETCH) {
		x->size = fitted(p->width * scale, fit == VTAIMAGE_CROP ? SIZE_LIMIT : x->out);
		y->size = fitted(p->height * scale, fit == VTAIMAGE_CROP ? SIZE_LIMIT : y->out);
	}
	if (fit == VTAIMAGE_CENTRE || fit == VTAIMAGE_CROP) {
		x->at = (x->out - x->size) / 2;
		y->at = (y->out - y->size) / 2;
	}
	x->scale = (double)p->width / (double)x->size;
	y->scale = (double)p->height / (double)y->size;
}

/* A pixel's channel in front of the background. */
static float channel(const uint8_t *rgba, unsigned int c, uint32_t background)
{
	uint32_t behind = background >> (16 - 8 * c) & 0xff, alpha = rgba[3];
	uint32_t mixed = (rgba[c] * alpha + behind * (255 - alpha) + 127) / 255;

	return (float)mixed;
}

/* [source rows][out columns][3] */
static void across(const struct picture *p, const struct span *x, uint32_t filter,
		   uint32_t background, struct taps *t, float *rows)
{
	for (uint32_t i = 0; i < x->out; i++) {
		if (is_pad(x, i))
			continue;
		find_taps(x, filter, i, t);
		for (uint32_t y = 0; y < p->height; y++) {
			const uint8_t *from = p->rgba + ((size_t)y * p->width + t->first) * 4;
			float *to = rows + ((size_t)y * x->out + i) * 3;

			for (unsigned int c = 0; c < 3; c++) {
				float sum = 0;

				for (uint32_t j = 0; j < t->count; j++)
					sum += t->weight[j] *
					       channel(from + (size_t)j * 4, c, background);
				to[c] = sum;
			}
		}
	}
}

static float within(float v)
{
	return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* The pixel at column @i, from the rows of @t. */
static void pixel(const float *rows, uint32_t width, const struct taps *t, uint32_t i,
		  float rgb[3])
{
	for (unsigned int c = 0; c < 3; c++) {
		float sum = 0;

		for (uint32_t j = 0; j < t->count; j++)
			sum += t->weight[j] * rows[((size_t)(t->first + j) * width + i) * 3 + c];
		rgb[c] = within(sum);
	}
}

/* Channel @c of the input; grey as ITU-R BT.601 has it. */
static float ordered(uint32_t order, const float rgb[3], unsigned int c)
{
	if (order == VTAIMAGE_GRAY)
		return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
	return rgb[order == VTAIMAGE_BGR ? 2 - c : c];
}

static void put_value(const struct vtaimage_tensor *t, void *values, size_t at, float v)
{
	float least = t->type == VTACPU_U8 ? 0 : -128, most = least + 255;

	if (t->type == VTACPU_F32) {
		((float *)values)[at] = v;
		return;
	}
	v = rintf(t->scale > 0 ? v / t->scale : v) + (float)t->zero;
	v = v > least ? v : least;
	((uint8_t *)values)[at] = (uint8_t)(int)(v < most ? v : most);
}

/* Destination of the values of one row. */
struct target {
	const struct vtaimage_preprocess *pre;
	const struct vtaimage_tensor *tensor;
	void *values;
	uint32_t channels, width, height;
};

/* A pixel is a whole number, as in the pictures that networks are trained with. */
static float whole(float v)
{
	return rintf(fminf(fmaxf(v, 0), 255));
}

static void put_pixel(const struct target *g, uint32_t y, uint32_t x, const float *rgb)
{
	for (uint32_t c = 0; c < g->channels; c++) {
		size_t at = g->pre->nhwc ? ((size_t)y * g->width + x) * g->channels + c :
			    ((size_t)c * g->height + y) * g->width + x;
		float v = g->pre->pad[c];

		if (rgb)
			v = (whole(ordered(g->pre->order, rgb, c)) - g->pre->mean[c]) *
			    g->pre->scale[c];
		put_value(g->tensor, g->values, at, v);
	}
}

static void down(const struct target *g, const struct span *x, const struct span *y,
		 const float *rows, struct taps *t)
{
	for (uint32_t i = 0; i < y->out; i++) {
		if (!is_pad(y, i))
			find_taps(y, g->pre->filter, i, t);
		for (uint32_t j = 0; j < x->out; j++) {
			float rgb[3];

			if (is_pad(y, i) || is_pad(x, j)) {
				put_pixel(g, i, j, NULL);
				continue;
			}
			pixel(rows, x->out, t, j, rgb);
			put_pixel(g, i, j, rgb);
		}
	}
}

/* The input's size, of its plain values. */
static void measure_input(const struct vtaimage_preprocess *pre,
			  const struct vtaimage_tensor *tensor, struct span *x, struct span *y)
{
	*x = (struct span) { .out = tensor->dims[pre->nhwc ? 2 : 3] };
	*y = (struct span) { .out = tensor->dims[pre->nhwc ? 1 : 2] };
}

void picture_place(const struct picture *p, const struct vtaimage_preprocess *pre,
		   const struct vtaimage_tensor *tensor, struct picture_place *place)
{
	struct span x, y;

	measure_input(pre, tensor, &x, &y);
	place_picture(p, pre->fit, &x, &y);
	*place = (struct picture_place) { { x.at, y.at }, { x.scale, y.scale }, { x.out, y.out },
					  { p->width, p->height } };
}

int picture_prepare(const struct picture *p, const struct vtaimage_preprocess *pre,
		    const struct vtaimage_tensor *tensor, void *values,
		    char why[PICTURE_WHY_MAX])
{
	struct target g = { pre, tensor, values, pre->order == VTAIMAGE_GRAY ? 1 : 3, 0, 0 };
	struct span x, y;
	struct taps t = { .weight = NULL };
	float *rows = NULL;
	uint32_t most;

	measure_input(pre, tensor, &x, &y);
	place_picture(p, pre->fit, &x, &y);
	g.width = x.out;
	g.height = y.out;
	if (x.out <= VALUES_MAX / 3 / p->height)
		rows = calloc((size_t)p->height * x.out * 3, sizeof(*rows));
	most = most_taps(&x, pre->filter);
	if (most < most_taps(&y, pre->filter))
		most = most_taps(&y, pre->filter);
	t.weight = calloc((size_t)most + 1, sizeof(*t.weight));
	if (rows && t.weight) {
		across(p, &x, pre->filter, pre->background, &t, rows);
		down(&g, &x, &y, rows, &t);
	} else {
		snprintf(why, PICTURE_WHY_MAX,
			 "no memory to make %u x %u pixels an input of %u x %u", p->width,
			 p->height, x.out, y.out);
	}
	most = rows && t.weight;
	free(t.weight);
	free(rows);
	return most ? 0 : -1;
}
