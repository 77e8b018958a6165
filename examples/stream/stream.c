// SPDX-License-Identifier: Apache-2.0
/*
 * stream - send batches through a layer on the card, copying while it computes
 *
 * A pipeline (vtadev_pipeline.h) copies each batch to a slot of card memory, runs
 * the layer and copies the result back. The card's time stamps give the times of the
 * copies, of computing, and of both together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer.h"
#include "vtadev.h"
#include "vtadev_pipeline.h"
#include "vtaprog.h"

#define BATCHES_DEFAULT	32u
#define BATCHES_MAX	4096u
#define SLOTS_MAX	64u

struct options {
	const char *card;
	const struct layer_kind *kind;
	uint32_t batches, slots, ahead;
	bool wait;			/* for each batch before the next */
	double most;			/* of total / max(copy, compute); 0: any */
};

struct stream {
	const struct options *opt;
	struct vtadev *dev;
	struct vtadev_pipeline *pipe;
	struct layer layer;
	/* Card memory: weights and streams; slots of an input and an output each. */
	struct vtadev_buf *model, *slots;
	/* Host memory: of all batches. */
	struct vtadev_buf *in, *out, *stamps;
	uint8_t *want;
	size_t slot_in, slot_bytes;	/* bytes, in whole elements of any kind */
	uint32_t insn[SLOTS_MAX];	/* device address of each slot's stream */
	struct vta_desc descs[VTADEV_STAGES];
};

/* Times by the card's stamps, in ns. */
struct times {
	uint64_t copy, compute, total;
	uint32_t overlapped;		/* copied in before the last was computed */
};

static bool failed(const char *what, int err)
{
	fprintf(stderr, "stream: %s: %s\n", what, vtadev_strerror(err));
	return false;
}

/* ---- Memory ---- */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Weights, biases and a stream for each slot, one after the other. */
static bool build_model(struct stream *s, uint8_t *model, size_t size)
{
	const struct layer *l = &s->layer;
	const uint32_t base = vtadev_buf_addr(s->model);
	const size_t unit = vtadev_info(s->dev)->elem_bytes_max;
	const char *why = "";
	size_t at = 0;
	struct layer_addrs addrs = { .wgt = base };

	at = round_up(l->wgt_bytes, unit);
	addrs.bias = base + (uint32_t)at;
	layer_pack(l, model, model + at);
	at = round_up(at + l->bias_bytes, unit);
	for (uint32_t i = 0; i < s->opt->slots; i++) {
		struct vtaops_insn *insn = (void *)(model + at);
		uint32_t *uop;

		s->insn[i] = base + (uint32_t)at;
		at += l->insns * sizeof(*insn);
		uop = (void *)(model + at);
		addrs.uop = base + (uint32_t)at;
		at = round_up(at + l->uops * sizeof(*uop), unit);
		addrs.in = vtadev_buf_addr(s->slots) + (uint32_t)(i * s->slot_bytes);
		addrs.out = addrs.in + (uint32_t)s->slot_in;
		if (at > size || layer_lower(l, &addrs, insn, uop, &why)) {
			fprintf(stderr, "stream: lowering: %s\n", why);
			return false;
		}
	}
	return true;
}

static size_t model_size(const struct stream *s)
{
	const struct layer *l = &s->layer;
	const size_t unit = vtadev_info(s->dev)->elem_bytes_max;
	size_t stream = l->insns * sizeof(struct vtaops_insn) + l->uops * sizeof(uint32_t);

	return round_up(l->wgt_bytes, unit) + round_up(l->bias_bytes, unit) +
	       s->opt->slots * round_up(stream, unit);
}

static bool load_model(struct stream *s, size_t size)
{
	uint8_t *model = aligned_alloc(4096, round_up(size, 4096));
	bool ok = model;
	int err;

	if (!ok)
		return failed("the model", -ENOMEM);
	memset(model, 0, size);
	ok = build_model(s, model, size);
	if (ok) {
		err = vtadev_buf_write(s->model, 0, model, size);
		ok = !err || failed("writing to the card", err);
	}
	free(model);
	return ok;
}

