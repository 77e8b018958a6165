/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * toy.h - the library's queues on a card in this process, for what is built on
 * them
 *
 * Queues move on one descriptor at a time, in an order that a seed chooses,
 * when the program submits or waits. If nothing can move, a wait for more, or for
 * room, returns -EDEADLK. Memory is one buffer.
 */
#ifndef TESTS_LIB_TOY_H
#define TESTS_LIB_TOY_H

#include <stdbool.h>
#include <stdint.h>

#include "vtadev.h"

#define TOY_QUEUES	3
#define TOY_ADDR	0x00400000u

struct toy {
	uint64_t seed;
	unsigned int queues, bufs;		/* alive */
	unsigned int fail_queue;		/* creating the n-th fails, from 1 */
	unsigned int waits;			/* that had to wait */
	unsigned int doorbells;
	/* Executes what is no NOP, SIGNAL or WAIT; false: it faults. */
	bool (*execute)(unsigned int queue, const struct vta_desc *desc);
};

extern struct toy toy;

/* A number below @below. */
uint32_t toy_random(uint32_t below);

/* Nothing moves but by this: one step; false if nothing can. */
bool toy_step(void);

#endif /* TESTS_LIB_TOY_H */
