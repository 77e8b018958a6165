/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * vta_desc.h - rules of descriptors (docs/hardware.md, section 7)
 *
 * Their numbers are those of uapi/vta.h. The emulated card, the devices in the process, the
 * library's traces and the tests include this file. Descriptors are little-endian on every host.
 * All functions are inline and may be used by any thread.
 */
#ifndef VTA_DESC_H
#define VTA_DESC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vta.h"

/* The unit that executes a descriptor: an engine, or the front end. */
enum vta_unit {
	VTA_UNIT_FRONT,
	VTA_UNIT_COMPUTE,
	VTA_UNIT_COPY,
	VTA_UNITS
};

#define VTA_ENGINES	2	/* units but the front end */

/*
 * X(NAME, unit, words, align, access): the operation VTA_OP_NAME, by number from 0. Bit n of
 * @words: the 32-bit word at 0x10 + 4n may be other than 0. The address at 0x10 is a multiple of
 * @align, else the fault is ALIGN with VTA_ACCESS_@access.
 */
#define VTA_DESC_OPS(X)				\
	X(NOP, FRONT, 0x000, 1, NONE)		\
	X(RUN, COMPUTE, 0x00f, 16, INSN)	\
	X(COPY, COPY, 0x03f, 1, NONE)		\
	X(FILL, COPY, 0x01f, 1, NONE)		\
	X(SIGNAL, FRONT, 0x00d, 8, SIGNAL)	\
	X(WAIT, FRONT, 0x00d, 8, WAIT)

#define VTA_DESC_WORDS		12	/* 32-bit words of operands */
#define VTA_DESC_STAMP_ALIGN	8
#define VTA_DESC_LOG_COPY_MAX	32	/* of the bytes that a COPY or FILL writes */

static_assert(sizeof(struct vta_desc) == 64 && offsetof(struct vta_desc, words) == 0x10 &&
	      sizeof(((struct vta_desc *)0)->words) == VTA_DESC_WORDS * sizeof(uint32_t),
	      "a descriptor is 64 bytes, and its operands begin at 0x10");
static_assert(offsetof(struct vta_desc, copy.width) == offsetof(struct vta_desc, fill.width) &&
	      offsetof(struct vta_desc, copy.rows) == offsetof(struct vta_desc, fill.rows),
	      "the size of a COPY and of a FILL is checked alike");

/* Cycles of a COPY or FILL. */
#define VTA_COPY_LATENCY	16
#define VTA_COPY_ROW		1
#define VTA_COPY_PORT		16	/* bytes a cycle */

/**
 * struct vta_desc_rule - properties of an operation
 * @name: its name in the document
 * @unit: unit that executes it; a RUN of no instructions needs none
 * @words: 32-bit words of its operands, a bit each
 * @align: divisor of its first address
 * @access: access that faults if the address is misaligned
 */
struct vta_desc_rule {
	const char *name;
	enum vta_unit unit;
	uint16_t words;
	uint8_t align;
	enum vta_access access;
};

/**
 * struct vta_desc_error - the fault of a descriptor that is refused
 * @reason: VTA_FAULT_NONE if it is not
 * @access: with VTA_FAULT_ALIGN, the access
 * @addr: with VTA_FAULT_ALIGN, the misaligned address
 */
struct vta_desc_error {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
};

static inline uint32_t vta_desc_le32(__le32 value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap32(value);
#else
	return value;
#endif
}

/* The operation, which need not exist. */
static inline enum vta_op vta_desc_op(const struct vta_desc *desc)
{
	return (enum vta_op)(vta_desc_le32(desc->op_flags) & VTA_DESC_OP_MASK);
}

