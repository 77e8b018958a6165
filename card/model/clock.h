/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Card time, in one of two ways.
 *
 * Real: a descriptor takes what it takes the emulator.
 *
 * Modelled: it takes its cycles at the engines' clock, and the emulator's own
 * work takes nothing. Time passes as on the host while each engine is idle or
 * within a descriptor, and stops while the emulator has to
 * catch up: while one of the card's threads *holds* it, and at the end of a
 * descriptor until that has been dealt with. So what the card does by itself
 * comes at exact times, however slow and busy the host is; only what the host
 * does (a doorbell) comes when it comes. With a slowness of n the host's
 * nanoseconds count an n-th.
 *
 * All with the card's lock held. Nothing ticks: an unused clock costs nothing.
 */
#ifndef VTA_EMU_CLOCK_H
#define VTA_EMU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "vta_desc.h"

#define CLOCK_SLOWNESS_MAX	1000000u

struct clock {
	unsigned int slowness;		/* 0: real time */
	uint64_t base;			/* card time ... */
	uint64_t base_host;		/* ... and the host's at that moment */
	unsigned int holders;		/* not 0: it is stopped at base */
	uint64_t due[VTA_ENGINES];	/* it does not pass these; UINT64_MAX: none */
};

/* Card time 1 is now. */
void clock_init(struct clock *clock, unsigned int slowness);

uint64_t clock_now(const struct clock *clock);

/* Stops the clock until the last holder releases it. Nothing in real time. */
void clock_hold(struct clock *clock);
void clock_release(struct clock *clock);

static inline bool clock_modelled(const struct clock *clock)
{
	return clock->slowness;
}

static inline bool clock_held(const struct clock *clock)
{
	return clock->holders;
}

/* Returns the duration of @cycles in ns; 0 in real time. */
uint64_t clock_duration(const struct clock *clock, uint64_t cycles, uint32_t khz);

/* When @time will be, by the host's clock, if the card's clock is not held. */
uint64_t clock_to_host(const struct clock *clock, uint64_t time);

/* CLOCK_MONOTONIC, ns. */
uint64_t host_now(void);

#endif
