/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cards.h - two cards with the same random work
 *
 * cards_work.c makes the work, cards_compare.c compares what both have done.
 */
#ifndef TESTS_RTL_CARDS_H
#define TESTS_RTL_CARDS_H

#include "card_prog.h"
#include "card_rig.h"

#define SIDES		2
#define QUEUES		8
#define ORDER_MAX	6
#define DATA_PAGES	16u
#define BLOCKS		4u		/* queues whose pages have a block of 2 MiB behind them */
#define BLOCK_BYTES	(32u << 10)	/* that are used of it */
#define STREAMS		6u
#define STREAM_INSNS	32u
#define STORES		8u		/* of a stream */
#define STAMPS		(VTA_PAGE_SIZE / sizeof(struct vta_stamp))
#define NO_HOST		0x10000000u	/* no memory there */
#define SPINS		20000u	/* of 100 us, until the test gives up */

/* A queue's part of its context: 2 MiB with all that it uses, data at the end. */
#define PART(n)		((n) == QUEUES - 1 ? 0xffe00000u : 0x10000000u + (n) * 0x400000u)
#define RING(n)		PART(n)
#define STAMP(n)	(PART(n) + VTA_PAGE_SIZE)
#define CELLS(n)	(PART(n) + 2 * VTA_PAGE_SIZE)
#define CODE(n)		(PART(n) + 4 * VTA_PAGE_SIZE)	/* the next page is none */
#define DATA(n)		(PART(n) + (VTA_L2_ENTRIES - DATA_PAGES) * VTA_PAGE_SIZE)
#define DATA_BYTES	(DATA_PAGES * VTA_PAGE_SIZE)
#define HALF		(DATA_BYTES / 2)

enum mode {
	MODE_PLAIN,		/* no WAIT, one doorbell: the card does only what it must */
	MODE_EXACT,		/* nothing that comes at any time */
	MODE_BUS,
	MODE_STOP,
	MODE_RESET,
	MODES
};

/* Bytes that a stream stores. */
struct range {
	uint32_t va, bytes;
};

struct queue {
	unsigned int n, context, order;
	uint64_t cycles;		/* its limit */
	unsigned int group, priority;
	uint64_t submitted;		/* on both cards */
	uint64_t signals;		/* the last value of its cell */
	bool armed;
	uint64_t arm;			/* the number that interrupts */
	unsigned int interrupts;	/* that are expected in this batch */
	bool good;			/* each of its data's entries can be used */
	unsigned int left;		/* descriptors to be put into the ring */
	struct vta_desc ring[1u << ORDER_MAX];
	struct range stores[STREAMS][STORES];
	unsigned long made[1u << ORDER_MAX];	/* their numbers among those of all queues */
};

/* A card, and where in its host's memory all is. The addresses are those of the other side. */
struct side {
	struct rig rig;
	uint64_t ring[QUEUES], stamps[QUEUES], code[QUEUES], data[QUEUES], table[QUEUES];
	uint64_t status[QUEUES], cells, block;
};

struct pair {
	struct side side[SIDES];
	struct queue queue[QUEUES];
	uint64_t seed;
	unsigned long batch, executed, faults, resets, stops;
	enum mode mode;
	bool faulted;			/* in this batch */
	bool held;
};

#define for_each_side(s, p)	for (struct side *(s) = (p)->side; (s) < (p)->side + SIDES; (s)++)

extern const char * const side_names[SIDES];
extern const char * const mode_names[MODES];

/* Fail, and show queue @n or that of its last bits, unless both cards have the same. */
#define SAME(p, what, n, c, rtl) \
	do { \
		uint64_t _c = (c), _rtl = (rtl); \
		if (_c != _rtl) { \
			show_queue(p, n); \
			fail_msg("batch %lu (%s): %s of %u: %#llx in C, %#llx in RTL", (p)->batch, \
				 mode_names[(p)->mode], what, n, (unsigned long long)_c, \
				 (unsigned long long)_rtl); \
		} \
	} while (0)

/* Chance, by the pair's seed: 64 bits, a number below @n, and true once in @n times. */
uint64_t any(struct pair *p);
uint32_t below(struct pair *p, uint32_t n);
bool one_in(struct pair *p, uint32_t n);

/* Random bytes in the memory of both hosts. */
void fill_random(struct pair *p, uint64_t bus, size_t bytes);
/* Makes the table of a queue's part anew, in the queue's context and in no other. */
void map_part(struct pair *p, struct queue *q);
/* Writes the queue's streams. */
void write_code(struct pair *p, struct queue *q);
struct vta_desc make_descriptor(struct pair *p, struct queue *q);

/* A queue's status page, the number in it, its register STATE, and the descriptor behind @seq. */
struct vta_status_page *page_of(struct side *s, unsigned int n);
uint64_t seq_of(struct side *s, unsigned int n);
uint32_t state_of(struct side *s, unsigned int n);
const struct vta_desc *in_hand(const struct queue *q, uint64_t seq);

/* Prints a queue with what its ring still has. */
void show_queue(struct pair *p, unsigned int n);
/* Compares registers, records and memory of queues that all rest. */
void compare_all(struct pair *p);
void compare_counters(struct pair *p);
/* Compares the interrupts of a batch with those expected, which must still come or have come. */
void compare_interrupts(struct pair *p);
/* Disarms a queue that is at @seq: the interrupt has been sent, if its number is reached. */
void disarm(struct queue *q, uint64_t seq);

#endif
