/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev.h - work with VTA accelerator cards from userspace
 *
 * This header is the manual. A whole program:
 *
 *	struct vtadev *dev;
 *	struct vtadev_queue *q;
 *	struct vtadev_buf *src, *dst;
 *	struct vta_desc d;
 *	uint64_t seq;
 *	int err;
 *
 *	err = vtadev_open(NULL, &dev);			// the first card
 *	err = vtadev_queue_create(dev, NULL, &q);
 *	err = vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &src);
 *	err = vtadev_buf_alloc(dev, 4096, VTADEV_CARD, &dst);
 *	err = vtadev_buf_write(src, 0, data, 4096);
 *	d = vtadev_desc_copy(vtadev_buf_addr(dst), vtadev_buf_addr(src), 4096);
 *	err = vtadev_submit(q, &d, 1, &seq);		// no system call
 *	err = vtadev_wait(q, seq, 1000000000);		// at most a second
 *	if (err)
 *		fprintf(stderr, "%s\n", vtadev_strerror(err));
 *
 * ERRORS. Functions that return int return 0 or more on success and a negative
 * errno on failure; on failure they do not change out parameters. The variable errno has no
 * meaning. Each error has one cause:
 *
 *	-EINVAL		a malformed request (each function says what it takes)
 *	-ENOENT		no such card, or the queue was destroyed meanwhile; a dma-buf's
 *			card memory was lost in a reset
 *	-EACCES		no permission to open the card's node; a write to read-only
 *			memory
 *	-EFAULT		there is no memory at that address of the program
 *	-EBADF		not an open file descriptor
 *	-EMFILE		too many files are open
 *	-ENOMEM		no host memory, or RLIMIT_MEMLOCK is spent
 *	-ENOSPC		the card's memory, contexts, queues, or this context's
 *			device addresses are spent
 *	-EDQUOT		this user has as much card or host memory, or as many queues
 *			or open cards, as one user may
 *	-EBUSY		the queue has not halted
 *	-EEXIST		a chosen device address overlaps a buffer
 *	-ERANGE		an access beyond the end of a buffer
 *	-EAGAIN		the ring has no room now: wait, then submit again
 *	-ETIMEDOUT	a time-out passed
 *	-ECANCELED	the wait was cancelled
 *	-EIO		the queue has halted: vtadev_fault() returns the reason
 *	-EPROTO		the card reports inconsistent data; the card, or the path to it, is
 *			broken
 *	-EOPNOTSUPP	this host or card does not support the request
 *	-ENODEV		the card was reset or is gone: vtadev_lost() tells which and
 *			why; free everything, close, and open again
 *	-ENOTTY		the file is not a VTA card
 *	-ELIBACC	the device's plugin is not installed: vtadev_open_text() names
 *			its package
 *	-ELIBBAD	the device's plugin cannot be loaded
 *
 * THREADS. There is no global state, except for a trace if the environment variable
 * VTADEV_TRACE is set (docs/tracing.md). Several threads may call functions of one struct vtadev or
 * struct vtadev_buf at once, except for functions that free their argument: no other thread may
 * use the argument during such a call or after it. Only one thread at a time may submit to a
 * queue (vtadev_submit() and its variants, vtadev_kick(), copies, fills, vtadev_upload(),
 * vtadev_download(), vtadev_recover()). Meanwhile, other threads may wait for the queue, query it,
 * and read its fault. A program with several submitting threads gives each thread its own queue,
 * which needs no lock, or creates one queue with VTADEV_QUEUE_SHARED.
 *
 * FORK. A child process cannot use its parent's handles: it must open the card itself. The child
 * must not free the parent's buffers or destroy its queues, as the parent would lose them. It may
 * call vtadev_close(), which does not affect the parent. Memory that the parent pinned stays
 * the parent's. The card keeps the parent's memory, queues and context until the child, too, has
 * ended or called execve(2).
 *
 * BLOCKING. vtadev_wait() and its variants, vtadev_sync(), vtadev_submit_wait(), vtadev_upload()
 * and vtadev_download() sleep until the card has completed the work; so does submitting to a
 * full queue with VTADEV_QUEUE_BLOCK, until the ring has room. Functions that open, create,
 * allocate, pin, import, export, map, recover, destroy, free and close make system calls, which may
 * wait for memory, or for the card (about 100 ms at most). So do the first vtadev_buf_read()
 * or vtadev_buf_write() of a buffer, which map it, and each one of an imported buffer. If the
 * user's queues fault too often, vtadev_recover() and vtadev_queue_create() sleep until they may
 * go on. vtadev_lost() waits for a reset to end. All other functions return at once, unless they
 * wait for the lock of a shared queue, which vtadev_recover() holds.
 *
 * DEVICE ADDRESSES are 32 bits, belong to one struct vtadev (one context of the
 * card), and are translated by the card. Whatever a program puts into its queues, the card
 * reaches only that program's buffers.
 */
#ifndef VTADEV_H
#define VTADEV_H

#include <stddef.h>
#include <stdint.h>

#include "vta.h"
#include "vtadev_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VTADEV_VERSION		VTA_VERSION

/* vtadev_version() - the library in use, as VTADEV_VERSION is this header */
const char *vtadev_version(void);

/**
 * vtadev_strerror() - what an error means and what to do about it
 * @err: what a function of this library returned, or the errno it stands for
 *
 * Returns a text without a full stop or line end, never NULL, that is not to be
 * freed.
 */
const char *vtadev_strerror(int err);

/* ---- Cards --------------------------------------------------------------- */

/**
 * struct vtadev_card - where a card is
 * @index: the N of vtaN; UINT_MAX if sysfs does not tell
 * @node: path of the device node, as "/dev/vta0"
 * @pci: its PCI address, as "0000:01:00.0"; empty if sysfs does not tell
 */
