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
 *	-EINVAL		an invalid argument (each function documents its arguments)
 *	-ENOENT		no such card, or the queue was destroyed meanwhile; a dma-buf's
 *			card memory was lost in a reset
 *	-EACCES		no permission to open the card's node; a write to read-only
 *			memory
 *	-EPERM		a capability is missing (priority of struct vtadev_queue_opts)
 *	-EFAULT		no memory is mapped at that address of the program, or it
 *			cannot be pinned
 *	-EBADF		not an open file descriptor
 *	-EMFILE		too many files are open
 *	-ENOMEM		no host memory, RLIMIT_MEMLOCK is reached, or the queue
 *			already has 1,024 waits
 *	-ENOSPC		no card memory, context or queue of the card is free, or no
 *			device addresses of this context
 *	-EDQUOT		the user's limit of card memory, host memory, queues or open
 *			cards is reached
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
 *	-ENODEV		the card was reset or is gone: vtadev_lost() returns which and
 *			why; free everything, close, and open again
 *	-ECHILD		the card was opened before fork(), by the parent process
 *	-ENOTTY		the file is not a VTA card
 *	-ELIBACC	the device's plugin is not installed: vtadev_open_text() names
 *			its package
 *	-ELIBBAD	the device's plugin cannot be loaded
 *
 * THREADS. There is no global state, except for a trace if the environment variable
 * VTADEV_TRACE is set (docs/operating.md). Several threads may call functions of one struct
 * vtadev or struct vtadev_buf at once, except for functions that free their argument: no other
 * thread may use the argument during such a call or after it. Only one thread at a time may
 * submit to a queue (vtadev_submit() and its variants, vtadev_kick(), copies, fills,
 * vtadev_upload(), vtadev_download(), vtadev_recover()). Meanwhile, other threads may wait for
 * the queue, query it, and read its fault. A program with several submitting threads gives each
 * thread its own queue, which needs no lock, or creates one queue with VTADEV_QUEUE_SHARED.
 *
 * FORK. A child process cannot use its parent's handles: it must open the card itself. In the
 * child, functions that free or close a handle of the parent's free the child's copy alone; those
 * that return no error do nothing, or return what they know; all others return -ECHILD. Nothing of
 * this affects the parent. Memory that the parent pinned stays the parent's. The card keeps the
 * parent's memory, queues and context until the child, too, has ended or called execve(2). Children
 * are known by pthread_atfork(3): those of _Fork(3), clone(2) and vfork(2) must not call this
 * library.
 *
 * BLOCKING. vtadev_wait() and its variants, vtadev_sync(), vtadev_submit_wait(), vtadev_upload()
 * and vtadev_download() sleep until the card has completed the work; so does submitting to a
 * full queue with VTADEV_QUEUE_BLOCK, until the ring has room. Functions that open, create,
 * allocate, pin, import, export, map, recover, destroy, free and close make system calls, which may
 * wait for memory, or for the card (about 100 ms at most). So do the first vtadev_buf_read()
 * or vtadev_buf_write() of a buffer, which map the buffer, and each one of an imported buffer. If
 * the user's queues fault too often (module parameter max_user_faults), vtadev_recover() and
 * vtadev_queue_create() sleep until the rate is within the limit. vtadev_lost() waits for a reset
 * to end. All other functions return at once, except that a call on a shared queue may wait for
 * the queue's lock, which vtadev_recover() holds.
 *
 * DEVICE ADDRESSES are 32 bits, belong to one struct vtadev (one context of the
 * card), and are translated by the card. Whatever a program submits, the card accesses only that
 * program's buffers.
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

/* vtadev_version() - version of the library in use; VTADEV_VERSION is that of this header */
const char *vtadev_version(void);

/**
 * vtadev_strerror() - what an error means and what to do about it
 * @err: a return value of this library, or a positive errno
 *
 * Returns a text without a full stop or newline, never NULL; do not free it. For an errno that is
 * not listed above it is the text of strerror(3).
 */
const char *vtadev_strerror(int err);

/* ---- Cards --------------------------------------------------------------- */

/**
 * struct vtadev_card - names of a card
 * @index: the N of vtaN; UINT_MAX if sysfs has no entry for the card
 * @node: path of the device node, for example "/dev/vta0"
 * @pci: PCI address, for example "0000:01:00.0"; empty if sysfs has no entry for the card
 */
struct vtadev_card {
	unsigned int index;
	char node[64];
	char pci[16];
};

/**
 * vtadev_list() - list the cards that the driver is bound to
 * @cards: out: an array by rising index; free with vtadev_list_free(), also
 *         when it is empty
 *
 * Needs no permission to open the cards. If /dev has the nodes of some cards only, as in a
 * container, these are listed. Returns the number of cards, -ENOENT if /sys is not mounted, or
 * -ENOMEM.
 */
int vtadev_list(struct vtadev_card **cards);

/**
 * vtadev_list_all() - list the cards that the driver is bound to, and the devices of plugins
 * @cards: out: an array, cards first; free with vtadev_list_free(), also when it is empty
 *
 * For a plugin's device (docs/devices.md), @node is its name, for example "soft", @index is
 * UINT_MAX and @pci is empty. The call loads all installed plugins and leaves out those that
 * cannot be loaded. Returns the number of entries, or -ENOMEM.
 */
int vtadev_list_all(struct vtadev_card **cards);

/* vtadev_list_free() - free an array of vtadev_list() or vtadev_list_all(), or NULL */
void vtadev_list_free(struct vtadev_card *cards);

