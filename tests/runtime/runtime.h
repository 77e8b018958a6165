/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * runtime.h - a small runtime, used as those of compilers are
 *
 * What it has in common with them: a command queue for each thread, made when the
 * thread first needs it; memory first, then the device; two buffers of 32 MiB,
 * for instructions and micro-ops; micro-op kernels that are loaded once and then
 * taken for cached in the scratchpad, also by later runs, until a run fails; reserved
 * bits that are what they were.
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

/* The device in the process that VTADEV_DEVICE named at the start; NULL: it is a card. */
const char *rt_device(void);

/* The configuration: of a card, from sysfs; or of that device, whatever @card is. */
struct vta_info rt_info(unsigned int card);

/* Orders in which the rows of a product are worked off; kernels of micro-ops. */
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

/* Memory, then the device; and the other way. False: it failed. */
bool rt_open(struct rt_queue *q, const struct vta_info *info);
void rt_close(struct rt_queue *q);

/* The queue of the calling thread, opened if it has none; NULL: it failed. */
struct rt_queue *rt_thread_queue(const struct vta_info *info);
void rt_thread_close(void);

/* Where the rows come out: out[RT_ROWS][block], int8. */
struct rt_product {
	vta_phy_addr_t inp, wgt, out;	/* RT_ROWS vectors, a matrix, RT_ROWS vectors */
};

/* Add instructions: row i of out = low byte of wgt times row order(i) of inp. */
void rt_push_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel);
/*
 * The same, but the two tokens that say it is done are left: to the load module that it
 * may load again, to the compute module that all is stored. And loads of nothing that
 * take them up.
 */
void rt_push_open_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel);
void rt_push_pops(struct rt_queue *q);
void rt_push(struct rt_queue *q, struct insn insn);
uint32_t rt_push_uop(struct rt_queue *q, uint32_t uop);	/* its index in the buffer */
/* Where a kernel of this queue is in the scratchpad. */
uint32_t rt_place(const struct rt_queue *q, enum rt_kernel kernel);
/* End the stream and run it; what VTADeviceRun() returns. */
int rt_run(struct rt_queue *q, uint32_t wait_cycles);

/* The same product by the CPU, for a batch of 1. */
void rt_expect(const struct core *core, const int8_t *inp, const int8_t *wgt, int8_t *out,
	       enum rt_kernel kernel);

#endif /* TESTS_RUNTIME_RUNTIME_H */
