/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * vta.h - the interface between /dev/vtaN, the card and userspace
 *
 * Part 1 defines the memory that userspace and the card share: descriptors; status, fault and stamp
 * records. It restates docs/hardware.md ("Queues" and after), which is normative. Everything there
 * is little-endian.
 *
 * Part 2 is the interface between userspace and the kernel: the ioctls of /dev/vtaN.
 *
 * An error has the same meaning in every call:
 *   EINVAL     an invalid request: unknown flag, non-zero padding, size 0,
 *              misaligned address
 *   ENOENT     no such buffer or queue in this open file
 *   EFAULT     a pointer of the caller is invalid; nothing was created
 *   EACCES     the caller has no write access to memory that the card is to write; or
 *              the call creates a buffer or queue, and the file is not open for writing
 *   EPERM      a capability is missing
 *   ENOMEM     no host memory, or RLIMIT_MEMLOCK is reached
 *   ENOSPC     no card memory, context or queue of the card is free, or no device
 *              addresses of this context
 *   EDQUOT     the limit of the user that opened the file is reached (module parameters
 *              max_user_mem, max_user_host, max_user_queues, max_user_contexts), or
 *              the limit of card memory of the caller's cgroup (dmem.max)
 *   EBUSY      the queue has not halted
 *   EEXIST     a fixed device address overlaps an existing buffer
 *   ETIMEDOUT  the deadline of a wait passed
 *   EINTR      a signal interrupted the call; call again
 *   ECANCELED  an eventfd cancelled the wait
 *   EBADF      a file descriptor that is not open
 *   EIO        the queue has halted: VTA_IOCTL_FAULT returns the reason
 *   EOPNOTSUPP this host does not support the request (it would bounce the card's DMA)
 *   ENODEV     the card was reset or is gone: VTA_IOCTL_LOST returns which; close,
 *              then open again
 *   ENOTTY     no such ioctl
 */
#ifndef _UAPI_VTA_H
#define _UAPI_VTA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The release of the driver, library and tools of this header, defined only here. vta_info.abi says
 * which calls a driver has; the release does not.
 */
#define VTA_VERSION		"1.0.0"

/* ---- Part 1: memory shared with the card ------------------------------- */

/* Device pages are 4 KiB and device addresses 32 bits on every host. */
#define VTA_PAGE_SHIFT		12
#define VTA_PAGE_SIZE		(1u << VTA_PAGE_SHIFT)

/* Operation of a descriptor: bits 7:0 of vta_desc.op_flags. */
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
/* Only for RUN: start with the core's state as the queue's last RUN with KEEP left it. */
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

/* State of a queue: vta_status.state. */
enum vta_queue_state {
	VTA_QUEUE_DISABLED	= 0,	/* not started, or stopped by the kernel */
	VTA_QUEUE_ACTIVE	= 1,	/* executes descriptors */
	VTA_QUEUE_HALTED	= 2,	/* stopped by a fault */
};

/*
 * Written by the card, read by the process and the kernel. seq counts the descriptors that
 * have completed: the n-th descriptor submitted to the queue (from 1) is done
 * when seq >= n. The card stores seq with one aligned 64-bit write, after all effects of the
 * descriptor; seq never decreases while the queue exists.
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
	__le64 run_time;	/* card time of these RUNs in the compute engine, ns */
	__le64 copy_time;	/* card time of these COPYs and FILLs in the copy engine, ns */
};

/* Reason why a queue halted. */
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
	VTA_FAULT_SLEEP		= 258,	/* aborted because the machine was suspended */
};

/* Purpose of the faulting memory access. */
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
	__le64 seq;		/* number of the faulting descriptor, from 1 */
	__le32 addr;		/* device address, 0 if access is NONE */
	__le32 insn_index;	/* in the stream, or VTA_FAULT_NO_INSN */
	__le32 insn[4];		/* that instruction, low word first */
	__le32 queue;		/* number on the card, from 0 */
	__le32 context;		/* number on the card, from 0 */
	__le64 time;		/* card time, ns */
	__le64 reserved;
};

