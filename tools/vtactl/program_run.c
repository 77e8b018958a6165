// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_run.c - vtactl program run: files, or a picture, to a program and back
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "ctl.h"
#include "labels.h"
#include "output.h"
#include "picture.h"
#include "program.h"
#include "values.h"
#include "vtadev_bench.h"
#include "vtaprog.h"

#define RUN_NS		(600 * 1000000000ll)

/* Returns the number of the tensor that NAME=FILE or @NUMBER=FILE names; -1: none. */
static int tensor_of(const struct vtaimage *image, const char *assign)
{
	char name[VTAIMAGE_NAME_MAX], *end;
	size_t len = strcspn(assign, "=");
	unsigned long number;
	int at;

	if (!assign[len] || len >= sizeof(name))
		return -1;
	memcpy(name, assign, len);
	name[len] = '\0';
	at = vtaimage_find(image, name);
	if (at >= 0 || name[0] != '@' || name[1] < '0' || name[1] > '9')
		return at;
	number = strtoul(name + 1, &end, 10);
	return !*end && number < image->tensor_count ? (int)number : -1;
}

const char *program_file_of(const struct vtaimage *image, uint32_t tensor,
			    const struct program_run *r)
{
	for (int i = 0; i < r->count; i++)
		if (tensor_of(image, r->assigns[i]) == (int)tensor)
			return strchr(r->assigns[i], '=') + 1;
	return NULL;
}

/* The input with preprocessing, to which a picture is converted; UINT32_MAX if there is none. */
static uint32_t picture_input(const struct vtaimage *image)
{
	struct vtaimage_preprocess pre;

	if (!image->preprocess_count)
		return UINT32_MAX;
	vtaimage_preprocess(image, 0, &pre);
	return pre.tensor;
}

/* Do the files of @r have the sizes of the inputs of the image? */
static bool files_fit(const struct vtaimage *image, const struct program_run *r)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		const char *path = program_file_of(image, i, r);

		vtaimage_tensor(image, i, &t);
		if (t.role == VTAIMAGE_INPUT && path && !values_fit(path, &t))
			return false;
	}
	return true;
}

static int choose_variant(struct vtaimage *image, const struct program_run *r)
{
	char why[96];

	if (r->variant_given && vtaimage_variant(image, r->variant, image)) {
		snprintf(why, sizeof(why), "the program has variants 0 to %" PRIu32,
			 vtaimage_variants(image) - 1);
		return ctl_fail("--variant", why);
	}
	if (r->variant_given || vtaimage_variants(image) == 1)
		return CTL_OK;
	for (uint32_t i = 0; i < vtaimage_variants(image); i++) {
		vtaimage_variant(image, i, image);
		if (files_fit(image, r))
			return CTL_OK;
	}
	return ctl_fail(r->path, "no variant of the program has inputs of these sizes; "
			"vtactl program info lists them");
}

uint8_t *program_read_for(const struct program_run *r, struct vtaimage *image)
{
	uint8_t *data = program_read(r->path, image);

	if (data && choose_variant(image, r)) {
		free(data);
		return NULL;
	}
	return data;
}

int program_check_output(const struct vtaimage *image, const struct program_run *r,
			 const char *path)
{
	bool replaces = output_replaces(path, r->path) ||
		(r->labels && output_replaces(path, r->labels));
	struct vtaimage_tensor t;

	for (int i = 0; i < r->picture_count; i++)
		replaces = replaces || output_replaces(path, r->pictures[i]);
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		const char *file = program_file_of(image, i, r);

		vtaimage_tensor(image, i, &t);
		if (file && t.role == VTAIMAGE_INPUT)
			replaces = replaces || output_replaces(path, file);
	}
	return replaces ? ctl_fail(path, "the output would replace what is read") : 0;
}

/* Every NAME=FILE names an input or an output, none twice, and every input has one. */
static int check_assigns(const struct vtaimage *image, const struct program_run *r)
{
	struct vtaimage_tensor t;

	for (int i = 0; i < r->count; i++) {
		int at = tensor_of(image, r->assigns[i]);

		if (at >= 0)
			vtaimage_tensor(image, (uint32_t)at, &t);
		if (at < 0 || t.role == VTAIMAGE_INTERNAL)
			return ctl_fail(r->assigns[i], "not NAME=FILE of an input or output; "
					"vtactl program info lists them");
		for (int k = 0; k < i; k++)
			if (tensor_of(image, r->assigns[k]) == at)
				return ctl_fail(r->assigns[i], "another file is given for it");
		if (t.role == VTAIMAGE_OUTPUT &&
		    program_check_output(image, r, strchr(r->assigns[i], '=') + 1))
			return CTL_ERROR;
	}
	if (r->picture_count && picture_input(image) == UINT32_MAX)
		return ctl_fail("--image", "the program does not say how a picture becomes an "
				"input");
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role == VTAIMAGE_INPUT && !program_file_of(image, i, r) &&
		    (!r->picture_count || i != picture_input(image)))
			return ctl_fail(t.name, "this input needs a file: NAME=FILE");
	}
	return 0;
}

