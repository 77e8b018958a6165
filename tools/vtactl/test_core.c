// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_core.c - test every instruction of the core against docs/isa.md
 */
#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "vta_isa.h"
#include "vtadev.h"

#define INSNS_MAX	80
#define ELEMENTS_MAX	4
#define PARTS_MAX	16	/* of 2 bits each make 32 */

/* The loop of GEMM and ALU: micro-op @uop, @count times; the step of each index. */
struct loop {
	unsigned int uop, count, dst, src;
};

/* ---- Instructions, little-endian; @head is opcode and flags together ---- */

static struct vta_isa_insn little_endian(struct vta_isa_insn insn)
{
	return (struct vta_isa_insn) { { htole64(insn.word[0]), htole64(insn.word[1]) } };
}

static struct vta_isa_shape shape_of(const struct vtadev_info *core)
{
	struct vta_isa_config config = VTA_ISA_CONFIG_OF(core);

	return vta_isa_shape(&config);
}

static struct vta_isa_insn insn_mem(unsigned int head, unsigned int type, unsigned int sram,
				    uint32_t dram, unsigned int count)
{
	const struct vta_isa_move fields = {
		.memory_type = type, .sram_base = sram, .dram_base = dram,
		.y_size = 1, .x_size = count, .x_stride = count,
	};

	return little_endian(vta_isa_pack_move(head, &fields));
}

static struct vta_isa_insn insn_finish(unsigned int flags)
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

static struct vta_isa_insn insn_gemm(const struct vtadev_info *core, unsigned int flags,
				     bool reset, struct loop loop)
{
	struct vta_isa_shape s = shape_of(core);
	struct vta_isa_loop fields = fields_of(loop);

	fields.reset = reset;
	return little_endian(vta_isa_pack_loop(&s, flags, &fields));
}

static struct vta_isa_insn insn_alu(const struct vtadev_info *core, unsigned int flags,
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

static uint32_t insn_uop(const struct vtadev_info *core, unsigned int dst, unsigned int src)
{
	struct vta_isa_shape s = shape_of(core);

	return htole32(vta_isa_pack_uop(&s, &(struct vta_isa_uop) { .dst = dst, .src = src }));
}

/* ---- The stream and its buffers ---- */

/* A buffer whose address is a multiple of an element of any kind. */
struct place {
	struct vtadev_buf *buf;
	size_t offset;
	uint32_t addr;
	uint8_t *data;		/* its contents */
	size_t size;
};

/**
 * struct core_rig - the buffers and accumulators of a stream
 * @count: number of accumulators, 1 to ELEMENTS_MAX
 * @other: the first of as many others; the same ones if there is no room
 * @lanes: values of an accumulator
 * @acc: values to load, then those that are expected
 */
struct core_rig {
	struct card_test *t;
	const struct vtadev_info *core;
	unsigned int count, other, lanes;
	struct place code, uops, inp, wgt, acc, bytes, out;
	struct vta_isa_insn insns[INSNS_MAX];
	unsigned int nr_insns;
	int32_t *want;
};

/* ---- Values ---- */

static int32_t get_value(const uint8_t *at, unsigned int log_width, size_t i)
{
	unsigned int width = 1u << log_width;
	size_t bit = i * width;
	uint32_t word;

	if (width == 32) {
		memcpy(&word, at + 4 * i, sizeof(word));
		return (int32_t)le32toh(word);
	}
	word = (uint32_t)at[bit / 8] >> bit % 8;
	return (int32_t)(word << (32 - width)) >> (32 - width);
}

static void put_random(struct card_test *t, uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)test_random(t);
}

/* ---- Memory ---- */

