// SPDX-License-Identifier: Apache-2.0
/*
 * worker.c - one rank's card, with the digits network on it
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vtaprog.h"
#include "worker.h"

#define WAIT_NS		(60 * 1000000000ll)
#define FILE_MAX	(64l << 20)

struct worker {
	int rank;
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtaprog *prog;
	struct vtaops_core core;
	void *image, *scores;		/* the program's tensors, packed */
	struct vtadev_counters first;	/* when the card was opened */
	bool counted;
};

static bool failed(const struct worker *w, const char *what, const char *why)
{
	fprintf(stderr, "rank %d: %s: %s\n", w->rank, what, why);
	return false;
}

/* Read a whole file. Returns NULL after printing an error. */
static void *read_file(const struct worker *w, const char *path, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	void *data = NULL;
	long end = -1;

	if (file && !fseek(file, 0, SEEK_END))
		end = ftell(file);
	if (end > 0 && end <= FILE_MAX && !fseek(file, 0, SEEK_SET))
		data = malloc((size_t)end);
	if (data && fread(data, 1, (size_t)end, file) != (size_t)end) {
		free(data);
		data = NULL;
	}
	if (file)
		fclose(file);
	if (!data)
		failed(w, path, "cannot be read");
	*size = data ? (size_t)end : 0;
	return data;
}

/* Check that a run takes one image and gives one row of scores. */
static bool is_digits(const struct vtaimage_tensor *in, const struct vtaimage_tensor *out)
{
	return in->role == VTAIMAGE_INPUT && in->n == 1 && in->c == 1 && in->h == DIGITS_SIDE &&
	       in->w == DIGITS_SIDE && out->role == VTAIMAGE_OUTPUT && out->n == 1 &&
	       out->c == DIGITS_CLASSES && out->h == 1 && out->w == 1 &&
	       in->layout == VTAIMAGE_PACKED && out->layout == VTAIMAGE_PACKED;
}

static bool load(struct worker *w, const char *path)
{
	char why[VTAPROG_WHY_MAX];
	struct vtaimage image;
	size_t size;
	void *data = read_file(w, path, &size);
	int err;

	if (!data)
		return false;
	err = vtaimage_open(&image, data, size);
	if (err)
		snprintf(why, sizeof(why), "%s", image.why);
	else
		err = vtaprog_load(w->dev, w->queue, &image, &w->prog, why);
	free(data);
	if (err)
		return failed(w, path, why);
	if (vtaprog_tensors(w->prog) != 2 ||
	    !is_digits(vtaprog_tensor(w->prog, 0), vtaprog_tensor(w->prog, 1)))
		return failed(w, path, "not the digits network with a batch of 1");
	vtaprog_map(w->prog, 0, &w->image);
	vtaprog_map(w->prog, 1, &w->scores);
	return true;
}

static bool prepare(struct worker *w, const char *card, const char *path)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	int err = vtadev_open(card, &w->dev);

	if (err) {
		vtadev_open_text(card, why, sizeof(why));
		return failed(w, card ? card : "opening a card", why);
	}
	w->counted = !vtadev_counters(w->dev, &w->first);
	err = vtadev_queue_create(w->dev, NULL, &w->queue);
	if (!err)
		err = vtaprog_core(w->dev, &w->core);
	if (err)
		return failed(w, "making a queue", vtadev_strerror(err));
	return load(w, path);
}

struct worker *worker_open(const char *card, const char *path, int rank)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->rank = rank;
	if (!prepare(w, card, path)) {
		worker_close(w);
		return NULL;
	}
	return w;
}

void worker_close(struct worker *w)
{
	if (!w)
		return;
	vtadev_queue_destroy(w->queue);
	vtaprog_free(w->prog);
	vtadev_close(w->dev);
	free(w);
}

const struct vtadev_info *worker_info(const struct worker *w)
{
	return vtadev_info(w->dev);
}

bool worker_run(struct worker *w, const uint8_t image[DIGITS_PIXELS],
		int8_t scores[DIGITS_CLASSES])
{
	char text[VTADEV_FAULT_TEXT_MAX];
	int8_t values[DIGITS_PIXELS];
	struct vtadev_fault fault;
	int err;

	for (unsigned int i = 0; i < DIGITS_PIXELS; i++)
		values[i] = (int8_t)(image[i] >> 1);
	vtaops_pack_act(&w->core, w->image, values, 1, 1, DIGITS_SIDE, DIGITS_SIDE);
	err = vtaprog_run(w->prog, WAIT_NS);
	if (!err) {
		vtaops_unpack_act(&w->core, scores, w->scores, 1, DIGITS_CLASSES, 1, 1);
		return true;
	}
	if (err == -EIO && !vtadev_fault(w->queue, &fault)) {
		vtadev_fault_text(&fault, text, sizeof(text));
		return failed(w, "the card failed", text);
	}
	return failed(w, "the card failed", vtadev_strerror(err));
}

void worker_break(struct worker *w)
{
	struct vta_desc desc = vtadev_desc_run(0, 1, 0);
	uint64_t seq;

	if (!vtadev_submit(w->queue, &desc, 1, &seq))
		vtadev_wait(w->queue, seq, WAIT_NS);
}

uint64_t worker_cycles(const struct worker *w)
{
	struct vtadev_counters now;

	if (!w->counted || vtadev_counters(w->dev, &now))
		return 0;
	return now.compute_cycles - w->first.compute_cycles + now.copy_cycles -
	       w->first.copy_cycles;
}

const char *worker_card(int local)
{
	static char node[sizeof(((struct vtadev_card *)0)->node)];
	struct vtadev_card *cards;
	const char *device = getenv("VTADEV_DEVICE");
	int count, usable = 0;

	if (device && *device)
		return NULL;
	count = vtadev_list(&cards);
	if (count < 0)
		return NULL;
	for (int i = 0; i < count; i++)
		if (!access(cards[i].node, R_OK | W_OK))
			cards[usable++] = cards[i];
	if (usable)
		memcpy(node, cards[local % usable].node, sizeof(node));
	vtadev_list_free(cards);
	return usable ? node : NULL;
}