struct vtadev_card {
	unsigned int index;
	char node[64];
	char pci[16];
};

/**
 * vtadev_list() - find the cards that have a driver
 * @cards: out: an array by rising index; free with vtadev_list_free(), also
 *         when it is empty
 *
 * Needs no permission to open the cards. Returns how many there are, or -ENOMEM.
 */
int vtadev_list(struct vtadev_card **cards);

/**
 * vtadev_list_all() - find the cards that have a driver, and the devices of plugins
 * @cards: out: an array, cards first; free with vtadev_list_free(), also when it is empty
 *
 * A device of a plugin (docs/devices.md) has its name for a node, as "soft", an index of
 * UINT_MAX and no PCI address. Plugins are loaded for it. Returns how many there are, or
 * -ENOMEM.
 */
int vtadev_list_all(struct vtadev_card **cards);

/* vtadev_list_free() - free what vtadev_list() gave; NULL is allowed */
void vtadev_list_free(struct vtadev_card *cards);

/**
 * vtadev_find() - find one card
 * @which: NULL or "": what VTADEV_DEVICE says in the environment, or else the card
 *         with the lowest index, of those that the caller may open, or else of those
 *         whose node is there; an index ("0"), a name ("vta0"), the path of its node
 *         ("/dev/vta0", or any path with a slash, links too), a PCI address
 *         ("0000:01:00.0", "01:00.0"), or a device of a plugin ("soft",
 *         "soft:vta_config.json"): docs/devices.md
 * @card: out: where it is
 *
 * Needs no permission to open the card. A setuid program does not ask the environment.
 * Errors: -EINVAL (@which is none of these), -ENOENT, -ENOTTY (the path is not that of
 * a card), -ELIBACC (the plugin is not installed), -ELIBBAD (it cannot be loaded),
 * -ENOMEM, and what stat(2) may say else of a path.
 */
int vtadev_find(const char *which, struct vtadev_card *card);

/* An open card: a context of its own, with its own device addresses. */
struct vtadev;

/**
 * vtadev_open() - open a card
 * @which: as for vtadev_find(); a path is opened as it is, sysfs or not
 * @dev: out: the open card
 *
 * Every call makes a new context. Errors: -EINVAL (@which is none of these),
 * -ENOENT, -EACCES, -ENOSPC (all contexts are in use), -EDQUOT, -ENOMEM, -ENODEV
 * (the card is in reset or going), -ENOTTY, -EPROTO (its configuration is not
 * valid), -ELIBACC and -ELIBBAD (see vtadev_find()), what open(2) may say else, and
 * what a plugin says of its arguments.
 */
int vtadev_open(const char *which, struct vtadev **dev);

/* Enough for every text of vtadev_open_text(). */
#define VTADEV_OPEN_TEXT_MAX	256

/**
 * vtadev_open_text() - say in a sentence why a card or device does not open
 * @which: as for vtadev_find()
 * @text: out: the sentence, cut off if it does not fit, always ended by 0
 * @size: bytes at @text
 *
 * Tries to open it, and says more than vtadev_strerror() can: which package a plugin is
 * in, which field of a configuration is wrong. Returns the length of the whole sentence,
 * as snprintf() does.
 */
int vtadev_open_text(const char *which, char *text, size_t size);

/**
 * vtadev_close() - close a card
 * @dev: the card, or NULL
 *
 * Buffers and queues may outlive their card's handle: the context stays until
 * the last of them is freed as well.
 */
void vtadev_close(struct vtadev *dev);

/**
 * vtadev_fd() - the card's file descriptor, for poll() and epoll
 * @dev: the card
 *
 * Events: POLLIN after vtadev_arm(), POLLPRI when a queue of @dev has halted,
 * POLLERR | POLLHUP when the card was reset or is gone. The descriptor belongs
 * to @dev: do not close it.
 */
int vtadev_fd(const struct vtadev *dev);

#define VTADEV_FEATURE_COUNTERS	0x1ull	/* vtadev_counters() works */

/**
 * struct vtadev_info - what a card is
 * @card: where it is
 * @contract_major: version of docs/hardware.md that it follows
 * @contract_minor: the same
 * @features: VTADEV_FEATURE_*
 * @serial: its serial number
 * @mem_size: bytes of memory on the card
 * @queues: queues of the card, for all users together
 * @contexts: contexts of the card, for all users together
 * @ring_entries_max: the longest ring, in descriptors
 * @clock_khz: clock of the engines, which cycles count
 * @vectors: interrupt vectors in use
 * @hw_ver_major: version of the VTA core
 * @hw_ver_minor: the same
 * @hw_ver_patch: the same
 *
 * The core's configuration, by the names of vta_config.json:
 * @log_inp_width: log2 of the bits of an input (and output) value
 * @log_wgt_width: log2 of the bits of a weight
 * @log_acc_width: log2 of the bits of an accumulator
 * @log_batch: log2 of @batch
 * @log_block: log2 of @block
 * @log_uop_buff_size: log2 of the bytes of the micro-op scratchpad
 * @log_inp_buff_size: the same of the input's
 * @log_wgt_buff_size: the same of the weights'
 * @log_acc_buff_size: the same of the accumulators'
 *
 * What follows from it. An element is what instructions count in: a matrix of
 * values, see docs/isa.md.
 * @batch: rows of an input element
 * @block: columns of an input element; a weight element is @block x @block
 * @inp_bytes: bytes of an input element (DRAM and scratchpad)
 * @wgt_bytes: bytes of a weight element
 * @acc_bytes: bytes of an accumulator element
 * @out_bytes: bytes of an output element: STORE writes input-wide values
 * @elem_bytes_max: the largest of them: a buffer aligned to it starts on a whole
 *                  element of any kind
 * @uop_depth: micro-ops that its scratchpad holds
 * @inp_depth: elements that the input scratchpad holds
 * @wgt_depth: elements that the weight scratchpad holds
 * @acc_depth: elements that the accumulator scratchpad holds
 * @log_uop_depth: log2 of the depths: widths of instruction and micro-op fields
 * @log_inp_depth: the same
 * @log_wgt_depth: the same
 * @log_acc_depth: the same
 * @save_size: bytes of host memory that a queue with VTADEV_QUEUE_KEEP takes
 */
