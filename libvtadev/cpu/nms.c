// SPDX-License-Identifier: Apache-2.0
/* Boxes that do not overlap a better one. */
#include "cpu_impl.h"

/*
 * Boxes that are taken, value by value: top, left, bottom, right and area of each, and their
 * numbers.
 */
struct taken {
	float *top, *left, *bottom, *right, *area;
	uint32_t *number, n;
};

static uint64_t taken_bytes(uint32_t most)
{
	return 5 * up8(most) * sizeof(float);
}

static struct taken place_taken(uint32_t *number, float *values, uint32_t most)
{
	size_t room = up8(most);

	return (struct taken) { values, values + room, values + 2 * room, values + 3 * room,
				values + 4 * room, number, 0 };
}

int cpu_nms_need(const struct vtacpu_nms *p, struct vtacpu_need *need)
{
	const uint32_t boxes[] = { p->batch, p->boxes, 4 };
	const uint32_t scores[] = { p->batch, p->classes, p->boxes };
	const uint32_t y[] = { p->batch, p->classes, p->most, 3 };

	if (cpu_flag_ok(need, p->centre) || cpu_flag_ok(need, p->has_count) ||
	    cpu_flag_ok(need, p->has_score))
		return -1;
	if (!cpu_count(boxes, 3) || !cpu_count(scores, 3) || !cpu_count(y, 4) ||
	    p->most > p->boxes)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_count(scores, 3), 64 + (uint64_t)p->most);
	return cpu_operand(need, cpu_count(boxes, 3), 4) ||
	       cpu_operand(need, cpu_count(scores, 3), 4) ||
	       cpu_operand_if(need, p->has_count, 1, 8) || cpu_operand(need, cpu_count(y, 4), 8) ||
	       cpu_scratch(need, 8ull * p->boxes + taken_bytes(p->most)) ? -1 : 0;
}

struct box {
	float top, left, bottom, right;
};

static struct box box_at(const float *v, uint32_t centre)
{
	struct box b;

	if (centre)
		return (struct box) { v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2,
				      v[0] + v[2] / 2 };
	b.top = v[0] < v[2] ? v[0] : v[2];
	b.bottom = v[0] < v[2] ? v[2] : v[0];
	b.left = v[1] < v[3] ? v[1] : v[3];
	b.right = v[1] < v[3] ? v[3] : v[1];
	return b;
}

static float area_of(const struct box *b)
{
	return (b->bottom - b->top) * (b->right - b->left);
}

/* Does box @b, whose area is @area, overlap taken box @i? An empty box overlaps nothing. */
CPU_INLINE uint32_t is_hit(const struct taken *t, uint32_t i, const struct box *b, float area,
			   float limit)
{
	float top = b->top > t->top[i] ? b->top : t->top[i];
	float left = b->left > t->left[i] ? b->left : t->left[i];
	float bottom = b->bottom < t->bottom[i] ? b->bottom : t->bottom[i];
	float right = b->right < t->right[i] ? b->right : t->right[i];
	float common = (bottom - top) * (right - left);

	return (uint32_t)(bottom > top) & (uint32_t)(right > left) &
	       (uint32_t)(common > limit * (area + t->area[i] - common));
}

/* So many boxes are looked at before the first that overlaps ends the search. */
#define TOGETHER	64u

CPU_BODY find_hit_body(bool wide, const struct taken *t, const struct box *box, float limit,
		       uint32_t *any)
{
	const struct box b = *box;
	float area = area_of(box);
	uint32_t i = 0, hit = 0;

	(void)wide;
	for (; i + TOGETHER <= t->n && !hit; i += TOGETHER)
		for (uint32_t k = 0; k < TOGETHER; k++)
			hit |= is_hit(t, i + k, &b, area, limit);
	for (; i < t->n && !hit; i++)
		hit = is_hit(t, i, &b, area, limit);
	*any = hit;
}

static void find_hit(const struct taken *t, const struct box *box, float limit, uint32_t *any);
CPU_WIDE(find_hit, (const struct taken *t, const struct box *box, float limit, uint32_t *any),
	 t, box, limit, any)

static void take_box(struct taken *t, const struct box *b, uint32_t number)
{
	t->top[t->n] = b->top;
	t->left[t->n] = b->left;
	t->bottom[t->n] = b->bottom;
	t->right[t->n] = b->right;
	t->area[t->n] = area_of(b);
	t->number[t->n++] = number;
}

/* Candidates as a heap: the best one is on top, which is the first of equal ones. */
struct heap {
	const float *scores;
	uint32_t *at, n;
};

static bool is_better(const struct heap *h, uint32_t a, uint32_t b)
{
	float first = h->scores[a], second = h->scores[b];

	return first > second || (first == second && a < b);
}

static void sink(struct heap *h, uint32_t i)
{
	uint32_t value = h->at[i];

	for (uint32_t child = 2 * i + 1; child < h->n; child = 2 * i + 1) {
		if (child + 1 < h->n && is_better(h, h->at[child + 1], h->at[child]))
			child++;
		if (!is_better(h, h->at[child], value))
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = value;
}

static void find_candidates(const struct vtacpu_nms *p, struct heap *h, uint32_t boxes)
{
	for (uint32_t i = 0; i < boxes; i++)
		/* NaN is no score. */
		if (p->has_score ? h->scores[i] > p->score : h->scores[i] == h->scores[i])
			h->at[h->n++] = i;
	for (uint32_t i = h->n / 2; i--;)
		sink(h, i);
}

static void take_boxes(const struct vtacpu_nms *p, const float *boxes, struct heap *h,
		       struct taken *t)
{
	while (h->n && t->n < p->most) {
		struct box b = box_at(boxes + 4 * (size_t)h->at[0], p->centre);
		uint32_t hit;

		find_hit(t, &b, p->iou, &hit);
		if (!hit)
			take_box(t, &b, h->at[0]);
		h->at[0] = h->at[--h->n];
		if (h->n)
			sink(h, 0);
	}
}

void vtacpu_nms(const struct vtacpu_nms *p, void *const *io, void *scratch)
{
	uint32_t *number = (uint32_t *)scratch + p->boxes, boxes = p->boxes;
	struct taken t = place_taken(number, (void *)(number + p->boxes), p->most);
	size_t rows = (size_t)p->batch * p->classes * p->most;
	int64_t *y = io[3];

	if (p->has_count && *(const int64_t *)io[2] < boxes)
		boxes = *(const int64_t *)io[2] < 0 ? 0 : (uint32_t)*(const int64_t *)io[2];
	for (size_t i = 0; i < 3 * rows; i++)
		y[i] = -1;
	for (uint32_t row = 0; row < p->batch * p->classes; row++) {
		const float *at = (const float *)io[0] +
			4 * (size_t)(row / p->classes) * p->boxes;
		struct heap h = { (const float *)io[1] + (size_t)row * p->boxes, scratch, 0 };

		t.n = 0;
		find_candidates(p, &h, boxes);
		take_boxes(p, at, &h, &t);
		for (uint32_t i = 0; i < t.n; i++, y += 3) {
			y[0] = row / p->classes;
			y[1] = row % p->classes;
			y[2] = number[i];
		}
	}
}
