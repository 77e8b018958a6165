// SPDX-License-Identifier: GPL-2.0-only
/*
 * Non-temporal stores where the processor has them.
 */
#include <stdint.h>
#include <string.h>

#include "stream_copy.h"

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE		64u
/* The processor's own prefetching stops at the end of each page. */
#define AHEAD		(16 * LINE)

static void copy_line(char *dst, const char *src)
{
	const __m128i *from = (const void *)src;
	__m128i *to = (void *)dst;
	__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
	__m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

	_mm_prefetch(src + AHEAD, _MM_HINT_T0);
	_mm_stream_si128(to, a);
	_mm_stream_si128(to + 1, b);
	_mm_stream_si128(to + 2, c);
	_mm_stream_si128(to + 3, d);
}

void stream_copy(void *dst, const void *src, size_t len)
{
	size_t head = -(uintptr_t)dst % LINE;
	const char *from = src;
	char *to = dst;

	if (head > len)
		head = len;
	memmove(to, from, head);
	for (to += head, from += head, len -= head; len >= LINE; len -= LINE) {
		copy_line(to, from);
		to += LINE;
		from += LINE;
	}
	memmove(to, from, len);
}

void stream_copy_end(void)
{
	_mm_sfence();
}
#else
void stream_copy(void *dst, const void *src, size_t len)
{
	memmove(dst, src, len);
}

void stream_copy_end(void)
{
}
#endif
