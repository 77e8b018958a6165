// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.c - cores, and runs of streams on them
 *
 * A run is launches of the two kernels of vta.cl, some ahead, until they say that the
 * stream has ended or that the host is to do something: fetch instructions from memory
 * that is not in the arena, or move the rows of a LOAD or STORE from or to it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

/* Launches ahead of the host's next look, at most. */
#define AHEAD_MAX	16u
#define ADDRESS_END	(UINT64_C(1) << 32)
#define INSN_BYTES	16u
#define PAGE_BYTES	(1u << VTA_PAGE_LOG)

/* Buffers that both kernels have for arguments; the stream's group comes behind them. */
#define ARGUMENTS	11u

/* As vta.cl has them for its arguments. */
enum { STATE, UOP, INP, WGT, ACC, WAITING, TOKENS, CODE, BOUNCE, BUFFERS };
enum { OP_LOAD, OP_STORE };

struct core {
	struct ocl *ocl;
	cl_mem buffers[BUFFERS];
	size_t sizes[BUFFERS];
	cl_kernel stream;
	cl_kernel wide;			/* NULL with VTA_TASK */
	size_t items;			/* of a group of @stream */
	struct vta_state state;		/* as the last look found it */
	uint8_t *bounce;
	uint32_t code[VTA_CODE * INSN_BYTES / sizeof(uint32_t)];
	unsigned int ahead;
};

/* ---- A core's life ---- */

static void size_buffers(struct core *core, const struct core_config *c)
{
	size_t *sizes = core->sizes, most = (size_t)1 << c->log_uop_buff_size;

	sizes[STATE] = sizeof(struct vta_state);
	sizes[UOP] = (size_t)1 << c->log_uop_buff_size;
	sizes[INP] = (size_t)1 << (c->log_inp_buff_size + 3 - c->log_inp_width);
	sizes[WGT] = (size_t)1 << (c->log_wgt_buff_size + 3 - c->log_wgt_width);
	sizes[ACC] = (size_t)1 << c->log_acc_buff_size;
	sizes[WAITING] = (size_t)VTA_MODULES * VTA_WAITING * sizeof(struct vta_command);
	sizes[TOKENS] = (size_t)VTA_TOKEN_QUEUES * VTA_TOKENS * sizeof(vta_u64);
	sizes[CODE] = sizeof(core->code);
	for (int i = UOP; i <= ACC; i++)
		most = most > sizes[i] ? most : sizes[i];
	sizes[BOUNCE] = most;
}

static cl_int clear(const struct core *core)
{
	const cl_uchar none = 0;
	cl_int err = 0;

	for (int i = UOP; i <= ACC && !err; i++)
		err = clEnqueueFillBuffer(core->ocl->queues[RUNS], core->buffers[i], &none,
					  sizeof(none), 0, core->sizes[i], 0, NULL, NULL);
	return err;
}

static cl_int set_arguments(const struct core *core, cl_kernel kernel)
{
	const cl_mem args[ARGUMENTS] = {
		core->buffers[STATE], atomic_load(&core->ocl->arena), core->ocl->pages,
		core->buffers[UOP], core->buffers[INP], core->buffers[WGT], core->buffers[ACC],
		core->buffers[WAITING], core->buffers[TOKENS], core->buffers[CODE],
		core->buffers[BOUNCE],
	};
	cl_int err = 0;

	for (cl_uint i = 0; i < ARGUMENTS && !err; i++)
		err = clSetKernelArg(kernel, i, sizeof(cl_mem), &args[i]);
	return err;
}

static cl_int make_kernels(struct core *core)
{
	size_t group[3] = { 0 };
	cl_device_id id;
	cl_int err;

	core->stream = clCreateKernel(core->ocl->program, "vta_stream", &err);
	if (!err)
		err = clSetKernelArg(core->stream, ARGUMENTS, sizeof(struct vta_group), NULL);
	if (!err)
		err = clGetCommandQueueInfo(core->ocl->queues[RUNS], CL_QUEUE_DEVICE,
					    sizeof(cl_device_id), &id, NULL);
	if (!err)
		err = clGetKernelWorkGroupInfo(core->stream, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
					       sizeof(group), group, NULL);
	if (err)
		return err;
	core->items = group[0];
	core->wide = clCreateKernel(core->ocl->program, "vta_wide", &err);
	if (err == CL_INVALID_KERNEL_NAME) {
		core->wide = NULL;
		return 0;
	}
	return err;
}

static cl_int make_buffers(struct core *core)
{
	cl_int err = 0;

	size_buffers(core, &core->ocl->config);
	for (int i = 0; i < BUFFERS && !err; i++)
		core->buffers[i] = clCreateBuffer(core->ocl->context, CL_MEM_READ_WRITE,
						  core->sizes[i], NULL, &err);
	return err;
}