struct vtadev_info {
	struct vtadev_card card;
	uint32_t contract_major, contract_minor;
	uint64_t features;
	uint64_t serial;
	uint64_t mem_size;
	uint32_t queues;
	uint32_t contexts;
	uint32_t ring_entries_max;
	uint32_t clock_khz;
	uint32_t vectors;
	uint8_t hw_ver_major, hw_ver_minor, hw_ver_patch;

	uint8_t log_inp_width, log_wgt_width, log_acc_width;
	uint8_t log_batch, log_block;
	uint8_t log_uop_buff_size, log_inp_buff_size;
	uint8_t log_wgt_buff_size, log_acc_buff_size;

	uint8_t log_uop_depth, log_inp_depth, log_wgt_depth, log_acc_depth;
	uint32_t batch, block;
	uint32_t inp_bytes, wgt_bytes, acc_bytes, out_bytes, elem_bytes_max;
	uint32_t uop_depth, inp_depth, wgt_depth, acc_depth;
	uint32_t save_size;
};

/* vtadev_info() - what @dev is; valid as long as @dev, and does not change */
const struct vtadev_info *vtadev_info(const struct vtadev *dev);

/**
 * vtadev_tvm_fields() - whether TVM's headers lay instructions out as the card does
 * @log_uop_depth: of struct vtadev_info
 * @log_acc_depth: of struct vtadev_info
 *
 * TVM's hw_spec.h has bit-fields: where the first word of GEMM and ALU has room left for
 * the field that docs/isa.md has at the start of the second, the compiler puts it there.
 *
 * Returns 0 if it does so with this configuration: programs that were compiled with
 * that header do not run on the card. 1 otherwise.
 */
static inline int vtadev_tvm_fields(unsigned int log_uop_depth, unsigned int log_acc_depth)
{
	/* Opcode and tokens, reset, begin and end of the micro-ops, two counts of 14 bits. */
	return 7 + 1 + log_uop_depth + log_uop_depth + 1 + 14 + 14 + log_acc_depth > 64;
}

/**
 * vtadev_mem_free() - how much card memory is free at this moment
 * @dev: the card
 * @bytes: out: bytes, in one piece or not
 *
 * Errors: -ENODEV.
 */
int vtadev_mem_free(struct vtadev *dev, uint64_t *bytes);

/**
 * struct vtadev_counters - the card's debug counters (docs/hardware.md, 12)
 * @mmio_reads: register reads
 * @mmio_writes: register writes
 * @bad_accesses: of both, those of what is not defined
 * @doorbells: of them, doorbells
 * @arms: of them, requests for an interrupt
 * @interrupts: interrupts sent
 * @dma_read_bytes: bytes of host memory read
 * @dma_write_bytes: bytes of host memory written
 * @mem_read_bytes: bytes of card memory read by the engines
 * @mem_write_bytes: bytes of card memory written by the engines
 * @page_walks: translations that went through the page table
 * @tlb_hits: translations that did not
 * @tlb_invalidations: commands that made the card forget translations
 * @descriptors: descriptors completed
 * @runs: of them, RUN
 * @copies: of them, COPY
 * @fills: of them, FILL
 * @copy_bytes: bytes moved by COPY and FILL
 * @insns: instructions executed
 * @compute_cycles: cycles in which the compute engine was busy
 * @copy_cycles: cycles in which the copy engine was busy
 * @gemm_uops: micro-operations of GEMM instructions
 * @alu_uops: micro-operations of ALU instructions
 * @context_switches: RUNs that found another's state in the core: another context's,
 *                    or that of another queue which keeps it
 * @faults: queues halted
 * @resets: resets of the card
 * @state_saves: times that the core's state was saved for a queue that keeps it
 * @state_restores: times that it was brought back
 * @state_cycles: cycles that both took
 *
 * They count for all users of the card together, since its last reset of the
 * kind that clears them. Take the difference of two readings.
 */
struct vtadev_counters {
	uint64_t mmio_reads;
	uint64_t mmio_writes;
	uint64_t bad_accesses;
	uint64_t doorbells;
	uint64_t arms;
	uint64_t interrupts;
	uint64_t dma_read_bytes;
	uint64_t dma_write_bytes;
	uint64_t mem_read_bytes;
	uint64_t mem_write_bytes;
	uint64_t page_walks;
	uint64_t tlb_hits;
	uint64_t tlb_invalidations;
	uint64_t descriptors;
	uint64_t runs;
	uint64_t copies;
	uint64_t fills;
	uint64_t copy_bytes;
	uint64_t insns;
	uint64_t compute_cycles;
	uint64_t copy_cycles;
	uint64_t gemm_uops;
	uint64_t alu_uops;
	uint64_t context_switches;
	uint64_t faults;
	uint64_t resets;
	uint64_t state_saves;
	uint64_t state_restores;
	uint64_t state_cycles;
};

/**
 * vtadev_counters() - read the card's debug counters
 * @dev: the card
 * @counters: out: all of them, read one after the other
 *
 * Reads files of sysfs: for measuring around work, not within. Errors:
 * -EOPNOTSUPP (the card has none), -EACCES, -ENODEV.
 */
int vtadev_counters(struct vtadev *dev, struct vtadev_counters *counters);

/* ---- Buffers ------------------------------------------------------------- */

/*
 * Memory that the card and the CPU see: allocated, the program's own that was
 * pinned, or a dma-buf that was imported. All functions take all kinds.
 */
