/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_impl.h - what the files of a card in the process share among themselves
 *
 *   local.c         its lifetime, its ioctls, its result of poll()
 *   local_mem.c     its context's memory, by 32-bit addresses
 *   local_arena.c   the device's own memory: which pages of it buffers have
 *   local_queue.c   queues: their records, and the way of one descriptor
 *   local_engine.c  the threads that execute descriptors
 *   local_wait.c    waiting for queues
 *
 * Locks: local.lock, and local_space.locks. Neither is taken with the other held.
 */
#ifndef VTADEV_LOCAL_IMPL_H
#define VTADEV_LOCAL_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "local.h"
#include "vta_desc.h"
#include "vtadev.h"
#include "vtadev_device.h"

#define LOCAL_QUEUES		256u
#define LOCAL_CORES_MAX		256u
/* Cores that one thread copies for. */
#define LOCAL_CORES_COPIER	16u
#define LOCAL_RING_ORDER_MAX	16u
/* A device has one context, so no other user waits for its engines. Still, runs are limited. */
#define LOCAL_TIME_LIMIT_NS	60000000000ll

/* ---- Memory (local_mem.c) ---- */

enum local_mem_kind {
	LOCAL_MEM_MADE,		/* by us: shared memory with a file, or without one */
	LOCAL_MEM_DEVICE,	/* in the device's own memory */
	LOCAL_MEM_PINNED,	/* the program's own */
	LOCAL_MEM_IMPORTED,	/* mapped by us */
};

/* A buffer: whole pages at @addr. */
struct local_mem {
	uint32_t addr;
	uint64_t size;
	uint8_t *ptr;		/* NULL: the CPU does not see it */
	uint64_t offset;	/* then: where it is in the device's own memory */
	uint32_t handle;
	uint32_t flags;		/* VTA_BUF_* */
	enum local_mem_kind kind;
	int fd;			/* behind @ptr, to export it by; or -1 */
};

/* The device's own memory, if it has some, and its page table. */
struct local_arena {
	size_t pages;
	bool *used;		/* of each page */
	uint32_t *table;	/* of all device addresses, as passed to map() of the device */
};

/*
 * A lock in a cache line that no other one is in. A thread reads with one of them, so that
 * threads of different cores take no line from each other for each access. A writer takes all.
 */
#define LOCAL_SPACE_LOCKS	32u
union local_space_lock {
	pthread_rwlock_t lock;
	char line[128];
};

struct local_space {
	/* Protect: all of it. Held while memory is accessed */
	union local_space_lock locks[LOCAL_SPACE_LOCKS];
	struct local_mem **mems;	/* by rising address */
	size_t count;
	size_t room;
	uint32_t last_handle;
	uint64_t card_bytes;	/* of VTA_BUF_CARD memory */
	struct local_arena arena;
	const struct vtadev_device_ops *ops;
	void *device;
	atomic_bool broken;	/* the device could not copy: it is lost */
};

int local_space_init(struct local *card);
void local_space_destroy(struct local *card);

int local_buf_alloc(struct local *card, struct vta_buf_alloc *req);
int local_buf_free(struct local *card, const struct vta_buf_free *req);
int local_buf_pin(struct local *card, struct vta_buf_pin *req);
int local_buf_export(struct local *card, struct vta_buf_export *req);
int local_buf_import(struct local *card, struct vta_buf_import *req);

/* For an access by the card: a reason, with the address in *@fault_addr. */
enum vta_fault_reason local_read(struct local_space *space, uint64_t addr, void *dst, size_t len,
				 uint32_t *fault_addr);
enum vta_fault_reason local_write(struct local_space *space, uint64_t addr, const void *src,
				  size_t len, uint32_t *fault_addr);
/* Aligned, never torn; the store is a release, the load an acquire. */
enum vta_fault_reason local_read64(struct local_space *space, uint32_t addr, uint64_t *value);
enum vta_fault_reason local_write64(struct local_space *space, uint32_t addr, uint64_t value);