static bool allocate(struct stream *s)
{
	const size_t unit = vtadev_info(s->dev)->elem_bytes_max;
	const struct layer *l = &s->layer;
	const uint32_t n = s->opt->batches;
	size_t size = model_size(s);
	int err;

	s->slot_in = round_up(l->in_bytes, unit);
	s->slot_bytes = s->slot_in + round_up(l->out_bytes, unit);
	err = vtadev_buf_alloc_at(s->dev, size, VTADEV_CARD, unit, 0, &s->model);
	if (!err)
		err = vtadev_buf_alloc_at(s->dev, s->slot_bytes * s->opt->slots, VTADEV_CARD,
					  unit, 0, &s->slots);
	if (err)
		return failed("card memory", err);
	err = vtadev_buf_alloc(s->dev, l->in_bytes * n, VTADEV_HOST, &s->in);
	if (!err)
		err = vtadev_buf_alloc(s->dev, l->out_bytes * n, VTADEV_HOST, &s->out);
	if (!err)
		err = vtadev_buf_alloc(s->dev, sizeof(struct vta_stamp) * VTADEV_STAGES * n,
				       VTADEV_HOST, &s->stamps);
	s->want = malloc(l->out_bytes * n);
	if (!err && !s->want)
		err = -ENOMEM;
	if (err)
		return failed("host memory", err);
	return load_model(s, size);
}

static bool make_batches(struct stream *s)
{
	const struct layer *l = &s->layer;
	void *in;
	int err = vtadev_buf_map(s->in, &in);

	if (err)
		return failed("mapping host memory", err);
	for (uint32_t i = 0; i < s->opt->batches; i++)
		if (layer_batch(l, i + 1, (uint8_t *)in + i * l->in_bytes,
				s->want + i * l->out_bytes))
			return failed("the batches", -ENOMEM);
	return true;
}

/* ---- Streaming ---- */

static void stamp(const struct stream *s, struct vta_desc *desc, uint64_t batch,
		  enum vtadev_stage stage)
{
	size_t at = ((batch - 1) * VTADEV_STAGES + stage) * sizeof(struct vta_stamp);

	vtadev_desc_stamp(desc, vtadev_buf_addr(s->stamps) + (uint32_t)at);
}

/* Describe batch @number, which has host memory of its own and slot @slot on the card. */
static int fill(void *priv, uint64_t number, unsigned int slot, struct vtadev_batch *batch)
{
	struct stream *s = priv;
	const struct layer *l = &s->layer;
	uint32_t card_in = vtadev_buf_addr(s->slots) + (uint32_t)(slot * s->slot_bytes);
	uint32_t host_in = vtadev_buf_addr(s->in) + (uint32_t)((number - 1) * l->in_bytes);
	uint32_t host_out = vtadev_buf_addr(s->out) + (uint32_t)((number - 1) * l->out_bytes);

	if (s->opt->wait) {
		int err = vtadev_pipeline_drain(s->pipe, -1);

		if (err)
			return err;
	}
	s->descs[VTADEV_STAGE_IN] = vtadev_desc_copy(card_in, host_in, (uint32_t)l->in_bytes);
	s->descs[VTADEV_STAGE_RUN] = vtadev_desc_run(s->insn[slot], (uint32_t)l->insns, 0);
	s->descs[VTADEV_STAGE_OUT] = vtadev_desc_copy(host_out, card_in + (uint32_t)s->slot_in,
						      (uint32_t)l->out_bytes);
	for (unsigned int i = 0; i < VTADEV_STAGES; i++) {
		stamp(s, &s->descs[i], number, (enum vtadev_stage)i);
		batch->descs[i] = &s->descs[i];
		batch->n[i] = 1;
	}
	return 0;
}