/* A queue's status page: the status record, then the fault record. */
struct vta_status_page {
	struct vta_status status;
	struct vta_fault fault;
};

/* Written by the card when a descriptor with VTA_DESC_STAMP completes, before vta_status.seq. */
struct vta_stamp {
	__le64 start;		/* card time when its execution began, ns */
	__le64 end;		/* card time when it was done, ns */
	__le64 cycles;		/* engine cycles between these */
	__le64 seq;		/* number of the descriptor */
};

/* ---- Part 2: ioctls ----------------------------------------------------- */

/*
 * Later versions of a structure append fields, and the ioctl number contains the size. An
 * older, shorter structure gets the behaviour of its version; for a newer, longer one the call
 * fails with E2BIG if a field that the kernel does not know is not zero.
 */

/*
 * open() of /dev/vtaN creates a context. Errors besides those of open(2): ENOMEM,
 * ENOSPC (all contexts are in use), EDQUOT, ENODEV (the card is in reset or being removed).
 */

#define VTA_CONTRACT_MAJOR(v)	((v) >> 16)
#define VTA_CONTRACT_MINOR(v)	((v) & 0xffff)

/**
 * struct vta_info - properties of the card (VTA_IOCTL_INFO)
 * @contract: version of docs/hardware.md that the card implements, major << 16 | minor
 * @abi: version of this interface (VTA_ABI_VERSION); grows with each addition
 * @features: feature bits of the card (docs/hardware.md, FEATURES)
 * @mem_size: bytes of card memory; 0: none, and VTA_BUF_CARD fails with ENOSPC
 * @mem_free: bytes of free card memory
 * @serial: serial number of the card
 * @queues: queues of the card
 * @contexts: contexts (open files) the card can hold
 * @ring_order_max: log2 of the longest ring, in descriptors
 * @clock_khz: frequency in kHz of the engines' clock, the unit of all cycle counts
 * @vectors: interrupt vectors in use
 * @hw_ver: version of the VTA core, major << 16 | minor << 8 | patch
 * @log_inp_width: log2 of the bits of an input value; this and the following are
 *                 the core's configuration by the names of vta_config.json (docs/isa.md, 1)
 * @log_wgt_width: log2 of the bits of a weight
 * @log_acc_width: log2 of the bits of an accumulator
 * @log_batch: log2 of the rows of an input element
 * @log_block: log2 of the columns of an input element
 * @log_uop_buff_size: log2 of the bytes of the micro-op scratchpad
 * @log_inp_buff_size: log2 of the bytes of the input scratchpad
 * @log_wgt_buff_size: log2 of the bytes of the weight scratchpad
 * @log_acc_buff_size: log2 of the bytes of the accumulator scratchpad
 * @log_tokens: log2 of the tokens that a token queue of the core holds (docs/isa.md, 3); 0: 16
 * @log_waiting: log2 of the fetched instructions that wait to begin; 0: 16
 * @pad: zero
 * @cores: streams that are executed side by side, each of another queue; 0: 1, which all cards have
 * @pad2: zero
 * @generation: resets of the card from the binding of its driver to the opening of this file;
 *              equal to the number in sysfs until the card is reset
 * @save_size: bytes of host memory of a queue with VTA_QUEUE_KEEP for the core's state; 0: the card
 *             does not keep it
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
	__u8 log_tokens;
	__u8 log_waiting;
	__u8 pad;
	__u16 cores;
	__u8 pad2[2];
	__u32 generation;
	__u32 save_size;
};

/* State of the card of an open file: vta_lost.fate. */
enum vta_fate {
	VTA_FATE_NONE		= 0,	/* the file has its card */
	VTA_FATE_PENDING	= 1,	/* the file has lost its card; its state is not known yet */
	VTA_FATE_RESET		= 2,	/* the card was reset, and works after a new open */
	VTA_FATE_GIVEN_UP	= 3,	/* no reset helped, or resets were needed too often */
	VTA_FATE_REMOVED	= 4,	/* the driver is no longer bound to the card */
};

