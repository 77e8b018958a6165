// SPDX-License-Identifier: Apache-2.0
/*
 * carry.c - tokens between runs, and a watch over the core (see carry.h)
 *
 * After a completed run, each token queue holds what it held before, and what was pushed less what
 * was popped, in whichever order the modules have run.
 */
#include <endian.h>
#include <string.h>

#include "carry.h"
#include "vta_isa.h"

enum { LOAD, COMPUTE, STORE, MODULES };

/* The token queue that a flag means in each module: of load to compute, back, and so on. */
static const struct {
	unsigned int flag;
	uint32_t change;
	int queue[MODULES];	/* -1: none */
} flags[] = {
	{ VTA_ISA_POP_PREV, -1u, { -1, 0, 2 } }, { VTA_ISA_POP_NEXT, -1u, { 1, 3, -1 } },
	{ VTA_ISA_PUSH_PREV, 1, { -1, 1, 3 } }, { VTA_ISA_PUSH_NEXT, 1, { 0, 2, -1 } },
};

static unsigned int module_of(const struct vta_isa_insn *insn)
{
	struct vta_isa_move move;

	if (vta_isa_opcode(insn) == VTA_ISA_STORE)
		return STORE;
	if (vta_isa_opcode(insn) != VTA_ISA_LOAD)
		return COMPUTE;
	vta_isa_unpack_move(insn, &move);
	return move.memory_type == VTA_ISA_INP || move.memory_type == VTA_ISA_WGT ? LOAD : COMPUTE;
}

static void count_tokens(const void *insns, uint32_t count, uint32_t tokens[CARRY_QUEUES])
{
	struct vta_isa_insn insn;

	for (uint32_t i = 0; i < count; i++) {
		unsigned int module;

		memcpy(&insn, (const char *)insns + (size_t)i * sizeof(insn), sizeof(insn));
		insn.word[0] = le64toh(insn.word[0]);
		insn.word[1] = le64toh(insn.word[1]);
		module = module_of(&insn);
		for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++) {
			int queue = flags[f].queue[module];

			if (insn.word[0] & flags[f].flag && queue >= 0)
				tokens[queue] += flags[f].change;
		}
	}
}

static uint32_t max_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t prologue_of(const uint32_t tokens[CARRY_QUEUES])
{
	return tokens[0] + max_of(tokens[1], tokens[2]) + tokens[3];
}

static void *put_insn(void *at, struct vta_isa_insn insn)
{
	insn.word[0] = htole64(insn.word[0]);
	insn.word[1] = htole64(insn.word[1]);
	memcpy(at, &insn, sizeof(insn));
	return (char *)at + sizeof(insn);
}

/* Instructions that do nothing but push; returns where the next one goes. */
static void *put_tokens(void *at, const uint32_t tokens[CARRY_QUEUES])
{
	const struct vta_isa_move nothing = { .memory_type = VTA_ISA_INP };
	uint32_t i;

	for (i = 0; i < tokens[0]; i++)
		at = put_insn(at, vta_isa_pack_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, &nothing));
	for (i = 0; i < max_of(tokens[1], tokens[2]); i++)
		at = put_insn(at, vta_isa_pack_finish((i < tokens[1] ? VTA_ISA_PUSH_PREV : 0) |
						      (i < tokens[2] ? VTA_ISA_PUSH_NEXT : 0)));
	for (i = 0; i < tokens[3]; i++)
		at = put_insn(at, vta_isa_pack_move(VTA_ISA_STORE | VTA_ISA_PUSH_PREV, &nothing));
	return at;
}

static int have_memory(struct carry *c, struct vtadev *dev, size_t size)
{
	int err;

	if (size <= c->size)
		return 0;
	vtadev_buf_free(c->buf);
	c->buf = NULL;
	c->size = 0;
	err = vtadev_buf_alloc(dev, size, VTADEV_HOST, &c->buf);
	if (!err)
		err = vtadev_buf_map(c->buf, &c->map);
	if (!err)
		c->size = size;
	return err;
}

int carry_begin(struct carry *c, struct vtadev *dev, const void *insns, uint32_t *addr,
		uint32_t *count)
{
	uint32_t prologue = prologue_of(c->tokens);
	size_t bytes = (size_t)*count * VTA_ISA_INSN_BYTES;
	int err;

	memcpy(c->next, c->tokens, sizeof(c->next));
	count_tokens(insns, *count, c->next);
	c->prologue = prologue;
	if (!prologue)
		return 0;
	err = have_memory(c, dev, bytes + (size_t)prologue * VTA_ISA_INSN_BYTES);
	if (err)
		return err;
	memcpy(put_tokens(c->map, c->tokens), insns, bytes);
	*addr = vtadev_buf_addr(c->buf);
	*count += prologue;
	return 0;
}

static int read_counters(struct vtadev *dev, struct carry_counters *now)
{
	int err = vtadev_counter(dev, "context_switches", &now->switches);

	if (!err)
		err = vtadev_counter(dev, "resets", &now->resets);
	return err ? err : vtadev_counter(dev, "runs", &now->runs);
}

bool carry_is_possible(struct vtadev *dev)
{
	struct carry_counters now;

	return !read_counters(dev, &now);
}

/*
 * A RUN that finds the core with another context counts a switch, and is later than the last
 * reading. A reset counts, or clears all counters; then there are no more RUNs than before.
 */
bool carry_end(struct carry *c, struct vtadev *dev, bool first)
{
	struct carry_counters now = { 0 };
	bool same;

	if (read_counters(dev, &now))
		return false;
	same = now.switches == c->before.switches && now.resets == c->before.resets &&
	       now.runs > c->before.runs;
	c->before = now;
	memcpy(c->tokens, c->next, sizeof(c->tokens));
	return first || same;
}

void carry_drop(struct carry *c)
{
	memset(c->tokens, 0, sizeof(c->tokens));
}

void carry_free(struct carry *c)
{
	vtadev_buf_free(c->buf);
	memset(c, 0, sizeof(*c));
}
