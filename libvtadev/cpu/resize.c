// SPDX-License-Identifier: Apache-2.0
/* Pictures of another size: ONNX's Resize for the last two dimensions. */
#include "cpu_impl.h"

static bool scale_ok(float scale)
{
	return scale > 0.000001f && scale < 1000000;
}

/* An output between two inputs: (1 - part) of the first, part of the second. */
struct between {
	uint32_t first, second;
	float part;
};

/* Scratch memory: the inputs of each column; two rows of inputs with as many columns as outputs. */
static uint64_t scratch_bytes(const struct vtacpu_resize *p)
{
	if (p->mode == VTACPU_LINEAR)
		return p->ow * (sizeof(struct between) + 2 * sizeof(float));
	return p->ow * sizeof(uint32_t);
}

int cpu_resize_need(const struct vtacpu_resize *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->planes, p->ih, p->iw }, y[] = { p->planes, p->oh, p->ow };
	uint32_t value = vtacpu_type_bytes(p->type);

	if (p->type != VTACPU_F32 && p->type != VTACPU_I8 && p->type != VTACPU_U8)
		return cpu_bad(need, "a type is not one that can be resized");
	if (!cpu_count(x, 3) || !cpu_count(y, 3))
		return cpu_bad(need, "a size is 0, or too large");
	if (p->mode > VTACPU_LINEAR || p->coord > VTACPU_HALF_PIXEL_SYMMETRIC ||
	    p->round > VTACPU_ROUND_CEIL)
		return cpu_bad(need, "no such way to resize");
	if (!scale_ok(p->scale_h) || !scale_ok(p->scale_w))
		return cpu_bad(need, "a scale is not between a millionth and a million");
	need->work = cpu_mul(cpu_count(y, 3), p->mode == VTACPU_LINEAR ? 4 : 1);
	return cpu_operand(need, cpu_count(x, 3), value) ||
	       cpu_operand(need, cpu_count(y, 3), value) ||
	       cpu_scratch(need, scratch_bytes(p)) ? -1 : 0;
}

/* Coordinate of output @at in the input. */
static float source(uint32_t coord, uint32_t at, float scale, uint32_t in, uint32_t out)
{
	float x = (float)at;

	switch (coord) {
	case VTACPU_ASYMMETRIC:
		return x / scale;
	case VTACPU_ALIGN_CORNERS:
		return out == 1 ? 0 : x * (float)(in - 1) / (float)(out - 1);
	case VTACPU_PYTORCH_HALF_PIXEL:
		return out == 1 ? 0 : (x + 0.5f) / scale - 0.5f;
	case VTACPU_HALF_PIXEL_SYMMETRIC:
		/* An output smaller than in * scale is the middle of that. */
		return ((float)in - (float)out / scale) / 2 + (x + 0.5f) / scale - 0.5f;
	default:
		return (x + 0.5f) / scale - 0.5f;
	}
}

static uint32_t clamp(float x, uint32_t size)
{
	if (!(x > 0))
		return 0;
	/* Floats do not hold all sizes. */
	return x >= (float)(size - 1) ? size - 1 : (uint32_t)x;
}

static uint32_t nearest(const struct vtacpu_resize *p, float x, uint32_t size)
{
	switch (p->round) {
	case VTACPU_ROUND_PREFER_CEIL:
		return clamp(cpu_floor(x + 0.5f), size);
	case VTACPU_ROUND_FLOOR:
		return clamp(cpu_floor(x), size);
	case VTACPU_ROUND_CEIL:
		return clamp(cpu_ceil(x), size);
	default:
		return clamp(cpu_ceil(x - 0.5f), size);
	}
}

static struct between between(float x, uint32_t size)
{
	struct between b;
	float top = (float)(size - 1);

	x = x < 0 ? 0 : x > top ? top : x;
	b.first = clamp(cpu_floor(x), size);
	b.second = b.first + 1 < size ? b.first + 1 : b.first;
	b.part = x - (float)b.first;
	return b;
}

/* ---- linear ---- */

/* A row of input, brought to the columns of the output; @row is its number, or none. */
struct stretched {
	float *values;
	size_t row;
};

/* Two rows, of which the next output needs one or both. */
struct linear {
	const struct vtacpu_resize *p;
	const struct between *cols;
	struct stretched rows[2];
};

CPU_INLINE float value(const void *x, size_t at, uint32_t type)
{
	return type == VTACPU_F32 ? ((const float *)x)[at] :
	       (float)cpu_value(x, at, type == VTACPU_U8, 0);
}