struct vtadev_buf;

/* Where a buffer is; one of them ... */
#define VTADEV_HOST		VTA_BUF_HOST	/* host memory, cached */
#define VTADEV_CARD		VTA_BUF_CARD	/* the card's own memory */
/* ... or-ed with: */
#define VTADEV_READONLY		VTA_BUF_READONLY /* the card cannot write it */

/**
 * vtadev_buf_alloc() - allocate memory, filled with zeros
 * @dev: the card
 * @size: bytes, more than 0
 * @flags: VTADEV_*
 * @buf: out: the buffer
 *
 * Card memory is fast for the card and slow for the CPU to read: use
 * vtadev_upload() and vtadev_download(), or copies. Errors: -EINVAL, -ENOMEM,
 * -ENOSPC, -EDQUOT, -EOPNOTSUPP, -ENODEV.
 */
int vtadev_buf_alloc(struct vtadev *dev, size_t size, unsigned int flags,
		     struct vtadev_buf **buf);

/**
 * vtadev_buf_alloc_at() - the same, with a say in the device address
 * @dev: the card
 * @size: bytes, more than 0
 * @flags: VTADEV_*
 * @align: alignment of the device address, a power of two, or 0 for 4 KiB
 * @addr: the device address, a multiple of 4 KiB and of @align, or 0 for any
 * @buf: out: the buffer
 *
 * Errors: as vtadev_buf_alloc(), and -EEXIST.
 */
int vtadev_buf_alloc_at(struct vtadev *dev, size_t size, unsigned int flags,
			size_t align, uint32_t addr, struct vtadev_buf **buf);

/**
 * vtadev_buf_pin() - make memory of the program a buffer, without a copy
 * @dev: the card
 * @ptr: where it starts, any address: heap, stack, a mapped file, huge pages
 * @size: bytes, more than 0
 * @flags: 0, or VTADEV_READONLY, without which the program must be able to write
 *         the memory
 * @buf: out: the buffer
 *
 * The pages stay in memory and count against RLIMIT_MEMLOCK until the buffer is
 * freed. Free it before the memory: after munmap(2) or free(3) the card goes on
 * with the old pages, whatever is at @ptr then. The card sees the whole pages
 * that the first and the last byte are in. Errors: -EINVAL, -EFAULT (also memory
 * that cannot be pinned), -EACCES, -ENOMEM, -ENOSPC, -EDQUOT, -EOPNOTSUPP,
 * -ENODEV.
 */
int vtadev_buf_pin(struct vtadev *dev, void *ptr, size_t size, unsigned int flags,
		   struct vtadev_buf **buf);

/**
 * vtadev_buf_export() - make a buffer a dma-buf, for others to import
 * @buf: a buffer that was allocated
 * @flags: 0, or VTADEV_READONLY: others may only read it
 * @fd: out: a descriptor, close-on-exec, that is the caller's to close
 *
 * The memory lives until the buffer is freed and the last reference to the dma-buf is gone. Card
 * memory can be imported by contexts of the same card only. Errors: -EINVAL,
 * -EACCES (@buf is VTADEV_READONLY and @flags is not), -ENOMEM, -EMFILE,
 * -EOPNOTSUPP (a pinned or imported buffer), -ENODEV.
 */
int vtadev_buf_export(struct vtadev_buf *buf, unsigned int flags, int *fd);

/**
 * vtadev_buf_import() - make a dma-buf a buffer
 * @dev: the card
 * @fd: descriptor of a dma-buf, of a card or of any other device; it stays the
 *      caller's and may be closed when this returns
 * @flags: 0, or VTADEV_READONLY, without which the dma-buf must be writable
 * @buf: out: the buffer
 *
 * Returns when what other devices were doing with it has ended: vtadev_buf_wait().
 *
 * Errors: -EINVAL (also a file that is not a dma-buf), -EBADF, -EACCES, -EMFILE,
 * -ENOENT (card memory that was lost in a reset), -ENOMEM, -ENOSPC, -EDQUOT,
 * -EOPNOTSUPP (card memory of another card, or memory that the card cannot reach),
 * -ENODEV.
 */
int vtadev_buf_import(struct vtadev *dev, int fd, unsigned int flags,
		      struct vtadev_buf **buf);

/**
 * vtadev_buf_import_at() - the same, with a say in the device address
 * @dev: the card
 * @fd: descriptor of a dma-buf
 * @flags: 0, or VTADEV_READONLY
 * @align: alignment of the device address, a power of two, or 0 for 4 KiB
 * @addr: the device address, a multiple of 4 KiB and of @align, or 0 for any
 * @buf: out: the buffer
 *
 * Errors: as vtadev_buf_import(), and -EEXIST.
 */
int vtadev_buf_import_at(struct vtadev *dev, int fd, unsigned int flags,
			 size_t align, uint32_t addr, struct vtadev_buf **buf);

/**
 * vtadev_buf_wait() - wait until other devices are done with an imported buffer
 * @buf: the buffer; one that was not imported is done at once
 * @flags: 0, or VTADEV_READONLY: it will only be read, so others may go on reading it
 * @timeout_ns: as for vtadev_wait()
 *
 * Drivers of other devices keep fences in a dma-buf, for what their devices still read or
 * write there. Descriptors do not wait for these. The library does when it imports a
 * buffer, and in vtadev_upload(), vtadev_download(), vtadev_buf_read() and
 * vtadev_buf_write(). If another device has been given the buffer since the import, call
 * this before descriptors are submitted that use it. Fences that are put there
 * later are not waited for (before Linux 6.0: those that come while this waits are).
 *
 * There are none for VTA cards: what queues do, in this process or another, is not waited
 * for. Wait for the queue before another device is given the buffer.
 *
 * Errors: -EINVAL, -ETIMEDOUT, -ENOMEM, -EMFILE.
 */
