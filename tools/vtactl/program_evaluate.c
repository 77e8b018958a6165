// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_evaluate.c - vtactl program run --images: the accuracy of a classifier over a set
 *
 * Images are read while devices compute others. A window of them is in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "dataset.h"
#include "labels.h"
#include "program.h"
#include "progress.h"
#include "tally.h"
#include "values.h"
#include "vtadev_pool.h"

#define WINDOW_MAX	1024u			/* images in memory */
#define WINDOW_BYTES	((size_t)256 << 20)	/* of these images, but two fit always */

struct evaluation {
	const struct program_run *run;
	const struct vtaimage *image;
	struct dataset set;
	struct labels names;
	struct tally tally;
	struct vtadev_pool *pool;
	struct vtaimage_tensor input, output;	/* output: the first */
	unsigned int outputs;
	size_t *bytes;		/* [outputs] */
	size_t window, slot_bytes;
	uint8_t *slots;		/* [window]: an input, then the outputs */
	bool *unread;		/* [window]: the image could not be read */
	size_t failed;		/* images without a result */
};

/* ---- Checks before the work ---- */

/* The program takes one image, and gives a value for each class. */
static int check_program(struct evaluation *e)
{
	struct vtaimage_tensor t;
	unsigned int inputs = 0;

	for (uint32_t i = 0; i < e->image->tensor_count; i++) {
		vtaimage_tensor(e->image, i, &t);
		if (t.role == VTAIMAGE_SIZE)
			return ctl_fail(e->run->path, "data decides the size of its outputs; "
					"--images takes classifiers");
		if (t.role == VTAIMAGE_INPUT && !inputs++)
			e->input = t;
		if (t.role == VTAIMAGE_OUTPUT && !e->outputs++)
			e->output = t;
	}
	if (inputs != 1 || !e->outputs)
		return ctl_fail(e->run->path, "--images takes programs with one input, whose "
				"first output has a value for each class");
	if (values_count(&e->output) < 2 || values_count(&e->output) >= TALLY_NONE)
		return ctl_fail(e->output.name, "this output has one value; --images takes "
				"programs whose first output has a value for each class");
	return CTL_OK;
}

/* The values of an image, to be freed; NULL after the reason has been printed. */
static void *load_image(const struct evaluation *e, const char *path)
{
	if (values_is_npy(path))
		return values_load(path, &e->input);
	if (e->image->preprocess_count)
		return program_picture(e->image, &e->input, path);
	ctl_fail(path, "the program does not say how a picture becomes an input; name .npy files");
	return NULL;
}

static int load_set(struct evaluation *e)
{
	const struct program_run own = { .path = e->run->path };
	int ret = program_labels(e->image, &own, &e->names);
	void *first;

	if (!ret)
		ret = dataset_load(&e->set, e->run->images, e->run->labels, &e->names,
				   (size_t)values_count(&e->output));
	if (ret)
		return ret;
	first = load_image(e, e->set.images[0].path);
	free(first);
	return first ? CTL_OK : CTL_ERROR;
}

/* ---- Runs ---- */

/* Bytes of a tensor in a slot, so that values of any type are aligned behind it. */
static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static int make_window(struct evaluation *e)
{
	struct vtadev_pool_tensor t;
	size_t at = 0;

	e->bytes = calloc(e->outputs, sizeof(*e->bytes));
	if (!e->bytes)
		return ctl_error("--images", -ENOMEM);
	e->slot_bytes = padded(values_bytes(&e->input));
	for (unsigned int i = 0; !vtadev_pool_tensor(e->pool, i, &t); i++)
		if (t.output && at < e->outputs)
			e->slot_bytes += padded(e->bytes[at++] = t.bytes);
	e->window = WINDOW_BYTES / e->slot_bytes;
	e->window = e->window < 2 ? 2 : e->window > WINDOW_MAX ? WINDOW_MAX : e->window;
	e->window = e->window > e->set.count ? e->set.count : e->window;
	e->slots = calloc(e->window, e->slot_bytes);
	e->unread = calloc(e->window, sizeof(*e->unread));
	return e->slots && e->unread ? CTL_OK : ctl_error("--images", -ENOMEM);
}

static uint8_t *slot_of(const struct evaluation *e, size_t number)
{
	return e->slots + number % e->window * e->slot_bytes;
}

