// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>

#include "vta_insn.h"

/* Fields follow each other from bit 0. */
struct packer {
	uint64_t bits;
	unsigned int at;
};

static void put(struct packer *p, unsigned int width, uint64_t value)
{
	p->bits |= (value & ((1ull << width) - 1)) << p->at;
	p->at += width;
}

struct core core_of(const struct vta_info *info)
{
	unsigned int inp = info->log_batch + info->log_block + info->log_inp_width - 3;
	unsigned int wgt = 2 * info->log_block + info->log_wgt_width - 3;
	unsigned int acc = info->log_batch + info->log_block + info->log_acc_width - 3;

	return (struct core) {
		.batch = 1u << info->log_batch,
		.block = 1u << info->log_block,
		.log_uop_depth = info->log_uop_buff_size - 2,
		.log_inp_depth = info->log_inp_buff_size - inp,
		.log_wgt_depth = info->log_wgt_buff_size - wgt,
		.log_acc_depth = info->log_acc_buff_size - acc,
		.inp_bytes = 1u << inp,
		.wgt_bytes = 1u << wgt,
		.acc_bytes = 1u << acc,
	};
}

static void put_head(struct packer *p, unsigned int opcode, unsigned int tokens)
{
	put(p, 3, opcode);
	put(p, 4, tokens);
}

static struct insn insn(const struct packer *p0, const struct packer *p1)
{
	return (struct insn) { { htole64(p0->bits), htole64(p1->bits) } };
}

struct insn insn_mem(unsigned int opcode, unsigned int tokens, unsigned int type,
		     unsigned int sram, uint32_t dram, unsigned int rows, unsigned int cols)
{
	struct packer p0 = { 0 }, p1 = { 0 };

	put_head(&p0, opcode, tokens);
	put(&p0, 3, type);
	put(&p0, 16, sram);
	put(&p0, 32, dram);
	put(&p1, 16, rows);
	put(&p1, 16, cols);
	put(&p1, 16, cols);
	return insn(&p0, &p1);
}

struct insn insn_finish(unsigned int tokens)
{
	struct packer p0 = { 0 }, p1 = { 0 };

	put_head(&p0, OPCODE_FINISH, tokens);
	return insn(&p0, &p1);
}

static void put_loops(struct packer *p, const struct core *core, unsigned int reset,
		      const struct loops *loops)
{
	put(p, 1, reset);
	put(p, core->log_uop_depth, loops->uop_begin);
	put(p, core->log_uop_depth + 1, loops->uop_end);
	put(p, 14, loops->outer);
	put(p, 14, loops->inner);
}

struct insn insn_gemm(const struct core *core, unsigned int tokens, unsigned int reset,
		      const struct loops *loops)
{
	struct packer p0 = { 0 }, p1 = { 0 };

	put_head(&p0, OPCODE_GEMM, tokens);
	put_loops(&p0, core, reset, loops);
	put(&p1, core->log_acc_depth, loops->dst[0]);
	put(&p1, core->log_acc_depth, loops->dst[1]);
	put(&p1, core->log_inp_depth, loops->src[0]);
	put(&p1, core->log_inp_depth, loops->src[1]);
	put(&p1, core->log_wgt_depth, loops->wgt[0]);
	put(&p1, core->log_wgt_depth, loops->wgt[1]);
	return insn(&p0, &p1);
}

struct insn insn_alu(const struct core *core, unsigned int tokens, unsigned int op,
		     int imm, const struct loops *loops)
{
	struct packer p0 = { 0 }, p1 = { 0 };

	put_head(&p0, OPCODE_ALU, tokens);
	put_loops(&p0, core, 0, loops);
	put(&p1, core->log_acc_depth, loops->dst[0]);
	put(&p1, core->log_acc_depth, loops->dst[1]);
	put(&p1, core->log_acc_depth, loops->src[0]);
	put(&p1, core->log_acc_depth, loops->src[1]);
	put(&p1, 3, op);
	put(&p1, 1, 1);
	put(&p1, 16, (uint16_t)imm);
	return insn(&p0, &p1);
}

uint32_t uop(const struct core *core, unsigned int dst, unsigned int src, unsigned int wgt)
{
	unsigned int src_bits = core->log_acc_depth > core->log_inp_depth ?
				core->log_acc_depth : core->log_inp_depth;
	struct packer p = { 0 };

	put(&p, core->log_acc_depth, dst);
	put(&p, src_bits, src);
	put(&p, core->log_wgt_depth, wgt);
	return htole32((uint32_t)p.bits);
}