/**
 * vtadev_find() - find one card
 * @which: an index ("0"), a name ("vta0"), a path with a slash to the card's node ("/dev/vta0",
 *         or a symbolic link), a PCI address ("0000:01:00.0", "01:00.0"), or a plugin's device
 *         ("soft", "soft:vta_config.json"; docs/devices.md). NULL or "": the value of the
 *         environment variable VTADEV_DEVICE; if it is not set or empty, the lowest index of the
 *         cards that the caller may open, else of those whose node exists, else of all
 * @card: out: the card
 *
 * Needs no permission to open the card. A setuid program ignores the environment variable.
 * Errors: -EINVAL (another form of name), -ENOENT, -ENOTTY (the path is not a card's),
 * -ELIBACC (the plugin is not installed), -ELIBBAD (the plugin cannot be loaded), -ENOMEM, and
 * the errors of stat(2) for a path.
 */
int vtadev_find(const char *which, struct vtadev_card *card);

/* An open card: a context of its own, with its own device addresses. */
struct vtadev;

/**
 * vtadev_open() - open a card
 * @which: as for vtadev_find(); a path is opened even if sysfs does not have the card
 * @dev: out: the open card
 *
 * Every call makes a new context. Errors: -EINVAL (not a name as for vtadev_find()),
 * -ENOENT, -EACCES, -ENOSPC (all contexts are in use), -EDQUOT, -ENOMEM, -ENODEV
 * (the card is in reset or being removed), -ENOTTY, -EPROTO (the card's configuration is not
 * valid), -ELIBACC and -ELIBBAD (see vtadev_find()), other errors of open(2), and those of a
 * plugin for its arguments.
 */
int vtadev_open(const char *which, struct vtadev **dev);

/* Bytes for any text of vtadev_open_text(), with its 0. */
#define VTADEV_OPEN_TEXT_MAX	256

/**
 * vtadev_open_text() - describe in a sentence why a card or device cannot be opened
 * @which: as for vtadev_find()
 * @text: out: the sentence, truncated to @size bytes with its 0
 * @size: bytes at @text
 *
 * Opens the card or device and closes it again. The sentence is more specific than that of
 * vtadev_strerror(): it has the command that helps, such as loading the driver or joining the
 * node's group, the package of a missing plugin, or the wrong field of a configuration. It names
 * VTADEV_DEVICE if that was used, but not @which. Returns the length of the whole sentence, as
 * snprintf() does.
 */
int vtadev_open_text(const char *which, char *text, size_t size);

/**
 * vtadev_close() - close a card
 * @dev: the card, or NULL
 *
 * Buffers and queues may outlive @dev: the context exists until the last of them is freed, too.
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

#define VTADEV_FEATURE_COUNTERS	0x1ull	/* the card has the counters of vtadev_counters() */

/**
 * struct vtadev_info - properties of a card
 * @card: names of the card
 * @contract_major: major version of docs/hardware.md that the card implements
 * @contract_minor: minor version of the same
 * @features: VTADEV_FEATURE_*
 * @serial: serial number
 * @mem_size: bytes of memory on the card; 0: none, and VTADEV_CARD means host memory
 * @queues: queues of the card, for all users together
 * @contexts: contexts of the card, for all users together
 * @ring_entries_max: the longest ring, in descriptors
 * @clock_khz: frequency in kHz of the engines' clock, the unit of all cycle counts
 * @vectors: interrupt vectors in use
 * @hw_ver_major: major version of the VTA core
 * @hw_ver_minor: minor version of the same
 * @hw_ver_patch: patch level of the same
 *
 * The core's configuration, by the names of vta_config.json (docs/isa.md, section 1):
 * @log_inp_width: log2 of the bits of an input (and output) value
 * @log_wgt_width: log2 of the bits of a weight
 * @log_acc_width: log2 of the bits of an accumulator
 * @log_batch: log2 of @batch
 * @log_block: log2 of @block
 * @log_uop_buff_size: log2 of the bytes of the micro-op scratchpad
 * @log_inp_buff_size: log2 of the bytes of the input scratchpad
 * @log_wgt_buff_size: log2 of the bytes of the weight scratchpad
 * @log_acc_buff_size: log2 of the bytes of the accumulator scratchpad
 *
 * Values derived from the configuration. Instructions count memory in elements, which are
 * matrices of values (docs/isa.md, section 1).
 * @batch: rows of an input element
 * @block: columns of an input element; a weight element is @block x @block
 * @inp_bytes: bytes of an input element (DRAM and scratchpad)
 * @wgt_bytes: bytes of a weight element
 * @acc_bytes: bytes of an accumulator element
 * @out_bytes: bytes of an output element: STORE writes input-wide values
 * @elem_bytes_max: the largest of these four; a device address that is a multiple of it is a
 *                  multiple of every kind of element
 * @uop_depth: micro-ops that the micro-op scratchpad holds
 * @inp_depth: elements that the input scratchpad holds
 * @wgt_depth: elements that the weight scratchpad holds
 * @acc_depth: elements that the accumulator scratchpad holds
 * @log_uop_depth: log2 of @uop_depth; these four are widths of instruction and micro-op fields
 * @log_inp_depth: log2 of @inp_depth
 * @log_wgt_depth: log2 of @wgt_depth
 * @log_acc_depth: log2 of @acc_depth
 * @save_size: additional bytes of host memory of a queue with VTADEV_QUEUE_KEEP; 0: the card does
 *             not keep state, and such a queue cannot be created
 * @log_tokens: log2 of the tokens that a token queue of the core holds (docs/isa.md, section 3)
 * @log_waiting: log2 of the fetched instructions that wait to begin
 * @cores: RUNs that are executed side by side, each of another queue: 1 on a card
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
	uint8_t log_tokens, log_waiting;
	uint32_t cores;
};

/* vtadev_info() - properties of @dev; constant, and valid as long as @dev */
const struct vtadev_info *vtadev_info(const struct vtadev *dev);