int vtadev_buf_wait(struct vtadev_buf *buf, unsigned int flags, int64_t timeout_ns);

/**
 * vtadev_buf_free() - free a buffer and its CPU mapping
 * @buf: the buffer, or NULL
 *
 * When this returns the card cannot reach it any more: a descriptor that still
 * uses it faults. Of pinned memory and dma-bufs the memory itself stays.
 */
void vtadev_buf_free(struct vtadev_buf *buf);

/* vtadev_buf_addr() - the device address of the first byte of @buf */
uint32_t vtadev_buf_addr(const struct vtadev_buf *buf);

/* vtadev_buf_size() - bytes of @buf, as asked for, or of the dma-buf */
size_t vtadev_buf_size(const struct vtadev_buf *buf);

/**
 * vtadev_buf_map() - make a buffer visible to the CPU
 * @buf: the buffer
 * @ptr: out: where it is, vtadev_buf_size() bytes, readable and writable (but a
 *       dma-buf that was exported for reading, which is readable only)
 *
 * The mapping is made once and stays until the buffer is freed; later calls
 * give the same @ptr and make no system call. Pinned memory is where it was.
 * Card memory is mapped write-combined: write it in order and in large pieces,
 * avoid reading it; vtadev_submit() flushes what its thread has written. What the
 * card wrote may be read once vtadev_wait(), vtadev_done() or vtadev_completed()
 * has said that it is complete. Accesses to a dma-buf of another device go
 * between two DMA_BUF_IOCTL_SYNC of the kernel's on its descriptor, as always.
 *
 * Errors: -ENOMEM, -ENODEV, -EOPNOTSUPP (card memory of a device that the CPU does not
 * see: docs/devices.md), and of a dma-buf what mmap(2) may say else.
 */
int vtadev_buf_map(struct vtadev_buf *buf, void **ptr);

/**
 * vtadev_buf_write() - copy into a buffer with the CPU
 * @buf: the buffer
 * @offset: bytes from its start
 * @src: what to copy
 * @len: bytes, any number, 0 too
 *
 * At once, whatever queues do: what still uses these bytes must have completed.
 * Maps @buf if it is not mapped; does what a dma-buf needs around it. Descriptors
 * that any thread submits after it see what was written. Errors:
 * -ERANGE (nothing was written), -EACCES (a dma-buf for reading), and those of
 * vtadev_buf_map().
 */
int vtadev_buf_write(struct vtadev_buf *buf, size_t offset, const void *src,
		     size_t len);

/**
 * vtadev_buf_read() - copy out of a buffer with the CPU
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: where to
 * @len: bytes, any number, 0 too
 *
 * Errors: as vtadev_buf_write().
 */
int vtadev_buf_read(struct vtadev_buf *buf, size_t offset, void *dst,
		    size_t len);

/* ---- Queues -------------------------------------------------------------- */

/* An in-order ring of descriptors that the card works off. */
struct vtadev_queue;

#define VTADEV_RING_ENTRIES_DEFAULT	256
#define VTADEV_SPIN_NS_DEFAULT		10000

/*
 * From how many bytes on it pays to pin a program's memory and have the card
 * copy. How it was measured, and when to choose another, is in docs/memory.md.
 */
#define VTADEV_COPY_MIN_DEFAULT		((size_t)512 << 10)

/**
 * struct vtadev_queue_opts - how a queue is to be; all zero: the defaults
 * @ring_entries: descriptors that can be under way: a power of two up to
 *                vtadev_info.ring_entries_max; 0: 256, or that if it is less
 * @priority: 0 (least) to 3, among the queues of the same user: a queue of priority p
 *            gets up to 2^p descriptors in its turn. More than 0 needs CAP_SYS_NICE
 * @max_cycles: upper limit for every RUN, copy and fill of the queue; 0: none, but
 *              for the driver's limit in time (its parameter max_job_ms)
 * @spin_ns: how long at most a wait looks again and again before it sleeps (below);
 *           0: VTADEV_SPIN_NS_DEFAULT; negative: not at all
 * @flags: VTADEV_QUEUE_*
 * @copy_min: from how many bytes on vtadev_upload() and vtadev_download() have
 *            the card copy; 0: VTADEV_COPY_MIN_DEFAULT; SIZE_MAX: never
 *
 * A wait that looks finds out at once and costs no interrupt, but the CPU. So it
 * looks, for @spin_ns at most, if what it waits for is expected within that time,
 * and else sleeps right away. Expected is the time of one descriptor, as many
 * times as are outstanding. Each wait that had to wait tells of that time: how long
 * it took, or what by the card's clock lay between the last completion before
 * and the last one after, if that is less; divided by the descriptors that
 * completed meanwhile. A shorter time than known replaces it; of a longer one an
 * eighth of the difference is added. Of the waits that would sleep right away,
 * every 16th looks first all the same, to notice when jobs have become short.
 */
struct vtadev_queue_opts {
	uint32_t ring_entries;
	uint32_t priority;
	uint64_t max_cycles;
	int32_t spin_ns;
	uint32_t flags;
	size_t copy_min;
};

/*
 * Several threads may submit at the same time. Each call takes a lock of the
 * queue's, which makes a system call only if another thread has it, and gets
 * numbers of its own, without gaps. Without this flag there is no lock.
 */
#define VTADEV_QUEUE_SHARED	0x1u
/*
 * When the ring has no room, vtadev_submit(), copies and fills wait for it as
 * long as it takes and do not return -EAGAIN.
 */
#define VTADEV_QUEUE_BLOCK	0x2u
/*
 * RUNs of the queue may keep the core's state: see vtadev_desc_keep(). Takes
 * vtadev_info.save_size bytes of host memory, from the process's memory cgroup.
 */
