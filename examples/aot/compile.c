// SPDX-License-Identifier: Apache-2.0
/*
 * compile - lower the residual network ahead of time, and write it as C
 *
 *	compile [NAME=VALUE]... > model.h
 *
 * Runs on the build machine; no card is needed. NAME is of vta_config.json; the others
 * have the values of TVM's default. The output is data: packed weights and biases, one
 * instruction stream for the whole network with its micro-ops, and the device addresses
 * that are in it. A context of the card has all addresses to itself, so they are chosen
 * here, and the program allocates its buffers there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower.h"

#define MODEL_ADDR	0x10000000u	/* constants and stream: card memory */
#define ACTS_ADDR	0x20000000u	/* activations: card memory */
#define IMAGE_ADDR	0x30000000u	/* host memory */
#define SCORES_ADDR	0x38000000u	/* host memory */

struct program {
	struct vtaops_core core;
	struct digits_plan plan;
	size_t insn;		/* offset in the model */
};

static struct {
	const char *name;
	unsigned int value;
} config[] = {
	{ "LOG_INP_WIDTH", 3 }, { "LOG_WGT_WIDTH", 3 }, { "LOG_ACC_WIDTH", 5 },
	{ "LOG_BATCH", 0 }, { "LOG_BLOCK", 4 }, { "LOG_UOP_BUFF_SIZE", 15 },
	{ "LOG_INP_BUFF_SIZE", 15 }, { "LOG_WGT_BUFF_SIZE", 18 }, { "LOG_ACC_BUFF_SIZE", 17 },
};

#define CONFIGS	(sizeof(config) / sizeof(*config))

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "compile: %s: %s\n", what, why);
	exit(1);
}

static void set(const char *arg)
{
	for (size_t i = 0; i < CONFIGS; i++) {
		size_t len = strlen(config[i].name);
		char *end;

		if (strncmp(arg, config[i].name, len) || arg[len] != '=')
			continue;
		config[i].value = (unsigned int)strtoul(arg + len + 1, &end, 10);
		if (*end || !arg[len + 1])
			fail(arg, "not a number");
		return;
	}
	fail(arg, "not of vta_config.json");
}

static struct vtaops_core make_core(void)
{
	struct vtaops_core core = {
		.log_inp_width = config[0].value, .log_wgt_width = config[1].value,
		.log_acc_width = config[2].value, .log_batch = config[3].value,
		.log_block = config[4].value, .log_uop_buff_size = config[5].value,
		.log_inp_buff_size = config[6].value, .log_wgt_buff_size = config[7].value,
		.log_acc_buff_size = config[8].value,
	};

	if (vtaops_core_init(&core))
		fail("configuration", "not a valid one");
	if (core.log_inp_width != 3 || core.log_wgt_width != 3 || core.batch != 1)
		fail("configuration", "the network is of int8, an image at a time");
	return core;
}

/* ---- The stream ---- */

static void push_network(struct vtaops_builder *b, const struct digits_plan *plan)
{
	for (unsigned int i = 0; i < digits_network.layers; i++) {
		digits_lower(b, plan, i, ACTS_ADDR, MODEL_ADDR);
		if (b->error)
			fail(digits_network.layer[i].name, b->why);
	}
	if (vtaops_finish(b))
		fail("the stream", b->why);
}

/* Build all that the card reads from MODEL_ADDR on. */
static uint8_t *build(struct program *p, struct vtaops_builder *b)
{
	struct digits_plan *plan = &p->plan;
	uint8_t *model;
	size_t uops, uop;

	digits_place(plan);
	vtaops_begin(b, &p->core, NULL, 0, NULL, 0, 0);
	push_network(b, plan);
	uops = b->uops;
	p->insn = digits_take(plan, &plan->model_size, b->insns * sizeof(struct vtaops_insn));
	uop = digits_take(plan, &plan->model_size, uops * sizeof(uint32_t));
	plan->model_size = (plan->model_size + 7) / 8 * 8;
	model = calloc(1, plan->model_size);
	if (!model)
		fail("the model", "not enough memory");

	digits_pack(plan, model);
	vtaops_begin(b, &p->core, (struct vtaops_insn *)(model + p->insn), b->insns,
		     (uint32_t *)(model + uop), uops, MODEL_ADDR + (uint32_t)uop);
	push_network(b, plan);
	return model;
}

/* ---- The header ---- */

static void write_words(const uint8_t *model, size_t size)
{
	printf("\nstatic const uint64_t model_data[MODEL_SIZE / 8] = {");
	for (size_t i = 0; i < size / 8; i++) {
		uint64_t word;

		memcpy(&word, model + i * 8, sizeof(word));
		printf("%s0x%" PRIx64 ",", i % 4 ? " " : "\n\t", word);
	}
	printf("\n};\n");
}

/* Write "#define MODEL_NAME VALUE" for an address. */
static void write_addr(const char *name, uint32_t base, size_t offset)
{
	printf("#define MODEL_%s\t0x%08xu\n", name, base + (uint32_t)offset);
}

static void write_header(const struct program *p, const struct vtaops_builder *b,
			 const uint8_t *model)
{
	const unsigned int last = digits_network.layers;
	const struct digits_plan *plan = &p->plan;

	printf("/* Written by compile: %zu instructions, %zu micro-ops, %" PRIu64 " cycles. */\n",
	       b->insns, b->uops, b->cycles);
	printf("#pragma once\n\n#include <stdint.h>\n\n");
	for (size_t i = 0; i < CONFIGS; i++)
		printf("#define MODEL_%s\t%u\n", config[i].name, config[i].value);
	printf("\n#define MODEL_BLOCK\t%u\n", p->core.block);
	write_addr("ADDR", MODEL_ADDR, 0);
	printf("#define MODEL_SIZE\t%zuu\n", plan->model_size);
	write_addr("INSN_ADDR", MODEL_ADDR, p->insn);
	printf("#define MODEL_INSNS\t%zuu\n", b->insns);
	printf("#define MODEL_CYCLES\t%" PRIu64 "u\n", b->cycles);
	write_addr("ACTS_ADDR", ACTS_ADDR, 0);
	printf("#define MODEL_ACTS_SIZE\t%zuu\n", plan->acts_size);
	write_addr("IMAGE_ADDR", IMAGE_ADDR, 0);
	printf("#define MODEL_IMAGE_SIZE\t%zuu\n", digits_act_bytes(plan, 0));
	write_addr("INPUT_ADDR", ACTS_ADDR, plan->act[0]);
	write_addr("SCORES_ADDR", SCORES_ADDR, 0);
	printf("#define MODEL_SCORES_SIZE\t%zuu\n", digits_act_bytes(plan, last));
	write_addr("OUTPUT_ADDR", ACTS_ADDR, plan->act[last]);
	write_words(model, plan->model_size);
}

int main(int argc, char **argv)
{
	struct vtaops_builder b;
	struct program p;
	uint8_t *model;

	for (int i = 1; i < argc; i++)
		set(argv[i]);
	p.core = make_core();
	p.plan = (struct digits_plan) {
		.core = &p.core, .n = 1,
		.align = p.core.wgt_bytes > p.core.acc_bytes ? p.core.wgt_bytes : p.core.acc_bytes,
	};
	model = build(&p, &b);
	write_header(&p, &b, model);
	free(model);
	if (fflush(stdout) || ferror(stdout))
		fail("standard output", "cannot be written");
	return 0;
}
