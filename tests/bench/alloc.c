// SPDX-License-Identifier: GPL-2.0-only
/*
 * alloc.c - what a pair of VTAMemAlloc() and VTAMemFree() costs
 *
 * Two yardsticks take turns with it, so that other load meets all three: a mapping of as
 * many bytes, which is what malloc() of a large block comes to, and a memset of them, which
 * a library that kept freed memory would still have to do. Whatever is allocated is touched,
 * page by page.
 */
#include <string.h>
#include <sys/mman.h>

#include "memory.h"
#include "vta/driver.h"

#define ROUNDS		25u
#define PAGE		4096u

static void touch(char *ptr, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		((volatile char *)ptr)[i] = 1;
}

static double time_pair(size_t bytes)
{
	double start = now_ns();
	char *ptr = must_ptr(VTAMemAlloc(bytes, VTA_CACHED), "VTAMemAlloc");

	touch(ptr, bytes);
	VTAMemFree(ptr);
	return now_ns() - start;
}

static double time_mapping(size_t bytes)
{
	double start = now_ns();
	char *ptr = must_ptr(mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap");

	touch(ptr, bytes);
	munmap(ptr, bytes);
	return now_ns() - start;
}

/* Of memory that the card shares, as a library would have kept it. */
static double time_zeroing(char *kept, size_t bytes)
{
	double start = now_ns();

	memset(kept, 0, bytes);
	/* The compiler has to think that it is read. */
	__asm__ volatile("" : : "r"(kept) : "memory");
	return now_ns() - start;
}

static void one_size(struct bench *bench, size_t bytes, struct json_object *list)
{
	static struct samples pair, mapping, zeroing;
	struct json_object *entry = json_object_new_object();
	char *kept = must_ptr(VTAMemAlloc(bytes, VTA_CACHED), "VTAMemAlloc");
	struct times p, m, z;

	pair.count = 0;
	mapping.count = 0;
	zeroing.count = 0;
	for (unsigned int i = 0; i < bench_times(bench, ROUNDS); i++) {
		sample(&pair, time_pair(bytes));
		sample(&mapping, time_mapping(bytes));
		sample(&zeroing, time_zeroing(kept, bytes));
	}
	VTAMemFree(kept);
	p = times_in(&pair);
	m = times_in(&mapping);
	z = times_in(&zeroing);
	json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)bytes));
	json_object_object_add(entry, "pair", json_times(p));
	json_object_object_add(entry, "mapping", json_times(m));
	json_object_object_add(entry, "zeroing", json_times(z));
	json_num(entry, "pair_to_mapping", p.least / m.least);
	json_num(entry, "pair_to_zeroing", p.least / z.least);
	json_object_array_add(list, entry);
	printf("%-8s %12.1f %12.1f %12.1f %12.2f %12.2f\n", size_text(bytes), p.least / 1e3,
	       m.least / 1e3, z.least / 1e3, p.least / m.least, p.least / z.least);
	fflush(stdout);
}

void bench_alloc(struct bench *bench)
{
	static const size_t sizes[] = { PAGE, 64 << 10, 1 * MIB, 16 * MIB };
	struct json_object *list = json_object_new_array();
	/* With the first and the last memory, the library opens and closes the card. */
	char *first = must_ptr(VTAMemAlloc(PAGE, VTA_CACHED), "VTAMemAlloc");

	printf("\nVTAMemAlloc and VTAMemFree: us (least of %u)\n", bench_times(bench, ROUNDS));
	printf("%-8s %12s %12s %12s %12s %12s\n", "", "a pair", "a mapping", "a memset",
	       "pair/mapping", "pair/memset");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		one_size(bench, sizes[i], list);
	VTAMemFree(first);
	json_object_object_add(bench->results, "allocations", list);
}
