/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fake.h - a driver and card for the library's tests, in this process
 *
 * A memfd is the device node: the library opens it by its path in
 * /proc and maps it as it maps a node; only ioctl() is replaced, by the
 * linker's --wrap. The card does nothing by itself: a test plays it, by what it
 * writes to the status page and by the answers it sets.
 */
#ifndef TESTS_LIB_FAKE_H
#define TESTS_LIB_FAKE_H

#include <stdint.h>

#include "vtadev.h"

#define FAKE_PINS	8

/*
 * Status of a child that could not forbid itself system calls: QEMU's user
 * emulation has no seccomp.
 */
#define NO_SECCOMP	77

struct fake {
	int fd;
	char path[64];
	struct vta_info info;			/* answer to INFO */

	/* The card's side of the one queue there can be. */
	struct vta_desc *ring;
	struct vta_status_page *status;
	uint32_t *doorbell;
	void *memory;				/* of the one buffer there can be */

	/* The last requests, and the number of calls. */
	unsigned int calls;
	unsigned int buffers, queues;		/* alive */
	uint64_t pinned[FAKE_PINS];		/* bytes of each pin, 0: free */
	struct vta_buf_alloc alloc;
	struct vta_buf_pin pin;
	struct vta_buf_export export;
	struct vta_buf_import import;
	uint64_t syncs[8];			/* flags of DMA_BUF_IOCTL_SYNC */
	int sync_file;				/* a copy is a sync file, if it is not 0 */
	uint32_t sync_file_of;			/* flags of DMA_BUF_IOCTL_EXPORT_SYNC_FILE */
	unsigned int nr_syncs;
	struct vta_queue_create create;
	struct vta_wait wait;
	struct vta_wait_many many;
	struct vta_fence fences[8];		/* the first of that */
	struct vta_queue_event event;

	/* Its answers. */
	int fail;				/* errno for all calls but INFO */
	int fail_pin;				/* errno of PIN */
	unsigned int pins;			/* that work before it */
	uint64_t pin_limit;			/* on bytes at a time, 0: none */
	int fail_sync;				/* errno of DMA_BUF_IOCTL_SYNC */
	uint32_t apart;				/* buffers' addresses, 0: all have one */
	uint64_t import_size;			/* answer to IMPORT */
	uint32_t import_flags;			/* added to it */
	int interrupts;				/* EINTRs before the answer */
	int wait_errno;				/* of WAIT and WAIT_MANY */
	unsigned int index;			/* answer to WAIT_MANY */
	void (*on_wait)(struct fake *fake);	/* runs in both, if set */
	void (*on_unpin)(struct fake *fake);	/* runs in BUF_FREE of a PIN, if set */
	struct vta_queue_fault fault;		/* answer to FAULT */
	struct vta_lost lost;			/* answer to LOST, which nothing lets fail */
	uint64_t recover_seq;			/* answer to QUEUE_RECOVER, if not 0 */
	uint64_t bad_offset;			/* added to all mmap offsets */
};

extern struct fake fake;

/* cmocka set-up and tear-down: a new fake with the default configuration. */
int fake_setup(void **state);
int fake_teardown(void **state);
#define FAKE void *unused, fake_setup, fake_teardown

/* Open the fake; and make a queue of @entries. They assert success. */
struct vtadev *fake_open(void);
struct vtadev_queue *fake_queue(struct vtadev *dev, uint32_t entries);

/* Play the card. */
void fake_complete(uint64_t seq);
void fake_state(enum vta_queue_state state);

#endif /* TESTS_LIB_FAKE_H */
