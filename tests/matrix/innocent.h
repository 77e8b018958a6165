/* SPDX-License-Identifier: GPL-2.0-only */
/* innocent.h - a process that uses the card and has no part in the fault */
#ifndef VTA_MATRIX_INNOCENT_H
#define VTA_MATRIX_INNOCENT_H

#include <stdbool.h>
#include <stdint.h>

struct innocent;

struct innocent *innocent_start(void);
uint64_t innocent_rounds(const struct innocent *innocent);
/* The number of rounds when one that begins after this call has ended. */
uint64_t innocent_next(const struct innocent *innocent);
/* It has found wrong results since the last call. */
bool innocent_corrupt(struct innocent *innocent);
/* A wait of its own has taken too long. */
bool innocent_stalled(const struct innocent *innocent);
/* Ends it; any other error as text, or NULL. @may_lose: it may have lost the card */
const char *innocent_end(struct innocent *innocent, bool may_lose);

#endif
