// SPDX-License-Identifier: Apache-2.0
/* The work of a stream's parts, counted as docs/isa.md, section 9, counts cycles. */
#include "ops_impl.h"

/* A part of a stream that is walked through in order. */
struct walk {
	const struct vtaops_core *core;
	struct vta_isa_shape shape;
	struct vtaops_time time;
	struct vtaops_work *work;
	uint64_t port[3];		/* cycles in which each module moves bytes */
};

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < 8; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static enum ops_module module_of(const struct vta_isa_insn *insn)
{
	struct vta_isa_move move;

	if (vta_isa_opcode(insn) == VTA_ISA_STORE)
		return OPS_STORE;
	if (vta_isa_opcode(insn) != VTA_ISA_LOAD)
		return OPS_COMPUTE;
	vta_isa_unpack_move(insn, &move);
	return move.memory_type == VTA_ISA_INP || move.memory_type == VTA_ISA_WGT ? OPS_LOAD :
		OPS_COMPUTE;
}

/* Counts a LOAD or STORE; returns its cycles. */
static uint64_t count_move(struct walk *w, const struct vta_isa_insn *insn, enum ops_module module)
{
	struct vta_isa_move move;
	uint32_t element;
	uint64_t row, bytes;

	vta_isa_unpack_move(insn, &move);
	element = ops_element_bytes(w->core, move.memory_type);
	row = (uint64_t)move.x_size * element;
	bytes = row * move.y_size;
	w->port[module] += move.y_size * ((row + VTA_ISA_MEM_PORT - 1) / VTA_ISA_MEM_PORT);
	if (module == OPS_STORE)
		w->work->store_bytes += bytes;
	else
		w->work->load_bytes += bytes;
	return vta_isa_move_cycles(&move, element);
}

/* Counts a GEMM or ALU; returns its cycles. */
static uint64_t count_loop(struct walk *w, const struct vta_isa_insn *insn)
{
	struct vta_isa_loop loop;
	uint64_t cycles;

	vta_isa_unpack_loop(&w->shape, insn, &loop);
	cycles = vta_isa_loop_cycles(&loop);
	if (loop.alu || loop.reset)
		w->work->alu_cycles += cycles - VTA_ISA_LOOP_LATENCY;
	else
		w->work->gemm_uops += vta_isa_loop_count(&loop);
	return cycles;
}

static bool count_insn(struct walk *w, const struct vta_isa_insn *insn, uint32_t number)
{
	enum ops_module module = module_of(insn);
	unsigned int head = (unsigned int)insn->word[0];
	uint64_t cycles = 1;

	switch (vta_isa_opcode(insn)) {
	case VTA_ISA_LOAD:
	case VTA_ISA_STORE:
		cycles = count_move(w, insn, module);
		break;
	case VTA_ISA_GEMM:
	case VTA_ISA_ALU:
		cycles = count_loop(w, insn);
		break;
	default:
		break;
	}
	return ops_time_insn(&w->time, module, number, cycles,
			     head & (VTA_ISA_POP_PREV | VTA_ISA_POP_NEXT)) &&
	       ops_time_push(&w->time, head & (VTA_ISA_PUSH_PREV | VTA_ISA_PUSH_NEXT));
}

/* Counts the part [first, end), and finds the port that was busiest in it. */
static bool count_part(struct walk *w, const uint8_t *insns, uint32_t first, uint32_t end)
{
	uint64_t begin = ops_time_end(&w->time);

	*w->work = (struct vtaops_work) { 0 };
	memset(w->port, 0, sizeof(w->port));
	for (uint32_t i = first; i < end; i++) {
		const uint8_t *at = insns + (size_t)i * VTA_ISA_INSN_BYTES;
		const struct vta_isa_insn insn = { { word_at(at), word_at(at + 8) } };

		if (!count_insn(w, &insn, i))
			return false;
	}
	w->work->cycles = ops_time_end(&w->time) - begin;
	for (unsigned int i = 0; i < 3; i++)
		w->work->port_cycles = max_u64(w->work->port_cycles, w->port[i]);
	return true;
}

static bool are_cuts(const uint32_t *cuts, uint32_t count, uint32_t insn_count)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (cuts[i] <= before || cuts[i] >= insn_count)
			return false;
		before = cuts[i];
	}
	return true;
}

int vtaops_work(const struct vtaops_core *core, const void *insns, uint32_t insn_count,
		const uint32_t *cuts, uint32_t count, struct vtaops_work *work)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(core);
	struct walk w = { .core = core, .shape = vta_isa_shape(&config) };
	uint32_t first = 0;

	if (!are_cuts(cuts, count, insn_count))
		return -VTAOPS_EINVAL;
	for (uint32_t i = 0; i <= count; i++) {
		uint32_t end = i < count ? cuts[i] : insn_count;

		w.work = &work[i];
		if (!count_part(&w, insns, first, end))
			return -VTAOPS_ECORE;
		first = end;
	}
	for (unsigned int i = 0; i < OPS_TOKEN_QUEUES; i++)
		if (w.time.tokens[i])
			return -VTAOPS_ECORE;
	return 0;
}

const char *vtaops_limit(const struct vtaops_work *work, uint64_t *cycles)
{
	uint64_t compute = work->gemm_uops + work->alu_cycles;

	*cycles = max_u64(compute, work->port_cycles);
	if (work->cycles / 2 > *cycles)
		return "latency";
	return compute >= work->port_cycles ? "compute" : "memory";
}