void *program_picture(const struct vtaimage *image, const struct vtaimage_tensor *t,
		      const char *path)
{
	struct vtaimage_preprocess pre;
	char why[PICTURE_WHY_MAX];
	struct picture picture;
	void *values;

	if (picture_load(&picture, path, why)) {
		ctl_fail(path, why);
		return NULL;
	}
	vtaimage_preprocess(image, 0, &pre);
	values = malloc(values_bytes(t));
	if (!values || picture_prepare(&picture, &pre, t, values, why)) {
		ctl_fail(path, values ? why : strerror(ENOMEM));
		free(values);
		values = NULL;
	}
	picture_free(&picture);
	return values;
}

/* The values of an input, to be freed; NULL if they cannot be loaded. */
static void *load_input(const struct vtaimage *image, uint32_t tensor,
			const struct vtaimage_tensor *t, const struct program_run *r)
{
	const char *path = program_file_of(image, tensor, r);

	return path ? values_load(path, t) : program_picture(image, t, r->pictures[0]);
}

static void *make_input(const struct vtaimage_tensor *t, unsigned int number)
{
	void *values = calloc(1, values_bytes(t) + 1);

	if (values)
		vtadev_bench_values(t, number, values);
	else
		ctl_fail(t->name, strerror(ENOMEM));
	return values;
}

int program_load_inputs(const struct vtaimage *image, const struct program_run *r,
			struct program_inputs *inputs)
{
	bool given = r->count || r->picture_count;
	int ret = given ? check_assigns(image, r) : CTL_OK;
	struct vtaimage_tensor t;

	*inputs = (struct program_inputs) { 0 };
	if (ret)
		return ret;
	inputs->io = calloc(image->tensor_count + 1, sizeof(*inputs->io));
	if (!inputs->io)
		return ctl_fail(r->path, strerror(ENOMEM));
	for (uint32_t i = 0; i < image->tensor_count && !ret; i++) {
		struct iovec *io = &inputs->io[inputs->count];

		vtaimage_tensor(image, i, &t);
		if (t.role != VTAIMAGE_INPUT)
			continue;
		io->iov_len = values_bytes(&t);
		io->iov_base = given ? load_input(image, i, &t, r) :
			       make_input(&t, inputs->count);
		inputs->count++;
		ret = io->iov_base ? CTL_OK : CTL_ERROR;
	}
	if (ret)
		program_free_inputs(inputs);
	return ret;
}

void program_free_inputs(struct program_inputs *inputs)
{
	for (unsigned int i = 0; i < inputs->count; i++)
		free(inputs->io[i].iov_base);
	free(inputs->io);
	*inputs = (struct program_inputs) { 0 };
}

static int put_inputs(struct vtaprog *prog, const struct vtaimage *image,
		      const struct program_run *r)
{
	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
		void *values;

		if (t->role != VTAIMAGE_INPUT)
			continue;
		values = load_input(image, i, t, r);
		if (!values)
			return CTL_ERROR;
		vtaprog_put(prog, i, values);
		free(values);
	}
	return CTL_OK;
}

void program_add_run(const struct program_run *r, size_t number, const char *key,
		     struct json_object *results)
{
	struct json_object *run = json_object_new_object(), *runs = NULL;

	json_object_object_add(run, "run", json_object_new_int64((int64_t)number + 1));
	json_object_object_add(run, "picture", number < (size_t)r->picture_count ?
			       json_object_new_string(r->pictures[number]) : NULL);
	json_object_object_add(run, key, results);
	json_object_object_get_ex(r->json, "runs", &runs);
	json_object_array_add(runs, run);
}

int program_labels(const struct vtaimage *image, const struct program_run *r, struct labels *labels)
{
	const struct vtaimage_chars *text = &image->text[VTAIMAGE_LABELS];

	return r->labels ? labels_load(labels, r->labels) :
	       labels_from_text(labels, text->text, text->bytes);
}

int program_print_top(const struct vtaimage *image, const struct vtaimage_tensor *t,
		      const void *values, const struct program_run *r, size_t number)
{
	struct labels labels;
	int ret = program_labels(image, r, &labels);

	if (!ret && r->json)
		program_add_run(r, number, "classes", labels_json(&labels, t, values, r->top));
	else if (!ret)
		labels_print(&labels, t, values, r->top);
	labels_free(&labels);
	return ret;
}

