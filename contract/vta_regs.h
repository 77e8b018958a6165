/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * vta_regs.h - registers, page tables and identity of the card
 *
 * Follows docs/hardware.md, which is normative. These numbers are defined only here: the module and
 * the emulated card include this file. Descriptors and records, which userspace sees, too, are in
 * uapi/vta.h.
 *
 * REG_x is an offset in BAR0, and REG_x_FIELD a mask of one of its fields. 64-bit registers are two
 * 32-bit ones, low half first.
 */
#ifndef VTA_REGS_H
#define VTA_REGS_H

#include "vta_counters.h"

/* ---- PCI identity ---- */

#define VTA_PCI_VENDOR			0x1234
#define VTA_PCI_DEVICE			0x5654
#define VTA_PCI_SUBDEVICE		0x0001
#define VTA_PCI_CLASS			0x120000
#define VTA_PCI_REVISION		1

#define VTA_BAR_REGS			0
#define VTA_BAR_DOORBELLS		2
#define VTA_BAR_MEM			4

#define VTA_REGS_SIZE			0x10000
#define VTA_MSIX_TABLE			0x4000
#define VTA_MSIX_PBA			0x6000

/* ---- Identity and discovery ---- */

#define REG_MAGIC			0x000
#define REG_MAGIC_VALUE			0x31415456	/* "VTA1" in memory order */
#define REG_CONTRACT			0x004
#define REG_CONTRACT_MAJOR		0xffff0000
#define REG_CONTRACT_MINOR		0x0000ffff
#define VTA_CONTRACT			2	/* the major version of this file, */
#define VTA_CONTRACT_NEWEST_MINOR	1	/* and the minor one */
#define REG_FEATURES_LO			0x008
#define REG_FEATURES_HI			0x00c
#define REG_FEATURES_COUNTERS		0x00000001
#define REG_FEATURES_SENSORS		0x00000002
#define REG_QUEUES			0x010
#define REG_CONTEXTS			0x014
#define REG_MEM_SIZE_LO			0x018
#define REG_MEM_SIZE_HI			0x01c
#define REG_DOORBELL_SHIFT		0x020
#define REG_RING_ORDER_MAX		0x024
#define REG_CLOCK_KHZ			0x028
#define REG_HW_VER			0x02c
#define REG_CONFIG0			0x030
#define REG_CONFIG0_LOG_INP_WIDTH	0x0000000f
#define REG_CONFIG0_LOG_WGT_WIDTH	0x000000f0
#define REG_CONFIG0_LOG_ACC_WIDTH	0x00000f00
#define REG_CONFIG0_LOG_BATCH		0x0000f000
#define REG_CONFIG0_LOG_BLOCK		0x000f0000
#define REG_CONFIG1			0x034
#define REG_CONFIG1_LOG_UOP_BUFF_SIZE	0x000000ff
#define REG_CONFIG1_LOG_INP_BUFF_SIZE	0x0000ff00
#define REG_CONFIG1_LOG_WGT_BUFF_SIZE	0x00ff0000
#define REG_CONFIG1_LOG_ACC_BUFF_SIZE	0xff000000
#define REG_SERIAL_LO			0x038
#define REG_SERIAL_HI			0x03c
#define REG_SAVE_SIZE			0x040	/* bytes */
#define VTA_SAVE_SIZE_MAX		0x08000000	/* scratchpads have 16 MiB at most */
#define REG_CONFIG2			0x044	/* each: vta_isa_log_queue() */
#define REG_CONFIG2_LOG_TOKENS		0x000000ff
#define REG_CONFIG2_LOG_WAITING		0x0000ff00

#define VTA_QUEUES_MAX			256
#define VTA_CONTEXTS_MAX		256
#define VTA_RING_ORDER_LIMIT		16	/* REG_RING_ORDER_MAX is 1 to this */
#define VTA_DOORBELL_SHIFT_MIN		12	/* REG_DOORBELL_SHIFT is this ... */
#define VTA_DOORBELL_SHIFT_LIMIT	20	/* ... to this */

/* ---- Card control ---- */

