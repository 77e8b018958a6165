// SPDX-License-Identifier: GPL-2.0-only
/* ref.c - a plain interpreter of VTA's instruction set (see ref.h) */

#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum { OP_LOAD, OP_STORE, OP_GEMM, OP_FINISH, OP_ALU };
enum { MEM_UOP, MEM_WGT, MEM_INP, MEM_ACC, MEM_OUT, MEM_ACC_8BIT };
enum { ALU_MIN, ALU_MAX, ALU_ADD, ALU_SHR, ALU_MUL };

/* One instruction and what its fields are taken from. */
struct insn {
	uint32_t index;
	uint64_t word[2];
};

/* One run: what the functions below pass around. */
struct run {
	struct ref *ref;
	const struct ref_mem *mem;
	struct ref_fault *fault;
};

static uint64_t bits(uint64_t word, unsigned int pos, unsigned int width)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < width; i++)
		value |= (word >> (pos + i) & 1) << i;
	return value;
}

/* Takes the fields of a word one after the other, from bit @pos up. */
static uint32_t next(uint64_t word, unsigned int *pos, unsigned int width)
{
	uint32_t value = (uint32_t)bits(word, *pos, width);

	*pos += width;
	return value;
}

static bool fail(struct run *run, const struct insn *insn, enum vta_fault_reason reason,
		 enum vta_access access)
{
	run->fault->reason = reason;
	run->fault->access = access;
	run->fault->insn_index = insn->index;
	return false;
}

static unsigned int log2_of(uint32_t power)
{
	unsigned int log = 0;

	while (1u << log < power)
		log++;
	return log;
}

/* ---- Values in memory ---------------------------------------------------- */

static int32_t sign_extend(uint32_t raw, unsigned int width)
{
	if (width < 32 && (raw >> (width - 1) & 1))
		raw |= ~0u << width;
	return (int32_t)raw;
}

/* Value @n of an array whose values are @width bits wide. */
static int32_t get_value(const uint8_t *bytes, uint32_t n, unsigned int width)
{
	uint32_t raw = 0;

	if (width < 8)
		return sign_extend(bytes[n * width / 8] >> (n * width % 8) & ((1u << width) - 1),
				   width);
	for (unsigned int i = 0; i < width / 8; i++)
		raw |= (uint32_t)bytes[n * (width / 8) + i] << (8 * i);
	return sign_extend(raw, width);
}

static void put_value(uint8_t *bytes, uint32_t n, unsigned int width, int32_t value)
{
	uint32_t raw = (uint32_t)value;

	if (width < 8) {
		uint8_t *byte = &bytes[n * width / 8];
		unsigned int shift = n * width % 8;
		uint32_t mask = ((1u << width) - 1) << shift;

		*byte = (uint8_t)((*byte & ~mask) | (raw << shift & mask));
		return;
	}
	for (unsigned int i = 0; i < width / 8; i++)
		bytes[n * (width / 8) + i] = (uint8_t)(raw >> (8 * i));
}

/* @len bytes of memory at device address @addr; NULL when not all are there. */
static uint8_t *at(const struct ref_mem *mem, uint64_t addr, uint64_t len)
{
	if (addr < mem->base || addr + len > (uint64_t)mem->base + mem->size)
		return NULL;
	return mem->bytes + (addr - mem->base);
}

/* ---- LOAD and STORE ------------------------------------------------------ */

struct move {
	uint32_t memory_type, sram_base, dram_base;
	uint32_t y_size, x_size, x_stride;
	uint32_t y_pad_0, y_pad_1, x_pad_0, x_pad_1;
};

static struct move decode_move(const struct insn *insn)
{
	unsigned int p0 = 7, p1 = 0;
	struct move m;

	m.memory_type = next(insn->word[0], &p0, 3);
	m.sram_base = next(insn->word[0], &p0, 16);
	m.dram_base = next(insn->word[0], &p0, 32);
	m.y_size = next(insn->word[1], &p1, 16);
	m.x_size = next(insn->word[1], &p1, 16);
	m.x_stride = next(insn->word[1], &p1, 16);
	m.y_pad_0 = next(insn->word[1], &p1, 4);
	m.y_pad_1 = next(insn->word[1], &p1, 4);
	m.x_pad_0 = next(insn->word[1], &p1, 4);
	m.x_pad_1 = next(insn->word[1], &p1, 4);
	return m;
}

