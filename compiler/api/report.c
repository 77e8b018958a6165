// SPDX-License-Identifier: Apache-2.0
/* The report of a program, for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_impl.h"

#define CLOCK_KHZ	100000u
/* Values whose normalisation is at most 0.6 steps from the exact one: tests/ops/test_norm.c */
#define NORM_NARROW	3000u

static unsigned int clock_of(const struct vtac_report_options *how)
{
	return how->clock_khz ? how->clock_khz : CLOCK_KHZ;
}

/* Milliseconds of the card. */
static double ms_of(const struct vtac_report_options *how, uint64_t cycles)
{
	return (double)cycles / clock_of(how);
}

/* A node that the file has, not one that a pass made to move values. */
static bool is_layer(const struct vtac_node *node)
{
	return node->op != VTAC_COPY && node->op != VTAC_QUANTIZE &&
	       node->op != VTAC_DEQUANTIZE;
}

/* A function's or operator's own name, which is in the file alone. */
static const char *operator_of(const struct vtac_node *node)
{
	bool many = node->op == VTAC_UNARY || node->op == VTAC_BINARY;

	return many && node->file_op ? node->file_op : vtac_op_name(node->op);
}

static double sqnr_of(const struct vtac_report_options *how, const struct vtac_node *node)
{
	const struct vtac_accuracy *a = how->accuracy;
	unsigned int id = node->n_out && node->out[0] ? node->out[0]->id : UINT32_MAX;

	return a && id < a->n_sqnr ? a->sqnr[id] : 0;
}

struct totals {
	unsigned int card, cpu, copies, precise;
	uint64_t copied;
	double work, card_work;		/* multiplications, of all and of the card */
};

static struct totals count_nodes(const struct vtac_program *p)
{
	struct totals t = { 0 };

	for (unsigned int i = 0; i < p->graph->n_nodes; i++) {
		const struct vtac_node *node = p->graph->nodes[i];
		double work = report_multiplications(node);

		t.precise += node->precise;
		t.work += work;
		t.card_work += node->device == VTAC_CARD ? work : 0;
		if (node->op == VTAC_COPY) {
			t.copies++;
			t.copied += (uint64_t)vtac_bytes(node->in[0]);
		} else if (is_layer(node)) {
			t.card += node->device == VTAC_CARD;
			t.cpu += node->device != VTAC_CARD;
		}
	}
	return t;
}

/* ---- text ---- */

static void print_bar(FILE *f, uint64_t part, uint64_t whole)
{
	unsigned int n = whole ? (unsigned int)(part * 20 / whole) : 0;

	for (unsigned int i = 0; i < 20; i++)
		fputs(i < n ? "#" : " ", f);
}

/* A chart beside the figures: so many signs, each for so many dB. */
#define SQNR_CHART	20
#define SQNR_CHART_DB	2.5

#define NAME_CHARS	28u

/* Milliseconds, MB/s of card memory, what limits the node, and KiB of the arena in use. */
static void print_time(FILE *f, const struct vtac_program *p, const struct vtac_node *node,
		       const struct vtac_report_options *how, const struct vtaops_work *work)
{
	uint64_t bytes = work->load_bytes + work->store_bytes, least;
	double ms = ms_of(how, node->cycles);

	fprintf(f, " %8.3f %7.0f %-7s %7" PRIu64, ms, ms > 0 ? (double)bytes / ms / 1e3 : 0,
		work->cycles ? vtaops_limit(work, &least) : "",
		report_live_bytes(p, node->id + 1) / 1024);
}

/* Of an element of its output */
static uint64_t element_cycles(const struct vtac_program *p, const struct vtac_node *node)
{
	return (node->cycles * p->core.inp_bytes + vtac_tensor_bytes(&p->core, node->out[0]) / 2) /
	       vtac_tensor_bytes(&p->core, node->out[0]);
}