#define REG_CONTROL			0x100
#define REG_CONTROL_ENABLE		0x00000001
#define REG_CONTROL_RESET		0x00000002
#define REG_STATUS			0x104
#define REG_STATUS_READY		0x00000001
#define REG_STATUS_FATAL		0x00000002
#define REG_STATUS_BUSY			0x00000004
#define REG_HEARTBEAT			0x108
#define REG_GENERATION			0x10c
#define REG_EVENT			0x110	/* write 1 to clear */
#define REG_EVENT_FAULT			0x00000001
#define REG_EVENT_FATAL			0x00000002
#define REG_EVENT_ALL			0x00000003
#define REG_EVENT_ENABLE		0x114
#define REG_EVENT_VECTOR		0x118
#define REG_TIME_LO			0x120	/* reading it latches REG_TIME_HI */
#define REG_TIME_HI			0x124

#define VTA_READY_MS			1000	/* from reset to REG_STATUS_READY */
#define VTA_HEARTBEAT_MS		10	/* it advances at least this often */

/* With REG_FEATURES_SENSORS; 0: not known. */
#define REG_TEMPERATURE			0x150	/* mK */
#define REG_POWER			0x154	/* mW */

/* ---- Engines: the other registers change only together with MOVES ---- */

#define VTA_COMPUTE_ENGINE		0
#define VTA_COPY_ENGINE			1
#define VTA_NR_ENGINES			2

#define REG_ENGINE(e)			(0x200 + 32 * (e))
#define REG_ENGINE_MOVES(e)		(REG_ENGINE(e) + 0x00)
#define REG_ENGINE_MOVES_BUSY		0x00000001	/* it executes a descriptor */
#define REG_ENGINE_MOVES_MAX		0x7fffffff	/* 0 is next */
#define REG_ENGINE_QUEUE(e)		(REG_ENGINE(e) + 0x04)
#define REG_ENGINE_SEQ_LO(e)		(REG_ENGINE(e) + 0x08)
#define REG_ENGINE_SEQ_HI(e)		(REG_ENGINE(e) + 0x0c)
#define REG_ENGINE_SINCE_LO(e)		(REG_ENGINE(e) + 0x10)	/* card time */
#define REG_ENGINE_SINCE_HI(e)		(REG_ENGINE(e) + 0x14)

/* ---- Address translation ---- */

#define REG_TLB_INVALIDATE		0x140
#define REG_TLB_INVALIDATE_CONTEXT	0x000000ff
#define REG_TLB_INVALIDATE_ALL		0x40000000
#define REG_TLB_INVALIDATE_BUSY		0x80000000
#define VTA_INVALIDATE_MS		1000	/* from the write to not BUSY */

#define REG_CONTEXT(n)			(0x1000 + 16 * (n))
#define REG_CONTEXT_ROOT_LO(n)		(REG_CONTEXT(n) + 0x0)
#define REG_CONTEXT_ROOT_HI(n)		(REG_CONTEXT(n) + 0x4)
#define REG_CONTEXT_CTRL(n)		(REG_CONTEXT(n) + 0x8)
#define REG_CONTEXT_CTRL_ENABLE		0x00000001

/* ---- Queues ---- */

