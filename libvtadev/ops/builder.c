// SPDX-License-Identifier: Apache-2.0
/* The builder: instruction and micro-op encodings (docs/isa.md, 2 to 7). */
#include "cycles.h"

enum { OP_LOAD = 0, OP_STORE = 1, OP_GEMM = 2, OP_FINISH = 3, OP_ALU = 4 };

/* docs/isa.md, 1: sizes up to 2^24 bytes, and what 16 bits of sram_base reach. */
static bool set_depth(uint32_t *log_depth, unsigned int log_size, unsigned int log_element)
{
	if (log_size > 24 || log_size < log_element || log_size - log_element > 16)
		return false;
	*log_depth = log_size - log_element;
	return true;
}

int vtaops_core_init(struct vtaops_core *c)
{
	unsigned int log_inp, log_wgt, log_acc, src;

	if (c->log_inp_width < 1 || c->log_inp_width > 3 || c->log_wgt_width < 1 ||
	    c->log_wgt_width > 3 || c->log_acc_width != 5 || c->log_batch > 8 ||
	    c->log_block < 1 || c->log_block > 8)
		return -VTAOPS_ECORE;
	/* An element of less than a byte has no address. */
	if (c->log_batch + c->log_block + c->log_inp_width < 3)
		return -VTAOPS_ECORE;
	c->batch = 1u << c->log_batch;
	c->block = 1u << c->log_block;
	log_inp = c->log_batch + c->log_block + c->log_inp_width - 3;
	log_wgt = 2 * c->log_block + c->log_wgt_width - 3;
	log_acc = c->log_batch + c->log_block + c->log_acc_width - 3;
	c->inp_bytes = 1u << log_inp;
	c->wgt_bytes = 1u << log_wgt;
	c->acc_bytes = 1u << log_acc;
	if (!set_depth(&c->log_uop_depth, c->log_uop_buff_size, 2) ||
	    !set_depth(&c->log_inp_depth, c->log_inp_buff_size, log_inp) ||
	    !set_depth(&c->log_wgt_depth, c->log_wgt_buff_size, log_wgt) ||
	    !set_depth(&c->log_acc_depth, c->log_acc_buff_size, log_acc))
		return -VTAOPS_ECORE;

	src = c->log_acc_depth > c->log_inp_depth ? c->log_acc_depth : c->log_inp_depth;
	if (c->log_acc_depth + src + c->log_wgt_depth > 32 ||
	    8 + 2 * c->log_uop_depth + 1 + 28 > 64 ||
	    2 * (c->log_acc_depth + c->log_inp_depth + c->log_wgt_depth) > 64 ||
	    4 * c->log_acc_depth + 20 > 64)
		return -VTAOPS_ECORE;
	return 0;
}

int ops_fail(struct vtaops_builder *b, enum vtaops_error error, const char *why)
{
	if (!b->error) {
		b->error = -(int)error;
		b->why = why;
	}
	return b->error;
}

static size_t say(struct vtaops_builder *b, size_t at, const char *text)
{
	while (*text && at + 1 < sizeof(b->text))
		b->text[at++] = *text++;
	b->text[at] = '\0';
	return at;
}

static size_t say_number(struct vtaops_builder *b, size_t at, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits) - 1;

	digits[i] = '\0';
	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return say(b, at, digits + i);
}

int ops_fail_fit(struct vtaops_builder *b, const char *what, uint64_t need, const char *of,
		 uint64_t have)
{
	size_t at;

	if (b->error)
		return b->error;
	at = say(b, 0, what);
	at = say(b, at, " takes ");
	at = say_number(b, at, need);
	at = say(b, at, " ");
	at = say(b, at, of);
	at = say(b, at, "; ");
	at = say_number(b, at, have);
	say(b, at, have == 1 ? " fits" : " fit");
	return ops_fail(b, VTAOPS_EFIT, b->text);
}

void vtaops_begin(struct vtaops_builder *b, const struct vtaops_core *core,
		  struct vtaops_insn *insn, size_t insn_max,
		  uint32_t *uop, size_t uop_max, uint32_t uop_addr)
{
	*b = (struct vtaops_builder) {
		.core = core, .insn = insn, .insn_max = insn_max,
		.uop = uop, .uop_max = uop_max, .uop_addr = uop_addr,
	};
	if (uop_addr % 4)
		ops_fail(b, VTAOPS_EALIGN, "the micro-ops' address is not a multiple of 4");
}