static void print_layer(FILE *f, const struct vtac_program *p, const struct vtac_node *node,
			const struct vtac_report_options *how, uint64_t most,
			const struct vtaops_work *work)
{
	double sqnr = sqnr_of(how, node);
	unsigned int chars = NAME_CHARS;
	int bytes = vtac_name_cut(node->name, &chars);
	char buf[128];

	fprintf(f, "%.*s%*s %-14s %-16s %-4s", bytes, node->name, (int)(NAME_CHARS - chars), "",
		operator_of(node),
		vtac_shape_text(node->out[0], buf), node->device == VTAC_CARD ? "card" : "CPU");
	if (node->device == VTAC_CARD) {
		fprintf(f, " %10" PRIu64 " %5.1f%% ", node->cycles,
			p->cycles ? 100.0 * (double)node->cycles / (double)p->cycles : 0);
		print_bar(f, node->cycles, most);
		print_time(f, p, node, how, work);
	} else {
		fprintf(f, " %10s %6s %20s %8s %7s %7s %7s", "", "", "", "", "", "", "");
	}
	if (sqnr > 0) {
		fprintf(f, " %6.1f dB ", sqnr);
		for (int i = 0; i < SQNR_CHART && i * SQNR_CHART_DB < sqnr; i++)
			fputc('=', f);
	}
	fputc('\n', f);
	if (node->device == VTAC_CARD && node->op == VTAC_NORM)
		fprintf(f, "    %s of %" PRIu32 " values in sums of 32 bits, %" PRIu64
			" cycles an element; at most %s steps from the exact result\n",
			node->post.norm.rms ? "root of the mean square" : "mean and variance",
			node->post.norm.c, element_cycles(p, node),
			node->post.norm.c > NORM_NARROW ? "0.7" : "0.6");
	if (node->device == VTAC_CARD && node->post.function)
		fprintf(f, "    %" PRIu32 " ramps, %" PRIu32 " cycles an element; at most %d steps "
			"from the exact result rounded, %.2f from the exact one on average\n",
			node->post.function->formula.count, node->post.function->cycles,
			node->post.function->worst, (double)node->post.function->rms);
	if (node->device != VTAC_CARD && node->why)
		fprintf(f, "    %s\n", node->why);
	if (node->post.low)
		fprintf(f, "    the low 8 of 16 bits of %s, computed with it: "
			"convolutions that add it read both\n", node->out[0]->coarse->name);
	else if (node->out[0]->coarse)
		fprintf(f, "    the rest of %s, in steps of 1/%d of its own\n",
			node->out[0]->coarse->name, node->out[0]->steps);
	if (node->device == VTAC_CARD && node->coarse_why)
		fprintf(f, "    8 bits: %s\n", node->coarse_why);
}

static void print_layers(FILE *f, const struct vtac_program *p,
			 const struct vtac_report_options *how)
{
	struct vtaops_work *work = report_count_work(p);
	static const struct vtaops_work none;
	uint64_t most = 0;

	for (unsigned int i = 0; i < p->graph->n_nodes; i++)
		if (p->graph->nodes[i]->cycles > most)
			most = p->graph->nodes[i]->cycles;
	fprintf(f, "%-*s %-14s %-16s %-4s %10s %6s %-20s %8s %7s %-7s %7s%s\n", (int)NAME_CHARS,
		"node", "operator", "output", "on", "cycles", "share", "", "ms", "MB/s", "limit",
		"KiB", how->accuracy ? "    SQNR" : "");
	for (unsigned int i = 0; i < p->graph->n_nodes; i++)
		if (is_layer(p->graph->nodes[i]))
			print_layer(f, p, p->graph->nodes[i], how, most, work ? &work[i] : &none);
	free(work);
	fprintf(f, "ms and MB/s of card memory at %g MHz; limit: what the cycles are spent on; "
		"KiB: of the arena in use\n", clock_of(how) / 1e3);
}

static void print_memory(FILE *f, const char *what, uint64_t bytes, uint64_t bound)
{
	fprintf(f, "%-22s %10" PRIu64 " bytes", what, bytes);
	if (bound)
		fprintf(f, " (%.2f of the least that lives at one time)",
			(double)bytes / (double)bound);
	fputc('\n', f);
}