static int place_make(struct core_rig *rig, struct place *place, size_t size)
{
	size_t align = rig->core->elem_bytes_max;
	int err;

	err = vtadev_buf_alloc(rig->t->dev, size + align, VTADEV_HOST, &place->buf);
	if (err)
		return test_error(rig->t, "host memory", err);
	place->offset = (align - vtadev_buf_addr(place->buf) % align) % align;
	place->addr = vtadev_buf_addr(place->buf) + (uint32_t)place->offset;
	place->size = size;
	place->data = calloc(1, size);
	return place->data ? 0 : test_says(rig->t, "this program has no memory left");
}

static int place_write(struct core_rig *rig, struct place *place)
{
	int err = vtadev_buf_write(place->buf, place->offset, place->data, place->size);

	return err ? test_error(rig->t, "writing a buffer", err) : 0;
}

static void place_free(struct place *place)
{
	vtadev_buf_free(place->buf);
	free(place->data);
}

static void rig_free(struct core_rig *rig)
{
	place_free(&rig->code);
	place_free(&rig->uops);
	place_free(&rig->inp);
	place_free(&rig->wgt);
	place_free(&rig->acc);
	place_free(&rig->bytes);
	place_free(&rig->out);
	free(rig->want);
}

static int rig_make(struct core_rig *rig, struct card_test *t)
{
	const struct vtadev_info *core = vtadev_info(t->dev);

	*rig = (struct core_rig) { .t = t, .core = core };
	rig->count = core->acc_depth >= 2 * ELEMENTS_MAX ? ELEMENTS_MAX :
		     core->acc_depth >= 2 ? core->acc_depth / 2 : 1;
	rig->other = core->acc_depth >= 2 ? rig->count : 0;
	rig->lanes = core->batch * core->block;
	rig->want = calloc(2 * ELEMENTS_MAX, rig->lanes * sizeof(*rig->want));
	if (!rig->want)
		return test_says(t, "this program has no memory left");
	if (place_make(rig, &rig->code, sizeof(rig->insns)) || place_make(rig, &rig->uops, 4) ||
	    place_make(rig, &rig->inp, core->inp_bytes) ||
	    place_make(rig, &rig->wgt, core->wgt_bytes) ||
	    place_make(rig, &rig->acc, (size_t)2 * ELEMENTS_MAX * core->acc_bytes) ||
	    place_make(rig, &rig->bytes, (size_t)2 * ELEMENTS_MAX * rig->lanes) ||
	    place_make(rig, &rig->out, (size_t)PARTS_MAX * ELEMENTS_MAX * core->out_bytes))
		return -1;
	put_random(t, rig->inp.data, rig->inp.size);
	put_random(t, rig->wgt.data, rig->wgt.size);
	put_random(t, rig->acc.data, rig->acc.size);
	put_random(t, rig->bytes.data, rig->bytes.size);
	for (size_t i = 0; i < (size_t)2 * rig->count * rig->lanes; i++)
		rig->want[i] = get_value(rig->acc.data, 5, i);
	return 0;
}

/* ---- Streams ---- */

static void add_insn(struct core_rig *rig, struct vta_isa_insn insn)
{
	if (rig->nr_insns < INSNS_MAX)
		rig->insns[rig->nr_insns++] = insn;
}

/* Loads the only micro-op: accumulator 0, and element @src. */
static void put_uop(struct core_rig *rig, unsigned int src)
{
	uint32_t uop = insn_uop(rig->core, 0, src);

	if (rig->uops.data)
		memcpy(rig->uops.data, &uop, sizeof(uop));
}

static struct loop each(const struct core_rig *rig)
{
	return (struct loop) { .count = rig->count, .dst = 1, .src = 1 };
}

static void add_load(struct core_rig *rig, unsigned int flags, unsigned int type,
		     const struct place *from, unsigned int bytes, unsigned int count)
{
	add_insn(rig, insn_mem(VTA_ISA_LOAD | flags, type, 0, from->addr / bytes, count));
}

/*
 * Stores all 32 bits of the accumulators: STORE writes the low ones, and the ALU shifts the next
 * ones down. The instruction before pushes a token to the store module.
 */
