// SPDX-License-Identifier: Apache-2.0
/* A program as the bytes of a program image, version 2 (docs/program-image.md). */
#include <stdlib.h>
#include <string.h>

#include "program.h"

struct making {
	const struct vtac_program *p;
	const struct vtac_image_options *opt;
	struct vtaimage_source src;
	struct vtaimage_tensor *tensors;
	const char *names[VTAIMAGE_TENSORS_MAX];	/* the model's */
};

/* Printable ASCII without blank and '=', and not too long. */
static void set_name(char name[VTAIMAGE_NAME_MAX], const char *from)
{
	size_t n = strlen(from);

	n = n < VTAIMAGE_NAME_MAX - 1 ? n : VTAIMAGE_NAME_MAX - 1;
	for (size_t i = 0; i < n; i++)
		name[i] = from[i] > ' ' && from[i] < 127 && from[i] != '=' ? from[i] : '_';
	name[n] = '\0';
	if (!n)
		memcpy(name, "tensor", sizeof("tensor"));
}

static bool has_name(const struct making *m, uint32_t i)
{
	return !strcmp(m->tensors[i].name, m->names[i]);
}

/* Does another tensor have the name of @i, and keep it? */
static bool is_taken(const struct making *m, uint32_t i)
{
	for (uint32_t k = 0; k < m->src.tensor_count; k++)
		if (k != i && !strcmp(m->tensors[k].name, m->tensors[i].name) &&
		    (has_name(m, k) == has_name(m, i) ? k < i : has_name(m, k)))
			return true;
	return false;
}

/* Names that are the same, or became it, get a number: x, x_2, x_3, ... */
static void number_names(struct making *m)
{
	for (uint32_t i = 0; i < m->src.tensor_count; i++) {
		char *name = m->tensors[i].name, end[12];
		size_t len = strlen(name);

		for (unsigned int n = 2; is_taken(m, i); n++) {
			size_t more = (size_t)snprintf(end, sizeof(end), "_%u", n);

			if (len + more >= VTAIMAGE_NAME_MAX)
				len = VTAIMAGE_NAME_MAX - 1 - more;
			memcpy(name + len, end, more + 1);
		}
	}
}

static int add_tensor(struct making *m, const struct vtac_tensor *t, const char *name,
		      enum vtaimage_role role)
{
	struct vtaimage_tensor *to = &m->tensors[m->src.tensor_count];
	struct vtac_packed s = vtac_packed_shape(t);
	bool packed = t->layout == VTAC_PACKED;

	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] < 1 || t->dims[i] > VTAIMAGE_DIM_MAX)
			return vtac_fail(m->p->graph, NULL,
					 "Dimension %d of %.120s is %lld; a program's inputs and "
					 "outputs have sizes from 1 to %d.",
					 i, name, (long long)t->dims[i], VTAIMAGE_DIM_MAX);
	if (m->src.tensor_count == VTAIMAGE_TENSORS_MAX)
		return vtac_fail(m->p->graph, NULL, "A program has at most %u tensors.",
				 VTAIMAGE_TENSORS_MAX);
	*to = (struct vtaimage_tensor) {
		.role = role, .offset = (uint32_t)t->offset,
		.bytes = (uint32_t)vtac_tensor_bytes(&m->p->core, t),
		.segment = t->device == VTAC_CARD ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		.layout = packed ? VTAIMAGE_PACKED : VTAIMAGE_PLAIN,
		.type = vtac_cpu_type(t->dtype), .rank = packed ? 4 : (uint32_t)t->rank,
		.scale = t->dtype != VTAC_F32 && t->quant.scale ? t->quant.scale[0] : 0,
		.zero = t->dtype != VTAC_F32 && t->quant.zero ? t->quant.zero[0] : 0,
	};
	set_name(to->name, name);
	m->names[m->src.tensor_count] = name;
	for (int i = 0; i < t->rank; i++)
		to->dims[i] = (uint32_t)t->dims[i];
	if (packed)
		memcpy(to->dims, &s, sizeof(s));
	if (!t->rank) {
		to->rank = 1;
		to->dims[0] = 1;
	}
	if (to->rank <= 4) {
		uint32_t shape[4] = { 1, 1, 1, 1 };

		memcpy(shape + 4 - to->rank, to->dims, to->rank * sizeof(shape[0]));
		to->n = shape[0];
		to->c = shape[1];
		to->h = shape[2];
		to->w = shape[3];
	}
	m->src.tensor_count++;
	return 0;
}

