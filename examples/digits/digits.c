// SPDX-License-Identifier: Apache-2.0
/*
 * Classify handwritten digits on a VTA card.
 *
 *	digits [-d CARD] [-b BATCH] [-r ROUNDS] [-p] TESTSET
 *
 * All layers run on the card. At the start they are compiled into instruction
 * streams, and these and the weights are copied to card memory. Then, for each
 * batch: one submission of six descriptors (images in, four layers, scores out)
 * and one wait. Every score is compared with the CPU's (reference.c).
 *
 * -p shows a progress bar although the output is no terminal.
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

#include "reference.h"
#include "testset.h"
#include "vtadev.h"
#include "vtaops.h"
#include "weights.h"

#define BATCH_DEFAULT	100
#define BATCH_MAX	1000
#define WAIT_NS		(60 * 1000000000ll)

/* A network on a card. */
struct net {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtaops_core core;
	uint32_t batch;			/* images */
	struct vtadev_buf *model;	/* card: weights, biases, streams */
	struct vtadev_buf *acts;	/* card: the input and each layer's output */
	struct vtadev_buf *images;	/* host: packed images */
	struct vtadev_buf *scores;	/* host: packed scores */
	void *images_map, *scores_map;
	struct vta_desc work[DIGITS_LAYERS + 2];
	size_t insns, uops;
};

/* Say what failed and why; returns false. */
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

/* Take @bytes from @used, aligned to what any element needs. */
static size_t take(const struct net *net, size_t *used, size_t bytes)
{
	size_t align = vtadev_info(net->dev)->elem_bytes_max;
	size_t at = (*used + align - 1) & ~(align - 1);

	*used = at + bytes;
	return at;
}

/* Where the parts of the two card buffers are. */
struct layout {
	size_t act[DIGITS_LAYERS + 1];
	size_t wgt[DIGITS_LAYERS], bias[DIGITS_LAYERS];
	size_t insn[DIGITS_LAYERS], uop[DIGITS_LAYERS];
	size_t insns[DIGITS_LAYERS], uops[DIGITS_LAYERS];
	size_t model_size, acts_size;
};

static size_t act_bytes(const struct net *net, unsigned int i)
{
	const struct digits_layer *l = &digits_layers[i < DIGITS_LAYERS ? i : i - 1];

	if (i < DIGITS_LAYERS)
		return vtaops_act_bytes(&net->core, net->batch, l->in_channels, l->in_height,
					l->in_width);
	return vtaops_act_bytes(&net->core, net->batch, l->out_channels, l->out_height,
				l->out_width);
}

/* Layer @i as an operator; with addresses if there are buffers. */
static struct vtaops_conv2d layer_op(const struct net *net, const struct layout *at, unsigned int i)
{
	const struct digits_layer *l = &digits_layers[i];
	uint32_t acts = net->acts ? vtadev_buf_addr(net->acts) : 0;
	uint32_t model = net->model ? vtadev_buf_addr(net->model) : 0;

	return (struct vtaops_conv2d) {
		.inp = acts + (uint32_t)at->act[i], .out = acts + (uint32_t)at->act[i + 1],
		.wgt = model + (uint32_t)at->wgt[i],
		.n = net->batch, .in = l->in_channels, .h = l->in_height, .w = l->in_width,
		.units = l->out_channels, .kh = l->kernel, .kw = l->kernel,
		.stride_h = l->stride, .stride_w = l->stride, .pad_h = l->pad, .pad_w = l->pad,
		.post = {
			.bias = model + (uint32_t)at->bias[i], .shift = l->shift,
			.lo = l->relu ? 0 : -128, .hi = 127,
		},
	};
}

/* Lower layer @i; without storage this only counts. */
static bool lower(struct net *net, const struct layout *at, unsigned int i, uint8_t *model,
		  struct vtaops_builder *b)
{
	struct vtaops_conv2d op = layer_op(net, at, i);

	if (model)
		vtaops_begin(b, &net->core, (struct vtaops_insn *)(model + at->insn[i]),
			     at->insns[i], (uint32_t *)(model + at->uop[i]), at->uops[i],
			     vtadev_buf_addr(net->model) + (uint32_t)at->uop[i]);
	else
		vtaops_begin(b, &net->core, NULL, 0, NULL, 0, 0);
	vtaops_conv2d(b, &op);
	if (vtaops_finish(b)) {
		fprintf(stderr, "digits: layer %s: %s\n", digits_layers[i].name, b->why);
		return false;
	}
	return true;
}

static bool plan(struct net *net, struct layout *at)
{
	struct vtaops_builder b;

	memset(at, 0, sizeof(*at));
	for (unsigned int i = 0; i <= DIGITS_LAYERS; i++)
		at->act[i] = take(net, &at->acts_size, act_bytes(net, i));
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		const struct digits_layer *l = &digits_layers[i];

		at->wgt[i] = take(net, &at->model_size,
				  vtaops_wgt_bytes(&net->core, l->out_channels, l->in_channels,
						   l->kernel, l->kernel));
		at->bias[i] = take(net, &at->model_size,
				   vtaops_bias_bytes(&net->core, l->out_channels));
	}
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		if (!lower(net, at, i, NULL, &b))
			return false;
		at->insns[i] = b.insns;
		at->uops[i] = b.uops;
		net->insns += b.insns;
		net->uops += b.uops;
		at->insn[i] = take(net, &at->model_size, b.insns * sizeof(struct vtaops_insn));
		at->uop[i] = take(net, &at->model_size, b.uops * sizeof(uint32_t));
	}
	return true;
}