/* The rule of an operation, or NULL if there is no such operation. */
static inline const struct vta_desc_rule *vta_desc_rule(enum vta_op op)
{
#define VTA_DESC_RULE(NAME, unit, words, align, access) \
	[VTA_OP_##NAME] = { #NAME, VTA_UNIT_##unit, words, align, VTA_ACCESS_##access },
	static const struct vta_desc_rule rules[] = { VTA_DESC_OPS(VTA_DESC_RULE) };
#undef VTA_DESC_RULE

	return (unsigned int)op < sizeof(rules) / sizeof(*rules) ? &rules[op] : NULL;
}

/* The unit of a descriptor. A RUN of no instructions completes at once. */
static inline enum vta_unit vta_desc_unit(const struct vta_desc *desc)
{
	const struct vta_desc_rule *rule = vta_desc_rule(vta_desc_op(desc));

	if (!rule || (rule->unit == VTA_UNIT_COMPUTE && !desc->run.insn_count))
		return VTA_UNIT_FRONT;
	return rule->unit;
}

/* Cycles of the copy engine for @rows rows of @width bytes. */
static inline uint64_t vta_copy_cycles(uint32_t rows, uint32_t width)
{
	uint64_t row = VTA_COPY_ROW + ((uint64_t)width + VTA_COPY_PORT - 1) / VTA_COPY_PORT;

	return VTA_COPY_LATENCY + rows * row;
}

/* Cycles of a COPY or FILL; its width and rows are at the same offsets. */
static inline uint64_t vta_desc_copy_cycles(const struct vta_desc *desc)
{
	return vta_copy_cycles(vta_desc_le32(desc->copy.rows), vta_desc_le32(desc->copy.width));
}

/* True if all fields are valid for the operation; @keeps: the queue has a save area. */
static inline bool vta_desc_well_formed(const struct vta_desc *desc, bool keeps)
{
	const struct vta_desc_rule *rule = vta_desc_rule(vta_desc_op(desc));
	uint32_t flags = vta_desc_le32(desc->op_flags) & ~VTA_DESC_OP_MASK;
	uint32_t words[VTA_DESC_WORDS];
	uint32_t valid = VTA_DESC_STAMP;

	if (!rule)
		return false;
	if (rule->unit == VTA_UNIT_COMPUTE && keeps)
		valid |= VTA_DESC_KEEP;
	if (flags & ~valid || desc->reserved || (desc->stamp_addr && !(flags & VTA_DESC_STAMP)))
		return false;
	memcpy(words, desc->words, sizeof(words));
	for (unsigned int i = 0; i < VTA_DESC_WORDS; i++)
		if (words[i] && !(rule->words >> i & 1))
			return false;
	return rule->unit != VTA_UNIT_COPY ||
	       (uint64_t)vta_desc_le32(desc->copy.width) * vta_desc_le32(desc->copy.rows) <=
	       UINT64_C(1) << VTA_DESC_LOG_COPY_MAX;
}

/**
 * vta_desc_check() - check a descriptor, in the order of the document
 * @desc: the descriptor
 * @cycles: the queue's CYCLES, or 0 for no limit
 * @keeps: the queue has a save area, so KEEP is allowed
 *
 * Returns: the fault, or one of reason VTA_FAULT_NONE if the descriptor may be executed
 */
static inline struct vta_desc_error vta_desc_check(const struct vta_desc *desc, uint64_t cycles,
						   bool keeps)
{
	const struct vta_desc_rule *rule = vta_desc_rule(vta_desc_op(desc));
	uint32_t stamp = vta_desc_le32(desc->stamp_addr);
	uint32_t addr = vta_desc_le32(desc->run.insn_addr);
	struct vta_desc_error error = { VTA_FAULT_NONE, VTA_ACCESS_NONE, 0 };

	if (!vta_desc_well_formed(desc, keeps))
		error.reason = VTA_FAULT_DESC;
	else if (stamp % VTA_DESC_STAMP_ALIGN)
		error = (struct vta_desc_error) { VTA_FAULT_ALIGN, VTA_ACCESS_STAMP, stamp };
	else if (addr % rule->align)
		error = (struct vta_desc_error) { VTA_FAULT_ALIGN, rule->access, addr };
	else if (cycles && rule->unit == VTA_UNIT_COPY && vta_desc_copy_cycles(desc) > cycles)
		error.reason = VTA_FAULT_CYCLES;
	return error;
}

#endif /* VTA_DESC_H */
