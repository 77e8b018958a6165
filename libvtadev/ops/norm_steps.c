// SPDX-License-Identifier: Apache-2.0
/*
 * A position's numbers, by steps of 32 bits that do not overflow:
 *	mean	to the nearest integer, M = sum / c, and what that leaves of it, F, in 1024ths. The
 *		sum of (x - M)^2 and the rest of the sum are exact, however far the mean is from 0
 *	root	of v = 2^places * c * variance + epsilon: v is shifted to the left by an even
 *		number of places until it is in [2^28, 2^30), and its upper 16 bits are m. The
 *		greatest of four lines is within 0.6 % of 1 / sqrt(m), and a step of Newton's
 *		method within 0.02 %
 *	factor	2^18 / sqrt(variance): that root, times a constant, shifted back by half the places
 */
#include "norm_steps.h"

#define FRACTION	10	/* places of F */
#define FRACTION_SPARE	5	/* of the factor, before it is multiplied by F */
#define ROOT_PLACES	14	/* of m in [1, 4), and of its root */
#define NEWTON_3	(3 << ROOT_PLACES)
#define IMM_MAX		32767

unsigned int vtaops_norm_places(uint32_t c)
{
	unsigned int places = 0;

	/* v is below 2^29 for any values, and epsilon behind it below 2^30. */
	while (c && places < FRACTION && (uint64_t)c * 65025 << (places + 1) < 1u << 29)
		places++;
	return places;
}

/* @mul / 2^*shift is 2^places / c, nearly; a product by |values| of up to @most has 31 bits. */
static int ratio(uint32_t c, unsigned int places, uint64_t most, unsigned int *shift)
{
	uint64_t mul = 0;

	for (*shift = 30; ; (*shift)--) {
		mul = ((1ull << (*shift + places)) + c / 2) / c;
		if ((mul <= IMM_MAX && mul * most < 1u << 31) || !*shift)
			return (int)mul;
	}
}

static uint32_t square_root(uint32_t v)
{
	uint32_t root = 0;

	for (uint32_t bit = 1u << 15; bit; bit >>= 1)
		if ((uint64_t)(root + bit) * (root + bit) <= v)
			root += bit;
	return root;
}

/* ---- steps ---- */

static void imm(const struct norm_steps *s, enum norm_reg dst, enum vta_isa_alu op, int value)
{
	s->imm(s->priv, dst, op, value);
}

static void pair(const struct norm_steps *s, enum norm_reg dst, enum norm_reg src,
		 enum vta_isa_alu op)
{
	s->pair(s->priv, dst, src, op);
}

static void set(const struct norm_steps *s, enum norm_reg dst, enum norm_reg src)
{
	s->clear(s->priv, dst);
	pair(s, dst, src, VTA_ISA_ADD);
}

static void shift_to_nearest(const struct norm_steps *s, enum norm_reg dst, unsigned int shift)
{
	if (!shift)
		return;
	if (shift > 1)
		imm(s, dst, VTA_ISA_SHR, (int)shift - 1);
	imm(s, dst, VTA_ISA_ADD, 1);
	imm(s, dst, VTA_ISA_SHR, 1);
}

/* MEAN from SUM; TEMP: what of the sum it leaves, and SQUARES of the differences. */
static void centre(const struct norm_steps *s, const struct vtaops_norm_form *f)
{
	unsigned int shift;
	int mul = ratio(f->c, 0, (uint64_t)f->c * 128, &shift);

	if (f->rms) {
		s->clear(s->priv, NORM_MEAN);
		imm(s, NORM_MEAN, VTA_ISA_ADD, f->zero);
	} else {
		set(s, NORM_MEAN, NORM_SUM);
		imm(s, NORM_MEAN, VTA_ISA_MUL, mul);
		shift_to_nearest(s, NORM_MEAN, shift);
	}
	set(s, NORM_TEMP, NORM_MEAN);
	imm(s, NORM_TEMP, VTA_ISA_MUL, -(int)f->c);
	pair(s, NORM_TEMP, NORM_SUM, VTA_ISA_ADD);
	/* squares - M * (2 * sum - c * M) */
	pair(s, NORM_SUM, NORM_TEMP, VTA_ISA_ADD);
	pair(s, NORM_SUM, NORM_MEAN, VTA_ISA_MUL);
	imm(s, NORM_SUM, VTA_ISA_MUL, -1);
	pair(s, NORM_SQUARES, NORM_SUM, VTA_ISA_ADD);
}

