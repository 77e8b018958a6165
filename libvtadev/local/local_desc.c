// SPDX-License-Identifier: Apache-2.0
/*
 * local_desc.c - which descriptors are well-formed (docs/hardware.md, section 7)
 */
#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "local_impl.h"
#include "vta_isa.h"

/* The records in memory are taken as they are. */
static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "descriptors are little-endian, and so is the host");

#define OPS		(VTA_OP_WAIT + 1)
#define WORDS		12u	/* 32-bit words of operands */
#define COPY_BYTES_MAX	(1ull << 32)

/* Bit n: the operation has something in 32-bit word n of its operands. */
static const uint16_t operands[OPS] = {
	[VTA_OP_RUN]	= 0x00f,
	[VTA_OP_COPY]	= 0x03f,
	[VTA_OP_FILL]	= 0x01f,
	[VTA_OP_SIGNAL]	= 0x00d,
	[VTA_OP_WAIT]	= 0x00d,
};

enum vta_op local_op(const struct vta_desc *desc)
{
	return (enum vta_op)(desc->op_flags & VTA_DESC_OP_MASK);
}

static bool is_copy(const struct vta_desc *desc)
{
	return local_op(desc) == VTA_OP_COPY || local_op(desc) == VTA_OP_FILL;
}

static_assert(sizeof(((struct vta_desc *)0)->words) == WORDS * sizeof(uint32_t), "all of them");

static bool operands_fit(const struct vta_desc *desc)
{
	uint32_t words[WORDS];

	if (local_op(desc) >= OPS)
		return false;
	memcpy(words, desc->words, sizeof(words));
	for (unsigned int i = 0; i < WORDS; i++)
		if (words[i] && !(operands[local_op(desc)] >> i & 1))
			return false;
	return true;
}

static bool well_formed(const struct vta_desc *desc, bool keeps)
{
	uint32_t flags = VTA_DESC_OP_MASK | VTA_DESC_STAMP;

	if (local_op(desc) == VTA_OP_RUN && keeps)
		flags |= VTA_DESC_KEEP;
	if (desc->op_flags & ~flags || desc->reserved || !operands_fit(desc))
		return false;
	if (desc->stamp_addr && !(desc->op_flags & VTA_DESC_STAMP))
		return false;
	/* FILL's width and rows are where COPY's are. */
	return !is_copy(desc) || (uint64_t)desc->copy.width * desc->copy.rows <= COPY_BYTES_MAX;
}

static struct local_outcome misaligned(enum vta_access access, uint32_t addr)
{
	struct local_outcome outcome = LOCAL_OK;

	outcome.reason = VTA_FAULT_ALIGN;
	outcome.access = access;
	outcome.addr = addr;
	return outcome;
}

static struct local_outcome check_align(const struct vta_desc *desc)
{
	if (desc->stamp_addr % sizeof(uint64_t))
		return misaligned(VTA_ACCESS_STAMP, desc->stamp_addr);
	switch (local_op(desc)) {
	case VTA_OP_RUN:
		if (desc->run.insn_addr % 16)
			return misaligned(VTA_ACCESS_INSN, desc->run.insn_addr);
		break;
	case VTA_OP_SIGNAL:
		if (desc->sync.addr % sizeof(uint64_t))
			return misaligned(VTA_ACCESS_SIGNAL, desc->sync.addr);
		break;
	case VTA_OP_WAIT:
		if (desc->sync.addr % sizeof(uint64_t))
			return misaligned(VTA_ACCESS_WAIT, desc->sync.addr);
		break;
	default:
		break;
	}
	return LOCAL_OK;
}

struct local_outcome local_desc_check(const struct vta_desc *desc, uint64_t max_cycles, bool keeps)
{
	struct local_outcome outcome = LOCAL_OK;

	if (!well_formed(desc, keeps)) {
		outcome.reason = VTA_FAULT_DESC;
		return outcome;
	}
	outcome = check_align(desc);
	if (!outcome.reason && max_cycles && is_copy(desc) &&
	    local_copy_cycles(desc, desc->copy.rows) > max_cycles)
		outcome.reason = VTA_FAULT_CYCLES;
	return outcome;
}

enum local_unit local_desc_unit(const struct vta_desc *desc)
{
	if (is_copy(desc))
		return LOCAL_COPY;
	/* An empty stream completes at once. */
	return local_op(desc) == VTA_OP_RUN && desc->run.insn_count ? LOCAL_COMPUTE : LOCAL_FRONT;
}

uint64_t local_copy_cycles(const struct vta_desc *desc, uint32_t rows)
{
	return vta_copy_cycles(rows, desc->copy.width);
}
