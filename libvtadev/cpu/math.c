// SPDX-License-Identifier: Apache-2.0
/* Functions of float values, the same on every machine, and activations made of them. */
#include "cpu_impl.h"

CPU_INLINE float from_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

CPU_INLINE uint32_t to_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* Its neighbours are a whole number apart, on both sides. */
#define ROUNDER	12582912.0f

CPU_INLINE float floor_of(float x)
{
	float r = cpu_round(x);

	return r > x ? r - 1 : r;
}

CPU_INLINE float ceil_of(float x)
{
	float r = cpu_round(x);

	return r < x ? r + 1 : r;
}

float cpu_floor(float x)
{
	return floor_of(x);
}

float cpu_ceil(float x)
{
	return ceil_of(x);
}

CPU_INLINE float limit(float x, float lo, float hi)
{
	x = x < lo ? lo : x;
	return x > hi ? hi : x;
}

/*
 * x = n ln 2 + r, |r| <= ln 2 / 2; e^r by its series, whose rest is below 6 in 10^9. Adding
 * ROUNDER rounds to a whole number, half to even, which is then in the low bits.
 */
CPU_INLINE float exp_within(float x)
{
	float rounded = x * 1.44269504f + ROUNDER, n = rounded - ROUNDER;
	float r = (x - n * 0.693359375f) + n * 0.000212194440f;
	int32_t whole = (int32_t)(to_bits(rounded) - to_bits(ROUNDER)), half = whole >> 1;
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

/* Beyond these limits the result is 0 or infinite anyway. That of NaN is NaN. */
CPU_INLINE float exp_of(float x)
{
	float y = exp_within(limit(x, -110, 100));

	return x == x ? y : x;
}

float cpu_exp(float x)
{
	return exp_of(x);
}

CPU_INLINE float root_of(float x)
{
#if defined(__SSE2__) && defined(__NO_MATH_ERRNO__)
	return x < 0 ? from_bits(0x7fc00000u) : __builtin_sqrtf(x);
#else
	uint32_t bits = to_bits(x);
	double y, v = (double)x;

	if (!(x > 0) || bits == 0x7f800000u)
		return x < 0 ? from_bits(0x7fc00000u) : x;
	/* Half the exponent is right within 6 %, of a subnormal within a factor; it converges. */
	y = (double)from_bits((bits >> 1) + 0x1fc00000u);
	for (unsigned int i = 0; i < (bits < 0x00800000u ? 60u : 5u); i++)
		y = 0.5 * (y + v / y);
	return (float)y;
#endif
}

float cpu_sqrt(float x)
{
	return root_of(x);
}

CPU_INLINE float tanh_of(float x)
{
	float a = x < 0 ? -x : x, s = x * x, e = exp_of(-2 * a), t = (1 - e) / (1 + e);
	/* Near 0, 1 - e would lose digits. */
	float near = x * (1 + s * (-1.0f / 3 + s * (2.0f / 15 + s * (-17.0f / 315 +
								     s * (62.0f / 2835)))));

	t = x < 0 ? -t : t;
	return a < 0.25f ? near : t;
}

/*
 * One less the error function of @a, which is not negative. Below 1 it is 1 - a (1 + P(a^2)), where
 * @part is the function itself; up to 4 exp(-a Q(a)); beyond, 0 to a float. P and Q are fitted to
 * the least absolute error of the function, which is 7 in 10^8 with all roundings.
 */
CPU_INLINE float erfc_of(float a, float *part)
{
	float z = a * a, p = 0.0000764779379f, q = 0.00000355676797f, tail;

	p = p * z - 0.000794258725f;
	p = p * z + 0.00517978054f;
	p = p * z - 0.0268486105f;
	p = p * z + 0.112834305f;
	p = p * z - 0.376126051f;
	p = p * z + 0.128379151f;
	q = q * a - 0.0000284325924f;
	q = q * a - 0.000138763251f;
	q = q * a + 0.0031820517f;
	q = q * a - 0.0230916981f;
	q = q * a + 0.105669111f;
	q = q * a + 0.63541007f;
	q = q * a + 1.12859964f;
	tail = a < 4 ? exp_within(limit(-(q * a), -110, 0)) : 0;
	p = a + a * p;
	*part = a < 1 ? p : 1 - tail;
	return a < 1 ? 1 - p : tail;
}

CPU_INLINE float erf_of(float x)
{
	float y;

	erfc_of(x < 0 ? -x : x, &y);
	y = x < 0 ? -y : y;
	return x == x ? y : x;
}

CPU_INLINE float gelu_of(float x)
{
	float t = x * 0.707106781f, part, c = erfc_of(t < 0 ? -t : t, &part);

	return 0.5f * x * (x < 0 ? c : x == x ? 1 + part : x);
}

/* tanh(ln(1 + e)) = n / (n + 2) with n = e (e + 2), for e = exp(x) */
CPU_INLINE float mish_of(float x)
{
	float e = exp_within(limit(x, -110, 20)), n = e * (e + 2);

	return x * (n / (n + 2));
}

/* (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), with y = sqrt(2 / pi) (x + 0.044715 x^3) */
CPU_INLINE float gelu_tanh_of(float x)
{
	return x / (1 + exp_of(x * (-1.59576912f + x * x * -0.0713548163f)));
}

/* The frequent ones have a loop each that the compiler vectorises. */
#define LOOP(kind, result)				\
	case kind:					\
		for (size_t i = 0; i < n; i++) {	\
			float x = y[i];			\
							\
			y[i] = (result);		\
		}					\
		return

CPU_BODY cpu_act_body(bool wide, const struct vtacpu_act *act, float *y, size_t n)
{
	float a = act->a, b = act->b;

	(void)wide;
	switch (act->kind) {
	case VTACPU_ACT_NONE:
		return;
	case VTACPU_ACT_POWER:
		for (size_t i = 0; i < n; i++)
			y[i] = a == 2 ? y[i] * y[i] : cpu_power(y[i], a);
		return;
	LOOP(VTACPU_ACT_CLIP, limit(x, a, b));
	LOOP(VTACPU_ACT_LEAKY, x < 0 ? a * x : x);
	LOOP(VTACPU_ACT_HARD_SIGMOID, limit(a * x + b, 0, 1));
	LOOP(VTACPU_ACT_HARD_SWISH, x * limit(x * (1.0f / 6) + 0.5f, 0, 1));
	LOOP(VTACPU_ACT_SIGMOID, 1 / (1 + exp_of(-x)));
	LOOP(VTACPU_ACT_TANH, tanh_of(x));
	LOOP(VTACPU_ACT_EXP, exp_of(x));
	LOOP(VTACPU_ACT_SQRT, root_of(x));
	LOOP(VTACPU_ACT_ABS, x < 0 ? -x : x);
	LOOP(VTACPU_ACT_NEG, -x);
	LOOP(VTACPU_ACT_FLOOR, floor_of(x));
	LOOP(VTACPU_ACT_CEIL, ceil_of(x));
	LOOP(VTACPU_ACT_ROUND, cpu_round(x));
	LOOP(VTACPU_ACT_RECIPROCAL, 1 / x);
	LOOP(VTACPU_ACT_ERF, erf_of(x));
	LOOP(VTACPU_ACT_GELU, gelu_of(x));
	LOOP(VTACPU_ACT_GELU_TANH, gelu_tanh_of(x));
	LOOP(VTACPU_ACT_MISH, mish_of(x));
	LOOP(VTACPU_ACT_SWISH, x * (1 / (1 + exp_of(-(a * x)))));
	default:
		for (size_t i = 0; i < n; i++)
			y[i] = cpu_function(act->kind, a, b, y[i]);
	}
}

CPU_WIDE(cpu_act, (const struct vtacpu_act *act, float *y, size_t n), act, y, n)
