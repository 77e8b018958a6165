/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver.h - the C interface between VTA runtimes and their device
 *
 * The interface is that of TVM's VTA. libvta_driver implements it with libvtadev, so that an
 * unchanged VTA runtime links to a card. This header documents the behaviour of the calls with
 * this card.
 *
 * ONE SPACE. A process has one address space on one card. The first call that needs the card
 * opens it; the card is closed when the last handle and the last memory are freed. The
 * environment variable VTADEV_DEVICE selects the card, as for
 * vtadev_find() (an index, a name, a path, a PCI address); without it, the first card is
 * used. All handles can access all memory.
 *
 * THREADS. Several threads may make any calls at once. Runs of one handle are
 * serialised; threads that run streams at the same time have a handle each.
 *
 * STATE. The state that a run leaves in the core (micro-ops, tensors and dependency tokens)
 * belongs to the handle: its next run finds this state, even if another handle or process ran in
 * between. After a run that returned 1 or 2 the state is lost, and the next run finds zeroes and
 * no tokens. A reset of the card loses the state, too; the handle's next run is then not executed
 * and returns 2, so that no result is computed from lost state. After such a failure a runtime must
 * load micro-ops again that an earlier run had loaded.
 *
 * CARDS THAT KEEP NO STATE (vtadev_info.save_size is 0). A process can have one handle, and each
 * run is complete when VTADeviceRun() returns. Tokens are kept by instructions that this library
 * puts in front of a stream. Micro-ops and tensors stay in the core until another program uses the
 * card: a run that found them taken away returns 2, and state is lost as after other failures; so
 * such a card is for one program at a time. A run may also fail so if the other program came just
 * after it. VTADeviceAlloc() refuses a card whose counters cannot be read.
 *
 * ERRORS. No call crashes for an address that is not in the card's memory, a second
 * free of a pointer or a size that does not fit: the call does nothing, and reports
 * the reason on stderr. A copy that was not made also makes the next run of each handle
 * fail, so that no result is computed from stale data. The same sentence
 * is written at most once in a minute, and at most 64 in ten seconds; a later one has the number of
 * omitted ones. The program's own memory (the other side of a copy) must be
 * valid, as for memcpy().
 *
 * QUEUES. Each handle has a queue of the card from VTADeviceAlloc() to
 * VTADeviceFree(), and host memory for the state of the core (vtadev_info.save_size bytes).
 * The number of the card's queues is limited, and that of one user, too (module parameter
 * max_user_queues).
 *
 * RESETS. Memory keeps its contents, pointers and addresses when the card is reset,
 * and later calls can use it. The run that the reset interrupted
 * fails, and so does the next run of each handle that has state in the core (STATE). A process
 * with more than 128 pieces of memory loses its memory in a reset,
 * and every later run fails.
 *
 * FORK. In a child of a process that holds memory or handles, functions that free do nothing, and
 * all others fail, except VTAMemGetPhyAddr(): VTADeviceRun() returns 2.
 */
#ifndef VTA_DRIVER_H_
#define VTA_DRIVER_H_

#include <stdint.h>
#include <stdlib.h>		/* which runtimes do not include themselves */

#ifdef __cplusplus
extern "C" {
#endif

/* Values of VTAMemAlloc()'s @cached. Memory is cached and coherent with both. */
#define VTA_CACHED	1
#define VTA_NOT_CACHED	0

/*
 * Bytes of each instruction and micro-op buffer of a runtime, which may be built
 * with another value. This implementation has no such limit: memory may be larger.
 */
#ifndef VTA_MAX_XFER
#define VTA_MAX_XFER	(1 << 25)
#endif

/* Size of the card's pages. Elements of a configuration may be larger. */
#define VTA_PAGE_BITS	12
#define VTA_PAGE_BYTES	(1 << VTA_PAGE_BITS)

/* A handle for running streams. */
typedef void *VTADeviceHandle;

/* A device address, never 0. It has 32 bits in every build of the runtime. */
typedef uint32_t vta_phy_addr_t;

/*
 * Returns a handle; or NULL, with the reason on stderr, if there is no card, no free queue or no
 * memory, or if VTA's headers lay out instructions for the card's configuration differently than
 * the card reads them (docs/isa.md, section 10).
 */
VTADeviceHandle VTADeviceAlloc(void);

/* Free a handle, or NULL, after its runs have ended. Memory is not freed. */
void VTADeviceFree(VTADeviceHandle handle);

/**
 * VTADeviceRun() - run an instruction stream, and wait until it is done
 * @handle: from VTADeviceAlloc()
 * @insn_phy_addr: device address of the stream, a multiple of 16, in memory of VTAMemAlloc()
 * @insn_count: number of 128-bit instructions, all in that memory; with 0 nothing is run
 * @wait_cycles: limit in cycles of the card (docs/isa.md, section 9);
 *               0, as programs for simulators pass: only the card's time limit for any run
 *
 * Returns 0 when the run is done, 1 when it reached @wait_cycles or the card's time limit (module
 * parameter max_job_ms), 2 if it failed; stderr has the reason. After 1 and 2 the handle can be
 * used again, without the core's state of earlier runs (STATE); memory keeps what the stream has
 * written. All @insn_count instructions are executed: FINISH does not end a stream. An asynchronous
 * handle (driver_async.h) returns 0 at once.
 */
int VTADeviceRun(VTADeviceHandle handle, vta_phy_addr_t insn_phy_addr,
		 uint32_t insn_count, uint32_t wait_cycles);

/**
 * VTAMemAlloc() - allocate host memory that the CPU and the card access
 * @size: bytes; with 0 the returned memory has no usable byte
 * @cached: VTA_CACHED or VTA_NOT_CACHED, without effect
 *
 * Returns zeroed memory at a device address that is a multiple of the largest element and of 4 KiB;
 * or NULL, with the reason on stderr.
 */
void *VTAMemAlloc(size_t size, int cached);

/* Free memory of VTAMemAlloc(), or NULL. */
void VTAMemFree(void *buf);

/* Returns the device address of a byte in memory of VTAMemAlloc(); 0 for any other pointer. */
vta_phy_addr_t VTAMemGetPhyAddr(void *buf);

/* Copy @size bytes, 0 or more, to (FromHost) or from (ToHost) memory of VTAMemAlloc(). */
void VTAMemCopyFromHost(void *dst, const void *src, size_t size);
void VTAMemCopyToHost(void *dst, const void *src, size_t size);

/* Memory is coherent: these calls only order the CPU's memory accesses. */
void VTAFlushCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);
void VTAInvalidateCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);

/* No effect: the card is already programmed. */
void VTAProgram(const char *bitstream);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_H_ */
