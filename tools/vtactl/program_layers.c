// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_layers.c - layers of a program: names by the compiler's report, work by its streams
 *
 * The report is a text that anybody may have written: what is not as expected is left out.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program_layers.h"

static struct json_object *get(struct json_object *object, const char *key,
			       enum json_type type)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return json_object_is_type(value, type) ? value : NULL;
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key, json_type_string);

	return value ? json_object_get_string(value) : "";
}

static size_t length_of(struct json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

static struct json_object *step_of(const struct program_layers *l, uint32_t step)
{
	struct json_object *steps = get(l->report, "steps", json_type_array);

	return step < length_of(steps) ? json_object_array_get_idx(steps, step) : NULL;
}

const char *program_step_name(const struct program_layers *l, uint32_t step)
{
	return text_of(step_of(l, step), "name");
}

const char *program_step_op(const struct program_layers *l, uint32_t step)
{
	return text_of(step_of(l, step), "operator");
}

/* ---- Finding them ---- */

static struct json_object *read_report(const struct vtaimage *image)
{
	const struct vtaimage_chars *text = &image->text[VTAIMAGE_REPORT_JSON];
	struct json_tokener *tokener = text->text ? json_tokener_new() : NULL;
	struct json_object *report;

	if (!tokener)
		return NULL;
	report = json_tokener_parse_ex(tokener, text->text, (int)text->bytes);
	json_tokener_free(tokener);
	return report;
}

static int add_layer(struct program_layers *l, uint32_t stream, uint32_t insn,
		     struct json_object *from)
{
	struct program_layer *more, *last = l->count ? &l->layers[l->count - 1] : NULL;

	/* A layer without instructions is another name of what it reads: the next one has both. */
	if (last && last->stream == stream && last->insn == insn) {
		last->name = text_of(from, "name");
		last->op = text_of(from, "operator");
		return CTL_OK;
	}
	more = reallocarray(l->layers, l->count + 1, sizeof(*more));
	if (!more)
		return ctl_fail("layers", strerror(ENOMEM));
	l->layers = more;
	more[l->count++] = (struct program_layer) {
		.stream = stream, .insn = insn, .name = text_of(from, "name"),
		.op = text_of(from, "operator") };
	return CTL_OK;
}

/* The layers of a stream, of which the first begins with it. */
static int add_stream(struct program_layers *l, const struct vtaimage *image, uint32_t number,
		      struct json_object *layers)
{
	struct vtaimage_stream stream;
	int64_t before = 0;
	int ret = add_layer(l, number, 0, length_of(layers) ?
			    json_object_array_get_idx(layers, 0) : NULL);

	vtaimage_stream(image, number, &stream);
	for (size_t i = 1; i < length_of(layers) && !ret; i++) {
		struct json_object *layer = json_object_array_get_idx(layers, i);
		struct json_object *insn = get(layer, "insn", json_type_int);
		int64_t at = insn ? json_object_get_int64(insn) : -1;

		/* The last instruction, FINISH, is no layer's. */
		if (at < before || at >= (int64_t)stream.insn_count - 1)
			continue;
		ret = add_layer(l, number, (uint32_t)at, layer);
		before = at;
	}
	return ret;
}

static int add_streams(struct program_layers *l, const struct vtaimage *image)
{
	bool *added = calloc(image->stream_count + 1, sizeof(*added));
	int ret = CTL_OK;

	if (!added)
		return ctl_fail("layers", strerror(ENOMEM));
	for (uint32_t i = 0; i < image->step_count && !ret; i++) {
		struct vtaimage_step step;

		vtaimage_step(image, i, &step);
		if (step.kind != VTAIMAGE_RUN || added[step.stream])
			continue;
		added[step.stream] = true;
		ret = add_stream(l, image, step.stream,
				 get(step_of(l, i), "layers", json_type_array));
	}
	free(added);
	return ret;
}

static int by_place(const void *a, const void *b)
{
	const struct program_layer *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->insn > y->insn) - (x->insn < y->insn);
}

/* ---- Their work ---- */

/* Of the layers [first, first + n), which are all of one stream. */
static int count_stream(struct program_layers *l, const struct vtaimage *image, uint32_t first,
			uint32_t n)
{
	struct vtaops_work *work = calloc(n, sizeof(*work));
	uint32_t *cuts = calloc(n, sizeof(*cuts));
	bool counted = false;

	if (work && cuts) {
		for (uint32_t i = 1; i < n; i++)
			cuts[i - 1] = l->layers[first + i].insn;
		counted = !vtaimage_work(image, l->layers[first].stream, cuts, n - 1, work);
		for (uint32_t i = 0; i < n && counted; i++) {
			l->layers[first + i].work = work[i];
			l->layers[first + i].counted = true;
		}
	}
	free(cuts);
	free(work);
	return work && cuts ? CTL_OK : ctl_fail("layers", strerror(ENOMEM));
}

static int count_work(struct program_layers *l, const struct vtaimage *image)
{
	int ret = CTL_OK;

	for (uint32_t i = 0, n; i < l->count && !ret; i += n) {
		for (n = 1; i + n < l->count && l->layers[i + n].stream == l->layers[i].stream;)
			n++;
		ret = count_stream(l, image, i, n);
	}
	return ret;
}

static int make_cuts(struct program_layers *l)
{
	l->cuts = calloc(l->count + 1, sizeof(*l->cuts));
	if (!l->cuts)
		return ctl_fail("layers", strerror(ENOMEM));
	for (uint32_t i = 0; i < l->count; i++)
		if (l->layers[i].insn)
			l->cuts[l->cut_count++] = (struct vtaprog_cut) { l->layers[i].stream,
									 l->layers[i].insn };
	return CTL_OK;
}

int program_find_layers(const struct vtaimage *image, struct program_layers *l)
{
	int ret;

	*l = (struct program_layers) { .report = read_report(image) };
	ret = add_streams(l, image);
	if (!ret && l->count)
		qsort(l->layers, l->count, sizeof(*l->layers), by_place);
	if (!ret)
		ret = count_work(l, image);
	if (!ret)
		ret = make_cuts(l);
	if (ret)
		program_free_layers(l);
	return ret;
}

void program_free_layers(struct program_layers *l)
{
	json_object_put(l->report);
	free(l->layers);
	free(l->cuts);
	*l = (struct program_layers) { 0 };
}

const struct program_layer *program_layer_at(const struct program_layers *l, uint32_t stream,
					     uint32_t insn)
{
	const struct program_layer key = { .stream = stream, .insn = insn };

	return l->count ? bsearch(&key, l->layers, l->count, sizeof(*l->layers), by_place) : NULL;
}