/* Bytes that are there in one piece: memory of this process, or the device's own. */
struct local_piece {
	uint8_t *ptr;		/* NULL: the device's, at @offset */
	uint64_t offset;
	size_t len;		/* asked for, then found */
};

/*
 * Memory to access between begin and end. If the device cannot copy, @broken is set and the bytes
 * are undefined.
 */
void local_begin(struct local_space *space);
enum vta_fault_reason local_find_piece(struct local_space *space, uint64_t addr, bool write,
				       struct local_piece *piece);
void local_copy_rows(struct local_space *space, const struct vtadev_device_rows *rows);
void local_get(struct local_space *space, const struct local_piece *piece, void *dst);
void local_put(struct local_space *space, const struct local_piece *piece, const void *src);
void local_end(struct local_space *space);

/* ---- The device's own memory (local_arena.c); with the space's lock for writing ---- */

/* 0 or -ENOMEM; nothing for a device that has none. */
int local_arena_init(struct local_space *space, uint64_t mem_size);
void local_arena_destroy(struct local_space *space);
/* Cleared memory for a buffer at its device address; sets @offset. 0 or a negative errno. */
int local_arena_alloc(struct local_space *space, struct local_mem *mem);
void local_arena_free(struct local_space *space, const struct local_mem *mem);

/* ---- Descriptors ---- */

/* Result of a descriptor: refused, or executed. */
struct local_outcome {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
	uint64_t cycles;
};

#define LOCAL_OK	((struct local_outcome){ .insn_index = VTA_FAULT_NO_INSN })

/* ---- Queues (local_queue.c); all with the card's lock ---- */

enum local_phase {
	LOCAL_IDLE,		/* no descriptor in hand */
	LOCAL_READY,		/* checked, waits for its unit */
	LOCAL_EXECUTING,	/* a thread has it, without the lock */
	LOCAL_WAITING,		/* a WAIT that is not satisfied */
};

/* A wait that sleeps (local_wait.c) */
struct local_alarm {
	int event;			/* an eventfd; or -1, then: */
	pthread_mutex_t lock;		/* Protects: rung; taken with a card's lock, or alone */
	pthread_cond_t wake;
	bool rung;
};

/* A wait, at one of its queues. */
struct local_waiter {
	struct local_queue *queue;	/* NULL: it has been destroyed */
	uint64_t seq;
	struct local_alarm *alarm;	/* the wait's */
	struct local_waiter *next;
};

/* A core of RUNs that keep nothing. */
struct local_core {
	void *core;			/* NULL: none yet */
	uint64_t kept;			/* RUNs that kept something before its last one */
};

struct local_queue {
	struct local *card;
	uint32_t handle;
	uint32_t order;
	unsigned int priority;
	uint64_t max_cycles;
	bool keeps;
	struct vta_desc *ring;		/* without a device address: nothing but it is read */
	struct vta_status_page *status;
	uint32_t doorbell;

	enum vta_queue_state state;
	uint64_t seq;
	uint64_t submitted;
	struct vta_fault fault;
	uint64_t cycles, runs, copies, run_time, copy_time;

	enum local_phase phase;
	struct vta_desc desc;		/* in hand, unless IDLE */
	enum vta_unit unit;
	uint64_t begin;
	bool look;			/* a WAIT is to check its word again */
	atomic_bool give_up;		/* it is being destroyed, or has faulted */

	void *core;			/* with the state that it keeps; NULL: none yet */
	bool kept;			/* it is worth something */
	struct local_core loose;	/* if the device has several */

	struct local_waiter *waiters;
	uint64_t poll_seq;		/* number that poll() or @event reports, or 0 */
	bool poll_hit;			/* poll() reports it now */
	int event;			/* an eventfd, or -1 */
};

int local_queue_create(struct local *card, struct vta_queue_create *req);
int local_queue_destroy(struct local *card, const struct vta_queue_destroy *req);
int local_queue_recover(struct local *card, struct vta_queue_recover *req);
int local_queue_fault(struct local *card, struct vta_queue_fault *req);
int local_queue_event(struct local *card, const struct vta_queue_event *req);
void local_queue_free(struct local_queue *q);