/* Cause of the loss: vta_lost.cause. */
enum vta_cause {
	VTA_CAUSE_NONE		= 0,	/* the card was not lost */
	VTA_CAUSE_CARD		= 1,	/* the card failed; the kernel log has the failure */
	VTA_CAUSE_ADMIN		= 2,	/* an administrator reset the card */
	VTA_CAUSE_FUNCTION	= 3,	/* the PCI function was reset, alone or with its bus */
	VTA_CAUSE_BUS		= 4,	/* an error on the card's bus */
	VTA_CAUSE_SLEEP		= 5,	/* the card failed when the machine was suspended */
	VTA_CAUSE_WAKE		= 6,	/* the card did not resume */
	VTA_CAUSE_UNBOUND	= 7,	/* the driver was unbound; the card is still present */
	VTA_CAUSE_UNPLUGGED	= 8,	/* the card does not answer: pulled out, or without power */
	VTA_CAUSE_SHUTDOWN	= 9,	/* the machine is shutting down */
};

/**
 * struct vta_lost - why calls return ENODEV (VTA_IOCTL_LOST)
 * @fate: out: enum vta_fate
 * @cause: out: enum vta_cause; the first, if there were several
 *
 * Only this call works on a file that has lost its card. It waits for a reset
 * to end, for seconds at most. @fate is PENDING during resets and errors that the PCI core
 * handles, and before a reset has begun. @cause does not change for the file, whatever
 * happens to the card later. Later drivers may add values. Errors: EINTR (only by a signal
 * that ends the process).
 */
struct vta_lost {
	__u32 fate;
	__u32 cause;
};

/* Host memory or card memory; exactly one of these two. */
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
 * @mmap_offset: out: offset for mmap() of the buffer
 * @flags: VTA_BUF_*
 * @handle: out: identifies the buffer in this open file, never 0
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
 * After this the card cannot access the buffer. CPU mappings of it
 * stay usable until they are unmapped. Errors: EINVAL, ENOENT, ENODEV.
 */
struct vta_buf_free {
	__u32 handle;
	__u32 pad;
};

