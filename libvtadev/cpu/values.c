// SPDX-License-Identifier: Apache-2.0
/* Value by value, of values of any type: two operands, a choice, a conversion. */
#include "cpu_impl.h"

bool cpu_type_ok(struct vtacpu_need *need, uint32_t type)
{
	if (vtacpu_type_bytes(type))
		return true;
	need->why = "no such type";
	return false;
}

int64_t cpu_integer(const void *x, size_t at, uint32_t type)
{
	switch (type) {
	case VTACPU_I8:
		return ((const int8_t *)x)[at];
	case VTACPU_I32:
		return ((const int32_t *)x)[at];
	case VTACPU_I64:
		return ((const int64_t *)x)[at];
	default:
		return ((const uint8_t *)x)[at];
	}
}

void cpu_put_integer(void *y, size_t at, uint32_t type, int64_t v)
{
	switch (type) {
	case VTACPU_I32:
		((int32_t *)y)[at] = (int32_t)v;
		return;
	case VTACPU_I64:
		((int64_t *)y)[at] = v;
		return;
	case VTACPU_BOOL:
		((uint8_t *)y)[at] = v != 0;
		return;
	default:
		((uint8_t *)y)[at] = (uint8_t)v;
	}
}

/* ---- two operands ---- */

static bool is_comparison(uint32_t op)
{
	return op == VTACPU_EQUAL || op == VTACPU_LESS || op == VTACPU_LESS_EQUAL;
}

static bool is_for_integers(uint32_t op)
{
	return op == VTACPU_AND || op == VTACPU_OR || op == VTACPU_XOR ||
	       op == VTACPU_SHIFT_LEFT || op == VTACPU_SHIFT_RIGHT;
}

int cpu_binary_need(const struct vtacpu_binary *p, struct vtacpu_need *need)
{
	uint32_t bytes = vtacpu_type_bytes(p->type);

	if (p->cast.op >= VTACPU_BINARY_OPS || !cpu_type_ok(need, p->type) ||
	    (p->type == VTACPU_F32 && is_for_integers(p->cast.op)))
		return cpu_bad(need, "no such operator of these values");
	if (cpu_broadcast_need(&p->cast, need, bytes))
		return -1;
	bytes = is_comparison(p->cast.op) ? 1 : bytes;
	if (bytes != vtacpu_type_bytes(p->type))
		need->in_place = 0;
	return cpu_operand(need, cpu_count(p->cast.dims, p->cast.rank), bytes);
}

static float float_of(uint32_t op, float a, float b)
{
	float r;

	switch (op) {
	case VTACPU_POW:
		return cpu_power(a, b);
	case VTACPU_PRELU:
		return a < 0 ? a * b : a;
	case VTACPU_MOD:
	case VTACPU_FMOD:
		r = cpu_remainder(a, b);
		return op == VTACPU_MOD && r != 0 && (r < 0) != (b < 0) ? r + b : r;
	default:
		return cpu_two_floats(op, a, b);
	}
}

static bool compare_floats(uint32_t op, float a, float b)
{
	return op == VTACPU_EQUAL ? a == b : op == VTACPU_LESS ? a < b : a <= b;
}

/* By repeated squaring, in integers that wrap; a negative exponent gives 1, -1 or 0. */
static int64_t integer_power(int64_t a, int64_t b)
{
	uint64_t y = 1, x = (uint64_t)a;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, x *= x)
		y *= b & 1 ? x : 1;
	return (int64_t)y;
}

static int64_t integer_mod(uint32_t op, int64_t a, int64_t b)
{
	int64_t r = b == 0 || b == -1 ? 0 : a % b;

	return op == VTACPU_MOD && r && (r < 0) != (b < 0) ? r + b : r;
}

/* Logical shifts of as many bits as the type has. */
static int64_t shift(uint32_t op, uint32_t type, int64_t a, int64_t b)
{
	uint32_t bits = vtacpu_type_bytes(type) * 8;
	uint64_t v = bits < 64 ? (uint64_t)a & ((1ull << bits) - 1) : (uint64_t)a;

	if (b < 0 || b >= bits)
		return 0;
	return (int64_t)(op == VTACPU_SHIFT_LEFT ? v << b : v >> b);
}

static int64_t integer_of(uint32_t op, uint32_t type, int64_t a, int64_t b)
{
	switch (op) {
	case VTACPU_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case VTACPU_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case VTACPU_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case VTACPU_MAX:
		return a > b ? a : b;
	case VTACPU_MIN:
		return a < b ? a : b;
	case VTACPU_DIV:
		return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
	case VTACPU_POW:
		return integer_power(a, b);
	case VTACPU_PRELU:
		return a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
	case VTACPU_EQUAL:
		return a == b;
	case VTACPU_LESS:
		return a < b;
	case VTACPU_LESS_EQUAL:
		return a <= b;
	case VTACPU_AND:
		return a & b;
	case VTACPU_OR:
		return a | b;
	case VTACPU_XOR:
		return a ^ b;
	case VTACPU_SHIFT_LEFT:
	case VTACPU_SHIFT_RIGHT:
		return shift(op, type, a, b);
	default:
		return integer_mod(op, a, b);
	}
}

