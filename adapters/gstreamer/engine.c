// SPDX-License-Identifier: Apache-2.0
/*
 * engine.c - a program on a pool of cards, for frames of a video
 */
#include "engine.h"

#include <glib.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtacpu.h"
#include "vtadev_pool.h"
#include "vtaimage.h"

#define LABEL_MAX	128

struct tensor {
	struct vtadev_pool_tensor is;
	void *values;
	float *floats;		/* the same, dequantised */
};

struct engine {
	gchar *file;		/* the program's bytes: the pool loads them again */
	gsize bytes;
	struct vtaimage image;
	struct vtaimage_preprocess pre;
	struct vtaimage_tensor input;
	struct boxes_outputs detector;
	struct boxes_format format;
	bool classifies;
	gchar **labels;		/* ends in NULL; NULL: none */
	guint label_count;
	char label[LABEL_MAX];
	struct vtadev_pool *pool;
	struct vtadev_caller *caller;
	struct tensor *tensors;	/* inputs, then outputs, as in the pool */
	unsigned int tensor_count, input_count;
	struct iovec *io;
	struct box *boxes;
};

static int fail(char why[ENGINE_WHY_MAX], const char *format, ...) G_GNUC_PRINTF(2, 3);
static int fail(char why[ENGINE_WHY_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, ENGINE_WHY_MAX, format, args);
	va_end(args);
	return -1;
}

/* ---- The program ---- */

static int open_image(struct engine *e, const char *model, char why[ENGINE_WHY_MAX])
{
	struct vtaimage_tensor t;
	GError *error = NULL;
	uint32_t inputs = 0;

	if (!model)
		return fail(why, "no program is named: set the property \"model\"");
	if (!g_file_get_contents(model, &e->file, &e->bytes, &error)) {
		fail(why, "%s", error->message);
		g_error_free(error);
		return -1;
	}
	if (vtaimage_open(&e->image, e->file, e->bytes))
		return fail(why, "%s: %s", model, e->image.why);
	for (uint32_t i = 0; i < e->image.tensor_count; i++) {
		vtaimage_tensor(&e->image, i, &t);
		inputs += t.role == VTAIMAGE_INPUT;
	}
	if (!e->image.preprocess_count || inputs != 1)
		return fail(why, "%s: has %u inputs, and %s how a picture becomes one", model,
			    inputs, e->image.preprocess_count ? "says" : "does not say");
	vtaimage_preprocess(&e->image, 0, &e->pre);
	vtaimage_tensor(&e->image, e->pre.tensor, &e->input);
	return 0;
}

static void read_labels(struct engine *e)
{
	const struct vtaimage_chars *text = &e->image.text[VTAIMAGE_LABELS];
	gchar *lines;

	if (!text->text)
		return;
	lines = g_strndup(text->text, text->bytes);
	e->labels = g_strsplit(lines, "\n", -1);
	e->label_count = g_strv_length(e->labels);
	g_free(lines);
}

const char *engine_label(struct engine *e, uint32_t class)
{
	if (class < e->label_count && *e->labels[class])
		snprintf(e->label, sizeof(e->label), "%s", e->labels[class]);
	else
		snprintf(e->label, sizeof(e->label), "class %u", class);
	return e->label;
}

/* ---- Cards ---- */

static int open_pool(struct engine *e, const char *cards, char why[ENGINE_WHY_MAX])
{
	gchar **names = cards && *cards ? g_strsplit(cards, ",", -1) : NULL;
	const struct vtadev_pool_opts opts = {
		.cards = (const char *const *)names, .count = names ? g_strv_length(names) : 0,
	};
	char reason[VTADEV_POOL_WHY_MAX];
	int err = vtadev_pool_open(&e->image, &opts, &e->pool, reason);

	g_strfreev(names);
	if (err)
		return fail(why, "%s", *reason ? reason : g_strerror(-err));
	err = vtadev_caller_open(e->pool, 1, &e->caller);
	return err ? fail(why, "a caller of the pool: %s", g_strerror(-err)) : 0;
}

