/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_device.h - interface of plugins, which add devices that libvtadev opens by name
 *
 * A device executes VTA's instruction streams: in software, on a GPU, on a card that
 * has no driver in the kernel. A plugin is a shared object, libvtadev-NAME.so, which
 * vtadev_open("NAME") or vtadev_open("NAME:ARGUMENTS") loads. Programs use its device like a
 * card, with vtadev.h alone. docs/devices.md builds a plugin in ten steps.
 *
 * The plugin describes its device, and runs streams. libvtadev implements all the rest for
 * all devices: queues and their sequence numbers, COPY,
 * FILL, SIGNAL, WAIT, stamps, waiting and poll(), faults and recovery, the 32-bit
 * addresses of each context, time limits, and which core state a RUN finds.
 *
 * A plugin is code in the program's process. It has access to all of the program's
 * memory, and nothing isolates programs that use the same device: docs/security.md.
 *
 * ERRORS. Functions return 0 or a negative errno. A negative errno of run() or copy() means
 * that the device is lost: the program sees it as a card that was given up.
 *
 * THREADS. Each vtadev_open() calls open() for a new device. The library calls run() of one device
 * from as many threads at a time as @info says, for different cores; and clear() and map() from
 * one thread at a time. If the device has no memory of its own, a thread that calls run() may be
 * the program's, which waits for the RUN. The library's threads block all signals, but the
 * program's may not: there, system calls of run() may return EINTR. The library calls copy(),
 * core_new() and core_free() (of a core that does not run) from any thread at any time, also
 * during run().
 *
 * MEMORY. Card memory (VTADEV_CARD) is memory of the library, unless the device has its own, which
 * the CPU cannot access: then the plugin has clear(), map() and copy(). Such memory is mem_size
 * bytes, contiguous. The library allocates pages of it to buffers, and passes the page
 * table to map(); run() translates 32-bit device addresses with it.
 */
#ifndef VTADEV_DEVICE_H
#define VTADEV_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Version of this header's declarations. It grows with each change; the library
 * loads only plugins of its own version.
 */
#define VTADEV_DEVICE_VERSION	3u

/* The only symbol that a plugin exports: a const struct vtadev_device_ops. */
#define VTADEV_DEVICE_SYMBOL	"vtadev_device_plugin"

/* Bytes at @why of open(), for a sentence without a full stop, with its 0. */
#define VTADEV_DEVICE_WHY_MAX	256

/* The library's handle of a context's memory. */
struct vtadev_device_space;

/**
 * struct vtadev_device_memory - access of a device to the memory of its context
 * @space: first argument of all functions
 * @read: copy @len bytes at device address @addr to @dst; returns VTA_FAULT_NONE, or the reason of
 *        the failure, with the first address that cannot be accessed in *@fault_addr
 * @write: copy @len bytes at @src to device address @addr; returns as @read
 * @stop: returns whether the run is to end now: call it at least every millisecond
 *
 * A call takes about 50 ns. Any thread may call the functions until run() returns.
 * They do not order memory accesses of a device's different threads.
 */
struct vtadev_device_memory {
	struct vtadev_device_space *space;
	enum vta_fault_reason (*read)(struct vtadev_device_space *space, uint32_t addr, void *dst,
				      size_t len, uint32_t *fault_addr);
	enum vta_fault_reason (*write)(struct vtadev_device_space *space, uint32_t addr,
				       const void *src, size_t len, uint32_t *fault_addr);
	bool (*stop)(struct vtadev_device_space *space);
};

/* The run begins with zeroed scratchpads and no tokens; else with the core's last scratchpads. */
#define VTADEV_DEVICE_RUN_CLEAR		0x1u
/* The run begins with the tokens of the core's last run; else with none. */
#define VTADEV_DEVICE_RUN_TOKENS	0x2u

/**
 * struct vtadev_device_run - a stream to run
 * @memory: access to the stream and its data
 * @insn_addr: device address of the first instruction, a multiple of 16
 * @insn_count: instructions of 16 bytes, at least 1
 * @flags: VTADEV_DEVICE_RUN_*
 * @cycle_limit: cycles after which the run ends with VTA_FAULT_CYCLES; 0: none
 */
struct vtadev_device_run {
	const struct vtadev_device_memory *memory;
	uint32_t insn_addr;
	uint32_t insn_count;
	uint32_t flags;
	uint64_t cycle_limit;
};