static void add_store(struct core_rig *rig)
{
	unsigned int width = 1u << rig->core->log_inp_width, parts = 32 / width;
	uint32_t out = rig->out.addr / rig->core->out_bytes;

	for (unsigned int i = 0; i < parts; i++) {
		add_insn(rig, insn_mem(VTA_ISA_STORE | VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV,
				       VTA_ISA_OUT, 0, out + i * rig->count, rig->count));
		if (i + 1 < parts)
			add_insn(rig, insn_alu(rig->core, VTA_ISA_POP_NEXT | VTA_ISA_PUSH_NEXT,
					       VTA_ISA_SHR, true, (int)width, each(rig)));
	}
	add_insn(rig, insn_finish(VTA_ISA_POP_NEXT));
}

/* Joins the parts that were stored. */
static int32_t stored(const struct core_rig *rig, size_t i)
{
	unsigned int log_width = rig->core->log_inp_width, width = 1u << log_width;
	size_t values = (size_t)rig->count * rig->lanes;
	uint32_t value = 0, mask = UINT32_MAX >> (32 - width);

	for (unsigned int part = 0; part < 32 / width; part++) {
		const uint8_t *at = rig->out.data + (size_t)part * rig->count *
				    rig->core->out_bytes;
		uint32_t bits = (uint32_t)get_value(at, log_width, i);

		if (i < values)
			value |= (bits & mask) << part * width;
	}
	return (int32_t)value;
}

static int run(struct core_rig *rig, const char *what)
{
	struct vta_desc desc;
	int err;

	memset(rig->code.data, 0, rig->code.size);
	memcpy(rig->code.data, rig->insns, rig->nr_insns * sizeof(*rig->insns));
	if (place_write(rig, &rig->code) || place_write(rig, &rig->uops) ||
	    place_write(rig, &rig->inp) || place_write(rig, &rig->wgt) ||
	    place_write(rig, &rig->acc) || place_write(rig, &rig->bytes))
		return -1;
	desc = vtadev_desc_run(rig->code.addr, rig->nr_insns, 0);
	if (test_do(rig->t, what, &desc, 1))
		return -1;
	err = vtadev_buf_read(rig->out.buf, rig->out.offset, rig->out.data, rig->out.size);
	if (err)
		return test_error(rig->t, "reading the result", err);
	for (size_t i = 0; i < (size_t)rig->count * rig->lanes; i++) {
		if (stored(rig, i) != rig->want[i])
			return test_says(rig->t, "%s: value %zu is %d and not %d", what, i,
					  stored(rig, i), rig->want[i]);
	}
	return 0;
}

/* ---- The tests ---- */

/* Tests a product, added to the accumulators or with reset. */
static void want_product(struct core_rig *rig, bool reset)
{
	const struct vtadev_info *core = rig->core;

	for (unsigned int e = 0; e < rig->count; e++) {
		for (unsigned int i = 0; i < rig->lanes; i++) {
			unsigned int row = i / core->block, col = i % core->block;
			int32_t *want = &rig->want[e * rig->lanes + i];
			uint32_t sum = reset ? 0 : (uint32_t)*want;

			for (unsigned int k = 0; k < core->block; k++)
				sum += (uint32_t)(get_value(rig->inp.data, core->log_inp_width,
							    row * core->block + k) *
						  get_value(rig->wgt.data, core->log_wgt_width,
							    col * core->block + k));
			*want = (int32_t)sum;
		}
	}
}

