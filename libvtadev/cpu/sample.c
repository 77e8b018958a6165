// SPDX-License-Identifier: Apache-2.0
/* Values of pictures at places between pixels: grids of places, and parts of pictures. */
#include "cpu_impl.h"

/* ---- places that a tensor has ---- */

int cpu_grid_sample_need(const struct vtacpu_grid_sample *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->n, p->c, p->in[0], p->in[1], p->in[2] };
	const uint32_t g[] = { p->n, p->out[0], p->out[1], p->out[2], p->axes };
	const uint32_t y[] = { p->n, p->c, p->out[0], p->out[1], p->out[2] };

	if (p->axes < 2 || p->axes > 3 || p->mode > VTACPU_CUBIC ||
	    (p->mode == VTACPU_CUBIC && p->axes == 3) || p->pad > VTACPU_GRID_REFLECTION ||
	    cpu_flag_ok(need, p->align))
		return cpu_bad(need, "no such way to sample");
	if (!cpu_count(x, 5) || !cpu_count(g, 5) || !cpu_count(y, 5) ||
	    (p->axes == 2 && (p->in[0] != 1 || p->out[0] != 1)))
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_count(y, 5), 16);
	return cpu_operand(need, cpu_count(x, 5), 4) || cpu_operand(need, cpu_count(g, 5), 4) ||
	       cpu_operand(need, cpu_count(y, 5), 4) ? -1 : 0;
}

/* @x mirrored at the ends @lo and @hi, as often as it takes. */
static float mirror(float x, float lo, float hi)
{
	float range = hi - lo, turns;

	if (!(range > 0))
		return lo;
	x = x < lo ? lo - x : x - lo;
	turns = cpu_floor(x / range);
	x -= turns * range;
	return turns / 2 == cpu_floor(turns / 2) ? lo + x : hi - x;
}

/*
 * The coordinate of a place, within the values if padding says so; of cubic samples each value is
 * taken from the border alone.
 */
static float place_of(const struct vtacpu_grid_sample *p, float at, uint32_t size)
{
	float top = (float)(size - 1), lo = p->align ? 0 : -0.5f;
	float hi = p->align ? top : top + 0.5f;
	float x = p->align ? (at + 1) / 2 * top : ((at + 1) * (float)size - 1) / 2;

	if (!(x > -1e9f && x < 1e9f))
		x = x > 0 ? 1e9f : -1e9f;
	if (p->pad == VTACPU_GRID_BORDER && p->mode != VTACPU_CUBIC)
		return x < 0 ? 0 : x > top ? top : x;
	if (p->pad == VTACPU_GRID_REFLECTION && (x < lo || x > hi))
		return mirror(x, lo, hi);
	return x;
}

/* The number of the value at @x, a whole number; -1: outside. */
static int32_t value_at(const struct vtacpu_grid_sample *p, float x, uint32_t size)
{
	float top = (float)(size - 1);

	if (p->pad == VTACPU_GRID_ZEROS && (x < 0 || x > top))
		return -1;
	if (p->pad == VTACPU_GRID_REFLECTION && (x < 0 || x > top))
		x = mirror(x, p->align ? 0 : -0.5f, p->align ? top : top + 0.5f);
	/* A mirrored place may be between two values, at an edge; floats do not hold all sizes. */
	return x > 0 ? x >= top ? (int32_t)(size - 1) : (int32_t)x : 0;
}

struct taps {
	uint32_t n;
	int32_t at[4];
	float weight[4];
};

static struct taps find_taps(const struct vtacpu_grid_sample *p, float at, uint32_t size)
{
	static const uint32_t counts[] = { [VTACPU_NEAREST] = 1, [VTACPU_LINEAR] = 2,
					   [VTACPU_CUBIC] = 4 };
	float x = place_of(p, at, size), first;
	struct taps t = { .n = counts[p->mode] };
	uint32_t before = t.n / 2 - 1;

	first = p->mode == VTACPU_NEAREST ? cpu_round(x) : cpu_floor(x) - (float)before;
	for (uint32_t i = 0; i < t.n; i++) {
		float place = first + (float)i, far = x - place;

		far = far < 0 ? -far : far;
		t.at[i] = value_at(p, place, size);
		t.weight[i] = p->mode == VTACPU_NEAREST ? 1 : p->mode == VTACPU_LINEAR ? 1 - far :
			      cpu_cubic(-0.75f, far);
	}
	return t;
}

