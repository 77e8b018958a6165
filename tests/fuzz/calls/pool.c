// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"

struct pool *pool;

int pool_create(void)
{
	pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	return pool == MAP_FAILED ? -errno : 0;
}

/*
 * When the pool is full, new programs replace the oldest. Reading one that is being replaced
 * gives a mixture.
 */
void pool_add(const struct prog *prog)
{
	unsigned int n = atomic_fetch_add(&pool->nr_progs, 1);

	memcpy(&pool->progs[n % POOL_PROGS], prog, sizeof(*prog));
}

/* From one basic block to the next. */
static uint32_t edge(uint64_t from, uint64_t to)
{
	uint64_t both = (from * 31 ^ to) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(both >> 32) % POOL_EDGES;
}

bool pool_learn(const struct kcov *kcov)
{
	uint64_t i, n, last = 0;
	bool news = false;

	if (!kcov->area)
		return false;
	n = __atomic_load_n(&kcov->area[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n; i++) {
		_Atomic uint8_t *seen = &pool->edges[edge(last, kcov->area[i])];

		last = kcov->area[i];
		if (atomic_load_explicit(seen, memory_order_relaxed) ||
		    atomic_exchange(seen, 1))
			continue;
		atomic_fetch_add(&pool->edges_seen, 1);
		news = true;
	}
	return news;
}
