// SPDX-License-Identifier: Apache-2.0
/* The builder: instruction and micro-op encodings (docs/isa.md, 2 to 7). */
#include "ops_impl.h"

static struct vta_isa_shape shape_of(const struct vtaops_core *c)
{
	struct vta_isa_config config = VTA_ISA_CONFIG_OF(c);

	return vta_isa_shape(&config);
}

int vtaops_core_init(struct vtaops_core *c)
{
	struct vta_isa_config config = VTA_ISA_CONFIG_OF(c);
	struct vta_isa_limit limit;
	struct vta_isa_shape s;

	if (!vta_isa_config_valid(&config, &limit))
		return -VTAOPS_ECORE;
	s = vta_isa_shape(&config);
	c->batch = 1u << c->log_batch;
	c->block = 1u << c->log_block;
	c->inp_bytes = 1u << s.inp_bytes;
	c->wgt_bytes = 1u << s.wgt_bytes;
	c->acc_bytes = 1u << s.acc_bytes;
	c->log_uop_depth = (uint32_t)s.uop;
	c->log_inp_depth = (uint32_t)s.inp;
	c->log_wgt_depth = (uint32_t)s.wgt;
	c->log_acc_depth = (uint32_t)s.acc;
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

static size_t append_text(struct vtaops_builder *b, size_t at, const char *text)
{
	while (*text && at + 1 < sizeof(b->text))
		b->text[at++] = *text++;
	b->text[at] = '\0';
	return at;
}

static size_t append_number(struct vtaops_builder *b, size_t at, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits) - 1;

	digits[i] = '\0';
	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return append_text(b, at, digits + i);
}