static void binary_one(const struct vtacpu_binary *p, void *const *io, size_t a, size_t b,
		       size_t y)
{
	uint32_t op = p->cast.op;

	if (p->type != VTACPU_F32) {
		cpu_put_integer(io[2], y, is_comparison(op) ? VTACPU_BOOL : p->type,
				integer_of(op, p->type, cpu_integer(io[0], a, p->type),
					   cpu_integer(io[1], b, p->type)));
	} else {
		float v = ((const float *)io[0])[a], w = ((const float *)io[1])[b];

		if (is_comparison(op))
			((uint8_t *)io[2])[y] = compare_floats(op, v, w);
		else
			((float *)io[2])[y] = float_of(op, v, w);
	}
}

void vtacpu_binary(const struct vtacpu_binary *p, void *const *io, void *scratch)
{
	size_t count = (size_t)cpu_count(p->cast.dims, p->cast.rank);
	struct cpu_places at = { .rank = p->cast.rank, .dims = p->cast.dims };

	(void)scratch;
	for (size_t i = 0; i < count; i++) {
		binary_one(p, io, at.a, at.b, i);
		cpu_next_place(&at, p->cast.a_stride, p->cast.b_stride, NULL);
	}
}

/* ---- a choice ---- */

int cpu_select_need(const struct vtacpu_select *p, struct vtacpu_need *need)
{
	const uint32_t *strides[] = { p->c_stride, p->a_stride, p->b_stride };

	if (p->bytes != 1 && p->bytes != 2 && p->bytes != 4 && p->bytes != 8)
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	for (unsigned int i = 0; i < 3; i++)
		if (cpu_strided_need(need, p->rank, p->dims, strides[i], i ? p->bytes : 1))
			return -1;
	need->work = cpu_count(p->dims, p->rank);
	return cpu_operand(need, need->work, p->bytes);
}

void vtacpu_select(const struct vtacpu_select *p, void *const *io, void *scratch)
{
	struct cpu_places at = { .rank = p->rank, .dims = p->dims };
	size_t count = (size_t)cpu_count(p->dims, p->rank);
	const uint8_t *which = io[0];

	(void)scratch;
	for (size_t i = 0; i < count; i++) {
		cpu_copy_value((uint8_t *)io[3] + i * p->bytes,
			       which[at.a] ? (const uint8_t *)io[1] + at.b * p->bytes :
			       (const uint8_t *)io[2] + at.c * p->bytes, p->bytes);
		cpu_next_place(&at, p->c_stride, p->a_stride, p->b_stride);
	}
}

/* ---- a conversion ---- */

int cpu_cast_need(const struct vtacpu_cast *p, struct vtacpu_need *need)
{
	if (!p->count)
		return cpu_bad(need, "a size is 0, or too large");
	if (!cpu_type_ok(need, p->x_type) || !cpu_type_ok(need, p->y_type))
		return -1;
	need->work = p->count;
	return cpu_operand(need, p->count, vtacpu_type_bytes(p->x_type)) ||
	       cpu_operand(need, p->count, vtacpu_type_bytes(p->y_type)) ? -1 : 0;
}

/* Towards 0; what no int64 is (NaN too) becomes the nearest of its ends, or 0. */
static int64_t whole_of(float x)
{
	if (x >= 9223372036854775808.0f)
		return INT64_MAX;
	return x >= -9223372036854775808.0f ? (int64_t)x : x < 0 ? INT64_MIN : 0;
}

void vtacpu_cast(const struct vtacpu_cast *p, void *const *io, void *scratch)
{
	const float *x = io[0];
	float *y = io[1];

	(void)scratch;
	for (size_t i = 0; i < p->count; i++) {
		if (p->x_type == VTACPU_F32 && p->y_type == VTACPU_F32)
			y[i] = x[i];
		else if (p->y_type == VTACPU_F32)
			y[i] = (float)cpu_integer(io[0], i, p->x_type);
		else if (p->x_type == VTACPU_F32)
			cpu_put_integer(io[1], i, p->y_type, p->y_type == VTACPU_BOOL ?
					x[i] != 0 : whole_of(x[i]));
		else
			cpu_put_integer(io[1], i, p->y_type, cpu_integer(io[0], i, p->x_type));
	}
}
