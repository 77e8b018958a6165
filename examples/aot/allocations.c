// SPDX-License-Identifier: Apache-2.0
/*
 * allocations.c - counts calls of malloc() and its relatives, and of mmap()
 *
 * The program is linked with --wrap for each of them.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "allocations.h"

static atomic_ulong count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset);

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

void *__wrap_mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset)
{
	atomic_fetch_add(&count, 1);
	return __real_mmap64(addr, size, prot, flags, fd, offset);
}

unsigned long allocations(void)
{
	return atomic_load(&count);
}
