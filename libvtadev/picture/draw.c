// SPDX-License-Identifier: Apache-2.0
/* Boxes and their texts, drawn on a picture. */
#include <ctype.h>
#include <string.h>

#include "boxes.h"

#define GLYPH_WIDTH	3
#define GLYPH_HEIGHT	5
#define UNKNOWN		071202u		/* a question mark */

/* Rows of a letter from its top on, an octal digit each; the highest bit is at the left. */
static const uint16_t glyphs[128] = {
	[' '] = 0, ['\''] = 022000, ['('] = 024442, [')'] = 021112, ['+'] = 002720, [','] = 000024,
	['-'] = 000700, ['.'] = 000002, ['/'] = 011244, ['%'] = 051245, [':'] = 002020,
	['_'] = 000007,
	['0'] = 075557, ['1'] = 026227, ['2'] = 071747, ['3'] = 071717, ['4'] = 055711,
	['5'] = 074717, ['6'] = 074757, ['7'] = 071122, ['8'] = 075757, ['9'] = 075717,
	['A'] = 025755, ['B'] = 065656, ['C'] = 034443, ['D'] = 065556, ['E'] = 074647,
	['F'] = 074644, ['G'] = 034553, ['H'] = 055755, ['I'] = 072227, ['J'] = 011152,
	['K'] = 055655, ['L'] = 044447, ['M'] = 057755, ['N'] = 065555, ['O'] = 025552,
	['P'] = 065644, ['Q'] = 025563, ['R'] = 065655, ['S'] = 034216, ['T'] = 072222,
	['U'] = 055557, ['V'] = 055552, ['W'] = 055775, ['X'] = 055255, ['Y'] = 055222,
	['Z'] = 071247,
};

/* Colours of classes, by turns; a text on any of them is white. */
static const uint32_t colours[] = {
	0xc62828, 0x1565c0, 0x2e7d32, 0x6a1b9a, 0xad5700, 0x00695c, 0xad1457, 0x37474f,
};

struct brush {
	struct picture *picture;
	uint32_t colour;
	int64_t unit;		/* pixels of a line's width, and of a dot of a letter */
};

static void fill(const struct brush *b, int64_t x, int64_t y, int64_t width, int64_t height)
{
	int64_t right = x + width, bottom = y + height;

	right = right < b->picture->width ? right : b->picture->width;
	bottom = bottom < b->picture->height ? bottom : b->picture->height;
	x = x > 0 ? x : 0;
	for (y = y > 0 ? y : 0; y < bottom; y++)
		for (int64_t i = x; i < right; i++) {
			uint8_t *to = b->picture->rgba +
				      ((size_t)y * b->picture->width + (size_t)i) * 4;

			to[0] = (uint8_t)(b->colour >> 16);
			to[1] = (uint8_t)(b->colour >> 8);
			to[2] = (uint8_t)b->colour;
			to[3] = 255;
		}
}

/* Octets of UTF-8 after the first of a character are no characters. */
static bool is_begin(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static uint16_t glyph_of(char c)
{
	int capital = (unsigned char)c < 128 ? toupper((unsigned char)c) : '?';

	return glyphs[capital] || capital == ' ' ? glyphs[capital] : UNKNOWN;
}

static void draw_glyph(const struct brush *b, uint16_t glyph, int64_t x, int64_t y)
{
	for (int row = 0; row < GLYPH_HEIGHT; row++)
		for (int column = 0; column < GLYPH_WIDTH; column++)
			if (glyph >> (3 * (GLYPH_HEIGHT - 1 - row) + 2 - column) & 1)
				fill(b, x + column * b->unit, y + row * b->unit, b->unit, b->unit);
}

/* A text's label lies on the box's upper edge, or inside of it if there is no room. */
static void draw_text(const struct brush *b, const struct box *box, const char *text)
{
	int64_t step = (GLYPH_WIDTH + 1) * b->unit, height = (GLYPH_HEIGHT + 2) * b->unit;
	int64_t x = (int64_t)box->left, y = (int64_t)box->top - height, width = b->unit;
	struct brush white = { b->picture, 0xffffff, b->unit };

	for (const char *c = text; *c; c++)
		width += is_begin(*c) ? step : 0;
	if (x + width > b->picture->width)
		x = b->picture->width > width ? b->picture->width - width : 0;
	if (y < 0)
		y = (int64_t)box->top;
	fill(b, x, y, width, height);
	x += b->unit;
	for (; *text && x < b->picture->width; text++) {
		if (!is_begin(*text))
			continue;
		draw_glyph(&white, glyph_of(*text), x, y + b->unit);
		x += step;
	}
}

static void draw_frame(const struct brush *b, const struct box *box)
{
	int64_t left = (int64_t)box->left, top = (int64_t)box->top;
	int64_t width = (int64_t)box->right - left, height = (int64_t)box->bottom - top;

	fill(b, left, top, width, b->unit);
	fill(b, left, top + height - b->unit, width, b->unit);
	fill(b, left, top, b->unit, height);
	fill(b, left + width - b->unit, top, b->unit, height);
}

void boxes_draw(struct picture *p, const struct box *boxes, size_t count,
		const char *(*text)(void *priv, const struct box *box), void *priv)
{
	uint32_t most = p->width > p->height ? p->width : p->height;
	struct brush b = { p, 0, 1 + most / 320 };

	/* The most likely box is drawn last, above the others. */
	for (size_t i = count; i--;) {
		b.colour = colours[boxes[i].class % (sizeof(colours) / sizeof(*colours))];
		draw_frame(&b, &boxes[i]);
		draw_text(&b, &boxes[i], text(priv, &boxes[i]));
	}
}
