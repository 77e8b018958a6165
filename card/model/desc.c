// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a descriptor is well-formed (docs/hardware.md, section 7).
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "desc.h"

static_assert(sizeof(struct vta_desc) == 64, "a descriptor is 64 bytes");
static_assert(offsetof(struct vta_desc, words) == 16, "its operands begin at 0x10");

#define OPS	(VTA_OP_WAIT + 1)
#define WORDS	12	/* 32-bit words of operands */

/* Bit n: the operation has a field at 0x10 + 4n. */
static const uint16_t fields[OPS] = {
	[VTA_OP_NOP]	= 0,
	[VTA_OP_RUN]	= 0x00f,
	[VTA_OP_COPY]	= 0x03f,
	[VTA_OP_FILL]	= 0x01f,
	[VTA_OP_SIGNAL]	= 0x00d,
	[VTA_OP_WAIT]	= 0x00d,
};

static bool operands_ok(const struct vta_desc *desc)
{
	enum vta_op op = desc_op(desc);
	uint32_t words[WORDS];

	if (op >= OPS)
		return false;
	memcpy(words, desc->words, sizeof(words));
	for (unsigned int i = 0; i < WORDS; i++)
		if (words[i] && !(fields[op] >> i & 1))
			return false;
	return true;
}

/* COPY's width and rows stand where FILL's do. */
static_assert(offsetof(struct vta_desc, copy.width) == offsetof(struct vta_desc, fill.width) &&
	      offsetof(struct vta_desc, copy.rows) == offsetof(struct vta_desc, fill.rows),
	      "rows are checked alike");

static bool size_ok(const struct vta_desc *desc)
{
	return (uint64_t)desc->copy.width * desc->copy.rows <= 1ull << 32;
}

static bool is_copy(const struct vta_desc *desc)
{
	return desc_op(desc) == VTA_OP_COPY || desc_op(desc) == VTA_OP_FILL;
}

static bool desc_ok(const struct vta_desc *desc, bool keeps)
{
	uint32_t flags = VTA_DESC_STAMP;

	if (desc_op(desc) == VTA_OP_RUN && keeps)
		flags |= VTA_DESC_KEEP;
	if (desc->op_flags & ~(VTA_DESC_OP_MASK | flags) || desc->reserved)
		return false;
	if (desc->stamp_addr && !(desc->op_flags & VTA_DESC_STAMP))
		return false;
	return operands_ok(desc) && (!is_copy(desc) || size_ok(desc));
}

static struct desc_error check_align(const struct vta_desc *desc)
{
	uint32_t addr = 0, align = 1;
	enum vta_access access = VTA_ACCESS_NONE;

	switch (desc_op(desc)) {
	case VTA_OP_RUN:
		addr = desc->run.insn_addr;
		align = 16;
		access = VTA_ACCESS_INSN;
		break;
	case VTA_OP_SIGNAL:
		addr = desc->sync.addr;
		align = 8;
		access = VTA_ACCESS_SIGNAL;
		break;
	case VTA_OP_WAIT:
		addr = desc->sync.addr;
		align = 8;
		access = VTA_ACCESS_WAIT;
		break;
	default:
		break;
	}
	if (desc->stamp_addr % 8)
		return (struct desc_error) { VTA_FAULT_ALIGN, VTA_ACCESS_STAMP, desc->stamp_addr };
	if (addr % align)
		return (struct desc_error) { VTA_FAULT_ALIGN, access, addr };
	return (struct desc_error) { 0 };
}

struct desc_error desc_check(const struct vta_desc *desc, uint64_t cycles, bool keeps)
{
	struct desc_error error;

	if (!desc_ok(desc, keeps))
		return (struct desc_error) { .reason = VTA_FAULT_DESC };
	error = check_align(desc);
	if (error.reason)
		return error;
	if (cycles && is_copy(desc) && desc_copy_cycles(desc) > cycles)
		error.reason = VTA_FAULT_CYCLES;
	return error;
}

uint64_t desc_copy_cycles(const struct vta_desc *desc)
{
	return vta_copy_cycles(desc->copy.rows, desc->copy.width);
}

enum desc_unit desc_unit(const struct vta_desc *desc)
{
	switch (desc_op(desc)) {
	case VTA_OP_RUN:
		/* An empty stream completes at once. */
		return desc->run.insn_count ? DESC_COMPUTE : DESC_FRONT;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		return DESC_COPY;
	default:
		return DESC_FRONT;
	}
}
