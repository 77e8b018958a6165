// SPDX-License-Identifier: GPL-2.0-only
/*
 * gen_tokens.c - order the instructions of a stream by tokens
 *
 * Each instruction has a vector clock: how many instructions of each module
 * are known to be done when it starts (its own module's: including itself).
 * The last reader and writer of every scratchpad element and memory word show
 * what an instruction must come after; what its clock does not cover yet gets
 * a token. The k-th pop of a queue takes the k-th push, and a push always
 * is earlier in the stream than its pop: so stream order is a legal
 * schedule and no stream can deadlock.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_impl.h"

static const unsigned int pop_flag[GEN_MODULES][GEN_MODULES] = {
	[GEN_LOAD] = { [GEN_COMPUTE] = INSN_POP_NEXT },
	[GEN_COMPUTE] = { [GEN_LOAD] = INSN_POP_PREV, [GEN_STORE] = INSN_POP_NEXT },
	[GEN_STORE] = { [GEN_COMPUTE] = INSN_POP_PREV },
};

static const unsigned int push_flag[GEN_MODULES][GEN_MODULES] = {
	[GEN_LOAD] = { [GEN_COMPUTE] = INSN_PUSH_NEXT },
	[GEN_COMPUTE] = { [GEN_LOAD] = INSN_PUSH_PREV, [GEN_STORE] = INSN_PUSH_NEXT },
	[GEN_STORE] = { [GEN_COMPUTE] = INSN_PUSH_PREV },
};

static uint32_t units_of(const struct gen *gen, enum gen_space space)
{
	switch (space) {
	case GEN_INP:
		return gen->depth[INSN_INP];
	case GEN_WGT:
		return gen->depth[INSN_WGT];
	case GEN_ACC:
		return gen->depth[INSN_ACC];
	default:
		return gen->size / GEN_MEM_WORD;
	}
}

struct gen_order *gen_order_new(const struct gen *gen)
{
	struct gen_order *o = gen_must(calloc(1, sizeof(*o)));

	for (int m = 0; m < GEN_MODULES; m++) {
		for (int s = 0; s < GEN_SPACES; s++) {
			o->read[s][m] = gen_must(calloc(units_of(gen, s), sizeof(uint16_t)));
			o->write[s][m] = gen_must(calloc(units_of(gen, s), sizeof(uint16_t)));
		}
	}
	return o;
}

void gen_order_free(struct gen_order *order)
{
	for (int m = 0; m < GEN_MODULES; m++) {
		for (int s = 0; s < GEN_SPACES; s++) {
			free(order->read[s][m]);
			free(order->write[s][m]);
		}
	}
	free(order);
}

static void begin_queue(struct gen_queue *q, bool keep_tokens)
{
	q->pushed = keep_tokens ? q->pushed - q->popped : 0;
	q->popped = 0;
	if (q->pushed > GEN_INSNS_MAX) {
		fprintf(stderr, "gen: too many tokens are kept\n");
		abort();
	}
	memset(q->push, 0, q->pushed * sizeof(*q->push));
}

void gen_order_begin(struct gen *gen)
{
	struct gen_order *o = gen->order;

	memset(o->count, 0, sizeof(o->count));
	for (int m = 0; m < GEN_MODULES; m++) {
		memset(o->clock[m][0], 0, sizeof(o->clock[m][0]));
		for (int n = 0; n < GEN_MODULES; n++)
			begin_queue(&o->queue[m][n], gen->keep_tokens);
		for (int s = 0; s < GEN_SPACES; s++) {
			memset(o->read[s][m], 0, units_of(gen, s) * sizeof(uint16_t));
			memset(o->write[s][m], 0, units_of(gen, s) * sizeof(uint16_t));
		}
	}
	o->last = GEN_COMPUTE;
	gen->keep_tokens = false;
}

void gen_keep_tokens(struct gen *gen)
{
	gen->keep_tokens = true;
}

static void raise_to(unsigned int *position, unsigned int other)
{
	if (other > *position)
		*position = other;
}

/* ---- Hazards ------------------------------------------------------------- */

/*
 * One walk over what an instruction touches serves both ends: with @need it
 * gathers what must come before, without it notes that @position touched it.
 */
struct walk {
	struct gen *gen;
	enum gen_module module;
	unsigned int *need;
	uint16_t position;
};

static void touch_words(struct walk *w, enum gen_space space, uint32_t first, uint32_t count,
			bool write)
{
	struct gen_order *o = w->gen->order;

	for (uint32_t i = first; i < first + count; i++) {
		if (!w->need) {
			if (write)
				o->write[space][w->module][i] = w->position;
			else
				o->read[space][w->module][i] = w->position;
			continue;
		}
		for (int m = 0; m < GEN_MODULES; m++) {
			raise_to(&w->need[m], o->write[space][m][i]);
			if (write)
				raise_to(&w->need[m], o->read[space][m][i]);
		}
	}
}