/* Bring the parts in use of a tensor together if data decides its size, and return that size. */
static void cut_output(struct vtaprog *prog, uint32_t i, struct vtaimage_tensor *t, void *values,
		       const struct program_run *r)
{
	size_t outer = 1, row = vtacpu_type_bytes(t->type);
	uint32_t dim = 0;
	int64_t n = vtaprog_size(prog, i, &dim);

	if (n < 0)
		return;
	if (!r->json && !r->box)
		printf("%s: %" PRId64 " of at most %" PRIu32 "\n", t->name, n, t->dims[dim]);
	for (uint32_t j = 0; j < t->rank; j++) {
		outer *= j < dim ? t->dims[j] : 1;
		row *= j > dim ? t->dims[j] : 1;
	}
	for (size_t o = 1; o < outer; o++)
		memmove((char *)values + o * (size_t)n * row,
			(char *)values + o * t->dims[dim] * row, (size_t)n * row);
	t->dims[dim] = (uint32_t)n;
}

static int get_outputs(struct vtaprog *prog, const struct vtaimage *image,
		       const struct program_run *r)
{
	bool print = r->top != 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
		const char *path = program_file_of(image, i, r);
		struct vtaimage_tensor own = *t;
		void *values;
		int ret, err;

		if ((t->role != VTAIMAGE_OUTPUT && t->role != VTAIMAGE_SIZE) || (!path && !print))
			continue;
		values = malloc(vtaprog_bytes(t));
		if (!values)
			return ctl_fail(t->name, strerror(ENOMEM));
		err = vtaprog_get(prog, i, values);
		ret = err ? ctl_error(t->name, err) : CTL_OK;
		if (!ret)
			cut_output(prog, i, &own, values, r);
		if (!ret && path)
			ret = values_store(path, &own, values, 1);
		if (!ret && print)
			ret = program_print_top(image, &own, values, r, 0);
		free(values);
		if (ret)
			return ret;
		print = false;
	}
	return CTL_OK;
}

static int wait_for(struct vtadev *dev, struct vtadev_queue *queue, struct vtaprog *prog,
		    const char *path)
{
	char text[VTADEV_FAULT_TEXT_MAX];
	struct vtadev_fault fault;
	int err = vtaprog_run(prog, RUN_NS);

	if (!err)
		return CTL_OK;
	ctl_fail(path, ctl_why(dev, err, text));
	if (err == -EIO && !vtadev_fault(queue, &fault)) {
		vtadev_fault_text(&fault, text, sizeof(text));
		ctl_fail(path, text);
	}
	return CTL_ERROR;
}

static int run_on(struct vtadev *dev, const struct vtaimage *image, const struct program_run *r)
{
	const struct vtadev_queue_opts options = { .ring_entries = vtaprog_ring(dev, image) };
	struct vtadev_queue *queue;
	char why[VTAPROG_WHY_MAX];
	struct vtaprog *prog = NULL;
	int ret, err;

	err = vtadev_queue_create(dev, &options, &queue);
	if (err)
		return ctl_fail("making a queue", vtadev_strerror(err));
	ret = vtaprog_load(dev, queue, image, &prog, why) ? ctl_fail(r->path, why) : CTL_OK;
	if (!ret) {
		err = vtaprog_threads(prog, r->threads);
		ret = err ? ctl_error("--threads", err) : put_inputs(prog, image, r);
	}
	if (!ret)
		ret = wait_for(dev, queue, prog, r->path);
	if (!ret)
		ret = get_outputs(prog, image, r);
	if (!ret && r->box)
		ret = program_print_boxes(prog, image, r);
	vtadev_queue_destroy(queue);
	vtaprog_free(prog);
	return ret;
}

static int run_on_one(const struct program_run *r, const struct vtaimage *image)
{
	struct vtadev *dev;
	int ret = ctl_open(NULL, &dev);

	if (ret)
		return ret;
	ret = run_on(dev, image, r);
	vtadev_close(dev);
	return ret;
}

int program_run(const struct program_run *r)
{
	struct vtaimage image;
	uint8_t *data = program_read_for(r, &image);
	int ret;

	if (!data)
		return CTL_ERROR;
	ret = r->images ? CTL_OK : check_assigns(&image, r);
	if (!ret)
		ret = program_check_boxes(&image, r);
	if (!ret && r->images)
		ret = program_evaluate(r, &image);
	else if (!ret)
		ret = r->cards ? program_run_pool(r, &image) : run_on_one(r, &image);
	free(data);
	return ret;
}
