// SPDX-License-Identifier: GPL-2.0-only
/*
 * goals.c - where the compiler places well-known architectures
 *
 * networks.py makes the files, with random weights. Nothing is executed: regions, bytes over PCIe,
 * multiplications and cycles are those of the program.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/report_impl.h"
#include "api/vtac.h"
#include "goals.h"

#define IMAGES	2

/* Limits of a network; 0: none */
struct goal {
	const char *name;
	bool whole;		/* one region, and its inputs and outputs alone cross PCIe */
	double multiplications;	/* part of them on the card, at least */
	double roofline;	/* share of it, at least */
};

static const struct goal goals[] = {
	{ "shufflenet_v2", true, 0, 0 }, { "mobilenet_v3", true, 0, 0 },
	{ "efficientnet_b0", true, 0, 0 }, { "regnet_y", true, 0, 0 }, { "unet", true, 0, 0 },
	{ "convnext", true, 0, 0 }, { "yolo", true, 0, 0 }, { "vit_b", false, 0.99, 0 },
	{ "bert_base", false, 0.99, 0 }, { "resnet50", false, 0, 0.8 },
};

/* Figures of a compiled network */
struct placed {
	unsigned int regions;
	double bytes;		/* over PCIe, for each value of inputs and outputs */
	double card, all;	/* multiplications */
	double roofline;	/* share of it */
	uint64_t cycles;
};

/* Uniform noise, the same in each run. */
static int read_noise(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	uint64_t state = i + 1;

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		values[k] = (float)(int32_t)(state >> 32) / 2147483648.0f * 2;
	}
	return 0;
}

/* Bytes that cross PCIe in a run */
static uint64_t copied(const struct vtac_program *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->n_steps; i++) {
		const struct vtaimage_step *s = &p->steps[i];

		if (s->kind == VTAIMAGE_COPY && s->src.segment != s->dst.segment)
			sum += (uint64_t)s->bytes * (s->rows ? s->rows : 1);
	}
	return sum;
}

static struct placed place(const struct vtac_program *p)
{
	const struct vtac_graph *g = p->graph;
	struct placed to = { .regions = p->n_streams, .cycles = p->cycles };
	uint64_t least = 0;
	double values = 0;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		double work = report_multiplications(node);

		to.all += work;
		to.card += node->device == VTAC_CARD ? work : 0;
		if (node->device == VTAC_CARD && node->cycles)
			least += model_roofline(node, &p->core);
	}
	for (unsigned int i = 0; i < g->n_inputs; i++)
		values += (double)vtac_elements(g->inputs[i]);
	for (unsigned int i = 0; i < g->n_outputs; i++)
		values += (double)vtac_elements(g->outputs[i]);
	to.bytes = (double)copied(p) / values;
	to.roofline = p->cycles ? (double)least / (double)p->cycles : 0;
	return to;
}

/* Nothing is searched: accuracy with random weights says little. */
static void compile(const char *path, const struct vtaops_core *core, struct placed *to)
{
	static const struct vtac_quant_options plain = {
		.range = VTAC_RANGE_MAX, .residual = VTAC_RESIDUAL_FUSED,
		.equalise = VTAC_EQUALISE_NONE, .split = VTAC_SPLIT_NONE,
		.merge = VTAC_MERGE_SUMS, .functions = VTAC_FUNCTIONS_FAST,
		.padding = VTAC_PADDING_POINT,
	};
	const struct vtac_images images = { .count = IMAGES, .read = read_noise };
	const struct vtac_options opt = {
		.core = *core, .no_prune = true, .quant = &plain, .images = &images };
	struct vtac_graph *g = vtac_graph_new(0);
	struct vtac_program p;

	must(g ? 0 : -1, "out of memory");
	if (vtac_read_onnx(g, path) || vtac_compile(g, &opt, &p)) {
		fprintf(stderr, "model: %s: %s\n", path, g->error.text);
		exit(1);
	}
	*to = place(&p);
	vtac_program_free(&p);
	vtac_graph_free(g);
}

static void set_target(struct bench *bench, const char *name, const char *what, double value,
		       enum aim aim, double limit)
{
	char text[120];

	snprintf(text, sizeof(text), "%s, %s", what, name);
	bench_target(bench, text, value, aim, limit);
}

static void one_goal(struct bench *bench, const struct goal *goal, const struct vtaops_core *core)
{
	struct json_object *to = json_sub(json_sub(bench->results, "architectures"), goal->name);
	char path[300], command[700];
	struct placed p;

	snprintf(path, sizeof(path), "%s/%s.onnx", bench->out, goal->name);
	snprintf(command, sizeof(command), "/usr/bin/python3 tests/bench/networks.py %s '%s'",
		 goal->name, path);
	must(system(command) ? -1 : 0, "networks.py failed");
	compile(path, core, &p);
	unlink(path);
	printf("%-16s %7u %9.2f %8.2f%% %10llu %6.3f\n", goal->name, p.regions, p.bytes,
	       100 * p.card / p.all, (unsigned long long)p.cycles, p.roofline);
	json_num(to, "regions", p.regions);
	json_num(to, "bytes_over_pcie_per_value", p.bytes);
	json_num(to, "multiplications", p.all);
	json_num(to, "multiplications_on_the_card", p.card);
	json_num(to, "cycles", (double)p.cycles);
	json_num(to, "share_of_roofline", p.roofline);
	if (goal->whole) {
		set_target(bench, goal->name, "regions", p.regions, AT_MOST, 1);
		set_target(bench, goal->name, "bytes over PCIe for a value", p.bytes, AT_MOST, 1);
	}
	if (goal->multiplications > 0)
		set_target(bench, goal->name, "multiplications on the card", p.card / p.all,
			   AT_LEAST, goal->multiplications);
	if (goal->roofline > 0)
		set_target(bench, goal->name, "share of the rooflines", p.roofline, AT_LEAST,
			   goal->roofline);
}

void model_goals(struct bench *bench, const struct vtaops_core *core)
{
	printf("\narchitectures with random weights (networks.py), 16x16\n");
	printf("%-16s %7s %9s %9s %10s %6s\n", "network", "regions", "bytes/val", "on card",
	       "cycles", "share");
	if (system("/usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null")) {
		printf("SKIP: no python3-onnx\n");
		json_text(json_sub(bench->results, "architectures"), "left_out", "no python3-onnx");
		return;
	}
	for (unsigned int i = 0; i < sizeof(goals) / sizeof(goals[0]); i++)
		if (!bench->quick || i < 1)
			one_goal(bench, &goals[i], core);
}