static bool run(struct stream *s)
{
	static const struct vtadev_pipeline_ops ops = { .fill = fill };
	struct vtadev_pipeline_opts opts = { .depth = s->opt->slots, .ahead = s->opt->ahead };
	char text[VTADEV_FAULT_TEXT_MAX];
	struct vtadev_fault fault;
	int err;

	err = vtadev_pipeline_create(s->dev, &opts, &s->pipe);
	if (err)
		return failed("making the pipeline", err);
	err = vtadev_pipeline_run(s->pipe, s->opt->batches, &ops, s);
	if (!err)
		return true;
	failed("streaming", err);
	if (!vtadev_pipeline_fault(s->pipe, NULL, &fault) && fault.reason != VTA_FAULT_NONE) {
		vtadev_fault_text(&fault, text, sizeof(text));
		fprintf(stderr, "stream: %s\n", text);
	}
	return false;
}

/* ---- Results ---- */

static uint32_t count_equal(const struct stream *s, const uint8_t *out)
{
	const size_t bytes = s->layer.out_bytes;
	uint32_t equal = 0;

	for (uint32_t i = 0; i < s->opt->batches; i++)
		equal += !memcmp(out + i * bytes, s->want + i * bytes, bytes);
	return equal;
}

static struct times measure(const struct stream *s, const struct vta_stamp *stamps)
{
	uint64_t first = UINT64_MAX, last = 0, computed = 0;
	struct times t = { 0 };

	for (uint32_t i = 0; i < s->opt->batches; i++) {
		const struct vta_stamp *in = &stamps[i * VTADEV_STAGES], *compute = in + 1;
		const struct vta_stamp *out = in + 2;
		uint64_t start = le64toh(in->start), end = le64toh(out->end);

		t.copy += le64toh(in->end) - start + end - le64toh(out->start);
		t.compute += le64toh(compute->end) - le64toh(compute->start);
		t.overlapped += i && start < computed;
		computed = le64toh(compute->end);
		if (start < first)
			first = start;
		if (end > last)
			last = end;
	}
	t.total = last - first;
	return t;
}

static bool report(const struct stream *s, const uint8_t *out, const struct vta_stamp *stamps)
{
	const struct options *opt = s->opt;
	struct times t = measure(s, stamps);
	uint64_t most = t.copy > t.compute ? t.copy : t.compute;
	double ratio = most ? (double)t.total / (double)most : 0;
	uint32_t equal = count_equal(s, out);

	printf("%s, %" PRIu32 " batches: %zu bytes in, %zu out; %" PRIu32 " slots, %" PRIu32
	       " ahead\n", opt->kind->name, opt->batches, s->layer.in_bytes, s->layer.out_bytes,
	       opt->slots, opt->ahead);
	printf("results     %s: %" PRIu32 " of %" PRIu32 " batches equal the CPU's bit for bit\n",
	       equal == opt->batches ? "exact" : "WRONG", equal, opt->batches);
	printf("copy        %.3f ms, by the card's stamps\n", (double)t.copy / 1e6);
	printf("compute     %.3f ms\n", (double)t.compute / 1e6);
	printf("total       %.3f ms, from the first copy in to the last copy out\n",
	       (double)t.total / 1e6);
	printf("overlapped  %" PRIu32 " of %" PRIu32
	       " batches were copied in while the one before was computed\n",
	       t.overlapped, opt->batches - 1);
	printf("total / max(copy, compute) %.4f\n", ratio);
	if (opt->most > 0 && ratio > opt->most) {
		fprintf(stderr, "stream: more than %.4g\n", opt->most);
		return false;
	}
	return equal == opt->batches;
}

static bool finish(const struct stream *s)
{
	void *out, *stamps;
	int err = vtadev_buf_map(s->out, &out);

	if (!err)
		err = vtadev_buf_map(s->stamps, &stamps);
	if (err)
		return failed("mapping host memory", err);
	return report(s, out, stamps);
}

