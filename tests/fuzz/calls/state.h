/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * state.h - what a program has made so far
 *
 * Names stay when the thing is gone, so that stale ones are tried. Two threads may
 * work on it without locks: the worst that can come of that is another odd call.
 */
#ifndef VTA_FUZZ_STATE_H
#define VTA_FUZZ_STATE_H

#include "fuzz.h"
#include "vta.h"

#define FILES		3u
#define BUFS		8u
#define QUEUES		4u
#define FDS		6u	/* dma-bufs and eventfds */
#define MAPS		16u
/* Memory to pin, and for what calls read and write. */
#define MEMORY_SIZE	(1u << 18)

struct fuzz_buf {
	uint32_t handle;
	uint32_t addr;
	uint64_t size;
	uint64_t offset;
};

struct fuzz_queue {
	struct vta_queue_create made;
	uint32_t submitted;
	struct vta_desc *ring;	/* NULL until first used */
	volatile uint32_t *doorbell;
};

struct fuzz_file {
	int fd;			/* -1: not open */
	unsigned int nr_bufs, nr_queues;
	struct fuzz_buf bufs[BUFS];
	struct fuzz_queue queues[QUEUES];
};

struct fuzz_map {
	atomic_flag owned;	/* by one of the threads: see own_map() */
	uintptr_t ptr;		/* 0: none */
	size_t size;
};

struct state {
	struct fuzz_file files[FILES];
	unsigned int nr_fds;
	int fds[FDS];
	unsigned int nr_maps;
	struct fuzz_map maps[MAPS];
	uint8_t *memory;
};

typedef void op_fn(struct state *s, const struct op *op);

/* ---- What operations are made of: exec.c ---- */

struct fuzz_file *the_file(struct state *s, const struct op *op);
/* Of the file: by op->b, and with few of them one that is not there. */
struct fuzz_buf *the_buf(struct fuzz_file *f, const struct op *op);
struct fuzz_queue *the_queue(struct fuzz_file *f, const struct op *op);
int the_fd(const struct state *s, uint32_t n);
uint64_t the_size(uint8_t choice, uint64_t raw);
void keep_fd(struct state *s, int fd);
void keep_map(struct state *s, void *ptr, size_t size);
/*
 * Only the owner of a mapping uses, changes or ends it: unmapping twice, or beyond the end, would
 * hit other memory. Never waits, as the owner may not exist in a child.
 */
bool own_map(struct fuzz_map *map);
void disown_map(struct fuzz_map *map);
/* Runs @fn, which may fault on what it touches. */
void daring(void (*fn)(void *arg), void *arg);
/* Returns true on the thread that signals wake. */
bool on_main_thread(void);

/*
 * An ioctl whose structure is as it should be, or for some values of op->c one that
 * is damaged, shorter or longer, or not wholly there.
 */
int call(struct state *s, const struct op *op, int fd, unsigned long cmd, void *arg);

/* Makes the card a good one, and the driver begin anew with it. */
void card_revive(void);

/* ---- The operations ---- */

op_fn op_open, op_close, op_dup, op_info, op_raw, op_read;			/* files.c */
op_fn op_alloc, op_free, op_pin, op_export, op_import, op_dmabuf;		/* bufs.c */
op_fn op_map, op_unmap, op_touch, op_protect, op_fork;				/* maps.c */
op_fn op_create, op_destroy, op_submit, op_ring, op_recover, op_fault;		/* queues.c */
op_fn op_wait, op_wait_many, op_event, op_eventfd, op_poll;			/* waits.c */
op_fn op_reset, op_rebind, op_break, op_mend;					/* card.c */

#endif
