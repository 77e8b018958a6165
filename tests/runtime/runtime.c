// SPDX-License-Identifier: GPL-2.0-only
/*
 * runtime.c - a small runtime, as compilers have them
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "vtadev.h"

static char device[128];	/* VTADEV_DEVICE, if it is one in the process */

static uint8_t attribute(unsigned int card, const char *name)
{
	char path[96];
	unsigned int value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/vta/vta%u/config/%s", card, name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%u", &value) != 1) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	fclose(file);
	return (uint8_t)value;
}

/* Read VTADEV_DEVICE before a test changes it. */
__attribute__((constructor)) static void note_device(void)
{
	const char *name = getenv("VTADEV_DEVICE");

	if (name && islower((unsigned char)*name) && strncmp(name, "vta", strlen("vta")) != 0)
		snprintf(device, sizeof(device), "%s", name);
}

const char *rt_device(void)
{
	return *device ? device : NULL;
}

/*
 * Call libvtadev, which libvta_driver has loaded: this is linked to libvta_driver alone, as
 * runtimes are.
 */
static struct vta_info device_info(void)
{
	__typeof__(vtadev_open) *open = dlsym(RTLD_DEFAULT, "vtadev_open");
	__typeof__(vtadev_info) *get = dlsym(RTLD_DEFAULT, "vtadev_info");
	__typeof__(vtadev_close) *end = dlsym(RTLD_DEFAULT, "vtadev_close");
	struct vta_info info;
	struct vtadev *dev;

	if (!open || !get || !end || open(device, &dev)) {
		fprintf(stderr, "%s: cannot be opened\n", device);
		exit(1);
	}
	info = (struct vta_info) {
		.log_inp_width = get(dev)->log_inp_width,
		.log_wgt_width = get(dev)->log_wgt_width,
		.log_acc_width = get(dev)->log_acc_width,
		.log_batch = get(dev)->log_batch,
		.log_block = get(dev)->log_block,
		.log_uop_buff_size = get(dev)->log_uop_buff_size,
		.log_inp_buff_size = get(dev)->log_inp_buff_size,
		.log_wgt_buff_size = get(dev)->log_wgt_buff_size,
		.log_acc_buff_size = get(dev)->log_acc_buff_size,
	};
	end(dev);
	return info;
}

struct vta_info rt_info(unsigned int card)
{
	if (*device)
		return device_info();
	return (struct vta_info) {
		.log_inp_width = attribute(card, "LOG_INP_WIDTH"),
		.log_wgt_width = attribute(card, "LOG_WGT_WIDTH"),
		.log_acc_width = attribute(card, "LOG_ACC_WIDTH"),
		.log_batch = attribute(card, "LOG_BATCH"),
		.log_block = attribute(card, "LOG_BLOCK"),
		.log_uop_buff_size = attribute(card, "LOG_UOP_BUFF_SIZE"),
		.log_inp_buff_size = attribute(card, "LOG_INP_BUFF_SIZE"),
		.log_wgt_buff_size = attribute(card, "LOG_WGT_BUFF_SIZE"),
		.log_acc_buff_size = attribute(card, "LOG_ACC_BUFF_SIZE"),
	};
}

static atomic_uint opened;

bool rt_open(struct rt_queue *q, const struct vta_info *info)
{
	memset(q, 0, sizeof(*q));
	q->core = core_of(info);
	q->layout = atomic_fetch_add(&opened, 1);
	q->insns = VTAMemAlloc(RT_BUFFER, VTA_NOT_CACHED);
	q->uops = VTAMemAlloc(RT_BUFFER, VTA_CACHED);
	if (!q->insns || !q->uops)
		return false;
	q->insns_addr = VTAMemGetPhyAddr(q->insns);
	q->uops_addr = VTAMemGetPhyAddr(q->uops);
	q->device = VTADeviceAlloc();
	return q->insns_addr && q->uops_addr && q->device;
}

void rt_close(struct rt_queue *q)
{
	VTADeviceFree(q->device);
	VTAMemFree(q->insns);
	VTAMemFree(q->uops);
	memset(q, 0, sizeof(*q));
}

static _Thread_local struct rt_queue thread_queue;

struct rt_queue *rt_thread_queue(const struct vta_info *info)
{
	if (!thread_queue.device && !rt_open(&thread_queue, info))
		return NULL;
	return &thread_queue;
}

void rt_thread_close(void)
{
	rt_close(&thread_queue);
}

