/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_insn.h - instructions of the VTA core, as they are in memory (docs/isa.md)
 */
#ifndef VTA_INSN_H
#define VTA_INSN_H

#include <endian.h>

#include "vta.h"
#include "vta_isa.h"

struct insn {
	uint64_t word[2];	/* little-endian */
};

struct core {
	struct vta_isa_shape log;
	unsigned int batch, block;
	unsigned int inp_bytes, wgt_bytes, acc_bytes;	/* of an element */
};

static inline struct core core_of(const struct vta_info *info)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(info);
	const struct vta_isa_shape log = vta_isa_shape(&config);

	return (struct core) {
		log, 1u << config.log_batch, 1u << config.log_block,
		1u << log.inp_bytes, 1u << log.wgt_bytes, 1u << log.acc_bytes,
	};
}

static inline struct insn insn_of(struct vta_isa_insn insn)
{
	return (struct insn) { { htole64(insn.word[0]), htole64(insn.word[1]) } };
}

/* A LOAD or STORE of @rows rows of @cols elements, packed. @head: opcode and flags. */
static inline struct insn insn_move(unsigned int head, unsigned int type, unsigned int sram,
				    uint32_t dram, unsigned int rows, unsigned int cols)
{
	const struct vta_isa_move move = {
		.memory_type = type, .sram_base = sram, .dram_base = dram,
		.y_size = rows, .x_size = cols, .x_stride = cols,
	};

	return insn_of(vta_isa_pack_move(head, &move));
}

#define insn_load(...)	insn_move(VTA_ISA_LOAD, __VA_ARGS__)
#define insn_store(...)	insn_move(VTA_ISA_STORE, __VA_ARGS__)

static inline struct insn insn_finish(unsigned int flags)
{
	return insn_of(vta_isa_pack_finish(flags));
}

static inline struct insn insn_gemm(const struct core *core, unsigned int flags,
				    const struct vta_isa_loop *loop)
{
	return insn_of(vta_isa_pack_loop(&core->log, flags, loop));
}

/* An ALU instruction with an immediate operand, and the loops of @loop. */
static inline struct insn insn_alu(const struct core *core, unsigned int flags, unsigned int op,
				   int imm, const struct vta_isa_loop *loop)
{
	struct vta_isa_loop alu = *loop;

	alu.alu = 1;
	alu.alu_opcode = op;
	alu.use_imm = 1;
	alu.imm = imm;
	return insn_of(vta_isa_pack_loop(&core->log, flags, &alu));
}

static inline uint32_t uop(const struct core *core, unsigned int dst, unsigned int src,
			   unsigned int wgt)
{
	return htole32(vta_isa_pack_uop(&core->log, &(struct vta_isa_uop) { dst, src, wgt }));
}

#endif /* VTA_INSN_H */
