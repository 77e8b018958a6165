// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that are less frequent, and powers. They are computed in double, by series and by
 * reduction of the argument, so that the float result is within a step of the exact one.
 */
#include "cpu_impl.h"

#define LN2		0.69314718055994530942
#define HALF_PI		1.57079632679489661923
#define SQRT_HALF	0.70710678118654752440

static double double_of(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double not_a_number(void)
{
	return double_of(0x7ff8000000000000u);
}

static double infinite(void)
{
	return double_of(0x7ff0000000000000u);
}

static double magnitude(double x)
{
	return double_of(bits_of(x) & 0x7fffffffffffffffu);
}

static bool is_negative(double x)
{
	return bits_of(x) >> 63;
}

/* No double from 2^52 on has a fraction. The result of NaN is NaN. */
static double nearest(double x)
{
	double whole = 4503599627370496.0, a = magnitude(x), r;

	if (!(a < whole))
		return x;
	r = (a + whole) - whole;
	return is_negative(x) ? -r : r;
}

/* coefficients[0] + coefficients[1] * x + ... */
static double polynomial(const double *coefficients, unsigned int n, double x)
{
	double y = 0;

	while (n--)
		y = y * x + coefficients[n];
	return y;
}

static double root(double x)
{
	double y = double_of((bits_of(x) >> 1) + 0x1ff8000000000000u);

	if (!(x > 0) || x == infinite())
		return x < 0 ? not_a_number() : x;
	for (unsigned int i = 0; i < 6; i++)
		y = 0.5 * (y + x / y);
	return y;
}

/* x = n ln 2 + r; the series of e^r, |r| <= ln 2 / 2. */
static double exponential(double x)
{
	static const double series[] = {
		1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
		1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800,
	};
	double n;

	if (x != x)
		return x;
	if (x > 700)
		return infinite();
	if (x < -700)
		return 0;
	n = nearest(x / LN2);
	return polynomial(series, 12, x - n * LN2) *
	       double_of((uint64_t)((int64_t)n + 1023) << 52);
}

/* e^x - 1, which near 0 would lose digits. */
static double exponential_less_one(double x)
{
	static const double series[] = {
		1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
	};

	return magnitude(x) < 0.05 ? x * polynomial(series, 8, x) : exponential(x) - 1;
}

/* x = 2^n m with m from sqrt(1/2) to sqrt(2), and ln m by the series of artanh. No subnormals. */
static double logarithm(double x)
{
	static const double series[] = {
		2, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
	};
	uint64_t bits = bits_of(x);
	double m, s;
	int64_t n;

	if (!(x > 0) || x == infinite())
		return x == 0 ? -infinite() : x < 0 ? not_a_number() : x;
	n = (int64_t)(bits >> 52) - 1022;
	m = double_of((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);
	if (m < SQRT_HALF) {
		m *= 2;
		n--;
	}
	s = (m - 1) / (m + 1);
	return (double)n * LN2 + s * polynomial(series, 8, s * s);
}

/* ln(1 + x) */
static double logarithm_of_one_more(double x)
{
	return magnitude(x) < 0.0001 ? x * (1 + x * (-0.5 + x * (1.0 / 3))) : logarithm(1 + x);
}

/*
 * The sine of x and of x + a quarter of the period. x = n pi / 2 + r, with pi / 2 in two parts
 * of which the first has few bits: exact while n has at most 20 bits, less so beyond.
 */
double cpu_sine(double x, int quarters)
{
	static const double sines[] = {
		1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
		1.0 / 6227020800.0,
	};
	static const double cosines[] = {
		1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
	};
	const double high = 1.57079632673412561417, low = 0.0000000000607710050650619224932;
	double n = nearest(x / HALF_PI), r = (x - n * high) - n * low, y;
	uint64_t quarter;

	if (!(magnitude(x) < infinite()))
		return not_a_number();
	if (!(magnitude(r) <= 1))
		r = 0;	/* so large that neighbouring floats are periods apart */
	quarter = (uint64_t)(int64_t)(magnitude(n) < 9e18 ? n : 0) + (uint64_t)quarters;
	y = quarter & 1 ? polynomial(cosines, 7, r * r) : r * polynomial(sines, 7, r * r);
	return quarter & 2 ? -y : y;
}

/* By atan(x) = pi/2 - atan(1/x) and pi/4 + atan((x - 1) / (x + 1)), then its series. */
static double arc_tangent(double x)
{
	double a = magnitude(x), t = a > 1 ? 1 / a : a, z, add = 0, y = 0;

	if (t > 0.41421356237309503) {
		t = (t - 1) / (t + 1);
		add = HALF_PI / 2;
	}
	z = t * t;
	for (int i = 27; i > 0; i -= 2)
		y = 1.0 / i - z * y;
	y = add + t * y;
	y = a > 1 ? HALF_PI - y : y;
	return is_negative(x) ? -y : y;
}

static double arc_sine(double x)
{
	double a = magnitude(x);

	if (!(a <= 1))
		return not_a_number();
	if (a == 1)
		return x * HALF_PI;
	return arc_tangent(x / root((1 - x) * (1 + x)));
}

static double hyperbolic_sine(double x)
{
	double less = exponential_less_one(magnitude(x)), y = 0.5 * (less + less / (less + 1));

	if (less == infinite())
		y = less;
	return is_negative(x) ? -y : y;
}

static double area_sine(double x)
{
	double a = magnitude(x), y;

	if (a == infinite())
		return x;
	/* sqrt(a^2 + 1) - 1 = a^2 / (sqrt(a^2 + 1) + 1) */
	y = logarithm_of_one_more(a + a * a / (root(a * a + 1) + 1));
	return is_negative(x) ? -y : y;
}

static double area_tangent(double x)
{
	double a = magnitude(x), y;

	if (!(a <= 1))
		return not_a_number();
	y = a == 1 ? infinite() : 0.5 * logarithm_of_one_more(2 * a / (1 - a));
	return is_negative(x) ? -y : y;
}

/* ln(1 + e^x) */
static double softplus(double x)
{
	return x > 40 ? x : logarithm_of_one_more(exponential(x));
}

/* ---- narrower floats ---- */

/* The float of @bits without the last @n bits, half to even. */
static float cut_bits(uint32_t bits, unsigned int n)
{
	uint32_t odd = bits >> n & 1, half = (1u << (n - 1)) - 1;
	float y;

	bits = (bits + half + odd) & ~((1u << n) - 1);
	memcpy(&y, &bits, sizeof(y));
	return y;
}

static float nearest_bfloat(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return x != x ? x : cut_bits(bits, 16);
}

/* Below 2^-14 a float16 is a multiple of 2^-24; from 65520 on it is infinite. */
static float nearest_half(float x)
{
	float a = x < 0 ? -x : x;
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	if (a >= 65520)
		return x < 0 ? -(float)infinite() : (float)infinite();
	if (a < 0.00006103515625f)
		return (float)nearest((double)x * 16777216.0) / 16777216.0f;
	return x != x ? x : cut_bits(bits, 13);
}

float cpu_function(uint32_t kind, float a, float b, float x)
{
	double v = (double)x, lo = (double)a, by = (double)b;

	switch (kind) {
	case VTACPU_ACT_LOG:
		return (float)logarithm(v);
	case VTACPU_ACT_SIGN:
		return x > 0 ? 1 : x < 0 ? -1 : x;
	case VTACPU_ACT_SIN:
		return (float)cpu_sine(v, 0);
	case VTACPU_ACT_COS:
		return (float)cpu_sine(v, 1);
	case VTACPU_ACT_TAN:
		return (float)(cpu_sine(v, 0) / cpu_sine(v, 1));
	case VTACPU_ACT_ASIN:
		return (float)arc_sine(v);
	case VTACPU_ACT_ACOS:
		return (float)(HALF_PI - arc_sine(v));
	case VTACPU_ACT_ATAN:
		return (float)arc_tangent(v);
	case VTACPU_ACT_SINH:
		return (float)hyperbolic_sine(v);
	case VTACPU_ACT_COSH:
		return (float)(0.5 * (exponential(v) + exponential(-v)));
	case VTACPU_ACT_ASINH:
		return (float)area_sine(v);
	case VTACPU_ACT_ACOSH:
		return (float)(x < 1 ? not_a_number() : x > 1e18f ? logarithm(v) + LN2 :
			       logarithm(v + root((v - 1) * (v + 1))));
	case VTACPU_ACT_ATANH:
		return (float)area_tangent(v);
	case VTACPU_ACT_SOFTPLUS:
		return (float)softplus(v);
	case VTACPU_ACT_SOFTSIGN:
		return x / (1 + (x < 0 ? -x : x));
	case VTACPU_ACT_ELU:
		return x < 0 ? (float)(lo * exponential_less_one(v)) : x;
	case VTACPU_ACT_SELU:
		return (float)(by * (x < 0 ? lo * exponential_less_one(v) : v));
	case VTACPU_ACT_CELU:
		return x < 0 ? (float)(lo * exponential_less_one(v / lo)) : x;
	case VTACPU_ACT_THRESHOLD:
		return x > a ? x : 0;
	case VTACPU_ACT_SHRINK:
		return x < -a ? x + b : x > a ? x - b : 0;
	case VTACPU_ACT_POWER:
		return cpu_power(x, a);
	case VTACPU_ACT_F16:
		return nearest_half(x);
	case VTACPU_ACT_BF16:
		return nearest_bfloat(x);
	default:
		return x;
	}
}

float cpu_power(float x, float y)
{
	double exponent = (double)y, a = magnitude((double)x), r;
	bool whole = nearest(exponent) == exponent;
	bool odd = whole && nearest(exponent / 2) != exponent / 2;

	if (y == 0 || x == 1)
		return 1;
	if (x != x || y != y)
		return (float)not_a_number();
	/* A base of -1 and an infinite exponent give 1, as in C. */
	if (a == 1)
		r = 1;
	else if (magnitude(exponent) == infinite())
		r = (a > 1) == (y > 0) ? infinite() : 0;
	else if (a == 0 || a == infinite())
		r = (a == 0) == (y > 0) ? 0 : infinite();
	else
		r = exponential(exponent * logarithm(a));
	if (is_negative((double)x) && odd)
		return (float)-r;
	return (float)(x < 0 && !whole && a != infinite() ? not_a_number() : r);
}

/* By long division in binary: exact, in as many steps as the exponents differ. */
float cpu_remainder(float x, float y)
{
	double a = magnitude((double)x), b = magnitude((double)y), step = b;

	if (!(a < infinite()) || y == 0 || y != y)
		return (float)not_a_number();
	if (a < b)
		return x;
	while (step <= a / 2)
		step *= 2;
	while (step >= b) {
		a -= a >= step ? step : 0;
		step /= 2;
	}
	return (float)(x < 0 ? -a : a);
}

float cpu_log(float x)
{
	return (float)logarithm((double)x);
}
