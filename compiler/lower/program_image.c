// SPDX-License-Identifier: Apache-2.0
/* A program as the bytes of a program image, version 2 (docs/program-image.md). */
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* The tables of all variants, one behind the other; names are unique in each. */
struct making {
	const struct vtac_program *p;		/* the variant that is added */
	const struct vtac_image_options *opt;	/* all of them */
	unsigned int n;
	struct vtaimage_source src;
	uint32_t first;				/* of the variant's tensors */
	struct vtaimage_variant variants[VTAIMAGE_VARIANTS_MAX];
	struct vtaimage_tensor *tensors;
	struct vtaimage_stream *streams;
	struct vtaimage_step *steps;
	struct vtaimage_preprocess *preprocess;
	char *reports[VTAIMAGE_TEXTS];
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
	for (uint32_t k = m->first; k < m->src.tensor_count; k++)
		if (k != i && !strcmp(m->tensors[k].name, m->tensors[i].name) &&
		    (has_name(m, k) == has_name(m, i) ? k < i : has_name(m, k)))
			return true;
	return false;
}

/* Names that are the same, or became it, get a number: x, x_2, x_3, ... */
static void number_names(struct making *m)
{
	for (uint32_t i = m->first; i < m->src.tensor_count; i++) {
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

	m->first = m->src.tensor_count;
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

/* Joins the reports of a kind; NULL without memory. */
static char *join_reports(const struct making *m, enum vtaimage_text which, size_t *bytes)
{
	char *text;

	*bytes = 0;
	for (unsigned int i = 0; i < m->n; i++)
		*bytes += m->opt[i].text[which] ? strlen(m->opt[i].text[which]) : 0;
	text = malloc(*bytes + 1);
	if (text)
		text[0] = '\0';
	for (unsigned int i = 0, at = 0; text && i < m->n; i++)
		if (m->opt[i].text[which])
			at += (unsigned int)snprintf(text + at, *bytes + 1 - at, "%s",
						     m->opt[i].text[which]);
	return text;
}

static int add_texts(struct making *m)
{
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++) {
		const char *labels = m->opt->text[VTAIMAGE_LABELS];
		size_t bytes = labels ? strlen(labels) : 0;

		if (i != VTAIMAGE_LABELS) {
			m->reports[i] = join_reports(m, i, &bytes);
			if (!m->reports[i])
				return vtac_fail(m->p->graph, NULL, "Out of memory.");
		}
		if (bytes > VTAIMAGE_TEXT_MAX)
			return vtac_fail(m->p->graph, NULL, "The %s over 16 MiB.",
					 i == VTAIMAGE_LABELS ? "labels are" : "report is");
		if (bytes)
			m->src.text[i] = (struct vtaimage_chars) {
				i == VTAIMAGE_LABELS ? labels : m->reports[i], (uint32_t)bytes };
	}
	return 0;
}

static uint32_t text_bytes(const char *text)
{
	return text ? (uint32_t)strlen(text) : 0;
}

static uint32_t max_of(uint32_t a, uint64_t b)
{
	return b > a ? (uint32_t)b : a;
}

static int add_variant(struct making *m, unsigned int i)
{
	const struct vtac_program *p = m->p;
	struct vtaimage_source *src = &m->src;
	uint32_t before = src->tensor_count;

	if (add_tensors(m))
		return -1;
	memcpy(m->streams + src->stream_count, p->streams, p->n_streams * sizeof(*p->streams));
	memcpy(m->steps + src->step_count, p->steps, p->n_steps * sizeof(*p->steps));
	for (unsigned int k = 0; k < m->opt->preprocess_count; k++)
		m->preprocess[src->preprocess_count++] = m->opt->preprocess[k];
	m->variants[i] = (struct vtaimage_variant) {
		.tensor_count = src->tensor_count - before, .stream_count = p->n_streams,
		.step_count = p->n_steps, .preprocess_count = m->opt->preprocess_count,
		.report_bytes = text_bytes(m->opt[i].text[VTAIMAGE_REPORT]),
		.report_json_bytes = text_bytes(m->opt[i].text[VTAIMAGE_REPORT_JSON]),
		.arena_bytes = (uint32_t)p->card_bytes, .host_bytes = (uint32_t)p->host_bytes,
	};
	src->stream_count += p->n_streams;
	src->step_count += p->n_steps;
	src->arena_bytes = max_of(src->arena_bytes, p->card_bytes);
	src->host_bytes = max_of(src->host_bytes, p->host_bytes);
	return 0;
}

static int make_tables(struct making *m, const struct vtac_program *programs)
{
	uint64_t streams = 1, steps = 1;

	for (unsigned int i = 0; i < m->n; i++) {
		streams += programs[i].n_streams;
		steps += programs[i].n_steps;
	}
	if (streams - 1 > VTAIMAGE_STREAMS_MAX || steps - 1 > VTAIMAGE_STEPS_MAX) {
		vtac_fail(m->p->graph, NULL, "All variants have more than %u streams or %u steps.",
			  VTAIMAGE_STREAMS_MAX, VTAIMAGE_STEPS_MAX);
		return -1;
	}
	m->tensors = calloc(VTAIMAGE_TENSORS_MAX, sizeof(*m->tensors));
	m->streams = calloc(streams, sizeof(*m->streams));
	m->steps = calloc(steps, sizeof(*m->steps));
	m->preprocess = calloc((size_t)m->n * m->opt->preprocess_count + 1, sizeof(*m->preprocess));
	if (m->tensors && m->streams && m->steps && m->preprocess)
		return 0;
	vtac_fail(m->p->graph, NULL, "Out of memory.");
	return -1;
}

static int fill_source(struct making *m, const struct vtac_program *programs)
{
	const struct vtac_program *last = &programs[m->n - 1];

	m->p = last;
	if (make_tables(m, programs))
		return -1;
	m->src = (struct vtaimage_source) {
		.core = &last->core, .model = last->model.data,
		.model_bytes = (uint32_t)last->model.bytes, .consts = last->consts.data,
		.consts_bytes = (uint32_t)last->consts.bytes, .streams = m->streams,
		.steps = m->steps, .tensors = m->tensors, .preprocess = m->preprocess,
	};
	for (unsigned int i = 0; i < m->n; i++) {
		m->p = &programs[i];
		if (add_variant(m, i)) {
			if (m->p != last)
				last->graph->error = m->p->graph->error;
			return -1;
		}
	}
	return add_texts(m);
}

static size_t source_bytes(const struct making *m)
{
	return m->n > 1 ? vtaimage_size_variants(&m->src, m->variants, m->n) :
	       vtaimage_size(&m->src);
}

static int write_source(const struct making *m, uint8_t *image, size_t size, struct vtaimage *check)
{
	return m->n > 1 ? vtaimage_write_variants(&m->src, m->variants, m->n, image, size, check) :
	       vtaimage_write(&m->src, image, size, check);
}

/* Tries it without what the user gave, as the image alone knows what is valid. */
static int fail_image(struct making *m, uint8_t *image, size_t size, const char *why)
{
	struct vtaimage check;

	m->src.preprocess_count = 0;
	for (unsigned int i = 0; i < m->n; i++)
		m->variants[i].preprocess_count = 0;
	if (size && m->opt->preprocess &&
	    !write_source(m, image, source_bytes(m), &check))
		return vtac_fail(m->p->graph, NULL,
				 "A picture cannot become the first input, which needs a batch of "
				 "1 and 3 channels, or 1 channel with --order=gray.");
	m->src.text[VTAIMAGE_LABELS] = (struct vtaimage_chars) { 0 };
	if (size && m->opt->text[VTAIMAGE_LABELS] &&
	    !write_source(m, image, source_bytes(m), &check))
		return vtac_fail(m->p->graph, NULL, "The labels are not UTF-8, or have control "
				 "characters.");
	return vtac_fail(m->p->graph, NULL, "Internal error: the image is not valid: %s",
			 size ? why : "its sizes are wrong");
}

int vtac_image(const struct vtac_program *p, const struct vtac_image_options *opt,
	       uint8_t **image, size_t *size)
{
	return vtac_image_variants(p, opt, 1, image, size);
}

static void free_making(struct making *m)
{
	free(m->tensors);
	free(m->streams);
	free(m->steps);
	free(m->preprocess);
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		free(m->reports[i]);
	free(m);
}

int vtac_image_variants(const struct vtac_program *p, const struct vtac_image_options *opt,
			unsigned int n, uint8_t **image, size_t *size)
{
	struct vtac_graph *g = p[n - 1].graph;
	struct making *m = calloc(1, sizeof(*m));
	char name[VTAIMAGE_NAME_MAX];
	struct vtaimage check;
	int err = -1;

	*image = NULL;
	if (!m)
		return vtac_fail(g, NULL, "Out of memory.");
	m->opt = opt;
	m->n = n;
	set_name(name, opt->name ? opt->name : g->name);
	if (fill_source(m, p))
		goto out;
	m->src.name = name;
	*size = source_bytes(m);
	*image = *size ? calloc(1, *size) : NULL;
	if (*size && !*image)
		vtac_fail(g, NULL, "Out of memory.");
	else if (!*size || write_source(m, *image, *size, &check))
		fail_image(m, *image, *size, check.why);
	else
		err = 0;
out:
	if (err) {
		free(*image);
		*image = NULL;
	}
	free_making(m);
	return err;
}
