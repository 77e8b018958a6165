/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - one program on several cards: what its parts share
 *
 * A request goes from its caller's ring (pool_caller.c) to the pool's pending list, from
 * there to a card (pool.c), whose thread runs it in a slot (pool_card.c) and completes it in
 * the ring. One thread at a time has a slot: the card's, or for long steps of the CPU one of the
 * pool's crew. The card's thread alone gives a card up, when all slots are back: so a completion
 * cannot race with the loss of its card.
 *
 * pool.lock protects the fields that name it; nothing waits, copies or starts threads with it held.
 */
#ifndef VTADEV_POOL_IMPL_H
#define VTADEV_POOL_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "clock.h"
#include "crew.h"
#include "thread.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

struct pool_card;
struct pool_slot;

enum entry_state {
	ENTRY_PENDING,		/* in the pool's list */
	ENTRY_GIVEN,		/* in a card's list */
	ENTRY_COPYING,		/* a card's thread reads its inputs, or writes its outputs */
	ENTRY_RUNNING,		/* in a slot, which reads and writes memory of its own */
	ENTRY_DONE,
};

/* A request. All fields: pool.lock, but @io of one that is being copied. */
struct pool_entry {
	struct vtadev_caller *caller;
	TAILQ_ENTRY(pool_entry) link;
	enum entry_state state;
	uint64_t number;		/* of all requests of the pool: the order of lists */
	struct pool_card *card;		/* that has it, or had it last */
	struct pool_slot *slot;		/* that runs it */
	struct iovec *io;		/* of inputs, then of outputs */
	struct vtadev_completion completion;
};

TAILQ_HEAD(pool_entries, pool_entry);

struct vtadev_caller {
	struct vtadev_pool *pool;
	TAILQ_ENTRY(vtadev_caller) link;	/* pool.lock */
	int event;
	/* pool.lock: requests [reaped, submitted) are in the ring, each at its number % size. */
	uint64_t reaped, submitted;
	unsigned int size;
	bool closing;
	struct pool_entry *ring;
	struct iovec *io;
};

TAILQ_HEAD(pool_callers, vtadev_caller);

/* A place for one run on a card. */
struct pool_slot {
	struct pool_card *card;
	/* The thread that has the slot: */
	struct vtadev_queue *queue;
	struct vtaprog *prog;
	bool running;
	uint8_t *outputs;		/* of a run that is done, until it is sure that they are */
	int result;			/* of serving it, by the crew */
	/* The card's thread: */
	bool lent;			/* to the crew, as this job */
	struct crew_job job;
	atomic_bool served;		/* set by the crew, at the job's end */
	struct pool_entry *entry;	/* pool.lock; NULL: none, or it was given up */
};

struct pool_card {
	struct vtadev_pool *pool;
	unsigned int index;
	pthread_t thread;
	int wake;			/* eventfd: requests, progress, loss, closing */
	/* The card's thread: */
	struct vtadev *dev;		/* NULL: the card is away */
	struct pool_slot *slots;	/* of the pool's depth */
	uint8_t *outputs;		/* of all of them */
	char *name;			/* what vtadev_open() is given, ... */
	char pci[16];			/* ... or this, once it is known */
	int delay_ms;			/* before it is opened once more */
	bool lends;			/* slots to the crew: the CPU's steps take long */
	/* pool.lock: */
	bool answered;			/* a request, since it joined */
	bool tried;			/* to be opened */
	unsigned int node;		/* the N of vtaN, or UINT_MAX */
	struct pool_entries given;	/* requests without a slot yet */
	struct vtadev_pool_stats stats;
};

struct vtadev_pool {
	pid_t owner;
	struct vtaimage image;		/* points into the caller's bytes */
	uint64_t cycles;		/* of a run, at least 1 */
	unsigned int depth, tries;
	int64_t away_ns;
	/* The program's inputs, then outputs, by their numbers in the image. */
	struct vtaimage_tensor *tensors;
	uint32_t *numbers;
	unsigned int input_count, tensor_count;
	size_t output_bytes;		/* of a run */

	struct pool_card *cards;
	unsigned int card_count;
	unsigned int threads;		/* started */

	pthread_mutex_t crew_lock;
	struct crew *crew;		/* crew_lock until it is there; NULL: no card lends slots */

	pthread_mutex_t lock;
	pthread_cond_t changed;		/* a card was tried; a copy for a closing caller ended */
	/* lock: */
	struct pool_entries pending;	/* by rising number */
	struct pool_callers callers;
	uint64_t submitted;
	unsigned int up;		/* cards */
	int64_t down_since;		/* when @up became 0 */
	bool closing;
};

/* ---- pool.c ---- */

/* Add to an eventfd; set it to 0. */
void pool_wake(int event);
void pool_calm(int event);

/* ---- pool.c: with the lock held ---- */

/* Give requests to cards that have room; if no card has been up for too long, end them. */
void pool_dispatch(struct vtadev_pool *pool);

/* A request to the pending list, in its order. */
void pool_pend(struct vtadev_pool *pool, struct pool_entry *entry);

/* Nanoseconds until requests that wait for a card are ended, 0 if they are; -1: never. */
int64_t pool_patience(const struct vtadev_pool *pool);

/* ---- pool_caller.c: with the lock held ---- */

/* The request's completion is there. */
void caller_complete(struct pool_entry *entry, int result);

/* ---- pool_card.c ---- */

/* The thread of a card. */
void *pool_card_main(void *card);

/* ---- pool_watch.c: the kernel's events of cards ---- */

/* A file with POLLIN when something has happened to a card; -1: there is none. */
struct pool_watch {
	struct udev *udev;
	struct udev_monitor *monitor;
	int fd;
};

void pool_watch_open(struct pool_watch *watch);
void pool_watch_drain(struct pool_watch *watch);
void pool_watch_close(struct pool_watch *watch);


#endif /* VTADEV_POOL_IMPL_H */
