/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver.h - the C interface that VTA runtimes are written to
 *
 * libvta_driver offers it on top of libvtadev, so that a VTA runtime links to a
 * card unchanged. The names and types are the interface's own; what the calls do
 * on this card is written here.
 *
 * ONE SPACE. A process has one address space on one card, which is opened by
 * the first call that needs it, whichever that is, and closed when the last
 * handle and the last memory are freed. VTADEV_DEVICE says which card, as for
 * vtadev_find() (an index, a name, a path, a PCI address); the first if it is
 * not set. All memory belongs to all handles.
 *
 * THREADS. All calls may be made from several threads at once. Threads that run
 * streams have a handle each; runs of one handle follow each other.
 *
 * STATE. The state that a run leaves in the core (micro-ops, tensors and dependency tokens)
 * belongs to the handle: its next run finds this state, even if another handle or process ran in
 * between. After a run that returned 1 or 2 the state is lost, and the next run finds zeroes and
 * no tokens. A reset of the card takes it, too; then the handle's next run is not made and
 * returns 2, so that nothing is computed from what is not there. Runtimes that take micro-ops for
 * loaded because an earlier run has loaded them load them again after that.
 *
 * ERRORS. No call crashes over an address that is not the card's memory, over a
 * free that comes twice or a size that does not fit: it does nothing, and says
 * why on stderr. A copy that was not made also makes the next run of each handle
 * fail, so that nothing is computed from what is there instead. The same sentence
 * is said once in a minute at most, and no more than 64 in ten seconds; how many were left
 * out is said then. What the program owns (the other side of a copy) must be
 * there, as for memcpy().
 *
 * QUEUES. Each handle has a queue of the card from VTADeviceAlloc() to
 * VTADeviceFree(), and host memory for the state of the core (vtadev_info.save_size).
 * The card has so many, and gives one user a share of them (the module's parameter
 * max_user_queues).
 *
 * RESETS. Memory is kept when the card is reset, with its contents, pointers
 * and addresses, and the next call goes on with it. The run that the reset hit
 * fails, and so does the next run of each handle that has run since it was made, or since
 * a run failed (STATE). A process that has more than 128 pieces of memory loses them to a reset,
 * and every run fails from then on.
 *
 * FORK. The child makes no calls of this interface.
 */
#ifndef VTA_DRIVER_H_
#define VTA_DRIVER_H_

#include <stdint.h>
#include <stdlib.h>		/* which runtimes do not ask for themselves */

#ifdef __cplusplus
extern "C" {
#endif

/* Memory is cached and coherent, whichever of the two is asked for. */
#define VTA_CACHED	1
#define VTA_NOT_CACHED	0

/*
 * How large the instruction and micro-op buffers of a runtime are, which may be built
 * with another value. It is no limit here: memory may be larger.
 */
#ifndef VTA_MAX_XFER
#define VTA_MAX_XFER	(1 << 25)
#endif

/* The card's pages. Elements of a configuration may be larger. */
#define VTA_PAGE_BITS	12
#define VTA_PAGE_BYTES	(1 << VTA_PAGE_BITS)

/* A handle for running streams. */
typedef void *VTADeviceHandle;

/* An address of the card's: never 0. It has 32 bits whatever the runtime is built for. */
typedef uint32_t vta_phy_addr_t;

/*
 * A handle; or NULL, if there is no card, no queue of it is left, or its configuration
 * is one that VTA's headers lay instructions out for otherwise (docs/isa.md, section 10).
 */
VTADeviceHandle VTADeviceAlloc(void);

/* Gives back a handle, or NULL, after what it runs. Memory stays. */
void VTADeviceFree(VTADeviceHandle handle);

/**
 * VTADeviceRun() - run an instruction stream, and wait until it is done
 * @handle: from VTADeviceAlloc()
 * @insn_phy_addr: where it starts, a multiple of 16, in memory of VTAMemAlloc()
 * @insn_count: instructions of 128 bits, all in that memory
 * @wait_cycles: how many cycles of the card (docs/isa.md, section 9) it may take;
 *               0, which simulators' programs say: as many as the card gives any run
 *
 * Returns 0 when it is done, 1 when it took more than @wait_cycles, 2 if it
 * failed. After 1 and 2 the handle works on, without what earlier runs had left in
 * the core; what the stream wrote to memory so far stays. All @insn_count instructions are
 * executed: FINISH does not end a stream.
 */
int VTADeviceRun(VTADeviceHandle handle, vta_phy_addr_t insn_phy_addr,
		 uint32_t insn_count, uint32_t wait_cycles);

/**
 * VTAMemAlloc() - allocate memory that the CPU and the card see
 * @size: bytes; 0 gives memory of which nothing may be used
 * @cached: VTA_CACHED or VTA_NOT_CACHED
 *
 * Returns NULL if there is none; otherwise zeroes, readable and writable through
 * the pointer, at a device address that is a multiple of the largest element.
 */
void *VTAMemAlloc(size_t size, int cached);

/* Frees what VTAMemAlloc() gave, or NULL. */
void VTAMemFree(void *buf);

/* The address of any byte of VTAMemAlloc()'s memory; 0 for any other. */
vta_phy_addr_t VTAMemGetPhyAddr(void *buf);

/* Copy any number of bytes into, or out of, memory of VTAMemAlloc(). */
void VTAMemCopyFromHost(void *dst, const void *src, size_t size);
void VTAMemCopyToHost(void *dst, const void *src, size_t size);

/* Memory is coherent: these order the CPU's accesses, and do nothing else. */
void VTAFlushCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);
void VTAInvalidateCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);

/* The card comes programmed: does nothing. */
void VTAProgram(const char *bitstream);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_H_ */