CPU_BODY stretch_row(const struct linear *l, const void *x, size_t row, float *to, uint32_t type)
{
	size_t at = row * l->p->iw;

	for (uint32_t i = 0; i < l->p->ow; i++) {
		const struct between *h = &l->cols[i];

		to[i] = value(x, at + h->first, type) * (1 - h->part) +
			value(x, at + h->second, type) * h->part;
	}
}

/* Row @row of all planes' rows, unless it is there; @keep is not overwritten. */
static const float *find_row(struct linear *l, const void *x, size_t row, const float *keep)
{
	struct stretched *to = &l->rows[0];

	for (unsigned int i = 0; i < 2; i++) {
		if (l->rows[i].row == row)
			return l->rows[i].values;
		if (l->rows[i].values != keep)
			to = &l->rows[i];
	}
	if (l->p->type == VTACPU_F32)
		stretch_row(l, x, row, to->values, VTACPU_F32);
	else
		stretch_row(l, x, row, to->values, l->p->type);
	to->row = row;
	return to->values;
}

CPU_BODY mix_rows_body(bool wide, float *y, const float *a, const float *b, float part, uint32_t n)
{
	(void)wide;
	for (uint32_t i = 0; i < n; i++)
		y[i] = a[i] * (1 - part) + b[i] * part;
}

static void mix_rows(float *y, const float *a, const float *b, float part, uint32_t n);
CPU_WIDE(mix_rows, (float *y, const float *a, const float *b, float part, uint32_t n),
	 y, a, b, part, n)

static void put_row(const struct vtacpu_resize *p, void *y, size_t at, const float *a,
		    const float *b, float part)
{
	if (p->type == VTACPU_F32) {
		mix_rows((float *)y + at, a, b, part, p->ow);
		return;
	}
	for (uint32_t i = 0; i < p->ow; i++) {
		float v = a[i] * (1 - part) + b[i] * part;

		((uint8_t *)y)[at + i] = (uint8_t)(int32_t)cpu_round(v);
	}
}

static void resize_linear(const struct vtacpu_resize *p, const void *x, void *y, void *scratch)
{
	struct between *cols = scratch;
	float *rows = (float *)(cols + p->ow);
	struct linear l = { p, cols, { { rows, SIZE_MAX }, { rows + p->ow, SIZE_MAX } } };
	size_t at = 0;

	for (uint32_t i = 0; i < p->ow; i++)
		cols[i] = between(source(p->coord, i, p->scale_w, p->iw, p->ow), p->iw);
	for (size_t plane = 0; plane < p->planes; plane++)
		for (uint32_t oy = 0; oy < p->oh; oy++, at += p->ow) {
			struct between v = between(source(p->coord, oy, p->scale_h, p->ih, p->oh),
						   p->ih);
			size_t first = plane * p->ih + v.first, second = plane * p->ih + v.second;
			const float *a = find_row(&l, x, first, NULL), *b;

			b = find_row(&l, x, second, a);
			put_row(p, y, at, a, b, v.part);
		}
}

/* ---- nearest ---- */

CPU_BODY pick_values(const struct vtacpu_resize *p, const uint8_t *x, uint8_t *y,
		     const uint32_t *cols, size_t bytes)
{
	for (uint32_t i = 0; i < p->ow; i++)
		memcpy(y + i * bytes, x + cols[i] * bytes, bytes);
}

static void resize_nearest(const struct vtacpu_resize *p, const uint8_t *x, uint8_t *y,
			   uint32_t *cols)
{
	size_t bytes = vtacpu_type_bytes(p->type);

	for (uint32_t i = 0; i < p->ow; i++)
		cols[i] = nearest(p, source(p->coord, i, p->scale_w, p->iw, p->ow), p->iw);
	for (size_t plane = 0; plane < p->planes; plane++)
		for (uint32_t oy = 0; oy < p->oh; oy++, y += p->ow * bytes) {
			size_t row = plane * p->ih + nearest(p, source(p->coord, oy, p->scale_h,
								       p->ih, p->oh), p->ih);

			if (bytes == sizeof(float))
				pick_values(p, x + row * p->iw * bytes, y, cols, sizeof(float));
			else
				pick_values(p, x + row * p->iw * bytes, y, cols, 1);
		}
}

void vtacpu_resize(const struct vtacpu_resize *p, void *const *io, void *scratch)
{
	if (p->mode == VTACPU_LINEAR)
		resize_linear(p, io[0], io[1], scratch);
	else
		resize_nearest(p, io[0], io[1], scratch);
}
