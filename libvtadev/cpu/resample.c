// SPDX-License-Identifier: Apache-2.0
/* Tensors of another size, by weights of the values around each place. */
#include "cpu_impl.h"

/* Values around a place in one dimension: numbers and weights, in scratch memory. */
struct taps {
	uint32_t n;		/* of each place */
	int32_t *at;		/* [out][n] */
	float *weight;
	uint8_t *outside;	/* [out]: the value is the extrapolation */
};

static bool scale_ok(float scale)
{
	return scale > 0.000001f && scale < 1000000;
}

/* The distance to which weights reach on each side, in values of x. */
static float reach(const struct vtacpu_resample *p, uint32_t d)
{
	float wide = p->antialias && p->scale[d] < 1 ? 1 / p->scale[d] : 1;

	return (p->mode == VTACPU_CUBIC ? 2 : 1) * wide;
}

static bool is_same(const struct vtacpu_resample *p, uint32_t d)
{
	return p->dims[d] == p->out[d] && p->scale[d] == 1 && p->coord != VTACPU_CROP;
}

static uint32_t taps_of(const struct vtacpu_resample *p, uint32_t d)
{
	if (is_same(p, d) || p->mode == VTACPU_NEAREST)
		return 1;
	return 2 * (uint32_t)cpu_ceil(reach(p, d));
}

int cpu_resample_need(const struct vtacpu_resample *p, struct vtacpu_need *need)
{
	uint64_t scratch = 0, work = 1;
	uint32_t value = vtacpu_type_bytes(p->type);

	if (p->type != VTACPU_F32 && p->type != VTACPU_I8 && p->type != VTACPU_U8)
		return cpu_bad(need, "a type is not one that can be resized");
	if (!p->rank || p->rank > VTACPU_RESAMPLE_RANK_MAX || !cpu_count(p->dims, p->rank) ||
	    !cpu_count(p->out, p->rank))
		return cpu_bad(need, "a size is 0, or too large");
	if (p->mode > VTACPU_CUBIC || p->coord > VTACPU_CROP || p->round > VTACPU_ROUND_CEIL ||
	    p->exclude > 1 || p->antialias > 1)
		return cpu_bad(need, "no such way to resize");
	for (uint32_t d = 0; d < p->rank; d++) {
		if (!scale_ok(p->scale[d]))
			return cpu_bad(need, "a scale is not between a millionth and a million");
		scratch += cpu_mul(p->out[d], 8ull * taps_of(p, d) + 1) + 16;
		work = cpu_mul(work, taps_of(p, d));
	}
	need->work = cpu_mul(cpu_count(p->out, p->rank), work);
	return cpu_operand(need, cpu_count(p->dims, p->rank), value) ||
	       cpu_operand(need, cpu_count(p->out, p->rank), value) ||
	       cpu_scratch(need, scratch) ? -1 : 0;
}

/* The coordinate in x of place @at of y. */
static float source(const struct vtacpu_resample *p, uint32_t d, uint32_t at)
{
	float x = (float)at, scale = p->scale[d];
	float in = (float)p->dims[d], out = (float)p->out[d];

	switch (p->coord) {
	case VTACPU_ASYMMETRIC:
		return x / scale;
	case VTACPU_ALIGN_CORNERS:
		return p->out[d] == 1 ? 0 : x * (in - 1) / (out - 1);
	case VTACPU_PYTORCH_HALF_PIXEL:
		return p->out[d] == 1 ? 0 : (x + 0.5f) / scale - 0.5f;
	case VTACPU_HALF_PIXEL_SYMMETRIC:
		return (in - out / scale) / 2 + (x + 0.5f) / scale - 0.5f;
	case VTACPU_HALF_PIXEL_FOR_NN:
		return (x + 0.5f) / scale;
	case VTACPU_CROP:
		return p->out[d] == 1 ? 0.5f * (p->start[d] + p->end[d]) * (in - 1) :
		       p->start[d] * (in - 1) +
		       x * (p->end[d] - p->start[d]) * (in - 1) / (out - 1);
	default:
		return (x + 0.5f) / scale - 0.5f;
	}
}

static float round_by(uint32_t round, float x)
{
	return round == VTACPU_ROUND_PREFER_CEIL ? cpu_floor(x + 0.5f) :
	       round == VTACPU_ROUND_FLOOR ? cpu_floor(x) :
	       round == VTACPU_ROUND_CEIL ? cpu_ceil(x) : cpu_ceil(x - 0.5f);
}

