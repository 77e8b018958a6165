// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_insn.c - instructions of the core one by one
 */
#include <endian.h>

#include "test_insn.h"

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

static struct packer head(unsigned int opcode, unsigned int tokens)
{
	struct packer p = { 0 };

	put(&p, 3, opcode);
	put(&p, 4, tokens);
	return p;
}

static struct insn insn(const struct packer *p0, const struct packer *p1)
{
	return (struct insn) { { htole64(p0->bits), htole64(p1->bits) } };
}

struct insn insn_mem(unsigned int opcode, unsigned int tokens, unsigned int type,
		     unsigned int sram, uint32_t dram, unsigned int count)
{
	struct packer p0 = head(opcode, tokens), p1 = { 0 };

	put(&p0, 3, type);
	put(&p0, 16, sram);
	put(&p0, 32, dram);
	put(&p1, 16, 1);
	put(&p1, 16, count);
	put(&p1, 16, count);
	return insn(&p0, &p1);
}

struct insn insn_finish(unsigned int tokens)
{
	struct packer p0 = head(OPCODE_FINISH, tokens), p1 = { 0 };

	return insn(&p0, &p1);
}

static void put_loop(struct packer *p, const struct vtadev_info *core, unsigned int reset,
		     const struct loop *loop)
{
	put(p, 1, reset);
	put(p, core->log_uop_depth, loop->uop);
	put(p, core->log_uop_depth + 1u, loop->uop + 1);
	put(p, 14, loop->count);
	put(p, 14, 1);
}

struct insn insn_gemm(const struct vtadev_info *core, unsigned int tokens, unsigned int reset,
		      struct loop loop)
{
	struct packer p0 = head(OPCODE_GEMM, tokens), p1 = { 0 };

	put_loop(&p0, core, reset, &loop);
	put(&p1, core->log_acc_depth, loop.dst);
	put(&p1, core->log_acc_depth, 0);
	put(&p1, core->log_inp_depth, loop.src);
	put(&p1, core->log_inp_depth, 0);
	return insn(&p0, &p1);
}

struct insn insn_alu(const struct vtadev_info *core, unsigned int tokens, unsigned int op,
		     unsigned int use_imm, int imm, struct loop loop)
{
	struct packer p0 = head(OPCODE_ALU, tokens), p1 = { 0 };

	put_loop(&p0, core, 0, &loop);
	put(&p1, core->log_acc_depth, loop.dst);
	put(&p1, core->log_acc_depth, 0);
	put(&p1, core->log_acc_depth, loop.src);
	put(&p1, core->log_acc_depth, 0);
	put(&p1, 3, op);
	put(&p1, 1, use_imm);
	put(&p1, 16, (uint16_t)imm);
	return insn(&p0, &p1);
}

uint32_t insn_uop(const struct vtadev_info *core, unsigned int dst, unsigned int src)
{
	struct packer p = { 0 };

	put(&p, core->log_acc_depth, dst);
	put(&p, core->log_acc_depth > core->log_inp_depth ? core->log_acc_depth :
							   core->log_inp_depth, src);
	return htole32((uint32_t)p.bits);
}
