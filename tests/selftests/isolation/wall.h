/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wall.h - the scene of every attack: a victim that computes, and an attacker
 *
 * Both are users without privileges, and not the same. The process of the test
 * is the attacker.
 */
#ifndef VTA_WALL_H
#define VTA_WALL_H

#include "../vta_insn.h"
#include "../vta_selftest.h"
#include "victim.h"

/* What the attacker owns, in its own context. */
#define OWN_RW		0x10000000u
#define OWN_RO		0x20000000u
#define OWN_CODE	0x30000000u
#define OWN_SIZE	0x10000u

/* Nothing is near it. */
#define HOLE		0x40000000u

struct wall {
	struct victim victim;
	int fd;
	struct vta_info info;
	struct core core;
	struct mem rw, ro, code;
	struct queue q;
	uint64_t resets;
	char dir[32];
};

int wall_up(struct wall *w);
/* "intact", or the damage found. */
const char *wall_down(struct wall *w);

/* Replaces the attacker's queue, which has halted. */
int wall_new_queue(struct wall *w);

/* What an open file has, from its fdinfo. */
struct holding {
	uint64_t context, host_bytes, card_bytes, pinned_bytes, imported_bytes, queues;
};

struct holding holding_of(int fd);
bool holding_equal(const struct holding *a, const struct holding *b);

struct blame {
	uint32_t reason, access, addr;
	bool in_stream;		/* instruction 0 is to blame */
};

/*
 * Submits one descriptor that must halt the queue, and compares the fault record
 * of the kernel and of the card with @blame. "blamed", or what was not so.
 */
const char *wall_attack(int fd, struct queue *q, struct vta_desc desc, const struct blame *blame);

/* One instruction and no FINISH, in the attacker's code buffer. */
struct vta_desc wall_stream(struct wall *w, struct insn insn);

#endif /* VTA_WALL_H */
