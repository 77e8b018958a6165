// SPDX-License-Identifier: Apache-2.0
/*
 * The time that a stream takes (docs/isa.md, section 9), kept as it is made.
 *
 * Operators push every token before, in the stream, it is popped. So one pass in
 * the stream's order finds what the card will: when each module ends its last
 * instruction, and when each token was pushed. And as few tokens wait at a time, the
 * stream runs on cores of all depths (docs/isa.md, section 3).
 */
#include "ops_impl.h"

#define NONE	OPS_TOKEN_QUEUES

_Static_assert(VTAOPS_TOKENS == 1 << VTA_ISA_LOG_QUEUE_MIN,
	       "each core has room for the tokens of an operator");

/* The token queues of each module's flags, in the order of the flags in word 0. */
static const struct {
	uint8_t pop_prev, pop_next, push_prev, push_next;
} queues[] = {
	[OPS_LOAD] = { NONE, OPS_COMPUTE_TO_LOAD, NONE, OPS_LOAD_TO_COMPUTE },
	[OPS_COMPUTE] = { OPS_LOAD_TO_COMPUTE, OPS_STORE_TO_COMPUTE, OPS_COMPUTE_TO_LOAD,
			  OPS_COMPUTE_TO_STORE },
	[OPS_STORE] = { OPS_COMPUTE_TO_STORE, NONE, OPS_STORE_TO_COMPUTE, NONE },
};

static bool push(struct vtaops_time *t, uint8_t queue)
{
	if (queue == NONE)
		return true;
	if (t->tokens[queue] == VTAOPS_TOKENS)
		return false;
	t->pushed[queue][(t->first[queue] + t->tokens[queue]++) % VTAOPS_TOKENS] =
		t->end[t->last];
	return true;
}

static bool pop(struct vtaops_time *t, uint8_t queue, uint64_t *start)
{
	if (queue == NONE)
		return true;
	if (!t->tokens[queue])
		return false;
	*start = max_u64(*start, t->pushed[queue][t->first[queue]]);
	t->first[queue] = (uint8_t)((t->first[queue] + 1) % VTAOPS_TOKENS);
	t->tokens[queue]--;
	return true;
}

bool ops_time_insn(struct vtaops_time *t, enum ops_module module, uint64_t index, uint64_t cost,
		   unsigned int pops)
{
	uint64_t start = max_u64(index + 1, t->end[module]);

	if ((pops & VTA_ISA_POP_PREV && !pop(t, queues[module].pop_prev, &start)) ||
	    (pops & VTA_ISA_POP_NEXT && !pop(t, queues[module].pop_next, &start)))
		return false;
	t->end[module] = start + cost;
	t->last = module;
	return true;
}

bool ops_time_push(struct vtaops_time *t, unsigned int pushes)
{
	return (!(pushes & VTA_ISA_PUSH_PREV) || push(t, queues[t->last].push_prev)) &&
	       (!(pushes & VTA_ISA_PUSH_NEXT) || push(t, queues[t->last].push_next));
}

uint64_t ops_time_end(const struct vtaops_time *t)
{
	return max_u64(max_u64(t->end[OPS_LOAD], t->end[OPS_COMPUTE]), t->end[OPS_STORE]);
}
