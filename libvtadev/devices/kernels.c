// SPDX-License-Identifier: Apache-2.0
/*
 * kernels.c - runs of streams by the kernels of vta.cl
 *
 * A run is launches of the two kernels, some ahead, until they report that the stream has
 * ended or that the host is to do something: fetch instructions from memory that is not
 * the device's own, or move the rows of a LOAD or STORE from or to it.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/kernels.h"

#define ADDRESS_END	(UINT64_C(1) << 32)

/* The kernels read the library's page table. */
static_assert(VTADEV_DEVICE_ENTRY_READ == VTA_ENTRY_READ, "an entry's flag");
static_assert(VTADEV_DEVICE_ENTRY_WRITE == VTA_ENTRY_WRITE, "an entry's flag");
static_assert(VTADEV_DEVICE_ENTRY_SHIFT == VTA_ENTRY_SHIFT, "an entry's page");
static_assert(VTA_PAGE_SIZE == 1u << VTA_PAGE_LOG, "what an entry is of");

/* The build sets the path of vta.cl with its headers; an analyser need not know it. */
#ifndef VTA_CL
#define VTA_CL "/dev/null"
#endif

/* That file, as a string. */
__asm__(".section .rodata\n"
	".global vta_cl\n.hidden vta_cl\n"
	"vta_cl: .incbin \"" VTA_CL "\"\n"
	".byte 0\n"
	".previous\n");

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Bytes of the largest scratchpad, by values of at least a byte: what a LOAD or STORE moves. */
static size_t bounce_bytes(const struct core_config *c)
{
	size_t inp = (size_t)1 << (c->log_inp_buff_size + 3 - c->log_inp_width);
	size_t wgt = (size_t)1 << (c->log_wgt_buff_size + 3 - c->log_wgt_width);

	return larger(larger(inp, wgt), larger((size_t)1 << c->log_uop_buff_size,
					       (size_t)1 << c->log_acc_buff_size));
}

int kernels_options(const struct core_config *c, char *text, size_t size)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(c);
	const struct vta_isa_shape s = vta_isa_shape(&config);

	return snprintf(text, size, "-DLOG_INP_WIDTH=%u -DLOG_WGT_WIDTH=%u -DLOG_BATCH=%u "
			"-DLOG_BLOCK=%u -DLOG_UOP=%d -DLOG_INP=%d -DLOG_WGT=%d -DLOG_ACC=%d "
			"-DLOG_TOKENS=%u -DLOG_WAITING=%u -DBOUNCE=%zu "
			"-DFAULT_INSN=%d -DFAULT_BOUNDS=%d -DFAULT_CYCLES=%d -DFAULT_DEADLOCK=%d",
			c->log_inp_width, c->log_wgt_width, c->log_batch, c->log_block,
			s.uop, s.inp, s.wgt, s.acc, vta_isa_log_queue(c->log_tokens),
			vta_isa_log_queue(c->log_waiting), bounce_bytes(c), VTA_FAULT_INSN,
			VTA_FAULT_BOUNDS, VTA_FAULT_CYCLES, VTA_FAULT_DEADLOCK);
}

/* ---- A core's life ---- */

void kernels_sizes(const struct core_config *c, size_t *sizes)
{
	sizes[KERNELS_STATE] = sizeof(struct vta_state);
	sizes[KERNELS_UOP] = (size_t)1 << c->log_uop_buff_size;
	sizes[KERNELS_INP] = (size_t)1 << (c->log_inp_buff_size + 3 - c->log_inp_width);
	sizes[KERNELS_WGT] = (size_t)1 << (c->log_wgt_buff_size + 3 - c->log_wgt_width);
	sizes[KERNELS_ACC] = (size_t)1 << c->log_acc_buff_size;
	sizes[KERNELS_WAITING] = VTA_MODULES * sizeof(struct vta_command) <<
				 vta_isa_log_queue(c->log_waiting);
	sizes[KERNELS_TOKENS] = VTA_TOKEN_QUEUES * sizeof(vta_u64) <<
				vta_isa_log_queue(c->log_tokens);
	sizes[KERNELS_CODE] = VTA_CODE * VTA_ISA_INSN_BYTES;
	sizes[KERNELS_BOUNCE] = bounce_bytes(c);
	sizes[KERNELS_PLAN] = sizeof(struct vta_plan);
}

int kernels_init(struct kernels *k, const struct core_config *c, const struct kernels_ops *ops,
		 void *core)
{
	memset(k, 0, sizeof(*k));
	k->ops = ops;
	k->core = core;
	kernels_sizes(c, k->sizes);
	k->bounce = malloc(k->sizes[KERNELS_BOUNCE]);
	return k->bounce ? 0 : -ENOMEM;
}

void kernels_destroy(struct kernels *k)
{
	free(k->bounce);
}

int kernels_clear(const struct kernels *k)
{
	int err = 0;

	for (int i = KERNELS_UOP; i <= KERNELS_ACC && !err; i++)
		err = k->ops->zero(k->core, (enum kernels_buffer)i, k->sizes[i]);
	return err;
}

/* ---- What the kernels ask of the host ---- */

