// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_layers.c - the layers of ResNet-18 on the core's RTL: results, and clocks beside cycles
 *
 * Prints the table of docs/rtl.md. Each layer's output is the CPU's, cycles are those of the core
 * in C, and clocks are at most CLOCKS_RATIO of them. Arguments name layers; without any, all run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NO_MAIN
#include "core/core_model.h"
#include "frame.h"
#include "resnet.h"
#include "rtl.h"

/* Clocks that a layer may take, as a part of its cycles by docs/isa.md, section 9. */
#define CLOCKS_RATIO	1.10

static char **chosen;	/* names of layers, none for all */

static bool is_chosen(const char *name)
{
	char **at = chosen;

	while (*at && strcmp(*at, name))
		at++;
	return *at || !*chosen;
}

TEST(test_layers)
{
	const struct core_config *cfg = &core_config_default;
	struct core_config shallow = *cfg;
	const struct core_model *model;
	unsigned int ran = 0;

	/* Queues that operators' streams must run with: tests/rtl/configs/shallow.json. */
	shallow.log_tokens = 8;
	shallow.log_waiting = 9;
	model = rtl_model(&shallow);
	if (!model) {
		print_message("# no model of tests/rtl/configs/shallow.json (make rtl)\n");
		skip();
	}
	print_message("| layer | cycles | clocks | clocks / cycles | "
		      "micro-ops of GEMM | instructions |\n"
		      "| --- | --- | --- | --- | --- | --- |\n");
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		const struct resnet_layer *l = &resnet_layers[i];
		struct resnet_result r, in_c;
		struct machine m;
		uint64_t clocks;
		double ratio;

		if (!is_chosen(l->name))
			continue;
		emulated_init(&m, cfg, RESNET_MEMORY, CORE_ORDER_GREEDY, 1);
		core_free(m.model);
		m.model = core_new_model(&shallow, model);
		assert_non_null(m.model);
		resnet_run_on(&m, l, 1, &r);
		clocks = core_clocks(m.model);
		emulated_fini(&m);

		resnet_run(l, cfg, 0, &in_c);
		ratio = (double)clocks / (double)r.cycles;
		print_message("| %s | %" PRIu64 " | %" PRIu64 " | %.3f | %" PRIu64 " | %zu |\n",
			      l->name, r.cycles, clocks, ratio, r.gemm_uops, r.insns);
		assert_true(r.exact);
		assert_int_equal(r.cycles, in_c.cycles);
		assert_int_equal(r.gemm_uops, in_c.gemm_uops);
		assert_int_equal(r.alu_uops, in_c.alu_uops);
		if (ratio > CLOCKS_RATIO)
			fail_msg("%s takes %.3f of its cycles", l->name, ratio);
		ran++;
	}
	assert_true(ran);
}

int main(int argc, char **argv)
{
	(void)argc;
	chosen = argv + 1;
	return frame_run(NULL);
}
