// SPDX-License-Identifier: GPL-2.0-only
/* A program as a program image (docs/program-image.md). */
#include <stdlib.h>
#include <string.h>

#include "vtac.h"

struct image {
	const struct vtac_program *p;
	struct vtac_graph *g;
	struct vtaimage_source source;
	struct vtaimage_stream *streams;
	struct vtaimage_step *steps;
	struct vtaimage_tensor *tensors;
	uint32_t max_steps;
	/* Constants: by their address, which several operands may share. */
	uint8_t *consts;
	uint64_t consts_bytes, consts_max;
	const void **known;
	uint32_t *known_at;
	unsigned int n_known, max_known;
};

static uint64_t align64(uint64_t n)
{
	return (n + 63) & ~UINT64_C(63);
}

/* ---- constants ---- */

static int grow_consts(struct image *im, uint64_t bytes)
{
	uint64_t max = im->consts_max ? im->consts_max : 65536;
	uint8_t *consts;

	if (bytes > VTAIMAGE_SEGMENT_MAX)
		return vtac_fail(im->g, NULL, "The constants of the CPU's nodes are over 1 GiB.");
	while (max < bytes)
		max *= 2;
	if (max == im->consts_max)
		return 0;
	consts = realloc(im->consts, max);
	if (!consts)
		return vtac_fail(im->g, NULL, "Out of memory.");
	memset(consts + im->consts_max, 0, max - im->consts_max);
	im->consts = consts;
	im->consts_max = max;
	return 0;
}

static int remember(struct image *im, const void *data, uint32_t at)
{
	unsigned int max = im->max_known ? im->max_known * 2 : 64;

	if (im->n_known == im->max_known) {
		const void **known = realloc(im->known, max * sizeof(*known));
		uint32_t *known_at;

		if (!known)
			return vtac_fail(im->g, NULL, "Out of memory.");
		im->known = known;
		known_at = realloc(im->known_at, max * sizeof(*known_at));
		if (!known_at)
			return vtac_fail(im->g, NULL, "Out of memory.");
		im->known_at = known_at;
		im->max_known = max;
	}
	im->known[im->n_known] = data;
	im->known_at[im->n_known++] = at;
	return 0;
}

static int place_const(struct image *im, const struct vtac_tensor *t, uint32_t *at)
{
	uint64_t bytes = (uint64_t)vtac_bytes(t), from = align64(im->consts_bytes);

	for (unsigned int i = 0; i < im->n_known; i++)
		if (im->known[i] == t->data) {
			*at = im->known_at[i];
			return 0;
		}
	if (grow_consts(im, from + bytes) || remember(im, t->data, (uint32_t)from))
		return -1;
	memcpy(im->consts + from, t->data, bytes);
	im->consts_bytes = from + bytes;
	*at = (uint32_t)from;
	return 0;
}

/* ---- steps ---- */

static struct vtaimage_step *add_step(struct image *im, enum vtaimage_step_kind kind)
{
	struct vtaimage_step *s;

	if (im->source.step_count == im->max_steps) {
		uint32_t max = im->max_steps ? im->max_steps * 2 : 64;

		s = realloc(im->steps, max * sizeof(*s));
		if (!s) {
			vtac_fail(im->g, NULL, "Out of memory.");
			return NULL;
		}
		im->steps = s;
		im->max_steps = max;
	}
	s = &im->steps[im->source.step_count++];
	*s = (struct vtaimage_step){ .kind = kind };
	return s;
}

static int operand(struct image *im, const struct vtac_tensor *t, struct vtaimage_place *place)
{
	if (!t)
		return 0;
	if (t->data) {
		place->segment = VTAIMAGE_IN_CONSTS;
		return place_const(im, t, &place->offset);
	}
	*place = (struct vtaimage_place){
		t->device == VTAC_CARD ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		(uint32_t)t->offset,
	};
	return 0;
}

static int add_copy(struct image *im, const struct vtac_step *step)
{
	struct vtaimage_step *s = add_step(im, VTAIMAGE_COPY);

	if (!s)
		return -1;
	s->bytes = step->bytes;
	return operand(im, step->to, &s->dst) || operand(im, step->from, &s->src);
}

static int add_call(struct image *im, const struct vtac_call *call)
{
	struct vtaimage_step *s = add_step(im, VTAIMAGE_CPU);

	if (!s)
		return -1;
	s->kernel = call->kernel;
	memcpy(&s->params, &call->p, vtacpu_params_bytes(call->kernel));
	for (uint32_t i = 0; i < call->need.operands; i++)
		if (operand(im, call->io[i], &s->io[i]))
			return -1;
	s->scratch = call->need.scratch ? (uint32_t)im->p->scratch_at : 0;
	return 0;
}

static int add_stream(struct image *im, const struct vtac_step *step)
{
	struct vtaimage_step *s = add_step(im, VTAIMAGE_RUN);

	if (!s)
		return -1;
	s->stream = im->source.stream_count;
	im->streams[im->source.stream_count++] = (struct vtaimage_stream){
		.insn_at = step->insn_at, .insn_count = step->insn_count, .cycles = step->cycles,
	};
	return 0;
}

static int add(struct image *im, const struct vtac_step *step)
{
	switch (step->kind) {
	case VTAC_STEP_CARD:
		return add_stream(im, step);
	case VTAC_STEP_CPU:
		return add_call(im, step->call);
	default:
		return add_copy(im, step);
	}
}

