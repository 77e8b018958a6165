// SPDX-License-Identifier: Apache-2.0
/*
 * core_insn.c - decoding of VTA instructions, and what they cost
 *
 * The cycle model. A core is three modules and a fetch unit, which run at the
 * same time:
 *
 *   fetch      instruction n of a stream (from 0) reaches its module at cycle
 *              n + 1
 *   start      of an instruction: the latest of its arrival, the end of the
 *              previous one of its module, and the ends of the instructions
 *              that pushed the tokens which it pops
 *   end        start + cost (contract/vta_isa.h); the run takes until the latest end
 *
 * It depends on the stream alone, not on memory, tokens that were left over,
 * or the order in which the emulator happens to take the modules.
 */
#include "core_impl.h"

static struct vta_isa_insn insn_of(const uint32_t words[4])
{
	return (struct vta_isa_insn){ {
		words[0] | (uint64_t)words[1] << 32, words[2] | (uint64_t)words[3] << 32,
	} };
}

/* With x_size 0 nothing moves, so nothing else matters. */
static bool mem_legal(const struct vta_isa_move *mem, bool store)
{
	if (!mem->x_size)
		return true;
	if (store)
		return mem->memory_type == VTA_ISA_OUT && !mem->x_pad_0 && !mem->x_pad_1 &&
		       !mem->y_pad_0 && !mem->y_pad_1;
	return mem->memory_type <= VTA_ISA_ACC || mem->memory_type == VTA_ISA_ACC_8BIT;
}

void core_insn_decode(const struct core *core, const uint32_t words[4], struct core_insn *insn)
{
	struct vta_isa_insn raw = insn_of(words);

	*insn = (struct core_insn){
		.op = vta_isa_opcode(&raw),
		.pop_prev = words[0] & VTA_ISA_POP_PREV,
		.pop_next = words[0] & VTA_ISA_POP_NEXT,
		.push_prev = words[0] & VTA_ISA_PUSH_PREV,
		.push_next = words[0] & VTA_ISA_PUSH_NEXT,
	};

	switch (insn->op) {
	case VTA_ISA_LOAD:
	case VTA_ISA_STORE:
		vta_isa_unpack_move(&raw, &insn->mem);
		insn->legal = mem_legal(&insn->mem, insn->op == VTA_ISA_STORE);
		break;
	case VTA_ISA_GEMM:
	case VTA_ISA_ALU:
		vta_isa_unpack_loop(&core->log, &raw, &insn->loop);
		insn->legal = !insn->loop.alu || insn->loop.alu_opcode <= VTA_ISA_MUL;
		break;
	case VTA_ISA_FINISH:
		insn->legal = true;
		break;
	}
}

enum core_module_id core_insn_module(const uint32_t words[4])
{
	struct vta_isa_insn raw = insn_of(words);
	unsigned int op = vta_isa_opcode(&raw);
	struct vta_isa_move mem;

	if (op == VTA_ISA_STORE)
		return CORE_STORE;
	if (op != VTA_ISA_LOAD)
		return CORE_COMPUTE;
	vta_isa_unpack_move(&raw, &mem);
	return mem.memory_type == VTA_ISA_INP || mem.memory_type == VTA_ISA_WGT ? CORE_LOAD :
										 CORE_COMPUTE;
}

uint64_t core_insn_cycles(const struct core *core, const struct core_insn *insn)
{
	switch (insn->op) {
	case VTA_ISA_LOAD:
	case VTA_ISA_STORE:
		return vta_isa_move_cycles(&insn->mem,
					   core_mem_elem_size(core, insn->mem.memory_type));
	case VTA_ISA_GEMM:
	case VTA_ISA_ALU:
		return vta_isa_loop_cycles(&insn->loop);
	case VTA_ISA_FINISH:
		break;
	}
	return 1;
}
