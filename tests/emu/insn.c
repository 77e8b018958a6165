// SPDX-License-Identifier: GPL-2.0-only
/* insn.c - VTA instructions as tests write them (see insn.h) */

#include <stdio.h>
#include <stdlib.h>

#include "insn.h"

/* Fields are appended from bit 0 up, over whatever bits were there. */
struct packer {
	uint64_t bits;
	unsigned int pos;
};

static void put_field(struct packer *p, uint64_t value, unsigned int width)
{
	uint64_t mask = width < 64 ? (1ull << width) - 1 : ~0ull;

	if (value > mask || p->pos + width > 64) {
		fprintf(stderr, "insn: value %llu does not fit %u bits at bit %u\n",
			(unsigned long long)value, width, p->pos);
		abort();
	}
	if (width) {
		p->bits &= ~(mask << p->pos);
		p->bits |= value << p->pos;
	}
	p->pos += width;
}

static void put_head(struct packer *p, unsigned int opcode, unsigned int flags)
{
	put_field(p, opcode, 3);
	put_field(p, flags >> 3, 4);
}

unsigned int insn_log_uop_depth(const struct core_config *cfg)
{
	return cfg->log_uop_buff_size - 2;
}

unsigned int insn_log_inp_depth(const struct core_config *cfg)
{
	return cfg->log_inp_buff_size + 3 - cfg->log_batch - cfg->log_block - cfg->log_inp_width;
}

unsigned int insn_log_wgt_depth(const struct core_config *cfg)
{
	return cfg->log_wgt_buff_size + 3 - 2 * cfg->log_block - cfg->log_wgt_width;
}

unsigned int insn_log_acc_depth(const struct core_config *cfg)
{
	return cfg->log_acc_buff_size + 3 - cfg->log_batch - cfg->log_block - cfg->log_acc_width;
}

static unsigned int log_src_width(const struct core_config *cfg)
{
	unsigned int acc = insn_log_acc_depth(cfg), inp = insn_log_inp_depth(cfg);

	return acc > inp ? acc : inp;
}

uint32_t insn_element_bytes(const struct core_config *cfg, enum insn_memory memory)
{
	unsigned int row = cfg->log_batch + cfg->log_block;
	unsigned int log_bits = 0;

	switch (memory) {
	case INSN_UOP:
		return 4;
	case INSN_WGT:
		log_bits = 2 * cfg->log_block + cfg->log_wgt_width;
		break;
	case INSN_INP:
	case INSN_OUT:
		log_bits = row + cfg->log_inp_width;
		break;
	case INSN_ACC:
		log_bits = row + cfg->log_acc_width;
		break;
	case INSN_ACC_8BIT:
		log_bits = row + 3;
		break;
	}
	return 1u << (log_bits - 3);
}

struct insn insn_move(const struct insn_move *move)
{
	struct packer w0 = { .bits = move->junk.word[0] };
	struct packer w1 = { .bits = move->junk.word[1] };

	put_head(&w0, move->opcode, move->flags);
	put_field(&w0, move->memory, 3);
	put_field(&w0, move->sram_base, 16);
	put_field(&w0, move->dram_base, 32);

	put_field(&w1, move->y_size, 16);
	put_field(&w1, move->x_size, 16);
	put_field(&w1, move->x_stride, 16);
	put_field(&w1, move->y_pad_0, 4);
	put_field(&w1, move->y_pad_1, 4);
	put_field(&w1, move->x_pad_0, 4);
	put_field(&w1, move->x_pad_1, 4);
	return (struct insn){ { w0.bits, w1.bits } };
}

struct insn insn_loop(const struct core_config *cfg, const struct insn_loop *loop)
{
	unsigned int acc = insn_log_acc_depth(cfg);
	unsigned int inp = insn_log_inp_depth(cfg);
	unsigned int wgt = insn_log_wgt_depth(cfg);
	unsigned int uop = insn_log_uop_depth(cfg);
	struct packer w0 = { .bits = loop->junk.word[0] };
	struct packer w1 = { .bits = loop->junk.word[1] };

	put_head(&w0, loop->opcode, loop->flags);
	put_field(&w0, loop->reset, 1);
	put_field(&w0, loop->uop_bgn, uop);
	put_field(&w0, loop->uop_end, uop + 1);
	put_field(&w0, loop->iter_out, 14);
	put_field(&w0, loop->iter_in, 14);

	put_field(&w1, loop->dst_out, acc);
	put_field(&w1, loop->dst_in, acc);
	if (loop->opcode == INSN_GEMM) {
		put_field(&w1, loop->src_out, inp);
		put_field(&w1, loop->src_in, inp);
		put_field(&w1, loop->wgt_out, wgt);
		put_field(&w1, loop->wgt_in, wgt);
	} else {
		put_field(&w1, loop->src_out, acc);
		put_field(&w1, loop->src_in, acc);
		put_field(&w1, loop->alu_opcode, 3);
		put_field(&w1, loop->use_imm, 1);
		put_field(&w1, (uint16_t)loop->imm, 16);
	}
	return (struct insn){ { w0.bits, w1.bits } };
}

struct insn insn_finish(unsigned int flags, struct insn junk)
{
	struct packer w0 = { .bits = junk.word[0] };

	put_head(&w0, INSN_FINISH, flags);
	return (struct insn){ { w0.bits, junk.word[1] } };
}

uint32_t insn_uop(const struct core_config *cfg, uint32_t dst, uint32_t src, uint32_t wgt,
		  uint32_t junk)
{
	struct packer p = { .bits = junk };

	put_field(&p, dst, insn_log_acc_depth(cfg));
	put_field(&p, src, log_src_width(cfg));
	put_field(&p, wgt, insn_log_wgt_depth(cfg));
	if (p.pos > 32) {
		fprintf(stderr, "insn: micro-op fields take %u bits\n", p.pos);
		abort();
	}
	return (uint32_t)p.bits;
}

void insn_to_bytes(struct insn insn, uint8_t bytes[16])
{
	for (int i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(insn.word[i / 8] >> (8 * (i % 8)));
}