/**
 * vtadev_tvm_fields() - whether TVM's header lays out instructions as the card reads them
 * @log_uop_depth: of struct vtadev_info
 * @log_acc_depth: of struct vtadev_info
 *
 * TVM's hw_spec.h declares GEMM and ALU with bit-fields. The field that docs/isa.md, sections 5
 * and 6, places at the start of the second 64-bit word is placed by C compilers into the first
 * word, if it fits there.
 *
 * Returns 1 if both layouts are the same with this configuration, and 0 if they differ: programs
 * that were compiled with that header do not run on the card then.
 */
static inline int vtadev_tvm_fields(unsigned int log_uop_depth, unsigned int log_acc_depth)
{
	/* Opcode and tokens, reset, begin and end of the micro-ops, two counts of 14 bits. */
	return 7 + 1 + log_uop_depth + log_uop_depth + 1 + 14 + 14 + log_acc_depth > 64;
}

/**
 * vtadev_mem_free() - how much card memory is free at this moment
 * @dev: the card
 * @bytes: out: free bytes, contiguous or not
 *
 * Errors: -ENODEV.
 */
int vtadev_mem_free(struct vtadev *dev, uint64_t *bytes);

/**
 * struct vtadev_counters - the card's debug counters (docs/hardware.md, 12)
 * @mmio_reads: register reads
 * @mmio_writes: register writes
 * @bad_accesses: reads and writes that hardware.md, sections 2 and 6, calls bad
 * @doorbells: writes that are effective doorbells
 * @arms: writes to ARM of active queues: requests for an interrupt
 * @interrupts: interrupts sent
 * @dma_read_bytes: bytes of host memory read
 * @dma_write_bytes: bytes of host memory written
 * @mem_read_bytes: bytes of card memory read by the engines
 * @mem_write_bytes: bytes of card memory written by the engines
 * @page_walks: address translations that read a page table
 * @tlb_hits: address translations that the TLB answered
 * @tlb_invalidations: commands to invalidate translations
 * @descriptors: completed descriptors
 * @runs: completed RUNs
 * @copies: completed COPYs
 * @fills: completed FILLs
 * @copy_bytes: bytes moved by COPY and FILL
 * @insns: instructions executed
 * @compute_cycles: cycles in which the compute engine was busy
 * @copy_cycles: cycles in which the copy engine was busy
 * @gemm_uops: micro-operations of GEMM instructions
 * @alu_uops: micro-operations of ALU instructions
 * @context_switches: RUNs that found the core's state of another owner: another context, or
 *                    another queue with VTADEV_QUEUE_KEEP
 * @faults: queues halted
 * @resets: soft resets of the card
 * @state_saves: saves of the core's state for queues with VTADEV_QUEUE_KEEP
 * @state_restores: restores of such a state
 * @state_cycles: cycles of these saves and restores
 *
 * The counters cover all users of the card together, since the card's last function-level reset
 * or power-on. Take the difference of two readings. Cycles are accounts by docs/isa.md, section 9.
 * This structure does not grow: vtadev_counter() also reads counters that were added later.
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
 * Reads a sysfs file for each counter: call it before and after the work to measure, not during
 * it. Errors: -EOPNOTSUPP (the card has no counters), -EACCES, -EPROTO, -ENODEV.
 */
int vtadev_counters(struct vtadev *dev, struct vtadev_counters *counters);

/**
 * vtadev_counter() - read one of the card's debug counters
 * @dev: the card
 * @name: its name in struct vtadev_counters, or "compute_clocks" or "copy_clocks": clocks for which
 *        the engines have executed descriptors, which cycles are an account of
 * @value: out: the counter
 *
 * Errors: -ENOENT (no counter has this name), -EOPNOTSUPP (the card does not have it; clocks are
 * counted by cards of contract 2.1), -EACCES, -EPROTO, -ENODEV.
 */
int vtadev_counter(struct vtadev *dev, const char *name, uint64_t *value);

/* ---- Buffers ------------------------------------------------------------- */

/*
 * Memory that the card and the CPU access: allocated, pinned memory of the program, or an imported
 * dma-buf. Functions accept all three kinds, with the exceptions that their comments name.
 */
struct vtadev_buf;

/* Memory of a buffer; one of them ... */
#define VTADEV_HOST		VTA_BUF_HOST	/* host memory, cached */
#define VTADEV_CARD		VTA_BUF_CARD	/* the card's own memory, or host memory without */
/* ... or-ed with: */
#define VTADEV_READONLY		VTA_BUF_READONLY /* the card cannot write it */

/**
 * vtadev_buf_alloc() - allocate memory, filled with zeros
 * @dev: the card
 * @size: bytes, more than 0 and less than 4 GiB
 * @flags: VTADEV_HOST or VTADEV_CARD, and VTADEV_READONLY if wanted
 * @buf: out: the buffer
 *
 * Card memory is fast for the card and slow for the CPU to read: use
 * vtadev_upload() and vtadev_download(), or copies. Errors: -EINVAL, -ENOMEM,
 * -ENOSPC, -EDQUOT, -EOPNOTSUPP, -ENODEV.
 */
int vtadev_buf_alloc(struct vtadev *dev, size_t size, unsigned int flags,
		     struct vtadev_buf **buf);

/**
 * vtadev_buf_alloc_at() - allocate memory with a chosen device address or alignment
 * @dev: the card
 * @size: as for vtadev_buf_alloc()
 * @flags: as for vtadev_buf_alloc()
 * @align: alignment of the device address, a power of two up to 1 GiB; or 0 for the CPU's page
 *         size, the least alignment in any case
 * @addr: the device address, a multiple of the CPU's page size and of @align; or 0 for any
 * @buf: out: the buffer
 *
 * Errors: as vtadev_buf_alloc(), and -EEXIST.
 */
int vtadev_buf_alloc_at(struct vtadev *dev, size_t size, unsigned int flags,
			size_t align, uint32_t addr, struct vtadev_buf **buf);

