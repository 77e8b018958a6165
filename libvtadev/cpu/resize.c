// SPDX-License-Identifier: Apache-2.0
/* Pictures of another size: ONNX's Resize for the last two dimensions. */
#include "cpu_impl.h"

static bool scale_ok(float scale)
{
	return scale > 0.000001f && scale < 1000000;
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
	       cpu_operand(need, cpu_count(y, 3), value) ? -1 : 0;
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

/* An output between two inputs: (1 - part) of the first, part of the second. */
struct between {
	uint32_t first, second;
	float part;
};

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

static float value(const void *x, size_t at, uint32_t type)
{
	return type == VTACPU_F32 ? ((const float *)x)[at] :
	       (float)cpu_value(x, at, type == VTACPU_U8, 0);
}

static void put_value(void *y, size_t at, uint32_t type, float v)
{
	if (type == VTACPU_F32)
		((float *)y)[at] = v;
	else
		((uint8_t *)y)[at] = (uint8_t)(int32_t)cpu_round(v);
}

static void linear_row(const struct vtacpu_resize *p, const void *x, size_t plane_at,
		       const struct between *v, void *y, size_t y_at)
{
	size_t above = plane_at + (size_t)v->first * p->iw;
	size_t below = plane_at + (size_t)v->second * p->iw;

	for (uint32_t ox = 0; ox < p->ow; ox++) {
		struct between h = between(source(p->coord, ox, p->scale_w, p->iw, p->ow), p->iw);
		float top = value(x, above + h.first, p->type) * (1 - h.part) +
			    value(x, above + h.second, p->type) * h.part;
		float bottom = value(x, below + h.first, p->type) * (1 - h.part) +
			       value(x, below + h.second, p->type) * h.part;

		put_value(y, y_at + ox, p->type, top * (1 - v->part) + bottom * v->part);
	}
}

static void nearest_row(const struct vtacpu_resize *p, const uint8_t *x, size_t row_at, uint8_t *y,
			size_t y_at)
{
	size_t bytes = vtacpu_type_bytes(p->type);

	for (uint32_t ox = 0; ox < p->ow; ox++) {
		uint32_t ix = nearest(p, source(p->coord, ox, p->scale_w, p->iw, p->ow), p->iw);

		memcpy(y + (y_at + ox) * bytes, x + (row_at + ix) * bytes, bytes);
	}
}

void vtacpu_resize(const struct vtacpu_resize *p, void *const *io, void *scratch)
{
	size_t y_at = 0;

	(void)scratch;
	for (uint32_t i = 0; i < p->planes; i++) {
		size_t plane_at = (size_t)i * p->ih * p->iw;

		for (uint32_t oy = 0; oy < p->oh; oy++, y_at += p->ow) {
			float y = source(p->coord, oy, p->scale_h, p->ih, p->oh);

			if (p->mode == VTACPU_LINEAR) {
				struct between v = between(y, p->ih);

				linear_row(p, io[0], plane_at, &v, io[1], y_at);
			} else {
				nearest_row(p, io[0], plane_at + (size_t)nearest(p, y, p->ih) *
					    p->iw, io[1], y_at);
			}
		}
	}
}
