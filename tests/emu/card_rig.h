/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * card_rig.h - a running emulator, a client with guest memory, and the few
 * things that a driver would do with the card: contexts, page tables, queues
 *
 * Tests say what they expect of the card; what the rig itself needs ends the
 * test with a message. Numbers of contexts and queues are the card's.
 */
#ifndef TESTS_EMU_CARD_RIG_H
#define TESTS_EMU_CARD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "vfu_client.h"
#include "vta.h"
#include "vta_regs.h"
#include "vtadev_desc.h"

/* Guest memory lies above 4 GiB, where addresses need all their bits. */
#define RIG_RAM		0x180000000ull
#define RIG_RAM_SIZE	(24u << 20)
#define RIG_MEM_SIZE	(8u << 20)	/* of the card, by default */
#define RIG_DB_SHIFT	16

/* ms: it will come, even on a busy machine; a simulation is slower still */
#define RIG_SOON	(rig_is_emulator() ? 30000 : 300000)
#define RIG_NEVER	40	/* ms: it will not */

struct rig {
	struct vfc c;
	pid_t pid;
	char dir[64];
	char socket[96];
	char control[96];
	uint64_t next;			/* guest memory handed out so far */
	uint64_t root[VTA_CONTEXTS_MAX];	/* 0: no context yet */
};

/* Runs the emulator ($VTA_EMU or build/asan/vta-emu) with further options. */
void rig_start(struct rig *r, const char *const *args);
/* False for a program of $VTA_EMU: it need not know more than docs/hardware.md asks for. */
bool rig_is_emulator(void);
/* For cmocka: a rig with 8 queues, or with MSI alone, in *state. */
int rig_setup(void **state);
int rig_setup_msi(void **state);
/* Hangs up; the emulator must end by itself, with 0, and leave no socket. */
int rig_teardown(void **state);
#define RIG struct rig *r, rig_setup, rig_teardown
#define RIG_MSI struct rig *r, rig_setup_msi, rig_teardown
void rig_stop(struct rig *r);

/* Registers. */
uint32_t rig_get(struct rig *r, uint32_t off);
uint64_t rig_get64(struct rig *r, uint32_t off);	/* two reads: LO, HI */
void rig_set(struct rig *r, uint32_t off, uint32_t val);
void rig_set64(struct rig *r, uint32_t off, uint64_t val);
void rig_doorbell(struct rig *r, unsigned int queue, uint32_t val);
uint64_t rig_counter(struct rig *r, enum vta_counter n);
void rig_clear_counters(struct rig *r);
void rig_ready(struct rig *r);		/* waits for STATUS.READY */
/* Waits until a register's masked bits have a value. */
void rig_await(struct rig *r, uint32_t off, uint32_t mask, uint32_t val);

/* Guest memory: fresh zeroed pages, by bus address; and as seen from here. */
uint64_t rig_pages(struct rig *r, unsigned int pages);
uint64_t rig_block(struct rig *r);	/* 2 MiB, aligned */
void *rig_at(struct rig *r, uint64_t bus);

/* A context with an empty table, enabled; and its entries. */
void rig_context(struct rig *r, unsigned int n);
uint64_t *rig_l1(struct rig *r, unsigned int n, uint32_t va);
uint64_t *rig_l2(struct rig *r, unsigned int n, uint32_t va);	/* makes the table */
#define RIG_RW	(VTA_PTE_VALID | VTA_PTE_WRITE)
#define RIG_RO	VTA_PTE_VALID
#define RIG_CARD	VTA_PTE_CARD
void rig_map(struct rig *r, unsigned int n, uint32_t va, uint64_t addr, uint64_t flags);
void rig_map_block(struct rig *r, unsigned int n, uint32_t va, uint64_t addr, uint64_t flags);
/* Maps fresh guest pages and returns the first, which the others follow. */
void *rig_map_pages(struct rig *r, unsigned int n, uint32_t va, unsigned int pages);
void rig_invalidate(struct rig *r, uint32_t what);	/* a context, or ..._ALL */

/* Queues. */
struct rig_queue {
	struct rig *r;
	unsigned int n;
	unsigned int context;
	unsigned int order;
	uint32_t ring_addr;
	uint64_t status_bus;
	uint64_t submitted;
	struct vta_desc *ring;
	volatile struct vta_status_page *page;
};

/* A queue's ring in its context, and its vector by default. */
#define RIG_RING(n)	(0x08000000u + 0x10000u * (n))
#define RIG_VECTOR(n)	((n) + 1)

/* Makes ring, status page and registers; the context must be there. */
void rig_queue(struct rig *r, struct rig_queue *q, unsigned int n, unsigned int context,
	       unsigned int order);
void rig_queue_start(struct rig_queue *q, uint64_t start);
void rig_queue_stop(struct rig_queue *q, bool abort);	/* and waits for it */
uint32_t rig_state(struct rig_queue *q);

/* Puts a descriptor into the ring; rig_submit rings the doorbell. */
void rig_put(struct rig_queue *q, struct vta_desc desc);
void rig_submit(struct rig_queue *q);
/* Both, and waits for it. */
void rig_do(struct rig_queue *q, struct vta_desc desc);
/* Waits for what was submitted; false if the queue halts. */
bool rig_completes(struct rig_queue *q);
void rig_wait_seq(struct rig_queue *q, uint64_t seq);
/*
 * Waits until register SEQ has what the status record has: SUBMITTED, STATE and the counters have
 * followed then (docs/hardware.md, 6, "Completion").
 */
void rig_settle(struct rig_queue *q);
uint64_t rig_seq(struct rig_queue *q);

/* @desc with a stamp at @addr; vtadev_desc.h has the descriptors themselves. */
struct vta_desc rig_stamped(struct vta_desc desc, uint32_t addr);

/* Waits for the halt of a queue whose next descriptor is at fault; its record. */
struct vta_fault rig_halted(struct rig_queue *q);
/* As rig_do, but it must fault so. */
struct vta_fault rig_fails(struct rig_queue *q, struct vta_desc desc,
			   enum vta_fault_reason reason, enum vta_access access, uint32_t addr);

/* The emulator's cost so far: all of its threads, by the kernel's accounts. */
struct rig_effort {
	unsigned int threads;
	unsigned int awake;		/* threads: running, or waiting for a processor */
	unsigned long long switches;	/* of context, of their own will or not */
	unsigned long long ns;		/* on a processor */
};

struct rig_effort rig_effort(struct rig *r);
/* Once all threads rest, in @ms none of them does anything: no switch, no time. */
void rig_is_idle(struct rig *r, unsigned int ms);

/* One request on the control socket and its answer. */
void rig_control(struct rig *r, const char *request, char *answer, size_t size);

#endif
