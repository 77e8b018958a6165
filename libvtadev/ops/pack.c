// SPDX-License-Identifier: Apache-2.0
/* Packed layouts (vtaops.h): between row-major int8 and what the card reads. */
#include "ops_impl.h"

/* Value number @at of an array of values of 2^log_width bits. */
static void put(uint8_t *array, size_t at, unsigned int log_width, int8_t value)
{
	unsigned int width = 1u << log_width;
	unsigned int shift = (unsigned int)(at << log_width & 7);
	unsigned int mask = ((1u << width) - 1) << shift;
	uint8_t *byte = &array[at >> (3 - log_width)];

	*byte = (uint8_t)((*byte & ~mask) | (((unsigned int)value << shift) & mask));
}

static int8_t get(const uint8_t *array, size_t at, unsigned int log_width)
{
	unsigned int width = 1u << log_width;
	unsigned int shift = (unsigned int)(at << log_width & 7);
	unsigned int value = (unsigned int)array[at >> (3 - log_width)] >> shift &
			     ((1u << width) - 1);
	unsigned int sign = 1u << (width - 1);

	return (int8_t)((value ^ sign) - sign);
}

/* a · b · c · d · bytes, or 0 if that is nothing or more than 4 GiB. */
static size_t product(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t bytes)
{
	const uint32_t factors[] = { b, c, d, bytes };
	uint64_t size = a;

	for (unsigned int i = 0; i < 4; i++) {
		size *= factors[i];
		if (!size || size > 1ull << 32)
			return 0;
	}
	return (size_t)size;
}

size_t vtaops_act_bytes(const struct vtaops_core *core, uint32_t n, uint32_t c, uint32_t h,
			uint32_t w)
{
	return product(div_up(n, core->batch), div_up(c, core->block), h, w, core->inp_bytes);
}

/* Where value (n, c, y, x) of an activation stands. */
static size_t act_at(const struct vtaops_core *core, uint32_t blocks, uint32_t h, uint32_t w,
		     uint32_t n, uint32_t c, uint32_t y, uint32_t x)
{
	size_t element = ((size_t)(n / core->batch) * blocks + c / core->block) * h + y;

	element = element * w + x;
	return (element * core->batch + n % core->batch) * core->block + c % core->block;
}

void vtaops_pack_act(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
	uint32_t blocks = div_up(c, core->block);

	memset(dst, 0, vtaops_act_bytes(core, n, c, h, w));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < c; j++)
			for (uint32_t y = 0; y < h; y++)
				for (uint32_t x = 0; x < w; x++)
					put(dst, act_at(core, blocks, h, w, i, j, y, x),
					    core->log_inp_width, *src++);
}

void vtaops_unpack_act(const struct vtaops_core *core, int8_t *dst, const void *src,
		       uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
	uint32_t blocks = div_up(c, core->block);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < c; j++)
			for (uint32_t y = 0; y < h; y++)
				for (uint32_t x = 0; x < w; x++)
					*dst++ = get(src, act_at(core, blocks, h, w, i, j, y, x),
						     core->log_inp_width);
}

size_t vtaops_wgt_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i, uint32_t kh,
			uint32_t kw)
{
	return product(div_up(o, core->block), div_up(i, core->block), kh, kw, core->wgt_bytes);
}

/* Where value (o, i, y, x) of the weights stands. */
static size_t wgt_at(const struct vtaops_core *core, uint32_t blocks, uint32_t kh, uint32_t kw,
		     uint32_t o, uint32_t i, uint32_t y, uint32_t x)
{
	size_t element = ((size_t)(o / core->block) * blocks + i / core->block) * kh + y;

	element = element * kw + x;
	return (element * core->block + o % core->block) * core->block + i % core->block;
}

