// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_pool.c - vtactl program run --cards: many runs, on several cards
 *
 * A file of an input has the values of all runs, one behind the other; so has one of an
 * output. Or each run has a picture.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"
#include "progress.h"
#include "values.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

#define IN_FLIGHT_MAX	1024u

/* An input or output: the values of all runs. */
struct column {
	struct vtaimage_tensor tensor;
	const char *path;		/* or NULL */
	size_t bytes;			/* of one run */
	uint8_t *values;
};

struct batch {
	const struct program_run *run;
	const struct vtaimage *image;
	struct vtadev_pool *pool;
	size_t count;			/* runs */
	unsigned int inputs, columns;
	struct column *column;		/* inputs, then outputs */
	struct iovec *io;		/* of one request */
};

/* A picture takes about as long to read as a run does. */
static void show_progress(const struct batch *b, const char *step, size_t done)
{
	size_t pictures = (size_t)b->run->picture_count;

	if (b->count)
		done += pictures;
	progress_show(step, (double)done / (double)(pictures + (b->count ? b->count : pictures)));
}

/* ---- Values ---- */

/* All inputs have values for the same number of runs. */
static int set_count(struct batch *b, const char *path, size_t count)
{
	if (b->count && b->count != count)
		return ctl_fail(path, "is for another number of runs than the inputs before");
	b->count = count;
	return CTL_OK;
}

static int load_file(struct batch *b, struct column *c)
{
	size_t size = 0;

	if (values_is_npy(c->path)) {
		c->values = values_load(c->path, &c->tensor);
		return c->values ? set_count(b, c->path, 1) : CTL_ERROR;
	}
	c->values = values_read_file(c->path, &size);
	if (!c->values)
		return ctl_fail(c->path, strerror(errno));
	if (!size || size % c->bytes) {
		fprintf(stderr, "vtactl: %s: has %zu bytes, each run takes %zu for input %s\n",
			c->path, size, c->bytes, c->tensor.name);
		return CTL_ERROR;
	}
	return set_count(b, c->path, size / c->bytes);
}

static int load_pictures(struct batch *b, struct column *c)
{
	const struct program_run *r = b->run;

	c->values = malloc((size_t)r->picture_count * c->bytes + 1);
	if (!c->values)
		return ctl_fail("--image", strerror(ENOMEM));
	for (int i = 0; i < r->picture_count; i++) {
		void *values;

		show_progress(b, "reading", (size_t)i);
		values = program_picture(b->image, &c->tensor, r->pictures[i]);

		if (!values)
			return CTL_ERROR;
		memcpy(c->values + (size_t)i * c->bytes, values, c->bytes);
		free(values);
	}
	return set_count(b, "--image", (size_t)r->picture_count);
}

static int load_inputs(struct batch *b)
{
	int ret = CTL_OK;

	for (unsigned int i = 0; i < b->inputs && !ret; i++) {
		struct column *c = &b->column[i];

		ret = c->path ? load_file(b, c) : load_pictures(b, c);
	}
	/* A program without inputs gives the same each time. */
	if (!b->count)
		b->count = 1;
	return ret;
}

static int make_outputs(struct batch *b)
{
	for (unsigned int i = b->inputs; i < b->columns; i++) {
		b->column[i].values = calloc(b->count, b->column[i].bytes);
		if (!b->column[i].values)
			return ctl_fail(b->column[i].tensor.name, strerror(ENOMEM));
	}
	return CTL_OK;
}

static int store_column(const struct batch *b, const struct column *c)
{
	if (b->count > 1 && values_is_npy(c->path))
		return ctl_fail(c->path, "an array holds one run; name a file of values alone");
	return values_store(c->path, &c->tensor, c->values, b->count);
}

/* The classes of each run, by the first output. */
static int print_classes(const struct batch *b, const bool *bad)
{
	const struct column *c = &b->column[b->inputs];
	int ret = CTL_OK;

	for (size_t i = 0; i < b->count && b->run->top && b->columns > b->inputs && !ret; i++) {
		if (bad[i])
			continue;
		if (i < (size_t)b->run->picture_count && !b->run->json)
			printf("%s\n", b->run->pictures[i]);
		ret = program_print_top(b->image, &c->tensor, c->values + i * c->bytes,
					b->run, i);
	}
	return ret;
}