struct local_queue *local_find(struct local *card, uint32_t handle);
uint64_t local_time(const struct local *card);
/* Takes the next descriptor in hand, if there is one. */
void local_fetch(struct local_queue *q);
/* Ends the descriptor in hand; the thread that executed it calls this. */
void local_finish(struct local_queue *q, struct local_outcome *outcome);
/* The device is lost: all work stops. */
void local_lose(struct local *card);

/* ---- Threads (local_engine.c); with the lock, but start and stop ---- */

/* A thread of the unit that has just had work, and looks for more before it sleeps. */
enum local_spin {
	LOCAL_SPIN_NONE,		/* there is none */
	LOCAL_SPIN_LOOKS,
	LOCAL_SPIN_CALLED,		/* it need not be woken: it will look at the queues */
};

struct local_unit {
	pthread_cond_t wake;		/* one of its threads */
	atomic_int spin;		/* enum local_spin */
	unsigned int skips;		/* descriptors after which none looks, as one did in vain */
	unsigned int busy;		/* threads that execute a descriptor of it */
	bool helped;			/* the last one's was a program's, or nearly so */
	unsigned int turn;		/* the queue that has its turn, */
	unsigned int left;		/* and for how many descriptors yet */
};

/* A thread of a unit: the front and the copy engine have one, compute one for each core. */
struct local_engine {
	struct local *card;
	enum vta_unit unit;
	uint64_t begin;			/* of its last descriptor; then it may spin; else 0 */
	pthread_t thread;
};

/*
 * Start the threads that one more queue needs: those of all units for the first, and a core's for
 * each further one as long as the device has cores.
 */
int local_engines_start(struct local *card);
/* Make the core that the queue's RUNs will have, unless it is there. Called with the lock. */
int local_core_make(struct local_queue *q);
void local_engines_stop(struct local *card);
/* Wake a thread of the unit, for which a queue has a descriptor. The lock need not be held. */
void local_engine_wake(struct local *card, enum vta_unit unit);

/* ---- Waiting (local_wait.c) ---- */

int local_wait(struct local *card, struct vta_wait *req);
/* With the lock: the queue has gone on, has halted, or is destroyed. */
void local_tell(struct local_queue *q);
bool local_is_eventfd(int fd);

/* ---- The card (local.c) ---- */

struct local {
	const struct vtadev_device_ops *ops;
	void *device;
	pid_t pid;			/* of the process that its threads are in */
	uint64_t power_on;
	struct vta_info info;
	struct local_space space;
	int fd;				/* vtadev_fd(): a socket ... */
	int fd_end;			/* ... whose events are made here */

	pthread_mutex_t lock;		/* Protects: all below, queues, engines */
	pthread_cond_t idle;		/* an engine has released a queue */
	bool exiting;
	bool lost;
	uint32_t events;		/* result of poll(): POLLIN, POLLPRI, POLLHUP */
	struct local_queue *queues[LOCAL_QUEUES];
	uint32_t queues_end;		/* queues are below: most programs have few */
	struct local_unit units[VTA_UNITS];
	unsigned int cores;		/* streams that the device runs side by side */
	bool spins;			/* the process has more processors than one */
	struct local_engine engines[VTA_UNITS - 1 + LOCAL_CORES_MAX +
				    LOCAL_CORES_MAX / LOCAL_CORES_COPIER];
	unsigned int started;		/* engines whose threads run */
	struct vtadev_counters counters;
	uint64_t clocks[VTA_UNITS];	/* in which the engines have executed descriptors */
	struct local_core loose;	/* if the device has one */
	uint64_t kept;			/* RUNs that kept something, begun */
};

/* Take the lock, which others hold for short times, without a system call if that is possible. */
void local_lock(struct local *card);
/* With the lock: update the result of poll() from the queues. */
void local_poll_update(struct local *card);

#endif /* VTADEV_LOCAL_IMPL_H */