static void report_text(const struct vtac_program *p, const struct vtac_report_options *how,
			FILE *f)
{
	struct totals t = count_nodes(p);
	char buf[VTAC_QUANT_TEXT];

	fprintf(f, "Program %s\n\n", p->graph->name[0] ? p->graph->name : "without a name");
	print_layers(f, p, how);
	fprintf(f, "\nnodes on the card      %10u\nnodes on the CPU       %10u\n", t.card, t.cpu);
	if (t.work > 0)
		fprintf(f, "multiplications        %9.2f%% on the card, of %.1f million\n",
			100 * t.card_work / t.work, t.work / 1e6);
	fprintf(f,
		"regions of the card    %10u\ncycles of the card     %10" PRIu64 "\n", p->n_streams,
		p->cycles);
	if (p->cycles)
		fprintf(f,
			"time of the card       %10.3f ms at %g MHz: at most %.1f runs a second\n",
			ms_of(how, p->cycles), clock_of(how) / 1e3, 1e3 / ms_of(how, p->cycles));
	fprintf(f, "copies                 %10u (%" PRIu64 " values)\n", t.copies, t.copied);
	print_memory(f, "weights", p->weight_bytes, 0);
	print_memory(f, "model", p->model.bytes, 0);
	print_memory(f, "card memory", p->card_bytes, p->card_bound);
	print_memory(f, "host memory", p->host_bytes, p->host_bound);
	if (p->graph->how)
		fprintf(f, "integers by            %s\n", vtac_quant_text(p->graph->how, buf));
	if (t.precise)
		fprintf(f, "results of 16 bits     %10u\n", t.precise);
	if (how->accuracy)
		fprintf(f, "same greatest output   %10u of %u images; SQNR of the output %.1f dB\n",
			how->accuracy->agree, how->accuracy->images, how->accuracy->output_sqnr);
	if (how->accuracy && how->accuracy->labelled)
		fprintf(f, "the image's class      %10u of %u images; %u in floats\n",
			how->accuracy->right, how->accuracy->images, how->accuracy->right_float);
}

/* ---- JSON ---- */

static void print_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < 32 ? ' ' : *s, f);
	}
	fputc('"', f);
}

/* The layer that a tensor comes from, through nodes that only move it; NULL: the input. */
static const struct vtac_node *source_of(const struct vtac_tensor *t)
{
	while (t && t->producer && !is_layer(t->producer))
		t = t->producer->n_in ? t->producer->in[0] : NULL;
	return t ? t->producer : NULL;
}

/* Places of layers among the layers, in the order of nodes. */
static unsigned int *number_layers(const struct vtac_graph *g)
{
	unsigned int *numbers = calloc(g->n_nodes + 1u, sizeof(*numbers)), n = 0;

	for (unsigned int i = 0; numbers && i < g->n_nodes; i++)
		if (is_layer(g->nodes[i]))
			numbers[i] = n++;
	return numbers;
}

static void json_place(FILE *f, const struct vtac_node *node, const unsigned int *numbers)
{
	const struct vtac_tensor *out = node->out[0];
	const char *comma = "";

	fputs(", \"shape\": [", f);
	for (int i = 0; i < out->rank; i++)
		fprintf(f, "%s%" PRId64, i ? ", " : "", out->dims[i]);
	fputs("], \"inputs\": [", f);
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_node *from = node->in[i] ? source_of(node->in[i]) : NULL;

		if (!from)
			continue;
		fprintf(f, "%s%u", comma, numbers[from->id]);
		comma = ", ";
	}
	fputc(']', f);
}

static void json_work(FILE *f, const struct vtaops_work *work)
{
	uint64_t least;

	fprintf(f, ", \"limit\": \"%s\"", vtaops_limit(work, &least));
	fprintf(f, ", \"least_cycles\": %" PRIu64 ", \"gemm_uops\": %" PRIu64, least,
		work->gemm_uops);
	fprintf(f, ", \"load_bytes\": %" PRIu64 ", \"store_bytes\": %" PRIu64, work->load_bytes,
		work->store_bytes);
}

static void json_function(FILE *f, const struct vtac_function *y)
{
	fprintf(f, ", \"function\": {\"ramps\": %" PRIu32 ", \"cycles\": %" PRIu32
		", \"worst\": %d, \"rms\": %.3f}", y->formula.count, y->cycles, y->worst,
		(double)y->rms);
}