static int check_gemm(struct card_test *t, bool reset)
{
	struct core_rig rig;
	struct loop loop;
	int ret = rig_make(&rig, t);

	if (!ret) {
		loop = (struct loop) { .count = rig.count, .dst = 1 };
		put_uop(&rig, 0);
		add_load(&rig, 0, VTA_ISA_WGT, &rig.wgt, rig.core->wgt_bytes, 1);
		add_load(&rig, VTA_ISA_PUSH_NEXT, VTA_ISA_INP, &rig.inp, rig.core->inp_bytes, 1);
		add_load(&rig, 0, VTA_ISA_UOP, &rig.uops, 4, 1);
		add_load(&rig, 0, VTA_ISA_ACC, &rig.acc, rig.core->acc_bytes, rig.count);
		if (reset)
			add_insn(&rig, insn_gemm(rig.core, 0, 1, loop));
		add_insn(&rig, insn_gemm(rig.core, VTA_ISA_POP_PREV | VTA_ISA_PUSH_NEXT, false,
					 loop));
		add_store(&rig);
		want_product(&rig, reset);
		ret = run(&rig, reset ? "GEMM with reset" : "GEMM");
	}
	rig_free(&rig);
	return ret;
}

int test_core_gemm(struct card_test *t)
{
	return check_gemm(t, true) ? -1 : check_gemm(t, false);
}

static int32_t alu(unsigned int op, int32_t a, int32_t b)
{
	switch (op) {
	case VTA_ISA_MIN:
		return a < b ? a : b;
	case VTA_ISA_MAX:
		return a > b ? a : b;
	case VTA_ISA_ADD:
		return (int32_t)((uint32_t)a + (uint32_t)b);
	case VTA_ISA_MUL:
		return (int32_t)((uint32_t)a * (uint32_t)b);
	default:
		if (b < 0)
			return b <= -32 ? 0 : (int32_t)((uint32_t)a << -b);
		return a >> (b > 31 ? 31 : b);
	}
}

static int check_alu(struct card_test *t, enum vta_isa_alu op, bool use_imm, int imm)
{
	static const char *const names[] = {
#define NAME(name, number) \
	[number] = #name,
		VTA_ISA_ALU_OPCODES(NAME)
#undef NAME
	};
	struct core_rig rig;
	char what[40];
	int ret = rig_make(&rig, t);

	if (!ret) {
		put_uop(&rig, rig.other);
		add_load(&rig, 0, VTA_ISA_UOP, &rig.uops, 4, 1);
		add_load(&rig, 0, VTA_ISA_ACC, &rig.acc, rig.core->acc_bytes,
			 rig.other + rig.count);
		add_insn(&rig, insn_alu(rig.core, VTA_ISA_PUSH_NEXT, op, use_imm, imm, each(&rig)));
		add_store(&rig);
		for (size_t i = 0; i < (size_t)rig.count * rig.lanes; i++) {
			size_t other = i + (size_t)rig.other * rig.lanes;

			rig.want[i] = alu(op, rig.want[i], use_imm ? imm : rig.want[other]);
		}
		snprintf(what, sizeof(what), "ALU %s of %s", names[op],
			 use_imm ? "an immediate" : "accumulators");
		ret = run(&rig, what);
	}
	rig_free(&rig);
	return ret;
}

int test_core_alu(struct card_test *t)
{
	for (enum vta_isa_alu op = VTA_ISA_MIN; op <= VTA_ISA_MUL; op++)
		if (check_alu(t, op, false, 0) ||
		    check_alu(t, op, true, op == VTA_ISA_SHR ? 3 : 1234) ||
		    check_alu(t, op, true, op == VTA_ISA_SHR ? -5 : -1234))
			return -1;
	return 0;
}

/* Bytes to accumulators, with their sign. */
int test_core_load(struct card_test *t)
{
	struct core_rig rig;
	int ret = rig_make(&rig, t);

	if (!ret) {
		put_uop(&rig, 0);
		add_load(&rig, 0, VTA_ISA_UOP, &rig.uops, 4, 1);
		add_load(&rig, VTA_ISA_PUSH_NEXT, VTA_ISA_ACC_8BIT, &rig.bytes, rig.lanes,
			 rig.count);
		add_store(&rig);
		for (size_t i = 0; i < (size_t)rig.count * rig.lanes; i++)
			rig.want[i] = get_value(rig.bytes.data, 3, i);
		ret = run(&rig, "LOAD of bytes");
	}
	rig_free(&rig);
	return ret;
}