#define VTADEV_QUEUE_KEEP	0x4u

/**
 * vtadev_queue_create() - make a queue and start it
 * @dev: the card
 * @opts: how it is to be, or NULL for the defaults
 * @queue: out: the queue
 *
 * Errors: -EINVAL, -ENOSPC (all queues are in use), -EDQUOT, -ENOMEM, -EOPNOTSUPP
 * (the card cannot reach this host's memory directly), -ENODEV.
 */
int vtadev_queue_create(struct vtadev *dev, const struct vtadev_queue_opts *opts,
			struct vtadev_queue **queue);

/**
 * vtadev_queue_destroy() - stop a queue and free it
 * @queue: the queue, or NULL
 *
 * What has not completed is given up, at once.
 */
void vtadev_queue_destroy(struct vtadev_queue *queue);

/**
 * vtadev_submit() - hand descriptors to the card
 * @queue: the queue
 * @descs: the descriptors (see vtadev_desc.h), copied
 * @n: how many, 1 to the length of the ring
 * @seq: out: the sequence number of the last of them; NULL is allowed
 *
 * All or none are taken. Their numbers are consecutive; the first descriptor
 * ever submitted to a queue is number 1. What the CPU wrote to buffers before
 * is seen by them.
 *
 * Makes no system call, allocates nothing and takes no lock; one write crosses
 * the bus, whatever @n. One thread at a time for each queue. (See
 * VTADEV_QUEUE_SHARED and VTADEV_QUEUE_BLOCK for other queues.)
 *
 * It returns at once: a network's layers are submitted one after the other, and
 * run one after the other, while the program goes on. What was submitted is never
 * overwritten. The program and the card meet when a result is wanted
 * (vtadev_wait(), vtadev_read_after(), vtadev_download()) or the ring is full
 * (vtadev_wait_room(), vtadev_submit_wait(), VTADEV_QUEUE_BLOCK).
 *
 * Errors: -EINVAL (@n), -EAGAIN (less than @n free places in the ring), -EIO,
 * -EPROTO, -ENODEV. A reset that comes at the same time is first seen by a
 * later call.
 */
int vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
		  unsigned int n, uint64_t *seq);

/**
 * vtadev_submit_wait() - the same, and wait for room if there is none
 * @queue: the queue
 * @descs: the descriptors
 * @n: how many, 1 to the length of the ring
 * @timeout_ns: as for vtadev_wait()
 * @seq: out: the sequence number of the last of them; NULL is allowed
 *
 * Only what it takes to have room is waited for. Errors: as vtadev_submit(), but
 * -ETIMEDOUT and not -EAGAIN; nothing has been submitted then.
 */
int vtadev_submit_wait(struct vtadev_queue *queue, const struct vta_desc *descs,
		       unsigned int n, int64_t timeout_ns, uint64_t *seq);

/**
 * vtadev_wait_room() - wait until descriptors find room in the ring
 * @queue: the queue
 * @n: how many, 1 to the length of the ring
 * @timeout_ns: as for vtadev_wait()
 *
 * For after an -EAGAIN. In a shared queue another thread may be quicker to use
 * the room. Errors: as vtadev_wait().
 */
int vtadev_wait_room(struct vtadev_queue *queue, unsigned int n, int64_t timeout_ns);

/**
 * vtadev_kick() - have the card look again at a WAIT
 * @queue: the queue
 *
 * For after the CPU, and not a SIGNAL, has changed the word that a WAIT
 * descriptor watches. One thread at a time, as vtadev_submit().
 */
void vtadev_kick(struct vtadev_queue *queue);

/* vtadev_queue_entries() - descriptors that the queue's ring holds */
uint32_t vtadev_queue_entries(const struct vtadev_queue *queue);

/* vtadev_submitted() - descriptors ever submitted: the latest number */
uint64_t vtadev_submitted(const struct vtadev_queue *queue);

/**
 * vtadev_completed() - how far the card is
 * @queue: the queue
 * @seq: out: descriptors completed
 *
 * Makes no system call, as long as the queue runs or has halted. A reset clears the
 * buffers: what was read of them before this call is what the card wrote if this
 * returns 0. Errors: -EPROTO, -ENODEV.
 */
int vtadev_completed(struct vtadev_queue *queue, uint64_t *seq);

/**
 * vtadev_done() - whether a descriptor has completed
 * @queue: the queue
 * @seq: its number
 *
 * Makes no system call. Returns 1 if it has, 0 if not yet. Errors: -EINVAL
 * (@seq has not been submitted), -EIO (the queue halted before it), -EPROTO,
 * -ENODEV.
 */
int vtadev_done(struct vtadev_queue *queue, uint64_t seq);

/**
 * vtadev_wait() - wait until a descriptor, and all before it, has completed
 * @queue: the queue
 * @seq: its number
 * @timeout_ns: nanoseconds; 0 only looks; negative: as long as it takes
 *
 * Looks, spins for a moment (see vtadev_queue_opts), then sleeps. What is there at
 * once or within the spin costs no system call and no interrupt; else the card
 * interrupts once and wakes this thread. Goes on after signals: vtadev_wait_any()
 * can be cancelled. After -ETIMEDOUT the descriptor goes on, too: wait again or destroy
 * the queue.
 *
 * Errors: -EINVAL (@seq has not been submitted), -ETIMEDOUT, -EIO (the queue
 * halted before it), -ENOMEM (1,024 wait for the queue already), -EPROTO, -ENODEV.
 */
int vtadev_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns);

/* vtadev_sync() - vtadev_wait() for all that has been submitted so far */
int vtadev_sync(struct vtadev_queue *queue, int64_t timeout_ns);

/* A number of a queue. */
struct vtadev_fence {
	struct vtadev_queue *queue;
	uint64_t seq;
};

