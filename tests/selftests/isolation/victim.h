/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * victim.h - a process that computes, with secrets in memory of every kind
 *
 * The attacker knows everything about it but the secrets. It compares its secrets and its results
 * all the time, and stops at the first difference.
 */
#ifndef VTA_VICTIM_H
#define VTA_VICTIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SECRET_BYTES	0x4000u
#define HOARD_BYTES	0x100000u

/* Each byte of the scratchpads after one of its RUNs. */
#define VICTIM_SCRATCH	0x11

/* Addresses of its secrets, in its own context. */
#define VICTIM_HOST	0x51000000u
#define VICTIM_CARD	0x52000000u
#define VICTIM_PINNED	0x53000000u

enum victim_order {
	VICTIM_COMPUTE,
	VICTIM_HOARD,	/* take HOARD_BYTES of new host and card memory for secrets */
	VICTIM_DROP,	/* free it, secrets and all */
	VICTIM_REST,	/* leave the card alone, until the next order */
	VICTIM_STOP,
};

/* Shared with the victim. */
struct victim_view {
	uint32_t host_handle, card_handle, queue;
	uint32_t ring_addr;
	bool has_pinned;
	int dma_buf;	/* of its secret in card memory; -1 if there is none */
	uint64_t host_offset, card_offset;
	uint64_t ring_offset, status_offset, doorbell_offset;
	_Atomic uint32_t order, done;
	_Atomic uint64_t begun, jobs;	/* the last job submitted; jobs verified */
	char complaint[128];
};

struct victim {
	pid_t pid;
	struct victim_view *view;
};

/* Returns when it has computed something; it runs as user @uid. */
int victim_start(struct victim *v, uid_t uid);
/* Returns when it has done so. */
int victim_order(struct victim *v, enum victim_order order);
/*
 * Returns when the victim has finished that many jobs that it submitted after the call, or
 * -ETIMEDOUT. A job that is in flight at the call, or over but not verified, does not count.
 */
int victim_progress(struct victim *v, unsigned int jobs);
/* "intact", or what was not. */
const char *victim_stop(struct victim *v);

/* Number of words of the secret; of bytes that are not 0. */
unsigned int secrets_in(const void *mem, size_t size);
size_t nonzero_in(const void *mem, size_t size);

#endif /* VTA_VICTIM_H */
