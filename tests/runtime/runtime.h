/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * runtime.h - a small runtime, as compilers have them
 *
 * Like those, it has a command queue for each thread, made at its first use; allocates
 * memory before the device; has two buffers of 32 MiB, for instructions and micro-ops;
 * loads a micro-op kernel once and relies on it in later runs, until a run fails; and
 * does not clear reserved bits.
 */
#ifndef TESTS_RUNTIME_RUNTIME_H
#define TESTS_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/driver.h"
#include "vta_insn.h"

#define RT_BUFFER	VTA_MAX_XFER
#define RT_FOREVER	0xffffffffu
#define RT_ROWS		16u		/* vectors of a product */

/* Return the device in the process that VTADEV_DEVICE named at the start; NULL for a card. */
const char *rt_device(void);

/* Read the configuration of a card from sysfs, or of that device for any @card. */
struct vta_info rt_info(unsigned int card);

/* Kernels of micro-ops, which differ by the order of a product's rows. */
enum rt_kernel { RT_FORWARD, RT_BACKWARD, RT_HALVES, RT_KERNELS };

struct rt_queue {
	VTADeviceHandle device;
	struct core core;
	struct insn *insns;		/* RT_BUFFER bytes */
	uint32_t *uops;			/* the same */
	vta_phy_addr_t insns_addr, uops_addr;
	uint32_t nr_insns, nr_uops;
	bool cached[RT_KERNELS];
	unsigned int layout;		/* queues have their kernels in different places */
	uint32_t loads;			/* of kernels, ever */
};

/* Allocate memory, then the device. Returns false if that fails. */
bool rt_open(struct rt_queue *q, const struct vta_info *info);
void rt_close(struct rt_queue *q);

/* Return the calling thread's queue, opened if it has none; NULL if that fails. */
struct rt_queue *rt_thread_queue(const struct vta_info *info);
void rt_thread_close(void);

/* Device addresses; out is out[RT_ROWS][block], int8. */
struct rt_product {
	vta_phy_addr_t inp, wgt, out;	/* RT_ROWS vectors, a matrix, RT_ROWS vectors */
};

/* Push instructions: row i of out = low byte of wgt times row order(i) of inp. */
void rt_push_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel);
/*
 * The same, but leave the two last tokens: for the load module, which may load again, and for
 * the compute module, as all is stored.
 */
void rt_push_open_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel);
/* Push empty loads that pop these tokens. */
void rt_push_pops(struct rt_queue *q);
void rt_push(struct rt_queue *q, struct insn insn);
uint32_t rt_push_uop(struct rt_queue *q, uint32_t uop);	/* its index in the buffer */
/* Return a kernel's index in the scratchpad. */
uint32_t rt_place(const struct rt_queue *q, enum rt_kernel kernel);
/* End the stream and run it. Returns VTADeviceRun()'s result. */
int rt_run(struct rt_queue *q, uint32_t wait_cycles);

/* Compute the same product by the CPU, for a batch of 1. */
void rt_expect(const struct core *core, const int8_t *inp, const int8_t *wgt, int8_t *out,
	       enum rt_kernel kernel);

#endif /* TESTS_RUNTIME_RUNTIME_H */
