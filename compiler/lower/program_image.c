// SPDX-License-Identifier: Apache-2.0
/* A program as the bytes of a program image, version 2 (docs/program-image.md). */
#include <stdlib.h>
#include <string.h>

#include "program.h"

struct making {
	const struct vtac_program *p;
	const struct vtac_image_options *opt;
	struct vtaimage_source src;
	struct vtaimage_stream *streams;
	struct vtaimage_step *steps;
	struct vtaimage_tensor *tensors;
	uint8_t *consts;
	uint64_t consts_bytes, consts_max;
	const void **placed;		/* constants' data, and where they are */
	uint32_t *places;
	unsigned int n_placed;
};

/* ---- constants ---- */

static int add_const(struct making *m, const struct vtac_tensor *t, uint32_t *offset)
{
	uint64_t at = (m->consts_bytes + 63) / 64 * 64, bytes = (uint64_t)vtac_bytes(t);

	for (unsigned int i = 0; i < m->n_placed; i++)
		if (m->placed[i] == t->data) {
			*offset = m->places[i];
			return 0;
		}
	if (at + bytes > VTAIMAGE_SEGMENT_MAX)
		return vtac_fail(m->p->graph, NULL, "Constants of the CPU take more than 1 GiB.");
	if (at + bytes > m->consts_max) {
		uint64_t max = 2 * (at + bytes);
		uint8_t *more = realloc(m->consts, max);

		if (!more)
			return vtac_fail(m->p->graph, NULL, "Out of memory.");
		memset(more + m->consts_max, 0, max - m->consts_max);
		m->consts = more;
		m->consts_max = max;
	}
	if (bytes)
		memcpy(m->consts + at, t->data, bytes);
	m->consts_bytes = at + bytes;
	m->placed[m->n_placed] = t->data;
	m->places[m->n_placed++] = (uint32_t)at;
	*offset = (uint32_t)at;
	return 0;
}

/* ---- steps ---- */

static struct vtaimage_place place_of(const struct vtac_tensor *t)
{
	return (struct vtaimage_place) {
		.segment = t->device == VTAC_CARD ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		.offset = (uint32_t)t->offset };
}

static int add_cpu(struct making *m, const struct vtac_step *from, struct vtaimage_step *s)
{
	const struct vtac_call *c = from->call;

	s->kind = VTAIMAGE_CPU;
	s->kernel = c->kernel;
	memcpy(&s->params, &c->p, vtacpu_params_bytes(c->kernel));
	s->scratch = c->need.scratch ? (uint32_t)m->p->scratch_at : 0;
	for (unsigned int i = 0; i < c->need.operands; i++) {
		if (!c->io[i])
			continue;
		if (!c->io[i]->data) {
			s->io[i] = place_of(c->io[i]);
			continue;
		}
		s->io[i].segment = VTAIMAGE_IN_CONSTS;
		if (add_const(m, c->io[i], &s->io[i].offset))
			return -1;
	}
	return 0;
}

static int add_steps(struct making *m)
{
	const struct vtac_program *p = m->p;
	uint32_t streams = 0;

	for (unsigned int i = 0; i < p->n_steps; i++) {
		const struct vtac_step *from = &p->steps[i];
		struct vtaimage_step *s = &m->steps[i];

		if (from->kind == VTAC_STEP_CPU && add_cpu(m, from, s))
			return -1;
		if (from->kind == VTAC_STEP_COPY)
			*s = (struct vtaimage_step) {
				.kind = VTAIMAGE_COPY, .dst = place_of(from->to),
				.src = place_of(from->from), .bytes = from->bytes,
				.rows = from->rows, .pitch = from->pitch };
		if (from->kind == VTAC_STEP_FILL) {
			*s = (struct vtaimage_step) {
				.kind = VTAIMAGE_FILL, .dst = place_of(from->to),
				.bytes = from->bytes, .pattern = from->pattern };
			s->dst.offset += from->skip;
		}
		if (from->kind != VTAC_STEP_CARD)
			continue;
		m->streams[streams] = (struct vtaimage_stream) {
			.insn_at = from->insn_at, .insn_count = from->insn_count,
			.cycles = from->cycles };
		*s = (struct vtaimage_step) { .kind = VTAIMAGE_RUN, .stream = streams++ };
	}
	m->src.stream_count = streams;
	m->src.step_count = p->n_steps;
	return 0;
}

/* ---- tensors ---- */

/* Printable ASCII without blank and '='. */
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