/**
 * vtadev_buf_pin() - make memory of the program a buffer, without a copy
 * @dev: the card
 * @ptr: start of the memory, any address: heap, stack, a mapped file, huge pages
 * @size: bytes, more than 0 and less than 4 GiB
 * @flags: 0, or VTADEV_READONLY; without it the program must have write access to
 *         the memory
 * @buf: out: the buffer
 *
 * The pages stay in memory and count against RLIMIT_MEMLOCK until the buffer is
 * freed. Free the buffer before the memory: after munmap(2) or free(3) the card continues to
 * access the old pages, even if other memory is mapped at @ptr. The card can access all bytes of
 * the first and the last page. Errors: -EINVAL, -EFAULT (also memory
 * that cannot be pinned), -EACCES, -ENOMEM, -ENOSPC, -EDQUOT, -EOPNOTSUPP (also a shared mapping
 * of a file on a disk without VTADEV_READONLY), -ENODEV.
 */
int vtadev_buf_pin(struct vtadev *dev, void *ptr, size_t size, unsigned int flags,
		   struct vtadev_buf **buf);

/**
 * vtadev_buf_export() - export a buffer as a dma-buf
 * @buf: an allocated buffer
 * @flags: 0, or VTADEV_READONLY: importers may only read the memory
 * @fd: out: a close-on-exec file descriptor, which the caller closes
 *
 * The memory exists until the buffer is freed and the last reference to the dma-buf is gone. Only
 * contexts of the same card can import card memory. Errors: -EINVAL,
 * -EACCES (@buf is VTADEV_READONLY and @flags is not), -ENOMEM, -EMFILE,
 * -EOPNOTSUPP (a pinned or imported buffer), -ENODEV.
 */
int vtadev_buf_export(struct vtadev_buf *buf, unsigned int flags, int *fd);

/**
 * vtadev_buf_import() - import a dma-buf as a buffer
 * @dev: the card
 * @fd: file descriptor of a dma-buf, exported by a card or any other device; the caller keeps it
 *      and may close it after this call
 * @flags: 0, or VTADEV_READONLY; without it the dma-buf must be writable
 * @buf: out: the buffer
 *
 * Waits for the present accesses of other devices, as vtadev_buf_wait() without a time-out.
 *
 * Errors: -EINVAL (also a file that is not a dma-buf), -EBADF, -EACCES, -EMFILE,
 * -ENOENT (card memory that was lost in a reset), -ENOMEM, -ENOSPC, -EDQUOT,
 * -EOPNOTSUPP (card memory of another card, or memory that the card cannot reach),
 * -ENODEV.
 */
int vtadev_buf_import(struct vtadev *dev, int fd, unsigned int flags,
		      struct vtadev_buf **buf);

/**
 * vtadev_buf_import_at() - import a dma-buf with a chosen device address or alignment
 * @dev: the card
 * @fd: as for vtadev_buf_import()
 * @flags: as for vtadev_buf_import()
 * @align: as for vtadev_buf_alloc_at()
 * @addr: as for vtadev_buf_alloc_at()
 * @buf: out: the buffer
 *
 * Errors: as vtadev_buf_import(), and -EEXIST.
 */
int vtadev_buf_import_at(struct vtadev *dev, int fd, unsigned int flags,
			 size_t align, uint32_t addr, struct vtadev_buf **buf);

/**
 * vtadev_buf_wait() - wait until other devices have finished with an imported buffer
 * @buf: the buffer; if it was not imported, the call returns 0 at once
 * @flags: 0, or VTADEV_READONLY: the card will only read it, so that the call waits for other
 *         devices' writes alone
 * @timeout_ns: as for vtadev_wait()
 *
 * Drivers of other devices attach fences to a dma-buf while their devices read or write it.
 * Descriptors do not wait for fences. The library does when it imports a buffer, and in
 * vtadev_upload(), vtadev_download(), vtadev_buf_read() and vtadev_buf_write(). If another device
 * has received work with the buffer since then, call this before submitting descriptors that use
 * the buffer. Fences that are attached during or after the call are not waited for (before Linux
 * 6.0, those attached during the call are).
 *
 * VTA cards have no fences: the call does not wait for queues of this or another process. Wait
 * for the queue before giving the buffer to another device.
 *
 * Errors: -EINVAL, -ETIMEDOUT, -ENOMEM, -EMFILE.
 */
int vtadev_buf_wait(struct vtadev_buf *buf, unsigned int flags, int64_t timeout_ns);

/**
 * vtadev_buf_free() - free a buffer and its CPU mapping
 * @buf: the buffer, or NULL
 *
 * After this the card cannot access the buffer: a descriptor that still
 * uses it faults. Pinned memory stays the program's, and a dma-buf exists until its last
 * reference is gone.
 */
void vtadev_buf_free(struct vtadev_buf *buf);

/* vtadev_buf_addr() - the device address of the first byte of @buf */
uint32_t vtadev_buf_addr(const struct vtadev_buf *buf);

/* vtadev_buf_size() - bytes of @buf, as requested, or of the imported dma-buf */
size_t vtadev_buf_size(const struct vtadev_buf *buf);

/**
 * vtadev_buf_map() - map a buffer for the CPU
 * @buf: the buffer
 * @ptr: out: address of vtadev_buf_size() bytes, readable and writable (of a
 *       dma-buf that was exported read-only: readable)
 *
 * The mapping is made once and exists until the buffer is freed; later calls
 * return the same @ptr and make no system call. For pinned memory, @ptr is the pinned address.
 * Card memory is mapped write-combined: write it in order and in large pieces,
 * avoid reading it; vtadev_submit() flushes the writes of its own thread. The card's
 * results may be read once vtadev_wait(), vtadev_done() or vtadev_completed()
 * has reported the descriptor as complete. Enclose accesses to a dma-buf of another device in
 * DMA_BUF_IOCTL_SYNC calls on its file descriptor, as the kernel's documentation of dma-buf says.
 *
 * Errors: -ENOMEM, -ENODEV, -EOPNOTSUPP (card memory of a device that the CPU cannot
 * access: docs/devices.md), and for a dma-buf other errors of mmap(2).
 */
