/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of copies in this process, for benchmarks to compare the card with.
 */
#ifndef VTA_EMU_MEMCPY_TIME_H
#define VTA_EMU_MEMCPY_TIME_H

#include <stddef.h>

#include "model/mmu.h"

#define MEMCPY_TIME_MAX	(64u << 20)

/*
 * Nanoseconds of one memcpy() of 1 to MEMCPY_TIME_MAX bytes in the calling
 * thread: the least and the median of several measurements. Others on the
 * machine make it slower, nothing makes it faster. Returns 0 or -ENOMEM.
 */
int memcpy_time(size_t bytes, double *least, double *median);

/* The same of memory that is there, piece by piece, @bytes together. */
void memcpy_pieces_time(const struct mmu_piece *pieces, size_t count, size_t bytes,
			double *least, double *median);

#endif
