// SPDX-License-Identifier: GPL-2.0-only
/* isa_bench.c - cases of the instruction set (see isa_bench.h) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa_bench.h"

#define CASES_MAX	64
#define TARGETS		5
#define STATE_HEADER	64u

static const char * const target_names[TARGETS] = {
	"reference", "in order", "greedy", "random", "model"
};

const struct core_model *(*isa_model)(const struct core_config *cfg);

/* ---- Cases --------------------------------------------------------------- */

static const struct isa_case *cases[CASES_MAX];
static size_t nr_cases;

void isa_add(const struct isa_case *test)
{
	assert_in_range(nr_cases, 0, CASES_MAX - 1);
	cases[nr_cases++] = test;
}

/* A case on one target. */
struct variant {
	const struct isa_case *test;
	enum target target;
	char name[80];
};

static int setup(void **state)
{
	const struct variant *variant = *state;
	struct bench *b = bench_new(&core_config_default, variant->target);

	b->test = variant->test;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bench_free(*state);
	return 0;
}

static void run_case(void **state)
{
	struct bench *b = *state;

	b->test->run(b);
}

int isa_main(const char *group)
{
	static struct variant variants[CASES_MAX * TARGETS];
	static struct CMUnitTest tests[CASES_MAX * TARGETS];
	size_t n = 0;

	for (size_t i = 0; i < nr_cases; i++) {
		for (unsigned int t = 0; t < TARGETS; t++) {
			struct variant *v = &variants[n];

			if (!(cases[i]->targets >> t & 1) || !!isa_model != (1 << t == ON_MODEL))
				continue;
			*v = (struct variant){ .test = cases[i], .target = (enum target)(1 << t) };
			snprintf(v->name, sizeof(v->name), "%s: %s", v->test->name,
				 target_names[t]);
			tests[n++] = (struct CMUnitTest){ v->name, run_case, setup, teardown, v };
		}
	}
	return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

/* ---- Benches ------------------------------------------------------------- */

static void open_target(struct bench *b, const struct core_config *cfg)
{
	b->cfg = *cfg;
	if (b->target == ON_REF) {
		ref_init(&b->ref, cfg);
		return;
	}
	if (b->target == ON_MODEL) {
		const struct core_model *model = isa_model(cfg);

		/* A folder of one's own has the models that it has. */
		if (!model && !getenv("VTA_RTL_DIR"))
			fail_msg("no model of this configuration (make rtl)");
		if (!model) {
			print_message("no model of this configuration\n");
			skip();
		}
		b->core = core_new_model(cfg, model);
		assert_non_null(b->core);
		b->state = calloc(1, core_state_size(cfg));
		assert_non_null(b->state);
		b->known = false;
		b->changed = false;
		return;
	}
	b->core = core_new(cfg, b->target == ON_INORDER ? CORE_ORDER_INORDER :
			   b->target == ON_GREEDY ? CORE_ORDER_GREEDY : CORE_ORDER_RANDOM, 1);
	assert_non_null(b->core);
}

static void close_target(struct bench *b)
{
	free(b->state);
	b->state = NULL;
	if (b->core)
		core_free(b->core);
	else if (b->target == ON_REF)
		ref_free(&b->ref);
	b->core = NULL;
}

struct bench *bench_new(const struct core_config *cfg, enum target target)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->target = target;
	b->mem = (struct flat){ .bytes = calloc(1, SIZE), .base = BASE, .size = SIZE };
	assert_non_null(b->mem.bytes);
	open_target(b, cfg);
	return b;
}

void bench_free(struct bench *b)
{
	close_target(b);
	flat_free(&b->mem);
	free(b);
}

void bench_configure(struct bench *b, const struct core_config *cfg)
{
	close_target(b);
	open_target(b, cfg);
}

void bench_clear(struct bench *b)
{
	b->known = false;
	b->changed = false;
	if (b->core)
		core_clear(b->core);
	else
		ref_clear(&b->ref);
}

/* ---- Streams ------------------------------------------------------------- */

void add(struct bench *b, struct insn insn)
{
	insn_to_bytes(insn, b->mem.bytes + 16 * b->count++);
}

void add_move(struct bench *b, struct insn_move move)
{
	add(b, insn_move(&move));
}

void add_loop(struct bench *b, struct insn_loop loop)
{
	add(b, insn_loop(&b->cfg, &loop));
}

void add_finish(struct bench *b, unsigned int flags)
{
	add(b, insn_finish(flags, (struct insn){ { 0, 0 } }));
}

void add_nothing(struct bench *b, char module, unsigned int flags)
{
	ADD_MOVE(b, .opcode = module == 's' ? INSN_STORE : INSN_LOAD,
		 .memory = module == 'l' ? INSN_INP : INSN_UOP, .flags = flags);
}

void add_row(struct bench *b, enum insn_memory memory, uint32_t sram, uint32_t n)
{
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memory, .sram_base = sram, .y_size = 1,
		 .dram_base = element_at(DATA, insn_element_bytes(&b->cfg, memory)),
		 .x_size = n, .x_stride = n);
}

