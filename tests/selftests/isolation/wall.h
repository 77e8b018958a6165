/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wall.h - a victim that computes, and an attacker, which is the process of the test
 *
 * Both are users without privileges, and not the same.
 */
#ifndef VTA_WALL_H
#define VTA_WALL_H

#include "../vta_insn.h"
#include "../vta_selftest.h"
#include "victim.h"

/* Memory of the attacker, by addresses of its context. */
#define OWN_RW		0x10000000u
#define OWN_RO		0x20000000u
#define OWN_CODE	0x30000000u
#define OWN_SIZE	0x10000u

/* An address with no memory near it. */
#define HOLE		0x40000000u

/* Resources of an open file, from its fdinfo. */
struct holding {
	uint64_t context, host_bytes, card_bytes, pinned_bytes, imported_bytes, queues;
};

struct holding holding_of(int fd);

struct wall {
	struct victim victim;
	int fd;
	struct vta_info info;
	struct core core;
	struct mem rw, ro, code;
	struct queue q;
	uint64_t resets;
	char dir[32];
	struct holding before;	/* of the attacker's file */
	struct usage usage;
};

int wall_up(struct wall *w);
/* "intact", or the damage found. */
const char *wall_down(struct wall *w);

/* A fixture with a wall; @...: a check after each test */
#define WALL_FIXTURE(name, ...)							\
	struct _test_data_##name;						\
	FIXTURE(name) {								\
		struct wall wall;						\
	};									\
	FIXTURE_SETUP(name)							\
	{									\
		ASSERT_EQ(0, wall_up(&self->wall));				\
	}									\
	FIXTURE_TEARDOWN(name)							\
	{									\
		__VA_ARGS__;							\
		EXPECT_STREQ("intact", wall_down(&self->wall));			\
	}

/* The attacker has gained nothing, and no process has lost anything, since the last note. */
bool wall_nothing_taken(const struct wall *w);
/* Called by wall_up(). */
void wall_note(struct wall *w);

/* Replaces the attacker's queue, which has halted. */
int wall_new_queue(struct wall *w);

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
