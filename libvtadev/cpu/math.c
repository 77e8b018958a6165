// SPDX-License-Identifier: Apache-2.0
/* Functions of float values, the same on every machine, and activations made of them. */
#include "cpu_impl.h"

static float from_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint32_t to_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* From here on every float is whole. */
#define WHOLE	8388608.0f

static inline float whole_near(float x)
{
	/* No float of this size has a fraction, so adding rounds it off, half to even. */
	return x < 0 ? (x - WHOLE) + WHOLE : (x + WHOLE) - WHOLE;
}

float cpu_round(float x)
{
	if (!(x > -WHOLE && x < WHOLE))
		return x;
	return whole_near(x);
}

float cpu_floor(float x)
{
	float r = cpu_round(x);

	return r > x ? r - 1 : r;
}

float cpu_ceil(float x)
{
	float r = cpu_round(x);

	return r < x ? r + 1 : r;
}

/* x = n ln 2 + r, |r| <= ln 2 / 2; e^r by its series, whose rest is below 6 in 10^9. */
static inline float exp_within(float x)
{
	float n = whole_near(x * 1.44269504f);
	float r = (x - n * 0.693359375f) + n * 0.000212194440f;
	int32_t whole = (int32_t)n, half = whole / 2;
	float p = 1.0f / 5040;

	p = p * r + 1.0f / 720;
	p = p * r + 1.0f / 120;
	p = p * r + 1.0f / 24;
	p = p * r + 1.0f / 6;
	p = p * r + 0.5f;
	p = p * r + 1;
	p = p * r + 1;
	/* In two steps: 2^n alone need not be a float. */
	p = p * from_bits((uint32_t)(half + 127) << 23);
	return p * from_bits((uint32_t)(whole - half + 127) << 23);
}

static inline float limit(float x, float lo, float hi)
{
	x = x < lo ? lo : x;
	return x > hi ? hi : x;
}

float cpu_exp(float x)
{
	if (x != x)
		return x;
	/* Beyond these the result is 0 or infinite anyway. */
	return exp_within(limit(x, -110, 100));
}

float cpu_sqrt(float x)
{
	uint32_t bits = to_bits(x);
	double y, v = (double)x;

	if (!(x > 0) || bits == 0x7f800000u)
		return x < 0 ? from_bits(0x7fc00000u) : x;
	/* Half the exponent is right within 6 %, of a subnormal within a factor; it converges. */
	y = (double)from_bits((bits >> 1) + 0x1fc00000u);
	for (unsigned int i = 0; i < (bits < 0x00800000u ? 60u : 5u); i++)
		y = 0.5 * (y + v / y);
	return (float)y;
}

static float tanh_of(float x)
{
	float a = x < 0 ? -x : x, e, t;

	/* Near 0, 1 - e would lose digits. */
	if (a < 0.25f) {
		float s = x * x;

		return x * (1 + s * (-1.0f / 3 + s * (2.0f / 15 + s * (-17.0f / 315 +
								       s * (62.0f / 2835)))));
	}
	e = cpu_exp(-2 * a);
	t = (1 - e) / (1 + e);
	return x < 0 ? -t : t;
}

static inline float act_one(uint32_t kind, float a, float b, float x)
{
	switch (kind) {
	case VTACPU_ACT_CLIP:
		return limit(x, a, b);
	case VTACPU_ACT_LEAKY:
		return x < 0 ? a * x : x;
	case VTACPU_ACT_HARD_SIGMOID:
		return limit(a * x + b, 0, 1);
	case VTACPU_ACT_HARD_SWISH:
		return x * limit(x * (1.0f / 6) + 0.5f, 0, 1);
	case VTACPU_ACT_SIGMOID:
		return 1 / (1 + cpu_exp(-x));
	case VTACPU_ACT_TANH:
		return tanh_of(x);
	case VTACPU_ACT_EXP:
		return cpu_exp(x);
	case VTACPU_ACT_SQRT:
		return cpu_sqrt(x);
	case VTACPU_ACT_ABS:
		return x < 0 ? -x : x;
	case VTACPU_ACT_NEG:
		return -x;
	case VTACPU_ACT_FLOOR:
		return cpu_floor(x);
	case VTACPU_ACT_CEIL:
		return cpu_ceil(x);
	default:
		return cpu_function(kind, a, b, x);
	}
}

/* The frequent ones have a loop each that the compiler vectorises. */
void cpu_act(const struct vtacpu_act *act, float *y, size_t n)
{
	float a = act->a, b = act->b;
	size_t i;

	switch (act->kind) {
	case VTACPU_ACT_NONE:
		return;
	case VTACPU_ACT_CLIP:
		for (i = 0; i < n; i++)
			y[i] = act_one(VTACPU_ACT_CLIP, a, b, y[i]);
		return;
	case VTACPU_ACT_LEAKY:
		for (i = 0; i < n; i++)
			y[i] = act_one(VTACPU_ACT_LEAKY, a, b, y[i]);
		return;
	case VTACPU_ACT_HARD_SIGMOID:
		for (i = 0; i < n; i++)
			y[i] = act_one(VTACPU_ACT_HARD_SIGMOID, a, b, y[i]);
		return;
	case VTACPU_ACT_HARD_SWISH:
		for (i = 0; i < n; i++)
			y[i] = act_one(VTACPU_ACT_HARD_SWISH, a, b, y[i]);
		return;
	default:
		for (i = 0; i < n; i++)
			y[i] = act_one(act->kind, a, b, y[i]);
	}
}