static size_t count_values(const struct vtadev_pool_tensor *t)
{
	size_t n = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

static struct tensor *find_tensor(const struct engine *e, const char *name)
{
	for (unsigned int i = 0; i < e->tensor_count; i++)
		if (!strcmp(e->tensors[i].is.name, name))
			return &e->tensors[i];
	return NULL;
}

static int allocate_tensors(struct engine *e, char why[ENGINE_WHY_MAX])
{
	struct vtadev_pool_tensor t;

	while (!vtadev_pool_tensor(e->pool, e->tensor_count, &t)) {
		e->tensor_count++;
		e->input_count += !t.output;
	}
	e->tensors = calloc(e->tensor_count, sizeof(*e->tensors));
	e->io = calloc(e->tensor_count, sizeof(*e->io));
	if (!e->tensors || !e->io)
		return fail(why, "out of memory");
	for (unsigned int i = 0; i < e->tensor_count; i++) {
		struct tensor *to = &e->tensors[i];

		vtadev_pool_tensor(e->pool, i, &to->is);
		to->values = calloc(1, to->is.bytes + 1);
		to->floats = calloc(count_values(&to->is) + 1, sizeof(*to->floats));
		if (!to->values || !to->floats)
			return fail(why, "out of memory");
		e->io[i] = (struct iovec) { to->values, to->is.bytes };
	}
	return 0;
}

/* A program that ends in no boxes is a classifier: its first output has the scores. */
static int choose_results(struct engine *e, char why[ENGINE_WHY_MAX])
{
	char reason[PICTURE_WHY_MAX];

	e->classifies = boxes_outputs_find(&e->detector, &e->image, reason) != 0;
	if (e->input_count == e->tensor_count)
		return fail(why, "the program has no output");
	e->boxes = calloc(e->classifies ? 1 : (size_t)e->detector.rows + 1, sizeof(*e->boxes));
	return e->boxes ? 0 : fail(why, "out of memory");
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	vtadev_caller_close(e->caller);
	vtadev_pool_close(e->pool);
	for (unsigned int i = 0; e->tensors && i < e->tensor_count; i++) {
		free(e->tensors[i].values);
		free(e->tensors[i].floats);
	}
	free(e->tensors);
	free(e->io);
	free(e->boxes);
	g_strfreev(e->labels);
	g_free(e->file);
	free(e);
}

struct engine *engine_open(const struct engine_options *options, char why[ENGINE_WHY_MAX])
{
	struct engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e) {
		fail(why, "out of memory");
		return NULL;
	}
	err = boxes_format_read(&e->format, options->format) ?
	      fail(why, "no format of boxes: %s", options->format) : 0;
	if (!err)
		err = open_image(e, options->model, why);
	if (!err)
		err = open_pool(e, options->cards, why);
	if (!err)
		err = allocate_tensors(e, why);
	if (!err)
		err = choose_results(e, why);
	if (!err) {
		read_labels(e);
		return e;
	}
	engine_close(e);
	return NULL;
}

/* ---- Runs ---- */

static const float *read_floats(struct tensor *t)
{
	size_t count = count_values(&t->is);
	double scale = t->is.scale != 0 ? (double)t->is.scale : 1;
	int32_t zero = t->is.scale != 0 ? t->is.zero : 0;

	if (t->is.type == VTACPU_F32)
		return t->values;
	for (size_t i = 0; i < count; i++)
		t->floats[i] = (float)(scale * (vtacpu_value(t->values, i, t->is.type) - zero));
	return t->floats;
}

static int run(struct engine *e, char why[ENGINE_WHY_MAX])
{
	const struct vtadev_request request = {
		.inputs = e->io, .outputs = e->io + e->input_count,
		.input_count = e->input_count, .output_count = e->tensor_count - e->input_count,
	};
	struct vtadev_completion done;
	int err = vtadev_caller_submit(e->caller, &request);

	if (!err)
		err = vtadev_caller_wait(e->caller, -1);
	if (!err && vtadev_caller_reap(e->caller, &done, 1) == 1)
		err = done.result;
	if (err == -ENODEV)
		return fail(why, "no card is there any more that runs the program");
	return err ? fail(why, "the program failed: %s", g_strerror(-err)) : 0;
}

/* Values of the detector's output @i, and the rows of it that are in use. */
static const float *take_output(struct engine *e, uint32_t i, size_t *rows)
{
	char size_name[VTAIMAGE_NAME_MAX + 8];
	const struct tensor *sized;
	struct vtaimage_tensor t;
	struct tensor *output;
	size_t used;

	if (i == BOXES_NONE)
		return NULL;
	vtaimage_tensor(&e->image, i, &t);
	snprintf(size_name, sizeof(size_name), "%s.size", t.name);
	output = find_tensor(e, t.name);
	sized = find_tensor(e, size_name);
	if (!output)
		return NULL;
	used = boxes_rows(&e->detector, &t, sized ? *(const int64_t *)sized->values : -1,
			  sized ? (uint32_t)sized->is.zero : 0);
	*rows = used < *rows ? used : *rows;
	return read_floats(output);
}

static int detect(struct engine *e, const struct picture *frame, float least)
{
	struct boxes_values values = { .count = e->detector.rows };
	struct picture_place place;
	size_t bad;

	values.boxes = take_output(e, e->detector.boxes, &values.count);
	values.scores = take_output(e, e->detector.scores, &values.count);
	values.classes = take_output(e, e->detector.classes, &values.count);
	picture_place(frame, &e->pre, &e->input, &place);
	return (int)boxes_take(e->boxes, &values, &e->format, &place, least, &bad);
}

static int classify(struct engine *e, const struct picture *frame, float least)
{
	struct tensor *t = &e->tensors[e->input_count];
	const float *scores = read_floats(t);
	size_t count = count_values(&t->is), best = 0;

	for (size_t i = 1; i < count; i++)
		if (!(scores[i] <= scores[best]))
			best = i;
	e->boxes[0] = (struct box) {
		.right = (float)frame->width, .bottom = (float)frame->height,
		.score = scores[best], .class = (uint32_t)best,
	};
	return isfinite(scores[best]) && scores[best] >= least;
}

int engine_run(struct engine *e, const struct picture *frame, float least,
	       const struct box **boxes, char why[ENGINE_WHY_MAX])
{
	char reason[PICTURE_WHY_MAX];

	if (picture_prepare(frame, &e->pre, &e->input, e->tensors[0].values, reason))
		return fail(why, "%s", reason);
	if (run(e, why))
		return -1;
	*boxes = e->boxes;
	return e->classifies ? classify(e, frame, least) : detect(e, frame, least);
}
