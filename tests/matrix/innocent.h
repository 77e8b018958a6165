/* SPDX-License-Identifier: GPL-2.0-only */
/* innocent.h - a process that has nothing to do with what is done to the card */
#ifndef VTA_MATRIX_INNOCENT_H
#define VTA_MATRIX_INNOCENT_H

#include <stdbool.h>
#include <stdint.h>

struct innocent;

struct innocent *innocent_start(void);
uint64_t innocent_rounds(const struct innocent *innocent);
/* The rounds there will be when one that begins after this call has ended. */
uint64_t innocent_next(const struct innocent *innocent);
/* Whether it has found wrong results since it was asked last. */
bool innocent_corrupt(struct innocent *innocent);
/* Whether it has been kept waiting. */
bool innocent_stalled(const struct innocent *innocent);
/* What else went wrong, or NULL. It may have lost the card. */
const char *innocent_end(struct innocent *innocent, bool may_lose);

#endif