static float sample(const float *x, const struct vtacpu_grid_sample *p, const struct taps t[3])
{
	float sum = 0;

	for (uint32_t i = 0; i < t[0].n; i++)
		for (uint32_t j = 0; j < t[1].n; j++)
			for (uint32_t k = 0; k < t[2].n; k++) {
				if (t[0].at[i] < 0 || t[1].at[j] < 0 || t[2].at[k] < 0)
					continue;
				sum += t[0].weight[i] * t[1].weight[j] * t[2].weight[k] *
				       x[((size_t)t[0].at[i] * p->in[1] + (size_t)t[1].at[j]) *
					 p->in[2] + (size_t)t[2].at[k]];
			}
	return sum;
}

void vtacpu_grid_sample(const struct vtacpu_grid_sample *p, void *const *io, void *scratch)
{
	size_t plane = (size_t)p->in[0] * p->in[1] * p->in[2];
	size_t places = (size_t)p->out[0] * p->out[1] * p->out[2];
	const float *grid = io[1];

	(void)scratch;
	for (size_t n = 0; n < p->n; n++)
		for (size_t i = 0; i < places; i++, grid += p->axes) {
			struct taps t[3] = { { 1, { 0 }, { 1 } } };

			for (uint32_t d = 0; d < p->axes; d++)
				t[2 - d] = find_taps(p, grid[d], p->in[2 - d]);
			for (size_t c = 0; c < p->c; c++)
				((float *)io[2])[(n * p->c + c) * places + i] =
					sample((const float *)io[0] + (n * p->c + c) * plane, p, t);
		}
}

/* ---- parts of pictures ---- */

/* The most samples of a bin in each direction */
#define SAMPLES_MAX	1024

/* Multiplications for a value: as many samples as a region as large as the picture has */
static uint64_t bin_work(const struct vtacpu_roi_align *p)
{
	uint64_t rows = p->samples ? p->samples : p->h / p->oh + 1;
	uint64_t cols = p->samples ? p->samples : p->w / p->ow + 1;

	return cpu_mul(16, cpu_mul(rows, cols));
}

/* One of the two values around @x, and the weight of the second; false: outside. */
struct between {
	uint32_t first, second;
	float part;
};

static bool find_between(float x, uint32_t size, struct between *b)
{
	if (!(x >= -1 && x <= (float)size))
		return false;
	x = x > 0 ? x : 0;
	b->first = (uint32_t)x;
	if (b->first >= size - 1) {
		b->first = size - 1;
		x = (float)b->first;
	}
	b->second = b->first + 1 < size ? b->first + 1 : b->first;
	b->part = x - (float)b->first;
	return true;
}

/* The four values around a sample, and their weights. */
struct around {
	uint32_t at[4];
	float weight[4];
};

/* Samples of bins, in the order of the bins: as many as a small cache has beside pictures. */
#define AROUND_MAX	512u

/* The samples of a bin, or a part of them. */
struct bin_part {
	uint32_t bin, count;
	bool first, last;	/* of the bin's samples */
};

/* Samples of the bins of a region, for all channels. */
struct samples {
	struct around around[AROUND_MAX];
	struct bin_part parts[AROUND_MAX];
	uint32_t count, part_count;
};

/* A region: its first corner, and the size and samples of its bins. */
struct region {
	float top, left, height, width;
	uint32_t rows, cols;
};

int cpu_roi_align_need(const struct vtacpu_roi_align *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->n, p->c, p->h, p->w };
	const uint32_t y[] = { p->count, p->c, p->oh, p->ow };

	if (cpu_flag_ok(need, p->max) || cpu_flag_ok(need, p->half))
		return -1;
	if (!cpu_count(x, 4) || !cpu_count(y, 4) || p->samples > SAMPLES_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_count(y, 4), bin_work(p));
	return cpu_operand(need, cpu_count(x, 4), 4) || cpu_operand(need, 4ull * p->count, 4) ||
	       cpu_operand(need, p->count, 8) || cpu_operand(need, cpu_count(y, 4), 4) ||
	       cpu_scratch(need, sizeof(struct samples)) ? -1 : 0;
}

static uint32_t samples_of(uint32_t samples, float size)
{
	float n = cpu_ceil(size);

	if (samples)
		return samples;
	return n > 1 ? n < SAMPLES_MAX ? (uint32_t)n : SAMPLES_MAX : 1;
}

static struct region place_region(const struct vtacpu_roi_align *p, const float *roi)
{
	float off = p->half ? 0.5f : 0, box[4];
	struct region r;

	for (uint32_t i = 0; i < 4; i++)
		box[i] = roi[i] * p->scale - off;
	r.left = box[0];
	r.top = box[1];
	r.width = box[2] - box[0];
	r.height = box[3] - box[1];
	if (!p->half) {
		r.width = r.width > 1 ? r.width : 1;
		r.height = r.height > 1 ? r.height : 1;
	}
	r.width /= (float)p->ow;
	r.height /= (float)p->oh;
	r.rows = samples_of(p->samples, r.height);
	r.cols = samples_of(p->samples, r.width);
	return r;
}

