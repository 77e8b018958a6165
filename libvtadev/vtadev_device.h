/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_device.h - write a device of your own that libvtadev opens by name
 *
 * A device executes VTA's instruction streams: in software, on a GPU, on a card that
 * has no driver in the kernel. It is a shared object, libvtadev-NAME.so, which
 * vtadev_open("NAME") or vtadev_open("NAME:ARGUMENTS") loads. Programs use it like a
 * card, by vtadev.h alone. docs/devices.md builds one in ten steps.
 *
 * The plugin says what its device is, and runs a stream. All the rest is one
 * implementation in libvtadev for all devices: queues and their sequence numbers, COPY,
 * FILL, SIGNAL, WAIT, stamps, waiting and poll(), faults and recovery, the 32-bit
 * addresses of each context, limits of time, and which core state a RUN finds.
 *
 * A plugin is code in the program's process. It is trusted with all of the program's
 * memory, and nothing keeps programs apart that use the same device: docs/security.md.
 *
 * ERRORS. Functions return 0 or a negative errno. Of run() and copy() a negative errno means
 * that the device is lost: the library tells the program as of a card that was given up.
 *
 * THREADS. Each vtadev_open() makes a device of its own, by open(). Of one device, run() is
 * called by one thread at a time, and so are clear() and map(); copy(), core_new() and
 * core_free() (of a core that does not run) by any thread at any time, also while one runs.
 *
 * MEMORY. Card memory (VTADEV_CARD) is the library's unless the device has its own, which
 * the CPU does not see: then clear(), map() and copy() are there. Such memory is mem_size
 * bytes in one piece. The library says which pages of it a buffer has, and keeps the page
 * table, by which run() finds them from 32-bit device addresses.
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
 * The version of what this header declares. It grows when any of it changes; the library
 * loads plugins of its own version alone, and says so of others.
 */
#define VTADEV_DEVICE_VERSION	3u

/* The one symbol that a plugin exports: a const struct vtadev_device_ops. */
#define VTADEV_DEVICE_SYMBOL	"vtadev_device_plugin"

/* Enough for why something does not open, as a sentence without a full stop. */
#define VTADEV_DEVICE_WHY_MAX	256

/* A pointer of the library's, to be given back to it. */
struct vtadev_device_space;

/**
 * struct vtadev_device_memory - how a device reaches the memory of its context
 * @space: first argument of all functions
 * @read: copy @len bytes at device address @addr to @dst; returns VTA_FAULT_NONE, or why
 *        not, with the first address that cannot be accessed in *@fault_addr
 * @write: the same, from @src
 * @stop: whether the run is to end now: ask at least every millisecond
 *
 * Functions take about 50 ns and may be called from any thread while run() has not
 * returned. Memory is not ordered between threads of a device by these.
 */
struct vtadev_device_memory {
	struct vtadev_device_space *space;
	enum vta_fault_reason (*read)(struct vtadev_device_space *space, uint32_t addr, void *dst,
				      size_t len, uint32_t *fault_addr);
	enum vta_fault_reason (*write)(struct vtadev_device_space *space, uint32_t addr,
				       const void *src, size_t len, uint32_t *fault_addr);
	bool (*stop)(struct vtadev_device_space *space);
};

/* Scratchpads are to be zero, without tokens; else they are as the core's last run left them. */
#define VTADEV_DEVICE_RUN_CLEAR		0x1u
/* The run begins with the tokens that the core's last run left; else with none. */
#define VTADEV_DEVICE_RUN_TOKENS	0x2u

/**
 * struct vtadev_device_run - a stream to run
 * @memory: where the stream and its data are
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
 * struct vtadev_device_result - how a run went
 * @cycles: of the device's clock, or by the model in docs/isa.md
 * @insns: instructions executed
 * @gemm_uops: micro-operations of GEMM instructions
 * @alu_uops: micro-operations of ALU instructions
 * @reason: VTA_FAULT_NONE, or why the stream did not get to its end; the rest is of the
 *          fault alone
 * @access: what the access was for that failed, if it was one
 * @addr: its device address
 * @insn_index: instruction in the stream, or VTA_FAULT_NO_INSN
 * @insn: that instruction, low word first
 *
 * All zero when run() is called.
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
 * An entry of the page table, of VTA_PAGE_SIZE bytes of device addresses: which page of the
 * device's own memory it is, and what streams may do there. 0: it is none.
 */
#define VTADEV_DEVICE_ENTRY_READ	0x1u
#define VTADEV_DEVICE_ENTRY_WRITE	0x2u
#define VTADEV_DEVICE_ENTRY_SHIFT	2	/* of the page's number */

/**
 * struct vtadev_device_side - where rows of bytes are: one end of a copy
 * @ptr: the first row, an address of this process; NULL: it is in the device's own memory
 * @offset: of the first row there, in bytes
 * @pitch: bytes from row to row, at least a row's width
 */
struct vtadev_device_side {
	void *ptr;
	uint64_t offset;
	size_t pitch;
};

/**
 * struct vtadev_device_rows - rows of bytes to copy
 * @dst: where to
 * @src: where from; one of the two at least is the device's own memory, and they do not overlap
 * @width: bytes of a row, at least 1
 * @rows: how many, at least 1
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
 * struct vtadev_device_ops - what a plugin is
 * @version: VTADEV_DEVICE_VERSION
 * @name: NAME, as in the file's name
 * @about: the device in a few words, for people
 * @list: write the arguments of device number @i, "" if it takes none, and return 0, or
 *        -ENOENT if there are not so many. A device that is there with no arguments
 *        has an i of 0 at least
 * @open: make a device. @args is what stands behind the colon, or "". Fills in
 *        of @info: mem_size (bytes of VTADEV_CARD memory that a context may have),
 *        clock_khz, hw_ver, serial and the configuration, log_*; the library sees to the
 *        others. On failure writes a sentence to @why
 * @close: end it; its cores have been freed
 * @core_new: make a core: scratchpads of zeroes, and no tokens
 * @core_free: free it
 * @run: run a stream on a core. 0 if it ended, well, with a fault, or because
 *       memory->stop() said so. What a run that faulted leaves in the core is not looked at
 *       if it was to keep its tokens
 * @clear: clear @size bytes of the device's own memory from byte @offset on, whole pages.
 *         On a negative errno the program does not get its buffer
 * @map: the page table has changed: @count entries from number @first on are @entries now.
 *       When it returns, no run reaches what was there before. As clear()
 * @copy: copy rows. What is copied is there when it returns
 *
 * clear(), map() and copy() are all NULL or none. run() reaches the device's own memory by
 * itself, as it likes best; read() and write() of its struct vtadev_device_memory reach it
 * too, by copy().
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

/* The one that a plugin defines. */
extern const struct vtadev_device_ops vtadev_device_plugin
	__attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_DEVICE_H */
