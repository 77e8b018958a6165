// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_insn.c - instructions of the core one by one
 */
#include <endian.h>

#include "test_insn.h"

static struct vta_isa_insn little_endian(struct vta_isa_insn insn)
{
	return (struct vta_isa_insn) { { htole64(insn.word[0]), htole64(insn.word[1]) } };
}

static struct vta_isa_shape shape_of(const struct vtadev_info *core)
{
	struct vta_isa_config config = VTA_ISA_CONFIG_OF(core);

	return vta_isa_shape(&config);
}

struct vta_isa_insn insn_mem(unsigned int head, unsigned int type, unsigned int sram,
			     uint32_t dram, unsigned int count)
{
	const struct vta_isa_move fields = {
		.memory_type = type, .sram_base = sram, .dram_base = dram,
		.y_size = 1, .x_size = count, .x_stride = count,
	};

	return little_endian(vta_isa_pack_move(head, &fields));
}

struct vta_isa_insn insn_finish(unsigned int flags)
{
	return little_endian(vta_isa_pack_finish(flags));
}

static struct vta_isa_loop fields_of(struct loop loop)
{
	return (struct vta_isa_loop) {
		.uop_bgn = loop.uop, .uop_end = loop.uop + 1,
		.iter_out = loop.count, .iter_in = 1,
		.dst_factor_out = loop.dst, .src_factor_out = loop.src,
	};
}

struct vta_isa_insn insn_gemm(const struct vtadev_info *core, unsigned int flags, bool reset,
			      struct loop loop)
{
	struct vta_isa_shape s = shape_of(core);
	struct vta_isa_loop fields = fields_of(loop);

	fields.reset = reset;
	return little_endian(vta_isa_pack_loop(&s, flags, &fields));
}

struct vta_isa_insn insn_alu(const struct vtadev_info *core, unsigned int flags,
			     enum vta_isa_alu op, bool use_imm, int imm, struct loop loop)
{
	struct vta_isa_shape s = shape_of(core);
	struct vta_isa_loop fields = fields_of(loop);

	fields.alu = true;
	fields.alu_opcode = op;
	fields.use_imm = use_imm;
	fields.imm = imm;
	return little_endian(vta_isa_pack_loop(&s, flags, &fields));
}

uint32_t insn_uop(const struct vtadev_info *core, unsigned int dst, unsigned int src)
{
	struct vta_isa_shape s = shape_of(core);

	return htole32(vta_isa_pack_uop(&s, &(struct vta_isa_uop) { .dst = dst, .src = src }));
}
