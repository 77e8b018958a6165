// SPDX-License-Identifier: Apache-2.0
/*
 * Classify handwritten digits with a network that was divided between the CPU
 * and a VTA card.
 *
 *	byoc TESTSET
 *
 * The functions are in subgraphs.h: two on the CPU and one on the card, which an
 * executor calls in their order. All scores and digits are compared with the
 * network in plain loops, bit for bit.
 *
 * Exit status: 0 if all are equal and no copy was made but where the device
 * changes, 1 if not or on any error, 2 for a wrong command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "executor.h"
#include "network.h"
#include "subgraphs.h"
#include "testset.h"
#include "vtadev.h"

#define BATCH	DIGITS_BATCH
#define CHANGES	2	/* of the device, in each run */

#define INT8	{ kDLInt, 8, 1 }
#define INT32	{ kDLInt, 32, 1 }

static const struct node nodes[] = {
	{ "conv1", digits_cpu_conv1, INT8, { BATCH, 16, 14, 14 } },
	{ "conv2_conv3_dense", digits_vta, INT8, { BATCH, 10, 1, 1 } },
	{ "argmax", digits_cpu_argmax, INT32, { BATCH, 1, 1, 1 } },
};

#define NODES	(sizeof(nodes) / sizeof(*nodes))

static const struct node input = {
	.type = INT8, .shape = { BATCH, 1, DIGITS_SIDE, DIGITS_SIDE },
};

struct tally {
	uint32_t images, right, equal, runs;
};

static int failed(const char *what, int err)
{
	const char *why = digits_vta_error();

	fprintf(stderr, "byoc: %s: %s\n", what, *why ? why : vtadev_strerror(err));
	return 1;
}

static void compare(struct executor *e, const struct digits_testset *set, uint32_t first,
		    struct tally *t)
{
	const int8_t *scores = e->tensors[NODES - 1].data;
	const int32_t *digits = e->tensors[NODES].data;
	int8_t want[DIGITS_CLASSES];

	for (uint32_t i = 0; i < BATCH && first + i < set->count; i++) {
		digits_reference(set->images[first + i], want);
		t->equal += !memcmp(want, scores + (size_t)i * DIGITS_CLASSES, sizeof(want)) &&
			    digits[i] == (int32_t)digits_best(want);
		t->right += digits[i] == set->labels[first + i];
		t->images++;
	}
}

static int classify(struct executor *e, const struct digits_testset *set, struct tally *t)
{
	int8_t *pixels = e->tensors[0].data;
	int err;

	for (uint32_t first = 0; first < set->count; first += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			for (unsigned int j = 0; j < DIGITS_PIXELS; j++)
				pixels[(size_t)i * DIGITS_PIXELS + j] = first + i < set->count ?
					(int8_t)(set->images[first + i][j] >> 1) : 0;
		err = executor_run(e);
		if (err)
			return failed(e->at, err);
		t->runs++;
		compare(e, set, first, t);
	}
	return 0;
}

static int run(const struct digits_testset *set, struct vtadev *dev)
{
	struct tally t = { 0 };
	struct executor e;
	int err;

	err = digits_vta_init(dev);
	if (err)
		return failed("putting the network on the card", err);
	err = executor_init(&e, nodes, NODES, &input);
	if (err)
		failed("allocating tensors", err);
	else
		err = classify(&e, set, &t);
	executor_exit(&e);
	if (err)
		return 1;
	printf("accuracy  %.2f %% (%" PRIu32 " of %" PRIu32 " images)\n",
	       100.0 * t.right / t.images, t.right, t.images);
	printf("scores    %s: %" PRIu32 " of %" PRIu32
	       " images equal the CPU reference bit for bit\n",
	       t.equal == t.images ? "exact" : "WRONG", t.equal, t.images);
	printf("copies    %u in %" PRIu32 " runs of %zu functions\n", digits_vta_copies() * t.runs,
	       t.runs, NODES);
	return t.equal == t.images && digits_vta_copies() == CHANGES ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct digits_testset set;
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err, status;

	if (argc != 2) {
		fprintf(stderr, "usage: byoc TESTSET\n");
		return 2;
	}
	err = digits_load(argv[1], &set);
	if (err) {
		fprintf(stderr, "byoc: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	err = vtadev_open(NULL, &dev);
	if (err) {
		vtadev_open_text(NULL, why, sizeof(why));
		fprintf(stderr, "byoc: %s\n", why);
		digits_unload(&set);
		return 1;
	}
	status = run(&set, dev);
	digits_vta_exit();
	vtadev_close(dev);
	digits_unload(&set);
	return digits_status("byoc", !status);
}