/* SUM becomes F, and SQUARES loses what the mean's fraction has of it. */
static void refine(const struct norm_steps *s, const struct vtaops_norm_form *f,
		   unsigned int places)
{
	unsigned int shift;
	/* The rest is at most c / 2, and an 8th more by the mean's rounding. */
	int mul = ratio(f->c, FRACTION, (uint64_t)f->c * 5 / 8 + 1, &shift);

	set(s, NORM_SUM, NORM_TEMP);
	imm(s, NORM_SUM, VTA_ISA_MUL, mul);
	shift_to_nearest(s, NORM_SUM, shift);
	pair(s, NORM_TEMP, NORM_SUM, VTA_ISA_MUL);
	shift_to_nearest(s, NORM_TEMP, FRACTION - places);
	imm(s, NORM_TEMP, VTA_ISA_MUL, -1);
	pair(s, NORM_SQUARES, NORM_TEMP, VTA_ISA_ADD);
	imm(s, NORM_SQUARES, VTA_ISA_MAX, 0);
}

static void add_epsilon(const struct norm_steps *s, uint32_t epsilon)
{
	if (!epsilon)
		return;
	if (epsilon <= IMM_MAX) {
		imm(s, NORM_SQUARES, VTA_ISA_ADD, (int)epsilon);
		return;
	}
	s->clear(s->priv, NORM_TEMP);
	imm(s, NORM_TEMP, VTA_ISA_ADD, (int)(epsilon >> 15));
	imm(s, NORM_TEMP, VTA_ISA_SHR, -15);
	imm(s, NORM_TEMP, VTA_ISA_ADD, (int)(epsilon & IMM_MAX));
	pair(s, NORM_SQUARES, NORM_TEMP, VTA_ISA_ADD);
}

/* Shift SQUARES to [2^28, 2^30), and take half of the places from PLACE. */
static void align(const struct norm_steps *s, int place)
{
	static const struct { int by, below; } steps[] = {
		{ 16, 14 }, { 8, 22 }, { 4, 26 }, { 2, 28 },
	};

	s->clear(s->priv, NORM_PLACE);
	imm(s, NORM_PLACE, VTA_ISA_ADD, place);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		/* -1 below the limit, else 0 */
		set(s, NORM_TEMP, NORM_SQUARES);
		imm(s, NORM_TEMP, VTA_ISA_SHR, steps[i].below);
		imm(s, NORM_TEMP, VTA_ISA_MIN, 1);
		imm(s, NORM_TEMP, VTA_ISA_ADD, -1);
		if (steps[i].by > 2)
			imm(s, NORM_TEMP, VTA_ISA_MUL, steps[i].by / 2);
		pair(s, NORM_PLACE, NORM_TEMP, VTA_ISA_ADD);
		imm(s, NORM_TEMP, VTA_ISA_MUL, 2);
		pair(s, NORM_SQUARES, NORM_TEMP, VTA_ISA_SHR);
	}
	imm(s, NORM_SQUARES, VTA_ISA_SHR, 14);
}

/* ROOT: 2^14 / sqrt(m / 2^14) of m in SQUARES, from 2^14 to 2^16. */
static void inverse_root(const struct norm_steps *s)
{
	/* Of four parts of [1, 4), each sqrt(2) times the one before; slopes have 15 places. */
	static const struct { int at_0, slope; } lines[] = {
		{ 22550, 12516 }, { 18962, 7442 }, { 15945, 4425 }, { 13408, 2631 },
	};

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		enum norm_reg to = i ? NORM_TEMP : NORM_ROOT;

		set(s, to, NORM_SQUARES);
		imm(s, to, VTA_ISA_MUL, -lines[i].slope);
		imm(s, to, VTA_ISA_SHR, ROOT_PLACES + 1);
		imm(s, to, VTA_ISA_ADD, lines[i].at_0);
		if (i)
			pair(s, NORM_ROOT, NORM_TEMP, VTA_ISA_MAX);
	}
	set(s, NORM_TEMP, NORM_ROOT);
	pair(s, NORM_TEMP, NORM_ROOT, VTA_ISA_MUL);
	imm(s, NORM_TEMP, VTA_ISA_SHR, ROOT_PLACES);
	pair(s, NORM_TEMP, NORM_SQUARES, VTA_ISA_MUL);
	imm(s, NORM_TEMP, VTA_ISA_SHR, ROOT_PLACES);
	imm(s, NORM_TEMP, VTA_ISA_MUL, -1);
	imm(s, NORM_TEMP, VTA_ISA_ADD, NEWTON_3 - IMM_MAX);
	imm(s, NORM_TEMP, VTA_ISA_ADD, IMM_MAX);
	pair(s, NORM_ROOT, NORM_TEMP, VTA_ISA_MUL);
	imm(s, NORM_ROOT, VTA_ISA_SHR, ROOT_PLACES + 1);
}