void ops_wait(struct vtaops_builder *b, unsigned int pops)
{
	b->pops |= pops;
}

void ops_signal(struct vtaops_builder *b, unsigned int pushes)
{
	if (b->error)
		return;
	if (b->insn)
		b->insn[b->insns - 1].word[0] |= pushes;
	if (!ops_time_push(&b->time, pushes))
		ops_fail(b, VTAOPS_ECORE, "an operator leaves tokens behind");
}

static void emit(struct vtaops_builder *b, enum ops_module module, uint64_t cycles,
		 uint64_t word0, uint64_t word1)
{
	if (b->error)
		return;
	if (!ops_time_insn(&b->time, module, b->insns, cycles, b->pops)) {
		ops_fail(b, VTAOPS_ECORE, "an operator waits for a token that never comes");
		return;
	}
	if (b->insn) {
		if (b->insns >= b->insn_max) {
			ops_fail(b, VTAOPS_ESPACE, "the storage for instructions is full");
			return;
		}
		b->insn[b->insns] = (struct vtaops_insn) { { word0 | b->pops, word1 } };
	}
	b->pops = 0;
	b->insns++;
	b->cycles = ops_time_end(&b->time);
}

int vtaops_finish(struct vtaops_builder *b)
{
	emit(b, OPS_COMPUTE, 1, OP_FINISH, 0);
	return b->error;
}

static uint32_t element_bytes(const struct vtaops_core *c, enum ops_mem type)
{
	switch (type) {
	case MEM_UOP:
		return 4;
	case MEM_WGT:
		return c->wgt_bytes;
	case MEM_INP:
	case MEM_OUT:
		return c->inp_bytes;
	case MEM_ACC:
		return c->acc_bytes;
	case MEM_ACC_8BIT:
		break;
	}
	return c->batch * c->block;
}

static void move(struct vtaops_builder *b, enum ops_module module, const struct ops_move *m,
		 uint64_t opcode)
{
	emit(b, module, ops_move_cycles(m, element_bytes(b->core, m->type)),
	     opcode | (uint64_t)m->type << 7 | (uint64_t)m->sram << 10 | (uint64_t)m->dram << 26,
	     m->rows | (uint64_t)m->cols << 16 | (uint64_t)m->stride << 32 |
		(uint64_t)m->pad_top << 48 | (uint64_t)m->pad_bottom << 52 |
		(uint64_t)m->pad_left << 56 | (uint64_t)m->pad_right << 60);
}

void ops_load(struct vtaops_builder *b, const struct ops_move *m)
{
	move(b, m->type == MEM_INP || m->type == MEM_WGT ? OPS_LOAD : OPS_COMPUTE, m, OP_LOAD);
}

void ops_store(struct vtaops_builder *b, const struct ops_move *m)
{
	move(b, OPS_STORE, m, OP_STORE);
}

void ops_carry(struct vtaops_builder *b, enum ops_mem type)
{
	ops_load(b, &(struct ops_move) { .type = type });
}

static uint64_t loop_word0(const struct vtaops_core *c, const struct ops_loop *l, uint64_t opcode,
			   bool reset)
{
	unsigned int at = 8;
	uint64_t word = opcode | (uint64_t)reset << 7;

	word |= (uint64_t)l->bgn << at;
	at += c->log_uop_depth;
	word |= (uint64_t)l->end << at;
	at += c->log_uop_depth + 1;
	return word | (uint64_t)l->iter_out << at | (uint64_t)l->iter_in << (at + 14);
}

/* A factor of a loop that is run once has no effect, and may not fit its field. */
static uint64_t factor(uint32_t value, uint32_t iterations)
{
	return iterations > 1 ? value : 0;
}

static uint64_t loop_count(const struct ops_loop *l)
{
	return (uint64_t)l->iter_out * l->iter_in * (l->end - l->bgn);
}

void ops_gemm(struct vtaops_builder *b, const struct ops_loop *l, bool reset)
{
	const struct vtaops_core *c = b->core;
	unsigned int acc = c->log_acc_depth, inp = c->log_inp_depth;

	/* The weights do not move in any loop of this library. */
	emit(b, OPS_COMPUTE, 8 + loop_count(l), loop_word0(c, l, OP_GEMM, reset),
	     factor(l->dst_out, l->iter_out) | factor(l->dst_in, l->iter_in) << acc |
	     factor(l->src_out, l->iter_out) << 2 * acc |
	     factor(l->src_in, l->iter_in) << (2 * acc + inp));
}