/**
 * struct vta_buf_pin - pin the caller's memory as a buffer (VTA_IOCTL_BUF_PIN)
 * @user_addr: address of the first byte, in the caller's ordinary memory, in
 *             a mapping of a file, or in huge pages; not in memory that a driver maps, such
 *             as this driver's buffers
 * @size: bytes, more than 0, less than 4 GiB
 * @align: alignment of the device address of the first page, a power of two up to 1 GiB; or
 *         0 for a page of the CPU
 * @addr: in: with VTA_BUF_FIXED the device address of the CPU page that contains
 *        @user_addr; else 0. out: the device address of the first byte
 * @flags: VTA_BUF_FIXED, VTA_BUF_READONLY; without READONLY the memory must be
 *         writable for the caller
 * @handle: out: identifies the buffer, for VTA_IOCTL_BUF_FREE
 *
 * The pages stay in memory until the buffer is freed, even if the mapping changes. Each pin
 * counts against RLIMIT_MEMLOCK (VmPin in /proc/PID/status) for the process, for its user and
 * for the user that opened the card. The card can access whole pages, also the rest of the first
 * and the last page. After fork() the buffer keeps the parent's pages. The buffer has no offset
 * for mmap().
 *
 * Errors: EINVAL, EFAULT (no memory is mapped there, the file ends before it, or a driver's
 * memory), EACCES (the memory is not writable for the caller, and READONLY is not set), ENOMEM,
 * ENOSPC, EDQUOT, EEXIST, EINTR, EOPNOTSUPP (also for a shared mapping of a file on a disk
 * without READONLY: the file system would not see the card's writes), ENODEV.
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
 * struct vta_buf_export - export a buffer as a dma-buf (VTA_IOCTL_BUF_EXPORT)
 * @handle: a buffer of VTA_IOCTL_BUF_ALLOC
 * @flags: O_CLOEXEC, and O_RDWR to let importers write the memory
 * @fd: out: file descriptor of the dma-buf
 * @pad: zero
 *
 * The memory exists until the buffer is freed and the last file descriptor of the
 * dma-buf is closed. A dma-buf of card memory can be imported only by contexts
 * of the same card, and is lost when the card is reset: importing it fails, and CPU
 * mappings show zeroes. A dma-buf has no fences of queues: poll() and
 * DMA_BUF_IOCTL_EXPORT_SYNC_FILE find it idle while the card writes, because a
 * process's queue may never finish, which is not allowed for a kernel fence.
 * Wait for the queue (VTA_IOCTL_WAIT) before another device or process uses the memory.
 * DMA_BUF_IOCTL_SYNC with DMA_BUF_SYNC_END makes the CPU's writes to card
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
 * struct vta_buf_import - import a dma-buf as a buffer (VTA_IOCTL_BUF_IMPORT)
 * @fd: the dma-buf, exported by this driver or another
 * @flags: VTA_BUF_FIXED, VTA_BUF_READONLY; VTA_BUF_CARD is set on return if the dma-buf
 *         is card memory
 * @size: out: bytes
 * @align: as in struct vta_buf_alloc
 * @addr: as in struct vta_buf_alloc
 * @handle: out: identifies the buffer, for VTA_IOCTL_BUF_FREE
 * @pad: zero
 *
 * For a CPU mapping, mmap() the dma-buf itself. Queues do not wait for
 * fences that other drivers attached to it: before submitting, poll() the dma-buf for
 * POLLIN (no other device writes it) to read it, and for POLLOUT (no other device
 * uses it) to write it. Errors: EINVAL (also a
 * file that is not a dma-buf), EBADF (@fd is not open), EACCES (a read-only dma-buf
 * without VTA_BUF_READONLY), ENOENT (card memory that was lost in a
 * reset), ENOMEM, ENOSPC, EDQUOT, EEXIST, EOPNOTSUPP (card memory of another card;
 * memory that the card cannot access directly), ENODEV.
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
 * queues as the queue's last RUN with KEEP left them, whatever ran in between. Each queue
 * with this flag has a state of its own. The state is lost when the queue halts,
 * also if it is then recovered: the next RUN with KEEP finds zeroes and no
 * tokens. Without this flag, a descriptor with VTA_DESC_KEEP is malformed.
 *
 * The kernel allocates vta_info.save_size bytes of host memory for the state, at a device
 * address of the context, charged like a buffer. This memory cannot be mapped.
 */
#define VTA_QUEUE_KEEP		0x1u

/**
 * struct vta_queue_create - create a queue and start it (VTA_IOCTL_QUEUE_CREATE)
 * @flags: VTA_QUEUE_*
 * @priority: 0 (least) to VTA_QUEUE_PRIORITY_MAX, among the queues of the same user:
 *            up to 2^priority descriptors in a round; above VTA_QUEUE_PRIORITY_DEFAULT,
 *            CAP_SYS_NICE is needed
 * @ring_order: log2 of the ring's length in descriptors, 0 to
 *              vta_info.ring_order_max
 * @queue: out: identifies the queue in this open file: the number of the queue on the card,
 *         from 0, as in the kernel log, in events and in sysfs
 * @max_cycles: limit of the cycles of one RUN, COPY or FILL; 0: none. In any
 *              case the card aborts a descriptor after the time limit of the module
 *              parameter max_job_ms (1 s), with VTA_FAULT_TIME
 * @ring_offset: out: mmap offset of the ring (struct vta_desc[1 << ring_order]),
 *               read-write; the card only reads it
 * @status_offset: out: mmap offset of the struct vta_status_page, read-only
 * @doorbell_offset: out: mmap offset of the doorbell, for writing:
 *                   store the low 32 bits of the number of descriptors ever
 *                   submitted, as one little-endian 32-bit word at offset 0
 * @ring_addr: out: device address of the ring
 * @doorbell_size: out: bytes of the doorbell's mapping; the status page has the
 *                 same size (one page of the CPU)
 *
 * Errors: EINVAL, EPERM (@priority), ENOMEM, ENOSPC, EDQUOT, EOPNOTSUPP (also VTA_QUEUE_KEEP on a
 * card that does not keep state), EINTR (see
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
 * A running descriptor is aborted. Waits for the queue return ENOENT. Its mappings remain: ring
 * and status page keep their contents, and the doorbell becomes memory without effect.
 * Errors: EINVAL, ENOENT, ENODEV.
 */
