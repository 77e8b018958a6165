// SPDX-License-Identifier: Apache-2.0
/*
 * A residual network on a VTA card, compiled ahead of time.
 *
 *	aot TESTSET SCORES [COUNT]
 *
 * Nothing is compiled here: model.h, made when this was built, has the weights and the
 * instruction stream with all device addresses in it. The start copies them to the card.
 * After it an inference is three descriptors (image in, run, scores out), one submission
 * and one wait; no memory is allocated.
 *
 * SCORES has the scores that each image of TESTSET must get, by train.py's
 * integers. COUNT is how many images; all of them if it is not given.
 *
 * Exit status: 0 if all scores are equal and nothing was allocated after the start,
 * 1 if not or on any error, 2 for a wrong command line.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "model.h"
#include "testset.h"
#include "vtadev.h"

#define WAIT_NS	(10 * 1000000000ll)

static struct vtadev *dev;
static struct vtadev_queue *queue;
static struct vtadev_buf *model, *acts, *image, *scores;
static int8_t *image_ptr;		/* [DIGITS_PIXELS][MODEL_BLOCK], channel 0 used */
static const int8_t *scores_ptr;	/* [MODEL_BLOCK], DIGITS_CLASSES used */
static struct vta_desc work[3];

/* ---- Counting calls of malloc(), its relatives and mmap(): the linker wraps each ---- */

static atomic_ulong allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	allocations++;
	return __real_realloc(ptr, size);
}

void *__wrap_mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset)
{
	allocations++;
	return __real_mmap64(addr, size, prot, flags, fd, offset);
}

/* ---- The network on the card ---- */

static bool failed(const char *what, int err)
{
	char text[VTADEV_FAULT_TEXT_MAX];
	struct vtadev_fault fault;

	fprintf(stderr, "aot: %s: %s\n", what, vtadev_strerror(err));
	if (queue && !vtadev_fault(queue, &fault) && fault.reason) {
		vtadev_fault_text(&fault, text, sizeof(text));
		fprintf(stderr, "aot: %s\n", text);
	}
	return false;
}

/* The stream is for one configuration. */
static bool card_matches(const struct vtadev_info *info)
{
	const struct {
		const char *name;
		unsigned int card, program;
	} config[] = {
		{ "LOG_INP_WIDTH", info->log_inp_width, MODEL_LOG_INP_WIDTH },
		{ "LOG_WGT_WIDTH", info->log_wgt_width, MODEL_LOG_WGT_WIDTH },
		{ "LOG_ACC_WIDTH", info->log_acc_width, MODEL_LOG_ACC_WIDTH },
		{ "LOG_BATCH", info->log_batch, MODEL_LOG_BATCH },
		{ "LOG_BLOCK", info->log_block, MODEL_LOG_BLOCK },
		{ "LOG_UOP_BUFF_SIZE", info->log_uop_buff_size, MODEL_LOG_UOP_BUFF_SIZE },
		{ "LOG_INP_BUFF_SIZE", info->log_inp_buff_size, MODEL_LOG_INP_BUFF_SIZE },
		{ "LOG_WGT_BUFF_SIZE", info->log_wgt_buff_size, MODEL_LOG_WGT_BUFF_SIZE },
		{ "LOG_ACC_BUFF_SIZE", info->log_acc_buff_size, MODEL_LOG_ACC_BUFF_SIZE },
	};
	bool same = true;

	for (size_t i = 0; i < sizeof(config) / sizeof(*config); i++) {
		if (config[i].card == config[i].program)
			continue;
		fprintf(stderr, "aot: compiled for %s=%u, but this card has %u\n", config[i].name,
			config[i].program, config[i].card);
		same = false;
	}
	return same;
}

static int place(size_t size, unsigned int where, uint32_t addr, struct vtadev_buf **buf)
{
	return vtadev_buf_alloc_at(dev, size, where, 0, addr, buf);
}

static int place_all(void)
{
	void *ptr;
	int err;

	err = place(MODEL_SIZE, VTADEV_CARD | VTADEV_READONLY, MODEL_ADDR, &model);
	if (!err)
		err = place(MODEL_ACTS_SIZE, VTADEV_CARD, MODEL_ACTS_ADDR, &acts);
	if (!err)
		err = place(MODEL_IMAGE_SIZE, VTADEV_HOST, MODEL_IMAGE_ADDR, &image);
	if (!err)
		err = vtadev_buf_map(image, &ptr);
	if (!err) {
		image_ptr = ptr;
		err = place(MODEL_SCORES_SIZE, VTADEV_HOST, MODEL_SCORES_ADDR, &scores);
	}
	if (!err)
		err = vtadev_buf_map(scores, &ptr);
	if (!err) {
		scores_ptr = ptr;
		err = vtadev_upload(queue, model, 0, model_data, MODEL_SIZE);
	}
	return err;
}

