// SPDX-License-Identifier: Apache-2.0
/* Moves of a part of a plane, or of several, with zeros where it reaches over the edges. */
#include "ops_impl.h"

/* Numbers of the @count positions from @at on that are before 0, within @size, and behind. */
struct span {
	uint32_t before, within, behind;
};

static struct span span(int64_t at, uint32_t count, uint32_t size)
{
	int64_t before = at < 0 ? -at : 0, behind = at + count - size;
	struct span s;

	s.before = before < count ? (uint32_t)before : count;
	s.behind = behind < 0 ? 0 : behind < count ? (uint32_t)behind : count;
	s.within = s.before + s.behind < count ? count - s.before - s.behind : 0;
	if (!s.within) {
		s.before = count;
		s.behind = 0;
	}
	return s;
}

static void zeros(struct vtaops_builder *b, enum vta_isa_memory type, uint32_t sram, uint32_t count)
{
	while (count) {
		uint32_t cols = min_u32(count, SIZE_MAX_16);

		ops_load(b, &(struct ops_move) {
			.type = type, .sram = sram, .cols = cols, .pad_top = 1 });
		sram += cols;
		count -= cols;
	}
}

void ops_load_region(struct vtaops_builder *b, const struct ops_region *r)
{
	struct span y = span(r->y, r->rows, r->h), x = span(r->x, r->cols, r->w);
	struct ops_move m = { .type = r->type, .sram = r->sram };
	bool wide = x.before > PAD_MAX || x.behind > PAD_MAX;
	bool high = y.before > PAD_MAX || y.behind > PAD_MAX;

	if (!y.within || !x.within) {
		zeros(b, r->type, r->sram, r->rows * r->cols);
		return;
	}
	m.dram = r->dram + (uint32_t)(r->y + y.before) * r->w + (uint32_t)(r->x + x.before);
	m.rows = y.within;
	m.cols = x.within;
	m.stride = y.within > 1 ? r->w : 0;
	/* Clear beforehand what does not fit into the four bits of the padding. */
	if (wide || high) {
		zeros(b, r->type, r->sram, r->rows * r->cols);
		m.sram += y.before * r->cols;
	} else {
		m.pad_top = y.before;
		m.pad_bottom = y.behind;
	}
	if (!wide) {
		m.pad_left = x.before;
		m.pad_right = x.behind;
		ops_load(b, &m);
		return;
	}
	m.sram += x.before;
	m.rows = 1;
	m.stride = 0;
	for (uint32_t i = 0; i < y.within; i++, m.sram += r->cols, m.dram += r->w)
		ops_load(b, &m);
}

/* @count times the element at @dram */
static void fill(struct vtaops_builder *b, enum vta_isa_memory type, uint32_t sram, uint32_t count,
		 uint32_t dram)
{
	while (count) {
		uint32_t rows = min_u32(count, SIZE_MAX_16);

		ops_load(b, &(struct ops_move) {
			.type = type, .sram = sram, .dram = dram, .rows = rows, .cols = 1 });
		sram += rows;
		count -= rows;
	}
}

void ops_load_around(struct vtaops_builder *b, const struct ops_region *r, uint32_t dram)
{
	struct span y = span(r->y, r->rows, r->h), x = span(r->x, r->cols, r->w);
	uint32_t sram = r->sram, count = y.before * r->cols;

	if (!y.within || !x.within) {
		fill(b, r->type, sram, r->rows * r->cols, dram);
		return;
	}
	/* The elements behind a row and those before the next are neighbours. */
	for (uint32_t i = 0; i < y.within; i++) {
		count += x.before;
		fill(b, r->type, sram, count, dram);
		sram += count + x.within;
		count = x.behind;
	}
	fill(b, r->type, sram, count + y.behind * r->cols, dram);
}

bool ops_join_planes(uint32_t planes, uint32_t rows, uint32_t cols, uint32_t h, uint32_t w,
		     struct ops_move *m)
{
	uint64_t part = (uint64_t)rows * cols, plane = (uint64_t)h * w;

	if ((cols < w && rows > 1) || part > SIZE_MAX_16 || (planes > 1 && plane > SIZE_MAX_16))
		return false;
	m->rows = planes;
	m->cols = (uint32_t)part;
	m->stride = planes > 1 ? (uint32_t)plane : 0;
	return true;
}

void ops_load_planes(struct vtaops_builder *b, const struct ops_region *r, uint32_t planes)
{
	struct ops_region each = *r;
	struct ops_move m = { .type = r->type, .sram = r->sram };
	bool inside = r->y >= 0 && r->x >= 0 && r->y + r->rows <= r->h && r->x + r->cols <= r->w;

	if (inside && ops_join_planes(planes, r->rows, r->cols, r->h, r->w, &m)) {
		m.dram = r->dram + (uint32_t)r->y * r->w + (uint32_t)r->x;
		ops_load(b, &m);
		return;
	}
	for (uint32_t i = 0; i < planes; i++) {
		ops_load_region(b, &each);
		each.sram += r->rows * r->cols;
		each.dram += r->h * r->w;
	}
}