/* The size of the output @t that was added before. */
static int add_size(struct making *m, const struct vtac_tensor *t, const char *name)
{
	const char *own = vtac_text(m->p->graph, "%s.size", name);

	if (!own || add_tensor(m, t->size, own, VTAIMAGE_SIZE))
		return -1;
	m->tensors[m->src.tensor_count - 1].zero = t->open;
	return 0;
}

static int add_tensors(struct making *m)
{
	const struct vtac_graph *g = m->p->graph;

	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (add_tensor(m, g->inputs[i], g->inputs[i]->name, VTAIMAGE_INPUT))
			return -1;
	for (unsigned int i = 0; i + g->n_sizes < g->n_outputs; i++)
		if (add_tensor(m, g->outputs[i], g->output_names[i], VTAIMAGE_OUTPUT) ||
		    (g->outputs[i]->size && add_size(m, g->outputs[i], g->output_names[i])))
			return -1;
	for (unsigned int i = 0; m->opt->internals && i < g->n_tensors; i++)
		if (g->tensors[i]->device == VTAC_CARD && !g->tensors[i]->data &&
		    add_tensor(m, g->tensors[i], g->tensors[i]->name, VTAIMAGE_INTERNAL))
			return -1;
	number_names(m);
	return 0;
}

static int fill_source(struct making *m)
{
	const struct vtac_program *p = m->p;

	m->tensors = calloc(VTAIMAGE_TENSORS_MAX, sizeof(*m->tensors));
	if (!m->tensors)
		return vtac_fail(p->graph, NULL, "Out of memory.");
	m->src = (struct vtaimage_source) {
		.core = &p->core, .model = p->model.data, .model_bytes = (uint32_t)p->model.bytes,
		.arena_bytes = (uint32_t)p->card_bytes, .consts = p->consts.data,
		.consts_bytes = (uint32_t)p->consts.bytes, .host_bytes = (uint32_t)p->host_bytes,
		.streams = p->streams, .stream_count = p->n_streams, .steps = p->steps,
		.step_count = p->n_steps, .tensors = m->tensors,
		.preprocess = m->opt->preprocess, .preprocess_count = m->opt->preprocess_count,
	};
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (m->opt->text[i] && strlen(m->opt->text[i]) > VTAIMAGE_TEXT_MAX)
			return vtac_fail(p->graph, NULL, "The %s over 16 MiB.",
					 i == VTAIMAGE_LABELS ? "labels are" : "report is");
		else if (m->opt->text[i])
			m->src.text[i] = (struct vtaimage_chars) {
				m->opt->text[i], (uint32_t)strlen(m->opt->text[i]) };
	return add_tensors(m);
}

/* Tries it without what the user gave, as the image alone knows what is valid. */
static int fail_image(struct making *m, uint8_t *image, size_t size, const char *why)
{
	struct vtaimage check;

	m->src.preprocess_count = 0;
	if (size && m->opt->preprocess &&
	    !vtaimage_write(&m->src, image, vtaimage_size(&m->src), &check))
		return vtac_fail(m->p->graph, NULL,
				 "A picture cannot become the first input, which needs a batch of "
				 "1 and 3 channels, or 1 channel with --order=gray.");
	m->src.text[VTAIMAGE_LABELS] = (struct vtaimage_chars) { 0 };
	if (size && m->opt->text[VTAIMAGE_LABELS] &&
	    !vtaimage_write(&m->src, image, vtaimage_size(&m->src), &check))
		return vtac_fail(m->p->graph, NULL, "The labels are not UTF-8, or have control "
				 "characters.");
	return vtac_fail(m->p->graph, NULL, "Internal error: the image is not valid: %s",
			 size ? why : "its sizes are wrong");
}

int vtac_image(const struct vtac_program *p, const struct vtac_image_options *opt,
	       uint8_t **image, size_t *size)
{
	struct making m = { .p = p, .opt = opt };
	char name[VTAIMAGE_NAME_MAX];
	struct vtaimage check;
	int err = -1;

	*image = NULL;
	set_name(name, opt->name ? opt->name : p->graph->name);
	if (fill_source(&m))
		goto out;
	m.src.name = name;
	*size = vtaimage_size(&m.src);
	*image = *size ? calloc(1, *size) : NULL;
	if (*size && !*image)
		vtac_fail(p->graph, NULL, "Out of memory.");
	else if (!*size || vtaimage_write(&m.src, *image, *size, &check))
		fail_image(&m, *image, *size, check.why);
	else
		err = 0;
out:
	if (err) {
		free(*image);
		*image = NULL;
	}
	free(m.tensors);
	return err;
}
