// SPDX-License-Identifier: Apache-2.0
/*
 * Classify handwritten digits on a VTA card.
 *
 *	digits [-d CARD] [-b BATCH] [-r ROUNDS] [-p] TESTSET
 *
 * All layers run on the card. The start compiles them into instruction streams, and
 * copies these and the weights to card memory. Each batch is one submission of six
 * descriptors (images in, four layers, scores out) and one wait. Every score is
 * compared with the CPU's (network.c).
 *
 * -p shows a progress bar even if the output is no terminal.
 *
 * Exit status: 0 if all scores are equal, 1 if not or on any error, 2 for a
 * wrong command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lower.h"
#include "testset.h"
#include "vtadev.h"
#include "vtaprog.h"

#define BATCH_DEFAULT	100
#define BATCH_MAX	1000
/* For a simulated card. The driver ends a wait for a card that hangs. */
#define WAIT_NS		(600 * 1000000000ll)

/* A network on a card. */
struct net {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtaops_core core;
	struct digits_plan plan;	/* offsets in acts and model */
	struct {
		size_t insn, uop;	/* offsets in model */
		size_t insns, uops;
	} stream[DIGITS_LAYERS_MAX];
	struct vtadev_buf *model;	/* card: weights, biases, streams */
	struct vtadev_buf *acts;	/* card: the input and each layer's output */
	struct vtadev_buf *images;	/* host: packed images */
	struct vtadev_buf *scores;	/* host: packed scores */
	void *images_map, *scores_map;
	struct vta_desc work[DIGITS_LAYERS_MAX + 2];
	size_t insns, uops;
};

/* Print what failed and why. Returns false. */
static bool failed(struct net *net, const char *what, int err)
{
	struct vtadev_fault fault;
	char text[VTADEV_FAULT_TEXT_MAX];

	fprintf(stderr, "digits: %s: %s\n", what, vtadev_strerror(err));
	if (err == -EIO && net->queue && !vtadev_fault(net->queue, &fault)) {
		vtadev_fault_text(&fault, text, sizeof(text));
		fprintf(stderr, "digits: %s\n", text);
	}
	return false;
}

static bool not_open(const char *card)
{
	char why[VTADEV_OPEN_TEXT_MAX];

	vtadev_open_text(card, why, sizeof(why));
	fprintf(stderr, "digits: %s\n", why);
	return false;
}

/* Lower layer @i; without storage this only counts. */
static bool lower(struct net *net, unsigned int i, uint8_t *model, struct vtaops_builder *b)
{
	uint32_t acts = net->acts ? vtadev_buf_addr(net->acts) : 0;
	uint32_t addr = net->model ? vtadev_buf_addr(net->model) : 0;

	if (model)
		vtaops_begin(b, &net->core, (struct vtaops_insn *)(model + net->stream[i].insn),
			     net->stream[i].insns, (uint32_t *)(model + net->stream[i].uop),
			     net->stream[i].uops, addr + (uint32_t)net->stream[i].uop);
	else
		vtaops_begin(b, &net->core, NULL, 0, NULL, 0, 0);
	digits_lower(b, &net->plan, i, acts, addr);
	if (vtaops_finish(b)) {
		fprintf(stderr, "digits: layer %s: %s\n", digits_network.layer[i].name, b->why);
		return false;
	}
	return true;
}

static bool plan(struct net *net)
{
	struct digits_plan *p = &net->plan;
	struct vtaops_builder b;

	digits_place(p);
	for (unsigned int i = 0; i < digits_network.layers; i++) {
		if (!lower(net, i, NULL, &b))
			return false;
		net->stream[i].insns = b.insns;
		net->stream[i].uops = b.uops;
		net->insns += b.insns;
		net->uops += b.uops;
		net->stream[i].insn = digits_take(p, &p->model_size,
						  b.insns * sizeof(struct vtaops_insn));
		net->stream[i].uop = digits_take(p, &p->model_size, b.uops * sizeof(uint32_t));
	}
	return true;
}

/* Write weights, biases and streams as the card reads them. */
static bool build_model(struct net *net, uint8_t *model)
{
	struct vtaops_builder b;

	digits_pack(&net->plan, model);
	for (unsigned int i = 0; i < digits_network.layers; i++)
		if (!lower(net, i, model, &b))
			return false;
	return true;
}

static bool upload_model(struct net *net)
{
	uint8_t *model = calloc(1, net->plan.model_size);
	bool ok = model && build_model(net, model);
	int err = 0;

	if (!model)
		return failed(net, "the model", -ENOMEM);
	if (ok)
		err = vtadev_upload(net->queue, net->model, 0, model, net->plan.model_size);
	free(model);
	return err ? failed(net, "copying the model to the card", err) : ok;
}

