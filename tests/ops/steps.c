// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "steps.h"

static uint8_t *aligned(uint32_t bytes)
{
	size_t size = ((size_t)bytes + VTAIMAGE_HOST_ALIGN) / VTAIMAGE_HOST_ALIGN *
		      VTAIMAGE_HOST_ALIGN;
	uint8_t *memory = aligned_alloc(VTAIMAGE_HOST_ALIGN, size);

	if (!memory)
		machine_die("out of memory");
	memset(memory, 0, size);
	return memory;
}

/* A machine chooses its own alignment, so @bytes are aligned here. */
static uint32_t segment(struct machine *m, uint32_t bytes, uint32_t align)
{
	uint32_t addr = machine_alloc(m, (size_t)bytes + align);

	return (addr + align - 1) / align * align;
}

void steps_place(struct steps *s, struct machine *m)
{
	const struct vtaimage *image = &s->image;

	s->machine = m;
	s->model = segment(m, image->model_bytes, image->align);
	s->arena = segment(m, image->arena_bytes, image->align);
	if (vtaimage_place(image, s->model, s->arena, machine_at(m, s->model)))
		machine_die("the image cannot be placed");
	s->host = aligned(image->host_bytes);
	s->consts = aligned(image->consts_bytes);
	if (image->consts_bytes)
		memcpy(s->consts, image->consts, image->consts_bytes);
}

void steps_init(struct steps *s, struct machine *m, const void *data, size_t size)
{
	if (vtaimage_open(&s->image, data, size) || vtaimage_fits(&s->image, &m->core))
		machine_die("%s", s->image.why);
	steps_place(s, m);
}

void steps_fini(struct steps *s)
{
	free(s->host);
	free(s->consts);
}

static void *at(struct steps *s, struct vtaimage_place place)
{
	switch (place.segment) {
	case VTAIMAGE_IN_ARENA:
		return machine_at(s->machine, s->arena + place.offset);
	case VTAIMAGE_IN_HOST:
		return s->host + place.offset;
	case VTAIMAGE_IN_CONSTS:
		return s->consts + place.offset;
	default:
		return NULL;
	}
}

void steps_do(struct steps *s, const struct vtaimage_step *step)
{
	void *io[VTACPU_OPERANDS_MAX];

	if (step->kind == VTAIMAGE_COPY) {
		int there = step->dst.segment == VTAIMAGE_IN_ARENA;
		size_t to = there ? step->pitch : step->bytes;
		size_t from = there ? step->bytes : step->pitch;

		for (uint32_t i = 0; i < (step->rows ? step->rows : 1); i++)
			memcpy(at(s, step->dst) + i * to, at(s, step->src) + i * from,
			       step->bytes);
		return;
	}
	if (step->kind == VTAIMAGE_FILL) {
		uint8_t *to = at(s, step->dst);

		for (uint32_t i = 0; i < step->bytes; i++)
			to[i] = (uint8_t)(step->pattern >> i % 4 * 8);
		return;
	}
	for (unsigned int i = 0; i < VTACPU_OPERANDS_MAX; i++)
		io[i] = at(s, step->io[i]);
	vtacpu_run(step->kernel, &step->params, io, s->host + step->scratch);
}

void steps_run(struct steps *s)
{
	struct vtaimage_stream stream;
	struct vtaimage_step step;

	for (uint32_t i = 0; i < s->image.step_count; i++) {
		vtaimage_step(&s->image, i, &step);
		if (step.kind != VTAIMAGE_RUN) {
			steps_do(s, &step);
			continue;
		}
		vtaimage_stream(&s->image, step.stream, &stream);
		s->machine->run(s->machine, s->model + stream.insn_at, stream.insn_count);
		if (s->machine->stats.cycles && s->machine->stats.cycles != stream.cycles)
			machine_die("a stream takes other cycles than the image says");
	}
}

void *steps_tensor(struct steps *s, const char *name)
{
	int i = vtaimage_find(&s->image, name);
	struct vtaimage_tensor t;

	if (i < 0)
		machine_die("no tensor %s", name);
	vtaimage_tensor(&s->image, (uint32_t)i, &t);
	return s->host + t.offset;
}