static bool stream_open(struct stream *s)
{
	char text[VTADEV_OPEN_TEXT_MAX];
	const struct vtadev_info *info;
	struct vtaops_core core;
	const char *why;

	if (vtadev_open(s->opt->card, &s->dev)) {
		vtadev_open_text(s->opt->card, text, sizeof(text));
		fprintf(stderr, "stream: %s\n", text);
		return false;
	}
	info = vtadev_info(s->dev);
	if (vtaprog_core(s->dev, &core) || info->log_inp_width != 3 || info->log_wgt_width != 3) {
		fprintf(stderr, "stream: this card's core has no int8 inputs and weights\n");
		return false;
	}
	if (layer_init(&s->layer, s->opt->kind, &core, &why)) {
		fprintf(stderr, "stream: %s: %s\n", s->opt->kind->name, why);
		return false;
	}
	return true;
}

static void stream_close(struct stream *s)
{
	vtadev_pipeline_destroy(s->pipe);
	vtadev_buf_free(s->model);
	vtadev_buf_free(s->slots);
	vtadev_buf_free(s->in);
	vtadev_buf_free(s->out);
	vtadev_buf_free(s->stamps);
	vtadev_close(s->dev);
	layer_free(&s->layer);
	free(s->want);
}

/* ---- The command line ---- */

static int show_usage(void)
{
	fprintf(stderr,
		"usage: stream [-d CARD] [-l LAYER] [-n BATCHES] [-s SLOTS] [-a AHEAD] [-w] [-x MOST]\n"
		"Streams batches through a layer on the card, copying while it computes.\n"
		"  -n  batches (%u)\n"
		"  -s  slots of card memory, 2 to %u (3)\n"
		"  -a  batches handed to the card at a time, from SLOTS (four times SLOTS)\n"
		"  -w  wait for each batch before the next, to see what overlap is worth\n"
		"  -x  fail if total / max(copy, compute) is more than MOST\n"
		"LAYER is one of:\n", BATCHES_DEFAULT, SLOTS_MAX);
	for (const struct layer_kind *k = layer_kinds; k->name; k++)
		fprintf(stderr, "  %-8s %s\n", k->name, k->help);
	return 2;
}

/* Parse a number from @least to @most. Returns 0 if @text is none. */
static uint32_t number(const char *text, unsigned long least, unsigned long most)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && n >= least && n <= most ?
	       (uint32_t)n : 0;
}

static bool parse(int argc, char **argv, struct options *opt)
{
	int option;
	char *end;

	while ((option = getopt(argc, argv, "d:l:n:s:a:wx:")) != -1) {
		switch (option) {
		case 'd':
			opt->card = optarg;
			break;
		case 'l':
			for (opt->kind = layer_kinds; opt->kind->name; opt->kind++)
				if (!strcmp(opt->kind->name, optarg))
					break;
			break;
		case 'n':
			opt->batches = number(optarg, 1, BATCHES_MAX);
			break;
		case 's':
			opt->slots = number(optarg, 2, SLOTS_MAX);
			break;
		case 'a':
			opt->ahead = number(optarg, 2, VTADEV_PIPELINE_AHEAD_MAX);
			if (!opt->ahead)
				return false;
			break;
		case 'w':
			opt->wait = true;
			break;
		case 'x':
			opt->most = strtod(optarg, &end);
			if (*end || !(opt->most >= 1))
				return false;
			break;
		default:
			return false;
		}
	}
	if (!opt->ahead)
		opt->ahead = 4 * opt->slots;
	return optind == argc && opt->kind->name && opt->batches && opt->slots &&
	       opt->ahead >= opt->slots;
}

int main(int argc, char **argv)
{
	struct options opt = { .kind = layer_kinds, .batches = BATCHES_DEFAULT, .slots = 3 };
	struct stream s = { .opt = &opt };
	bool ok;

	if (!parse(argc, argv, &opt))
		return show_usage();
	ok = stream_open(&s) && allocate(&s) && make_batches(&s) && run(&s) && finish(&s);
	stream_close(&s);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "stream: standard output: not all of it was written\n");
		ok = false;
	}
	return ok ? 0 : 1;
}