static int make_steps(struct image *im)
{
	if (im->p->host_bytes > VTAIMAGE_SEGMENT_MAX)
		return vtac_fail(im->g, NULL,
				 "The program takes more than 1 GiB of the host's memory.");
	im->streams = calloc(im->p->n_steps + 1u, sizeof(*im->streams));
	if (!im->streams)
		return vtac_fail(im->g, NULL, "Out of memory.");
	for (unsigned int i = 0; i < im->p->n_steps; i++)
		if (add(im, &im->p->steps[i]))
			return -1;
	im->source.streams = im->streams;
	im->source.steps = im->steps;
	return 0;
}

/* ---- inputs and outputs ---- */

/* Printable ASCII without the blank and '='; too long a name keeps its end. */
static void clean_name(char *to, size_t max, const char *name)
{
	size_t len = strlen(name), from = len < max ? 0 : len - max + 1;

	for (size_t i = from; i < len; i++)
		*to++ = name[i] > ' ' && name[i] < 127 && name[i] != '=' ? name[i] : '_';
	*to = 0;
}

static int set_tensor(struct image *im, struct vtaimage_tensor *to, const struct vtac_tensor *t,
		      const char *name, enum vtaimage_role role)
{
	static const uint32_t types[VTAC_DTYPES] = {
		VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64, VTACPU_BOOL,
	};

	if (t->data || t->layout != VTAC_PLAIN)
		return vtac_fail(im->g, NULL, "Output %.120s is a constant.", t->name);
	*to = (struct vtaimage_tensor){
		.role = role, .n = 1, .c = 1, .h = 1, .w = 1, .offset = (uint32_t)t->offset,
		.bytes = (uint32_t)vtac_bytes(t), .segment = VTAIMAGE_IN_HOST,
		.layout = VTAIMAGE_PLAIN, .type = types[t->dtype],
		.rank = t->rank ? (uint32_t)t->rank : 1, .dims = { 1 },
	};
	for (int i = 0; i < t->rank; i++)
		to->dims[i] = (uint32_t)t->dims[i];
	if (t->rank <= 4) {
		uint32_t *shape[4] = { &to->n, &to->c, &to->h, &to->w };

		for (int i = 0; i < t->rank; i++)
			*shape[4 - t->rank + i] = (uint32_t)t->dims[i];
	} else {
		to->n = 0;
		to->c = 0;
		to->h = 0;
		to->w = 0;
	}
	if (t->dtype != VTAC_F32 && t->quant.scale && t->quant.n == 1) {
		to->scale = t->quant.scale[0];
		to->zero = t->quant.zero ? t->quant.zero[0] : 0;
	}
	clean_name(to->name, sizeof(to->name), name);
	return 0;
}

static int make_tensors(struct image *im)
{
	struct vtac_graph *g = im->g;
	uint32_t n = 0;

	im->tensors = calloc(g->n_inputs + g->n_outputs + 1u, sizeof(*im->tensors));
	if (!im->tensors)
		return vtac_fail(g, NULL, "Out of memory.");
	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (set_tensor(im, &im->tensors[n++], g->inputs[i], g->inputs[i]->name,
			       VTAIMAGE_INPUT))
			return -1;
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (set_tensor(im, &im->tensors[n++], g->outputs[i], g->output_names[i],
			       VTAIMAGE_OUTPUT))
			return -1;
	im->source.tensors = im->tensors;
	im->source.tensor_count = n;
	return 0;
}

/* ---- the file ---- */

static int set_texts(struct image *im, const struct vtac_image_options *how)
{
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++) {
		if (!how->text[i])
			continue;
		if (strlen(how->text[i]) > VTAIMAGE_TEXT_MAX)
			return vtac_fail(im->g, NULL, "A text for the program is over 16 MiB.");
		im->source.text[i] = (struct vtaimage_chars){
			how->text[i], (uint32_t)strlen(how->text[i]),
		};
	}
	im->source.preprocess = how->preprocess;
	im->source.preprocess_count = how->n_preprocess;
	return 0;
}

static int write_image(struct image *im, void **data, size_t *size)
{
	struct vtaimage check = { .why = "" };

	*size = vtaimage_size(&im->source);
	*data = *size ? malloc(*size) : NULL;
	if (!*data)
		return vtac_fail(im->g, NULL, *size ? "Out of memory." :
				 "The program is more than an image can hold.");
	if (vtaimage_write(&im->source, *data, *size, &check)) {
		free(*data);
		*data = NULL;
		return vtac_fail(im->g, NULL, "Internal error: the image is not valid: %s.",
				 check.why);
	}
	return 0;
}

int vtac_image(const struct vtac_program *p, const struct vtac_image_options *how, void **data,
	       size_t *size)
{
	struct image im = { .p = p, .g = p->graph };
	char name[VTAIMAGE_NAME_MAX];
	int err;

	clean_name(name, sizeof(name), how->name && how->name[0] ? how->name : "network");
	im.source.core = &p->core;
	im.source.name = name;
	im.source.model = p->model;
	im.source.model_bytes = (uint32_t)p->model_bytes;
	im.source.arena_bytes = (uint32_t)p->card_bytes;
	im.source.host_bytes = (uint32_t)p->host_bytes;
	err = make_steps(&im) || make_tensors(&im) || set_texts(&im, how);
	im.source.consts = im.consts;
	im.source.consts_bytes = (uint32_t)im.consts_bytes;
	err = err || write_image(&im, data, size);
	free(im.streams);
	free(im.steps);
	free(im.tensors);
	free(im.consts);
	free(im.known);
	free(im.known_at);
	return err ? -1 : 0;
}
