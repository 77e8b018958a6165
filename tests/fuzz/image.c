// SPDX-License-Identifier: GPL-2.0-only
/*
 * image.c - program images from anyone (docs/program-image.md)
 *
 * An image that is opened is placed and run: it may fault, but no address of its is
 * outside its segments, and its model stays as it is. Each input is taken as it
 * is, and once more with the size and the checksum that it should have.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "image.h"
#include "machine.h"
#include "net.h"
#include "pair.h"
#include "steps.h"

#define MEM_SIZE	(1u << 20)
#define GAP		4096u		/* between the segments, of no use to the program */
#define CYCLES_MAX	100000u
#define STEPS_MAX	64u
#define WORK_MAX	100000u

static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 },
	{ 1, 3, 5, 0, 5, 12, 13, 15, 15, 2, 0, 0 },
};

static void check(bool good, const char *what)
{
	if (!good)
		machine_die("%s", what);
}

static void check_tensors(const struct vtaimage *image)
{
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		struct vtaimage_tensor t;

		vtaimage_tensor(image, i, &t);
		check((uint64_t)t.offset + t.bytes <=
		      (t.segment == VTAIMAGE_IN_ARENA ? image->arena_bytes : image->host_bytes),
		      "a tensor is outside");
		check(t.role == VTAIMAGE_INTERNAL || t.segment == VTAIMAGE_IN_HOST,
		      "an input or output is outside");
		check(strnlen(t.name, sizeof(t.name)) < sizeof(t.name), "a name has no end");
		check(vtaimage_find(image, t.name) == (int)i, "a tensor is not found");
	}
}

/* A step: CPU steps that take long are left out. */
static void run_step(struct steps *s, const struct vtaimage_step *step)
{
	struct vtaimage_stream stream;
	struct core_fault fault;
	struct vtacpu_need need;

	if (step->kind == VTAIMAGE_RUN) {
		vtaimage_stream(&s->image, step->stream, &stream);
		if (emulated_try(s->machine, s->model + stream.insn_at, stream.insn_count,
				 CYCLES_MAX, &fault))
			check(fault.reason != VTA_FAULT_PAGE,
			      "the program reaches beyond its segments");
		return;
	}
	if (step->kind == VTAIMAGE_CPU &&
	    (vtacpu_need(step->kernel, &step->params, &need) || need.work > WORK_MAX))
		return;
	steps_do(s, step);
}

/* Memory of the image's core, all of it in use. */
static void run(const struct vtaimage *image)
{
	const struct vtaops_core *c = &image->core;
	const struct core_config cfg = {
		c->log_inp_width, c->log_wgt_width, c->log_acc_width, c->log_batch, c->log_block,
		c->log_uop_buff_size, c->log_inp_buff_size, c->log_wgt_buff_size,
		c->log_acc_buff_size, 2, 0, 0,
	};
	struct steps s = { .image = *image };
	struct vtaimage_step step;
	uint32_t before_arena;
	uint8_t *before;
	struct machine m;

	if ((uint64_t)image->model_bytes + image->arena_bytes + 4 * GAP + 4ull * image->align >
	    MEM_SIZE || image->host_bytes > MEM_SIZE || image->step_count > STEPS_MAX)
		return;
	emulated_init(&m, &cfg, MEM_SIZE, CORE_ORDER_GREEDY, 1);
	machine_alloc(&m, GAP);
	steps_place(&s, &m);
	before_arena = s.arena - m.base;
	before = malloc(before_arena);
	check(before && !vtaimage_fits(&s.image, &m.core), "not its own core's");
	memcpy(before, m.mem, before_arena);
	for (uint32_t i = 0; i < image->step_count; i++) {
		vtaimage_step(image, i, &step);
		run_step(&s, &step);
	}
	check(!memcmp(before, m.mem, before_arena), "the program writes outside its arena");
	free(before);
	steps_fini(&s);
	emulated_fini(&m);
}

static void open_and_run(const uint8_t *data, size_t size)
{
	struct vtaimage image;

	if (vtaimage_open(&image, data, size)) {
		check(image.why[0] && strnlen(image.why, sizeof(image.why)) < sizeof(image.why),
		      "a refusal without a reason");
		return;
	}
	for (uint32_t i = 0; !vtaimage_variant(&image, i, &image); i++) {
		check_tensors(&image);
		run(&image);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	open_and_run(data, size);
	if (size < HEADER_BYTES)
		return 0;
	copy = malloc(size);
	check(copy, "out of memory");
	memcpy(copy, data, size);
	put64(copy + AT_MAGIC, IMAGE_MAGIC);
	put32(copy + AT_VERSION, IMAGE_VERSION);
	put64(copy + AT_SIZE, size);
	put32(copy + AT_CRC, image_crc(copy, size));
	open_and_run(copy, size);
	free(copy);
	return 0;
}

uint8_t *fuzz_seed(unsigned int i, size_t *size)
{
	enum { NETS = 2 * sizeof(cores) / sizeof(cores[0]) };
	struct vtaops_core core;
	struct pair pair;
	struct net net;
	uint8_t *seed;

	if (i > NETS)
		return NULL;
	core = emulated_core(&cores[i < NETS ? i / 2 : 0]);
	check(!vtaops_core_init(&core), "a seed's core is not valid");
	if (i == NETS) {
		pair_make(&pair, &core);
		*size = pair.size;
		return pair.image;
	}
	net_compile(&net, &core, i);
	seed = i % 2 ? mixed_compile(&net, size) : net.image;
	if (seed == net.image) {
		*size = net.size;
		net.image = NULL;
	}
	net_free(&net);
	return seed;
}
