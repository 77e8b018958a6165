/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * matrix.h - every kind of fault of the card in every state of the driver
 *
 * A cell is one of each. In all of them:
 * - every call of every party ends in its time with an errno that fits
 * - uninvolved processes are not affected, unless the card as a whole fails
 * - the kernel log has messages of the driver alone
 * - afterwards the card works again, at the latest when the driver is bound anew
 * - nothing leaks: all counters are back to zero
 */
#ifndef VTA_MATRIX_H
#define VTA_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "card.h"
#include "innocent.h"
#include "log.h"

/* Processes that a fault affects. */
enum reach {
	REACH_NOBODY,	/* calls succeed; they may take longer */
	REACH_QUEUE,	/* that queue halts, or makes no progress */
	REACH_CARD,	/* any process may lose the card */
};

#define KIND_SPECS	3

struct kind {
	const char *name;
	const char *specs[KIND_SPECS];	/* what is injected; %q is the victim's queue */
	enum reach reach;
	int work;	/* the result of a job of the victim's queue; WORK_ANY */
	unsigned int flags;
};

#define WORK_ANY	1

#define KIND_STALLS	0x1	/* jobs of others wait for the end of it */
#define KIND_UNPLUGS	0x2	/* the kernel has to find the card again */
#define KIND_EARLY	0x4	/* the queue's owner sees it as done too early */

extern const struct kind kinds[];
extern const unsigned int nr_kinds;

/* ---- The state of a cell ---- */

struct cell {
	const struct kind *kind;
	char result[64];	/* results of the victim's calls */
	char why[192];		/* the error; empty: none */
	bool stalled;		/* the error is only that the innocent was kept waiting */
};

struct state {
	const char *name;
	/* Enters the state, injects the fault, and leaves the state. */
	void (*run)(struct cell *cell);
	bool no_queue;		/* kinds for one queue do not apply */
	bool loses;		/* others lose the card, whatever the fault */
};

extern const struct state states[];
extern const unsigned int nr_states;

/* Injects the cell's fault, for this queue if it is one for a queue. */
void cell_inject(struct cell *cell, uint32_t queue);
/* A call has returned @ret: an error of the cell unless @allowed. */
void cell_note(struct cell *cell, const char *call, int ret, bool allowed);
/* Returns true if the errno is allowed for the kind of fault. */
bool cell_fits(const struct cell *cell, int ret);
__attribute__((format(printf, 2, 3)))
void cell_fail(struct cell *cell, const char *format, ...);

#endif
