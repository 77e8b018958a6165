// SPDX-License-Identifier: Apache-2.0
/*
 * Lower a quantised graph to a program. Each run of card nodes becomes one stream: the nodes'
 * constants are packed into the model, then libvtaops lowers them. Each node of the CPU becomes its
 * kernels' calls.
 */
#include <stdlib.h>
#include <string.h>

#include "lower_impl.h"

#define INSNS_MAX	(1u << 22)
#define UOPS_MAX	(1u << 22)

/* ---- memory ---- */

int lower_reserve(struct lowering *l, struct vtac_segment *s, uint64_t bytes, uint64_t align,
		  uint64_t *offset)
{
	uint64_t at = (s->bytes + align - 1) / align * align, max = s->max;
	uint8_t *data;

	if (at + bytes > VTAIMAGE_SEGMENT_MAX)
		return vtac_fail(l->g, l->node, "The program is larger than 1 GiB.");
	while (max < at + bytes)
		max = max ? max * 2 : 1u << 20;
	if (max != s->max) {
		data = realloc(s->data, max);
		if (!data)
			return vtac_fail(l->g, l->node, "Out of memory.");
		memset(data + s->max, 0, max - s->max);
		s->data = data;
		s->max = max;
	}
	s->bytes = at + bytes;
	*offset = at;
	return 0;
}

/* Make room for an item more in an array of @n, whose size is a power of two. */
static int grow(struct lowering *l, void **items, unsigned int n, size_t size)
{
	void *more = *items;

	if (!(n & (n - 1)))
		more = realloc(*items, (n ? 2 * (size_t)n : 1) * size);
	if (!more)
		return vtac_fail(l->g, l->node, "Out of memory.");
	*items = more;
	return 0;
}

uint32_t lower_tensor(const struct vtac_tensor *t)
{
	return (t->data ? VTAIMAGE_MODEL : VTAIMAGE_ARENA) + (uint32_t)t->offset;
}

/* ---- streams ---- */

static int open_stream(struct lowering *l)
{
	uint64_t at = 0;

	if (lower_reserve(l, &l->p->model, 0, l->align, &at))
		return -1;
	l->uops_at = at;
	vtaops_begin(&l->b, &l->p->core, l->insns, INSNS_MAX, l->uops, UOPS_MAX,
		     VTAIMAGE_MODEL + (uint32_t)at);
	return 0;
}

static int add_step(struct lowering *l, const struct vtaimage_step *step)
{
	struct vtac_program *p = l->p;

	if (p->n_steps == VTAIMAGE_STEPS_MAX)
		return vtac_fail(l->g, NULL, "The program has more than %u steps.",
				 VTAIMAGE_STEPS_MAX);
	if (grow(l, (void **)&p->steps, p->n_steps, sizeof(*p->steps)) ||
	    grow(l, (void **)&p->step_nodes, p->n_steps, sizeof(struct vtac_node *)))
		return -1;
	p->step_nodes[p->n_steps] = l->step_node;
	p->steps[p->n_steps++] = *step;
	return 0;
}

static int close_stream(struct lowering *l)
{
	struct vtac_program *p = l->p;
	uint64_t at = 0;

	if (vtaops_finish(&l->b))
		return vtac_fail(l->g, l->node, "The stream cannot be ended: %s.", l->b.why);
	/* The place of the micro-ops is known to the stream: nothing is reserved between. */
	if (lower_reserve(l, &p->model, l->b.uops * sizeof(l->uops[0]), 4, &at))
		return -1;
	memcpy(p->model.data + l->uops_at, l->uops, l->b.uops * sizeof(l->uops[0]));
	if (lower_reserve(l, &p->model, l->b.insns * sizeof(l->insns[0]), 16, &at))
		return -1;
	memcpy(p->model.data + at, l->insns, l->b.insns * sizeof(l->insns[0]));
	if (p->n_streams == VTAIMAGE_STREAMS_MAX)
		return vtac_fail(l->g, NULL,
				 "Card and CPU take turns more than %u times.",
				 VTAIMAGE_STREAMS_MAX);
	if (grow(l, (void **)&p->streams, p->n_streams, sizeof(*p->streams)))
		return -1;
	p->streams[p->n_streams] = (struct vtaimage_stream) {
		.insn_at = (uint32_t)at, .insn_count = (uint32_t)l->b.insns,
		.cycles = l->b.cycles };
	p->cycles += l->b.cycles;
	return add_step(l, &(struct vtaimage_step) {
		.kind = VTAIMAGE_RUN, .stream = p->n_streams++ });
}

