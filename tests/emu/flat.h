/* SPDX-License-Identifier: GPL-2.0-only */
/* flat.h - plain memory for a core: a range of device addresses, no pages */
#ifndef TESTS_EMU_FLAT_H
#define TESTS_EMU_FLAT_H

#include "core/core.h"

struct flat {
	uint8_t *bytes;
	uint32_t base;
	uint32_t size;
	uint64_t stop_after;	/* stop() returns true from this call on; 0: never */
	uint64_t stops;		/* times that stop() was asked */
	uint64_t fetched;	/* bytes of instructions that the core has read */
	enum vta_fault_reason refusal;	/* of addresses outside of the range; 0: PAGE */
};

/* With a struct flat as their priv: addresses outside of the range fault. */
extern const struct core_mem_ops flat_ops;

void flat_init(struct flat *flat, uint32_t base, uint32_t size, const uint8_t *image);
void flat_free(struct flat *flat);

#endif /* TESTS_EMU_FLAT_H */
