/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptors (docs/hardware.md, section 7): when they are well-formed, and which unit
 * executes them.
 */
#ifndef VTA_EMU_DESC_H
#define VTA_EMU_DESC_H

#include <stdbool.h>
#include <stdint.h>

#include "vta.h"
#include "vta_isa.h"

/* Where a descriptor is executed. */
enum desc_unit {
	DESC_FRONT,	/* the front end: no engine */
	DESC_COMPUTE,
	DESC_COPY,
};

#define DESC_ENGINES	2	/* DESC_COMPUTE and DESC_COPY */

/* Why a descriptor is refused. */
struct desc_error {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
};

/*
 * Checks in the contract's order. @cycles is the queue's limit, 0: none; @keeps:
 * it has a save area. error.reason is VTA_FAULT_NONE when the descriptor may be executed.
 */
struct desc_error desc_check(const struct vta_desc *desc, uint64_t cycles, bool keeps);

/* Of a descriptor that has passed. */
enum desc_unit desc_unit(const struct vta_desc *desc);

static inline enum vta_op desc_op(const struct vta_desc *desc)
{
	return desc->op_flags & VTA_DESC_OP_MASK;
}

/* What a COPY or FILL takes. */
uint64_t desc_copy_cycles(const struct vta_desc *desc);

#endif