int ops_fail_fit(struct vtaops_builder *b, const char *what, uint64_t need, const char *of,
		 uint64_t have)
{
	size_t at;

	if (b->error)
		return b->error;
	at = append_text(b, 0, what);
	at = append_text(b, at, " takes ");
	at = append_number(b, at, need);
	at = append_text(b, at, " ");
	at = append_text(b, at, of);
	at = append_text(b, at, "; ");
	at = append_number(b, at, have);
	append_text(b, at, have == 1 ? " fits" : " fit");
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
	ops_between(b)->stored_from = UINT64_MAX;
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

static void end_operator(struct vtaops_builder *b)
{
	struct ops_between *between = ops_between(b);
	unsigned int pops = b->pops, to_load = between->to_load, to_compute = between->to_compute;

	between->pending = false;
	between->stored_from = UINT64_MAX;
	between->stored_end = 0;
	b->pops = 0;
	while (to_load--) {
		ops_wait(b, VTA_ISA_POP_NEXT);
		ops_carry(b, VTA_ISA_INP);
	}
	while (to_compute--) {
		ops_wait(b, VTA_ISA_POP_NEXT);
		ops_carry(b, VTA_ISA_ACC);
	}
	ops_carry(b, VTA_ISA_ACC);
	ops_signal(b, VTA_ISA_PUSH_PREV);
	ops_wait(b, VTA_ISA_POP_NEXT);
	ops_carry(b, VTA_ISA_INP);
	b->pops = pops;
}

static void emit(struct vtaops_builder *b, enum ops_module module, uint64_t cycles,
		 struct vta_isa_insn insn)
{
	if (b->error)
		return;
	if (ops_between(b)->pending && !ops_between(b)->early)
		end_operator(b);
	if (b->error)
		return;
	ops_between(b)->early = false;
	if (!ops_time_insn(&b->time, module, b->insns, cycles, b->pops)) {
		ops_fail(b, VTAOPS_ECORE, "an operator waits for a token that never comes");
		return;
	}
	if (b->insn) {
		if (b->insns >= b->insn_max) {
			ops_fail(b, VTAOPS_ESPACE, "the storage for instructions is full");
			return;
		}
		b->insn[b->insns] = (struct vtaops_insn) {
			{ insn.word[0] | b->pops, insn.word[1] } };
	}
	b->pops = 0;
	b->insns++;
	b->cycles = ops_time_end(&b->time);
}

int vtaops_finish(struct vtaops_builder *b)
{
	emit(b, OPS_COMPUTE, 1, vta_isa_pack_finish(0));
	return b->error;
}

uint32_t ops_element_bytes(const struct vtaops_core *c, enum vta_isa_memory type)
{
	switch (type) {
	case VTA_ISA_UOP:
		return 4;
	case VTA_ISA_WGT:
		return c->wgt_bytes;
	case VTA_ISA_INP:
	case VTA_ISA_OUT:
		return c->inp_bytes;
	case VTA_ISA_ACC:
		return c->acc_bytes;
	case VTA_ISA_ACC_8BIT:
		break;
	}
	return c->batch * c->block;
}

/* The device address behind the last byte of a LOAD or STORE */
static uint64_t move_end(const struct ops_move *m, uint32_t bytes)
{
	return (m->dram + (m->rows - 1) * (uint64_t)m->stride + m->cols) * bytes;
}

/* Rows that follow each other in memory are one. */
static void join_rows(struct vta_isa_move *m)
{
	uint64_t all = (uint64_t)m->y_size * m->x_size;

	if (m->y_size > 1 && m->x_stride == m->x_size && all <= SIZE_MAX_16 && !m->y_pad_0 &&
	    !m->y_pad_1 && !m->x_pad_0 && !m->x_pad_1) {
		m->x_size = (uint32_t)all;
		m->y_size = 1;
		m->x_stride = 0;
	}
}

static void emit_move(struct vtaops_builder *b, enum ops_module module, const struct ops_move *m,
		      enum vta_isa_opcode opcode)
{
	struct vta_isa_move fields = {
		.memory_type = m->type, .sram_base = m->sram, .dram_base = m->dram,
		.y_size = m->rows, .x_size = m->cols, .x_stride = m->stride,
		.y_pad_0 = m->pad_top, .y_pad_1 = m->pad_bottom,
		.x_pad_0 = m->pad_left, .x_pad_1 = m->pad_right,
	};

	if (!b->error && m->cols && (m->type == VTA_ISA_ACC || m->type == VTA_ISA_ACC_8BIT))
		ops_between(b)->acc_clipped = 0;
	join_rows(&fields);
	emit(b, module, vta_isa_move_cycles(&fields, ops_element_bytes(b->core, m->type)),
	     vta_isa_pack_move(opcode, &fields));
}

void ops_load(struct vtaops_builder *b, const struct ops_move *m)
{
	emit_move(b, m->type == VTA_ISA_INP || m->type == VTA_ISA_WGT ? OPS_LOAD : OPS_COMPUTE, m,
		  VTA_ISA_LOAD);
}

void ops_store(struct vtaops_builder *b, const struct ops_move *m)
{
	uint64_t from = (uint64_t)m->dram * b->core->inp_bytes;
	struct ops_between *between = ops_between(b);

	emit_move(b, OPS_STORE, m, VTA_ISA_STORE);
	if (b->error || !m->cols)
		return;
	between->stored_from = min_u64(between->stored_from, from);
	between->stored_end = max_u64(between->stored_end, move_end(m, b->core->inp_bytes));
}

void ops_carry(struct vtaops_builder *b, enum vta_isa_memory type)
{
	ops_load(b, &(struct ops_move) { .type = type });
}

/* A factor of a loop that is run once has no effect, and may not fit its field. */
static uint32_t factor(uint32_t value, uint32_t iterations)
{
	return iterations > 1 ? value : 0;
}

static struct vta_isa_loop fields_of(const struct ops_loop *l)
{
	return (struct vta_isa_loop) {
		.uop_bgn = l->bgn, .uop_end = l->end,
		.iter_out = l->iter_out, .iter_in = l->iter_in,
		.dst_factor_out = factor(l->dst_out, l->iter_out),
		.dst_factor_in = factor(l->dst_in, l->iter_in),
		.src_factor_out = factor(l->src_out, l->iter_out),
		.src_factor_in = factor(l->src_in, l->iter_in),
		.wgt_factor_out = factor(l->wgt_out, l->iter_out),
		.wgt_factor_in = factor(l->wgt_in, l->iter_in),
	};
}

static void loop(struct vtaops_builder *b, const struct vta_isa_loop *fields)
{
	struct vta_isa_shape s = shape_of(b->core);

	if (!b->error)
		ops_between(b)->acc_clipped = 0;
	emit(b, OPS_COMPUTE, vta_isa_loop_cycles(fields), vta_isa_pack_loop(&s, 0, fields));
}

void ops_gemm(struct vtaops_builder *b, const struct ops_loop *l, bool reset)
{
	struct vta_isa_loop fields = fields_of(l);

	fields.reset = reset;
	loop(b, &fields);
}

void ops_alu(struct vtaops_builder *b, const struct ops_loop *l, enum vta_isa_alu op)
{
	struct vta_isa_loop fields = fields_of(l);

	fields.alu = true;
	fields.alu_opcode = op;
	loop(b, &fields);
}

void ops_alu_imm(struct vtaops_builder *b, const struct ops_loop *l, enum vta_isa_alu op, int imm)
{
	struct vta_isa_loop fields = fields_of(l);

	fields.alu = true;
	fields.alu_opcode = op;
	fields.use_imm = true;
	fields.imm = imm;
	loop(b, &fields);
}

void ops_uop(struct vtaops_builder *b, uint32_t dst, uint32_t src, uint32_t wgt)
{
	const struct vta_isa_uop fields = { dst, src, wgt };
	struct vta_isa_shape s;

	if (b->error)
		return;
	if (b->uop) {
		if (b->uops >= b->uop_max) {
			ops_fail(b, VTAOPS_ESPACE, "the storage for micro-ops is full");
			return;
		}
		s = shape_of(b->core);
		b->uop[b->uops] = vta_isa_pack_uop(&s, &fields);
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
			.type = VTA_ISA_UOP, .sram = sram + done, .dram = (uint32_t)first + done,
			.rows = 1, .cols = cols, .stride = cols });
		done += cols;
	}
	b->uop_sram += count;
	return sram;
}

void ops_barrier(struct vtaops_builder *b, unsigned int to_load, unsigned int to_compute)
{
	struct ops_between *between = ops_between(b);

	if (!b->error && between->pending)
		end_operator(b);
	if (b->error)
		return;
	between->pending = true;
	between->to_load = to_load;
	between->to_compute = to_compute;
	between->wgt_at = 0;
	between->wgt_used = to_load ? ops_depth(b->core->log_wgt_depth) : 0;
	b->uop_sram = 0;
}

bool ops_load_early(struct vtaops_builder *b, const struct ops_move *m)
{
	struct ops_between *between = ops_between(b);
	uint64_t from = (uint64_t)m->dram * b->core->wgt_bytes;
	uint64_t end = move_end(m, b->core->wgt_bytes);

	if (b->error || !between->pending ||
	    (from < between->stored_end && between->stored_from < end) ||
	    (m->sram < between->wgt_at + between->wgt_used &&
	     between->wgt_at < m->sram + m->rows * m->cols))
		return false;
	/* All steps but the last are done then. */
	for (; between->to_load > 1; between->to_load--) {
		ops_wait(b, VTA_ISA_POP_NEXT);
		if (between->to_load > 2) {
			between->early = true;
			ops_carry(b, VTA_ISA_INP);
		}
		if (b->error)
			return false;
	}
	between->early = true;
	return true;
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