void rt_push(struct rt_queue *q, struct insn insn)
{
	/* Written through the pointer; the rest of the buffer is not cleared. */
	q->insns[q->nr_insns++] = insn;
}

uint32_t rt_push_uop(struct rt_queue *q, uint32_t uop)
{
	VTAMemCopyFromHost(&q->uops[q->nr_uops], &uop, sizeof(uop));
	return q->nr_uops++;
}

/* Return the row of inp that becomes row @i of out. */
static unsigned int source(enum rt_kernel kernel, unsigned int i)
{
	switch (kernel) {
	case RT_BACKWARD:
		return RT_ROWS - 1 - i;
	case RT_HALVES:
		return (i + RT_ROWS / 2) % RT_ROWS;
	default:
		return i;
	}
}

uint32_t rt_place(const struct rt_queue *q, enum rt_kernel kernel)
{
	return (kernel + q->layout) % RT_KERNELS * RT_ROWS;
}

/* Load a kernel once; it stays in its place. */
static void push_kernel(struct rt_queue *q, enum rt_kernel kernel)
{
	uint32_t first = q->nr_uops;

	if (q->cached[kernel])
		return;
	for (unsigned int i = 0; i < RT_ROWS; i++)
		rt_push_uop(q, uop(&q->core, i, source(kernel, i), 0));
	rt_push(q, insn_load(VTA_ISA_UOP, rt_place(q, kernel),
			     q->uops_addr / sizeof(uint32_t) + first, 1, RT_ROWS));
	q->cached[kernel] = true;
	q->loads++;
}

void rt_push_pops(struct rt_queue *q)
{
	rt_push(q, insn_move(VTA_ISA_LOAD | VTA_ISA_POP_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	rt_push(q, insn_move(VTA_ISA_LOAD | VTA_ISA_POP_NEXT, VTA_ISA_UOP, 0, 0, 0, 0));
}

void rt_push_open_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel)
{
	const struct core *core = &q->core;
	struct vta_isa_loop loops = {
		.uop_bgn = rt_place(q, kernel), .uop_end = rt_place(q, kernel) + RT_ROWS,
		.reset = 1, .iter_out = 1, .iter_in = 1,
	};

	push_kernel(q, kernel);
	rt_push(q, insn_gemm(core, 0, &loops));
	rt_push(q, insn_load(VTA_ISA_WGT, 0, p->wgt / core->wgt_bytes, 1, 1));
	rt_push(q, insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0,
			     p->inp / core->inp_bytes, 1, RT_ROWS));
	/* Tokens: the load module may continue, the store module may begin. */
	loops.reset = 0;
	rt_push(q, insn_gemm(core, VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV | VTA_ISA_PUSH_NEXT,
			     &loops));
	rt_push(q, insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV, VTA_ISA_OUT, 0,
			     p->out / core->inp_bytes, 1, RT_ROWS));
}

void rt_push_product(struct rt_queue *q, const struct rt_product *p, enum rt_kernel kernel)
{
	rt_push_open_product(q, p, kernel);
	rt_push_pops(q);
}

int rt_run(struct rt_queue *q, uint32_t wait_cycles)
{
	struct insn finish = insn_finish(0);
	int ret;

	/* FINISH must ignore the bits that it does not use. */
	finish.word[0] |= 0xdeadbeefcafe0000u;
	finish.word[1] = 0x0123456789abcdefu;
	rt_push(q, finish);
	VTAFlushCache(q->insns, q->insns_addr, (int)(q->nr_insns * sizeof(*q->insns)));
	ret = VTADeviceRun(q->device, q->insns_addr, q->nr_insns, wait_cycles);
	q->nr_insns = 0;
	q->nr_uops = 0;
	/* A failed run has lost the scratchpads. */
	if (ret)
		memset(q->cached, 0, sizeof(q->cached));
	return ret;
}

void rt_expect(const struct core *core, const int8_t *inp, const int8_t *wgt, int8_t *out,
	       enum rt_kernel kernel)
{
	for (unsigned int i = 0; i < RT_ROWS; i++) {
		const int8_t *row = inp + source(kernel, i) * core->block;

		for (unsigned int o = 0; o < core->block; o++) {
			int32_t sum = 0;

			for (unsigned int k = 0; k < core->block; k++)
				sum += row[k] * wgt[o * core->block + k];
			out[i * core->block + o] = (int8_t)sum;
		}
	}
}
