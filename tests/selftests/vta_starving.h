/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_starving.h - a process that does not get a processor in the middle of a call, as one whose
 * cgroup may not have it
 *
 * The process ends a queue, on processor 0. The card does not stop that queue, which the caller has
 * injected ("stop-never"), and another process takes the processor. A third one, on
 * processor 1, waits for an idle queue of the same file, and then polls the file.
 */
#ifndef VTA_STARVING_H
#define VTA_STARVING_H

#include <stdbool.h>
#include <sched.h>

#include "vta_selftest.h"

struct starving {
	_Atomic int state;
	pid_t pid, other;
	int ms;
	int ret;		/* of the call */
	struct client c;
	struct queue idle;
	int waited, polled;	/* results of the third process, when ... */
	_Atomic bool waits_ended;
	cpu_set_t processors;	/* of the caller before */
};

/*
 * Has the caller run on processor 1, and real-time processes without a limit, from new to free.
 * Returns NULL, or an error, if that fails.
 */
struct starving *starving_new(void);
int starving_free(struct starving *s);

/* Returns true if the process has come to hold its context, and does not run for @ms from now. */
bool starving_start(struct starving *s, int ms);
/* Returns true if that has lasted until now. */
bool starving_continues(const struct starving *s);
/* Returns true if all processes have ended well. */
bool starving_end(struct starving *s);

#endif /* VTA_STARVING_H */
