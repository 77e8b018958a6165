// SPDX-License-Identifier: GPL-2.0-only
/* Calling the kernels for the CPU, and what they should do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calls.h"

static uint64_t state = 1;

uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

float rnd_float(void)
{
	return ((float)rnd(20001) - 10000) / 5000;
}

void prepare(struct call *c, uint32_t kernel, const void *params, int floats)
{
	*c = (struct call) { .scratch = NULL };
	if (vtacpu_need(kernel, params, &c->need))
		fail_msg("%s: %s", vtacpu_kernel_name(kernel), c->need.why);
	for (uint32_t i = 0; i < c->need.operands; i++) {
		size_t bytes = c->need.bytes[i];

		if (!bytes)
			continue;
		c->io[i] = malloc(bytes);
		assert_non_null(c->io[i]);
		for (size_t j = 0; j < bytes; j++)
			((uint8_t *)c->io[i])[j] = (uint8_t)rnd(256);
		for (size_t j = 0; floats && c->need.value[i] == 4 && j < bytes / 4; j++)
			((float *)c->io[i])[j] = rnd_float();
	}
	c->scratch = aligned_alloc(64, (c->need.scratch + 127) / 64 * 64);
	assert_non_null(c->scratch);
}

void run(struct call *c, uint32_t kernel, const void *params)
{
	vtacpu_run(kernel, params, c->io, c->scratch);
}

void drop(struct call *c)
{
	for (uint32_t i = 0; i < VTACPU_OPERANDS_MAX; i++)
		free(c->io[i]);
	free(c->scratch);
}

void same_float(double got, double want, double scale)
{
	if (!(fabs(got - want) <= 0.00001 * (scale + fabs(want))))
		fail_msg("%.9g is not %.9g", got, want);
}

/* ---- activations and the output stage, as the header has them ---- */