static struct ref_pad *load_pad(struct ref *ref, uint32_t memory_type)
{
	switch (memory_type) {
	case MEM_UOP:
		return &ref->uop;
	case MEM_WGT:
		return &ref->wgt;
	case MEM_INP:
		return &ref->inp;
	case MEM_ACC:
	case MEM_ACC_8BIT:
		return &ref->acc;
	}
	return NULL;
}

static bool run_load(struct run *run, const struct insn *insn)
{
	struct move m = decode_move(insn);
	struct ref_pad *pad = load_pad(run->ref, m.memory_type);
	enum vta_access access = m.memory_type == MEM_UOP ? VTA_ACCESS_UOP : VTA_ACCESS_LOAD;
	uint32_t rows = m.y_pad_0 + m.y_size + m.y_pad_1;
	uint32_t columns = m.x_pad_0 + m.x_size + m.x_pad_1;
	uint64_t element_bytes;
	unsigned int width;

	if (m.x_size == 0)
		return true;
	if (!pad)
		return fail(run, insn, VTA_FAULT_INSN, VTA_ACCESS_NONE);

	width = m.memory_type == MEM_ACC_8BIT ? 8 : pad->width;
	element_bytes = pad->values * width / 8;
	for (uint32_t y = 0; y < rows; y++) {
		for (uint32_t x = 0; x < columns; x++) {
			uint32_t index = m.sram_base + y * columns + x;
			bool data = y >= m.y_pad_0 && y < m.y_pad_0 + m.y_size &&
				    x >= m.x_pad_0 && x < m.x_pad_0 + m.x_size;
			const uint8_t *src = NULL;

			if (index >= pad->depth)
				return fail(run, insn, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE);
			if (data) {
				uint64_t element = (uint64_t)m.dram_base +
						   (uint64_t)(y - m.y_pad_0) * m.x_stride +
						   (x - m.x_pad_0);

				src = at(run->mem, element * element_bytes, element_bytes);
				if (!src)
					return fail(run, insn, VTA_FAULT_PAGE, access);
			}
			for (uint32_t n = 0; n < pad->values; n++)
				pad->v[index * pad->values + n] =
					src ? get_value(src, n, width) : 0;
		}
	}
	return true;
}

static bool run_store(struct run *run, const struct insn *insn)
{
	struct move m = decode_move(insn);
	const struct ref_pad *acc = &run->ref->acc;
	unsigned int width = run->ref->inp.width;
	uint64_t element_bytes = acc->values * width / 8;

	if (m.x_size == 0)
		return true;
	if (m.y_pad_0 || m.y_pad_1 || m.x_pad_0 || m.x_pad_1 || m.memory_type != MEM_OUT)
		return fail(run, insn, VTA_FAULT_INSN, VTA_ACCESS_NONE);

	for (uint32_t y = 0; y < m.y_size; y++) {
		for (uint32_t x = 0; x < m.x_size; x++) {
			uint32_t index = m.sram_base + y * m.x_size + x;
			uint64_t element = (uint64_t)m.dram_base + (uint64_t)y * m.x_stride + x;
			uint8_t *dst;

			if (index >= acc->depth)
				return fail(run, insn, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE);
			dst = at(run->mem, element * element_bytes, element_bytes);
			if (!dst)
				return fail(run, insn, VTA_FAULT_PAGE, VTA_ACCESS_STORE);
			for (uint32_t n = 0; n < acc->values; n++)
				put_value(dst, n, width, acc->v[index * acc->values + n]);
		}
	}
	return true;
}

/* ---- GEMM and ALU -------------------------------------------------------- */

struct loop {
	bool reset;
	uint32_t uop_bgn, uop_end, iter_out, iter_in;
	uint32_t dst_out, dst_in, src_out, src_in;
	uint32_t wgt_out, wgt_in;	/* GEMM only */
	uint32_t alu_opcode;		/* and the following: ALU only */
	bool use_imm;
	int32_t imm;
};

/* The micro-op's indices, advanced by the two loops. */
struct indices {
	uint32_t dst, src, wgt;
};

static struct loop decode_loop(const struct ref *ref, const struct insn *insn, bool gemm)
{
	unsigned int uop = log2_of(ref->uop.depth), acc = log2_of(ref->acc.depth);
	unsigned int inp = log2_of(ref->inp.depth), wgt = log2_of(ref->wgt.depth);
	unsigned int p0 = 7, p1 = 0;
	struct loop l = { 0 };

