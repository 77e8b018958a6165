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

CPU_INLINE int64_t integer_at(const void *x, size_t at, uint32_t type)
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

CPU_INLINE void put_integer(void *y, size_t at, uint32_t type, int64_t v)
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

int64_t cpu_integer(const void *x, size_t at, uint32_t type)
{
	return integer_at(x, at, type);
}

double vtacpu_value(const void *values, size_t at, uint32_t type)
{
	return type == VTACPU_F32 ? (double)((const float *)values)[at] :
	       (double)integer_at(values, at, type);
}

void cpu_put_integer(void *y, size_t at, uint32_t type, int64_t v)
{
	put_integer(y, at, type, v);
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

CPU_INLINE float float_of(uint32_t op, float a, float b)
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

CPU_INLINE bool compare_floats(uint32_t op, float a, float b)
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

CPU_INLINE int64_t integer_of(uint32_t op, uint32_t type, int64_t a, int64_t b)
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

/* Two floats: with the operator of a comparison y is BOOL. */
CPU_INLINE
void float_values(uint32_t op, void *y, const float *a, size_t as, const float *b, size_t bs,
		  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (is_comparison(op))
			((uint8_t *)y)[i] = compare_floats(op, a[i * as], b[i * bs]);
		else
			((float *)y)[i] = float_of(op, a[i * as], b[i * bs]);
	}
}

/* An operator, a constant, with the frequent steps, which the compiler vectorises. */
CPU_INLINE
void float_steps(uint32_t op, void *y, const float *a, size_t as, const float *b, size_t bs,
		 uint32_t n)
{
	if (as == 1 && bs == 1)
		float_values(op, y, a, 1, b, 1, n);
	else if (as == 1 && bs == 0)
		float_values(op, y, a, 1, b, 0, n);
	else
		float_values(op, y, a, as, b, bs, n);
}

static void float_row(uint32_t op, void *y, const float *a, size_t as, const float *b, size_t bs,
		      uint32_t n)
{
	if (op <= VTACPU_DIV)
		cpu_float_row(op, y, a, as, b, bs, n);
	else if (op == VTACPU_PRELU)
		float_steps(VTACPU_PRELU, y, a, as, b, bs, n);
	else if (op == VTACPU_EQUAL)
		float_steps(VTACPU_EQUAL, y, a, as, b, bs, n);
	else if (op == VTACPU_LESS)
		float_steps(VTACPU_LESS, y, a, as, b, bs, n);
	else if (op == VTACPU_LESS_EQUAL)
		float_steps(VTACPU_LESS_EQUAL, y, a, as, b, bs, n);
	else if (op == VTACPU_POW && bs == 0 && *b == 2)
		cpu_float_row(VTACPU_MUL, y, a, as, a, as, n);
	else
		float_values(op, y, a, as, b, bs, n);
}

CPU_INLINE
void integer_values(uint32_t op, uint32_t type, void *y, const void *a, size_t as, const void *b,
		    size_t bs, uint32_t n)
{
	uint32_t to = is_comparison(op) ? VTACPU_BOOL : type;

	for (uint32_t i = 0; i < n; i++)
		put_integer(y, i, to, integer_of(op, type, integer_at(a, i * as, type),
						 integer_at(b, i * bs, type)));
}

/* Values of a type, a constant. */
CPU_INLINE
void integer_row(uint32_t op, uint32_t type, void *y, const void *a, size_t as, const void *b,
		 size_t bs, uint32_t n)
{
	if (op == VTACPU_ADD)
		integer_values(VTACPU_ADD, type, y, a, as, b, bs, n);
	else if (op == VTACPU_MUL)
		integer_values(VTACPU_MUL, type, y, a, as, b, bs, n);
	else if (op == VTACPU_EQUAL)
		integer_values(VTACPU_EQUAL, type, y, a, as, b, bs, n);
	else if (op == VTACPU_LESS)
		integer_values(VTACPU_LESS, type, y, a, as, b, bs, n);
	else
		integer_values(op, type, y, a, as, b, bs, n);
}

void vtacpu_binary(const struct vtacpu_binary *p, void *const *io, void *scratch)
{
	const uint32_t *const strides[] = { p->cast.a_stride, p->cast.b_stride };
	uint32_t op = p->cast.op, bytes = vtacpu_type_bytes(p->type);
	uint32_t to = is_comparison(op) ? 1 : bytes;
	uint8_t *y = io[2];
	struct cpu_rows r;

	(void)scratch;
	cpu_collapse(p->cast.rank, p->cast.dims, 2, strides, &r);
	for (size_t i = 0; i < r.rows; i++, y += (size_t)r.n * to, cpu_next_row(&r)) {
		const void *a = (const uint8_t *)io[0] + r.at[0] * bytes;
		const void *b = (const uint8_t *)io[1] + r.at[1] * bytes;

		if (p->type == VTACPU_F32)
			float_row(op, y, a, r.step[0], b, r.step[1], r.n);
		else if (p->type == VTACPU_I64)
			integer_row(op, VTACPU_I64, y, a, r.step[0], b, r.step[1], r.n);
		else if (p->type == VTACPU_I32)
			integer_row(op, VTACPU_I32, y, a, r.step[0], b, r.step[1], r.n);
		else
			integer_values(op, p->type, y, a, r.step[0], b, r.step[1], r.n);
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

/* Values of a size, a constant. */
CPU_INLINE
void select_row(uint32_t bytes, uint8_t *y, const uint8_t *which, const uint8_t *a,
		const uint8_t *b, const size_t *step, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *from_a = a + i * step[1] * bytes, *from_b = b + i * step[2] * bytes;

		cpu_copy_value(y + (size_t)i * bytes, which[i * step[0]] ? from_a : from_b, bytes);
	}
}

/* The same of 4 bytes with the frequent steps, which the compiler vectorises. */
CPU_INLINE
void select_words(uint32_t *y, const uint8_t *which, size_t cs, const uint32_t *a, size_t as,
		  const uint32_t *b, size_t bs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = a[i * as], w = b[i * bs];

		y[i] = which[i * cs] ? v : w;
	}
}