static void touch_memory(struct walk *w, const struct insn_move *m, bool write)
{
	uint64_t bytes = w->gen->bytes[m->memory];

	for (uint32_t y = 0; y < m->y_size; y++) {
		uint64_t first = (m->dram_base + (uint64_t)y * m->x_stride) * bytes - w->gen->base;
		uint64_t end = first + m->x_size * bytes;

		first /= GEN_MEM_WORD;
		end = (end + GEN_MEM_WORD - 1) / GEN_MEM_WORD;
		touch_words(w, GEN_MEM, (uint32_t)first, (uint32_t)(end - first), write);
	}
}

static void touch_move(struct walk *w, const struct insn_move *m)
{
	uint32_t row = m->x_pad_0 + m->x_size + m->x_pad_1;
	uint32_t total = row * (m->y_pad_0 + m->y_size + m->y_pad_1);

	if (m->x_size == 0)
		return;
	if (m->opcode == INSN_STORE) {
		touch_words(w, GEN_ACC, m->sram_base, total, false);
		touch_memory(w, m, true);
		return;
	}
	touch_memory(w, m, false);
	switch (m->memory) {
	case INSN_INP:
		touch_words(w, GEN_INP, m->sram_base, total, true);
		break;
	case INSN_WGT:
		touch_words(w, GEN_WGT, m->sram_base, total, true);
		break;
	case INSN_ACC:
	case INSN_ACC_8BIT:
		touch_words(w, GEN_ACC, m->sram_base, total, true);
		break;
	}
}

static void touch_loop(struct walk *w, const struct insn_loop *l)
{
	for (uint32_t i = 0; i < l->iter_out; i++) {
		for (uint32_t j = 0; j < l->iter_in; j++) {
			for (uint32_t u = l->uop_bgn; u < l->uop_end; u++) {
				struct gen_uop x = gen_uop_at(w->gen, u);

				x.dst += i * l->dst_out + j * l->dst_in;
				x.src += i * l->src_out + j * l->src_in;
				x.wgt += i * l->wgt_out + j * l->wgt_in;
				touch_words(w, GEN_ACC, x.dst, 1, true);
				if (l->opcode == INSN_GEMM && !l->reset) {
					touch_words(w, GEN_INP, x.src, 1, false);
					touch_words(w, GEN_WGT, x.wgt, 1, false);
				}
				if (l->opcode == INSN_ALU && !l->use_imm)
					touch_words(w, GEN_ACC, x.src, 1, false);
			}
		}
	}
}

static void touch_op(struct walk *w, const struct gen_op *op)
{
	if (op->is_loop)
		touch_loop(w, &op->loop);
	else
		touch_move(w, &op->move);
}

/* ---- Tokens -------------------------------------------------------------- */

/* Flags for a neighbour that does not exist, which are ignored. */
static const unsigned int no_flag[GEN_MODULES] = {
	[GEN_LOAD] = INSN_POP_PREV | INSN_PUSH_PREV,
	[GEN_STORE] = INSN_POP_NEXT | INSN_PUSH_NEXT,
};

/* Instructions of module @of that module @m knows at its end to be done. */
static unsigned int known_done(const struct gen_order *o, enum gen_module m, enum gen_module of)
{
	return o->clock[m][o->count[m]][of];
}

/* The stream's next instruction, with exactly these flags. */
static uint32_t put_insn(struct gen *gen, enum gen_module m, struct insn insn, unsigned int flags)
{
	struct gen_order *o = gen->order;
	unsigned int pos = ++o->count[m];
	uint32_t index = gen->stream->count++;

	if (index >= GEN_INSNS_MAX) {
		fprintf(stderr, "gen: stream too long\n");
		abort();
	}
	memcpy(o->clock[m][pos], o->clock[m][pos - 1], sizeof(o->clock[m][pos]));
	o->clock[m][pos][m] = (uint16_t)pos;
	o->index[m][pos] = (uint16_t)index;
	o->last = m;
	for (int x = 0; x < GEN_MODULES; x++) {
		struct gen_queue *from = &o->queue[x][m], *to = &o->queue[m][x];

		if (flags & pop_flag[m][x]) {
			unsigned int push = from->push[from->popped++];

			for (int y = 0; y < GEN_MODULES; y++)
				if (o->clock[x][push][y] > o->clock[m][pos][y])
					o->clock[m][pos][y] = o->clock[x][push][y];
		}
		if (flags & push_flag[m][x])
			to->push[to->pushed++] = (uint16_t)pos;
	}
	if (gen_chance(gen, 10))
		insn.word[0] |= no_flag[m];
	insn.word[0] |= flags;
	gen->stream->insns[index] = insn;
	return index;
}

static struct insn make_nothing(struct gen *gen, enum gen_module m)
{
	struct gen_op op = gen_op_nothing(gen, m);

	return gen_encode(gen, &op);
}

/* Let an instruction of @from that is already there push a token to @to. */
static void push_from(struct gen *gen, enum gen_module from, unsigned int first,
		      enum gen_module to)
{
	struct gen_order *o = gen->order;
	struct gen_queue *q = &o->queue[from][to];
	unsigned int pos = first;