	l.reset = next(insn->word[0], &p0, 1);
	l.uop_bgn = next(insn->word[0], &p0, uop);
	l.uop_end = next(insn->word[0], &p0, uop + 1);
	l.iter_out = next(insn->word[0], &p0, 14);
	l.iter_in = next(insn->word[0], &p0, 14);
	l.dst_out = next(insn->word[1], &p1, acc);
	l.dst_in = next(insn->word[1], &p1, acc);
	l.src_out = next(insn->word[1], &p1, gemm ? inp : acc);
	l.src_in = next(insn->word[1], &p1, gemm ? inp : acc);
	if (gemm) {
		l.wgt_out = next(insn->word[1], &p1, wgt);
		l.wgt_in = next(insn->word[1], &p1, wgt);
	} else {
		l.alu_opcode = next(insn->word[1], &p1, 3);
		l.use_imm = next(insn->word[1], &p1, 1);
		l.imm = sign_extend(next(insn->word[1], &p1, 16), 16);
	}
	return l;
}

static struct indices decode_uop(const struct ref *ref, const struct loop *l, uint32_t u,
				 uint32_t i, uint32_t j)
{
	unsigned int acc = log2_of(ref->acc.depth), inp = log2_of(ref->inp.depth);
	unsigned int wgt = log2_of(ref->wgt.depth), pos = 0;
	uint32_t uop = (uint32_t)ref->uop.v[u];
	struct indices x;

	x.dst = next(uop, &pos, acc) + i * l->dst_out + j * l->dst_in;
	x.src = next(uop, &pos, acc > inp ? acc : inp) + i * l->src_out + j * l->src_in;
	x.wgt = next(uop, &pos, wgt) + i * l->wgt_out + j * l->wgt_in;
	return x;
}

static bool gemm_one(struct run *run, const struct loop *l, struct indices x)
{
	struct ref *ref = run->ref;
	uint32_t batch = 1u << ref->cfg.log_batch, block = 1u << ref->cfg.log_block;
	int32_t *acc;

	if (x.dst >= ref->acc.depth)
		return false;
	acc = &ref->acc.v[x.dst * ref->acc.values];
	if (l->reset) {
		for (uint32_t n = 0; n < ref->acc.values; n++)
			acc[n] = 0;
		return true;
	}
	if (x.src >= ref->inp.depth || x.wgt >= ref->wgt.depth)
		return false;

	for (uint32_t b = 0; b < batch; b++) {
		for (uint32_t o = 0; o < block; o++) {
			const int32_t *inp = &ref->inp.v[x.src * ref->inp.values + b * block];
			const int32_t *wgt = &ref->wgt.v[x.wgt * ref->wgt.values + o * block];
			uint32_t sum = (uint32_t)acc[b * block + o];

			for (uint32_t k = 0; k < block; k++)
				sum += (uint32_t)inp[k] * (uint32_t)wgt[k];
			acc[b * block + o] = (int32_t)sum;
		}
	}
	return true;
}

static int32_t shift(int32_t a, int32_t n)
{
	if (n >= 32)
		n = 31;
	if (n <= -32)
		return 0;
	if (n < 0)
		return (int32_t)((uint32_t)a << -n);
	return a >> n;
}

static int32_t alu(uint32_t opcode, int32_t a, int32_t b)
{
	switch (opcode) {
	case ALU_MIN:
		return a < b ? a : b;
	case ALU_MAX:
		return a > b ? a : b;
	case ALU_ADD:
		return (int32_t)((uint32_t)a + (uint32_t)b);
	case ALU_SHR:
		return shift(a, b);
	default:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	}
}

static bool alu_one(struct run *run, const struct loop *l, struct indices x)
{
	const struct ref_pad *acc = &run->ref->acc;

	if (x.dst >= acc->depth || (!l->use_imm && x.src >= acc->depth))
		return false;
	for (uint32_t n = 0; n < acc->values; n++) {
		int32_t *dst = &acc->v[x.dst * acc->values + n];
		int32_t b = l->use_imm ? l->imm : acc->v[x.src * acc->values + n];

		*dst = alu(l->alu_opcode, *dst, b);
	}
	return true;
}

