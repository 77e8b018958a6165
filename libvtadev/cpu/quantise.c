// SPDX-License-Identifier: Apache-2.0
/* Between float and integers, and between the plain layout and the card's. */
#include "vtaops.h"
#include "cpu_impl.h"

static int affine_need(struct vtacpu_need *need, const uint32_t dims[3], uint32_t x_value,
		       uint32_t y_value, uint32_t has_zero)
{
	uint64_t count = cpu_count(dims, 3);

	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = count;
	return cpu_flag_ok(need, has_zero) || cpu_operand(need, count, x_value) ||
	       cpu_operand(need, dims[1], 4) || cpu_operand_if(need, has_zero, dims[1], 4) ||
	       cpu_operand(need, count, y_value) ? -1 : 0;
}

int cpu_quantise_need(const struct vtacpu_quantise *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->channels, p->inner };
	int32_t least = p->type == VTACPU_U8 ? 0 : -128, most = least + 255;

	if (p->type != VTACPU_I8 && p->type != VTACPU_U8)
		return cpu_bad(need, "a type is not one to quantise to");
	if (p->lo > p->hi || p->lo < least || p->hi > most)
		return cpu_bad(need, "the limits are not within the type");
	return affine_need(need, dims, 4, 1, p->has_zero);
}

/* The zero point is no fraction: limits less it are exact, in double. */
CPU_BODY quantise_row_body(bool wide, uint8_t *restrict y, const float *restrict x, float scale,
			   double zero, double lo, double hi, uint32_t n)
{
	(void)wide;
	lo -= zero;
	hi -= zero;
	for (uint32_t i = 0; i < n; i++) {
		double v = (double)cpu_round(x[i] / scale);

		v = v > lo ? v : lo;
		v = v < hi ? v : hi;
		y[i] = (uint8_t)(int32_t)(v + zero);
	}
}

static void quantise_row(uint8_t *restrict y, const float *restrict x, float scale, double zero,
			 double lo, double hi, uint32_t n);
CPU_WIDE(quantise_row, (uint8_t *restrict y, const float *restrict x, float scale, double zero,
			double lo, double hi, uint32_t n), y, x, scale, zero, lo, hi, n)

void vtacpu_quantise(const struct vtacpu_quantise *p, void *const *io, void *scratch)
{
	const float *x = io[0], *scales = io[1];
	const int32_t *zeros = io[2];
	uint8_t *y = io[3];

	(void)scratch;
	for (size_t i = 0; i < (size_t)p->outer * p->channels; i++, x += p->inner, y += p->inner)
		quantise_row(y, x, scales[i % p->channels],
			     zeros ? zeros[i % p->channels] : 0, p->lo, p->hi, p->inner);
}

int cpu_dequantise_need(const struct vtacpu_dequantise *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->channels, p->inner };

	if (p->type != VTACPU_I8 && p->type != VTACPU_U8 && p->type != VTACPU_I32)
		return cpu_bad(need, "a type is not one to dequantise");
	return affine_need(need, dims, vtacpu_type_bytes(p->type), 4, p->has_zero);
}

/* From a zero point of so much on, a difference with 8 bits may need more than 32. */
#define WHOLE_SMALL	(1 << 30)

/* The difference of the two as a float, whatever their size. */
CPU_INLINE float scaled(int32_t v, int32_t zero, float scale)
{
	return (float)((int64_t)v - zero) * scale;
}

CPU_BODY dequantise_row_body(bool wide, float *y, const void *x, uint32_t type, float scale,
			     int32_t zero, uint32_t n)
{
	/* Of 8 bits, less a zero point as small: it needs no more than 32. */
	bool is_small = zero >= -WHOLE_SMALL && zero <= WHOLE_SMALL;

	(void)wide;
	if (type == VTACPU_I32)
		for (uint32_t i = 0; i < n; i++)
			y[i] = scaled(((const int32_t *)x)[i], zero, scale);
	else if (!is_small)
		for (uint32_t i = 0; i < n; i++)
			y[i] = scaled(cpu_value(x, i, type == VTACPU_U8, 0), zero, scale);
	else if (type == VTACPU_U8)
		for (uint32_t i = 0; i < n; i++)
			y[i] = (float)(((const uint8_t *)x)[i] - zero) * scale;
	else
		for (uint32_t i = 0; i < n; i++)
			y[i] = (float)(((const int8_t *)x)[i] - zero) * scale;
}

static void dequantise_row(float *y, const void *x, uint32_t type, float scale, int32_t zero,
			   uint32_t n);
CPU_WIDE(dequantise_row, (float *y, const void *x, uint32_t type, float scale, int32_t zero,
			  uint32_t n), y, x, type, scale, zero, n)

void vtacpu_dequantise(const struct vtacpu_dequantise *p, void *const *io, void *scratch)
{
	const float *scales = io[1];
	const int32_t *zeros = io[2];
	const uint8_t *x = io[0];
	float *y = io[3];
	size_t row = (size_t)p->inner * vtacpu_type_bytes(p->type);

	(void)scratch;
	for (size_t i = 0; i < (size_t)p->outer * p->channels; i++, x += row, y += p->inner)
		dequantise_row(y, x, p->type, scales[i % p->channels],
			       zeros ? zeros[i % p->channels] : 0, p->inner);
}

/* As much of a core as packing needs. */
static bool pack_core(const struct vtacpu_pack *p, struct vtaops_core *core)
{
	*core = (struct vtaops_core) { .log_inp_width = p->log_inp_width,
				       .log_batch = p->log_batch, .log_block = p->log_block };
	if (p->log_inp_width < 1 || p->log_inp_width > 3 || p->log_batch > 8 ||
	    p->log_block < 1 || p->log_block > 8 ||
	    p->log_batch + p->log_block + p->log_inp_width < 3)
		return false;
	core->batch = 1u << p->log_batch;
	core->block = 1u << p->log_block;
	core->inp_bytes = 1u << (p->log_batch + p->log_block + p->log_inp_width - 3);
	return true;
}

static int pack_need(const struct vtacpu_pack *p, struct vtacpu_need *need, bool unpack)
{
	const uint32_t dims[] = { p->n, p->c, p->h, p->w };
	uint64_t plain = cpu_count(dims, 4), packed;
	struct vtaops_core core;

	if (!pack_core(p, &core))
		return cpu_bad(need, "the configuration of the core is not a valid one");
	if (!plain)
		return cpu_bad(need, "a size is 0, or too large");
	packed = vtaops_act_bytes(&core, p->n, p->c, p->h, p->w);
	if (!packed)
		return cpu_bad(need, "an operand is larger than 2 GiB");
	need->work = plain;
	return cpu_operand(need, unpack ? packed : plain, 1) ||
	       cpu_operand(need, unpack ? plain : packed, 1) ? -1 : 0;
}

int cpu_pack_need(const struct vtacpu_pack *p, struct vtacpu_need *need)
{
	return pack_need(p, need, false);
}

int cpu_unpack_need(const struct vtacpu_pack *p, struct vtacpu_need *need)
{
	return pack_need(p, need, true);
}

void vtacpu_pack(const struct vtacpu_pack *p, void *const *io, void *scratch)
{
	struct vtaops_core core;

	(void)scratch;
	if (pack_core(p, &core))
		vtaops_pack_act(&core, io[1], io[0], p->n, p->c, p->h, p->w);
}

void vtacpu_unpack(const struct vtacpu_pack *p, void *const *io, void *scratch)
{
	struct vtaops_core core;

	(void)scratch;
	if (pack_core(p, &core))
		vtaops_unpack_act(&core, io[1], io[0], p->n, p->c, p->h, p->w);
}