static bool start(void)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	int err;

	if (vtadev_open(NULL, &dev)) {
		vtadev_open_text(NULL, why, sizeof(why));
		fprintf(stderr, "aot: %s\n", why);
		return false;
	}
	if (!card_matches(vtadev_info(dev)))
		return false;
	err = vtadev_queue_create(dev, NULL, &queue);
	if (!err)
		err = place_all();
	if (err)
		return failed("putting the network on the card", err);
	work[0] = vtadev_desc_copy(MODEL_INPUT_ADDR, MODEL_IMAGE_ADDR, MODEL_IMAGE_SIZE);
	work[1] = vtadev_desc_run(MODEL_INSN_ADDR, MODEL_INSNS, MODEL_CYCLES);
	work[2] = vtadev_desc_copy(MODEL_SCORES_ADDR, MODEL_OUTPUT_ADDR, MODEL_SCORES_SIZE);
	return true;
}

static void end(void)
{
	vtadev_queue_destroy(queue);
	vtadev_buf_free(scores);
	vtadev_buf_free(image);
	vtadev_buf_free(acts);
	vtadev_buf_free(model);
	vtadev_close(dev);
}

/* Run the network on one image. The scores are valid until the next; NULL if it failed. */
static const int8_t *infer(const uint8_t pixels[DIGITS_PIXELS])
{
	uint64_t seq;
	int err;

	for (size_t i = 0; i < DIGITS_PIXELS; i++)
		image_ptr[i * MODEL_BLOCK] = (int8_t)(pixels[i] >> 1);
	err = vtadev_submit(queue, work, 3, &seq);
	if (!err)
		err = vtadev_wait(queue, seq, WAIT_NS);
	if (!err)
		return scores_ptr;
	failed("running the network", err);
	return NULL;
}

static bool classify(const struct digits_testset *set, const int8_t (*want)[DIGITS_CLASSES],
		     uint32_t count)
{
	unsigned long from = allocations;
	uint32_t right = 0, equal = 0;
	unsigned long made;

	for (uint32_t i = 0; i < count; i++) {
		const int8_t *got = infer(set->images[i]);

		if (!got)
			return false;
		equal += !memcmp(got, want[i], DIGITS_CLASSES);
		right += digits_best(got) == set->labels[i];
	}
	made = allocations - from;
	printf("accuracy     %.2f %% (%" PRIu32 " of %" PRIu32 " images)\n",
	       100.0 * right / count, right, count);
	printf("scores       %s: %" PRIu32 " of %" PRIu32 " images as train.py's integers\n",
	       equal == count ? "exact" : "WRONG", equal, count);
	printf("an image     %u instructions, %" PRIu64 " cycles, in one launch\n", MODEL_INSNS,
	       (uint64_t)MODEL_CYCLES);
	printf("allocations  %lu after the start, %lu before\n", made, from);
	return equal == count && !made && from;
}

/* Read the scores of all images of the set. Returns NULL after printing an error. */
static int8_t (*load_scores(const char *path, uint32_t count))[DIGITS_CLASSES]
{
	int8_t (*loaded)[DIGITS_CLASSES] = calloc(count, sizeof(*loaded));
	FILE *file = fopen(path, "rb");
	bool ok = loaded && file && fread(loaded, sizeof(*loaded), count, file) == count;

	if (file)
		fclose(file);
	if (ok)
		return loaded;
	fprintf(stderr, "aot: %s: cannot be read, or not the scores of %" PRIu32 " images\n", path,
		count);
	free(loaded);
	return NULL;
}

/* Parse a number from 1 to @images. Returns 0 after printing an error. */
static uint32_t parse_count(const char *text, uint32_t images)
{
	char *end;
	unsigned long count = strtoul(text, &end, 10);

	if (*text >= '1' && *text <= '9' && !*end && count <= images)
		return (uint32_t)count;
	fprintf(stderr, "aot: %s: not a number from 1 to %" PRIu32 "\n", text, images);
	return 0;
}

int main(int argc, char **argv)
{
	int8_t (*want)[DIGITS_CLASSES];
	struct digits_testset set;
	uint32_t count;
	bool ok = false;
	int err;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: aot TESTSET SCORES [COUNT]\n");
		return 2;
	}
	err = digits_load(argv[1], &set);
	if (err || !set.count) {
		fprintf(stderr, "aot: %s: %s\n", argv[1], err ? strerror(-err) : "no images");
		return 1;
	}
	count = argc == 4 ? parse_count(argv[3], set.count) : set.count;
	want = count ? load_scores(argv[2], set.count) : NULL;
	if (want && start())
		ok = classify(&set, want, count);
	end();
	free(want);
	digits_unload(&set);
	return digits_status("aot", ok);
}
