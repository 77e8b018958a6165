// SPDX-License-Identifier: GPL-2.0-only
/*
 * PNG and JPEG files: they become an input of a network, or there is a reason. Sums over
 * parts of a PNG file are made right first: nearly all that is changed would end there.
 * The last bytes choose the input that it becomes.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "picture.h"

#define SIDE		24u
#define PIXELS_MAX	(1u << 20)	/* of those that are resized, too: that takes long */
#define SIGNATURE	8u
#define AROUND		12u		/* a part's length, name and sum */
#define RECIPE		4u

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void mend_sums(uint8_t *data, size_t size)
{
	size_t at = SIGNATURE;

	while (size >= AROUND && at <= size - AROUND) {
		size_t length = get32(data + at);
		uLong sum;

		if (length > size - at - AROUND)
			return;
		sum = crc32(0, data + at + 4, (uInt)length + 4);
		for (int i = 0; i < 4; i++)
			data[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
		at += length + AROUND;
	}
}

/* An input of any shape and type, with room for its values and no more. */
static void prepare(const struct picture *p, const uint8_t *recipe)
{
	static const uint32_t types[] = { VTACPU_F32, VTACPU_I8, VTACPU_U8 };
	struct vtaimage_preprocess pre = {
		.order = recipe[0] % 3, .fit = recipe[0] / 3 % 4, .filter = recipe[0] / 12 % 3,
		.nhwc = recipe[0] >> 7, .background = 0x80ff00,
		.mean = { 1, 2, 3 }, .scale = { 1, 0.5f, 2 },
	};
	uint32_t c = pre.order == VTAIMAGE_GRAY ? 1 : 3;
	uint32_t h = 1 + recipe[1] % SIDE, w = 1 + recipe[2] % SIDE;
	struct vtaimage_tensor t = {
		.type = types[recipe[3] % 3], .rank = 4, .n = 1, .c = c, .h = h, .w = w,
		.scale = recipe[3] / 3 % 2 ? 0.05f : 0, .zero = recipe[3] / 6 % 2 ? -128 : 0,
		.dims = { 1, pre.nhwc ? h : c, pre.nhwc ? w : h, pre.nhwc ? c : w },
	};
	void *values = malloc((size_t)c * h * w * vtacpu_type_bytes(t.type));
	char why[PICTURE_WHY_MAX] = "";

	if (!values || (picture_prepare(p, &pre, &t, values, why) && !*why))
		abort();
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t plain[RECIPE];
	const uint8_t *recipe = size > RECIPE ? data + size - RECIPE : plain;
	char why[PICTURE_WHY_MAX] = "";
	uint8_t *copy = malloc(size + 1);
	struct picture p;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (size && *copy == 0x89)
		mend_sums(copy, size);
	if (!picture_decode(&p, copy, size, why)) {
		if (!p.rgba || !p.width || !p.height)
			abort();
		if (p.width <= PIXELS_MAX / p.height)
			prepare(&p, recipe);
		picture_free(&p);
	} else if (!*why || p.rgba) {
		abort();
	}
	free(copy);
	return 0;
}
