// SPDX-License-Identifier: Apache-2.0
/*
 * uops.c - which micro-ops a stream takes from earlier runs
 *
 * Loads of micro-ops, GEMM and ALU are all of the compute module, which executes
 * them in their order (docs/isa.md, section 3): so that order is enough to know.
 * What is wrong with a stream is not said here, but by the card.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "space.h"
#include "uops.h"

/* docs/isa.md, sections 2 to 6. */
enum { OPCODE_LOAD = 0, OPCODE_GEMM = 2, OPCODE_ALU = 4 };
enum { MEM_UOP = 0 };

#define UOP_BYTES	4u
#define ROW_MAX		0x8000u		/* x_size has 16 bits; twice this is the largest depth */

static uint32_t field(uint64_t word, unsigned int from, unsigned int bits)
{
	return (uint32_t)(word >> from & ((1ull << bits) - 1));
}

static bool get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

static size_t bitmap_bytes(const struct uops *u)
{
	return ((1u << u->log_depth) + 63) / 64 * sizeof(uint64_t);
}

int uops_init(struct uops *u, unsigned int log_depth)
{
	size_t depth = (size_t)1 << log_depth;

	*u = (struct uops) { .log_depth = log_depth };
	u->known = calloc(1, bitmap_bytes(u));
	u->fresh = calloc(1, bitmap_bytes(u));
	u->now = calloc(depth, UOP_BYTES);
	u->before = calloc(depth, UOP_BYTES);
	if (u->known && u->fresh && u->now && u->before)
		return 0;
	uops_destroy(u);
	return -ENOMEM;
}

void uops_destroy(struct uops *u)
{
	free(u->known);
	free(u->fresh);
	free(u->now);
	free(u->before);
	*u = (struct uops) { 0 };
}

/* Values are little-endian, as they lie in memory and in the scratchpad. */
static void load_one(struct uops *u, uint32_t sram, uint32_t value)
{
	u->now[sram] = value;
	set(u->known, sram);
	set(u->fresh, sram);
}

static void load_zeroes(struct uops *u, uint32_t *sram, uint32_t n)
{
	for (; n && *sram >> u->log_depth == 0; n--)
		load_one(u, (*sram)++, 0);
}

static void load_row(struct uops *u, uint32_t *sram, uint64_t addr, uint32_t n)
{
	const struct mem *mem = addr >> 32 ? NULL : space_find_addr((uint32_t)addr);
	uint32_t value;
	size_t left;

	if (!mem)
		return;
	left = mem->size - (addr - mem->addr);
	for (; n && *sram >> u->log_depth == 0 && left >= UOP_BYTES; n--) {
		memcpy(&value, mem->ptr + (addr - mem->addr), UOP_BYTES);
		load_one(u, (*sram)++, value);
		addr += UOP_BYTES;
		left -= UOP_BYTES;
	}
}

static void follow_load(struct uops *u, uint64_t w0, uint64_t w1)
{
	uint32_t sram = field(w0, 10, 16), dram = field(w0, 26, 32);
	uint32_t rows = field(w1, 0, 16), cols = field(w1, 16, 16), stride = field(w1, 32, 16);
	uint32_t top = field(w1, 48, 4), bottom = field(w1, 52, 4);
	uint32_t left = field(w1, 56, 4), right = field(w1, 60, 4);
	uint32_t width = left + cols + right;

	if (!cols)
		return;
	load_zeroes(u, &sram, top * width);
	for (uint32_t y = 0; y < rows && sram >> u->log_depth == 0; y++) {
		load_zeroes(u, &sram, left);
		load_row(u, &sram, ((uint64_t)dram + (uint64_t)y * stride) * UOP_BYTES, cols);
		load_zeroes(u, &sram, right);
	}
	load_zeroes(u, &sram, bottom * width);
}

static void need_one(struct uops *u, uint32_t i)
{
	uint32_t end = u->first + u->count;

	if (get(u->fresh, i) || !get(u->known, i))
		return;
	u->before[i] = u->now[i];
	if (!u->count) {
		u->first = i;
		end = i + 1;
	}
	if (i < u->first)
		u->first = i;
	if (i >= end)
		end = i + 1;
	u->count = end - u->first;
}

static void follow_use(struct uops *u, uint64_t w0)
{
	unsigned int d = u->log_depth;
	uint32_t begin = field(w0, 8, d), end = field(w0, 8 + d, d + 1);
	uint32_t outer = field(w0, 9 + 2 * d, 14), inner = field(w0, 23 + 2 * d, 14);

	if (!outer || !inner || end > 1u << d)
		return;
	for (uint32_t i = begin; i < end; i++)
		need_one(u, i);
}

void uops_follow(struct uops *u, const struct insn *stream, uint32_t count)
{
	memset(u->fresh, 0, bitmap_bytes(u));
	u->first = 0;
	u->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t w0 = le64toh(stream[i].word[0]), w1 = le64toh(stream[i].word[1]);
		uint32_t opcode = field(w0, 0, 3);

		if (opcode == OPCODE_LOAD && field(w0, 7, 3) == MEM_UOP)
			follow_load(u, w0, w1);
		else if (opcode == OPCODE_GEMM || opcode == OPCODE_ALU)
			follow_use(u, w0);
	}
}

uint32_t uops_restore(const struct uops *u, uint32_t addr, struct insn *insn)
{
	uint32_t made = 0;

	for (uint32_t done = 0; done < u->count; made++) {
		uint32_t left = u->count - done, cols = left < ROW_MAX ? left : ROW_MAX;
		uint64_t sram = u->first + done, dram = addr / UOP_BYTES + done;

		insn[made].word[0] = htole64(OPCODE_LOAD | MEM_UOP << 7 | sram << 10 | dram << 26);
		insn[made].word[1] = htole64(1 | (uint64_t)cols << 16 | (uint64_t)cols << 32);
		done += cols;
	}
	return made;
}
