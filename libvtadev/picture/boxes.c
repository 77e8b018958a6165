// SPDX-License-Identifier: Apache-2.0
/* A detector's outputs as boxes on its picture. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"

/* Classes of float32 are exact below. */
#define CLASS_MAX	(1 << 24)

static const char *const corner_words[] = {
	[BOXES_XYXY] = "xyxy", [BOXES_YXYX] = "yxyx", [BOXES_XYWH] = "xywh",
	[BOXES_CXCYWH] = "cxcywh",
};

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

static int read_word(struct boxes_format *format, const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(corner_words) / sizeof(*corner_words); i++)
		if (is_word(text, length, corner_words[i])) {
			format->corners = (enum boxes_corners)i;
			return 0;
		}
	format->normalised = is_word(text, length, "normalised");
	return format->normalised || is_word(text, length, "pixels") ? 0 : -1;
}

int boxes_format_read(struct boxes_format *format, const char *words)
{
	*format = (struct boxes_format) { BOXES_XYXY, false };
	while (words) {
		size_t length = strcspn(words, ",");

		if (read_word(format, words, length))
			return -1;
		words = words[length] ? words + length + 1 : NULL;
	}
	return 0;
}

/* ---- Outputs ---- */

/* The rows of [N][@columns], or of [N] if that is 0; 0 if the shape is another. */
static uint32_t count_rows(const struct vtaimage_tensor *t, uint32_t columns)
{
	uint32_t rank = t->rank, rows = 1;

	if (columns && (!rank || t->dims[--rank] != columns))
		return 0;
	for (uint32_t i = 0; i < rank; i++) {
		if (rows > 1 && t->dims[i] > 1)
			return 0;
		rows = t->dims[i] > 1 ? t->dims[i] : rows;
	}
	return rows;
}

static bool holds_classes(const struct vtaimage_tensor *t)
{
	return t->type == VTACPU_I32 || t->type == VTACPU_I64 || strstr(t->name, "class") ||
	       strstr(t->name, "label");
}

/* Adds the output if it is a vector of as many rows. */
static void add_vector(struct boxes_outputs *o, const struct vtaimage_tensor *t, uint32_t i)
{
	uint32_t *to = holds_classes(t) ? &o->classes : &o->scores;

	if (count_rows(t, 0) == o->rows && *to == BOXES_NONE)
		*to = i;
}

int boxes_outputs_find(struct boxes_outputs *o, const struct vtaimage *image,
		       char why[PICTURE_WHY_MAX])
{
	struct vtaimage_tensor t;
	bool rows_of_six = false;

	*o = (struct boxes_outputs) { BOXES_NONE, BOXES_NONE, BOXES_NONE, 0 };
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		uint32_t rows;

		vtaimage_tensor(image, i, &t);
		if (t.role != VTAIMAGE_OUTPUT && t.role != VTAIMAGE_SIZE)
			continue;
		rows = count_rows(&t, 4);
		if (!rows) {
			rows = count_rows(&t, 6);
			rows_of_six = rows;
		}
		if (!rows)
			continue;
		o->boxes = i;
		o->rows = rows;
		break;
	}
	for (uint32_t i = 0; i < image->tensor_count && o->rows && !rows_of_six; i++) {
		vtaimage_tensor(image, i, &t);
		if (i != o->boxes && (t.role == VTAIMAGE_OUTPUT || t.role == VTAIMAGE_SIZE))
			add_vector(o, &t, i);
	}
	if (o->rows && (rows_of_six || o->scores != BOXES_NONE))
		return 0;
	if (o->rows)
		snprintf(why, PICTURE_WHY_MAX, "no output has a score for each of %u boxes; "
			 "a model's NonMaxSuppression gives them", o->rows);
	else
		snprintf(why, PICTURE_WHY_MAX, "no output is boxes: an array of N x 4, or of "
			 "N x 6 with scores and classes");
	return -1;
}

size_t boxes_rows(const struct boxes_outputs *o, const struct vtaimage_tensor *t, int64_t size,
		  uint32_t dim)
{
	if (size < 0 || dim >= t->rank)
		return o->rows;
	if (t->dims[dim] != o->rows)
		return size ? o->rows : 0;
	return size < o->rows ? (size_t)size : o->rows;
}

/* ---- Boxes ---- */

/* Left, top, right and bottom of the four numbers. */
static void find_corners(double out[4], const float *v, enum boxes_corners corners)
{
	double half = corners == BOXES_CXCYWH ? 0.5 : 0;

	for (int i = 0; i < 4; i++)
		out[i] = v[corners == BOXES_YXYX ? i ^ 1 : i];
	if (corners != BOXES_XYWH && corners != BOXES_CXCYWH)
		return;
	for (int i = 0; i < 2; i++) {
		out[i] -= half * v[2 + i];
		out[2 + i] += out[i];
	}
}

/* From the input's positions to the picture's pixels, inside of the picture. */
static double map_back(const struct picture_place *p, int axis, double at, bool normalised)
{
	at = ((normalised ? at * p->input[axis] : at) - (double)p->at[axis]) * p->scale[axis];
	return fmin(fmax(at, 0), p->picture[axis]);
}

static bool take_box(struct box *b, const float *v, float score, float class,
		     const struct boxes_format *format, const struct picture_place *place)
{
	double c[4];

	/* A comparison with NaN is false. */
	if (!(class >= 0 && class < CLASS_MAX) || class != floorf(class) || !isfinite(score))
		return false;
	for (int i = 0; i < 4; i++)
		if (!isfinite(v[i]))
			return false;
	find_corners(c, v, format->corners);
	for (int i = 0; i < 4; i++)
		c[i] = map_back(place, i & 1, c[i], format->normalised);
	*b = (struct box) { (float)c[0], (float)c[1], (float)c[2], (float)c[3], score,
			    (uint32_t)class };
	return b->left < b->right && b->top < b->bottom;
}

/* The highest score first; equal ones by class and place, so that the order is always the same. */
static int compare_boxes(const void *a, const void *b)
{
	const struct box *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	if (x->class != y->class)
		return x->class > y->class ? 1 : -1;
	if (x->left != y->left)
		return x->left > y->left ? 1 : -1;
	return (x->top > y->top) - (x->top < y->top);
}

size_t boxes_take(struct box *boxes, const struct boxes_values *v,
		  const struct boxes_format *format, const struct picture_place *place, float least,
		  size_t *bad)
{
	size_t columns = v->scores ? 4 : 6, n = 0;

	*bad = 0;
	for (size_t i = 0; i < v->count; i++) {
		const float *row = v->boxes + i * columns;
		float score = v->scores ? v->scores[i] : row[4];
		float class = !v->scores ? row[5] : v->classes ? v->classes[i] : 0;

		if (score < least)
			continue;
		if (take_box(&boxes[n], row, score, class, format, place))
			n++;
		else
			++*bad;
	}
	qsort(boxes, n, sizeof(*boxes), compare_boxes);
	return n;
}