struct vta_queue_destroy {
	__u32 queue;
	__u32 pad;
};

/**
 * struct vta_queue_recover - restart a halted queue (VTA_IOCTL_QUEUE_RECOVER)
 * @queue: the queue
 * @flags: zero
 * @seq: out: number of descriptors that now count as completed
 *
 * The queue continues after the faulting descriptor, which counts as completed
 * although it was not executed to its end; with VTA_FAULT_DOORBELL or VTA_ACCESS_STATE, where no
 * descriptor faulted, after the last completed one. The mappings stay and show the queue ACTIVE,
 * with no fault. The descriptors after @seq have not been executed and are no longer
 * submitted: to execute them as they are in the ring, write the
 * previous number to the doorbell again; or write other descriptors there, from @seq + 1.
 *
 * If a user's queues fault more often than the module parameter max_user_faults allows (faults
 * in a second), this call and VTA_IOCTL_QUEUE_CREATE sleep until the
 * rate is within the limit. Errors: EINVAL, ENOENT, EBUSY, EINTR, ENODEV.
 */
struct vta_queue_recover {
	__u32 queue;
	__u32 flags;
	__u64 seq;
};

/*
 * Do not sleep: if @seq is not reached, return EAGAIN, and once it is reached,
 * poll() on the file returns POLLIN, or the queue's eventfd is signalled if it has one (struct
 * vta_queue_event). Each queue has one such number; another call replaces it.
 */
#define VTA_WAIT_POLL		0x1u

/* No deadline. */
#define VTA_WAIT_FOREVER	0x7fffffffffffffffll

/**
 * struct vta_wait - wait for a descriptor (VTA_IOCTL_WAIT)
 * @queue: the queue
 * @flags: VTA_WAIT_*
 * @seq: wait until this many descriptors have completed; less than 2^31 more
 *       than have completed now
 * @deadline_ns: time of CLOCK_MONOTONIC in ns; with a time in the past the call does not sleep
 * @done: out, also on ETIMEDOUT, EAGAIN and EIO: number of completed descriptors
 *
 * Errors: EINVAL, ENOENT, ETIMEDOUT, EAGAIN, EINTR, EIO (the queue halted
 * before @seq), ENOMEM (the queue already has 1,024 waits), ENODEV.
 */
struct vta_wait {
	__u32 queue;
	__u32 flags;
	__u64 seq;
	__s64 deadline_ns;
	__u64 done;
};

/**
 * struct vta_fence - a sequence number of a queue
 * @fd: the open file of the queue, of any card
 * @queue: the queue
 * @seq: as in struct vta_wait
 */
struct vta_fence {
	__s32 fd;
	__u32 queue;
	__u64 seq;
};

/* Most fences of one call. */
#define VTA_FENCES_MAX		256u

/* Wait for one of the fences instead of all. */
#define VTA_WAIT_ANY		0x1u
/* @cancel_fd is valid. */
#define VTA_WAIT_CANCEL		0x2u

