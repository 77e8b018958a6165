// SPDX-License-Identifier: GPL-2.0-only
/* An image of two variants, which need no card. */
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "pair.h"

struct vtaimage_tensor pair_tensor(const char *name, enum vtaimage_role role, uint32_t n,
				   uint32_t offset)
{
	struct vtaimage_tensor t = {
		.role = role, .segment = VTAIMAGE_IN_HOST, .layout = VTAIMAGE_PLAIN,
		.type = VTACPU_F32, .rank = 2, .dims = { 1, n }, .offset = offset, .bytes = 4 * n,
	};

	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

static struct vtaimage_step make_copy(uint32_t n, uint32_t from, uint32_t to)
{
	struct vtaimage_step step = {
		.kind = VTAIMAGE_CPU, .kernel = VTACPU_MOVE,
		.io = { { VTAIMAGE_IN_HOST, from }, { VTAIMAGE_IN_HOST, to } },
	};

	step.params.move = vtacpu_transpose(4, 1, (uint32_t[]) { n }, (uint32_t[]) { 0 });
	return step;
}

void pair_write(struct pair *p)
{
	struct vtaimage v;

	p->size = vtaimage_size_variants(&p->source, p->variants, p->count);
	free(p->image);
	p->image = malloc(p->size);
	if (!p->size || !p->image)
		machine_die("a pair of variants cannot be written");
	vtaimage_write_variants(&p->source, p->variants, p->count, p->image, p->size, &v);
}

void pair_make(struct pair *p, const struct vtaops_core *core)
{
	*p = (struct pair) {
		.tensors = { pair_tensor("x", VTAIMAGE_INPUT, 2, 0),
			     pair_tensor("y", VTAIMAGE_OUTPUT, 2, 64),
			     pair_tensor("x", VTAIMAGE_INPUT, 8, 0),
			     pair_tensor("z", VTAIMAGE_OUTPUT, 8, 64),
			     pair_tensor("y", VTAIMAGE_OUTPUT, 8, 128) },
		.steps = { make_copy(2, 0, 64), make_copy(8, 0, 64), make_copy(8, 64, 128) },
		.variants = { { .tensor_count = 2, .step_count = 1, .report_bytes = 4,
				.report_json_bytes = 2, .host_bytes = 72 },
			      { .tensor_count = 3, .step_count = 2, .report_bytes = 3,
				.report_json_bytes = 0, .host_bytes = 160 } },
	};
	p->source = (struct vtaimage_source) {
		.core = core, .name = "pair", .host_bytes = 160, .steps = p->steps,
		.step_count = 3, .tensors = p->tensors, .tensor_count = 5,
		.text = { { "a\n", 2 }, { "one\ntwo", 7 }, { "{}", 2 } },
	};
	p->count = 2;
	pair_write(p);
}

void pair_free(struct pair *p)
{
	free(p->image);
}