static void json_norm(FILE *f, const struct vtac_program *p, const struct vtac_node *node)
{
	fprintf(f, ", \"norm\": {\"values\": %" PRIu32 ", \"rms\": %s, \"cycles\": %" PRIu64 "}",
		node->post.norm.c, node->post.norm.rms ? "true" : "false", element_cycles(p, node));
}

/* JSON has neither infinity nor what is not a number. */
static void json_sqnr(FILE *f, double sqnr)
{
	if (isfinite(sqnr))
		fprintf(f, ", \"sqnr\": %.2f", sqnr);
	else
		fputs(", \"sqnr\": null", f);
}

static void json_layer(FILE *f, const struct vtac_program *p, const struct vtac_node *node,
		       const struct vtac_report_options *how, const struct vtaops_work *work,
		       const unsigned int *numbers)
{
	double sqnr = sqnr_of(how, node);

	fprintf(f, "%s\n    {\"name\": ", numbers[node->id] ? "," : "");
	print_string(f, node->name);
	fprintf(f, ", \"operator\": \"%s\", \"device\": \"%s\", \"cycles\": %" PRIu64,
		vtac_op_name(node->op), node->device == VTAC_CARD ? "card" : "cpu", node->cycles);
	json_place(f, node, numbers);
	if (work->cycles)
		json_work(f, work);
	if (node->device != VTAC_CARD && node->why) {
		fputs(", \"why\": ", f);
		print_string(f, node->why);
	}
	if (node->out[0]->coarse) {
		fputs(", \"rest_of\": ", f);
		print_string(f, node->out[0]->coarse->name);
		fprintf(f, ", \"steps\": %d", node->out[0]->steps);
	}
	if (node->device == VTAC_CARD && node->coarse_why) {
		fputs(", \"coarse\": ", f);
		print_string(f, node->coarse_why);
	}
	if (node->device == VTAC_CARD && node->post.function)
		json_function(f, node->post.function);
	if (node->device == VTAC_CARD && node->op == VTAC_NORM)
		json_norm(f, p, node);
	if (sqnr > 0)
		json_sqnr(f, sqnr);
	fputc('}', f);
}

static void json_layers(FILE *f, const struct vtac_program *p,
			const struct vtac_report_options *how)
{
	unsigned int *numbers = number_layers(p->graph);
	struct vtaops_work *work = report_count_work(p);

	for (unsigned int i = 0; numbers && work && i < p->graph->n_nodes; i++)
		if (is_layer(p->graph->nodes[i]))
			json_layer(f, p, p->graph->nodes[i], how, &work[i], numbers);
	free(numbers);
	free(work);
}

/* The arena: blocks with their places, and the steps that they are there in. */
static void json_arena(FILE *f, const struct vtac_program *p)
{
	const char *comma = "";

	fputs("  \"arena\": [", f);
	for (unsigned int i = 0; i < p->graph->n_tensors; i++) {
		const struct vtac_tensor *t = p->graph->tensors[i];

		if (!report_is_block(t))
			continue;
		fprintf(f, "%s\n    {\"name\": ", comma);
		print_string(f, t->name);
		fprintf(f, ", \"offset\": %" PRId64 ", \"bytes\": %" PRIu64, t->offset,
			vtac_tensor_bytes(&p->core, t));
		fprintf(f, ", \"first\": %u, \"last\": %u}", t->first, t->last);
		comma = ",";
	}
	fputs("\n  ],\n", f);
}

static const char *const step_kinds[] = {
	[VTAIMAGE_COPY] = "copy", [VTAIMAGE_RUN] = "run", [VTAIMAGE_CPU] = "cpu",
	[VTAIMAGE_FILL] = "fill",
};

/* The nodes of a RUN, with the first instruction of each in the stream. */
static void json_run(FILE *f, const struct vtac_program *p, const struct vtac_node *first)
{
	const struct vtac_graph *g = p->graph;

	fputs(", \"layers\": [", f);
	for (unsigned int i = first->id; i < g->n_nodes && g->nodes[i]->device == VTAC_CARD; i++) {
		const struct vtac_node *node = g->nodes[i];

		if (node->stream != first->stream)
			break;
		fputs(node == first ? "\n      {\"name\": " : ",\n      {\"name\": ", f);
		print_string(f, node->name);
		fprintf(f, ", \"operator\": \"%s\", \"insn\": %" PRIu32 "}",
			vtac_op_name(node->op), node->insn);
	}
	fputc(']', f);
}