/**
 * struct vta_wait_many - wait for all or any of several fences
 *                        (VTA_IOCTL_WAIT_MANY)
 * @fences: pointer to an array of struct vta_fence; several may have the same queue
 * @count: number of fences, 1 to VTA_FENCES_MAX
 * @flags: VTA_WAIT_ANY, VTA_WAIT_CANCEL
 * @deadline_ns: as in struct vta_wait
 * @cancel_fd: an eventfd that cancels the wait: while it is readable (after a write to it), the
 *             call does not sleep. The call does not read the eventfd: it cancels all waits
 *             that use it until the caller reads it. Without VTA_WAIT_CANCEL: 0
 * @index: out: with VTA_WAIT_ANY the first fence that was reached; after an error of a fence,
 *         its index; otherwise 0
 *
 * May be called on any open file of a card that was not reset. The thread is
 * woken once. With VTA_WAIT_ANY, a reached fence takes precedence over errors of fences. Both
 * take precedence over ECANCELED, EINTR and ETIMEDOUT, which do not affect the queues:
 * call again. A fence's file that is closed during the call stays open until the call returns.
 *
 * Errors: EINVAL, EFAULT, ENOMEM, ETIMEDOUT, ECANCELED, EINTR. Errors of a fence:
 * EBADF, EINVAL (a file that is not a card's, or a number that is too far ahead),
 * ENOENT, EIO (the queue halted before @seq), ENOMEM (the queue already has 1,024 fences and
 * waits), ENODEV (the card was reset). With VTA_WAIT_ANY, too, an error of one fence ends the
 * wait: call again without this fence.
 * Errors of @cancel_fd: EBADF, EINVAL (not an eventfd).
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
 * @fd: the eventfd, which replaces the previous one; -1: none
 * @flags: zero
 * @pad: zero
 *
 * The kernel adds 1 to the eventfd's count when the number of VTA_WAIT_POLL is reached
 * (poll() on the device file then has no POLLIN for the queue);
 * when the queue halts, or at once if it has halted; and when the queue is
 * destroyed or the card is lost. The count does not show which of these has happened.
 * Several queues, of several cards, may have the same eventfd.
 *
 * The queue holds a reference to the eventfd, even if @fd is closed, until another eventfd replaces
 * it or the queue is destroyed. The eventfd holds no reference to the card's file. A kernel thread
 * signals the eventfds, possibly just after VTA_IOCTL_QUEUE_DESTROY or close() has returned. It
 * sends one signal of each file of a user in turn; how long this takes depends on the files that
 * poll these eventfds. The signals of a user of a card take at most a tenth of a processor's time,
 * and 100 ms at once: others come later. This call waits until all signals of its file that were
 * due before are sent. open() waits while 64 closed files of the user have signals to be sent.
 *
 * Errors: EINVAL (also a file that is not an eventfd), EBADF, ENOENT, EINTR, ENODEV.
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
 * @reason: out: enum vta_fault_reason, VTA_FAULT_NONE if the queue has not halted
 * @access: out: enum vta_access
 * @addr: out: device address of the failed access, 0 if @access is VTA_ACCESS_NONE
 * @seq: out: number of the faulting descriptor, from 1
 * @insn_index: out: index of the instruction in the stream, from 0; or VTA_FAULT_NO_INSN
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
 * poll(): POLLIN when a sequence number of VTA_WAIT_POLL has been
 * reached (until the next VTA_IOCTL_WAIT on that queue), POLLPRI when a queue
 * of the file has halted, POLLERR | POLLHUP when the card was reset or is gone.
 */

/*
 * mmap(): MAP_SHARED, at the offset of a buffer, ring, status page or doorbell,
 * for all of it or a part from its start. Errors: EINVAL (no such offset, a
 * length beyond the object, or MAP_PRIVATE), EACCES (PROT_EXEC; PROT_WRITE of a
 * status page, also by mprotect()), ENODEV.
 *
 * A child process inherits all mappings except doorbells. Mappings keep the file open. System
 * calls that pin memory (O_DIRECT) do not accept a mapped buffer.
 *
 * After the card was reset or is gone, mappings stay accessible: all show zeroed memory
 * that is private to the open file, and writes to it have no
 * effect. So a status page then shows VTA_QUEUE_DISABLED.
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

#define VTA_ABI_VERSION		5

#endif /* _UAPI_VTA_H */