static bool run_loop(struct run *run, const struct insn *insn, bool gemm)
{
	struct loop l = decode_loop(run->ref, insn, gemm);

	if (!gemm && l.alu_opcode > ALU_MUL)
		return fail(run, insn, VTA_FAULT_INSN, VTA_ACCESS_NONE);

	for (uint32_t i = 0; i < l.iter_out; i++) {
		for (uint32_t j = 0; j < l.iter_in; j++) {
			for (uint32_t u = l.uop_bgn; u < l.uop_end; u++) {
				struct indices x;
				bool ok;

				if (u >= run->ref->uop.depth)
					return fail(run, insn, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE);
				x = decode_uop(run->ref, &l, u, i, j);
				ok = gemm ? gemm_one(run, &l, x) : alu_one(run, &l, x);
				if (!ok)
					return fail(run, insn, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE);
			}
		}
	}
	return true;
}

/* ---- Modules and tokens -------------------------------------------------- */

/* One module's instructions, in order, and how many of them are done. */
struct queue {
	struct insn *insns;
	uint32_t count, done;
};

static const int prev_of[REF_MODULES] = { -1, REF_LOAD, REF_COMPUTE };
static const int next_of[REF_MODULES] = { REF_COMPUTE, REF_STORE, -1 };

static bool pops(const struct insn *insn, int module, int from)
{
	return from >= 0 &&
	       ((from == prev_of[module] && bits(insn->word[0], 3, 1)) ||
		(from == next_of[module] && bits(insn->word[0], 4, 1)));
}

static bool pushes(const struct insn *insn, int module, int to)
{
	return to >= 0 &&
	       ((to == prev_of[module] && bits(insn->word[0], 5, 1)) ||
		(to == next_of[module] && bits(insn->word[0], 6, 1)));
}

static bool can_start(const struct ref_tokens *t, const struct insn *insn, int module)
{
	for (int from = 0; from < REF_MODULES; from++)
		if (pops(insn, module, from) && t->count[from][module] == 0)
			return false;
	return true;
}

/* The module that runs an instruction, or -1 for one that none can. */
static int module_of(const struct insn *insn)
{
	uint32_t memory_type = (uint32_t)bits(insn->word[0], 7, 3);

	switch (bits(insn->word[0], 0, 3)) {
	case OP_LOAD:
		if (memory_type == MEM_INP || memory_type == MEM_WGT)
			return REF_LOAD;
		return REF_COMPUTE;
	case OP_STORE:
		return REF_STORE;
	case OP_GEMM:
	case OP_ALU:
	case OP_FINISH:
		return REF_COMPUTE;
	}
	return -1;
}

