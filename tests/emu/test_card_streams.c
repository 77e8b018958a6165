// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_card_streams.c - random streams through the whole card
 *
 * As test_streams.c, but with emulators as they are run: the stream and its
 * memory are behind page tables, in guest and card memory, and RUN descriptors
 * in rings start it. One emulator for each order in which modules take turns.
 */
#include <stdlib.h>
#include <string.h>

#include "card_rig.h"
#include "streams.h"

#define ORDERS		3
#define CONTEXTS	3
#define PAGES_MAX	512u

static const char * const orders[ORDERS] = { "inorder", "greedy", "random" };

/* A context's queue, and the image as it lies behind the context's table. */
struct space {
	struct rig_queue queue;
	uint8_t *page[PAGES_MAX];
};

struct cards {
	uint32_t base[CONTEXTS];	/* of the image, the same on all cards */
	uint32_t size;
	struct rig rig[ORDERS];
	unsigned int started;
	struct space space[ORDERS][CONTEXTS];
	unsigned int begun;		/* seeds so far */
	unsigned int context;		/* of the seed at hand */
};

/* Every other page in card memory, and none where its neighbour is. */
static void map_pages(struct cards *c, int o, unsigned int context)
{
	struct rig *r = &c->rig[o];
	uint32_t pages = c->size / VTA_PAGE_SIZE;
	uint64_t card = context * PAGES_MAX * VTA_PAGE_SIZE;

	assert_in_range(pages, 1, PAGES_MAX);
	for (uint32_t i = pages; i-- > 0;) {
		uint32_t va = c->base[context] + i * VTA_PAGE_SIZE;

		if (i % 2) {
			rig_map(r, context, va, card, RIG_RW | RIG_CARD);
			c->space[o][context].page[i] = r->c.bar4 + card;
			card += VTA_PAGE_SIZE;
		} else {
			c->space[o][context].page[i] = rig_map_pages(r, context, va, 1);
		}
	}
}

static void map_block(struct cards *c, int o, unsigned int context)
{
	uint64_t block = rig_block(&c->rig[o]);

	rig_map_block(&c->rig[o], context, c->base[context], block, RIG_RW);
	for (uint32_t i = 0; i < c->size / VTA_PAGE_SIZE; i++)
		c->space[o][context].page[i] =
			(uint8_t *)rig_at(&c->rig[o], block) + i * VTA_PAGE_SIZE;
}

static void start(struct streams *s, int o)
{
	const char * const args[] = { "--config", s->path, "--order", orders[o], "--seed", "1",
				      "--queues", "8", "--mem", "8M", NULL };
	struct cards *c = s->self;

	rig_start(&c->rig[o], args);
	c->started++;
	for (unsigned int n = 0; n < CONTEXTS; n++) {
		rig_context(&c->rig[o], n);
		rig_queue(&c->rig[o], &c->space[o][n].queue, n, n, 4);
		if (n == CONTEXTS - 1)
			map_block(c, o, n);
		else
			map_pages(c, o, n);
		rig_queue_start(&c->space[o][n].queue, 0);
	}
}

static void cards_open(struct streams *s)
{
	struct cards *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	s->self = c;
	c->base[0] = STREAMS_BASE;
	c->base[1] = gen_base_for_top(s->cfg);
	c->base[2] = 0x200000;
	c->size = s->size;
	for (int o = 0; o < ORDERS; o++)
		start(s, o);
}

static void cards_close(struct streams *s)
{
	struct cards *c = s->self;

	for (unsigned int o = 0; o < c->started; o++)
		rig_stop(&c->rig[o]);
	free(c);
}

/*
 * The context is another than the seed's before, so the card has to clear its scratchpads. Below
 * and above the image of all contexts but the last nothing is mapped.
 */
static void cards_begin(struct streams *s, bool strict)
{
	struct cards *c = s->self;

	c->context = c->begun++ % (strict ? CONTEXTS - 1 : CONTEXTS);
	s->base = c->base[c->context];
}

static void cards_load(struct streams *s, unsigned int o, uint32_t bytes)
{
	const struct cards *c = s->self;

	for (uint32_t i = 0; i < bytes; i += VTA_PAGE_SIZE)
		memcpy(c->space[o][c->context].page[i / VTA_PAGE_SIZE], s->memory + i,
		       bytes - i < VTA_PAGE_SIZE ? bytes - i : VTA_PAGE_SIZE);
}

static const uint8_t *cards_page(struct streams *s, unsigned int o, uint32_t at)
{
	const struct cards *c = s->self;

	return c->space[o][c->context].page[at / VTA_PAGE_SIZE];
}

/* A queue that halts continues behind the fault. */
static bool cards_run(struct streams *s, unsigned int o, struct core_fault *fault,
		      uint64_t *cycles)
{
	struct cards *c = s->self;
	struct rig_queue *q = &c->space[o][c->context].queue;
	struct vta_fault record;

	rig_put(q, vtadev_desc_run(gen_insn_addr(s->gen), s->stream.count, 0));
	rig_submit(q);
	if (rig_completes(q)) {
		*cycles = q->page->status.cycles;
		return true;
	}
	record = rig_halted(q);
	rig_queue_stop(q, false);
	rig_queue_start(q, record.seq);
	*fault = (struct core_fault){ record.reason, record.access, record.addr,
				      record.insn_index, { 0 } };
	memcpy(fault->insn, record.insn, sizeof(fault->insn));
	return false;
}

int main(void)
{
	static const struct target cards = {
		.group = "streams through the card", .ways = ORDERS, .names = orders, .seed = 1000,
		.streams = 2160, .open = cards_open, .close = cards_close, .begin = cards_begin,
		.load = cards_load, .page = cards_page, .run = cards_run,
	};

	return streams_main(&cards);
}
