/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies past the caches, for more than they hold: a store that does not read
 * its line first saves a third of the traffic.
 */
#ifndef VTA_EMU_STREAM_COPY_H
#define VTA_EMU_STREAM_COPY_H

#include <stddef.h>

/* From how many bytes on, all pieces together, it is faster than memcpy(). */
#define STREAM_COPY_MIN		((size_t)8 << 20)

/*
 * As memcpy(), but what overlaps is undefined in its contents only. Others see
 * the bytes for certain after stream_copy_end().
 */
void stream_copy(void *dst, const void *src, size_t len);
void stream_copy_end(void);

#endif