static uint32_t type_of(enum vtac_dtype dtype)
{
	static const uint32_t types[VTAC_DTYPES] = {
		VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64, VTACPU_BOOL,
	};

	return types[dtype];
}

static int add_tensor(struct making *m, const struct vtac_tensor *t, const char *name,
		      enum vtaimage_role role)
{
	struct vtaimage_tensor *to = &m->tensors[m->src.tensor_count];
	struct vtac_packed s = vtac_packed_shape(t);
	bool packed = t->layout == VTAC_PACKED;

	if (t->data)
		return vtac_fail(m->p->graph, NULL, "Output %.120s is constant.", t->name);
	if (m->src.tensor_count == VTAIMAGE_TENSORS_MAX)
		return vtac_fail(m->p->graph, NULL, "A program has at most %u tensors.",
				 VTAIMAGE_TENSORS_MAX);
	*to = (struct vtaimage_tensor) {
		.role = role, .offset = (uint32_t)t->offset,
		.bytes = (uint32_t)vtac_tensor_bytes(m->p, t),
		.segment = t->device == VTAC_CARD ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		.layout = packed ? VTAIMAGE_PACKED : VTAIMAGE_PLAIN,
		.type = type_of(t->dtype), .rank = packed ? 4 : (uint32_t)t->rank,
		.scale = t->dtype != VTAC_F32 && t->quant.scale ? t->quant.scale[0] : 0,
		.zero = t->dtype != VTAC_F32 && t->quant.zero ? t->quant.zero[0] : 0,
	};
	set_name(to->name, name);
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

static int add_tensors(struct making *m)
{
	const struct vtac_graph *g = m->p->graph;

	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (add_tensor(m, g->inputs[i], g->inputs[i]->name, VTAIMAGE_INPUT))
			return -1;
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (add_tensor(m, g->outputs[i], g->output_names[i], VTAIMAGE_OUTPUT))
			return -1;
	for (unsigned int i = 0; m->opt->internals && i < g->n_tensors; i++)
		if (g->tensors[i]->device == VTAC_CARD && !g->tensors[i]->data &&
		    add_tensor(m, g->tensors[i], g->tensors[i]->name, VTAIMAGE_INTERNAL))
			return -1;
	return 0;
}

/* ---- the whole ---- */

static int make(struct making *m)
{
	const struct vtac_program *p = m->p;

	m->streams = calloc(p->n_steps + 1u, sizeof(*m->streams));
	m->steps = calloc(p->n_steps + 1u, sizeof(*m->steps));
	m->tensors = calloc(VTAIMAGE_TENSORS_MAX, sizeof(*m->tensors));
	m->placed = calloc(p->n_steps * (size_t)VTACPU_OPERANDS_MAX + 1, sizeof(*m->placed));
	m->places = calloc(p->n_steps * (size_t)VTACPU_OPERANDS_MAX + 1, sizeof(*m->places));
	if (!m->streams || !m->steps || !m->tensors || !m->placed || !m->places)
		return vtac_fail(p->graph, NULL, "Out of memory.");
	if (add_steps(m) || add_tensors(m))
		return -1;
	m->src.core = &p->core;
	m->src.model = p->model;
	m->src.model_bytes = (uint32_t)p->model_bytes;
	m->src.arena_bytes = (uint32_t)p->card_bytes;
	m->src.consts = m->consts;
	m->src.consts_bytes = (uint32_t)m->consts_bytes;
	m->src.host_bytes = (uint32_t)p->host_bytes;
	m->src.streams = m->streams;
	m->src.steps = m->steps;
	m->src.tensors = m->tensors;
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (m->opt->text[i])
			m->src.text[i] = (struct vtaimage_chars) {
				m->opt->text[i], (uint32_t)strlen(m->opt->text[i]) };
	m->src.preprocess = m->opt->preprocess;
	m->src.preprocess_count = m->opt->preprocess_count;
	return 0;
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
	m.src.name = name;
	if (make(&m))
		goto out;
	*size = vtaimage_size(&m.src);
	*image = *size ? calloc(1, *size) : NULL;
	if (*size && !*image)
		vtac_fail(p->graph, NULL, "Out of memory.");
	else if (!*size || vtaimage_write(&m.src, *image, *size, &check))
		vtac_fail(p->graph, NULL, "Internal error: the image is not valid: %s",
			  *size ? check.why : "its sizes are wrong");
	else
		err = 0;
out:
	if (err) {
		free(*image);
		*image = NULL;
	}
	free(m.streams);
	free(m.steps);
	free(m.tensors);
	free(m.consts);
	free(m.placed);
	free(m.places);
	return err;
}