int run_core_new(void *device, void **out)
{
	struct core *core = calloc(1, sizeof(*core));
	cl_int err;

	if (!core)
		return -ENOMEM;
	core->ocl = device;
	err = make_buffers(core);
	if (!err)
		err = make_kernels(core);
	if (!err)
		err = clear(core);
	core->bounce = malloc(core->sizes[BOUNCE]);
	if (err || !core->bounce) {
		run_core_free(device, core);
		return err ? program_lose("core", err) : -ENOMEM;
	}
	*out = core;
	return 0;
}

void run_core_free(void *device, void *ptr)
{
	struct core *core = ptr;

	(void)device;
	if (core->stream)
		clReleaseKernel(core->stream);
	if (core->wide)
		clReleaseKernel(core->wide);
	for (int i = 0; i < BUFFERS; i++)
		if (core->buffers[i])
			clReleaseMemObject(core->buffers[i]);
	free(core->bounce);
	free(core);
}

/* ---- What the kernels ask of the host ---- */

static cl_int put(const struct core *core, int buffer, const void *from, size_t size)
{
	return clEnqueueWriteBuffer(core->ocl->queues[RUNS], core->buffers[buffer], CL_FALSE, 0,
				    size, from, 0, NULL, NULL);
}

static cl_int get(const struct core *core, int buffer, void *to, size_t size)
{
	return clEnqueueReadBuffer(core->ocl->queues[RUNS], core->buffers[buffer], CL_TRUE, 0,
				   size, to, 0, NULL, NULL);
}

/* Instructions from @fetched on, to the end of a page; or why there are none. */
static cl_int fetch(struct core *core, const struct vtadev_device_memory *memory)
{
	struct vta_state *s = &core->state;
	uint64_t addr = s->insn_addr + (uint64_t)s->fetched * INSN_BYTES;
	uint32_t count = (PAGE_BYTES - (uint32_t)(addr % PAGE_BYTES)) / INSN_BYTES;
	uint32_t reason = VTA_FAULT_PAGE, fault_addr = (uint32_t)addr;

	count = count < s->insn_count - s->fetched ? count : s->insn_count - s->fetched;
	if (addr < ADDRESS_END)
		reason = memory->read(memory->space, (uint32_t)addr, core->code,
				      (size_t)count * INSN_BYTES, &fault_addr);
	if (reason) {
		s->fetch_reason = reason;
		s->fetch_addr = fault_addr;
		s->insn_count = s->fetched;
		return 0;
	}
	s->code_first = s->fetched;
	s->code_count = count;
	return put(core, CODE, core->code, (size_t)count * INSN_BYTES);
}

/* A row between memory and the bounce. */
static enum vta_fault_reason move_row(const struct vtadev_device_memory *memory, bool store,
				      uint64_t addr, uint8_t *row, size_t len, uint32_t *fault_addr)
{
	enum vta_fault_reason reason = VTA_FAULT_NONE;
	size_t inside = 0;

	if (addr < ADDRESS_END)
		inside = len < ADDRESS_END - addr ? len : (size_t)(ADDRESS_END - addr);
	if (inside && store)
		reason = memory->write(memory->space, (uint32_t)addr, row, inside, fault_addr);
	else if (inside)
		reason = memory->read(memory->space, (uint32_t)addr, row, inside, fault_addr);
	if (!reason && inside < len) {
		*fault_addr = (uint32_t)(addr + inside);
		reason = VTA_FAULT_PAGE;
	}
	return reason;
}

static enum vta_fault_reason move_rows(const struct core *core,
				       const struct vtadev_device_memory *memory, bool store,
				       uint32_t *fault_addr)
{
	const struct vta_move *m = &core->state.move;
	size_t len = (size_t)m->width * m->elem;
	enum vta_fault_reason reason = VTA_FAULT_NONE;

	for (uint32_t y = 0; y < m->rows && !reason; y++)
		reason = move_row(memory, store, (m->dram + (uint64_t)y * m->stride) * m->elem,
				  core->bounce + y * len, len, fault_addr);
	return reason;
}

static enum vta_access access_of(bool store, uint32_t type)
{
	if (store)
		return VTA_ACCESS_STORE;
	return type ? VTA_ACCESS_LOAD : VTA_ACCESS_UOP;
}

