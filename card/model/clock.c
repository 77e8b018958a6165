// SPDX-License-Identifier: GPL-2.0-only
/*
 * Card time: real, or modelled and made slower or faster by what waits for it.
 */
#include <time.h>

#include "clock.h"

uint64_t host_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void clock_init(struct clock *clock, unsigned int slowness)
{
	*clock = (struct clock) {
		.slowness = slowness,
		.base = 1,
		.base_host = host_now(),
	};
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		clock->due[i] = UINT64_MAX;
}

uint64_t clock_now(const struct clock *clock)
{
	uint64_t now;

	if (clock->holders)
		return clock->base;
	now = host_now() - clock->base_host;
	if (!clock_modelled(clock))
		return clock->base + now;
	now = clock->base + now / clock->slowness;
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		if (now > clock->due[i])
			now = clock->due[i];
	return now;
}

void clock_hold(struct clock *clock)
{
	if (!clock_modelled(clock))
		return;
	clock->base = clock_now(clock);
	clock->holders++;
}

void clock_release(struct clock *clock)
{
	if (!clock_modelled(clock) || --clock->holders)
		return;
	clock->base_host = host_now();
}

uint64_t clock_duration(const struct clock *clock, uint64_t cycles, uint32_t khz)
{
	unsigned __int128 ns;

	if (!clock_modelled(clock))
		return 0;
	ns = ((unsigned __int128)cycles * 1000000 + khz - 1) / khz;
	/* A century, which no sum of such brings to overflow. */
	return ns < UINT64_MAX / 8 ? (uint64_t)ns : UINT64_MAX / 8;
}

uint64_t clock_to_host(const struct clock *clock, uint64_t time)
{
	const uint64_t slowness = clock_modelled(clock) ? clock->slowness : 1;
	uint64_t host;

	if (time <= clock->base)
		return clock->base_host;
	if (__builtin_mul_overflow(time - clock->base, slowness, &host) ||
	    __builtin_add_overflow(host, clock->base_host, &host) || host > INT64_MAX)
		return INT64_MAX;
	return host;
}