/* Make one stream of the nodes of the card from @first on. */
static int lower_region(struct lowering *l, unsigned int first, unsigned int *end)
{
	struct vtac_graph *g = l->g;
	unsigned int n = first;
	uint64_t cycles;

	while (n < g->n_nodes && g->nodes[n]->device == VTAC_CARD &&
	       (n == first || !l->opt->one_by_one)) {
		l->node = g->nodes[n++];
		if (lower_constants(l, l->node))
			return -1;
	}
	*end = n;
	l->step_node = g->nodes[first];
	if (open_stream(l))
		return -1;
	for (unsigned int i = first; i < n; i++) {
		uint64_t before = l->b.cycles;

		l->node = g->nodes[i];
		l->node->stream = l->p->n_streams;
		l->node->insn = (uint32_t)l->b.insns;
		if (lower_node(l, l->node) && !l->b.error)
			return -1;
		if (l->b.error)
			return vtac_fail(g, l->node, "The card cannot do it: %s.", l->b.why);
		l->node->cycles = l->b.cycles - before;
		if (l->opt->progress)
			l->opt->progress(l->opt->progress_priv, "lowering", i + 1, g->n_nodes);
	}
	cycles = l->b.cycles;
	if (close_stream(l))
		return -1;
	/* The last operator ends with the stream. */
	while (n > first && !g->nodes[n - 1]->cycles)
		n--;
	if (n > first)
		g->nodes[n - 1]->cycles += l->b.cycles - cycles;
	return 0;
}

/* ---- the CPU ---- */

/* Returns 32 bits of integers @value. */
static uint32_t pattern_of(const struct vtaops_core *core, int32_t value)
{
	unsigned int bits = 1u << core->log_inp_width;
	uint32_t pattern = 0;

	for (unsigned int at = 0; at < 32; at += bits)
		pattern |= ((uint32_t)value & ((1u << bits) - 1)) << at;
	return pattern;
}

static struct vtaimage_place place_of(const struct vtac_tensor *t)
{
	return (struct vtaimage_place) {
		.segment = t->device == VTAC_CARD ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		.offset = (uint32_t)t->offset };
}

/* Fill the part of @to that the copy does not write: the tail of each row, or behind @from. */
static int lower_fill(struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_tensor *from = node->in[0], *to = node->out[0];
	uint64_t skip = from->layout == VTAC_PIXELS ? 0 : vtac_tensor_bytes(&l->p->core, from);
	struct vtaimage_step step = {
		.kind = VTAIMAGE_FILL, .dst = place_of(to),
		.bytes = (uint32_t)(vtac_tensor_bytes(&l->p->core, to) - skip),
		.pattern = pattern_of(&l->p->core, (int32_t)node->attr.pad.value) };

	step.dst.offset += (uint32_t)skip;
	return add_step(l, &step);
}

/* Copy between the memories, by the card. */
static int lower_transfer(struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_tensor *from = node->in[0], *to = node->out[0];
	const struct vtac_tensor *host = from->device == VTAC_CPU ? from : to;
	struct vtac_packed s = vtac_packed_shape(host);
	struct vtaimage_step step = {
		.kind = VTAIMAGE_COPY, .dst = place_of(to), .src = place_of(from),
		.bytes = (uint32_t)vtac_tensor_bytes(&l->p->core, host) };

	if (host->layout == VTAC_PIXELS && step.bytes > s.c) {
		step.rows = step.bytes / s.c;
		step.bytes = s.c;
		step.pitch = l->p->core.inp_bytes;
	}
	if (node->attr.pad.after[1] && lower_fill(l, node))
		return -1;
	return add_step(l, &step);
}

/* Keep @bytes of constants at @at, unless the same are there. */
static int share_const(struct lowering *l, uint64_t bytes, uint64_t at,
		       struct vtaimage_place *place)
{
	if (lower_share(l, &l->p->consts, bytes, &at))
		return -1;
	*place = (struct vtaimage_place) {
		.segment = VTAIMAGE_IN_CONSTS, .offset = (uint32_t)at };
	return 0;
}

