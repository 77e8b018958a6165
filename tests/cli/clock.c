// SPDX-License-Identifier: GPL-2.0-only
/*
 * clock.c - a library to preload: the clock of progress bars advances by CLOCK_STEP_MS with each
 * reading, so that tests of progress depend on no time
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t clock, struct timespec *t);
	static long long ms;

	if (clock == CLOCK_MONOTONIC_COARSE) {
		ms += atoll(getenv("CLOCK_STEP_MS"));
		*t = (struct timespec) { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
		return 0;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, t);
}
