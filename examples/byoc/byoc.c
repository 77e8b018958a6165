// SPDX-License-Identifier: Apache-2.0
/*
 * Classify handwritten digits with a network that was divided between the CPU
 * and a VTA card.
 *
 *	byoc TESTSET
 *
 * The functions are in subgraphs.h: two on the CPU, two on the card, which an
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
#include "reference.h"
#include "subgraphs.h"
#include "testset.h"
#include "vta_device_api.h"
#include "vtadev.h"
#include "vtaops.h"

#define BATCH	50
#define CHANGES	2	/* of the device, in each run */

#define INT8	{ kDLInt, 8, 1 }
#define INT32	{ kDLInt, 32, 1 }

static const struct node nodes[] = {
	{ "conv1", digits_cpu_conv1, kDLCPU, INT8, { BATCH, 16, 14, 14 } },
	{ "conv2_conv3", digits_vta_conv2_conv3, VTA_API_DEVICE, INT8, { BATCH, 32, 4, 4 } },
	{ "dense", digits_vta_dense, VTA_API_DEVICE, INT8, { BATCH, 10, 1, 1 } },
	{ "argmax", digits_cpu_argmax, kDLCPU, INT32, { BATCH, 1, 1, 1 } },
};

#define NODES	(sizeof(nodes) / sizeof(*nodes))

static const struct node input = {
	.device = kDLCPU, .type = INT8, .shape = { BATCH, 1, DIGITS_SIDE, DIGITS_SIDE },
};

struct tally {
	uint32_t images, right, equal, runs;
};

static int failed(const char *what, int err)
{
	fprintf(stderr, "byoc: %s: %s\n", what,
		*vta_api_error() ? vta_api_error() : vtadev_strerror(err));
	return 1;
}

static void compare(struct executor *e, const struct digits_testset *set, uint32_t first,
		    struct tally *t)
{
	const int8_t *scores = executor_tensor(e, NODES - 1)->data;
	const int32_t *digits = executor_tensor(e, NODES)->data;
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
	int8_t *pixels = executor_tensor(e, 0)->data;
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

static int run(const struct digits_testset *set, DLDevice dev)
{
	struct vtadev *card = vta_api_card(dev);
	const struct vtadev_info *info;
	struct vtaops_core core;
	struct tally t = { 0 };
	struct executor e;
	int err;

	if (!card)
		return failed("opening the first card", 0);
	info = vtadev_info(card);
	core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	err = digits_vta_init(dev, BATCH);
	if (!err)
		err = vtaops_core_init(&core) ? -EOPNOTSUPP : 0;
	if (err)
		return failed("putting the network on the card", err);
	err = executor_init(&e, nodes, NODES, &input, dev, &core);
	if (err)
		failed("allocating tensors", err);
	else
		err = classify(&e, set, &t);
	executor_exit(&e);
	digits_vta_exit();
	if (err)
		return 1;
	printf("accuracy  %.2f %% (%" PRIu32 " of %" PRIu32 " images)\n",
	       100.0 * t.right / t.images, t.right, t.images);
	printf("scores    %s: %" PRIu32 " of %" PRIu32
	       " images equal the CPU reference bit for bit\n",
	       t.equal == t.images ? "exact" : "WRONG", t.equal, t.images);
	printf("copies    %u in %" PRIu32 " runs of %zu functions\n", e.copies, t.runs, NODES);
	return t.equal == t.images && e.copies == CHANGES * t.runs ? 0 : 1;
}

int main(int argc, char **argv)
{
	const DLDevice dev = { VTA_API_DEVICE, 0 };
	struct digits_testset set;
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
	status = run(&set, dev);
	vta_api_release(dev);
	digits_unload(&set);
	return status;
}
