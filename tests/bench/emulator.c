// SPDX-License-Identifier: GPL-2.0-only
/*
 * emulator.c - how fast the emulated core multiplies
 *
 * One GEMM instruction, by the core's own loops and by plain ones on the same
 * data, in turns; the results are compared. The limit is one thread's rate of multiplications
 * (peak.c). It runs on the host, without card and VM.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/core.h"
#include "peak.h"
#include "scalar.h"
#include "vta_isa.h"

#define ROUNDS		25u
#define MEMORY		(2 * MIB)
/* Addresses in the core's memory. */
#define STREAM		0x1000u
#define UOPS		0x10000u
#define INP		0x40000u
#define WGT		0x80000u
#define OUT		0x100000u

/* The default configuration's. */
#define BLOCK		16u
#define INP_DEPTH	2048u
#define WGT_DEPTH	1024u
#define ACC_DEPTH	2048u
#define UOPS_MAX	1024u
#define MACS_PER_UOP	(BLOCK * BLOCK)
#define PEAK_NS		3e8		/* to measure for */

/**
 * struct shape - loops of a GEMM as operators make them
 * @name: for people
 * @uops: how many micro-ops
 * @dst_step: from micro-op to micro-op; and likewise
 * @src_step: inputs
 * @wgt_step: weights
 * @iter: how often the loops go round: outer, inner
 * @dst: factors: outer, inner
 * @src: the same
 * @ratio: the target: so many times as fast as plain loops; 0: none
 * @to_limit: the target: so much of the limit
 */
static const struct shape {
	const char *name;
	uint32_t uops, dst_step, src_step, wgt_step;
	uint32_t iter[2], dst[2], src[2];
	double ratio, to_limit;
} shapes[] = {
	/* All of a 3x3 kernel and 4 input blocks into one output, 14 x 14 outputs. */
	{ "sums", 36, 0, 1, 1, { 14, 14 }, { 14, 1 }, { 16, 1 }, 20, 0.5 },
	/* One weight for 56 outputs at a time, for each tap and block. */
	{ "rows", 56, 1, 1, 0, { 14, 9 }, { 56, 0 }, { 58, 1 }, 20, 0.5 },
	/* Each weight once, as in a fully connected layer. */
	{ "once", UOPS_MAX, 0, 1, 1, { 1, 1 }, { 0, 0 }, { 0, 0 }, 0, 0.25 },
};

struct setup {
	struct core *core;
	struct vta_isa_shape log;
	struct scalar_gemm plain;
	uint8_t *memory;
	double limit;		/* micro-ops a nanosecond */
	uint16_t uops[UOPS_MAX][3];
	uint32_t insns;
};

static enum vta_fault_reason read_memory(void *priv, uint32_t addr, void *buf, size_t len,
					 enum vta_access access, uint32_t *fault_addr)
{
	(void)access;
	(void)fault_addr;
	memcpy(buf, (const uint8_t *)priv + addr, len);
	return VTA_FAULT_NONE;
}

static enum vta_fault_reason write_memory(void *priv, uint32_t addr, const void *buf, size_t len,
					  enum vta_access access, uint32_t *fault_addr)
{
	(void)access;
	(void)fault_addr;
	memcpy((uint8_t *)priv + addr, buf, len);
	return VTA_FAULT_NONE;
}

static bool never_stop(void *priv)
{
	(void)priv;
	return false;
}

static const struct core_mem_ops memory_ops = { read_memory, write_memory, never_stop };

static void put_insn(struct setup *s, struct vta_isa_insn insn)
{
	const uint64_t words[2] = { htole64(insn.word[0]), htole64(insn.word[1]) };

	memcpy(s->memory + STREAM + s->insns++ * sizeof(words), words, sizeof(words));
}

/* Appends a LOAD or STORE of @n elements from the start of memory @type. */
static void put_move(struct setup *s, enum vta_isa_opcode opcode, enum vta_isa_memory type,
		     uint32_t dram, uint32_t n)
{
	put_insn(s, vta_isa_pack_move(opcode, &(struct vta_isa_move) {
		.memory_type = type, .dram_base = dram, .y_size = 1, .x_size = n, .x_stride = n,
	}));
}

/* Returns the ns of the stream so far, which ends here, and starts a new one. */
static double run(struct setup *s)
{
	struct core_stats stats = { 0 };
	struct core_fault fault;
	double start, ns;

	put_insn(s, vta_isa_pack_finish(0));
	start = now_ns();
	must(core_run(s->core, &memory_ops, s->memory, STREAM, s->insns, 0, &stats, &fault) ==
	     CORE_DONE ? 0 : -1, "running a stream");
	ns = now_ns() - start;
	s->insns = 0;
	return ns;
}

static void put_gemm(struct setup *s, const struct shape *shape)
{
	put_insn(s, vta_isa_pack_loop(&s->log, 0, &(struct vta_isa_loop) {
		.uop_end = shape->uops,
		.iter_out = shape->iter[0], .iter_in = shape->iter[1],
		.dst_factor_out = shape->dst[0], .dst_factor_in = shape->dst[1],
		.src_factor_out = shape->src[0], .src_factor_in = shape->src[1],
	}));
}