static uint64_t alu_word1(const struct vtaops_core *c, const struct ops_loop *l, enum ops_alu op)
{
	unsigned int acc = c->log_acc_depth;

	return factor(l->dst_out, l->iter_out) | factor(l->dst_in, l->iter_in) << acc |
	       factor(l->src_out, l->iter_out) << 2 * acc |
	       factor(l->src_in, l->iter_in) << 3 * acc | (uint64_t)op << 4 * acc;
}

void ops_alu(struct vtaops_builder *b, const struct ops_loop *l, enum ops_alu op)
{
	emit(b, OPS_COMPUTE, 8 + 2 * loop_count(l), loop_word0(b->core, l, OP_ALU, false),
	     alu_word1(b->core, l, op));
}

void ops_alu_imm(struct vtaops_builder *b, const struct ops_loop *l, enum ops_alu op, int imm)
{
	unsigned int at = 4 * b->core->log_acc_depth + 3;

	emit(b, OPS_COMPUTE, 8 + loop_count(l), loop_word0(b->core, l, OP_ALU, false),
	     alu_word1(b->core, l, op) | 1ull << at | (uint64_t)(uint16_t)imm << (at + 1));
}

void ops_uop(struct vtaops_builder *b, uint32_t dst, uint32_t src, uint32_t wgt)
{
	const struct vtaops_core *c = b->core;
	unsigned int acc = c->log_acc_depth;
	unsigned int inp = c->log_inp_depth > acc ? c->log_inp_depth : acc;

	if (b->error)
		return;
	if (b->uop) {
		if (b->uops >= b->uop_max) {
			ops_fail(b, VTAOPS_ESPACE, "the storage for micro-ops is full");
			return;
		}
		b->uop[b->uops] = dst | src << acc | (uint32_t)((uint64_t)wgt << (acc + inp));
	}
	b->uops++;
}

uint32_t ops_uop_load(struct vtaops_builder *b, uint32_t count)
{
	uint64_t first = b->uop_addr / 4 + (uint64_t)b->uops - count;
	uint32_t sram = b->uop_sram;
	uint32_t done = 0;

	if (b->error)
		return 0;
	if (first + count > 1ull << 30) {
		ops_fail(b, VTAOPS_EINVAL, "the micro-ops reach beyond the 32-bit address space");
		return 0;
	}
	if (sram + count > ops_depth(b->core->log_uop_depth)) {
		ops_fail_fit(b, "the layer", sram + count, "micro-ops",
			     ops_depth(b->core->log_uop_depth));
		return 0;
	}
	while (done < count) {
		uint32_t cols = min_u32(count - done, SIZE_MAX_16);

		ops_load(b, &(struct ops_move) {
			.type = MEM_UOP, .sram = sram + done, .dram = (uint32_t)first + done,
			.rows = 1, .cols = cols, .stride = cols });
		done += cols;
	}
	b->uop_sram += count;
	return sram;
}

void ops_barrier(struct vtaops_builder *b, unsigned int to_load, unsigned int to_compute)
{
	while (to_load--) {
		ops_wait(b, POP_NEXT);
		ops_carry(b, MEM_INP);
	}
	while (to_compute--) {
		ops_wait(b, POP_NEXT);
		ops_carry(b, MEM_ACC);
	}
	ops_carry(b, MEM_ACC);
	ops_signal(b, PUSH_PREV);
	ops_wait(b, POP_NEXT);
	ops_carry(b, MEM_INP);
	b->uop_sram = 0;
}

uint32_t ops_element(struct vtaops_builder *b, uint32_t addr, uint64_t elements, uint32_t bytes)
{
	if (addr % bytes) {
		ops_fail(b, VTAOPS_EALIGN, "an address is not a multiple of its elements' size");
		return 0;
	}
	if (elements > 1ull << 32 || addr + elements * bytes > 1ull << 32)
		ops_fail(b, VTAOPS_EINVAL, "a tensor reaches beyond the 32-bit address space");
	return addr / bytes;
}
