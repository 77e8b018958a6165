/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * vta.h - the interface between /dev/vtaN, the card and userspace
 *
 * Part 1 is what userspace and the card share through memory: descriptors,
 * the status, fault and stamp records. It restates docs/hardware.md ("Queues"
 * and after), which is normative. Everything there is little-endian.
 *
 * Part 2 is what userspace asks of the kernel: the ioctls of /dev/vtaN.
 *
 * Errors mean the same in every call:
 *   EINVAL     a malformed request: unknown flag, non-zero padding, size 0,
 *              misaligned address
 *   ENOENT     no such buffer or queue in this open file
 *   EFAULT     a pointer of the caller's is bad; nothing has been made
 *   EACCES     memory that the caller may not write is to be written; or the file is
 *              not open for writing, and a buffer or queue is to be made
 *   EPERM      a capability is missing
 *   ENOMEM     no host memory, or RLIMIT_MEMLOCK is spent
 *   ENOSPC     the card's memory, contexts, queues or this context's device
 *              addresses are spent
 *   EDQUOT     the caller's user has as much card or host memory, or as many queues
 *              or contexts, as one user may (module parameters max_user_mem,
 *              max_user_host, max_user_queues, max_user_contexts), or the caller's
 *              cgroup as much card memory as it may (dmem.max)
 *   EBUSY      the queue has not halted
 *   EEXIST     a fixed device address overlaps a buffer that is there
 *   ETIMEDOUT  the deadline of a wait passed
 *   EINTR      a wait was interrupted by a signal; call again
 *   ECANCELED  a wait was cancelled by its eventfd
 *   EBADF      a file descriptor that is not open
 *   EIO        the queue has halted: read why with VTA_IOCTL_FAULT
 *   EOPNOTSUPP this host cannot do it (it would bounce the card's DMA)
 *   ENODEV     the card was reset or is gone: VTA_IOCTL_LOST tells which; close,
 *              then open again
 *   ENOTTY     no such ioctl
 */
#ifndef _UAPI_VTA_H
#define _UAPI_VTA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The release of all that this header came with: driver, library and tools. It
 * stands here alone. What a driver can do is told by its abi (vta_info), not by it.
 */
#define VTA_VERSION		"1.0.0"

/* ---- Part 1: memory shared with the card ------------------------------- */

/* Device pages are 4 KiB and device addresses 32 bits on every host. */
#define VTA_PAGE_SHIFT		12
#define VTA_PAGE_SIZE		(1u << VTA_PAGE_SHIFT)

/* What a descriptor asks for: bits 7:0 of vta_desc.op_flags. */
enum vta_op {
	VTA_OP_NOP	= 0,
	VTA_OP_RUN	= 1,	/* run an instruction stream */
	VTA_OP_COPY	= 2,	/* copy rows of bytes */
	VTA_OP_FILL	= 3,	/* fill rows with a 32-bit pattern */
	VTA_OP_SIGNAL	= 4,	/* store a 64-bit value */
	VTA_OP_WAIT	= 5,	/* hold the queue until a value is reached */
};

#define VTA_DESC_OP_MASK	0x000000ffu
/* Write a stamp record to stamp_addr when the descriptor completes. */
#define VTA_DESC_STAMP		0x00000100u
/* Of a RUN: on the core's state as the queue's last RUN with KEEP left it. */
#define VTA_DESC_KEEP		0x00000200u

/*
 * One ring entry. All reserved fields must be zero and addresses are device
 * addresses of the queue's own context.
 */
struct vta_desc {
	__le32 op_flags;	/* enum vta_op | VTA_DESC_* */
	__le32 stamp_addr;	/* of a struct vta_stamp, 8-byte aligned; else 0 */
	__le64 reserved;
	union {
		struct {
			__le32 insn_addr;	/* 16-byte aligned */
			__le32 insn_count;	/* 128-bit instructions */
			__le64 cycle_limit;	/* 0: the queue's own limit */
		} run;
		struct {
			__le32 dst;
			__le32 src;
			__le32 width;		/* bytes in a row */
			__le32 rows;
			__le32 dst_pitch;	/* bytes from row to row */
			__le32 src_pitch;
		} copy;
		struct {
			__le32 dst;
			__le32 pattern;		/* least significant byte first */
			__le32 width;		/* bytes in a row */
			__le32 rows;
			__le32 dst_pitch;	/* bytes from row to row */
		} fill;
		struct {
			__le32 addr;		/* 8-byte aligned */
			__le32 reserved;
			__le64 value;
		} sync;				/* SIGNAL and WAIT */
		__le64 words[6];
	};
};

/* What a queue is doing: vta_status.state. */
enum vta_queue_state {
	VTA_QUEUE_DISABLED	= 0,	/* not started, or stopped by the kernel */
	VTA_QUEUE_ACTIVE	= 1,	/* takes descriptors */
	VTA_QUEUE_HALTED	= 2,	/* stopped by a fault */
};

/*
 * Written by the card, read by the process and the kernel. seq counts the descriptors that
 * have completed: the n-th descriptor submitted to the queue (from 1) is done
 * when seq >= n. seq is one aligned 64-bit store, after all effects of the
 * descriptor; it never goes back while the queue lives.
 */
struct vta_status {
	__le64 seq;
	__le32 state;		/* enum vta_queue_state */
	__le32 fault_reason;	/* enum vta_fault_reason, if halted */
	__le64 time;		/* card time of the last completion, ns */
	__le64 cycles;		/* compute cycles of all RUNs so far */
	/* Since the queue was started. */
	__le64 runs;		/* RUNs completed */
	__le64 copies;		/* COPYs and FILLs completed */
	__le64 run_time;	/* card time that these took in their engine, ns */
	__le64 copy_time;
};

/* Why a queue halted. */
enum vta_fault_reason {
	VTA_FAULT_NONE		= 0,
	VTA_FAULT_PAGE		= 1,	/* device address not mapped */
	VTA_FAULT_PERM		= 2,	/* write to a read-only page */
	VTA_FAULT_ENTRY		= 3,	/* malformed page-table entry */
	VTA_FAULT_DMA		= 4,	/* the host refused the access */
	VTA_FAULT_DESC		= 5,	/* malformed descriptor */
	VTA_FAULT_ALIGN		= 6,	/* misaligned address in a descriptor */
	VTA_FAULT_INSN		= 7,	/* illegal instruction or operand */
	VTA_FAULT_BOUNDS	= 8,	/* index outside a scratchpad */
	VTA_FAULT_CYCLES	= 9,	/* cycle limit reached */
	VTA_FAULT_DEADLOCK	= 10,	/* dependency token that never comes */
	VTA_FAULT_DOORBELL	= 11,	/* more submitted than the ring holds */
	VTA_FAULT_TIME		= 12,	/* time limit reached */

	/* From the kernel only: */
	VTA_FAULT_CARD		= 256,	/* the card wrote an inconsistent queue record */
	VTA_FAULT_HANG		= 257,	/* the card hung on this descriptor, which was aborted */
	VTA_FAULT_SLEEP		= 258,	/* aborted, as the machine went to sleep before its end */
};

/* What the faulting access was for. */
enum vta_access {
	VTA_ACCESS_NONE		= 0,	/* not a memory access */
	VTA_ACCESS_RING		= 1,	/* descriptor fetch */
	VTA_ACCESS_INSN		= 2,	/* instruction fetch */
	VTA_ACCESS_UOP		= 3,	/* LOAD of micro-ops */
	VTA_ACCESS_LOAD		= 4,	/* LOAD of INP, WGT, ACC */
	VTA_ACCESS_STORE	= 5,	/* STORE */
	VTA_ACCESS_COPY_SRC	= 6,
	VTA_ACCESS_COPY_DST	= 7,	/* COPY and FILL */
	VTA_ACCESS_SIGNAL	= 8,
	VTA_ACCESS_WAIT		= 9,
	VTA_ACCESS_STAMP	= 10,
	VTA_ACCESS_STATE	= 11,	/* save or restore of the core's state */
};

#define VTA_FAULT_NO_INSN	0xffffffffu

/* Written by the card when a queue halts, before the state in vta_status. */
struct vta_fault {
	__le32 reason;		/* enum vta_fault_reason */
	__le32 access;		/* enum vta_access */
	__le64 seq;		/* of the faulting descriptor, from 1 */
	__le32 addr;		/* device address, 0 if access is NONE */
	__le32 insn_index;	/* in the stream, or VTA_FAULT_NO_INSN */
	__le32 insn[4];		/* that instruction, low word first */
	__le32 queue;
	__le32 context;
	__le64 time;		/* card time, ns */
	__le64 reserved;
};

/* A queue's status page: the status record, then the fault record. */
struct vta_status_page {
	struct vta_status status;
	struct vta_fault fault;
};

/* Written on completion of a descriptor with VTA_DESC_STAMP, before seq. */
struct vta_stamp {
	__le64 start;		/* card time when an engine took it, ns */
	__le64 end;		/* card time when it was done, ns */
	__le64 cycles;		/* engine cycles it took */
	__le64 seq;		/* of the descriptor */
};

/* ---- Part 2: ioctls ----------------------------------------------------- */

/*
 * Structures grow at the end and their size is part of the request: a caller
 * with a shorter one gets the behaviour of its time, one with a longer one
 * gets E2BIG if what the kernel does not know is not zero.
 */

/*
 * open() of /dev/vtaN makes a context. Errors beyond those of any open(): ENOMEM,
 * ENOSPC (all contexts are in use), EDQUOT, ENODEV (the card is in reset or going).
 */

#define VTA_CONTRACT_MAJOR(v)	((v) >> 16)
#define VTA_CONTRACT_MINOR(v)	((v) & 0xffff)

/**
 * struct vta_info - what the card is (VTA_IOCTL_INFO)
 * @contract: contract version, major << 16 | minor
 * @abi: version of this interface, counts up with additions
 * @features: feature bits of the card (docs/hardware.md, FEATURES)
 * @mem_size: bytes of card memory
 * @mem_free: bytes of free card memory
 * @serial: serial number of the card
 * @queues: queues of the card
 * @contexts: contexts (open files) the card can hold
 * @ring_order_max: log2 of the longest ring, in descriptors
 * @clock_khz: clock of the engines: what cycles count
 * @vectors: interrupt vectors in use
 * @hw_ver: version of the VTA core, major << 16 | minor << 8 | patch
 * @log_inp_width: log2 of the bits of an input element; this and the following are
 *                 the core's configuration by the names of vta_config.json
 * @log_wgt_width: of a weight
 * @log_acc_width: of an accumulator
 * @log_batch: log2 of the rows of an input tile
 * @log_block: log2 of the columns of an input tile
 * @log_uop_buff_size: log2 of the bytes of the micro-op scratchpad
 * @log_inp_buff_size: of the input scratchpad
 * @log_wgt_buff_size: of the weight scratchpad
 * @log_acc_buff_size: of the accumulators' scratchpad
 * @pad: zero
 * @generation: resets of the card since its driver was bound, when the file was
 *              opened; the same as in sysfs as long as the file is of use
 * @save_size: bytes of host memory that a queue with VTA_QUEUE_KEEP takes for the
 *             core's state
 */
struct vta_info {
	__u32 contract;
	__u32 abi;
	__u64 features;
	__u64 mem_size;
	__u64 mem_free;
	__u64 serial;
	__u32 queues;
	__u32 contexts;
	__u32 ring_order_max;
	__u32 clock_khz;
	__u32 vectors;
	__u32 hw_ver;
	__u8 log_inp_width;
	__u8 log_wgt_width;
	__u8 log_acc_width;
	__u8 log_batch;
	__u8 log_block;
	__u8 log_uop_buff_size;
	__u8 log_inp_buff_size;
	__u8 log_wgt_buff_size;
	__u8 log_acc_buff_size;
	__u8 pad[7];
	__u32 generation;
	__u32 save_size;
};

/* What has become of the card, for a file that was open: vta_lost.fate. */
enum vta_fate {
	VTA_FATE_NONE		= 0,	/* the file has its card */
	VTA_FATE_PENDING	= 1,	/* it has lost it; how that ends is not known yet */
	VTA_FATE_RESET		= 2,	/* the card was reset, and works after a new open */
	VTA_FATE_GIVEN_UP	= 3,	/* no reset helped, or was needed too often */
	VTA_FATE_REMOVED	= 4,	/* the driver let go of the card */
};

/* What took the card away: vta_lost.cause. */
enum vta_cause {
	VTA_CAUSE_NONE		= 0,	/* nothing has */
	VTA_CAUSE_CARD		= 1,	/* it failed; the kernel log says how */
	VTA_CAUSE_ADMIN		= 2,	/* an administrator reset it */
	VTA_CAUSE_FUNCTION	= 3,	/* its PCI function was reset, alone or with its bus */
	VTA_CAUSE_BUS		= 4,	/* an error on the bus that leads to it */
	VTA_CAUSE_SLEEP		= 5,	/* it failed when the machine went to sleep */
	VTA_CAUSE_WAKE		= 6,	/* it did not wake up */
	VTA_CAUSE_UNBOUND	= 7,	/* the driver was unbound from it; it is still there */
	VTA_CAUSE_UNPLUGGED	= 8,	/* it does not answer: pulled out, or without power */
	VTA_CAUSE_SHUTDOWN	= 9,	/* the machine goes down */
};

/**
 * struct vta_lost - why calls say ENODEV (VTA_IOCTL_LOST)
 * @fate: out: enum vta_fate
 * @cause: out: enum vta_cause; what came first, if several things did
 *
 * The one call that works on a file which has lost its card. It waits for a reset
 * to be over, for seconds at most; PENDING are resets and errors that the PCI core sees
 * to, and a reset that has not begun. What took the card away stays true for the file, whatever
 * happens to the card later. Values may be added. Errors: EINTR (only by a signal
 * that ends the process).
 */
struct vta_lost {
	__u32 fate;
	__u32 cause;
};

/* Where a buffer lives; one of them. */
#define VTA_BUF_HOST		0x0u
#define VTA_BUF_CARD		0x1u
/* Place the buffer at the device address in @addr. */
#define VTA_BUF_FIXED		0x2u
/* The card may read the buffer but not write it. */
#define VTA_BUF_READONLY	0x4u

/**
 * struct vta_buf_alloc - allocate zeroed memory (VTA_IOCTL_BUF_ALLOC)
 * @size: in: bytes, more than 0, less than 4 GiB; out: rounded up to the CPU's
 *        pages
 * @align: alignment of the device address, a power of two up to 1 GiB; or 0 for
 *         a page of the CPU
 * @addr: in: with VTA_BUF_FIXED the device address, a multiple of the CPU's
 *        page and of @align, not 0; else 0. out: the device address
 * @mmap_offset: out: offset to mmap() the buffer at
 * @flags: VTA_BUF_*
 * @handle: out: names the buffer in this open file, never 0
 *
 * Errors: EINVAL, ENOMEM, ENOSPC, EDQUOT, EEXIST, EOPNOTSUPP, ENODEV.
 */
struct vta_buf_alloc {
	__u64 size;
	__u64 align;
	__u64 addr;
	__u64 mmap_offset;
	__u32 flags;
	__u32 handle;
};

/**
 * struct vta_buf_free - free a buffer (VTA_IOCTL_BUF_FREE)
 * @handle: the buffer
 * @pad: zero
 *
 * The card has lost sight of the buffer when this returns. CPU mappings of it
 * stay usable until they are unmapped. Errors: EINVAL, ENOENT, ENODEV.
 */
struct vta_buf_free {
	__u32 handle;
	__u32 pad;
};

/**
 * struct vta_buf_pin - make the caller's memory a buffer (VTA_IOCTL_BUF_PIN)
 * @user_addr: where it starts: any address of the caller's ordinary memory, of
 *             a mapping of a file, of huge pages; not of what a driver maps, such
 *             as this one's buffers
 * @size: bytes, more than 0
 * @align: alignment of the device address of the first page, a power of two, or
 *         0 for a page
 * @addr: in: with VTA_BUF_FIXED the device address of the CPU page in which
 *        @user_addr is; else 0. out: the device address of the first byte
 * @flags: VTA_BUF_FIXED, VTA_BUF_READONLY; without READONLY the memory must be
 *         writable to the caller
 * @handle: out: names the buffer, for VTA_IOCTL_BUF_FREE
 *
 * The pages stay in memory, are counted against RLIMIT_MEMLOCK (VmPin in
 * /proc/PID/status, each time they are pinned) for the process, for its user and
 * for the user that opened the card, and are the card's until the buffer is
 * freed, whatever becomes of the mapping. The card sees whole pages:
 * those of the first and the last byte, too. After fork() the buffer goes on with
 * the parent's pages. There is nothing to mmap().
 *
 * Errors: EINVAL, EFAULT (nothing is mapped there, or a driver's memory), EACCES
 * (the caller may not write it, and READONLY is not set), ENOMEM, ENOSPC, EDQUOT,
 * EEXIST, EINTR, EOPNOTSUPP (also for a shared mapping of a file on a disk without
 * READONLY: the file system would not see the card's writes), ENODEV.
 */
struct vta_buf_pin {
	__u64 user_addr;
	__u64 size;
	__u64 align;
	__u64 addr;
	__u32 flags;
	__u32 handle;
};

/**
 * struct vta_buf_export - make a buffer a dma-buf (VTA_IOCTL_BUF_EXPORT)
 * @handle: a buffer made by VTA_IOCTL_BUF_ALLOC
 * @flags: O_CLOEXEC, and O_RDWR to let others write it
 * @fd: out: file descriptor of the dma-buf
 * @pad: zero
 *
 * The memory lives until the buffer is freed and the last descriptor of the
 * dma-buf is closed. A dma-buf of card memory can be imported only by contexts
 * of the same card, and is lost when that is reset: importing it fails, and CPU
 * mappings show zeroes. It says nothing of what queues do: poll() and
 * DMA_BUF_IOCTL_EXPORT_SYNC_FILE find it idle while the card writes, because a
 * process's queue may take for ever, which a fence of the kernel's must not.
 * Wait for the queue (VTA_IOCTL_WAIT) before others are told to use the memory.
 * DMA_BUF_IOCTL_SYNC with DMA_BUF_SYNC_END makes what the CPU wrote to card
 * memory visible to the card. Errors: EINVAL, ENOENT, EACCES (O_RDWR of a READONLY
 * buffer), ENOMEM, EMFILE, EOPNOTSUPP (pinned or imported buffers), ENODEV.
 */
struct vta_buf_export {
	__u32 handle;
	__u32 flags;
	__s32 fd;
	__u32 pad;
};

/**
 * struct vta_buf_import - make a dma-buf a buffer (VTA_IOCTL_BUF_IMPORT)
 * @fd: the dma-buf, of this driver or another
 * @flags: VTA_BUF_FIXED, VTA_BUF_READONLY; VTA_BUF_CARD is set on return if it
 *         is card memory
 * @size: out: bytes
 * @align: as in struct vta_buf_alloc
 * @addr: as in struct vta_buf_alloc
 * @handle: out: names the buffer, for VTA_IOCTL_BUF_FREE
 * @pad: zero
 *
 * CPU mappings are made by mmap() of the dma-buf itself. Queues do not wait for
 * fences that other drivers have put into it: poll() it before submitting, for
 * POLLIN (no other device writes it) to read it and for POLLOUT (no other device
 * uses it) to write it. Errors: EINVAL (also a
 * file that is not a dma-buf), EBADF (@fd is not open), EACCES (a dma-buf that may
 * only be read, without VTA_BUF_READONLY), ENOENT (card memory that was lost in a
 * reset), ENOMEM, ENOSPC, EDQUOT, EEXIST, EOPNOTSUPP (card memory of another card;
 * memory that the card cannot reach directly), ENODEV.
 */
struct vta_buf_import {
	__s32 fd;
	__u32 flags;
	__u64 size;
	__u64 align;
	__u64 addr;
	__u32 handle;
	__u32 pad;
};

#define VTA_QUEUE_PRIORITY_DEFAULT	0u
#define VTA_QUEUE_PRIORITY_MAX	3u

/*
 * RUNs of the queue may have VTA_DESC_KEEP: each finds the core's scratchpads and token
 * queues as the queue's last RUN with KEEP left them, whatever ran in between. The state
 * is the queue's own; others of the file have theirs. It is lost when the queue halts,
 * also when it goes on by VTA_IOCTL_QUEUE_RECOVER: the next such RUN finds zeroes and no
 * tokens. Without this flag VTA_DESC_KEEP is a malformed descriptor.
 *
 * The kernel keeps vta_info.save_size bytes of host memory for it, at a device address of
 * the context, charged as buffers are. There is nothing to mmap().
 */
#define VTA_QUEUE_KEEP		0x1u

/**
 * struct vta_queue_create - make a queue and start it (VTA_IOCTL_QUEUE_CREATE)
 * @flags: VTA_QUEUE_*
 * @priority: 0 (least) to VTA_QUEUE_PRIORITY_MAX, among the queues of the same user:
 *            up to 2^priority descriptors in a round; above VTA_QUEUE_PRIORITY_DEFAULT,
 *            CAP_SYS_NICE is needed
 * @ring_order: log2 of the ring's length in descriptors, 0 to
 *              vta_info.ring_order_max
 * @queue: out: names the queue in this open file: the number of the card's queue, from 0,
 *         as in the kernel log, in events and in sysfs
 * @max_cycles: upper limit for the cycles of one RUN, COPY or FILL; 0: none. In any
 *              case the card ends what an engine executes for longer than the module's
 *              parameter max_job_ms says (1 s), with VTA_FAULT_TIME
 * @ring_offset: out: mmap offset of the ring (struct vta_desc[1 << order]),
 *               read-write; the card only reads it
 * @status_offset: out: mmap offset of the struct vta_status_page, read-only
 * @doorbell_offset: out: mmap offset of the doorbell, write-only in effect:
 *                   store the low 32 bits of the number of descriptors ever
 *                   submitted, as one little-endian 32-bit word at offset 0
 * @ring_addr: out: device address of the ring
 * @doorbell_size: out: bytes to map of the doorbell; the status page has the
 *                 same size (one page of the CPU)
 *
 * Errors: EINVAL, EPERM (@priority), ENOMEM, ENOSPC, EDQUOT, EOPNOTSUPP, EINTR (see
 * struct vta_queue_recover), ENODEV.
 */
struct vta_queue_create {
	__u32 flags;
	__u32 priority;
	__u32 ring_order;
	__u32 queue;
	__u64 max_cycles;
	__u64 ring_offset;
	__u64 status_offset;
	__u64 doorbell_offset;
	__u32 ring_addr;
	__u32 doorbell_size;
};

/**
 * struct vta_queue_destroy - stop a queue and free it (VTA_IOCTL_QUEUE_DESTROY)
 * @queue: the queue
 * @pad: zero
 *
 * What runs is aborted. Waiters get ENOENT. Its mappings are harmless: ring and
 * status page keep what they had, the doorbell becomes memory without effect.
 * Errors: EINVAL, ENOENT, ENODEV.
 */
struct vta_queue_destroy {
	__u32 queue;
	__u32 pad;
};

/**
 * struct vta_queue_recover - have a halted queue go on (VTA_IOCTL_QUEUE_RECOVER)
 * @queue: the queue
 * @flags: zero
 * @seq: out: descriptors that count as completed from now on
 *
 * The queue goes on behind the descriptor that faulted, which counts as completed
 * though it is not; with VTA_FAULT_DOORBELL or VTA_ACCESS_STATE, where no descriptor
 * faulted, behind the last that completed. The mappings stay and show the queue ACTIVE, with no
 * fault. What was submitted behind @seq has not been executed and is not
 * submitted any more: to have it executed as it stands in the ring, write the
 * former number to the doorbell; or put other descriptors there, from @seq + 1.
 *
 * A user whose queues fault more often than the module's parameter max_user_faults
 * says (so many in a second) waits here, and in VTA_IOCTL_QUEUE_CREATE, until the
 * rate is met again. Errors: EINVAL, ENOENT, EBUSY, EINTR, ENODEV.
 */
struct vta_queue_recover {
	__u32 queue;
	__u32 flags;
	__u64 seq;
};

/*
 * Do not sleep: if @seq is not reached, have poll() on the file return POLLIN
 * once it is, or the queue's eventfd signalled if it has one (struct
 * vta_queue_event), and fail with EAGAIN. One number for each queue: asking again
 * replaces it.
 */
#define VTA_WAIT_POLL		0x1u

/* A deadline that never comes. */
#define VTA_WAIT_FOREVER	0x7fffffffffffffffll

/**
 * struct vta_wait - wait for a descriptor (VTA_IOCTL_WAIT)
 * @queue: the queue
 * @flags: VTA_WAIT_*
 * @seq: wait until this many descriptors have completed; less than 2^31 ahead
 *       of those that have
 * @deadline_ns: on CLOCK_MONOTONIC; one in the past only looks
 * @done: out, also on ETIMEDOUT, EAGAIN and EIO: descriptors completed
 *
 * Errors: EINVAL, ENOENT, ETIMEDOUT, EAGAIN, EINTR, EIO (the queue halted
 * before @seq), ENOMEM (1,024 wait for the queue already), ENODEV.
 */
struct vta_wait {
	__u32 queue;
	__u32 flags;
	__u64 seq;
	__s64 deadline_ns;
	__u64 done;
};

/**
 * struct vta_fence - a number of a queue
 * @fd: the open file that the queue is of: any card's
 * @queue: the queue
 * @seq: as in struct vta_wait
 */
struct vta_fence {
	__s32 fd;
	__u32 queue;
	__u64 seq;
};

/* The most that one call waits for. */
#define VTA_FENCES_MAX		256u

/* Until one of the fences is reached, and not all of them. */
#define VTA_WAIT_ANY		0x1u
/* There is a @cancel_fd. */
#define VTA_WAIT_CANCEL		0x2u

/**
 * struct vta_wait_many - wait for all or any of several fences
 *                        (VTA_IOCTL_WAIT_MANY)
 * @fences: pointer to an array of struct vta_fence; a queue may be in it more
 *          than once
 * @count: how many, 1 to VTA_FENCES_MAX
 * @flags: VTA_WAIT_ANY, VTA_WAIT_CANCEL
 * @deadline_ns: as in struct vta_wait
 * @cancel_fd: an eventfd: while it can be read (after a write to it) the call does not sleep. The
 * call does not read it, so it ends all waits that have it until the caller reads it. Without
 * VTA_WAIT_CANCEL: 0
 * @index: out: which fence was reached, with VTA_WAIT_ANY the first that was; or
 *         which one the error is of, if it is of one. Else 0
 *
 * May be called on any open file of a card that was not reset. The thread is
 * woken once. Fences that are reached count before errors with VTA_WAIT_ANY, and
 * both before ECANCELED, EINTR and ETIMEDOUT, which change nothing for the queues:
 * call again. A file that is closed meanwhile stays open for as long as the call.
 *
 * Errors: EINVAL, EFAULT, ENOMEM, ETIMEDOUT, ECANCELED, EINTR, and of a fence:
 * EBADF, EINVAL (a file that is not a card's, or a number that is too far ahead),
 * ENOENT, EIO (the queue halted before @seq), ENOMEM (1,024 fences and waits are for
 * the queue already), ENODEV (its card was reset). With
 * VTA_WAIT_ANY an error of one fence ends the wait, too: call again without it.
 * @cancel_fd: EBADF, EINVAL (not an eventfd).
 */
struct vta_wait_many {
	__u64 fences;
	__u32 count;
	__u32 flags;
	__s64 deadline_ns;
	__s32 cancel_fd;
	__u32 index;
};

/**
 * struct vta_queue_event - give a queue an eventfd (VTA_IOCTL_QUEUE_EVENT)
 * @queue: the queue
 * @fd: the eventfd, in place of the one before; -1: none
 * @flags: zero
 * @pad: zero
 *
 * 1 is added to it when the number asked for with VTA_WAIT_POLL is reached,
 * once, and poll() on the device file does not say POLLIN for the queue then;
 * when the queue halts, or at once if it has; and when the queue ends: is
 * destroyed, or loses the card. Each tells that it pays to look, not what has
 * happened. One eventfd may be given to several queues, of several cards.
 *
 * The queue holds the eventfd, whatever becomes of @fd, until another takes its
 * place or the queue ends. It does not hold the card's file. A thread of the kernel
 * adds the 1: it may come just after VTA_IOCTL_QUEUE_DESTROY has returned. It does so for one
 * eventfd of an open file after the other, and for few of a user's files at a time, which takes
 * as long as the files that poll these eventfds make it: this call and the last close() return
 * when all that was due before has been added, or this call when its thread is killed.
 *
 * Errors: EINVAL (also a file that is not an eventfd), EBADF, ENOENT, ENODEV.
 */
struct vta_queue_event {
	__u32 queue;
	__s32 fd;
	__u32 flags;
	__u32 pad;
};

/**
 * struct vta_queue_fault - why a queue halted (VTA_IOCTL_FAULT)
 * @queue: in: the queue
 * @reason: out: enum vta_fault_reason, VTA_FAULT_NONE if it has not halted
 * @access: out: enum vta_access
 * @addr: out: device address of the access, if it was one
 * @seq: out: number of the faulting descriptor, from 1
 * @insn_index: out: instruction in the stream, or VTA_FAULT_NO_INSN
 * @pad: zero
 * @insn: out: that instruction, low word first
 * @time: out: card time, ns
 *
 * Errors: EINVAL, ENOENT, ENODEV.
 */
struct vta_queue_fault {
	__u32 queue;
	__u32 reason;
	__u32 access;
	__u32 addr;
	__u64 seq;
	__u32 insn_index;
	__u32 pad;
	__u32 insn[4];
	__u64 time;
};

/*
 * poll(): POLLIN when a sequence number asked for with VTA_WAIT_POLL has been
 * reached (until the next VTA_IOCTL_WAIT on that queue), POLLPRI when a queue
 * of the file has halted, POLLERR | POLLHUP when the card was reset or is gone.
 */

/*
 * mmap(): MAP_SHARED, at the offset of a buffer, ring, status page or doorbell,
 * for all of it or a part from its start. Errors: EINVAL (nothing there, or
 * longer than what is, or MAP_PRIVATE), EACCES (PROT_EXEC; PROT_WRITE of a
 * status page, then or by mprotect()), ENODEV.
 *
 * A child inherits all mappings but doorbells. Mappings keep the file open. A
 * mapped buffer cannot be handed to calls that pin memory (O_DIRECT).
 *
 * When the card was reset or is gone, no mapping faults: all show memory of
 * zeroes that is private to the open file, in which what is written has no
 * effect. So a status page shows VTA_QUEUE_DISABLED then.
 */

#define VTA_IOCTL_TYPE		0xe7
#define VTA_IOCTL_INFO		_IOR(VTA_IOCTL_TYPE, 0x00, struct vta_info)
#define VTA_IOCTL_BUF_ALLOC	_IOWR(VTA_IOCTL_TYPE, 0x01, struct vta_buf_alloc)
#define VTA_IOCTL_BUF_FREE	_IOW(VTA_IOCTL_TYPE, 0x02, struct vta_buf_free)
#define VTA_IOCTL_BUF_PIN	_IOWR(VTA_IOCTL_TYPE, 0x03, struct vta_buf_pin)
#define VTA_IOCTL_BUF_EXPORT	_IOWR(VTA_IOCTL_TYPE, 0x04, struct vta_buf_export)
#define VTA_IOCTL_BUF_IMPORT	_IOWR(VTA_IOCTL_TYPE, 0x05, struct vta_buf_import)
#define VTA_IOCTL_LOST		_IOR(VTA_IOCTL_TYPE, 0x06, struct vta_lost)
#define VTA_IOCTL_QUEUE_CREATE	_IOWR(VTA_IOCTL_TYPE, 0x10, struct vta_queue_create)
#define VTA_IOCTL_QUEUE_DESTROY	_IOW(VTA_IOCTL_TYPE, 0x11, struct vta_queue_destroy)
#define VTA_IOCTL_WAIT		_IOWR(VTA_IOCTL_TYPE, 0x12, struct vta_wait)
#define VTA_IOCTL_FAULT		_IOWR(VTA_IOCTL_TYPE, 0x13, struct vta_queue_fault)
#define VTA_IOCTL_QUEUE_EVENT	_IOW(VTA_IOCTL_TYPE, 0x14, struct vta_queue_event)
#define VTA_IOCTL_WAIT_MANY	_IOWR(VTA_IOCTL_TYPE, 0x15, struct vta_wait_many)
#define VTA_IOCTL_QUEUE_RECOVER	_IOWR(VTA_IOCTL_TYPE, 0x16, struct vta_queue_recover)

#define VTA_ABI_VERSION		4

#endif /* _UAPI_VTA_H */