static struct around find_around(const struct vtacpu_roi_align *p, const struct between *v,
				 const struct between *h)
{
	uint32_t above = v->first * p->w, below = v->second * p->w;

	return (struct around) {
		{ above + h->first, above + h->second, below + h->first, below + h->second },
		{ (1 - v->part) * (1 - h->part), (1 - v->part) * h->part,
		  v->part * (1 - h->part), v->part * h->part },
	};
}

/* The sum of four weighted values, or the greatest of them and @v. */
CPU_INLINE float add_around(const float *x, const struct around *a, bool max, float v)
{
	float value[4];

#pragma GCC unroll 4
	for (uint32_t k = 0; k < 4; k++)
		value[k] = a->weight[k] * x[a->at[k]];
	if (!max)
		return v + (value[0] + value[1] + value[2] + value[3]);
#pragma GCC unroll 4
	for (uint32_t k = 0; k < 4; k++)
		v = value[k] > v ? value[k] : v;
	return v;
}

/* The values of the bins whose samples there are, of all channels. */
static void pool_samples(const struct vtacpu_roi_align *p, const struct region *r,
			 struct samples *s, const float *x, float *y)
{
	float count = (float)(r->rows * r->cols);

	for (size_t c = 0; c < p->c; c++) {
		const float *plane = x + c * p->h * p->w;
		const struct around *a = s->around;

		for (uint32_t i = 0; i < s->part_count; i++) {
			const struct bin_part *part = &s->parts[i];
			float *to = y + c * p->oh * p->ow + part->bin;
			const struct around *end = a + part->count;
			float v = part->first ? 0 : *to;

			if (part->first && p->max && a < end)
				v = a->weight[0] * plane[a->at[0]];
			for (; a < end; a++)
				v = add_around(plane, a, p->max, v);
			*to = part->last && !p->max ? v / count : v;
		}
	}
	s->count = 0;
	s->part_count = 0;
}

static void end_part(struct samples *s, uint32_t bin, uint32_t from, bool first, bool last)
{
	s->parts[s->part_count++] = (struct bin_part) { bin, s->count - from, first, last };
}

/* Finds the samples of a bin; when there is no more room, what is there is pooled. */
static void add_bin(const struct vtacpu_roi_align *p, const struct region *r, uint32_t bin,
		    struct samples *s, const float *x, float *y)
{
	uint32_t row = bin / p->ow;
	float top = r->top + (float)row * r->height;
	float left = r->left + (float)(bin % p->ow) * r->width;
	uint32_t from = s->count;
	bool first = true;

	for (uint32_t i = 0; i < r->rows; i++) {
		float at = top + ((float)i + 0.5f) * r->height / (float)r->rows;
		struct between v, h;

		if (!find_between(at, p->h, &v))
			continue;
		for (uint32_t j = 0; j < r->cols; j++) {
			at = left + ((float)j + 0.5f) * r->width / (float)r->cols;
			if (!find_between(at, p->w, &h))
				continue;
			if (s->count == AROUND_MAX) {
				if (s->count > from) {
					end_part(s, bin, from, first, false);
					first = false;
				}
				pool_samples(p, r, s, x, y);
				from = 0;
			}
			s->around[s->count++] = find_around(p, &v, &h);
		}
	}
	end_part(s, bin, from, first, true);
}

static void align_one(const struct vtacpu_roi_align *p, const float *x, const float *roi, float *y,
		      struct samples *s)
{
	struct region r = place_region(p, roi);

	s->count = 0;
	s->part_count = 0;
	for (uint32_t bin = 0; bin < p->oh * p->ow; bin++) {
		add_bin(p, &r, bin, s, x, y);
		if (s->part_count == AROUND_MAX - 1)
			pool_samples(p, &r, s, x, y);
	}
	pool_samples(p, &r, s, x, y);
}

void vtacpu_roi_align(const struct vtacpu_roi_align *p, void *const *io, void *scratch)
{
	size_t each = (size_t)p->c * p->oh * p->ow, image = (size_t)p->c * p->h * p->w;

	for (size_t i = 0; i < p->count; i++) {
		int64_t n = ((const int64_t *)io[2])[i];
		float *y = (float *)io[3] + i * each;

		if (n >= 0 && n < p->n)
			align_one(p, (const float *)io[0] + (size_t)n * image,
				  (const float *)io[1] + 4 * i, y, scratch);
		else
			memset(y, 0, each * sizeof(*y));
	}
}