int vtadev_buf_map(struct vtadev_buf *buf, void **ptr);

/**
 * vtadev_buf_write() - copy into a buffer with the CPU
 * @buf: the buffer
 * @offset: bytes from its start
 * @src: source
 * @len: bytes, 0 or more
 *
 * Does not wait for queues: descriptors that use these bytes must have completed.
 * Maps @buf if it is not mapped; encloses the copy in DMA_BUF_IOCTL_SYNC calls if it is an imported
 * dma-buf. Descriptors that any thread submits after this call see the written bytes. Errors:
 * -ERANGE (nothing was written), -EACCES (a read-only dma-buf), and those of
 * vtadev_buf_map().
 */
int vtadev_buf_write(struct vtadev_buf *buf, size_t offset, const void *src,
		     size_t len);

/**
 * vtadev_buf_read() - copy out of a buffer with the CPU
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: destination
 * @len: bytes, 0 or more
 *
 * Does not wait for queues. Errors: -ERANGE, and those of vtadev_buf_map().
 */
int vtadev_buf_read(struct vtadev_buf *buf, size_t offset, void *dst,
		    size_t len);

/* ---- Queues -------------------------------------------------------------- */

/* A ring of descriptors that the card executes in order. */
struct vtadev_queue;

#define VTADEV_RING_ENTRIES_DEFAULT	256
#define VTADEV_SPIN_NS_DEFAULT		10000

/*
 * Bytes from which on vtadev_upload() and vtadev_download() pin the program's memory and have the
 * card copy. docs/memory.md has the measurement, and when to choose another threshold.
 */
#define VTADEV_COPY_MIN_DEFAULT		((size_t)512 << 10)

/**
 * struct vtadev_queue_opts - options of a queue; all zero: the defaults
 * @ring_entries: length of the ring in descriptors, the most that can be outstanding: a power of
 *                two up to vtadev_info.ring_entries_max; 0: 256, or that maximum if it is less
 * @priority: 0 (least) to 3, among the queues of the same user: a queue of priority p
 *            gets up to 2^p descriptors in its turn. More than 0 needs CAP_SYS_NICE
 * @max_cycles: limit in cycles of each RUN, copy and fill of the queue; 0: only the
 *              driver's time limit (module parameter max_job_ms) applies
 * @spin_ns: nanoseconds that a wait spins at most before it sleeps (below);
 *           0: VTADEV_SPIN_NS_DEFAULT; negative: a wait does not spin
 * @flags: VTADEV_QUEUE_*
 * @copy_min: bytes from which on vtadev_upload() and vtadev_download() have
 *            the card copy; 0: VTADEV_COPY_MIN_DEFAULT; SIZE_MAX: the CPU always copies
 *
 * A spinning wait notices the completion at once and needs no interrupt, but occupies the CPU. A
 * wait therefore spins only if the completion is expected within @spin_ns, and otherwise sleeps
 * right away. The expected time is the queue's estimate of the time of one descriptor, multiplied
 * by the number of outstanding ones. Each wait that did not return at once measures this time:
 * the lesser of its own duration and of the card's time from the last completion before the wait to
 * the last one in it, divided by the descriptors completed in the wait. A shorter time replaces
 * the estimate; of a longer time, an eighth of the difference is added. Of the waits that would
 * sleep right away, every 16th spins nevertheless, to notice when jobs have become short.
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
 * Several threads may submit at the same time. Each call takes the queue's lock, which makes
 * a system call only if another thread holds the lock. The sequence numbers of one call are
 * consecutive. Without this flag there is no lock.
 */
#define VTADEV_QUEUE_SHARED	0x1u
/*
 * When the ring has no room, vtadev_submit(), copies and fills wait for room without a time-out
 * instead of returning -EAGAIN. Their errors are then also those of vtadev_wait().
 */
#define VTADEV_QUEUE_BLOCK	0x2u
/*
 * RUNs of the queue may keep the core's state: see vtadev_desc_keep(). The queue takes
 * vtadev_info.save_size bytes of host memory, charged to the process's memory cgroup.
 */
#define VTADEV_QUEUE_KEEP	0x4u

/**
 * vtadev_queue_create() - make a queue and start it
 * @dev: the card
 * @opts: options, or NULL for the defaults
 * @queue: out: the queue
 *
 * Errors: -EINVAL, -EPERM (a priority above 0 without CAP_SYS_NICE), -ENOSPC (all queues are in
 * use), -EDQUOT, -ENOMEM, -EOPNOTSUPP (the card cannot access this host's memory directly, or does
 * not keep state, with VTADEV_QUEUE_KEEP),
 * -ENODEV.
 */
int vtadev_queue_create(struct vtadev *dev, const struct vtadev_queue_opts *opts,
			struct vtadev_queue **queue);

/**
 * vtadev_queue_destroy() - stop a queue and free it
 * @queue: the queue, or NULL
 *
 * The descriptors that have not completed are aborted at once.
 */
void vtadev_queue_destroy(struct vtadev_queue *queue);

