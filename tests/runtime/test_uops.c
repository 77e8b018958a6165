// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uops.c - which micro-ops a stream takes from before, without a card
 *
 * The reference is a scratchpad that nobody else uses: what a stream's GEMM and
 * ALU see in it, they must see in one that is full of rubbish when the stream
 * begins, behind the loads that uops_restore() makes.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space.h"
#include "uops.h"

#define MEM_ADDR	0x00400000u
#define MEM_WORDS	4096u
#define BEFORE_ADDR	0x00800000u
#define STREAM_MAX	40u
#define RUBBISH		0xbadbad00u

static uint32_t words[MEM_WORDS];
static const struct mem memory = {
	.ptr = (char *)words, .addr = MEM_ADDR, .size = sizeof(words), .fd = -1,
};

/* The space has one piece of memory. */
const struct mem *space_find_addr(uint32_t addr)
{
	return addr - memory.addr < memory.size ? &memory : NULL;
}

/* ---- Making streams ---- */

struct load {
	uint32_t sram, word, rows, cols, stride, top, bottom, left, right;
};

static struct insn load(const struct load *l)
{
	uint64_t dram = MEM_ADDR / 4 + l->word;

	return (struct insn) { {
		htole64((uint64_t)l->sram << 10 | dram << 26),
		htole64(l->rows | (uint64_t)l->cols << 16 | (uint64_t)l->stride << 32 |
			(uint64_t)l->top << 48 | (uint64_t)l->bottom << 52 |
			(uint64_t)l->left << 56 | (uint64_t)l->right << 60),
	} };
}

/* GEMM or ALU over [begin, end), once. */
static struct insn use(unsigned int opcode, unsigned int depth, uint64_t begin, uint64_t end)
{
	return (struct insn) { {
		htole64(opcode | begin << 8 | end << (8 + depth) | 1ull << (9 + 2 * depth) |
			1ull << (23 + 2 * depth)),
		0,
	} };
}

static const struct insn finish = { { 3, 0 } };

/* ---- A scratchpad ---- */

struct pad {
	uint32_t uop[1 << 12];
	uint64_t seen;		/* a sum of all that was used, in its order */
};

static uint32_t bits(uint64_t word, unsigned int from, unsigned int n)
{
	return (uint32_t)(word >> from) & (uint32_t)((1ull << n) - 1);
}

static void do_load(struct pad *p, unsigned int depth, const struct insn *insn,
		    const uint32_t *from, uint32_t from_addr)
{
	uint64_t w0 = le64toh(insn->word[0]), w1 = le64toh(insn->word[1]);
	uint32_t at = bits(w0, 10, 16), dram = bits(w0, 26, 32) - from_addr / 4;
	uint32_t rows = bits(w1, 0, 16), cols = bits(w1, 16, 16), stride = bits(w1, 32, 16);
	uint32_t top = bits(w1, 48, 4), bottom = bits(w1, 52, 4);
	uint32_t left = bits(w1, 56, 4), right = bits(w1, 60, 4), width = left + cols + right;

	if (!cols)
		return;
	for (uint32_t y = 0; y < top + rows + bottom; y++)
		for (uint32_t x = 0; x < width; x++, at++) {
			assert_true(at < 1u << depth);
			p->uop[at] = y < top || y >= top + rows || x < left || x >= left + cols ?
				     0 : from[dram + (y - top) * stride + x - left];
		}
}

static void run(struct pad *p, unsigned int depth, const struct insn *stream, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t w0 = le64toh(stream[i].word[0]);

		if (bits(w0, 0, 3) == 3)
			continue;
		if (bits(w0, 0, 3) == 0)
			do_load(p, depth, &stream[i], words, MEM_ADDR);
		else
			for (uint32_t u = bits(w0, 8, depth); u < bits(w0, 8 + depth, depth + 1);
			     u++)
				p->seen = p->seen * 31 + p->uop[u];
	}
}

/* ---- Tests ---- */