void vtaops_pack_wgt(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t o, uint32_t in, uint32_t kh, uint32_t kw)
{
	uint32_t blocks = div_up(in, core->block);

	memset(dst, 0, vtaops_wgt_bytes(core, o, in, kh, kw));
	for (uint32_t j = 0; j < o; j++)
		for (uint32_t i = 0; i < in; i++)
			for (uint32_t y = 0; y < kh; y++)
				for (uint32_t x = 0; x < kw; x++)
					put(dst, wgt_at(core, blocks, kh, kw, j, i, y, x),
					    core->log_wgt_width, *src++);
}

size_t vtaops_wgt_groups_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i,
			       uint32_t kh, uint32_t kw, uint32_t groups)
{
	uint32_t parts = vtaops_conv2d_parts(core, i, o, groups);
	size_t bytes = parts ? vtaops_wgt_bytes(core, o / parts, i / parts, kh, kw) : 0;

	return bytes > (1ull << 32) / (parts ? parts : 1) ? 0 : bytes * parts;
}

void vtaops_pack_wgt_groups(const struct vtaops_core *core, void *dst, const int8_t *src,
			    uint32_t o, uint32_t in, uint32_t kh, uint32_t kw, uint32_t groups)
{
	uint32_t parts = vtaops_conv2d_parts(core, in, o, groups);
	uint32_t n = groups ? groups : 1, each, blocks;
	uint32_t group_in = in / n, group_out = o / n;
	size_t part;

	if (!parts)
		return;
	each = n / parts;
	blocks = div_up(in / parts, core->block);
	part = vtaops_wgt_bytes(core, o / parts, in / parts, kh, kw);
	memset(dst, 0, part * parts);
	/* Output j of a part is of its group j / group_out, whose inputs come together. */
	for (uint32_t p = 0; p < parts; p++)
		for (uint32_t j = 0; j < each * group_out; j++)
			for (uint32_t i = 0; i < group_in; i++)
				for (uint32_t y = 0; y < kh; y++)
					for (uint32_t x = 0; x < kw; x++)
						put((uint8_t *)dst + p * part,
						    wgt_at(core, blocks, kh, kw, j,
							   j / group_out * group_in + i, y, x),
						    core->log_wgt_width, *src++);
}

void vtaops_pack_identity(const struct vtaops_core *core, void *dst)
{
	memset(dst, 0, core->wgt_bytes);
	for (uint32_t i = 0; i < core->block; i++)
		put(dst, (size_t)i * core->block + i, core->log_wgt_width, 1);
}

size_t vtaops_bias_bytes(const struct vtaops_core *core, uint32_t o)
{
	return product(div_up(o, core->block), 1, 1, 1, core->acc_bytes);
}

/* @value for channel @lane of an acc element, in all rows of the batch. */
static void put_acc(const struct vtaops_core *core, uint8_t *element, uint32_t lane, int32_t value)
{
	for (uint32_t row = 0; row < core->batch; row++)
		for (unsigned int i = 0; i < 4; i++)
			element[4 * (row * core->block + lane) + i] =
				(uint8_t)((uint32_t)value >> 8 * i);
}

void vtaops_pack_bias(const struct vtaops_core *core, void *dst, const int32_t *src, uint32_t o)
{
	memset(dst, 0, vtaops_bias_bytes(core, o));
	for (uint32_t j = 0; j < o; j++)
		put_acc(core, (uint8_t *)dst + (size_t)(j / core->block) * core->acc_bytes,
			j % core->block, src[j]);
}

size_t vtaops_depthwise_bytes(const struct vtaops_core *core, uint32_t c, uint32_t kh,
			      uint32_t kw)
{
	return product(div_up(c, core->block), kh, kw, 1, core->acc_bytes);
}

void vtaops_pack_depthwise(const struct vtaops_core *core, void *dst, const int8_t *src,
			   uint32_t c, uint32_t kh, uint32_t kw)
{
	size_t taps = (size_t)kh * kw;

	memset(dst, 0, vtaops_depthwise_bytes(core, c, kh, kw));
	for (uint32_t j = 0; j < c; j++)
		for (size_t k = 0; k < taps; k++)
			put_acc(core, (uint8_t *)dst +
				((j / core->block) * taps + k) * core->acc_bytes,
				j % core->block, *src++);
}