/* The rows of the LOAD or STORE in hand; a fault goes into @result. */
static cl_int move(struct core *core, const struct vtadev_device_memory *memory,
		   struct vtadev_device_result *result)
{
	struct vta_state *s = &core->state;
	size_t size = (size_t)s->move.rows * s->move.width * s->move.elem;
	bool store = (s->command.words[0] & 7) == OP_STORE;
	uint32_t fault_addr = 0;
	cl_int err = 0;

	if (store)
		err = get(core, BOUNCE, core->bounce, size);
	if (err)
		return err;
	result->reason = move_rows(core, memory, store, &fault_addr);
	if (result->reason) {
		result->access = access_of(store, s->move.type);
		result->addr = fault_addr;
		result->insn_index = s->command.index;
		memcpy(result->insn, s->command.words, sizeof(result->insn));
		return 0;
	}
	s->move.bounce = 1;
	return store ? 0 : put(core, BOUNCE, core->bounce, size);
}

/* ---- A run ---- */

static cl_int launch(const struct core *core)
{
	cl_command_queue queue = core->ocl->queues[RUNS];
	cl_int err = 0;

	for (unsigned int i = 0; i < core->ahead && !err; i++) {
		if (core->wide && (i || core->state.status == VTA_WIDE))
			err = clEnqueueNDRangeKernel(queue, core->wide, 1, NULL,
						     &core->ocl->wide_items, NULL, 0, NULL,
						     NULL);
		if (!err)
			err = clEnqueueNDRangeKernel(queue, core->stream, 1, NULL, &core->items,
						     &core->items, 0, NULL, NULL);
	}
	return err;
}

static cl_int begin(struct core *core, const struct vtadev_device_run *run)
{
	uint32_t tokens = run->flags & (VTADEV_DEVICE_RUN_TOKENS | VTADEV_DEVICE_RUN_CLEAR);
	const struct vta_state last = core->state;
	struct vta_state *s = &core->state;
	cl_int err = 0;

	memset(s, 0, sizeof(*s));
	s->insn_addr = run->insn_addr;
	s->insn_count = run->insn_count;
	s->cycle_limit = run->cycle_limit;
	for (unsigned int i = 0; i < VTA_TOKEN_QUEUES; i++)
		if (tokens == VTADEV_DEVICE_RUN_TOKENS)
			s->kept[i] = last.kept[i] + last.tokens[i];
	if (run->flags & VTADEV_DEVICE_RUN_CLEAR)
		err = clear(core);
	core->ahead = 1;
	/* The arena may have come meanwhile. */
	if (!err)
		err = set_arguments(core, core->stream);
	if (!err && core->wide)
		err = set_arguments(core, core->wide);
	return err ? err : put(core, STATE, s, sizeof(*s));
}

/* Does what the kernels left to the host; *@over: the run is at its end. */
static cl_int attend(struct core *core, const struct vtadev_device_run *run,
		     struct vtadev_device_result *result, bool *over)
{
	struct vta_state *s = &core->state;
	cl_int err;

	switch (s->status) {
	case VTA_FETCH:
		err = fetch(core, run->memory);
		break;
	case VTA_MOVE:
		err = move(core, run->memory, result);
		break;
	case VTA_DONE:
	case VTA_FAULTED:
		*over = true;
		return 0;
	default:
		core->ahead = 2 * core->ahead < AHEAD_MAX ? 2 * core->ahead : AHEAD_MAX;
		return 0;
	}
	core->ahead = 1;
	s->status = VTA_RUN;
	*over = result->reason;
	return err ? err : put(core, STATE, s, sizeof(*s));
}

static void tell(const struct vta_state *s, struct vtadev_device_result *result)
{
	result->cycles = s->cycles;
	result->insns = s->insns;
	result->gemm_uops = s->gemm_uops;
	result->alu_uops = s->alu_uops;
	if (s->status != VTA_FAULTED)
		return;
	result->reason = s->reason;
	result->insn_index = s->insn_index;
	memcpy(result->insn, s->insn, sizeof(result->insn));
	if (s->fetch_reason && s->insn_index == s->insn_count) {
		result->access = VTA_ACCESS_INSN;
		result->addr = s->fetch_addr;
	}
}

int run_stream(void *device, void *ptr, const struct vtadev_device_run *run,
	       struct vtadev_device_result *result)
{
	struct core *core = ptr;
	bool over = false;
	cl_int err;

	(void)device;
	err = begin(core, run);
	while (!err && !over && !run->memory->stop(run->memory->space)) {
		err = launch(core);
		if (!err)
			err = get(core, STATE, &core->state, sizeof(core->state));
		if (!err)
			err = attend(core, run, result, &over);
	}
	if (!err)
		err = clFinish(core->ocl->queues[RUNS]);
	tell(&core->state, result);
	return program_lose("run", err);
}