static void nothing_is_taken_that_is_loaded(void **state)
{
	const struct load l = { .sram = 4, .rows = 2, .cols = 8, .stride = 20 };
	const struct insn stream[] = { load(&l), use(2, 8, 4, 20), use(4, 8, 6, 7), finish };
	struct uops u;

	(void)state;
	assert_int_equal(uops_init(&u, 8), 0);
	uops_follow(&u, stream, 4);
	assert_int_equal(u.count, 0);
	uops_follow(&u, stream, 4);
	assert_int_equal(u.count, 0);
	uops_destroy(&u);
}

static void what_is_taken_is_what_was_there(void **state)
{
	const struct load first = { .sram = 0, .word = 100, .rows = 1, .cols = 10 };
	const struct load second = { .sram = 5, .word = 300, .rows = 1, .cols = 2 };
	const struct insn before[] = { load(&first), finish };
	const struct insn stream[] = {
		use(2, 8, 3, 6), load(&second), use(4, 8, 5, 8), finish, use(2, 8, 0, 10),
	};
	struct uops u;

	(void)state;
	assert_int_equal(uops_init(&u, 8), 0);
	uops_follow(&u, before, 2);
	assert_int_equal(u.count, 0);
	uops_follow(&u, stream, 5);
	/* All but 5 and 6, which the second loads before they are used. FINISH ends nothing. */
	assert_int_equal(u.first, 0);
	assert_int_equal(u.count, 10);
	assert_int_equal(u.before[2], words[102]);
	assert_int_equal(u.before[3], words[103]);
	assert_int_equal(u.before[5], words[105]);
	assert_int_equal(u.before[7], words[107]);
	assert_int_equal(u.now[5], words[300]);
	uops_destroy(&u);
}

static void what_nobody_loaded_is_not_taken(void **state)
{
	const struct insn stream[] = { use(2, 8, 0, 200), use(2, 8, 9, 3), finish };
	struct uops u;

	(void)state;
	assert_int_equal(uops_init(&u, 8), 0);
	uops_follow(&u, stream, 3);
	assert_int_equal(u.count, 0);
	uops_destroy(&u);
}

/* The card says what is wrong with such streams: here they do no harm. */
static void what_reaches_beyond_is_left_to_the_card(void **state)
{
	const struct load loads[] = {
		{ .sram = 250, .rows = 1, .cols = 20 },
		{ .sram = 0xffff, .rows = 0xffff, .cols = 0xffff, .stride = 0xffff, .top = 15 },
		{ .sram = 0, .word = MEM_WORDS - 1, .rows = 1, .cols = 9 },
		{ .sram = 0, .word = 0x20000000, .rows = 3, .cols = 9, .bottom = 3 },
		{ .sram = 0, .word = 0x3fffffff, .rows = 0xffff, .cols = 1, .stride = 0xffff },
	};
	struct insn stream[8];
	struct uops u;

	(void)state;
	for (unsigned int i = 0; i < 5; i++)
		stream[i] = load(&loads[i]);
	stream[5] = use(2, 8, 0, 511);
	stream[6] = use(4, 8, 255, 256);
	stream[7] = (struct insn) { { UINT64_MAX, UINT64_MAX } };
	assert_int_equal(uops_init(&u, 8), 0);
	for (unsigned int i = 0; i < 3; i++)
		uops_follow(&u, stream, 8);
	assert_true(u.first + u.count <= 256);
	uops_destroy(&u);
}

static void the_largest_scratchpad_is_loaded_in_two(void **state)
{
	const struct load l = { .rows = 16, .cols = 4096, .stride = 0 };
	const struct insn stream[] = { load(&l), finish };
	const struct insn all[] = { use(2, 16, 0, 65535), use(2, 16, 65535, 65536), finish };
	struct insn made[UOPS_RESTORE_MAX];
	struct uops u;

	(void)state;
	assert_int_equal(uops_init(&u, 16), 0);
	uops_follow(&u, stream, 2);
	uops_follow(&u, all, 3);
	assert_int_equal(u.first, 0);
	assert_int_equal(u.count, 65536);
	assert_int_equal(uops_restore(&u, BEFORE_ADDR, made), 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(bits(made[i].word[0], 0, 10), 0);
		assert_int_equal(bits(made[i].word[0], 10, 16), i * 32768);
		assert_int_equal(bits(made[i].word[0], 26, 32), BEFORE_ADDR / 4 + i * 32768);
		assert_int_equal(made[i].word[1], 1 | 32768ull << 16 | 32768ull << 32);
	}
	uops_destroy(&u);
}