struct insn_move store_to_result(uint32_t y_size, uint32_t x_size, uint32_t x_stride)
{
	return (struct insn_move){ .opcode = INSN_STORE, .memory = INSN_OUT,
				   .dram_base = element_at(RESULT, OUT_BYTES), .y_size = y_size,
				   .x_size = x_size, .x_stride = x_stride };
}

struct insn_loop gemm_once(uint32_t uop_bgn, uint32_t uop_end)
{
	return (struct insn_loop){ .opcode = INSN_GEMM, .uop_bgn = uop_bgn, .uop_end = uop_end,
				   .iter_out = 1, .iter_in = 1 };
}

static struct flat state_memory(struct bench *b)
{
	return (struct flat){ .bytes = b->state, .base = BASE, .size = core_state_size(&b->cfg) };
}

/* A model has what set_value() has changed; what it has after a run is not known. */
static void restore_state(struct bench *b)
{
	struct flat mem = state_memory(b);
	struct core_fault fault;

	if (b->changed)
		assert_int_equal(core_restore(b->core, &flat_ops, &mem, BASE, &fault), CORE_DONE);
	b->known = false;
	b->changed = false;
}

static enum core_result run_ref(struct bench *b, uint32_t addr, uint32_t count)
{
	const struct ref_mem mem = { b->mem.bytes, b->mem.base, b->mem.size };
	struct ref_fault fault;
	bool done = ref_run(&b->ref, &mem, addr, count, b->schedule, &fault);

	b->fault = (struct core_fault){ .reason = fault.reason, .access = fault.access,
					.insn_index = fault.insn_index };
	memcpy(b->waiting, fault.waiting, sizeof(b->waiting));
	return done ? CORE_DONE : CORE_FAULT;
}

enum core_result run_at(struct bench *b, uint32_t addr, uint32_t count)
{
	if (!b->core)
		return run_ref(b, addr, count);
	restore_state(b);
	return core_run(b->core, &flat_ops, &b->mem, addr, count, b->cycle_limit, &b->stats,
			&b->fault);
}

enum core_result run(struct bench *b)
{
	uint32_t count = b->count;

	b->count = 0;
	return run_at(b, BASE, count);
}

void run_done(struct bench *b)
{
	enum core_result result = run(b);

	if (result != CORE_DONE)
		fail_msg("result %d, reason %d at instruction %u", result, b->fault.reason,
			 b->fault.insn_index);
}

void run_fault(struct bench *b, enum vta_fault_reason reason, enum vta_access access,
	       uint32_t index)
{
	assert_int_equal(run(b), CORE_FAULT);
	assert_int_equal(b->fault.reason, reason);
	assert_int_equal(b->fault.access, access);
	assert_int_equal(b->fault.insn_index, index);
}

void run_page_fault(struct bench *b, enum vta_access access, uint32_t addr)
{
	run_fault(b, VTA_FAULT_PAGE, access, 0);
	if (b->core)
		assert_int_equal(b->fault.addr, addr);
}

uint32_t element_at(uint32_t offset, uint32_t bytes)
{
	return (BASE + offset) / bytes;
}

/* ---- Scratchpads --------------------------------------------------------- */

uint32_t values_of(const struct bench *b, enum insn_memory pad)
{
	uint32_t batch = 1u << b->cfg.log_batch, block = 1u << b->cfg.log_block;

	return pad == INSN_UOP ? 1 : pad == INSN_WGT ? block * block : batch * block;
}

static int32_t *ref_value(const struct bench *b, enum insn_memory pad, uint32_t element,
			  uint32_t n)
{
	const struct ref_pad *pads[] = { &b->ref.uop, &b->ref.wgt, &b->ref.inp, &b->ref.acc };

	return &pads[pad]->v[element * pads[pad]->values + n];
}

/* A weight or an input, as struct core has them: the latter with CORE_INP_ZERO added. */
static uint8_t *core_value(const struct core *core, enum insn_memory pad, uint32_t element,
			   uint32_t n)
{
	uint32_t block = core->block;

	if (pad == INSN_INP)
		return (uint8_t *)core->inp.mem + element * core->inp.elem_size +
		       n / block * core->quads * CORE_QUAD + n % block;
	return (uint8_t *)core->wgt.mem + element * core->wgt.elem_size +
	       core_wgt_offset(block, n / block, n % block);
}

/* The present state of a model, with all elements in use. */
static void know_state(struct bench *b)
{
	struct vta_isa_shape d = core_config_shape(&b->cfg);
	const uint32_t used[] = { 1u << d.uop, 1u << d.inp, 1u << d.wgt, 1u << d.acc };
	struct flat mem = state_memory(b);
	struct core_fault fault;

	if (b->known)
		return;
	memset(b->state, 0, mem.size);
	assert_int_equal(core_save(b->core, &flat_ops, &mem, BASE, &fault), CORE_DONE);
	memcpy(b->state + 16, used, sizeof(used));
	b->known = true;
}

