/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address translation (docs/hardware.md, section 5): contexts, page walks, the
 * TLB, and every access that goes through them.
 *
 * The TLB lock is held shared from the translation of a page to the end of the
 * access to it, and exclusively by an invalidation: when that returns, no old
 * entry is in use. It is never held while waiting for the bus, and the card's
 * lock is not taken inside it.
 */
#ifndef VTA_EMU_MMU_H
#define VTA_EMU_MMU_H

#include <errno.h>

#include "bus.h"

/*
 * Direct mapped, and large enough that a stale entry really lives until it is
 * invalidated. An entry is a page-table entry of the host with a tag in its
 * reserved bits, so that it is read and replaced by one atomic access.
 */
#define MMU_TLB_PAGES	8192u
#define MMU_TLB_TABLES	2048u

struct mmu {
	struct bus *bus;
	struct counters *counters;
	uint8_t *mem;
	uint64_t mem_size;
	pthread_rwlock_t lock;	/* Protects: see above */
	unsigned int generation;	/* of the TLB, counts invalidations */

	/* Root of each enabled context, with bit 0 set; else 0. */
	_Atomic uint64_t root[VTA_CONTEXTS_MAX];
	_Atomic uint64_t pages[MMU_TLB_PAGES];
	_Atomic uint64_t tables[MMU_TLB_TABLES];
};

int mmu_init(struct mmu *mmu, struct bus *bus, struct counters *counters,
	     void *mem, uint64_t mem_size);
void mmu_destroy(struct mmu *mmu);

void mmu_set_root(struct mmu *mmu, unsigned int context, uint64_t root);
void mmu_clear_root(struct mmu *mmu, unsigned int context);
void mmu_invalidate(struct mmu *mmu, unsigned int context);
void mmu_invalidate_all(struct mmu *mmu);

/* A unit that accesses memory, and the flag that stops it. */
struct mmu_port {
	struct mmu *mmu;
	const atomic_bool *give_up;
	unsigned int context;
};

/*
 * All accesses return 0, the reason of a fault (enum vta_fault_reason) with
 * *fault_addr the first address that could not be accessed, or MMU_GIVEN_UP.
 * They wait while the bus is off. Addresses are 64 bits wide because a row may
 * reach beyond the 32-bit space, which is a fault and no wrap-around.
 */
#define MMU_GIVEN_UP	(-ECANCELED)

int mmu_read(const struct mmu_port *port, uint64_t addr, void *buf, size_t len,
	     uint32_t *fault_addr);
int mmu_write(const struct mmu_port *port, uint64_t addr, const void *buf, size_t len,
	      uint32_t *fault_addr);
/* One access to an aligned word, never torn; the store is a release. */
int mmu_read64(const struct mmu_port *port, uint64_t addr, uint64_t *val,
	       uint32_t *fault_addr);
int mmu_write64(const struct mmu_port *port, uint64_t addr, uint64_t val,
		uint32_t *fault_addr);

/*
 * A row that is walked through in steps, with the run it is in: pages that
 * follow each other in memory too. Translations are kept from step to
 * step, unless the TLB was invalidated.
 */
struct mmu_row {
	uint64_t addr;
	bool stream;		/* written past the caches */
	uint64_t run;		/* first address of the run ... */
	uint64_t run_len;	/* ... its bytes, 0: none ... */
	uint64_t leaf;		/* ... and its first page's entry */
	unsigned int generation;
	uint64_t hits;		/* in the TLB, and bytes moved: not yet counted */
	uint64_t host_bytes;
	uint64_t card_bytes;
};

static inline struct mmu_row mmu_row(uint64_t addr)
{
	return (struct mmu_row) { .addr = addr };
}

/*
 * Move up to @len bytes, as far as it goes without keeping an invalidation
 * waiting, and advance the rows; *done is their number. When they fault, *at_src
 * has the address.
 */
int mmu_copy_step(const struct mmu_port *port, struct mmu_row *dst, struct mmu_row *src,
		  size_t len, size_t *done, bool *at_src, uint32_t *fault_addr);
/*
 * Finds the next bytes of such a copy in this process, up to @len; advances
 * the rows as if they had moved. They may be there for as long as no DMA region
 * is unmapped.
 */
struct mmu_piece {
	void *dst;
	const void *src;
	size_t len;
};
int mmu_piece(const struct mmu_port *port, struct mmu_row *dst, struct mmu_row *src,
	      size_t len, struct mmu_piece *piece);
/* @data is at least a page, or @len bytes. */
int mmu_fill_step(const struct mmu_port *port, struct mmu_row *dst, const void *data,
		  size_t len, size_t *done, uint32_t *fault_addr);

#endif