/* Place a constant of the CPU, once. */
static int lower_const(struct lowering *l, const struct vtac_tensor *t,
		       struct vtaimage_place *place)
{
	uint64_t at = 0, bytes = (uint64_t)vtac_bytes(t);

	if (lower_reserve(l, &l->p->consts, bytes, VTAIMAGE_HOST_ALIGN, &at))
		return -1;
	if (bytes)
		memcpy(l->p->consts.data + at, t->data, bytes);
	return share_const(l, bytes, at, place);
}

/*
 * Is the second matrix of a product a constant that can be packed now, instead of in each run? One
 * that other nodes read is not: the program would have it twice. Nor is one of few columns, which
 * would be padding for the most part.
 */
static bool is_packable(const struct vtac_call *c)
{
	const struct vtac_tensor *b = c->kernel == VTACPU_GEMM_F32 ? c->io[1] : NULL;
	const uint32_t *batch = c->p.gemm_f32.mat.b_batch;

	if (!b || !b->data || batch[0] || batch[1] || batch[2] || c->p.gemm_f32.mat.n < 8)
		return false;
	for (unsigned int i = 0; i < b->n_users; i++)
		if (b->users[i]->op != VTAC_GEMM && b->users[i]->op != VTAC_MATMUL)
			return false;
	return true;
}

/* Make @packed of the product @c, with a packed matrix, and place that. */
static int lower_packed(struct lowering *l, const struct vtac_call *c, struct vtac_call *packed,
			struct vtaimage_place *place)
{
	struct vtacpu_matrices *m = &packed->p.gemm_f32.mat;
	uint64_t at = 0;

	*packed = *c;
	packed->kernel = VTACPU_GEMM_PACKED_F32;
	m->b_row = 0;
	m->b_col = 0;
	if (vtacpu_need(packed->kernel, &packed->p, &packed->need))
		return vtac_fail(l->g, l->node, "Its weights cannot be packed: %s.",
				 packed->need.why);
	if (lower_reserve(l, &l->p->consts, packed->need.bytes[1], VTAIMAGE_HOST_ALIGN, &at))
		return -1;
	vtacpu_gemm_pack(&c->p.gemm_f32, c->io[1]->data, (void *)(l->p->consts.data + at));
	return share_const(l, packed->need.bytes[1], at, place);
}

static int lower_call(struct lowering *l, const struct vtac_call *c)
{
	struct vtaimage_step step = { .kind = VTAIMAGE_CPU };
	struct vtac_program *p = l->p;
	struct vtac_call packed;

	if (is_packable(c)) {
		if (lower_packed(l, c, &packed, &step.io[1]))
			return -1;
		c = &packed;
	}
	step.kernel = c->kernel;
	memcpy(&step.params, &c->p, vtacpu_params_bytes(c->kernel));
	l->work += c->need.work;
	if (l->work > VTAIMAGE_WORK_MAX)
		return vtac_fail(l->g, l->node, "With it, the nodes of the CPU take more than 2^42 "
				 "multiplications in a run.");
	if (c->need.scratch) {
		step.scratch = (uint32_t)l->scratch_at;
		if (p->host_bytes < l->scratch_at + c->need.scratch)
			p->host_bytes = l->scratch_at + c->need.scratch;
		if (p->host_bytes > VTAIMAGE_SEGMENT_MAX)
			return vtac_fail(l->g, l->node, "The program takes more than 1 GiB.");
	}
	for (unsigned int i = 0; i < c->need.operands; i++) {
		if (c->io[i] && !c->io[i]->data)
			step.io[i] = place_of(c->io[i]);
		else if (c->io[i] && !step.io[i].segment && lower_const(l, c->io[i], &step.io[i]))
			return -1;
	}
	return add_step(l, &step);
}

/* Between a plain tensor and its pixels. */
static struct vtacpu_move pixels(const struct vtac_packed *s, bool pack)
{
	if (pack)
		return vtacpu_transpose(1, 4, (uint32_t[]) { s->n, s->c, s->h, s->w },
					(uint32_t[]) { 0, 2, 3, 1 });
	return vtacpu_transpose(1, 4, (uint32_t[]) { s->n, s->h, s->w, s->c },
				(uint32_t[]) { 0, 3, 1, 2 });
}

