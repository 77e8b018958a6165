/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The card: docs/hardware.md as a program, without the PCI function around it.
 * It is independent of the transport of register accesses, DMA and interrupts: the creator of a
 * card passes struct card_ops.
 *
 * Threads. A card has four of its own: the front end (reads descriptors,
 * executes those that need no engine, writes what a queue's state asks for),
 * the compute engine, the copy engine, and the limiter (ends what takes too long).
 * Functions here may be called from any thread but those, one at a time or not, and
 * never wait for an engine.
 */
#ifndef VTA_EMU_CARD_H
#define VTA_EMU_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core_model.h"
#include "inject.h"
#include "vta_regs.h"

#define CARD_DOORBELL_SHIFT	16
#define CARD_RING_ORDER_MAX	VTA_RING_ORDER_LIMIT
#define CARD_MEM_MIN		(1u << 20)
#define CARD_MEM_MAX		(1ull << 40)
#define CARD_VECTORS_MAX	257

struct card_config {
	struct core_config core;
	const struct core_model *model;	/* of the core; NULL: the core in C, */
	enum core_order order;		/* which has an order */
	uint64_t seed;
	uint64_t mem_size;	/* bytes, a power of two, or 0: no card memory */
	unsigned int queues;
	unsigned int contexts;
	uint64_t serial;
	uint32_t clock_khz;
	uint32_t temperature;	/* mK; 0: the card has no sensors */
	uint32_t power;		/* mW */
	unsigned int slowness;	/* of modelled time, see clock.h; 0: real time */
	bool no_kept_state;	/* SAVE_SIZE is 0 */
	bool posted_writes;	/* the card does not learn that the host refused a write */
};

/*
 * The card's way to the host, called from any thread, also with the card's
 * lock held, so they must neither block nor call back.
 *
 * Memory functions return 0; -EPERM when the card may not use the bus now (the
 * access is made again after card_set_bus()); anything else is the host's
 * refusal. A refused access has moved nothing. The 64-bit ones are aligned and
 * never torn, the store is a release, the load an acquire.
 *
 * Between begin and end the memory that at returns can be accessed directly: *len
 * bytes, at most what *len was. NULL, and *err as above, if that is not even one.
 * Others wait meanwhile, so it must not take long, and none of the other
 * functions may be called. end returns an error if memory was missing.
 *
 * irq returns 0 when the message was sent, -EPERM as above, or another negative
 * errno when the function has not been given this vector.
 */
struct card_ops {
	int (*read)(void *priv, uint64_t addr, void *buf, size_t len);
	int (*write)(void *priv, uint64_t addr, const void *buf, size_t len);
	int (*read64)(void *priv, uint64_t addr, uint64_t *val);
	int (*write64)(void *priv, uint64_t addr, uint64_t val);
	void (*begin)(void *priv);
	void *(*at)(void *priv, uint64_t addr, size_t *len, bool write, int *err);
	int (*end)(void *priv);
	int (*irq)(void *priv, unsigned int vector);
};

struct card;

/*
 * Powers a card on, with the bus off. Returns 0, -EINVAL for a config that the
 * contract does not allow, or another negative errno. config.core must have
 * passed core_config_check(). ops and priv must outlive the card.
 */
int card_new(struct card **out, const struct card_config *config,
	     const struct card_ops *ops, void *priv);
void card_free(struct card *card);

/* The card's memory and the file behind it, for processes that share it; NULL and -1: none. */
void *card_mem(struct card *card);
int card_mem_fd(struct card *card);

/*
 * One access to the registers (VTA_BAR_REGS) or doorbells; bytes in bus order,
 * any offset and length.
 */
void card_access(struct card *card, unsigned int bar, uint64_t off, void *buf,
		 size_t len, bool write);

/*
 * The card may use the bus (bus mastering is on, in D0) or may not. To be called
 * after the gate behind card_ops has opened or closed.
 */
void card_set_bus(struct card *card, bool on);

/* Function Level Reset or hot reset. It begins here; STATUS.READY ends it. */
void card_reset(struct card *card);

/* The faults that the card is to make (inject.h). */
struct inject *card_inject(struct card *card);

/* ---- for people: what the card is doing ---- */

uint64_t card_counter(struct card *card, enum vta_counter i);
void card_counters_clear(struct card *card);

enum card_phase {
	CARD_PHASE_IDLE,	/* no descriptor in hand */
	CARD_PHASE_READY,	/* read, waits for its engine */
	CARD_PHASE_EXECUTING,
	CARD_PHASE_WAITING,	/* a WAIT that is not satisfied */
};

struct card_queue_info {
	enum vta_queue_state state;
	bool busy;
	bool armed;
	enum card_phase phase;
	unsigned int priority;
	unsigned int context;
	unsigned int group;
	uint32_t vector;
	uint64_t seq;
	uint64_t submitted;
	enum vta_fault_reason fault;
};

struct card_info {
	struct card_config config;
	bool ready;
	bool fatal;
	bool enabled;
	bool bus;
	uint32_t generation;
	uint32_t event;
	uint64_t time;
	int compute_queue;	/* in the engine, -1: none */
	int copy_queue;
};

void card_info(struct card *card, struct card_info *info);
/* n below config.queues. */
void card_queue_info(struct card *card, unsigned int n, struct card_queue_info *info);
/* The context's root, or false when it is not enabled. n below config.contexts. */
bool card_context_info(struct card *card, unsigned int n, uint64_t *root);

/*
 * Finds the bytes of a COPY in this process, without moving them;
 * walks and hits count. Returns how many pieces they are, or 0 if it would
 * fault, the bus is off, or they are more than @max. For the thread that turns
 * the bus on and off, and until it unmaps a DMA region.
 */
struct card_copy {
	uint32_t context, dst, src, bytes;
};
struct mmu_piece;
size_t card_copy_pieces(struct card *card, const struct card_copy *copy,
			struct mmu_piece *pieces, size_t max);

#endif