static void json_steps(FILE *f, const struct vtac_program *p)
{
	fputs("  \"steps\": [", f);
	for (unsigned int i = 0; i < p->n_steps; i++) {
		const struct vtac_node *node = p->step_nodes[i];

		fprintf(f, "%s\n    {\"kind\": \"%s\", \"name\": ", i ? "," : "",
			step_kinds[p->steps[i].kind]);
		print_string(f, node->name);
		fprintf(f, ", \"operator\": \"%s\"", vtac_op_name(node->op));
		if (p->steps[i].kind == VTAIMAGE_RUN)
			json_run(f, p, node);
		fputc('}', f);
	}
	fputs("\n  ],\n", f);
}

static void json_inputs(FILE *f, const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_inputs; i++) {
		const struct vtac_tensor *t = g->inputs[i];

		fprintf(f, "%s{\"name\": ", i ? ", " : "");
		print_string(f, t->name);
		fputs(", \"shape\": [", f);
		for (int k = 0; k < t->rank; k++)
			fprintf(f, "%s%" PRId64, k ? ", " : "", t->dims[k]);
		fputs("]}", f);
	}
}

static void report_json(const struct vtac_program *p, const struct vtac_report_options *how,
			FILE *f)
{
	struct totals t = count_nodes(p);
	char buf[VTAC_QUANT_TEXT];

	fputs("{\n  \"name\": ", f);
	print_string(f, p->graph->name);
	fputs(",\n  \"inputs\": [", f);
	json_inputs(f, p->graph);
	fputs("],\n  \"nodes\": [", f);
	json_layers(f, p, how);
	fputs("\n  ],\n", f);
	json_steps(f, p);
	json_arena(f, p);
	fprintf(f, "  \"clock_khz\": %u, \"order\": %u,\n", clock_of(how), p->graph->n_nodes);
	fprintf(f,
		"  \"regions\": %u, \"cycles\": %" PRIu64 ", \"copies\": %u, "
		"\"copied\": %" PRIu64 ", \"precise\": %u,\n",
		p->n_streams, p->cycles, t.copies, t.copied, t.precise);
	fprintf(f, "  \"multiplications\": %.0f, \"multiplications_card\": %.0f,\n", t.work,
		t.card_work);
	fprintf(f,
		"  \"weight_bytes\": %" PRIu64 ", \"model_bytes\": %" PRIu64 ",\n", p->weight_bytes,
		p->model.bytes);
	fprintf(f, "  \"card_bytes\": %" PRIu64 ", \"card_bound\": %" PRIu64 ",\n", p->card_bytes,
		p->card_bound);
	if (p->graph->how)
		fprintf(f, "  \"integers\": \"%s\",\n",
			vtac_quant_text(p->graph->how, buf));
	fprintf(f, "  \"host_bytes\": %" PRIu64 ", \"host_bound\": %" PRIu64, p->host_bytes,
		p->host_bound);
	if (how->accuracy)
		fprintf(f, ",\n  \"images\": %u, \"agree\": %u", how->accuracy->images,
			how->accuracy->agree);
	if (how->accuracy)
		json_sqnr(f, how->accuracy->output_sqnr);
	if (how->accuracy && how->accuracy->labelled)
		fprintf(f, ",\n  \"right\": %u, \"right_float\": %u", how->accuracy->right,
			how->accuracy->right_float);
	fputs("\n}\n", f);
}

void vtac_report(const struct vtac_program *p, const struct vtac_report_options *how, FILE *f)
{
	if (how->json)
		report_json(p, how, f);
	else
		report_text(p, how, f);
}

char *vtac_report_text(const struct vtac_program *p, const struct vtac_report_options *how)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	vtac_report(p, how, f);
	return fclose(f) ? NULL : text;
}