/* Between the layouts: packed for the card, and back. */
static int lower_copy(struct lowering *l, const struct vtac_node *node)
{
	bool pack = node->out[0]->layout != VTAC_PLAIN;
	struct vtac_packed s = vtac_packed_shape(node->out[0]);
	struct vtac_call *c = vtac_alloc(l->g, 1, sizeof(*c));

	if (!c)
		return -1;
	c->kernel = pack ? VTACPU_PACK : VTACPU_UNPACK;
	c->p.pack = (struct vtacpu_pack) {
		.log_inp_width = l->p->core.log_inp_width, .log_batch = l->p->core.log_batch,
		.log_block = l->p->core.log_block, .n = s.n, .c = s.c, .h = s.h, .w = s.w,
	};
	if (node->in[0]->layout == VTAC_PIXELS || node->out[0]->layout == VTAC_PIXELS) {
		c->kernel = VTACPU_MOVE;
		c->p.move = pixels(&s, pack);
	}
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	if (vtacpu_need(c->kernel, &c->p, &c->need))
		return vtac_fail(l->g, node, "It cannot be packed: %s.", c->need.why);
	return lower_call(l, c);
}

static int lower_cpu(struct lowering *l, struct vtac_node *node)
{
	struct vtac_call *calls;
	unsigned int n;

	l->step_node = node;
	if (node->op == VTAC_COPY && node->in[0]->device != node->out[0]->device)
		return lower_transfer(l, node);
	if (node->op == VTAC_COPY && node->in[0]->layout != node->out[0]->layout)
		return lower_copy(l, node);
	if (vtac_is_shape_op(node->op))
		return vtac_fail(l->g, node, "A program cannot compute operator %s.",
				 vtac_op_name(node->op));
	if (vtac_calls(l->g, node, &calls, &n))
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (lower_call(l, &calls[i]))
			return -1;
	return 0;
}

static int lower_all(struct lowering *l)
{
	struct vtac_graph *g = l->g;
	unsigned int at = 0;

	while (at < g->n_nodes) {
		l->node = g->nodes[at];
		if (l->node->device == VTAC_CARD) {
			if (lower_region(l, at, &at))
				return -1;
		} else if (lower_cpu(l, g->nodes[at++])) {
			return -1;
		}
	}
	return 0;
}

int vtac_lower(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p)
{
	return vtac_lower_variant(g, opt, NULL, p);
}

int vtac_lower_variant(struct vtac_graph *g, const struct vtac_options *opt,
		       struct vtac_program *before, struct vtac_program *p)
{
	struct lowering l = { .g = g, .opt = opt, .p = p };
	int err = -1;

	*p = (struct vtac_program) { .graph = g, .core = opt->core };
	if (before) {
		p->model = before->model;
		p->consts = before->consts;
		before->model = (struct vtac_segment) { .bytes = p->model.bytes };
		before->consts = (struct vtac_segment) { .bytes = p->consts.bytes };
	}
	l.align = opt->core.wgt_bytes > 64 ? opt->core.wgt_bytes : 64;
	l.align = opt->core.acc_bytes > l.align ? opt->core.acc_bytes : l.align;
	p->card_bytes = g->plan.card_bytes;
	l.card_scratch_at = (p->card_bytes + l.align - 1) / l.align * l.align;
	p->card_bound = g->plan.card_bound;
	p->host_bound = g->plan.host_bound;
	p->host_bytes = (g->plan.host_bytes + VTAIMAGE_HOST_ALIGN - 1) / VTAIMAGE_HOST_ALIGN *
		VTAIMAGE_HOST_ALIGN;
	l.scratch_at = p->host_bytes;
	l.constants = vtac_alloc(g, g->n_nodes + 1u, sizeof(l.constants[0]));
	l.insns = malloc(INSNS_MAX * sizeof(l.insns[0]));
	l.uops = malloc(UOPS_MAX * sizeof(l.uops[0]));
	if (!l.constants || !l.insns || !l.uops)
		vtac_fail(g, NULL, "Out of memory.");
	else
		err = lower_all(&l);
	free(l.insns);
	free(l.uops);
	if (err)
		vtac_program_free(p);
	return err;
}

void vtac_program_free(struct vtac_program *p)
{
	free(p->model.data);
	free(p->model.contents);
	free(p->consts.data);
	free(p->consts.contents);
	free(p->streams);
	free(p->steps);
	free(p->step_nodes);
	*p = (struct vtac_program) { .graph = p->graph };
}