static bool net_open(struct net *net, const char *card, uint32_t batch)
{
	const struct vtadev_info *info;
	const unsigned int last = digits_network.layers;
	struct digits_plan *p = &net->plan;
	uint32_t acts;
	int err;

	err = vtadev_open(card, &net->dev);
	if (err)
		return not_open(card);
	info = vtadev_info(net->dev);
	if (vtaprog_core(net->dev, &net->core) || info->log_inp_width != 3 ||
	    info->log_wgt_width != 3) {
		fprintf(stderr, "digits: this card's core has no int8 inputs and weights\n");
		return false;
	}
	*p = (struct digits_plan) {
		.core = &net->core, .n = batch, .align = info->elem_bytes_max,
	};
	if (!plan(net))
		return false;

	err = vtadev_queue_create(net->dev, NULL, &net->queue);
	if (err)
		return failed(net, "making a queue", err);
	err = vtadev_buf_alloc_at(net->dev, p->model_size, VTADEV_CARD, info->elem_bytes_max, 0,
				  &net->model);
	if (!err)
		err = vtadev_buf_alloc_at(net->dev, p->acts_size, VTADEV_CARD,
					  info->elem_bytes_max, 0, &net->acts);
	if (err)
		return failed(net, "allocating card memory", err);
	err = vtadev_buf_alloc(net->dev, digits_act_bytes(p, 0), VTADEV_HOST, &net->images);
	if (!err)
		err = vtadev_buf_alloc(net->dev, digits_act_bytes(p, last), VTADEV_HOST,
				       &net->scores);
	if (!err)
		err = vtadev_buf_map(net->images, &net->images_map);
	if (!err)
		err = vtadev_buf_map(net->scores, &net->scores_map);
	if (err)
		return failed(net, "allocating host memory", err);
	if (!upload_model(net))
		return false;

	acts = vtadev_buf_addr(net->acts);
	net->work[0] = vtadev_desc_copy(acts + (uint32_t)p->act[0], vtadev_buf_addr(net->images),
					(uint32_t)digits_act_bytes(p, 0));
	for (unsigned int i = 0; i < last; i++)
		net->work[i + 1] = vtadev_desc_run(vtadev_buf_addr(net->model) +
						   (uint32_t)net->stream[i].insn,
						   (uint32_t)net->stream[i].insns, 0);
	net->work[last + 1] = vtadev_desc_copy(vtadev_buf_addr(net->scores),
					       acts + (uint32_t)p->act[last],
					       (uint32_t)digits_act_bytes(p, last));
	return true;
}

static void net_close(struct net *net)
{
	vtadev_queue_destroy(net->queue);
	vtadev_buf_free(net->scores);
	vtadev_buf_free(net->images);
	vtadev_buf_free(net->acts);
	vtadev_buf_free(net->model);
	vtadev_close(net->dev);
}