/**
 * vtadev_submit() - submit descriptors to the card
 * @queue: the queue
 * @descs: the descriptors (see vtadev_desc.h), copied
 * @n: number of descriptors, 1 to the length of the ring
 * @seq: out: the sequence number of the last descriptor; NULL is allowed
 *
 * Submits all descriptors or none. Their sequence numbers are consecutive; the first descriptor
 * ever submitted to a queue has number 1. The descriptors see all that the CPU wrote to buffers
 * before the call.
 *
 * Makes no system call, allocates nothing and takes no lock; one write crosses
 * the bus, whatever @n. One thread at a time for each queue. (See
 * VTADEV_QUEUE_SHARED and VTADEV_QUEUE_BLOCK for other queues.)
 *
 * Returns at once, while the card executes the queue's descriptors one after the other. A
 * descriptor in the ring is never overwritten before it has completed. The program waits only for
 * a result (vtadev_wait(), vtadev_read_after(), vtadev_download()), or when the ring is full
 * (vtadev_wait_room(), vtadev_submit_wait(), VTADEV_QUEUE_BLOCK).
 *
 * Errors: -EINVAL (@n), -EAGAIN (less than @n free entries in the ring), -EIO,
 * -EPROTO, -ENODEV. If the card is reset during the call, the call may return 0, and the
 * next one returns -ENODEV.
 */
int vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
		  unsigned int n, uint64_t *seq);

/**
 * vtadev_submit_wait() - submit descriptors, and wait for room in the ring if there is none
 * @queue: the queue
 * @descs: as for vtadev_submit()
 * @n: as for vtadev_submit()
 * @timeout_ns: as for vtadev_wait()
 * @seq: as for vtadev_submit()
 *
 * Waits only until the ring has room for @n descriptors, not until they complete. Errors: as
 * vtadev_submit() and vtadev_wait(), but not -EAGAIN. After an error nothing has been submitted.
 */
int vtadev_submit_wait(struct vtadev_queue *queue, const struct vta_desc *descs,
		       unsigned int n, int64_t timeout_ns, uint64_t *seq);

/**
 * vtadev_wait_room() - wait until the ring has room for descriptors
 * @queue: the queue
 * @n: number of descriptors, 1 to the length of the ring
 * @timeout_ns: as for vtadev_wait()
 *
 * Call it after -EAGAIN. In a shared queue another thread may use the room before the caller
 * submits. Errors: -EINVAL (@n), and as vtadev_wait().
 */
int vtadev_wait_room(struct vtadev_queue *queue, unsigned int n, int64_t timeout_ns);

/**
 * vtadev_kick() - have the card read the word of a WAIT again
 * @queue: the queue
 *
 * Call it after the CPU, and not a SIGNAL, has changed the word that a WAIT
 * descriptor of @queue compares. One thread at a time, as vtadev_submit().
 */
void vtadev_kick(struct vtadev_queue *queue);

/* vtadev_queue_entries() - length of the queue's ring in descriptors */
uint32_t vtadev_queue_entries(const struct vtadev_queue *queue);

/* vtadev_submitted() - sequence number of the last submitted descriptor; 0 if there was none */
uint64_t vtadev_submitted(const struct vtadev_queue *queue);

/**
 * vtadev_completed() - number of completed descriptors
 * @queue: the queue
 * @seq: out: sequence number of the last completed descriptor; 0 if there was none
 *
 * Makes no system call, unless the card was reset or the queue was stopped. A reset clears the
 * buffers: if this call returns 0, data that was read from buffers before it is valid.
 * Errors: -EPROTO, -ENODEV.
 */
int vtadev_completed(struct vtadev_queue *queue, uint64_t *seq);

/**
 * vtadev_done() - whether a descriptor has completed
 * @queue: the queue
 * @seq: its sequence number
 *
 * Makes no system call, as vtadev_completed(). Returns 1 if it has, 0 if not yet. Errors: -EINVAL
 * (@seq has not been submitted), -EIO (the queue halted before it), -EPROTO,
 * -ENODEV.
 */
int vtadev_done(struct vtadev_queue *queue, uint64_t seq);

/**
 * vtadev_wait() - wait until a descriptor, and all before it, has completed
 * @queue: the queue
 * @seq: its sequence number
 * @timeout_ns: time-out in nanoseconds; 0: the call does not sleep; negative: no time-out
 *
 * Checks, spins for a moment (see vtadev_queue_opts), then sleeps. If the descriptor completes
 * before the sleep, there is no system call and no interrupt; otherwise the card
 * interrupts once, which wakes this thread. The wait continues after signals; only
 * vtadev_wait_any() and vtadev_wait_all() can be cancelled, by their @cancel_fd; pthread_cancel(3)
 * takes effect later. After -ETIMEDOUT the descriptor continues: wait again or destroy the queue.
 *
 * DEVICES IN THE PROCESS (docs/devices.md). A call without a time-out executes RUNs of the queue up
 * to @seq in this thread, as long as no thread of the device has begun them, a core is free, and no
 * other queue has a RUN that waits. So do vtadev_upload(), vtadev_download(), vtadev_read_after(),
 * and submitting that waits for room without a time-out. The RUN has this thread's priority. The
 * thread's stack should have 64 KiB left, and more if the device's plugin wants more. A signal's
 * handler must return: if it calls longjmp(3) or exit(3), the RUN never ends.
 *
 * LOST DOORBELLS. Waits for a queue that has seen no completion or submission for a second ring its
 * doorbell again, each second. This has no effect on a card that has heard the doorbell. After
 * three such doorbells that the card's counter of doorbells does not show, waits return -EPROTO
 * until the queue makes progress: the card is lost.
 *
 * Errors: -EINVAL (@seq has not been submitted), -ETIMEDOUT, -EIO (the queue
 * halted before @seq), -ENOMEM (the queue already has 1,024 waits), -EPROTO, -ENODEV.
 */
int vtadev_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns);

/* vtadev_sync() - wait for all descriptors submitted so far, as vtadev_wait() */
int vtadev_sync(struct vtadev_queue *queue, int64_t timeout_ns);

/* A sequence number of a queue. */
struct vtadev_fence {
	struct vtadev_queue *queue;
	uint64_t seq;
};

#define VTADEV_FENCES_MAX	VTA_FENCES_MAX

