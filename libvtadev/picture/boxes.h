/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes.h - a detector's outputs as boxes on a picture, and pictures with boxes drawn
 *
 * Outputs are of one of these shapes. Leading dimensions may be 1, and data may decide the number
 * of rows (vtaprog_size()):
 *	[N][4] boxes, [N] scores and perhaps [N] classes: classes are integers, or the one of two
 *		outputs in floats whose name has "class" or "label" in it
 *	[N][6] a row's box, score and class
 * Values come from a card or a file: rows that are no numbers are left out. No state is global.
 */
#ifndef BOXES_H
#define BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "picture.h"
#include "vtaimage.h"

#define BOXES_NONE	UINT32_MAX

/* In pixels of the picture, inside of it: 0 <= left < right <= width, top and bottom alike. */
struct box {
	float left, top, right, bottom;
	float score;
	uint32_t class;
};

/* The four numbers of a box. */
enum boxes_corners {
	BOXES_XYXY,		/* left, top, right, bottom */
	BOXES_YXYX,		/* top, left, bottom, right */
	BOXES_XYWH,		/* left, top, width, height */
	BOXES_CXCYWH,		/* the centre, width, height */
};

/* @normalised: fractions of the input's width and height, not its pixels */
struct boxes_format {
	enum boxes_corners corners;
	bool normalised;
};

/* Numbers of tensors; @scores is BOXES_NONE for [N][6], @classes also if there is one class. */
struct boxes_outputs {
	uint32_t boxes, scores, classes;
	uint32_t rows;		/* at most so many */
};

/* A run's values: [count][4] and [count], or [count][6] and NULL; no @classes: all are 0. */
struct boxes_values {
	const float *boxes, *scores, *classes;
	size_t count;
};

/*
 * boxes_format_read() - read words with commas between, like "cxcywh,normalised"; NULL is
 * "xyxy,pixels"
 *
 * Returns 0, or -1 if a word is none of xyxy, yxyx, xywh, cxcywh, pixels and normalised.
 */
int boxes_format_read(struct boxes_format *format, const char *words);

/* boxes_outputs_find() - find the outputs of a detector; returns 0, or -1 and the reason */
int boxes_outputs_find(struct boxes_outputs *outputs, const struct vtaimage *image,
		       char why[PICTURE_WHY_MAX]);

/*
 * boxes_rows() - rows of output @tensor that are in use, of which dimension @dim has @size
 *
 * @size and @dim are those of vtaprog_size(), or @size is negative: then all are. Never more than
 * boxes_outputs.rows.
 */
size_t boxes_rows(const struct boxes_outputs *outputs, const struct vtaimage_tensor *tensor,
		  int64_t size, uint32_t dim);

/**
 * boxes_take() - the boxes of a run on its picture
 * @boxes: out: room for @values->count; those with the highest scores are first
 * @values: the run's
 * @format: of @values->boxes
 * @place: where the picture is in the input (picture_place())
 * @least: boxes of smaller scores are left out
 * @bad: out: number of rows whose score is enough, but that are no box of finite numbers on the
 *       picture, or whose class is no whole number from 0 on
 *
 * Boxes are cut at the picture's edges. Returns their number.
 */
size_t boxes_take(struct box *boxes, const struct boxes_values *values,
		  const struct boxes_format *format, const struct picture_place *place, float least,
		  size_t *bad);

/*
 * boxes_draw() - draw boxes, each with a text, on a picture
 *
 * Letters are shown as capitals, and characters other than those of ASCII as a question mark.
 * @text(@priv, box) is valid until the next call. A box is cut off at the picture's edges.
 */
void boxes_draw(struct picture *picture, const struct box *boxes, size_t count,
		const char *(*text)(void *priv, const struct box *box), void *priv);

#endif /* BOXES_H */