/* Weights, biases and streams, as they are to stand in the card's memory. */
static bool build_model(struct net *net, const struct layout *at, uint8_t *model)
{
	struct vtaops_builder b;

	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		const struct digits_layer *l = &digits_layers[i];

		vtaops_pack_wgt(&net->core, model + at->wgt[i], l->weights, l->out_channels,
				l->in_channels, l->kernel, l->kernel);
		vtaops_pack_bias(&net->core, model + at->bias[i], l->bias, l->out_channels);
		if (!lower(net, at, i, model, &b))
			return false;
	}
	return true;
}

static bool upload_model(struct net *net, const struct layout *at)
{
	struct vtadev_buf *staging;
	struct vta_desc d;
	uint64_t seq;
	void *model;
	int err;

	err = vtadev_buf_alloc(net->dev, at->model_size, VTADEV_HOST, &staging);
	if (err)
		return failed(net, "allocating host memory", err);
	err = vtadev_buf_map(staging, &model);
	if (!err && !build_model(net, at, model)) {
		vtadev_buf_free(staging);
		return false;
	}
	if (!err) {
		d = vtadev_desc_copy(vtadev_buf_addr(net->model), vtadev_buf_addr(staging),
				     (uint32_t)at->model_size);
		err = vtadev_submit(net->queue, &d, 1, &seq);
	}
	if (!err)
		err = vtadev_wait(net->queue, seq, WAIT_NS);
	vtadev_buf_free(staging);
	return err ? failed(net, "copying the model to the card", err) : true;
}

static bool net_open(struct net *net, const char *card, uint32_t batch)
{
	const struct vtadev_info *info;
	struct layout at;
	uint32_t acts;
	int err;

	net->batch = batch;
	err = vtadev_open(card, &net->dev);
	if (err)
		return failed(net, card ? card : "opening the first card", err);
	info = vtadev_info(net->dev);
	net->core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	if (vtaops_core_init(&net->core) || info->log_inp_width != 3 || info->log_wgt_width != 3) {
		fprintf(stderr, "digits: this card's core has no int8 inputs and weights\n");
		return false;
	}
	if (!plan(net, &at))
		return false;

	err = vtadev_queue_create(net->dev, NULL, &net->queue);
	if (err)
		return failed(net, "making a queue", err);
	err = vtadev_buf_alloc_at(net->dev, at.model_size, VTADEV_CARD, info->elem_bytes_max, 0,
				  &net->model);
	if (!err)
		err = vtadev_buf_alloc_at(net->dev, at.acts_size, VTADEV_CARD,
					  info->elem_bytes_max, 0, &net->acts);
	if (err)
		return failed(net, "allocating card memory", err);
	err = vtadev_buf_alloc(net->dev, act_bytes(net, 0), VTADEV_HOST, &net->images);
	if (!err)
		err = vtadev_buf_alloc(net->dev, act_bytes(net, DIGITS_LAYERS), VTADEV_HOST,
				       &net->scores);
	if (!err)
		err = vtadev_buf_map(net->images, &net->images_map);
	if (!err)
		err = vtadev_buf_map(net->scores, &net->scores_map);
	if (err)
		return failed(net, "allocating host memory", err);
	if (!upload_model(net, &at))
		return false;

	acts = vtadev_buf_addr(net->acts);
	net->work[0] = vtadev_desc_copy(acts + (uint32_t)at.act[0], vtadev_buf_addr(net->images),
					(uint32_t)act_bytes(net, 0));
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++)
		net->work[i + 1] = vtadev_desc_run(vtadev_buf_addr(net->model) +
						   (uint32_t)at.insn[i], (uint32_t)at.insns[i], 0);
	net->work[DIGITS_LAYERS + 1] = vtadev_desc_copy(vtadev_buf_addr(net->scores),
							acts + (uint32_t)at.act[DIGITS_LAYERS],
							(uint32_t)act_bytes(net, DIGITS_LAYERS));
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

/* Scores of @count images, at most a batch. @values has room for a batch of images. */
static bool net_run(struct net *net, const uint8_t (*images)[DIGITS_PIXELS], uint32_t count,
		    int8_t *values, int8_t (*scores)[DIGITS_CLASSES])
{
	uint64_t seq;
	int err;

	memset(values, 0, (size_t)net->batch * DIGITS_PIXELS);
	for (uint32_t i = 0; i < count; i++)
		for (unsigned int j = 0; j < DIGITS_PIXELS; j++)
			values[i * DIGITS_PIXELS + j] = (int8_t)(images[i][j] >> 1);
	vtaops_pack_act(&net->core, net->images_map, values, net->batch, 1, DIGITS_SIDE,
			DIGITS_SIDE);
	err = vtadev_submit(net->queue, net->work, DIGITS_LAYERS + 2, &seq);
	if (!err)
		err = vtadev_wait(net->queue, seq, WAIT_NS);
	if (err)
		return failed(net, "running a batch", err);
	vtaops_unpack_act(&net->core, scores[0], net->scores_map, net->batch, DIGITS_CLASSES, 1, 1);
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
	int8_t *values = malloc((size_t)net->batch * DIGITS_PIXELS);
	int8_t (*scores)[DIGITS_CLASSES] = malloc(net->batch * sizeof(*scores));
	bool ok = values && scores;

	if (!ok)
		fprintf(stderr, "digits: not enough memory\n");
	for (uint32_t i = 0; ok && i < rounds * set->count; tally->batches++) {
		uint32_t first = i % set->count;
		uint32_t count = set->count - first < net->batch ? set->count - first : net->batch;
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
	       net->insns, net->uops, net->batch);
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

/* A number from 1 to @max, or 0. */
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
	return ok ? 0 : 1;
}