static int store_outputs(const struct batch *b)
{
	int ret = CTL_OK;

	for (unsigned int i = b->inputs; i < b->columns && !ret; i++)
		if (b->column[i].path)
			ret = store_column(b, &b->column[i]);
	return ret;
}

/* ---- Runs ---- */

static int submit(struct batch *b, struct vtadev_caller *caller, size_t number)
{
	for (unsigned int i = 0; i < b->columns; i++) {
		b->io[i].iov_base = b->column[i].values + number * b->column[i].bytes;
		b->io[i].iov_len = b->column[i].bytes;
	}
	return vtadev_caller_submit(caller, &(struct vtadev_request){
		.inputs = b->io, .outputs = b->io + b->inputs, .input_count = b->inputs,
		.output_count = b->columns - b->inputs, .user_data = number });
}

void program_print_failure(const char *run, const struct vtadev_completion *done)
{
	char text[VTADEV_FAULT_TEXT_MAX];

	if (done->result != -EIO) {
		ctl_error(run, done->result);
		return;
	}
	vtadev_fault_text(&done->fault, text, sizeof(text));
	ctl_fail(run, text);
}

static void report_run(const struct vtadev_completion *done)
{
	char run[40];

	snprintf(run, sizeof(run), "run %" PRIu64, done->user_data + 1);
	program_print_failure(run, done);
}

static int run_all(struct batch *b, struct vtadev_caller *caller, bool *bad)
{
	struct vtadev_completion done;
	size_t given = 0, taken = 0;
	int ret = CTL_OK, err = 0;

	while (taken < b->count && !err) {
		while (given < b->count && !err) {
			err = submit(b, caller, given);
			given += !err;
		}
		if (err == -EAGAIN)
			err = 0;
		if (!err)
			err = vtadev_caller_wait(caller, -1);
		while (!err && vtadev_caller_reap(caller, &done, 1) == 1) {
			taken++;
			show_progress(b, "running", taken);
			if (!done.result)
				continue;
			bad[done.user_data] = true;
			report_run(&done);
			ret = CTL_ERROR;
		}
	}
	progress_clear();
	return err ? ctl_error("running", err) : ret;
}

void program_add_cards(struct vtadev_pool *pool, struct json_object *to)
{
	struct json_object *array = json_object_new_array();
	struct vtadev_pool_stats stats;

	for (unsigned int i = 0; !vtadev_pool_stats(pool, i, &stats); i++) {
		struct json_object *card = json_object_new_object();

		json_object_object_add(card, "card", json_object_new_string(stats.name));
		json_object_object_add(card, "answers", json_object_new_uint64(stats.answers));
		json_object_object_add(card, "lost_runs",
				       json_object_new_uint64(stats.given_back));
		json_object_object_add(card, "losses", json_object_new_uint64(stats.losses));
		json_object_object_add(card, "state",
				       json_object_new_string(stats.up ? "up" : stats.why));
		json_object_array_add(array, card);
	}
	json_object_object_add(to, "cards", array);
}

void program_print_cards(struct vtadev_pool *pool)
{
	struct vtadev_pool_stats stats;

	if (vtadev_pool_stats(pool, 1, &stats))
		return;
	printf("%-20s %10s %10s %10s  %s\n", "card", "answers", "lost runs", "losses", "state");
	for (unsigned int i = 0; !vtadev_pool_stats(pool, i, &stats); i++)
		printf("%-20s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %s\n", stats.name,
		       stats.answers, stats.given_back, stats.losses,
		       stats.up ? "up" : stats.why);
}