	if (gen_chance(gen, gen->style.late))
		pos = o->count[from];
	q->push[q->pushed++] = (uint16_t)pos;
	gen->stream->insns[o->index[from][pos]].word[0] |= push_flag[from][to];
}

/*
 * Order what comes next in @m after position @need of its neighbour @from.
 * Returns the flag it must pop with, if any.
 */
static unsigned int wait_for(struct gen *gen, enum gen_module m, enum gen_module from,
			     unsigned int need)
{
	struct gen_queue *q = &gen->order->queue[from][m];

	while (need > known_done(gen->order, m, from)) {
		/*
		 * With all tokens taken, the last push came before @need, or
		 * its pop would have shown it: so the new one is the last again.
		 */
		if (q->popped == q->pushed)
			push_from(gen, from, need, m);
		if (q->push[q->popped] >= need)
			return pop_flag[m][from];
		/* An older token is in front: take it out of the way. */
		put_insn(gen, m, make_nothing(gen, m), pop_flag[m][from]);
	}
	return 0;
}

static uint32_t emit_insn(struct gen *gen, enum gen_module m, struct insn insn,
			  const unsigned int need[GEN_MODULES], unsigned int flags);

/* A position of compute that comes after position @need of load or store. */
static unsigned int compute_after(struct gen *gen, enum gen_module m, unsigned int need)
{
	struct gen_order *o = gen->order;
	unsigned int needs[GEN_MODULES] = { 0 };

	for (unsigned int pos = 1; pos <= o->count[GEN_COMPUTE]; pos++)
		if (o->clock[GEN_COMPUTE][pos][m] >= need)
			return pos;
	needs[m] = need;
	emit_insn(gen, GEN_COMPUTE, make_nothing(gen, GEN_COMPUTE), needs, 0);
	return o->count[GEN_COMPUTE];
}

static uint32_t emit_insn(struct gen *gen, enum gen_module m, struct insn insn,
			  const unsigned int need[GEN_MODULES], unsigned int flags)
{
	struct gen_order *o = gen->order;
	unsigned int after[GEN_MODULES], pops = 0, pushes = 0;

	memcpy(after, need, sizeof(after));
	/* Load and store have no queue between them: they meet in compute. */
	if (m != GEN_COMPUTE) {
		enum gen_module other = m == GEN_LOAD ? GEN_STORE : GEN_LOAD;

		if (after[other] > known_done(o, m, other))
			raise_to(&after[GEN_COMPUTE], compute_after(gen, other, after[other]));
	}
	for (int x = 0; x < GEN_MODULES; x++)
		if (pop_flag[m][x])
			pops |= wait_for(gen, m, x, after[x]);

	for (int x = 0; x < GEN_MODULES; x++) {
		const struct gen_queue *q = &o->queue[x][m];
		unsigned int pop = pop_flag[m][x], push = push_flag[m][x];

		if (!(pops & pop) && q->popped < q->pushed &&
		    (flags & pop || gen_chance(gen, gen->style.extra_pop)))
			pops |= pop;
		if (flags & push || gen_chance(gen, gen->style.extra_push))
			pushes |= push;
	}
	return put_insn(gen, m, insn, pops | pushes);
}

uint32_t gen_emit(struct gen *gen, const struct gen_op *op, unsigned int flags)
{
	struct gen_order *o = gen->order;
	unsigned int need[GEN_MODULES] = { 0 };
	struct walk w = { .gen = gen, .module = op->module, .need = need };
	uint32_t index;

	touch_op(&w, op);
	if (gen_chance(gen, gen->style.serial))
		raise_to(&need[o->last], o->count[o->last]);
	index = emit_insn(gen, op->module, gen_encode(gen, op), need, flags);

	w.need = NULL;
	w.position = (uint16_t)o->count[op->module];
	touch_op(&w, op);
	if (!op->is_loop && op->move.opcode == INSN_LOAD && op->move.memory == INSN_UOP)
		gen_load_uops(gen, &op->move);
	return index;
}

uint32_t gen_emit_raw(struct gen *gen, enum gen_module module, struct insn insn,
		      unsigned int flags)
{
	unsigned int need[GEN_MODULES] = { 0 };

	return emit_insn(gen, module, insn, need, flags);
}

void gen_order_mix(struct gen *gen)
{
	struct gen_stream *stream = gen->stream;
	struct gen_order *o = gen->order;
	struct insn *old = gen_must(malloc(sizeof(stream->insns)));
	unsigned int next[GEN_MODULES] = { 1, 1, 1 };

	memcpy(old, stream->insns, sizeof(stream->insns));
	for (uint32_t i = 0; i < stream->count;) {
		enum gen_module m = gen_below(gen, GEN_MODULES);

		if (next[m] <= o->count[m])
			stream->insns[i++] = old[o->index[m][next[m]++]];
	}
	free(old);
}