static void set_up(struct setup *s)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(&core_config_default);

	s->core = must_ptr(core_new(&core_config_default, CORE_ORDER_INORDER, 0), "a core");
	s->log = vta_isa_shape(&config);
	s->memory = must_ptr(calloc(1, MEMORY), "memory");
	s->plain = (struct scalar_gemm) {
		.batch = 1,
		.block = BLOCK,
		.inp = (int8_t *)s->memory + INP,
		.wgt = (int8_t *)s->memory + WGT,
		.acc = must_ptr(calloc(ACC_DEPTH * BLOCK, sizeof(int32_t)), "accumulators"),
		.uops = s->uops,
	};
	srand(1);
	for (uint32_t i = 0; i < INP_DEPTH * BLOCK; i++)
		s->memory[INP + i] = (uint8_t)rand();
	for (uint32_t i = 0; i < WGT_DEPTH * BLOCK * BLOCK; i++)
		s->memory[WGT + i] = (uint8_t)rand();
}

/* Micro-ops and data to the scratchpads, accumulators from zero. */
static void load(struct setup *s, const struct shape *shape)
{
	for (uint32_t u = 0; u < shape->uops; u++) {
		const struct vta_isa_uop uop = {
			u * shape->dst_step, u * shape->src_step, u * shape->wgt_step,
		};
		const uint32_t word = htole32(vta_isa_pack_uop(&s->log, &uop));

		memcpy(s->memory + UOPS + u * sizeof(word), &word, sizeof(word));
		s->uops[u][0] = (uint16_t)uop.dst;
		s->uops[u][1] = (uint16_t)uop.src;
		s->uops[u][2] = (uint16_t)uop.wgt;
	}
	core_clear(s->core);
	put_move(s, VTA_ISA_LOAD, VTA_ISA_UOP, UOPS / 4, shape->uops);
	put_move(s, VTA_ISA_LOAD, VTA_ISA_INP, INP / BLOCK, INP_DEPTH);
	put_move(s, VTA_ISA_LOAD, VTA_ISA_WGT, WGT / (BLOCK * BLOCK), WGT_DEPTH);
	run(s);
	memset(s->plain.acc, 0, ACC_DEPTH * BLOCK * sizeof(int32_t));
	s->plain.uop_end = shape->uops;
	memcpy(s->plain.iter, shape->iter, sizeof(shape->iter));
	memcpy(s->plain.dst, shape->dst, sizeof(shape->dst));
	memcpy(s->plain.src, shape->src, sizeof(shape->src));
}

static double run_plain(struct setup *s)
{
	double start = now_ns();

	scalar_gemm(&s->plain);
	return now_ns() - start;
}

/* Compares the low bytes of all accumulators, which STORE writes. */
static void compare(struct setup *s)
{
	put_move(s, VTA_ISA_STORE, VTA_ISA_OUT, OUT / BLOCK, ACC_DEPTH);
	run(s);
	for (uint32_t i = 0; i < ACC_DEPTH * BLOCK; i++)
		must(s->memory[OUT + i] == (uint8_t)s->plain.acc[i] ? 0 : -1,
		     "the core's result is not that of plain loops");
}

static void one_shape(struct bench *bench, struct setup *s, const struct shape *shape)
{
	double uops = (double)shape->uops * shape->iter[0] * shape->iter[1];
	struct json_object *to = json_sub(bench->results, shape->name);
	static struct samples core, plain;
	struct times by_core, by_loops;
	double to_limit;
	char what[80];

	core.count = 0;
	plain.count = 0;
	load(s, shape);
	for (unsigned int i = 0; i < bench_times(bench, ROUNDS); i++) {
		put_gemm(s, shape);
		sample(&core, run(s));
		sample(&plain, run_plain(s));
	}
	compare(s);
	by_core = times_in(&core);
	by_loops = times_in(&plain);
	to_limit = uops / by_core.least / s->limit;
	printf("%-8s %16.1f %16.1f %8.1f %9.3f\n", shape->name, uops * 1e3 / by_core.median,
	       uops * 1e3 / by_loops.median, by_loops.median / by_core.median, to_limit);
	json_num(to, "uops", uops);
	json_num(to, "macs", uops * BLOCK * BLOCK);
	json_object_object_add(to, "core", json_times(by_core));
	json_object_object_add(to, "plain_loops", json_times(by_loops));
	json_num(to, "to_limit", to_limit);
	json_num(to, "ratio", by_loops.median / by_core.median);
	fprintf(bench->dat, "%s %g %g\n", shape->name, uops * 1e3 / by_loops.median,
		uops * 1e3 / by_core.median);
	snprintf(what, sizeof(what), "GEMM by the emulator / by plain loops, %s", shape->name);
	if (shape->ratio > 0)
		bench_target(bench, what, by_loops.median / by_core.median, AT_LEAST,
			     shape->ratio);
	snprintf(what, sizeof(what), "GEMM by the emulator / the limit, %s", shape->name);
	bench_target(bench, what, to_limit, AT_LEAST, shape->to_limit);
}

int main(int argc, char **argv)
{
	struct bench bench;
	struct setup s = { 0 };

	bench_begin(&bench, "emulator", argc, argv);
	set_up(&s);
	s.limit = peak_host(bench.quick ? 1 : PEAK_NS).int8 / MACS_PER_UOP / 1e9;
	printf("\nGEMM: millions of micro-ops (256 multiply-adds each) per second\n");
	printf("one thread at most %.1f, by the best instructions of this processor\n",
	       s.limit * 1e3);
	printf("%-8s %16s %16s %8s %9s\n", "loops", "emulated core", "plain loops", "ratio",
	       "to limit");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		one_shape(&bench, &s, &shapes[i]);
	core_free(s.core);
	free(s.plain.acc);
	free(s.memory);
	bench_end(&bench);
	return 0;
}