#define REG_QUEUE(n)			(0x8000 + 128 * (n))
#define REG_QUEUE_CTRL(n)		(REG_QUEUE(n) + 0x00)
#define REG_QUEUE_CTRL_ENABLE		0x00000001
#define REG_QUEUE_CTRL_ABORT		0x00000002
#define REG_QUEUE_CTRL_KEPT		0x00000004
#define REG_QUEUE_CTRL_PRIORITY		0x00000300
#define REG_QUEUE_STATE(n)		(REG_QUEUE(n) + 0x04)
#define REG_QUEUE_STATE_STATE		0x0000000f	/* enum vta_queue_state */
#define REG_QUEUE_STATE_BUSY		0x00000010
#define REG_QUEUE_STATE_KEPT		0x00000020
#define REG_QUEUE_STATE_HAND		0x00000700	/* enum vta_hand */
#define REG_QUEUE_CONTEXT(n)		(REG_QUEUE(n) + 0x08)
#define REG_QUEUE_RING_ORDER(n)		(REG_QUEUE(n) + 0x0c)
#define REG_QUEUE_RING_ADDR(n)		(REG_QUEUE(n) + 0x10)
#define REG_QUEUE_VECTOR(n)		(REG_QUEUE(n) + 0x14)
#define REG_QUEUE_STATUS_LO(n)		(REG_QUEUE(n) + 0x18)
#define REG_QUEUE_STATUS_HI(n)		(REG_QUEUE(n) + 0x1c)
#define REG_QUEUE_CYCLES_LO(n)		(REG_QUEUE(n) + 0x20)
#define REG_QUEUE_CYCLES_HI(n)		(REG_QUEUE(n) + 0x24)
#define REG_QUEUE_START_LO(n)		(REG_QUEUE(n) + 0x28)
#define REG_QUEUE_START_HI(n)		(REG_QUEUE(n) + 0x2c)
#define REG_QUEUE_ARM(n)		(REG_QUEUE(n) + 0x30)
#define REG_QUEUE_SEQ_LO(n)		(REG_QUEUE(n) + 0x34)	/* latches SEQ_HI */
#define REG_QUEUE_SEQ_HI(n)		(REG_QUEUE(n) + 0x38)

#define REG_QUEUE_SUBMITTED(n)		(REG_QUEUE(n) + 0x3c)	/* as the doorbell */
#define REG_QUEUE_TIME_LIMIT_LO(n)	(REG_QUEUE(n) + 0x40)	/* ns; 0: none */
#define REG_QUEUE_TIME_LIMIT_HI(n)	(REG_QUEUE(n) + 0x44)
#define REG_QUEUE_GROUP(n)		(REG_QUEUE(n) + 0x48)
#define REG_QUEUE_SAVE(n)		(REG_QUEUE(n) + 0x4c)	/* device address */

/* State of a queue's current descriptor. */
enum vta_hand {
	VTA_HAND_NONE		= 0,	/* with BUSY: reads a descriptor, or writes a record */
	VTA_HAND_FOR_COMPUTE	= 1,	/* waits for the compute engine */
	VTA_HAND_FOR_COPY	= 2,
	VTA_HAND_IN_COMPUTE	= 3,	/* the compute engine executes it */
	VTA_HAND_IN_COPY	= 4,
	VTA_HAND_SHORT		= 5,	/* NOP, SIGNAL, empty RUN, a WAIT at first */
	VTA_HAND_HELD		= 6,	/* a WAIT that was not satisfied */
};

#define VTA_ABORT_MS			100	/* from ABORT to not BUSY */
#define VTA_TIME_LIMIT_MS		100	/* from TIME_LIMIT's end to a free engine */
#define VTA_STATUS_ALIGN		128	/* sizeof(struct vta_status_page) */

/* ---- Groups of queues, as many as contexts ---- */

#define REG_GROUP_WEIGHT(g)		(0x3000 + 4 * (g))
#define VTA_GROUP_WEIGHT_MAX		255
#define VTA_GROUP_QUANTUM_NS		1048576	/* a turn's credit at weight 1 */

/* ---- Page tables ---- */

#define VTA_L1_SHIFT			21
#define VTA_L1_ENTRIES			2048	/* 16 KiB, 16 KiB aligned */
#define VTA_L2_SHIFT			12
#define VTA_L2_ENTRIES			512	/* 4 KiB, 4 KiB aligned */
#define VTA_PTE_VALID			0x0000000000000001ull
#define VTA_PTE_WRITE			0x0000000000000002ull
#define VTA_PTE_CARD			0x0000000000000004ull	/* card memory */
#define VTA_PTE_BLOCK			0x0000000000000008ull	/* L1 only: 2 MiB */
#define VTA_PTE_ADDR			0x000ffffffffff000ull
#define VTA_PTE_BLOCK_ADDR		0x000fffffffe00000ull

/* ---- Debug counters: 64 bits each, reading the low half latches the high */

#define REG_COUNTER_CTRL		0x7000
#define REG_COUNTER_CTRL_CLEAR		0x00000001
#define REG_COUNTER(n)			(0x7008 + 8 * (n))	/* enum vta_counter */

#endif /* VTA_REGS_H */
