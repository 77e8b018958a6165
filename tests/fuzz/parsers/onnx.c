// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of ONNX models and the passes that need no images: what they make of any
 * bytes is a graph that holds what passes rely on, or a sentence. Small graphs are run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/kernel.h"
#include "api/vtac.h"

#define MEMORY		(16u << 20)
#define WORK_MAX	1000000u

static int zeros(void *priv, const struct vtac_tensor *t, void *data)
{
	(void)priv;
	memset(data, 0, (size_t)vtac_bytes(t));
	return 0;
}

/* An error has a sentence. */
static int failed(const struct vtac_graph *g)
{
	if (!g->error.text[0])
		abort();
	return -1;
}

/* Estimates the time of a run, and checks that every node has kernels. */
static int work(struct vtac_graph *g, uint64_t *sum)
{
	struct vtac_call *calls;
	unsigned int n;

	*sum = 0;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		if (vtac_is_shape_op(g->nodes[i]->op)) {
			*sum += (uint64_t)vtac_elements(g->nodes[i]->out[0]);
			continue;
		}
		if (vtac_calls(g, g->nodes[i], &calls, &n))
			return failed(g);
		for (unsigned int k = 0; k < n; k++)
			*sum += calls[k].need.work;
	}
	return 0;
}

static int run(struct vtac_graph *g)
{
	const struct vtac_interp io = { .input = zeros };
	uint64_t sum;

	if (work(g, &sum))
		return -1;
	return sum > WORK_MAX || !vtac_interp_float(g, &io) ? 0 : failed(g);
}

static int compile(struct vtac_graph *g, const uint8_t *data, size_t size)
{
	struct vtac_options opt = {
		.core = {
			.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5,
			.log_block = 4, .log_uop_buff_size = 15, .log_inp_buff_size = 15,
			.log_wgt_buff_size = 18, .log_acc_buff_size = 17,
		},
	};

	if (vtaops_core_init(&opt.core))
		abort();
	if (vtac_read_onnx_memory(g, data, size, NULL) || vtac_run_passes(g, &opt, "fuse"))
		return failed(g);
	if (run(g))
		return -1;
	return vtac_run_passes(g, &opt, "pad_channels") ? failed(g) : run(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vtac_graph *g = vtac_graph_new(MEMORY);

	if (!g)
		return 0;
	if (compile(g, data, size) && g->error.internal)
		abort();
	vtac_graph_free(g);
	return 0;
}
