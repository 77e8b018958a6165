/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_desc.h - make descriptors; included by vtadev.h
 *
 * A descriptor is one piece of work (docs/hardware.md, section 7). Each function returns one
 * descriptor. Addresses are device addresses of any byte within a buffer of the same
 * struct vtadev. The functions check nothing: the card does, and an invalid descriptor halts
 * the queue with a fault. They keep no state, so any thread may call them.
 */
#ifndef VTADEV_DESC_H
#define VTADEV_DESC_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "vta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As htole32() and htole64(), which <endian.h> does not define with -std=c11. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define vtadev_le32(value)	__builtin_bswap32(value)
#define vtadev_le64(value)	__builtin_bswap64(value)
#else
#define vtadev_le32(value)	(value)
#define vtadev_le64(value)	(value)
#endif

/* ---- Descriptors --------------------------------------------------------- */

/* vtadev_desc_op() - a descriptor of operation @op whose other fields are 0 */
static inline struct vta_desc vtadev_desc_op(enum vta_op op)
{
	struct vta_desc d;

	memset(&d, 0, sizeof(d));
	d.op_flags = vtadev_le32((uint32_t)op);
	return d;
}

/* vtadev_desc_nop() - no operation; it completes in order, can have a stamp and be waited for */
static inline struct vta_desc vtadev_desc_nop(void)
{
	return vtadev_desc_op(VTA_OP_NOP);
}

/**
 * vtadev_desc_run() - run a stream of instructions
 * @insn_addr: of the first instruction, a multiple of 16
 * @insn_count: instructions, of 128 bits each
 * @cycle_limit: cycles after which the RUN ends with fault CYCLES; 0: the queue's limit
 */
static inline struct vta_desc vtadev_desc_run(uint32_t insn_addr,
					      uint32_t insn_count,
					      uint64_t cycle_limit)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_RUN);

	d.run.insn_addr = vtadev_le32(insn_addr);
	d.run.insn_count = vtadev_le32(insn_count);
	d.run.cycle_limit = vtadev_le64(cycle_limit);
	return d;
}

/**
 * vtadev_desc_copy2d() - copy a rectangle
 * @dst: of row 0; row r goes to @dst + r * @dst_pitch
 * @dst_pitch: bytes from one row to the next; of a single row it is ignored
 * @src: of row 0; row r comes from @src + r * @src_pitch
 * @src_pitch: likewise
 * @width: bytes of a row
 * @rows: rows; at most 2^32 bytes in total
 *
 * Source and destination must not overlap.
 */
static inline struct vta_desc vtadev_desc_copy2d(uint32_t dst,
						 uint32_t dst_pitch,
						 uint32_t src,
						 uint32_t src_pitch,
						 uint32_t width, uint32_t rows)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_COPY);

	d.copy.dst = vtadev_le32(dst);
	d.copy.src = vtadev_le32(src);
	d.copy.width = vtadev_le32(width);
	d.copy.rows = vtadev_le32(rows);
	d.copy.dst_pitch = vtadev_le32(dst_pitch);
	d.copy.src_pitch = vtadev_le32(src_pitch);
	return d;
}

/* vtadev_desc_copy() - copy @len bytes from @src to @dst, which must not overlap */
static inline struct vta_desc vtadev_desc_copy(uint32_t dst, uint32_t src,
					       uint32_t len)
{
	return vtadev_desc_copy2d(dst, 0, src, 0, len, 1);
}

/**
 * vtadev_desc_fill2d() - fill a rectangle
 * @dst: of row 0; row r is at @dst + r * @pitch
 * @pitch: bytes from one row to the next
 * @pattern: byte i of each row becomes byte i mod 4 of this, the least significant first
 * @width: bytes of a row
 * @rows: rows
 */
static inline struct vta_desc vtadev_desc_fill2d(uint32_t dst, uint32_t pitch,
						 uint32_t pattern,
						 uint32_t width, uint32_t rows)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_FILL);

	d.fill.dst = vtadev_le32(dst);
	d.fill.pattern = vtadev_le32(pattern);
	d.fill.width = vtadev_le32(width);
	d.fill.rows = vtadev_le32(rows);
	d.fill.dst_pitch = vtadev_le32(pitch);
	return d;
}

/* vtadev_desc_fill() - fill @len bytes with @pattern, the least significant byte first */
static inline struct vta_desc vtadev_desc_fill(uint32_t dst, uint32_t pattern,
					       uint32_t len)
{
	return vtadev_desc_fill2d(dst, 0, pattern, len, 1);
}

/* vtadev_desc_signal() - store @value in the little-endian 64-bit word at @addr, a multiple of 8 */
static inline struct vta_desc vtadev_desc_signal(uint32_t addr, uint64_t value)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_SIGNAL);

	d.sync.addr = vtadev_le32(addr);
	d.sync.value = vtadev_le64(value);
	return d;
}

/**
 * vtadev_desc_wait() - hold the queue until a word is large enough
 * @addr: of a little-endian 64-bit word, a multiple of 8
 * @value: the queue goes on when the word is at least this (unsigned)
 *
 * Together with vtadev_desc_signal() this orders queues that share a buffer. If
 * the CPU changes the word, call vtadev_kick() afterwards.
 */
static inline struct vta_desc vtadev_desc_wait(uint32_t addr, uint64_t value)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_WAIT);

	d.sync.addr = vtadev_le32(addr);
	d.sync.value = vtadev_le64(value);
	return d;
}

/**
 * vtadev_desc_keep() - let a RUN continue with the core's state
 * @d: a RUN, whose flag KEEP is set
 *
 * It finds the core's scratchpads and dependency tokens as the
 * queue's last RUN with KEEP left them, whatever ran in between. The first RUN with KEEP, and the
 * first after the queue halted, find zeroes and no tokens. For queues with
 * VTADEV_QUEUE_KEEP; in other queues, and for other operations, the fault is DESC.
 */
static inline void vtadev_desc_keep(struct vta_desc *d)
{
	d->op_flags |= vtadev_le32(VTA_DESC_KEEP);
}

/**
 * vtadev_desc_stamp() - measure a descriptor
 * @d: of any kind; its flag STAMP is set
 * @addr: a multiple of 8; the card writes a struct vta_stamp to it when the descriptor completes:
 *        start and end in card time, and cycles, little-endian
 */
static inline void vtadev_desc_stamp(struct vta_desc *d, uint32_t addr)
{
	d->op_flags |= vtadev_le32(VTA_DESC_STAMP);
	d->stamp_addr = vtadev_le32(addr);
}

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_DESC_H */
