// SPDX-License-Identifier: Apache-2.0
/* Boxes that do not overlap a better one. */
#include "cpu_impl.h"

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
	       cpu_scratch(need, cpu_mul(p->boxes, 8)) ? -1 : 0;
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

/* An empty box overlaps nothing. */
static bool overlap(const struct box *a, const struct box *b, float limit)
{
	struct box both;
	float common;

	both.top = a->top > b->top ? a->top : b->top;
	both.left = a->left > b->left ? a->left : b->left;
	both.bottom = a->bottom < b->bottom ? a->bottom : b->bottom;
	both.right = a->right < b->right ? a->right : b->right;
	if (!(both.bottom > both.top) || !(both.right > both.left))
		return false;
	common = area_of(&both);
	return common > limit * (area_of(a) + area_of(b) - common);
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

/* The number of boxes that are taken; their numbers are in @taken. */
static uint32_t take_boxes(const struct vtacpu_nms *p, const float *boxes, struct heap *h,
			   uint32_t *taken)
{
	uint32_t n = 0;

	while (h->n && n < p->most) {
		struct box b = box_at(boxes + 4 * (size_t)h->at[0], p->centre);
		uint32_t k = 0;

		while (k < n) {
			struct box other = box_at(boxes + 4 * (size_t)taken[k], p->centre);

			if (overlap(&b, &other, p->iou))
				break;
			k++;
		}
		if (k == n)
			taken[n++] = h->at[0];
		h->at[0] = h->at[--h->n];
		if (h->n)
			sink(h, 0);
	}
	return n;
}

void vtacpu_nms(const struct vtacpu_nms *p, void *const *io, void *scratch)
{
	uint32_t *taken = (uint32_t *)scratch + p->boxes, boxes = p->boxes;
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
		uint32_t n;

		find_candidates(p, &h, boxes);
		n = take_boxes(p, at, &h, taken);
		for (uint32_t i = 0; i < n; i++, y += 3) {
			y[0] = row / p->classes;
			y[1] = row % p->classes;
			y[2] = taken[i];
		}
	}
}
