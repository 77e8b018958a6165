// SPDX-License-Identifier: Apache-2.0
/*
 * Compile the digits network into a program image, for a core that need not be
 * in this machine.
 *
 *	digits-compile [-b BATCH] [-c LOGS] FILE.vtap
 *
 * LOGS are the core's logarithms, in the order of vta_config.json: widths of
 * inp, wgt and acc, batch, block, buffers of uop, inp, wgt and acc. The default is
 * TVM's: 3,3,5,0,4,15,15,18,17. The image has an input "image" and an output
 * "scores"; vtactl program run runs it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lower.h"
#include "output.h"
#include "vtaimage.h"

#define ALIGN	65536u		/* of any element of any core */
#define ROOM	(8u << 20)	/* for the model: it has some 50,000 weights */

struct network {
	struct vtaops_core core;
	struct digits_plan plan;	/* activations in the arena */
	uint8_t *model;
	struct vtaops_builder builder;
};

static void lower(struct network *net)
{
	for (unsigned int i = 0; i < digits_network.layers; i++)
		digits_lower(&net->builder, &net->plan, i, VTAIMAGE_ARENA, VTAIMAGE_MODEL);
	vtaops_finish(&net->builder);
}

static bool write_image(const struct network *net, size_t insn_at, const char *path)
{
	const struct digits_plan *p = &net->plan;
	unsigned int last = digits_network.layers;
	uint32_t in_bytes = (uint32_t)digits_act_bytes(p, 0);
	uint32_t out_bytes = (uint32_t)digits_act_bytes(p, last);
	const struct vtaimage_tensor tensors[] = {
		{ .name = "image", .role = VTAIMAGE_INPUT, .type = VTACPU_I8, .rank = 4,
		  .dims = { p->n, 1, DIGITS_SIDE, DIGITS_SIDE },
		  .segment = VTAIMAGE_IN_HOST, .bytes = in_bytes },
		{ .name = "scores", .role = VTAIMAGE_OUTPUT, .type = VTACPU_I8, .rank = 4,
		  .dims = { p->n, DIGITS_CLASSES, 1, 1 },
		  .segment = VTAIMAGE_IN_HOST, .offset = in_bytes, .bytes = out_bytes },
	};
	const struct vtaimage_stream stream = { (uint32_t)insn_at, (uint32_t)net->builder.insns,
						net->builder.cycles };
	const struct vtaimage_step steps[] = {
		{ .kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_ARENA, (uint32_t)p->act[0] },
		  .src = { VTAIMAGE_IN_HOST, 0 }, .bytes = in_bytes },
		{ .kind = VTAIMAGE_RUN },
		{ .kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_HOST, in_bytes },
		  .src = { VTAIMAGE_IN_ARENA, (uint32_t)p->act[last] }, .bytes = out_bytes },
	};
	const struct vtaimage_source source = {
		.core = &net->core, .name = "digits", .model = net->model,
		.model_bytes = (uint32_t)p->model_size, .arena_bytes = (uint32_t)p->acts_size,
		.host_bytes = in_bytes + out_bytes, .streams = &stream, .stream_count = 1,
		.steps = steps, .step_count = 3, .tensors = tensors, .tensor_count = 2,
	};
	size_t size = vtaimage_size(&source);
	uint8_t *data = malloc(size + 1);
	struct vtaimage check;
	struct output out;
	int err = -1;

	if (!data || vtaimage_write(&source, data, size, &check)) {
		fprintf(stderr, "digits-compile: %s\n", data ? check.why : "not enough memory");
	} else {
		err = output_open(&out, path, 0666);
		if (!err) {
			fwrite(data, 1, size, out.file);
			err = output_close(&out);
		}
		if (err)
			fprintf(stderr, "digits-compile: %s: %s\n", path, strerror(-err));
	}
	free(data);
	return !err;
}

static bool compile_network(struct network *net, const char *path)
{
	struct vtaops_builder *b = &net->builder;
	struct digits_plan *p = &net->plan;
	size_t insn_at, uop_at;

	digits_place(p);
	if (p->model_size > ROOM / 2) {
		fprintf(stderr, "digits-compile: the weights are too large for this core\n");
		return false;
	}
	digits_pack(p, net->model);
	/* Lower once without storage, to count. */
	vtaops_begin(b, &net->core, NULL, 0, NULL, 0, 0);
	lower(net);
	insn_at = digits_take(p, &p->model_size, b->insns * sizeof(struct vtaops_insn));
	uop_at = digits_take(p, &p->model_size, b->uops * sizeof(uint32_t));
	if (!b->error && p->model_size <= ROOM) {
		vtaops_begin(b, &net->core, (struct vtaops_insn *)(net->model + insn_at), b->insns,
			     (uint32_t *)(net->model + uop_at), b->uops,
			     VTAIMAGE_MODEL + (uint32_t)uop_at);
		lower(net);
	}
	if (b->error || p->model_size > ROOM) {
		fprintf(stderr, "digits-compile: %s\n",
			b->error ? b->why : "the program is too large");
		return false;
	}
	return write_image(net, insn_at, path);
}

int main(int argc, char **argv)
{
	struct network net = { .plan = { .core = &net.core, .n = 1, .align = ALIGN } };
	struct vtaops_core *c = &net.core;
	const char *logs = "3,3,5,0,4,15,15,18,17";
	int opt;
	bool ok;

	while ((opt = getopt(argc, argv, "b:c:")) != -1) {
		if (opt == 'b')
			net.plan.n = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 'c')
			logs = optarg;
		else
			net.plan.n = 0;
	}
	if (!net.plan.n || net.plan.n > 1000 || optind != argc - 1 ||
	    sscanf(logs, "%u,%u,%u,%u,%u,%u,%u,%u,%u", &c->log_inp_width, &c->log_wgt_width,
		   &c->log_acc_width, &c->log_batch, &c->log_block, &c->log_uop_buff_size,
		   &c->log_inp_buff_size, &c->log_wgt_buff_size, &c->log_acc_buff_size) != 9) {
		fprintf(stderr, "usage: digits-compile [-b BATCH] [-c LOGS] FILE.vtap\n");
		return 2;
	}
	if (vtaops_core_init(c) || c->log_inp_width != 3 || c->log_wgt_width != 3) {
		fprintf(stderr, "digits-compile: no core has these logarithms, or not int8\n");
		return 1;
	}
	net.model = calloc(1, ROOM);
	ok = net.model && compile_network(&net, argv[optind]);
	free(net.model);
	return ok ? 0 : 1;
}