#define VTADEV_FENCES_MAX	VTA_FENCES_MAX

/**
 * vtadev_wait_any() - wait until any of several descriptors has completed
 * @fences: their queues, of any cards, and numbers
 * @n: how many, 1 to VTADEV_FENCES_MAX
 * @timeout_ns: as for vtadev_wait()
 * @cancel_fd: an eventfd that ends the wait, or -1
 * @index: out: the first that has completed, or the one that an error is of, if
 *         it is of one, else 0; NULL is allowed
 *
 * As vtadev_wait(): spins if one of them is expected soon, then sleeps, and is woken once.
 * Writing to @cancel_fd (see eventfd(2)), before or meanwhile, from a thread or a signal handler,
 * ends the wait if none has completed. The wait does not read @cancel_fd, so it ends all waits
 * that have it until the program reads it. The queues continue as after a time-out.
 *
 * Errors: as vtadev_wait() for any of them if none has completed; -ECANCELED;
 * -EBADF and -EINVAL also for @cancel_fd; -ENOMEM.
 */
int vtadev_wait_any(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index);

/**
 * vtadev_wait_all() - wait until all of several descriptors have completed
 * @fences: their queues, of any cards, and numbers
 * @n: how many, 1 to VTADEV_FENCES_MAX
 * @timeout_ns: as for vtadev_wait()
 * @cancel_fd: an eventfd that ends the wait, or -1
 * @index: out: the one that an error is of, if it is of one, else 0; NULL is
 *         allowed
 *
 * As vtadev_wait_any(). The first error ends the wait.
 */
int vtadev_wait_all(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index);

/**
 * vtadev_read_after() - copy a result out of a buffer once it is there
 * @queue: the queue
 * @seq: number of the descriptor that writes it, or a later one
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: where to
 * @len: bytes, any number, 0 too
 *
 * Waits for @seq alone and not for what was submitted after it. Errors: as
 * vtadev_wait() and vtadev_buf_read(); after an error the bytes at @dst mean
 * nothing. -ENODEV also says that the card was lost after @seq had completed and
 * before the bytes were read: a reset clears the buffers.
 */
int vtadev_read_after(struct vtadev_queue *queue, uint64_t seq, struct vtadev_buf *buf,
		      size_t offset, void *dst, size_t len);

/**
 * vtadev_arm() - have poll() tell when a descriptor has completed
 * @queue: the queue
 * @seq: its number
 *
 * Returns 0 if POLLIN will come up on vtadev_fd() when it has, and stay until
 * this or vtadev_wait() is called for the queue and succeeds; 1 if it has
 * already, and no event will come. One number for each queue; arming again
 * replaces it. Errors: as vtadev_wait().
 */
int vtadev_arm(struct vtadev_queue *queue, uint64_t seq);

/**
 * vtadev_queue_eventfd() - have a queue tell an eventfd and not poll()
 * @queue: the queue
 * @fd: the eventfd, in place of the one before; -1: none
 *
 * 1 is added to it, once, when the number given to vtadev_arm() has completed;
 * when the queue halts, or at once if it has; and when it is destroyed or the card
 * lost. vtadev_fd() does not say POLLIN for this queue then. Each tells that it
 * pays to look. The queue keeps the eventfd, even if @fd is closed. One eventfd
 * may be given to several queues.
 *
 * Errors: -EINVAL (also a file that is not an eventfd), -EBADF, -ENODEV.
 */
int vtadev_queue_eventfd(struct vtadev_queue *queue, int fd);

/* ---- Copies -------------------------------------------------------------- */

/**
 * struct vtadev_rows - where rows of bytes are
 * @buf: in which buffer
 * @offset: of the first row, in bytes
 * @pitch: bytes from the start of a row to that of the next; with one row
 *         anything
 */
struct vtadev_rows {
	struct vtadev_buf *buf;
	size_t offset;
	size_t pitch;
};

/**
 * vtadev_copy2d() - have the card copy rows from buffer to buffer
 * @queue: the queue
 * @dst: where to; the pitch is at least @width
 * @src: where from; any pitch, 0 too
 * @width: bytes of a row
 * @rows: how many; with @width or @rows 0 nothing is copied
 * @seq: out: its sequence number; NULL is allowed
 *
 * One descriptor, as of vtadev_submit(): it comes after what was submitted
 * before, has happened when @seq has completed, and the buffers must live until
 * then. Not checked is whether different buffers have the same memory.
 *
 * Errors: -EINVAL (@dst's pitch, a buffer of another struct vtadev, or rows that
 * overlap in one buffer; with different pitches, those that lie between each
 * other too), -ERANGE, -EACCES (@dst is VTADEV_READONLY), and those of
 * vtadev_submit().
 */
int vtadev_copy2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  const struct vtadev_rows *src, size_t width, size_t rows,
		  uint64_t *seq);

/* vtadev_copy() - the same with @len bytes in one piece */
static inline int vtadev_copy(struct vtadev_queue *queue,
			      struct vtadev_buf *dst, size_t dst_offset,
			      struct vtadev_buf *src, size_t src_offset,
			      size_t len, uint64_t *seq)
{
	struct vtadev_rows to = { dst, dst_offset, 0 };
	struct vtadev_rows from = { src, src_offset, 0 };

	return vtadev_copy2d(queue, &to, &from, len, 1, seq);
}

/**
 * vtadev_fill2d() - have the card fill rows of a buffer
 * @queue: the queue
 * @dst: where; the pitch is at least @width
 * @pattern: each row begins with its least significant byte
 * @width: bytes of a row, any number
 * @rows: how many
 * @seq: out: its sequence number; NULL is allowed
 *
 * As vtadev_copy2d().
 */
int vtadev_fill2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  uint32_t pattern, size_t width, size_t rows, uint64_t *seq);