/**
 * vtadev_wait_any() - wait until any of several descriptors has completed
 * @fences: the descriptors' queues, of any cards, and sequence numbers
 * @n: number of fences, 1 to VTADEV_FENCES_MAX
 * @timeout_ns: as for vtadev_wait()
 * @cancel_fd: an eventfd that cancels the wait, or -1
 * @index: out: index of the completed fence, the first if there are several; after an error, index
 *         of the fence that has it, or 0; NULL is allowed
 *
 * As vtadev_wait(): spins if a completion is expected soon, then sleeps, and is woken once.
 * A write to @cancel_fd (see eventfd(2)) before or during the wait, from a thread or a signal
 * handler, ends the wait if no fence has completed. The wait does not read @cancel_fd: until the
 * program reads it, it cancels all waits that use it. The queues continue as after a time-out.
 *
 * Errors: as vtadev_wait() for any fence if none has completed; -EINVAL also for @n; -ECANCELED;
 * -EBADF and -EINVAL for @cancel_fd; -ENOMEM; -EOPNOTSUPP (queues of cards together with queues
 * of plugins' devices).
 */
int vtadev_wait_any(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index);

/**
 * vtadev_wait_all() - wait until all of several descriptors have completed
 * @fences: as for vtadev_wait_any()
 * @n: as for vtadev_wait_any()
 * @timeout_ns: as for vtadev_wait()
 * @cancel_fd: as for vtadev_wait_any()
 * @index: out: after an error, index of the fence that has it, or 0; NULL is allowed
 *
 * As vtadev_wait_any(). The first error of a fence ends the wait.
 */
int vtadev_wait_all(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index);

/**
 * vtadev_read_after() - wait for a descriptor, then copy its result out of a buffer
 * @queue: the queue
 * @seq: sequence number of the descriptor that writes the result, or a later one
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: destination
 * @len: bytes, 0 or more
 *
 * Does not wait for descriptors after @seq, and has no time-out. Errors: as
 * vtadev_wait() and vtadev_buf_read(); after an error the bytes at @dst are
 * undefined. -ENODEV is also returned if the card was lost after @seq had completed and
 * before the bytes were read: a reset clears the buffers.
 */
int vtadev_read_after(struct vtadev_queue *queue, uint64_t seq, struct vtadev_buf *buf,
		      size_t offset, void *dst, size_t len);

/**
 * vtadev_arm() - request POLLIN when a descriptor has completed
 * @queue: the queue
 * @seq: its sequence number
 *
 * Returns 0 if vtadev_fd() will be readable (POLLIN) once the descriptor has completed, until a
 * successful vtadev_arm() or vtadev_wait() (or a variant) of the queue. Returns 1 if the
 * descriptor has already completed; then there is no event. Each queue has one armed
 * number; arming again replaces it. Arm again each second in which there is no event: see
 * vtadev_wait() for lost doorbells. Errors: as vtadev_wait(), but not -ETIMEDOUT.
 */
int vtadev_arm(struct vtadev_queue *queue, uint64_t seq);

/**
 * vtadev_queue_eventfd() - signal a queue's events on an eventfd instead of vtadev_fd()
 * @queue: the queue
 * @fd: the eventfd, which replaces the previous one; -1: none
 *
 * The eventfd's count grows by 1 when the number given to vtadev_arm() has completed;
 * when the queue halts, or at once if it has halted; and when the queue is destroyed or the card
 * is lost. vtadev_fd() then has no POLLIN for this queue. The count does not show which of
 * these has happened: query the queue. The queue keeps the eventfd, even if @fd is closed. Several
 * queues may have the same eventfd.
 *
 * Errors: -EINVAL (also a file that is not an eventfd), -EBADF, -ENODEV.
 */
int vtadev_queue_eventfd(struct vtadev_queue *queue, int fd);

/* ---- Copies -------------------------------------------------------------- */

/**
 * struct vtadev_rows - place of rows of bytes in a buffer
 * @buf: the buffer
 * @offset: offset of the first row, in bytes
 * @pitch: bytes from the start of a row to the start of the next; ignored if there is one row
 */
struct vtadev_rows {
	struct vtadev_buf *buf;
	size_t offset;
	size_t pitch;
};

/**
 * vtadev_copy2d() - have the card copy rows from buffer to buffer
 * @queue: the queue
 * @dst: destination; the pitch is at least @width
 * @src: source; the pitch is 0 or more
 * @width: bytes of a row
 * @rows: number of rows; with @width or @rows 0 nothing is copied
 * @seq: out: the descriptor's sequence number; NULL is allowed
 *
 * Submits one descriptor, as vtadev_submit(): the copy is made after the descriptors before it,
 * is complete when @seq has completed, and the buffers must exist until then. The call does not
 * check whether different buffers share memory.
 *
 * Errors: -EINVAL (@dst's pitch, a buffer of another struct vtadev, or rows that
 * overlap in one buffer; with different pitches also rows that interleave without overlap),
 * -ERANGE, -EACCES (@dst is VTADEV_READONLY), and those of
 * vtadev_submit().
 */
int vtadev_copy2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  const struct vtadev_rows *src, size_t width, size_t rows,
		  uint64_t *seq);

/* vtadev_copy() - have the card copy @len contiguous bytes, as vtadev_copy2d() */
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
 * @dst: destination; the pitch is at least @width
 * @pattern: byte i of a row becomes byte i mod 4 of the pattern, the least significant first
 * @width: bytes of a row; need not be a multiple of 4
 * @rows: number of rows
 * @seq: out: the descriptor's sequence number; NULL is allowed
 *
 * Errors: as vtadev_copy2d().
 */
int vtadev_fill2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  uint32_t pattern, size_t width, size_t rows, uint64_t *seq);

/* vtadev_fill() - have the card fill @len contiguous bytes, as vtadev_fill2d() */
static inline int vtadev_fill(struct vtadev_queue *queue, struct vtadev_buf *dst,
			      size_t offset, uint32_t pattern, size_t len,
			      uint64_t *seq)
{
	struct vtadev_rows to = { dst, offset, 0 };

	return vtadev_fill2d(queue, &to, pattern, len, 1, seq);
}