/* Fetch all of the count, each instruction to its module's queue. */
static bool dispatch(struct run *run, uint32_t insn_addr, uint32_t insn_count,
		     struct queue queues[REF_MODULES])
{
	for (uint32_t index = 0; index < insn_count; index++) {
		const uint8_t *bytes = at(run->mem, (uint64_t)insn_addr + 16ull * index, 16);
		struct insn insn = { .index = index };
		int module;

		if (!bytes)
			return fail(run, &insn, VTA_FAULT_PAGE, VTA_ACCESS_INSN);
		for (int i = 0; i < 16; i++)
			insn.word[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
		module = module_of(&insn);
		if (module < 0)
			return fail(run, &insn, VTA_FAULT_INSN, VTA_ACCESS_NONE);
		queues[module].insns[queues[module].count++] = insn;
	}
	return true;
}

static bool execute(struct run *run, const struct insn *insn)
{
	switch (bits(insn->word[0], 0, 3)) {
	case OP_LOAD:
		return run_load(run, insn);
	case OP_STORE:
		return run_store(run, insn);
	case OP_GEMM:
		return run_loop(run, insn, true);
	case OP_ALU:
		return run_loop(run, insn, false);
	default:	/* FINISH has no effect */
		return true;
	}
}

static bool report_deadlock(struct run *run, const struct queue queues[REF_MODULES])
{
	run->fault->reason = VTA_FAULT_DEADLOCK;
	run->fault->access = VTA_ACCESS_NONE;
	run->fault->insn_index = VTA_FAULT_NO_INSN;
	for (int m = 0; m < REF_MODULES; m++) {
		const struct queue *q = &queues[m];

		run->fault->waiting[m] = q->done < q->count ? q->insns[q->done].index :
							      VTA_FAULT_NO_INSN;
		if (run->fault->waiting[m] < run->fault->insn_index)
			run->fault->insn_index = run->fault->waiting[m];
	}
	return false;
}

/* Let one module that can move do one instruction, until none can. */
static bool run_modules(struct run *run, struct queue queues[REF_MODULES], uint64_t schedule)
{
	struct ref_tokens *tokens = &run->ref->tokens;

	if (!run->ref->keep_tokens)
		memset(tokens, 0, sizeof(*tokens));
	run->ref->keep_tokens = false;
	for (;;) {
		struct queue *q = NULL;
		const struct insn *insn;
		int module = 0;

		/* Knuth's MMIX generator; its high bits are the random ones. */
		if (schedule)
			schedule = schedule * 6364136223846793005ull + 1442695040888963407ull;
		for (int turn = 0; turn < REF_MODULES && !q; turn++) {
			module = (int)(((schedule >> 33) + (uint64_t)turn) % REF_MODULES);
			q = &queues[module];
			if (q->done == q->count ||
			    !can_start(tokens, &q->insns[q->done], module))
				q = NULL;
		}
		if (!q)
			break;

		insn = &q->insns[q->done];
		for (int from = 0; from < REF_MODULES; from++)
			if (pops(insn, module, from))
				tokens->count[from][module]--;
		if (!execute(run, insn))
			return false;
		for (int to = 0; to < REF_MODULES; to++)
			if (pushes(insn, module, to))
				tokens->count[module][to]++;
		q->done++;
	}

	for (int m = 0; m < REF_MODULES; m++)
		if (queues[m].done < queues[m].count)
			return report_deadlock(run, queues);
	return true;
}

bool ref_run(struct ref *ref, const struct ref_mem *mem, uint32_t insn_addr,
	     uint32_t insn_count, uint64_t schedule, struct ref_fault *fault)
{
	struct run run = { .ref = ref, .mem = mem, .fault = fault };
	struct queue queues[REF_MODULES] = { 0 };
	/* No more than the memory can hold are ever fetched. */
	uint32_t most = insn_count < mem->size / 16 ? insn_count : mem->size / 16;
	bool ok;

	memset(fault, 0, sizeof(*fault));
	if (insn_count == 0)
		return true;
	if (insn_addr % 16) {
		fault->reason = VTA_FAULT_ALIGN;
		fault->access = VTA_ACCESS_INSN;
		fault->insn_index = VTA_FAULT_NO_INSN;
		return false;
	}
	for (int m = 0; m < REF_MODULES; m++) {
		queues[m].insns = calloc((size_t)most + 1, sizeof(struct insn));
		if (!queues[m].insns)
			abort();
	}
	ok = dispatch(&run, insn_addr, insn_count, queues) &&
	     run_modules(&run, queues, schedule);
	for (int m = 0; m < REF_MODULES; m++)
		free(queues[m].insns);
	return ok;
}

/* ---- Scratchpads --------------------------------------------------------- */

/* A scratchpad of 2^log_bytes bytes in elements of @values values. */
static void pad_init(struct ref_pad *pad, unsigned int log_bytes, uint32_t values,
		     unsigned int width)
{
	pad->values = values;
	pad->width = width;
	pad->depth = (uint32_t)(8ull * (1ull << log_bytes) / ((uint64_t)values * width));
	pad->v = calloc((size_t)pad->depth * values, sizeof(*pad->v));
	if (!pad->v)
		abort();
}

void ref_init(struct ref *ref, const struct core_config *cfg)
{
	uint32_t batch = 1u << cfg->log_batch, block = 1u << cfg->log_block;

	ref->cfg = *cfg;
	ref->keep_tokens = false;
	pad_init(&ref->uop, cfg->log_uop_buff_size, 1, 32);
	pad_init(&ref->inp, cfg->log_inp_buff_size, batch * block, 1u << cfg->log_inp_width);
	pad_init(&ref->wgt, cfg->log_wgt_buff_size, block * block, 1u << cfg->log_wgt_width);
	pad_init(&ref->acc, cfg->log_acc_buff_size, batch * block, 1u << cfg->log_acc_width);
}

void ref_free(struct ref *ref)
{
	free(ref->uop.v);
	free(ref->inp.v);
	free(ref->wgt.v);
	free(ref->acc.v);
}

void ref_clear(struct ref *ref)
{
	struct ref_pad *pads[] = { &ref->uop, &ref->inp, &ref->wgt, &ref->acc };

	for (int i = 0; i < 4; i++)
		memset(pads[i]->v, 0, (size_t)pads[i]->depth * pads[i]->values * sizeof(int32_t));
}

void ref_keep_tokens(struct ref *ref)
{
	ref->keep_tokens = true;
}