/* vtadev_fill() - the same with @len bytes in one piece */
static inline int vtadev_fill(struct vtadev_queue *queue, struct vtadev_buf *dst,
			      size_t offset, uint32_t pattern, size_t len,
			      uint64_t *seq)
{
	struct vtadev_rows to = { dst, offset, 0 };

	return vtadev_fill2d(queue, &to, pattern, len, 1, seq);
}

/**
 * vtadev_upload() - copy from the program's memory to a buffer, now
 * @queue: a queue of the same struct vtadev
 * @buf: the buffer
 * @offset: bytes from its start
 * @src: any memory of the program that is not @buf's
 * @len: bytes, any number, 0 too
 *
 * Waits, as long as it takes, for what was submitted to @queue before, then
 * copies: with the CPU, or with the card straight from @src, pinned for that
 * long, if it is at least vtadev_queue_opts.copy_min. What cannot be pinned is
 * copied by the CPU. Submits to @queue: one thread at a time.
 *
 * Errors: -EINVAL (@buf is of another struct vtadev), -ERANGE, those of
 * vtadev_wait() but -ETIMEDOUT, and those of vtadev_buf_write(). But for the
 * first two, part of it may have been copied. In a shared queue that another
 * thread recovers meanwhile, it may be part without an error: see vtadev_recover().
 */
int vtadev_upload(struct vtadev_queue *queue, struct vtadev_buf *buf,
		  size_t offset, const void *src, size_t len);

/**
 * vtadev_download() - copy from a buffer to the program's memory, now
 * @queue: a queue of the same struct vtadev
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: any memory of the program that is not @buf's
 * @len: bytes, any number, 0 too
 *
 * As vtadev_upload(), the other way. After an error the bytes at @dst mean nothing.
 */
int vtadev_download(struct vtadev_queue *queue, struct vtadev_buf *buf,
		    size_t offset, void *dst, size_t len);

/* ---- Faults -------------------------------------------------------------- */

/**
 * struct vtadev_fault - why a queue halted
 * @reason: what was wrong; VTA_FAULT_NONE: it has not halted
 * @access: what the access that failed was for
 * @seq: number of the descriptor
 * @addr: device address of that access, if it was one
 * @insn_index: instruction in its stream, or VTA_FAULT_NO_INSN
 * @insn: that instruction, low word first
 * @queue: the number of the card's queue, from 0
 * @time: card time, ns
 */
struct vtadev_fault {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint64_t seq;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
	uint32_t queue;
	uint64_t time;
};

/**
 * vtadev_fault() - why a queue halted
 * @queue: the queue
 * @fault: out: why
 *
 * A halted queue stays so until vtadev_recover(). Buffers and other queues are
 * not touched. Errors: -ENODEV.
 */
int vtadev_fault(struct vtadev_queue *queue, struct vtadev_fault *fault);

/**
 * vtadev_recover() - have a halted queue go on
 * @queue: the queue
 *
 * Call it as a submitting thread does. The descriptor that faulted counts as
 * completed, though it is not, and what was submitted behind it is forgotten:
 * vtadev_completed() and vtadev_submitted() are its number, or that of the last
 * descriptor that completed if none faulted (VTA_FAULT_DOORBELL). The next one
 * submitted has the number after that. A wait for a later number then returns -EINVAL, or waits
 * for the new descriptor with that number. That goes for a vtadev_upload() or vtadev_download()
 * of another thread in a shared queue, too: one that was under way may return 0 though bytes are
 * missing. Recover such a queue when there is none.
 *
 * A user whose queues fault too often waits here, and in vtadev_queue_create()
 * (the module's parameter max_user_faults). Errors: -EBUSY (it has not halted),
 * -ENODEV.
 */
int vtadev_recover(struct vtadev_queue *queue);

/* Enough for every text of vtadev_fault_text(). */
#define VTADEV_FAULT_TEXT_MAX	256

/**
 * vtadev_fault_text() - say a fault in a sentence
 * @fault: the fault
 * @text: out: the sentence, cut off if it does not fit, always ended by 0
 * @size: bytes at @text
 *
 * Returns the length of the whole sentence, as snprintf() does.
 */
int vtadev_fault_text(const struct vtadev_fault *fault, char *text, size_t size);

/**
 * struct vtadev_lost - why an open card was lost
 * @fate: VTA_FATE_*, the state of the card: VTA_FATE_RESET (it works after a new
 *        open), VTA_FATE_GIVEN_UP (it does not), VTA_FATE_REMOVED (it has no driver
 *        any more), VTA_FATE_PENDING (not known yet), VTA_FATE_NONE (it was not
 *        lost). Later drivers may have more
 * @cause: VTA_CAUSE_*, what took it away: the card's own failure, an administrator,
 *         an error on the bus, the machine's sleep ... Later drivers may have more
 */
struct vtadev_lost {
	enum vta_fate fate;
	enum vta_cause cause;
};

/**
 * vtadev_lost() - why calls return -ENODEV
 * @dev: the card
 * @lost: out: why
 *
 * Waits for a reset to be over, for seconds at most. What it says of @dev does not
 * change any more once the card is lost, but from VTA_FATE_PENDING. Errors:
 * -EOPNOTSUPP (the driver is older than this and does not tell).
 */
int vtadev_lost(struct vtadev *dev, struct vtadev_lost *lost);

/* Enough for every text of vtadev_lost_text(). */
#define VTADEV_LOST_TEXT_MAX	192

/**
 * vtadev_lost_text() - say why a card was lost, and what to do about it
 * @lost: why
 * @text: out: the sentence, cut off if it does not fit, always ended by 0
 * @size: bytes at @text
 *
 * "WHY; WHAT TO DO", with no semicolon in WHY. Returns the length of the whole sentence, as
 * snprintf() does.
 */
int vtadev_lost_text(const struct vtadev_lost *lost, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_H */