/* Compute the scores of @count images, at most a batch. @values has room for a batch of images. */
static bool net_run(struct net *net, const uint8_t (*images)[DIGITS_PIXELS], uint32_t count,
		    int8_t *values, int8_t (*scores)[DIGITS_CLASSES])
{
	uint64_t seq;
	int err;

	memset(values, 0, (size_t)net->plan.n * DIGITS_PIXELS);
	for (uint32_t i = 0; i < count; i++)
		for (unsigned int j = 0; j < DIGITS_PIXELS; j++)
			values[i * DIGITS_PIXELS + j] = (int8_t)(images[i][j] >> 1);
	vtaops_pack_act(&net->core, net->images_map, values, net->plan.n, 1, DIGITS_SIDE,
			DIGITS_SIDE);
	err = vtadev_submit(net->queue, net->work, digits_network.layers + 2, &seq);
	if (!err)
		err = vtadev_wait(net->queue, seq, WAIT_NS);
	if (err)
		return failed(net, "running a batch", err);
	vtaops_unpack_act(&net->core, scores[0], net->scores_map, net->plan.n, DIGITS_CLASSES, 1,
			  1);
	return true;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void progress(uint32_t done, uint32_t all)
{
	enum { WIDTH = 40 };
	unsigned int full = (unsigned int)((uint64_t)done * WIDTH / all);

	printf("\r[%.*s%*s] %u/%u", full, "########################################",
	       (int)(WIDTH - full), "", done, all);
	if (done == all)
		printf("\r%*s\r", WIDTH + 24, "");
	fflush(stdout);
}

struct tally {
	uint32_t images, right, equal;
	uint32_t batches;
	double card_time;	/* of packing, running and unpacking */
};

static bool classify(struct net *net, const struct digits_testset *set, uint32_t rounds,
		     bool bar, struct tally *tally)
{
	int8_t *values = malloc((size_t)net->plan.n * DIGITS_PIXELS);
	int8_t (*scores)[DIGITS_CLASSES] = malloc(net->plan.n * sizeof(*scores));
	bool ok = values && scores;

	if (!ok)
		fprintf(stderr, "digits: not enough memory\n");
	for (uint32_t i = 0; ok && i < rounds * set->count; tally->batches++) {
		uint32_t first = i % set->count, left = set->count - first;
		uint32_t count = left < net->plan.n ? left : net->plan.n;
		double start = seconds();

		ok = net_run(net, set->images + first, count, values, scores);
		tally->card_time += seconds() - start;
		for (uint32_t j = 0; ok && j < count; j++) {
			int8_t want[DIGITS_CLASSES];

			digits_reference(set->images[first + j], want);
			tally->equal += !memcmp(want, scores[j], sizeof(want));
			tally->right += digits_best(scores[j]) == set->labels[first + j];
		}
		if (ok)
			tally->images += count;
		i += count;
		if (bar)
			progress(i, rounds * set->count);
	}
	free(values);
	free(scores);
	return ok;
}

static void report(const struct net *net, const struct tally *t,
		   const struct vtadev_counters *from, const struct vtadev_counters *to)
{
	printf("accuracy         %.2f %% (%" PRIu32 " of %" PRIu32 " images)\n",
	       100.0 * t->right / t->images, t->right, t->images);
	printf("scores           %s: %" PRIu32 " of %" PRIu32
	       " images equal the CPU reference bit for bit\n",
	       t->equal == t->images ? "exact" : "WRONG", t->equal, t->images);
	printf("speed            %.0f images/s (packing, card, unpacking)\n",
	       t->images / t->card_time);
	printf("streams          %zu instructions, %zu micro-ops, batches of %" PRIu32 "\n",
	       net->insns, net->uops, net->plan.n);
	if (!from)
		return;
	printf("card, all users  %" PRIu64 " doorbells, %" PRIu64 " interrupts, %" PRIu64
	       " launches, %" PRIu64 " copies of %" PRIu64 " bytes\n",
	       to->doorbells - from->doorbells, to->interrupts - from->interrupts,
	       to->runs - from->runs, to->copies - from->copies,
	       to->copy_bytes - from->copy_bytes);
	printf("                 %" PRIu64 " compute cycles, %" PRIu64 " GEMM micro-ops in %"
	       PRIu32 " batches\n", to->compute_cycles - from->compute_cycles,
	       to->gemm_uops - from->gemm_uops, t->batches);
}

/* Parse a number from 1 to @max. Returns 0 if @text is none. */
static uint32_t number(const char *text, unsigned long max)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && n <= max ? (uint32_t)n : 0;
}

int main(int argc, char **argv)
{
	struct vtadev_counters from, to;
	uint32_t batch = BATCH_DEFAULT, rounds = 1;
	struct digits_testset set;
	struct tally tally = { 0 };
	struct net net = { 0 };
	const char *card = NULL;
	bool bar = isatty(STDOUT_FILENO), ok, counted;
	int opt, err;

	while ((opt = getopt(argc, argv, "d:b:r:p")) != -1) {
		if (opt == 'd')
			card = optarg;
		else if (opt == 'b')
			batch = number(optarg, BATCH_MAX);
		else if (opt == 'r')
			rounds = number(optarg, 1000);
		else if (opt == 'p')
			bar = true;
		else
			batch = 0;
	}
	if (!batch || !rounds || optind != argc - 1) {
		fprintf(stderr,
			"usage: digits [-d CARD] [-b BATCH (1-%d)] [-r ROUNDS] [-p] TESTSET\n",
			BATCH_MAX);
		return 2;
	}
	err = digits_load(argv[optind], &set);
	if (err || !set.count) {
		fprintf(stderr, "digits: %s: %s\n", argv[optind],
			err ? strerror(-err) : "no images");
		return 1;
	}

	ok = net_open(&net, card, batch);
	if (ok) {
		printf("%s: %" PRIu32 " handwritten digits, all layers on the card\n",
		       vtadev_info(net.dev)->card.node, set.count);
		fflush(stdout);
		counted = !vtadev_counters(net.dev, &from);
		ok = classify(&net, &set, rounds, bar, &tally);
		counted = ok && counted && !vtadev_counters(net.dev, &to);
		if (ok) {
			report(&net, &tally, counted ? &from : NULL, &to);
			ok = tally.equal == tally.images;
		}
	}
	net_close(&net);
	digits_unload(&set);
	return digits_status("digits", ok);
}