/**
 * struct vtadev_device_result - result of a run
 * @cycles: cycles of the device's clock, or of the model in docs/isa.md, section 9
 * @insns: instructions executed
 * @gemm_uops: micro-operations of GEMM instructions
 * @alu_uops: micro-operations of ALU instructions
 * @reason: VTA_FAULT_NONE, or the fault that ended the stream; the following fields describe
 *          a fault
 * @access: purpose of the memory access that failed, or VTA_ACCESS_NONE
 * @addr: device address of that access
 * @insn_index: index of the faulting instruction in the stream, from 0; or VTA_FAULT_NO_INSN
 * @insn: that instruction, low word first
 *
 * All fields are zero when run() is called.
 */
struct vtadev_device_result {
	uint64_t cycles;
	uint64_t insns;
	uint64_t gemm_uops;
	uint64_t alu_uops;
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
};

/*
 * An entry of the page table, for VTA_PAGE_SIZE bytes of device addresses: the number of a page of
 * the device's own memory, and the permitted accesses of streams. 0: no page of this memory.
 */
#define VTADEV_DEVICE_ENTRY_READ	0x1u
#define VTADEV_DEVICE_ENTRY_WRITE	0x2u
#define VTADEV_DEVICE_ENTRY_SHIFT	2	/* lowest bit of the page's number */

/**
 * struct vtadev_device_side - source or destination of a copy of rows
 * @ptr: address of the first row in this process; NULL: the rows are in the device's own memory
 * @offset: byte offset of the first row in the device's own memory
 * @pitch: bytes from row to row, at least a row's width
 */
struct vtadev_device_side {
	void *ptr;
	uint64_t offset;
	size_t pitch;
};

/**
 * struct vtadev_device_rows - rows of bytes to copy
 * @dst: destination
 * @src: source; at least one of the two is in the device's own memory, and they do not overlap
 * @width: bytes of a row, at least 1
 * @rows: number of rows, at least 1
 *
 * All rows of a side lie in one buffer.
 */
struct vtadev_device_rows {
	struct vtadev_device_side dst;
	struct vtadev_device_side src;
	size_t width;
	size_t rows;
};

/**
 * struct vtadev_device_ops - description and functions of a plugin
 * @version: VTADEV_DEVICE_VERSION
 * @name: NAME, as in the file's name
 * @about: the device in a few words, for people
 * @list: write the arguments of device number @i, from 0, to @args, "" if it needs none; returns
 *        0, or -ENOENT if there are fewer devices. A device that opens without arguments is
 *        listed, too
 * @open: open a device. @args is the text after the colon, or "". Sets these fields
 *        of @info: mem_size (most bytes of VTADEV_CARD memory of a context),
 *        clock_khz, hw_ver, serial and the configuration, log_* (log_tokens and log_waiting
 *        may stay 0, which means 16), and cores (streams that are run side by side; 0: 1);
 *        the library sets the others. On failure writes a sentence to @why
 * @close: close a device, whose cores are already freed
 * @core_new: create a core with zeroed scratchpads and no tokens. With a negative errno no queue is
 *            created, and the device goes on
 * @core_free: free a core
 * @run: run a stream on a core. Returns 0 if the run ended: at its end, with a fault, or because
 *       memory->stop() returned true. After a fault of a run with VTADEV_DEVICE_RUN_TOKENS, the
 *       library does not use the core's state
 * @clear: zero @size bytes of the device's own memory at byte @offset, whole pages.
 *         With a negative errno the program's allocation fails
 * @map: replace @count entries of the page table from number @first on by @entries.
 *       After the call, no run accesses the pages of the old entries. Errors as for @clear
 * @copy: copy rows; returns when the copy is complete
 *
 * Either all of clear(), map() and copy() are NULL, or none. run() may access the device's own
 * memory directly; read() and write() of struct vtadev_device_memory access it with copy().
 */
struct vtadev_device_ops {
	uint32_t version;
	const char *name;
	const char *about;
	int (*list)(unsigned int i, char *args, size_t size);
	int (*open)(const char *args, struct vta_info *info, void **device, char *why,
		    size_t why_size);
	void (*close)(void *device);
	int (*core_new)(void *device, void **core);
	void (*core_free)(void *device, void *core);
	int (*run)(void *device, void *core, const struct vtadev_device_run *run,
		   struct vtadev_device_result *result);
	int (*clear)(void *device, uint64_t offset, size_t size);
	int (*map)(void *device, uint32_t first, size_t count, const uint32_t *entries);
	int (*copy)(void *device, const struct vtadev_device_rows *rows);
};

/* Defined by the plugin. */
extern const struct vtadev_device_ops vtadev_device_plugin
	__attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_DEVICE_H */
