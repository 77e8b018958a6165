/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - threads that wait for parts of kernels, and run them with the caller */
#ifndef VTADEV_CREW_H
#define VTADEV_CREW_H

#include "vtacpu.h"

struct crew;

/* Starts threads, of which the caller of crew_run() is one; fewer, if no more can be had. */
int crew_new(unsigned int threads, struct crew **crew);
/* Ends the threads; in a child of fork(), which has none, only frees. NULL is allowed. */
void crew_free(struct crew *crew);

/*
 * Runs @n parts, and waits for all of them. @scratch is memory for each, @scratch_bytes apart. One
 * thread at a time calls this.
 */
void crew_run(struct crew *crew, const struct vtacpu_part *parts, unsigned int n, void *scratch,
	      size_t scratch_bytes);

#endif /* VTADEV_CREW_H */
