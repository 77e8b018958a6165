// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_boxes.c - vtactl program run --boxes: a detector's boxes, printed and drawn
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "ctl.h"
#include "labels.h"
#include "output.h"
#include "program.h"
#include "values.h"
#include "vtaprog.h"

#define NAME_MAX_SHOWN	64

/* A run's values of the three outputs, as floats. */
struct found {
	struct boxes_outputs outputs;
	float *boxes, *scores, *classes;
	size_t count;		/* rows */
	struct box *box;
	size_t boxed;
};

int program_check_boxes(const struct vtaimage *image, const struct program_run *r)
{
	struct boxes_outputs outputs;
	char why[PICTURE_WHY_MAX];

	if (r->box && boxes_outputs_find(&outputs, image, why))
		return ctl_fail("--boxes", why);
	return r->box && r->box->draw ? program_check_output(image, r, r->box->draw) : CTL_OK;
}

/* The values of an output, dequantised, to be freed; @count becomes that of its rows in use. */
static float *load_rows(struct vtaprog *prog, const struct boxes_outputs *o, uint32_t i,
			size_t *count)
{
	const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
	size_t values = (size_t)values_count(t), rows;
	float *floats = calloc(values + 1, sizeof(*floats));
	void *plain = malloc(vtaprog_bytes(t) + 1);
	uint32_t dim = 0;
	int err = floats && plain ? vtaprog_get(prog, i, plain) : -ENOMEM;

	if (!err) {
		rows = boxes_rows(o, t, vtaprog_size(prog, i, &dim), dim);
		*count = rows < *count ? rows : *count;
		for (size_t j = 0; j < values; j++)
			floats[j] = (float)values_at(t, plain, j);
	}
	free(plain);
	if (!err)
		return floats;
	free(floats);
	ctl_error(t->name, err);
	return NULL;
}

static int load_found(struct vtaprog *prog, struct found *f)
{
	const struct boxes_outputs *o = &f->outputs;
	const uint32_t which[] = { o->boxes, o->scores, o->classes };
	float **to[] = { &f->boxes, &f->scores, &f->classes };

	f->count = o->rows;
	for (int i = 0; i < 3; i++) {
		if (which[i] == BOXES_NONE)
			continue;
		*to[i] = load_rows(prog, o, which[i], &f->count);
		if (!*to[i])
			return CTL_ERROR;
	}
	return CTL_OK;
}

/* ---- Results ---- */

struct texts {
	const struct labels *labels;
	char text[NAME_MAX_SHOWN + 16];
};

static const char *write_text(void *priv, const struct box *box)
{
	struct texts *t = priv;
	char name[16];

	snprintf(name, sizeof(name), "class %u", box->class);
	snprintf(t->text, sizeof(t->text), "%.*s %.2f", NAME_MAX_SHOWN,
		 labels_name(t->labels, box->class) ? labels_name(t->labels, box->class) : name,
		 (double)box->score);
	return t->text;
}

static int draw(const struct program_run *r, struct picture *picture, const struct found *f,
		const struct labels *labels)
{
	struct texts texts = { .labels = labels };
	char why[PICTURE_WHY_MAX];
	struct output out;
	uint8_t *data;
	size_t size;
	int err;

	boxes_draw(picture, f->box, f->boxed, write_text, &texts);
	if (picture_encode(picture, &data, &size, why))
		return ctl_fail(r->box->draw, why);
	err = output_open(&out, r->box->draw, 0666);
	if (!err) {
		fwrite(data, 1, size, out.file);
		err = output_close(&out);
	}
	free(data);
	return ctl_written(r->box->draw, err);
}

static void print_boxes(const struct found *f, const struct labels *labels)
{
	if (!f->boxed)
		puts("no boxes");
	for (size_t i = 0; i < f->boxed; i++) {
		const struct box *b = &f->box[i];

		printf("%2zu  %6.4f  %6.0f,%-6.0f to %6.0f,%-6.0f  ", i + 1, (double)b->score,
		       (double)b->left, (double)b->top, (double)b->right, (double)b->bottom);
		labels_print_name(labels, b->class);
	}
}

static struct json_object *boxes_json(const struct found *f, const struct labels *labels)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < f->boxed; i++) {
		const struct box *b = &f->box[i];
		const float corners[] = { b->left, b->top, b->right, b->bottom };
		struct json_object *object = json_object_new_object();
		struct json_object *box = json_object_new_array();
		const char *name = labels_name(labels, b->class);

		for (int j = 0; j < 4; j++)
			json_object_array_add(box, json_object_new_double((double)corners[j]));
		json_object_object_add(object, "class", json_object_new_int64(b->class));
		json_object_object_add(object, "name", name ? json_object_new_string(name) : NULL);
		json_object_object_add(object, "score", json_object_new_double((double)b->score));
		json_object_object_add(object, "box", box);
		json_object_array_add(array, object);
	}
	return array;
}

static int report(const struct vtaimage *image, const struct program_run *r,
		  struct picture *picture, const struct found *f)
{
	struct labels labels;
	int ret = program_labels(image, r, &labels);

	if (!ret && r->json)
		program_add_run(r, 0, "boxes", boxes_json(f, &labels));
	else if (!ret && !(r->box->draw && output_is_stdout(r->box->draw)))
		print_boxes(f, &labels);
	if (!ret && r->box->draw)
		ret = draw(r, picture, f, &labels);
	labels_free(&labels);
	return ret;
}

static int take_boxes(const struct vtaimage *image, const struct program_run *r,
		      const struct picture *picture, struct found *f)
{
	const struct boxes_values values = { f->boxes, f->scores, f->classes, f->count };
	struct vtaimage_preprocess pre;
	struct picture_place place;
	struct vtaimage_tensor input;
	size_t bad;

	vtaimage_preprocess(image, 0, &pre);
	vtaimage_tensor(image, pre.tensor, &input);
	picture_place(picture, &pre, &input, &place);
	f->box = calloc(f->count + 1, sizeof(*f->box));
	if (!f->box)
		return ctl_error("--boxes", -ENOMEM);
	f->boxed = boxes_take(f->box, &values, &r->box->format, &place, r->box->least, &bad);
	if (bad)
		fprintf(stderr, "%s: %zu of the program's boxes are left out: they are beside the "
			"picture, or hold no valid numbers\n", cli_name(), bad);
	return CTL_OK;
}

int program_print_boxes(struct vtaprog *prog, const struct vtaimage *image,
			const struct program_run *r)
{
	struct found f = { .count = 0 };
	char why[PICTURE_WHY_MAX];
	struct picture picture;
	int ret;

	if (boxes_outputs_find(&f.outputs, image, why))
		return ctl_fail("--boxes", why);
	if (picture_load(&picture, r->pictures[0], why))
		return ctl_fail(r->pictures[0], why);
	ret = load_found(prog, &f);
	if (!ret)
		ret = take_boxes(image, r, &picture, &f);
	if (!ret)
		ret = report(image, r, &picture, &f);
	picture_free(&picture);
	free(f.boxes);
	free(f.scores);
	free(f.classes);
	free(f.box);
	return ret;
}
