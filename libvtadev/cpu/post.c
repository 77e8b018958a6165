// SPDX-License-Identifier: Apache-2.0
/* The integer output stage: struct vtacpu_post, as the card computes struct vtaops_post. */
#include "cpu_impl.h"

/* Of one channel, ready to be used. The shift is done in two steps if it rounds. */
struct stage {
	uint32_t mul, bias, half;
	unsigned int left, first, last;
	int32_t lo, hi;
};

static unsigned int at_most(uint32_t v, unsigned int most)
{
	return v < most ? v : most;
}

static struct stage stage(const struct cpu_post *p, size_t channel)
{
	const struct vtacpu_post *post = p->post;
	struct stage s = { .mul = post->mul ? (uint32_t)post->mul : 1, .lo = post->lo,
			   .hi = post->hi, .bias = (uint32_t)post->bias, .last = post->shift };

	if (p->muls)
		s.mul = (uint32_t)p->muls[channel];
	if (p->bias)
		s.bias = (uint32_t)p->bias[channel];
	if (p->shifts) {
		int32_t shift = p->shifts[channel];

		s.last = shift > 0 ? at_most((uint32_t)shift, 31) : 0;
		s.left = shift < 0 ? at_most(-(uint32_t)shift, 32) : 0;
	} else if (post->round && post->shift) {
		/* Half of more than 16 bits is no immediate of the card's: it shifts first. */
		s.last = post->shift < 16 ? post->shift : 1;
		s.first = post->shift - s.last;
		s.half = 1u << (s.last - 1);
	}
	return s;
}

static inline int32_t apply(const struct stage *s, int32_t acc)
{
	uint32_t v = (uint32_t)acc * s->mul + s->bias;
	int32_t y;

	v = s->left > 31 ? 0 : v << s->left;
	y = (int32_t)((uint32_t)((int32_t)v >> s->first) + s->half) >> s->last;
	y = y < s->lo ? s->lo : y;
	return y > s->hi ? s->hi : y;
}

/* int8 and uint8 have the same low bits. */
CPU_BODY apply_row_body(bool wide, const struct stage *stage, const int32_t *restrict acc,
			uint8_t *restrict y, size_t n)
{
	const struct stage s = *stage;

	(void)wide;
	for (size_t i = 0; i < n; i++)
		y[i] = (uint8_t)apply(&s, acc[i]);
}

static void apply_row(const struct stage *s, const int32_t *restrict acc, uint8_t *restrict y,
		      size_t n);
CPU_WIDE(apply_row, (const struct stage *s, const int32_t *restrict acc, uint8_t *restrict y,
		     size_t n), s, acc, y, n)

void cpu_post_row(const struct cpu_post *p, uint32_t channel, const int32_t *acc, void *y,
		  size_t n)
{
	const struct stage s = stage(p, channel);

	apply_row(&s, acc, y, n);
}

void cpu_post_channels(const struct cpu_post *p, uint32_t first, const int32_t *acc, void *y,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		cpu_post_row(p, (uint32_t)(first + i), acc + i, (uint8_t *)y + i, 1);
}