float cpu_cubic(float a, float x)
{
	x = x < 0 ? -x : x;
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static float weight_of(const struct vtacpu_resample *p, uint32_t d, float x)
{
	float wide = reach(p, d) / (p->mode == VTACPU_CUBIC ? 2 : 1);

	x = (x < 0 ? -x : x) / wide;
	if (p->mode == VTACPU_CUBIC)
		return cpu_cubic(p->cubic, x);
	return x < 1 ? 1 - x : 0;
}

static int32_t clamp(float x, uint32_t size)
{
	if (!(x > 0))
		return 0;
	return x >= (float)(size - 1) ? (int32_t)(size - 1) : (int32_t)x;
}

/* The taps of one place, with weights that add up to 1. */
static void find_taps(const struct vtacpu_resample *p, uint32_t d, float x, uint32_t n, int32_t *at,
		      float *weight)
{
	uint32_t before = n / 2 - 1;
	float first = cpu_floor(x) - (float)before, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		float place = first + (float)i;
		bool out = place < 0 || place > (float)(p->dims[d] - 1);

		at[i] = clamp(place, p->dims[d]);
		weight[i] = p->exclude && out ? 0 : weight_of(p, d, x - place);
		sum += weight[i];
	}
	for (uint32_t i = 0; i < n && (p->exclude || p->antialias) && sum != 0; i++)
		weight[i] /= sum;
}

static void find_dimension(const struct vtacpu_resample *p, uint32_t d, struct taps *t)
{
	for (uint32_t i = 0; i < p->out[d]; i++) {
		float x = is_same(p, d) ? (float)i : source(p, d, i);

		t->outside[i] = p->coord == VTACPU_CROP &&
				!(x >= 0 && x <= (float)(p->dims[d] - 1));
		if (is_same(p, d)) {
			t->at[i] = (int32_t)i;
			t->weight[i] = 1;
		} else if (p->mode == VTACPU_NEAREST) {
			t->at[i] = clamp(round_by(p->round, x), p->dims[d]);
			t->weight[i] = 1;
		} else {
			find_taps(p, d, x, t->n, t->at + (size_t)i * t->n,
				  t->weight + (size_t)i * t->n);
		}
	}
}

static float value(const void *x, size_t at, uint32_t type)
{
	return type == VTACPU_F32 ? ((const float *)x)[at] :
	       (float)cpu_value(x, at, type == VTACPU_U8, 0);
}

static void put_value(void *y, size_t at, uint32_t type, float v)
{
	float lo = type == VTACPU_U8 ? 0 : -128, hi = type == VTACPU_U8 ? 255 : 127;

	if (type == VTACPU_F32) {
		((float *)y)[at] = v;
		return;
	}
	v = v > lo ? v : lo;
	((uint8_t *)y)[at] = (uint8_t)(int32_t)cpu_round(v < hi ? v : hi);
}

/* The sum over the taps of all dimensions. */
static float add_taps(const struct vtacpu_resample *p, const struct taps *taps,
		      const uint32_t *place, const void *x)
{
	uint32_t tap[VTACPU_RESAMPLE_RANK_MAX] = { 0 }, d;
	float sum = 0;

	do {
		float weight = 1;
		size_t at = 0;

		for (d = 0; d < p->rank; d++) {
			size_t k = (size_t)place[d] * taps[d].n + tap[d];

			weight *= taps[d].weight[k];
			at = at * p->dims[d] + (size_t)taps[d].at[k];
		}
		if (weight != 0)
			sum += weight * value(x, at, p->type);
		for (d = p->rank; d && ++tap[d - 1] == taps[d - 1].n; d--)
			tap[d - 1] = 0;
	} while (d);
	return sum;
}

void vtacpu_resample(const struct vtacpu_resample *p, void *const *io, void *scratch)
{
	size_t count = (size_t)cpu_count(p->out, p->rank);
	struct taps taps[VTACPU_RESAMPLE_RANK_MAX];
	uint32_t place[VTACPU_RESAMPLE_RANK_MAX] = { 0 };
	uint8_t *memory = scratch;

	for (uint32_t d = 0; d < p->rank; d++) {
		size_t n = (size_t)p->out[d] * taps_of(p, d);

		taps[d] = (struct taps) { taps_of(p, d), (void *)memory, (void *)(memory + 4 * n),
					  memory + 8 * n };
		find_dimension(p, d, &taps[d]);
		memory += (8 * n + p->out[d] + 7) / 8 * 8;
	}
	for (size_t i = 0; i < count; i++) {
		bool outside = false;

		for (uint32_t d = 0; d < p->rank; d++)
			outside = outside || taps[d].outside[place[d]];
		put_value(io[1], i, p->type, outside ? p->extrapolation :
			  add_taps(p, taps, place, io[0]));
		for (uint32_t d = p->rank; d && ++place[d - 1] == p->out[d - 1]; d--)
			place[d - 1] = 0;
	}
}
