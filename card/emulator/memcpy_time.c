// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that one of the card's copies takes on the host's memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "memcpy_time.h"

#define TIMES		9
/* One measurement; it takes much longer than the clock's steps. */
#define BYTES_AT_ONCE	(1u << 20)

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double measure(const struct mmu_piece *pieces, size_t n, size_t bytes)
{
	const size_t count = bytes < BYTES_AT_ONCE ? BYTES_AT_ONCE / bytes : 1;
	double start = now_ns();

	for (size_t i = 0; i < count; i++) {
		for (size_t p = 0; p < n; p++)
			/* They may overlap. */
			memmove(pieces[p].dst, pieces[p].src, pieces[p].len);
		/* Every copy is wanted. */
		__asm__ __volatile__("" : : "r"(pieces) : "memory");
	}
	return (now_ns() - start) / (double)count;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void memcpy_pieces_time(const struct mmu_piece *pieces, size_t count, size_t bytes,
			double *least, double *median)
{
	double times[TIMES];

	for (unsigned int i = 0; i < TIMES; i++)
		times[i] = measure(pieces, count, bytes);
	qsort(times, TIMES, sizeof(*times), by_value);
	*least = times[0];
	*median = times[TIMES / 2];
}

int memcpy_time(size_t bytes, double *least, double *median)
{
	/* Shared, as guest and card memory are: such pages may be of another size. */
	char *mem = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	struct mmu_piece piece = { mem + bytes, mem, bytes };

	if (mem == MAP_FAILED)
		return -ENOMEM;
	memset(mem, 1, 2 * bytes);
	memcpy_pieces_time(&piece, 1, bytes, least, median);
	munmap(mem, 2 * bytes);
	return 0;
}