static int run_batch(struct batch *b)
{
	bool *bad = calloc(b->count, sizeof(*bad));
	struct vtadev_caller *caller = NULL;
	int ret, stored, err;

	if (!bad)
		return ctl_fail("running", strerror(ENOMEM));
	err = vtadev_caller_open(b->pool, b->count < IN_FLIGHT_MAX ? (unsigned int)b->count :
				 IN_FLIGHT_MAX, &caller);
	ret = err ? ctl_error("running", err) : run_all(b, caller, bad);
	vtadev_caller_close(caller);
	if (!err) {
		stored = store_outputs(b);
		if (!stored)
			stored = print_classes(b, bad);
		ret = ret ? ret : stored;
		if (b->run->json)
			program_add_cards(b->pool, b->run->json);
		else
			program_print_cards(b->pool);
	}
	free(bad);
	return ret;
}

/* ---- The pool ---- */

static int make_columns(struct batch *b)
{
	struct vtadev_pool_tensor t;

	for (; !vtadev_pool_tensor(b->pool, b->columns, &t); b->columns++)
		b->inputs += !t.output;
	b->column = calloc(b->columns + 1, sizeof(*b->column));
	b->io = calloc(b->columns + 1, sizeof(*b->io));
	if (!b->column || !b->io) {
		ctl_fail(b->run->path, strerror(ENOMEM));
		return CTL_ERROR;
	}
	for (unsigned int i = 0; i < b->columns; i++) {
		struct column *c = &b->column[i];
		uint32_t at;

		vtadev_pool_tensor(b->pool, i, &t);
		at = (uint32_t)vtaimage_find(b->image, t.name);
		vtaimage_tensor(b->image, at, &c->tensor);
		c->bytes = t.bytes;
		c->path = program_file_of(b->image, at, b->run);
	}
	return CTL_OK;
}

static void free_columns(struct batch *b)
{
	for (unsigned int i = 0; b->column && i < b->columns; i++)
		free(b->column[i].values);
	free(b->column);
	free(b->io);
}

unsigned int program_split_cards(char *cards, const char **names)
{
	unsigned int count = 0;
	char *rest = cards, *name;

	while ((name = strsep(&rest, ",")) && count < VTADEV_POOL_CARDS_MAX)
		names[count++] = name;
	return count;
}

/* A pool goes on with some of its cards; cards that were named have to be there, all of them. */
static int check_named(struct vtadev_pool *pool)
{
	struct vtadev_pool_stats stats;

	for (unsigned int i = 0; !vtadev_pool_stats(pool, i, &stats); i++)
		if (!stats.up)
			return ctl_refused("--cards", stats.why, stats.error);
	return CTL_OK;
}

int program_open_pool(const struct vtaimage *image, const char *cards, struct vtadev_pool **pool)
{
	const char *list[VTADEV_POOL_CARDS_MAX];
	struct vtadev_pool_opts opts = { .cards = list, .count = 1 };
	char why[VTADEV_POOL_WHY_MAX], *names = NULL;
	struct vtadev_card first;
	int ret = cards ? CTL_OK : program_first_card(&first, &list[0]), err;

	if (ret)
		return ret;
	if (cards && strcmp(cards, "all")) {
		names = strdup(cards);
		if (!names)
			return ctl_error("--cards", -ENOMEM);
		opts.count = program_split_cards(names, list);
	} else if (cards) {
		opts = (struct vtadev_pool_opts) { .cards = NULL };
	}
	err = vtadev_pool_open(image, &opts, pool, why);
	if (err)
		ret = ctl_refused(cards ? "--cards" : list[0], why, err);
	else if (names)
		ret = check_named(*pool);
	free(names);
	return ret;
}

int program_run_pool(const struct program_run *r, const struct vtaimage *image)
{
	struct batch b = { .run = r, .image = image };
	int ret = program_open_pool(image, r->cards, &b.pool);

	if (!ret)
		ret = make_columns(&b);
	if (!ret)
		ret = load_inputs(&b);
	if (!ret)
		ret = make_outputs(&b);
	if (!ret)
		ret = run_batch(&b);
	free_columns(&b);
	vtadev_pool_close(b.pool);
	return ret;
}