void norm_take_steps(const struct norm_steps *s, const struct vtaops_norm_form *f)
{
	unsigned int places = vtaops_norm_places(f->c), bits = 0;
	uint32_t count = f->c << places, root;

	/* The square root of what variances are multiplied by, with so many bits that it has 15. */
	while ((count << 2 * bits) < 1u << 28)
		bits++;
	root = min_u32(square_root(count << 2 * bits), IMM_MAX);
	centre(s, f);
	if (places)
		imm(s, NORM_SQUARES, VTA_ISA_SHR, -(int)places);
	if (!f->rms)
		refine(s, f, places);
	add_epsilon(s, f->epsilon);
	align(s, (int)bits + 28 - VTAOPS_NORM_PLACES);
	inverse_root(s);
	imm(s, NORM_ROOT, VTA_ISA_MUL, (int)root);
	pair(s, NORM_ROOT, NORM_PLACE, VTA_ISA_SHR);
	/* -(M + F / 1024) * factor, modulo 2^32 */
	pair(s, NORM_MEAN, NORM_ROOT, VTA_ISA_MUL);
	if (!f->rms) {
		set(s, NORM_TEMP, NORM_ROOT);
		imm(s, NORM_TEMP, VTA_ISA_SHR, FRACTION_SPARE);
		pair(s, NORM_TEMP, NORM_SUM, VTA_ISA_MUL);
		imm(s, NORM_TEMP, VTA_ISA_SHR, FRACTION - FRACTION_SPARE);
		pair(s, NORM_MEAN, NORM_TEMP, VTA_ISA_ADD);
	}
	imm(s, NORM_MEAN, VTA_ISA_MUL, -1);
}

/* ---- by the host ---- */

static int32_t shifted(int32_t value, int32_t by)
{
	if (by >= 0)
		return value >> (by < 31 ? by : 31);
	return by <= -32 ? 0 : (int32_t)((uint32_t)value << -by);
}

static int32_t alu(enum vta_isa_alu op, int32_t a, int32_t b)
{
	switch (op) {
	case VTA_ISA_MIN:
		return a < b ? a : b;
	case VTA_ISA_MAX:
		return a > b ? a : b;
	case VTA_ISA_ADD:
		return (int32_t)((uint32_t)a + (uint32_t)b);
	case VTA_ISA_MUL:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	case VTA_ISA_SHR:
		break;
	}
	return shifted(a, b);
}

static void host_clear(void *priv, enum norm_reg dst)
{
	int32_t *reg = priv;

	reg[dst] = 0;
}

static void host_imm(void *priv, enum norm_reg dst, enum vta_isa_alu op, int imm_value)
{
	int32_t *reg = priv;

	reg[dst] = alu(op, reg[dst], imm_value);
}

static void host_pair(void *priv, enum norm_reg dst, enum norm_reg src, enum vta_isa_alu op)
{
	int32_t *reg = priv;

	reg[dst] = alu(op, reg[dst], reg[src]);
}

void vtaops_norm_factors(const struct vtaops_norm_form *f, int32_t sum, int32_t squares,
			 int32_t *factor, int32_t *offset)
{
	int32_t reg[NORM_REGS] = { [NORM_SUM] = sum, [NORM_SQUARES] = squares };
	const struct norm_steps steps = { host_clear, host_imm, host_pair, reg };

	norm_take_steps(&steps, f);
	*factor = reg[NORM_FACTOR];
	*offset = reg[NORM_OFFSET];
}

int32_t vtaops_norm_value(const struct vtaops_norm_form *f, int x, int32_t factor, int32_t offset)
{
	int32_t product = (int32_t)((uint32_t)x * (uint32_t)factor + (uint32_t)offset);

	return product >> f->shift;
}
