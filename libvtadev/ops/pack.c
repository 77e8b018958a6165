// SPDX-License-Identifier: Apache-2.0
/* Packed layouts (vtaops.h): between row-major int8 and what the card reads. */
#include "lanes.h"

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

int vtaops_act_is_packed(const struct vtaops_core *core, uint32_t n, uint32_t c, uint32_t h,
			 uint32_t w)
{
	return core->log_inp_width == 3 && h == 1 && w == 1 && c % core->block == 0 &&
	       (core->batch == 1 || (c == core->block && n % core->batch == 0));
}

/* The lanes of image @n in block @block of @blocks; positions are @plane. */
static struct ops_lanes act_lanes(const struct vtaops_core *core, const void *packed, uint32_t n,
				  uint32_t block, uint32_t blocks, size_t plane)
{
	size_t element = ((size_t)(n / core->batch) * blocks + block) * plane;

	return (struct ops_lanes) {
		.array = (uint8_t *)(uintptr_t)packed,
		.at = (element * core->batch + n % core->batch) * core->block,
		.step = (size_t)core->batch * core->block,
		.count = core->block, .log_width = core->log_inp_width,
	};
}

void vtaops_pack_act(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
	uint32_t blocks = div_up(c, core->block);
	size_t plane = (size_t)h * w;

	if (n % core->batch)
		memset(dst, 0, vtaops_act_bytes(core, n, c, h, w));
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < blocks; j++) {
			struct ops_lanes lanes = act_lanes(core, dst, i, j, blocks, plane);
			uint32_t given = min_u32(core->block, c - j * core->block);

			ops_to_lanes(&lanes, src, plane, given, plane);
			src += given * plane;
		}
	}
}

void vtaops_unpack_act(const struct vtaops_core *core, int8_t *dst, const void *src,
		       uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
	uint32_t blocks = div_up(c, core->block);
	size_t plane = (size_t)h * w;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < blocks; j++) {
			struct ops_lanes lanes = act_lanes(core, src, i, j, blocks, plane);
			uint32_t given = min_u32(core->block, c - j * core->block);

			ops_from_lanes(&lanes, dst, plane, given, plane);
			dst += given * plane;
		}
	}
}

size_t vtaops_wgt_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i, uint32_t kh,
			uint32_t kw)
{
	return product(div_up(o, core->block), div_up(i, core->block), kh, kw, core->wgt_bytes);
}

void vtaops_pack_wgt(const struct vtaops_core *core, void *dst, const int8_t *src,
		     uint32_t o, uint32_t in, uint32_t kh, uint32_t kw)
{
	size_t blocks = div_up(in, core->block), taps = (size_t)kh * kw;

	if (o % core->block)
		memset(dst, 0, vtaops_wgt_bytes(core, o, in, kh, kw));
	for (uint32_t j = 0; j < o; j++) {
		for (uint32_t i = 0; i < in; i += core->block) {
			size_t element = (j / core->block * blocks + i / core->block) * taps;
			uint32_t given = min_u32(core->block, in - i);
			struct ops_lanes lanes = {
				.array = dst,
				.at = (element * core->block + j % core->block) * core->block,
				.step = (size_t)core->block * core->block,
				.count = core->block, .log_width = core->log_wgt_width,
			};

			ops_to_lanes(&lanes, src, taps, given, taps);
			src += given * taps;
		}
	}
}

size_t vtaops_wgt_groups_bytes(const struct vtaops_core *core, uint32_t o, uint32_t i,
			       uint32_t kh, uint32_t kw, uint32_t groups)
{
	uint32_t parts = vtaops_conv2d_parts(core, i, o, groups);
	size_t bytes = parts ? vtaops_wgt_bytes(core, ops_part_channels(core, o, parts),
						ops_part_channels(core, i, parts), kh, kw) : 0;

	return bytes > (1ull << 32) / (parts ? parts : 1) ? 0 : bytes * parts;
}

void vtaops_pack_wgt_groups(const struct vtaops_core *core, void *dst, const int8_t *src,
			    uint32_t o, uint32_t in, uint32_t kh, uint32_t kw, uint32_t groups)
{
	uint32_t parts = vtaops_conv2d_parts(core, in, o, groups);
	uint32_t n = groups ? groups : 1, group_in = in / n, group_out = o / n;
	size_t blocks, part, taps = (size_t)kh * kw;
	uint32_t part_in, part_out;

	if (!parts || !group_out)
		return;
	part_in = ops_part_channels(core, in, parts);
	part_out = ops_part_channels(core, o, parts);
	blocks = div_up(part_in, core->block);
	part = vtaops_wgt_bytes(core, part_out, part_in, kh, kw);
	memset(dst, 0, part * parts);
	/* Output j of a part is of its group j / group_out, whose inputs come together. */
	for (uint32_t p = 0; p < parts; p++) {
		uint8_t *array = (uint8_t *)dst + p * part;

		for (uint32_t j = 0; j < part_out && p * part_out + j < o; j++) {
			for (uint32_t i = 0; i < group_in; i++) {
				uint32_t at = j / group_out * group_in + i;
				size_t row = j / core->block * blocks + at / core->block;

				for (size_t k = 0; k < taps; k++)
					ops_put(array, ((row * taps + k) * core->block +
							j % core->block) * core->block +
						       at % core->block,
						core->log_wgt_width, *src++);
			}
		}
	}
}

void vtaops_pack_identity(const struct vtaops_core *core, void *dst)
{
	memset(dst, 0, core->wgt_bytes);
	for (uint32_t i = 0; i < core->block; i++)
		ops_put(dst, (size_t)i * core->block + i, core->log_wgt_width, 1);
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