static double limit(double x, double lo, double hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/* To @bits bits, half to even, and to multiples of 2^-24 at least. */
static double rounded(double x, int bits)
{
	int e;

	frexp(x, &e);
	e = e < bits - 24 ? bits - 24 : e;
	return ldexp(nearbyint(ldexp(x, bits - e)), e - bits);
}

double act(const struct vtacpu_act *a, double x)
{
	switch (a->kind) {
	case VTACPU_ACT_CLIP:
		return limit(x, a->a, a->b);
	case VTACPU_ACT_LEAKY:
		return x < 0 ? a->a * x : x;
	case VTACPU_ACT_HARD_SIGMOID:
		return limit(a->a * x + a->b, 0, 1);
	case VTACPU_ACT_HARD_SWISH:
		return x * limit(x / 6 + 0.5, 0, 1);
	case VTACPU_ACT_SIGMOID:
		return 1 / (1 + exp(-x));
	case VTACPU_ACT_TANH:
		return tanh(x);
	case VTACPU_ACT_EXP:
		return exp(x);
	case VTACPU_ACT_SQRT:
		return sqrt(x);
	case VTACPU_ACT_ABS:
		return fabs(x);
	case VTACPU_ACT_NEG:
		return -x;
	case VTACPU_ACT_FLOOR:
		return floor(x);
	case VTACPU_ACT_CEIL:
		return ceil(x);
	case VTACPU_ACT_LOG:
		return log(x);
	case VTACPU_ACT_RECIPROCAL:
		return 1 / x;
	case VTACPU_ACT_ROUND:
		return nearbyint(x);
	case VTACPU_ACT_SIGN:
		return x > 0 ? 1 : x < 0 ? -1 : x;
	case VTACPU_ACT_SIN:
		return sin(x);
	case VTACPU_ACT_COS:
		return cos(x);
	case VTACPU_ACT_TAN:
		return tan(x);
	case VTACPU_ACT_ASIN:
		return asin(x);
	case VTACPU_ACT_ACOS:
		return acos(x);
	case VTACPU_ACT_ATAN:
		return atan(x);
	case VTACPU_ACT_SINH:
		return sinh(x);
	case VTACPU_ACT_COSH:
		return cosh(x);
	case VTACPU_ACT_ASINH:
		return asinh(x);
	case VTACPU_ACT_ACOSH:
		return acosh(x);
	case VTACPU_ACT_ATANH:
		return atanh(x);
	case VTACPU_ACT_ERF:
		return erf(x);
	case VTACPU_ACT_SOFTPLUS:
		return x > 50 ? x : log1p(exp(x));
	case VTACPU_ACT_SOFTSIGN:
		return x / (1 + fabs(x));
	case VTACPU_ACT_ELU:
		return x < 0 ? a->a * expm1(x) : x;
	case VTACPU_ACT_SELU:
		return a->b * (x < 0 ? a->a * expm1(x) : x);
	case VTACPU_ACT_CELU:
		return x < 0 ? a->a * expm1(x / (double)a->a) : x;
	case VTACPU_ACT_THRESHOLD:
		return x > (double)a->a ? x : 0;
	case VTACPU_ACT_SHRINK:
		return x < -(double)a->a ? x + a->b : x > (double)a->a ? x - a->b : 0;
	case VTACPU_ACT_SWISH:
		return x / (1 + exp(-(double)a->a * x));
	case VTACPU_ACT_POWER:
		return pow(x, a->a);
	case VTACPU_ACT_MISH:
		return x * tanh(x > 50 ? x : log1p(exp(x)));
	case VTACPU_ACT_F16:
	case VTACPU_ACT_BF16:
		if (isinf(x) || (a->kind == VTACPU_ACT_F16 && fabs(x) >= 65520))
			return copysign(INFINITY, x);
		return rounded(x, a->kind == VTACPU_ACT_F16 ? 11 : 8);
	case VTACPU_ACT_GELU:
		return 0.5 * x * (1 + erf(x / sqrt(2)));
	case VTACPU_ACT_GELU_TANH:
		return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	default:
		return x;
	}
}

struct vtacpu_act rnd_act(void)
{
	static const struct vtacpu_act some[] = {
		{ VTACPU_ACT_NONE, 0, 0 }, { VTACPU_ACT_CLIP, 0, INFINITY },
		{ VTACPU_ACT_CLIP, -1, 6 }, { VTACPU_ACT_LEAKY, 0.1f, 0 },
		{ VTACPU_ACT_HARD_SIGMOID, 0.2f, 0.5f }, { VTACPU_ACT_HARD_SWISH, 0, 0 },
		{ VTACPU_ACT_SIGMOID, 0, 0 }, { VTACPU_ACT_TANH, 0, 0 },
	};

	return some[rnd(8)];
}

static int32_t low32(int64_t v)
{
	return (int32_t)(uint32_t)v;
}

int32_t post(const struct vtacpu_post *p, void *const *vectors, uint32_t channel, int32_t acc)
{
	int64_t mul = p->mul ? p->mul : 1, bias = p->bias, shift = p->shift;
	int64_t v;

	if (vectors[0])
		bias = ((const int32_t *)vectors[0])[channel];
	if (vectors[1])
		mul = ((const int32_t *)vectors[1])[channel];
	if (vectors[2])
		shift = ((const int32_t *)vectors[2])[channel];
	v = low32(low32(acc * mul) + bias);
	if (p->round && shift)
		v = (v + (1ll << (shift - 1))) >> shift;
	else if (shift >= 0)
		v >>= shift > 31 ? 31 : shift;
	else
		v = shift <= -32 ? 0 : low32((int64_t)((uint64_t)v << -shift));
	return v < p->lo ? p->lo : v > p->hi ? p->hi : (int32_t)v;
}

/* Small enough that rounding does not wrap, which only mul does. */
struct vtacpu_post rnd_post(int is_unsigned, int vectors)
{
	struct vtacpu_post p = { .lo = is_unsigned ? 0 : -128, .hi = is_unsigned ? 255 : 127 };

	p.vectors = vectors ? rnd(8) : 0;
	if (!(p.vectors & VTACPU_BIAS))
		p.bias = (int32_t)rnd(20001) - 10000;
	if (!(p.vectors & VTACPU_MULS))
		p.mul = (int32_t)rnd(101);
	if (!(p.vectors & VTACPU_SHIFTS)) {
		p.shift = rnd(21);
		p.round = rnd(2);
	}
	if (rnd(2))
		p.lo = 0;
	return p;
}

void rnd_vectors(struct call *c, uint32_t first)
{
	const int32_t base[3] = { -20000, -200, -3 };
	const uint32_t span[3] = { 40001, 401, 18 };

	for (uint32_t v = 0; v < 3; v++)
		for (size_t i = 0; c->io[first + v] && i < c->need.bytes[first + v] / 4; i++)
			((int32_t *)c->io[first + v])[i] = base[v] + (int32_t)rnd(span[v]);
}

int32_t byte(const void *x, size_t at, uint32_t is_unsigned)
{
	return is_unsigned ? ((const uint8_t *)x)[at] : ((const int8_t *)x)[at];
}