/* The byte of a value in a model's state, and its bits there; an accumulator has four bytes. */
static uint8_t *state_value(const struct bench *b, enum insn_memory pad, uint32_t element,
			    uint32_t n, unsigned int *bit, unsigned int *bits)
{
	const struct core_config *cfg = &b->cfg;
	uint32_t inp = STATE_HEADER + (1u << cfg->log_uop_buff_size);
	uint32_t wgt = inp + (1u << cfg->log_inp_buff_size);
	uint32_t acc = wgt + (1u << cfg->log_wgt_buff_size);
	uint32_t start = pad == INSN_UOP ? STATE_HEADER : pad == INSN_INP ? inp :
			 pad == INSN_WGT ? wgt : acc;
	uint32_t at;

	*bits = pad == INSN_INP ? 1u << cfg->log_inp_width :
		pad == INSN_WGT ? 1u << cfg->log_wgt_width : 32;
	at = (element * values_of(b, pad) + n) * *bits;
	*bit = at % 8;
	return b->state + start + at / 8;
}

static int32_t get_state(struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n)
{
	unsigned int bit, bits;
	const uint8_t *byte;
	int32_t value;

	know_state(b);
	byte = state_value(b, pad, element, n, &bit, &bits);
	if (bits < 32)
		return (int8_t)(*byte << (8 - bits - bit)) >> (8 - bits);
	memcpy(&value, byte, sizeof(value));
	return value;
}

static void set_state(struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n,
		      int32_t value)
{
	unsigned int bit, bits, mask;
	uint8_t *byte;

	know_state(b);
	b->changed = true;
	byte = state_value(b, pad, element, n, &bit, &bits);
	if (bits == 32) {
		memcpy(byte, &value, sizeof(value));
		return;
	}
	mask = ((1u << bits) - 1) << bit;
	*byte = (uint8_t)((*byte & ~mask) | ((uint32_t)value << bit & mask));
}

int32_t get_value(const struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n)
{
	const struct core_uop *uop;

	if (!b->core)
		return *ref_value(b, pad, element, n);
	if (b->state)	/* which is what is known of the core, and not a change of the bench */
		return get_state((struct bench *)b, pad, element, n);
	if (pad == INSN_ACC)
		return ((int32_t *)b->core->acc.mem)[element * values_of(b, pad) + n];
	if (pad == INSN_INP)
		return *core_value(b->core, pad, element, n) - CORE_INP_ZERO;
	if (pad == INSN_WGT)
		return (int8_t)*core_value(b->core, pad, element, n);
	uop = (struct core_uop *)b->core->uop.mem + element;
	return (int32_t)insn_uop(&b->cfg, uop->dst, uop->src, uop->wgt, 0);
}

void set_value(struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n, int32_t value)
{
	if (!b->core) {
		*ref_value(b, pad, element, n) = value;
	} else if (b->state) {
		set_state(b, pad, element, n, value);
	} else if (pad == INSN_ACC) {
		((int32_t *)b->core->acc.mem)[element * values_of(b, pad) + n] = value;
		b->core->acc.used = b->core->acc.depth;
	} else if (pad == INSN_UOP) {
		core_mem_unpack(b->core, VTA_ISA_UOP, element, (const uint8_t *)&value, 1);
		b->core->uop.used = b->core->uop.depth;
	} else {
		if (pad == INSN_INP)
			value += CORE_INP_ZERO;
		*core_value(b->core, pad, element, n) = (uint8_t)value;
		b->core->inp.used = b->core->inp.depth;
		b->core->wgt.used = b->core->wgt.depth;
	}
}

void set_uop(struct bench *b, uint32_t index, uint32_t dst, uint32_t src, uint32_t wgt)
{
	set_value(b, INSN_UOP, index, 0, (int32_t)insn_uop(&b->cfg, dst, src, wgt, 0));
}

void fill_pad(struct bench *b, enum insn_memory pad, uint32_t n, int32_t value)
{
	for (uint32_t i = 0; i < n * values_of(b, pad); i++)
		set_value(b, pad, i / values_of(b, pad), i % values_of(b, pad), value);
}

void assert_element(const struct bench *b, enum insn_memory pad, uint32_t element, int32_t value)
{
	for (uint32_t n = 0; n < values_of(b, pad); n++)
		assert_int_equal(get_value(b, pad, element, n), value);
}

void set_acc(struct bench *b, uint32_t element, int32_t value)
{
	for (uint32_t n = 0; n < values_of(b, INSN_ACC); n++)
		set_value(b, INSN_ACC, element, n, value);
}

void assert_acc(const struct bench *b, uint32_t element, int32_t value)
{
	assert_element(b, INSN_ACC, element, value);
}

int32_t get_acc(const struct bench *b, uint32_t element, uint32_t n)
{
	return get_value(b, INSN_ACC, element, n);
}
