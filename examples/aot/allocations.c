// SPDX-License-Identifier: Apache-2.0
/*
 * allocations.c - counts calls of malloc() and its relatives
 *
 * The program is linked with --wrap for each of them.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "allocations.h"

static atomic_ulong count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

void *__wrap_malloc(size_t size)
{
	atomic_fetch_add(&count, 1);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	atomic_fetch_add(&count, 1);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	atomic_fetch_add(&count, 1);
	return __real_realloc(ptr, size);
}

unsigned long allocations(void)
{
	return atomic_load(&count);
}