static uint32_t below(unsigned int *seed, uint32_t n)
{
	return (uint32_t)rand_r(seed) % n;
}

static uint32_t make_stream(unsigned int *seed, unsigned int depth, struct insn *stream)
{
	uint32_t count = 1 + below(seed, STREAM_MAX - 1), size = 1u << depth;

	for (uint32_t i = 0; i < count; i++) {
		struct load l = {
			.rows = below(seed, 3), .cols = below(seed, size / 16),
			.stride = below(seed, 50), .word = below(seed, 1000),
			.top = below(seed, 8) == 0, .bottom = below(seed, 8) == 0,
			.left = below(seed, 8) == 0, .right = below(seed, 8) == 0,
		};
		uint32_t begin = below(seed, size), end = begin + below(seed, size / 8);

		l.sram = below(seed, size - size / 4);
		if (below(seed, 3) == 0 && (l.rows + 2) * (l.cols + 2) <= size / 4)
			stream[i] = load(&l);
		else
			stream[i] = use(below(seed, 2) ? 2 : 4, depth, begin,
					end < size ? end : size);
	}
	if (below(seed, 2))
		stream[below(seed, count)] = finish;
	return count;
}

/* Random streams, each of them after somebody else has used the scratchpad. */
static void streams_see_what_they_would_have_seen(void **state)
{
	const char *given = getenv("VTA_SEED");
	unsigned int first = given ? (unsigned int)strtoul(given, NULL, 0) : 1;
	unsigned int taken = 0;
	static struct pad own, shared;

	(void)state;
	for (unsigned int round = first; round < first + 300; round++) {
		unsigned int seed = round, depth = 6 + below(&seed, 5);
		struct insn stream[STREAM_MAX], restore[UOPS_RESTORE_MAX];
		struct uops u;

		/* Unknown ones are no matter of this test: all have been loaded. */
		assert_int_equal(uops_init(&u, depth), 0);
		memset(&own, 0, sizeof(own));
		for (uint32_t i = 0; i < 1u << depth; i++)
			u.known[i / 64] |= 1ull << i % 64;
		for (unsigned int n = 0; n < 12; n++) {
			uint32_t count = make_stream(&seed, depth, stream), loads;

			for (uint32_t i = 0; i < 1u << depth; i++)
				shared.uop[i] = RUBBISH + i;
			own.seen = 0;
			shared.seen = 0;
			run(&own, depth, stream, count);
			uops_follow(&u, stream, count);
			loads = uops_restore(&u, BEFORE_ADDR, restore);
			taken += loads;
			for (uint32_t i = 0; i < loads; i++)
				do_load(&shared, depth, &restore[i], u.before + u.first,
					BEFORE_ADDR);
			run(&shared, depth, stream, count);
			if (own.seen != shared.seen)
				fail_msg("stream %u of VTA_SEED=%u", n, round);
		}
		uops_destroy(&u);
	}
	assert_true(taken > 1000);
}

static int setup(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MEM_WORDS; i++)
		words[i] = i * 2654435761u;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_taken_that_is_loaded),
		cmocka_unit_test(what_is_taken_is_what_was_there),
		cmocka_unit_test(what_nobody_loaded_is_not_taken),
		cmocka_unit_test(what_reaches_beyond_is_left_to_the_card),
		cmocka_unit_test(the_largest_scratchpad_is_loaded_in_two),
		cmocka_unit_test(streams_see_what_they_would_have_seen),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