/* Instructions from @fetched on, to the end of a page; or why there are none. */
static int fetch(struct kernels *k, const struct vtadev_device_memory *memory)
{
	struct vta_state *s = &k->state;
	uint64_t addr = s->insn_addr + (uint64_t)s->fetched * VTA_ISA_INSN_BYTES;
	uint32_t count = (VTA_PAGE_SIZE - (uint32_t)(addr % VTA_PAGE_SIZE)) / VTA_ISA_INSN_BYTES;
	uint32_t reason = VTA_FAULT_PAGE, fault_addr = (uint32_t)addr;

	count = count < s->insn_count - s->fetched ? count : s->insn_count - s->fetched;
	if (addr < ADDRESS_END)
		reason = memory->read(memory->space, (uint32_t)addr, k->code,
				      (size_t)count * VTA_ISA_INSN_BYTES, &fault_addr);
	if (reason) {
		s->fetch_reason = reason;
		s->fetch_addr = fault_addr;
		s->insn_count = s->fetched;
		return 0;
	}
	s->code_first = s->fetched;
	s->code_count = count;
	return k->ops->put(k->core, KERNELS_CODE, k->code, (size_t)count * VTA_ISA_INSN_BYTES);
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

static enum vta_fault_reason move_rows(const struct kernels *k,
				       const struct vtadev_device_memory *memory, bool store,
				       uint32_t *fault_addr)
{
	const struct vta_move *m = &k->state.move;
	size_t len = (size_t)m->insn.x_size * m->elem;
	enum vta_fault_reason reason = VTA_FAULT_NONE;

	for (uint32_t y = 0; y < m->insn.y_size && !reason; y++)
		reason = move_row(memory, store,
				  (m->insn.dram_base + (uint64_t)y * m->insn.x_stride) * m->elem,
				  k->bounce + y * len, len, fault_addr);
	return reason;
}

static enum vta_access access_of(bool store, uint32_t type)
{
	if (store)
		return VTA_ACCESS_STORE;
	return type == VTA_ISA_UOP ? VTA_ACCESS_UOP : VTA_ACCESS_LOAD;
}

/* The rows of the LOAD or STORE in hand; a fault goes into @result. */
static int move_data(struct kernels *k, const struct vtadev_device_memory *memory,
		     struct vtadev_device_result *result)
{
	struct vta_state *s = &k->state;
	size_t size = (size_t)s->move.insn.y_size * s->move.insn.x_size * s->move.elem;
	bool store = (s->command.words[0] & 7) == VTA_ISA_STORE;
	uint32_t fault_addr = 0;
	int err = 0;

	if (store)
		err = k->ops->get(k->core, KERNELS_BOUNCE, k->bounce, size);
	if (err)
		return err;
	result->reason = move_rows(k, memory, store, &fault_addr);
	if (result->reason) {
		result->access = access_of(store, s->move.insn.memory_type);
		result->addr = fault_addr;
		result->insn_index = s->command.index;
		memcpy(result->insn, s->command.words, sizeof(result->insn));
		return 0;
	}
	s->move.bounce = 1;
	return store ? 0 : k->ops->put(k->core, KERNELS_BOUNCE, k->bounce, size);
}

/* ---- A run ---- */

static int begin_run(struct kernels *k, const struct vtadev_device_run *run)
{
	uint32_t tokens = run->flags & (VTADEV_DEVICE_RUN_TOKENS | VTADEV_DEVICE_RUN_CLEAR);
	const struct vta_state last = k->state;
	struct vta_state *s = &k->state;
	int err = 0;

	memset(s, 0, sizeof(*s));
	s->insn_addr = run->insn_addr;
	s->insn_count = run->insn_count;
	s->cycle_limit = run->cycle_limit;
	for (unsigned int i = 0; i < VTA_TOKEN_QUEUES; i++)
		if (tokens == VTADEV_DEVICE_RUN_TOKENS)
			s->kept[i] = last.kept[i] + last.tokens[i];
	if (run->flags & VTADEV_DEVICE_RUN_CLEAR)
		err = kernels_clear(k);
	return err ? err : k->ops->put(k->core, KERNELS_STATE, s, sizeof(*s));
}

/* Does what the kernels left to the host; *@over: the run is at its end. */
static int attend(struct kernels *k, const struct vtadev_device_run *run,
		  struct vtadev_device_result *result, bool *over)
{
	struct vta_state *s = &k->state;
	int err;

	switch (s->status) {
	case VTA_FETCH:
		err = fetch(k, run->memory);
		break;
	case VTA_MOVE:
		err = move_data(k, run->memory, result);
		break;
	case VTA_DONE:
	case VTA_FAULTED:
		*over = true;
		return 0;
	default:
		return 0;
	}
	s->status = VTA_RUN;
	*over = result->reason;
	return err ? err : k->ops->put(k->core, KERNELS_STATE, s, sizeof(*s));
}

static void report_result(const struct vta_state *s, struct vtadev_device_result *result)
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

int kernels_run(struct kernels *k, const struct vtadev_device_run *run,
		struct vtadev_device_result *result)
{
	struct vta_state *s = &k->state;
	bool over = false;
	int err;

	err = begin_run(k, run);
	while (!err && !over && !run->memory->stop(run->memory->space)) {
		err = k->ops->step(k->core, run->memory, s);
		if (!err)
			err = attend(k, run, result, &over);
	}
	report_result(s, result);
	return err;
}