static void select_four(uint32_t *y, const uint8_t *which, const uint32_t *a, const uint32_t *b,
			const size_t *step, uint32_t n)
{
	if (step[0] == 1 && step[1] == 1 && step[2] == 1)
		select_words(y, which, 1, a, 1, b, 1, n);
	else if (step[0] == 1 && step[1] == 1 && step[2] == 0)
		select_words(y, which, 1, a, 1, b, 0, n);
	else if (step[0] == 1 && step[1] == 0 && step[2] == 1)
		select_words(y, which, 1, a, 0, b, 1, n);
	else
		select_words(y, which, step[0], a, step[1], b, step[2], n);
}

void vtacpu_select(const struct vtacpu_select *p, void *const *io, void *scratch)
{
	const uint32_t *const strides[] = { p->c_stride, p->a_stride, p->b_stride };
	uint8_t *y = io[3];
	struct cpu_rows r;

	(void)scratch;
	cpu_collapse(p->rank, p->dims, 3, strides, &r);
	for (size_t i = 0; i < r.rows; i++, y += (size_t)r.n * p->bytes, cpu_next_row(&r)) {
		const uint8_t *which = (const uint8_t *)io[0] + r.at[0];
		const uint8_t *a = (const uint8_t *)io[1] + r.at[1] * p->bytes;
		const uint8_t *b = (const uint8_t *)io[2] + r.at[2] * p->bytes;

		if (p->bytes == 4)
			select_four((uint32_t *)y, which, (const uint32_t *)a, (const uint32_t *)b,
				    r.step, r.n);
		else if (p->bytes == 8)
			select_row(8, y, which, a, b, r.step, r.n);
		else
			select_row(p->bytes, y, which, a, b, r.step, r.n);
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

/* Values whose size is compared at once: within these limits they become int32. */
#define AT_ONCE		16u
#define WHOLE_LIMIT	2147483648.0f

CPU_INLINE void cast_float(uint32_t type, void *y, size_t at, float x)
{
	put_integer(y, at, type, type == VTACPU_BOOL ? x != 0 : whole_of(x));
}

/* To a type of at most 32 bits, a constant. */
CPU_INLINE void cast_floats(uint32_t type, void *y, const float *x, size_t n)
{
	size_t i = 0;

	for (; i + AT_ONCE <= n; i += AT_ONCE) {
		uint32_t beyond = 0;

		for (size_t j = i; j < i + AT_ONCE; j++)
			beyond |= !(x[j] > -WHOLE_LIMIT && x[j] < WHOLE_LIMIT);
		if (beyond)
			for (size_t j = i; j < i + AT_ONCE; j++)
				cast_float(type, y, j, x[j]);
		else
			for (size_t j = i; j < i + AT_ONCE; j++)
				put_integer(y, j, type, (int32_t)x[j]);
	}
	for (; i < n; i++)
		cast_float(type, y, i, x[i]);
}

/* Of a type, a constant. */
CPU_INLINE void cast_integers(uint32_t type, float *y, const void *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = type == VTACPU_I64 ? (float)integer_at(x, i, type) :
		       (float)(int32_t)integer_at(x, i, type);
}

CPU_BODY to_floats_body(bool wide, uint32_t type, float *y, const void *x, size_t n)
{
	(void)wide;
	switch (type) {
	case VTACPU_F32:
		memcpy(y, x, n * sizeof(*y));
		return;
	case VTACPU_I8:
		cast_integers(VTACPU_I8, y, x, n);
		return;
	case VTACPU_I32:
		cast_integers(VTACPU_I32, y, x, n);
		return;
	case VTACPU_I64:
		cast_integers(VTACPU_I64, y, x, n);
		return;
	default:
		cast_integers(VTACPU_U8, y, x, n);
	}
}

CPU_BODY of_floats_body(bool wide, uint32_t type, void *y, const float *x, size_t n)
{
	(void)wide;
	switch (type) {
	case VTACPU_I8:
	case VTACPU_U8:
		cast_floats(VTACPU_U8, y, x, n);
		return;
	case VTACPU_I32:
		cast_floats(VTACPU_I32, y, x, n);
		return;
	case VTACPU_BOOL:
		for (size_t i = 0; i < n; i++)
			((uint8_t *)y)[i] = x[i] != 0;
		return;
	default:
		for (size_t i = 0; i < n; i++)
			cast_float(type, y, i, x[i]);
	}
}

static void to_floats(uint32_t type, float *y, const void *x, size_t n);
CPU_WIDE(to_floats, (uint32_t type, float *y, const void *x, size_t n), type, y, x, n)
static void of_floats(uint32_t type, void *y, const float *x, size_t n);
CPU_WIDE(of_floats, (uint32_t type, void *y, const float *x, size_t n), type, y, x, n)

void vtacpu_cast(const struct vtacpu_cast *p, void *const *io, void *scratch)
{
	(void)scratch;
	if (p->y_type == VTACPU_F32)
		to_floats(p->x_type, io[1], io[0], p->count);
	else if (p->x_type == VTACPU_F32)
		of_floats(p->y_type, io[1], io[0], p->count);
	else
		for (size_t i = 0; i < p->count; i++)
			put_integer(io[1], i, p->y_type, integer_at(io[0], i, p->x_type));
}