/* An image that cannot be read runs as zeros, so that each image has its completion. */
static int submit(struct evaluation *e, struct vtadev_caller *caller, struct iovec *io,
		  size_t number)
{
	uint8_t *at = slot_of(e, number);
	size_t bytes = values_bytes(&e->input);
	void *values = load_image(e, e->set.images[number].path);

	e->unread[number % e->window] = !values;
	if (values)
		memcpy(at, values, bytes);
	else
		memset(at, 0, bytes);
	free(values);
	io[0] = (struct iovec) { at, bytes };
	at += padded(bytes);
	for (unsigned int i = 0; i < e->outputs; at += padded(e->bytes[i++]))
		io[1 + i] = (struct iovec) { at, e->bytes[i] };
	return vtadev_caller_submit(caller, &(struct vtadev_request){
		.inputs = io, .outputs = io + 1, .input_count = 1, .output_count = e->outputs,
		.user_data = number });
}

static int count_image(struct evaluation *e, const struct vtadev_completion *done)
{
	size_t number = (size_t)done->user_data;
	const struct dataset_image *image = &e->set.images[number];
	const uint8_t *outputs = slot_of(e, number) + padded(values_bytes(&e->input));

	if (!done->result && !e->unread[number % e->window])
		return tally_add(&e->tally, &e->output, outputs, image->class);
	e->failed++;
	if (done->result)
		program_print_failure(image->path, done);
	return 0;
}

/* Counts the images that are done; 0, or an error. */
static int take_done(struct evaluation *e, struct vtadev_caller *caller, size_t *taken)
{
	struct vtadev_completion done;
	int err = 0;

	while (!err && vtadev_caller_reap(caller, &done, 1) == 1) {
		++*taken;
		err = count_image(e, &done);
	}
	progress_show("running", (double)*taken / (double)e->set.count);
	return err;
}

static int run_all(struct evaluation *e, struct vtadev_caller *caller, struct iovec *io)
{
	size_t given = 0, taken = 0;
	int err = 0;

	while (taken < e->set.count && !err) {
		if (given < e->set.count && given - taken < e->window)
			err = submit(e, caller, io, given++);
		else
			err = vtadev_caller_wait(caller, -1);
		if (!err)
			err = take_done(e, caller, &taken);
	}
	progress_clear();
	return err;
}

static int run_window(struct evaluation *e)
{
	struct vtadev_caller *caller = NULL;
	struct iovec *io = calloc(1 + e->outputs, sizeof(*io));
	int err = io ? vtadev_caller_open(e->pool, (unsigned int)e->window, &caller) : -ENOMEM;

	if (!err)
		err = run_all(e, caller, io);
	vtadev_caller_close(caller);
	free(io);
	return err ? ctl_error("running", err) : CTL_OK;
}

/* ---- Results ---- */

static void print_results(struct evaluation *e, double seconds)
{
	double rate = (double)e->set.count / seconds;
	struct json_object *to = e->run->json;

	tally_end(&e->tally);
	if (!to) {
		tally_print(&e->tally, &e->names);
		printf("\n%.1f s, %.1f images/s\n", seconds, rate);
		program_print_cards(e->pool);
		return;
	}
	json_object_object_del(to, "runs");
	tally_json(&e->tally, &e->names, to);
	json_object_object_add(to, "failed", json_object_new_uint64(e->failed));
	json_object_object_add(to, "seconds", json_object_new_double(seconds));
	program_add_cards(e->pool, to);
}

static int evaluate(struct evaluation *e)
{
	size_t classes = (size_t)values_count(&e->output);
	int64_t begin = ctl_now_ns();
	char text[100];
	int ret;

	if (tally_begin(&e->tally, classes, e->run->top < classes ? e->run->top : 1))
		return ctl_error("--images", -ENOMEM);
	ret = make_window(e);
	if (!ret)
		ret = run_window(e);
	if (ret)
		return ret;
	print_results(e, (double)(ctl_now_ns() - begin) / 1e9);
	if (!e->failed)
		return CTL_OK;
	snprintf(text, sizeof(text), "%zu of %zu images have no result, and are not counted",
		 e->failed, e->set.count);
	return ctl_fail(e->run->images, text);
}

int program_evaluate(const struct program_run *r, const struct vtaimage *image)
{
	struct evaluation e = { .run = r, .image = image };
	int ret = check_program(&e);

	if (!ret)
		ret = load_set(&e);
	if (!ret)
		ret = program_open_pool(image, r->cards, &e.pool);
	if (!ret)
		ret = evaluate(&e);
	vtadev_pool_close(e.pool);
	tally_free(&e.tally);
	dataset_free(&e.set);
	labels_free(&e.names);
	free(e.bytes);
	free(e.slots);
	free(e.unread);
	return ret;
}