/**
 * vtadev_upload() - copy from the program's memory to a buffer, and wait for the copy
 * @queue: a queue of the same struct vtadev
 * @buf: the buffer
 * @offset: bytes from its start
 * @src: any memory of the program that is not @buf's
 * @len: bytes, 0 or more
 *
 * The copy is made after all descriptors submitted to @queue before; the call waits for them and
 * for the copy without a time-out. From vtadev_queue_opts.copy_min bytes on, the card copies from
 * @src, which is pinned during the copy. Less, and memory that cannot be pinned, is copied by the
 * CPU. Submits to @queue: one thread at a time.
 *
 * Errors: -EINVAL (@buf is of another struct vtadev), -ERANGE, those of
 * vtadev_wait() except -ETIMEDOUT, and those of vtadev_buf_write(). After other errors than the
 * first two, some bytes may have been copied. If another thread recovers a shared queue during
 * the call, the call may return 0 with bytes missing: see vtadev_recover().
 */
int vtadev_upload(struct vtadev_queue *queue, struct vtadev_buf *buf,
		  size_t offset, const void *src, size_t len);

/**
 * vtadev_download() - copy from a buffer to the program's memory, and wait for the copy
 * @queue: a queue of the same struct vtadev
 * @buf: the buffer
 * @offset: bytes from its start
 * @dst: any memory of the program that is not @buf's
 * @len: bytes, 0 or more
 *
 * As vtadev_upload() in the other direction. After an error the bytes at @dst are undefined.
 */
int vtadev_download(struct vtadev_queue *queue, struct vtadev_buf *buf,
		    size_t offset, void *dst, size_t len);

/* ---- Faults -------------------------------------------------------------- */

/**
 * struct vtadev_fault - why a queue halted
 * @reason: the cause; VTA_FAULT_NONE: the queue has not halted
 * @access: purpose of the failed memory access; VTA_ACCESS_NONE: no access failed
 * @seq: sequence number of the faulting descriptor
 * @addr: device address of the failed access
 * @insn_index: index of the faulting instruction in its stream, from 0; or VTA_FAULT_NO_INSN
 * @insn: that instruction, low word first
 * @queue: number of the queue on the card, from 0
 * @time: time of the fault by the card's clock, ns
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
 * @fault: out: the fault
 *
 * A queue remains halted until vtadev_recover(). A fault does not affect other queues, nor
 * buffers. Errors: -ENODEV.
 */
int vtadev_fault(struct vtadev_queue *queue, struct vtadev_fault *fault);

/**
 * vtadev_recover() - restart a halted queue
 * @queue: the queue
 *
 * Only one thread at a time may submit or recover. The faulting descriptor then counts as
 * completed, although it was not executed to its end, and the descriptors after it are discarded:
 * vtadev_completed() and vtadev_submitted() return its number, or, if no descriptor faulted
 * (VTA_FAULT_DOORBELL, VTA_ACCESS_STATE), the number of the last completed descriptor. The next
 * descriptor has the number after that. A wait for a later, discarded number returns -EINVAL, or
 * waits for the new descriptor with that number. This also applies to a vtadev_upload() or
 * vtadev_download() of another thread in a shared queue, which may return 0 with bytes missing:
 * recover a shared queue while no such call is in progress.
 *
 * If the user's queues fault too often, this call and vtadev_queue_create() sleep until the rate
 * is within the limit (module parameter max_user_faults). Errors: -EBUSY (the queue has not
 * halted), -ENODEV.
 */
int vtadev_recover(struct vtadev_queue *queue);

/* Bytes for any text of vtadev_fault_text(), with its 0. */
#define VTADEV_FAULT_TEXT_MAX	256

/**
 * vtadev_fault_text() - describe a fault in a sentence
 * @fault: the fault
 * @text: out: the sentence, truncated to @size bytes with its 0
 * @size: bytes at @text
 *
 * Returns the length of the whole sentence, as snprintf() does.
 */
int vtadev_fault_text(const struct vtadev_fault *fault, char *text, size_t size);

/**
 * struct vtadev_lost - why an open card was lost
 * @fate: VTA_FATE_*, the state of the card: VTA_FATE_RESET (the card works after a new
 *        open), VTA_FATE_GIVEN_UP (the driver has given the card up), VTA_FATE_REMOVED (the driver
 *        is no longer bound to it), VTA_FATE_PENDING (not known yet), VTA_FATE_NONE (the card was
 *        not lost). Later drivers may add values
 * @cause: VTA_CAUSE_*, the cause of the loss: the card's own failure, an administrator,
 *         an error on the bus, the machine's sleep ... Later drivers may add values
 */
struct vtadev_lost {
	enum vta_fate fate;
	enum vta_cause cause;
};

/**
 * vtadev_lost() - why calls return -ENODEV
 * @dev: the card
 * @lost: out: state and cause
 *
 * Waits for a reset to end, for seconds at most. Once the card is lost, the result for @dev
 * changes no more, except that VTA_FATE_PENDING becomes another state. Errors: -EOPNOTSUPP (the
 * driver is older than this call).
 */
int vtadev_lost(struct vtadev *dev, struct vtadev_lost *lost);

/* Bytes for any text of vtadev_lost_text(), with its 0. */
#define VTADEV_LOST_TEXT_MAX	192

/**
 * vtadev_lost_text() - describe why a card was lost, and what to do about it
 * @lost: state and cause
 * @text: out: the sentence, truncated to @size bytes with its 0
 * @size: bytes at @text
 *
 * The sentence is "WHY; WHAT TO DO", with no semicolon in WHY. Returns the length of the whole
 * sentence, as snprintf() does.
 */
int vtadev_lost_text(const struct vtadev_lost *lost, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_H */
