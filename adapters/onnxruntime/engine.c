// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is loaded on cards, with the inputs and outputs of the node that it computes. An
 * output whose size data decides is computed into memory of its own, and copied when its size is
 * known.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "vtadev.h"
#include "vtadev_pool.h"

/* A source of requests that one thread uses at a time */
struct source {
	struct source *next;
	struct vtadev_caller *caller;
};

/* The program on some cards */
struct loaded {
	struct vtadev_pool *pool;
	pthread_mutex_t lock;
	struct source *free;		/* under the lock */
};

/* An input or output of the program */
struct port {
	struct vtadev_pool_tensor t;
	size_t slot;			/* the number of the node's input or output */
	bool size;			/* it says how much of the port before is in use */
	bool sized;			/* the next port is its size */
	size_t rank;			/* of an output in ONNX Runtime */
	int64_t dims[8];
};

struct engine {
	atomic_uint users;
	uint8_t *image;
	size_t size;			/* of image, in bytes */
	struct vtaimage opened;
	const struct choice *how;
	struct loaded cards, fallback;	/* the latter is opened when it is needed, under its lock */
	atomic_bool lost;		/* the last run found no card */
	size_t n_in, n_out;		/* the program's */
	struct port *ports;		/* the inputs, then the outputs */
};

static void loaded_close(struct loaded *l)
{
	while (l->free) {
		struct source *s = l->free;

		l->free = s->next;
		vtadev_caller_close(s->caller);
		free(s);
	}
	vtadev_pool_close(l->pool);
	pthread_mutex_destroy(&l->lock);
}

static void engine_free(struct engine *e)
{
	loaded_close(&e->cards);
	loaded_close(&e->fallback);
	free(e->ports);
	free(e->image);
	free(e);
}

struct engine *engine_get(struct engine *e)
{
	atomic_fetch_add(&e->users, 1);
	return e;
}

void engine_put(struct engine *e)
{
	if (e && atomic_fetch_sub(&e->users, 1) == 1)
		engine_free(e);
}

const uint8_t *engine_image(const struct engine *e, size_t *size)
{
	*size = e->size;
	return e->image;
}

/* ---- ports ---- */

/* The number of a type in program images; 0: they do not have it. */
static uint32_t program_type(ONNXTensorElementDataType type)
{
	switch (type) {
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
		return VTACPU_F32;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
		return VTACPU_I8;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
		return VTACPU_U8;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
		return VTACPU_I32;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
		return VTACPU_I64;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
		return VTACPU_BOOL;
	default:
		return 0;
	}
}

/*
 * Set the shape that ONNX Runtime gets: a file may declare another size than data decides. ONNX
 * Runtime reports a scalar and a value of unknown rank alike; a program has the shape [1] for a
 * scalar.
 */
static void shape_output(struct port *p, const struct shape *s)
{
	bool known = s->known && !p->sized;

	p->rank = known ? s->rank : p->t.rank;
	for (size_t i = 0; i < p->rank; i++)
		p->dims[i] = known ? s->dims[i] : p->t.dims[i];
	if (!s->rank && p->rank == 1 && p->dims[0] == 1 && !p->sized)
		p->rank = 0;
}

/* Fill the port of the tensor @role, which is the @slot-th input or output of the program. */
static OrtStatus *match_port(struct port *p, const struct border *b, enum vtaimage_role role,
			     size_t slot)
{
	const struct shape *s;

	p->slot = slot;
	if (slot >= (p->t.output ? b->n_out : b->n_in))
		return ort_fail(ORT_FAIL, "tensor %s of the program is not the node's", p->t.name);
	s = p->t.output ? &b->out[slot] : &b->in[slot];
	p->size = role == VTAIMAGE_SIZE;
	if (p->size)
		return NULL;
	if (p->t.type != program_type(s->type))
		return ort_fail(ORT_FAIL, "tensor %s of the program has another type than the "
				"node's", p->t.name);
	if (s->known && !p->sized && s->bytes != p->t.bytes)
		return ort_fail(ORT_FAIL, "tensor %s of the program has %zu bytes, not %zu",
				p->t.name, p->t.bytes, s->bytes);
	if (p->t.output)
		shape_output(p, s);
	return NULL;
}

/* Inputs, or outputs with their sizes, in the program's order, which is the node's. */
static OrtStatus *add_ports(struct engine *e, const struct border *b, bool outputs, size_t *n)
{
	size_t slots = 0;

	for (uint32_t i = 0; i < e->opened.tensor_count; i++) {
		struct port *p = &e->ports[*n];
		struct vtaimage_tensor t;
		bool is_input;
		uint32_t dim;

		vtaimage_tensor(&e->opened, i, &t);
		is_input = t.role == VTAIMAGE_INPUT;
		if (t.role == VTAIMAGE_INTERNAL || outputs == is_input)
			continue;
		if (vtadev_pool_tensor(e->cards.pool, (unsigned int)*n, &p->t))
			return ort_fail(ORT_FAIL, "the program has no tensor %zu", *n);
		slots += t.role != VTAIMAGE_SIZE;
		p->sized = t.role == VTAIMAGE_OUTPUT && vtaimage_size_of(&e->opened, i, &dim) >= 0;
		TRY(match_port(p, b, t.role, slots - 1));
		++*n;
	}
	if (slots != (outputs ? b->n_out : b->n_in))
		return ort_fail(ORT_FAIL, "the program has %zu %s, the node %zu", slots,
				outputs ? "outputs" : "inputs", outputs ? b->n_out : b->n_in);
	return NULL;
}

static OrtStatus *match_ports(struct engine *e, const struct border *b)
{
	size_t n = 0;

	e->ports = calloc(e->opened.tensor_count + 1, sizeof(*e->ports));
	if (!e->ports)
		return ort_no_memory();
	TRY(add_ports(e, b, false, &n));
	e->n_in = n;
	TRY(add_ports(e, b, true, &n));
	e->n_out = n - e->n_in;
	return NULL;
}

static OrtStatus *load(struct engine *e, struct loaded *l, const char *const *names,
		       unsigned int n)
{
	/* With a fallback, runs need not wait until a card comes back. */
	const struct vtadev_pool_opts opts = {
		.cards = names, .count = n, .away_ns = e->how->fallback ? 1 : 0 };
	char why[VTADEV_POOL_WHY_MAX];

	if (!vtadev_pool_open(&e->opened, &opts, &l->pool, why))
		return NULL;
	l->pool = NULL;
	return ort_fail(ORT_FAIL, "%s", why);
}

static OrtStatus *load_cards(struct engine *e, const struct border *b)
{
	if (vtaimage_open(&e->opened, e->image, e->size))
		return ort_fail(ORT_FAIL, "%s", e->opened.why);
	TRY(load(e, &e->cards, (const char *const *)e->how->cards, e->how->n_cards));
	return match_ports(e, b);
}

OrtStatus *engine_new(const struct choice *how, const struct border *border, uint8_t *image,
		      size_t size, struct engine **engine)
{
	struct engine *e = calloc(1, sizeof(*e));
	OrtStatus *err;

	if (!e) {
		free(image);
		return ort_no_memory();
	}
	atomic_init(&e->users, 1);
	pthread_mutex_init(&e->cards.lock, NULL);
	pthread_mutex_init(&e->fallback.lock, NULL);
	e->how = how;
	e->image = image;
	e->size = size;
	err = load_cards(e, border);
	if (err)
		engine_free(e);
	else
		*engine = e;
	return err;
}

/* ---- runs ---- */

static struct source *source_get(struct loaded *l)
{
	struct source *s;

	pthread_mutex_lock(&l->lock);
	s = l->free;
	if (s)
		l->free = s->next;
	pthread_mutex_unlock(&l->lock);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s && vtadev_caller_open(l->pool, 1, &s->caller)) {
		free(s);
		s = NULL;
	}
	return s;
}

static void source_put(struct loaded *l, struct source *s)
{
	pthread_mutex_lock(&l->lock);
	s->next = l->free;
	l->free = s;
	pthread_mutex_unlock(&l->lock);
}

/* Name each card and the reason why it is not up. */
static OrtStatus *describe_absence(struct loaded *l)
{
	struct vtadev_pool_stats stats;
	char text[1024] = "";
	size_t at = 0;

	for (unsigned int i = 0; at < sizeof(text) && !vtadev_pool_stats(l->pool, i, &stats); i++)
		if (!stats.up)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
					       at ? "; " : "", stats.why);
	return ort_fail(ORT_FAIL, "no card is up: %s", text);
}

static OrtStatus *describe_failure(struct loaded *l, const struct vtadev_completion *c)
{
	struct vtadev_pool_stats stats = { .name = "" };
	char fault[256];

	if (c->card == UINT32_MAX)
		return describe_absence(l);
	vtadev_pool_stats(l->pool, c->card, &stats);
	if (c->result != -EIO)
		return ort_fail(ORT_FAIL, "%s: %s", stats.name, vtadev_strerror(c->result));
	vtadev_fault_text(&c->fault, fault, sizeof(fault));
	return ort_fail(ORT_FAIL, "%s: %s", stats.name, fault);
}

/* Run the program with a vector for each port. @lost: out: no card is left */
static OrtStatus *run_on(struct engine *e, struct loaded *l, const struct iovec *vectors,
			 bool *lost)
{
	const struct vtadev_request request = {
		.inputs = vectors, .input_count = (unsigned int)e->n_in,
		.outputs = vectors + e->n_in, .output_count = (unsigned int)e->n_out };
	struct vtadev_completion done = { .result = 0 };
	struct source *s = source_get(l);
	int err;

	*lost = false;
	if (!s)
		return ort_no_memory();
	err = vtadev_caller_submit(s->caller, &request);
	if (!err)
		err = vtadev_caller_wait(s->caller, -1);
	if (!err && vtadev_caller_reap(s->caller, &done, 1) != 1)
		err = -EPROTO;
	if (err) {
		/* The request may be in flight: the pool must not write to its memory any more. */
		vtadev_caller_close(s->caller);
		free(s);
		return ort_fail(ORT_FAIL, "%s", vtadev_strerror(err));
	}
	source_put(l, s);
	*lost = done.result == -ENODEV;
	return done.result ? describe_failure(l, &done) : NULL;
}

static bool is_any_up(struct loaded *l)
{
	struct vtadev_pool_stats stats;

	for (unsigned int i = 0; !vtadev_pool_stats(l->pool, i, &stats); i++)
		if (stats.up)
			return true;
	return false;
}

static OrtStatus *run_on_fallback(struct engine *e, const struct iovec *vectors)
{
	const char *name = e->how->fallback;
	OrtStatus *err = NULL;
	bool lost;

	pthread_mutex_lock(&e->fallback.lock);
	if (!e->fallback.pool)
		err = load(e, &e->fallback, &name, 1);
	pthread_mutex_unlock(&e->fallback.lock);
	return err ? err : run_on(e, &e->fallback, vectors, &lost);
}

/* Run on a card; or, if none is left, on the fallback, until one is up again. */
static OrtStatus *run_program(struct engine *e, const struct iovec *vectors)
{
	OrtStatus *err;
	bool lost;

	if (atomic_load(&e->lost) && !is_any_up(&e->cards))
		return run_on_fallback(e, vectors);
	err = run_on(e, &e->cards, vectors, &lost);
	if (!lost || !e->how->fallback) {
		atomic_store(&e->lost, false);
		return err;
	}
	if (!atomic_exchange(&e->lost, true))
		log_text(e->how->log, ORT_LOGGING_LEVEL_WARNING,
			 "%s; %s computes until a card is back", ort->GetErrorMessage(err),
			 e->how->fallback);
	ort->ReleaseStatus(err);
	return run_on_fallback(e, vectors);
}

/* Memory of a run for outputs that are not computed in place */
struct room {
	int64_t *sizes;			/* of ports */
	void **whole;			/* of ports; NULL: in place */
};

static OrtStatus *place_output(const struct port *p, OrtKernelContext *context, void **data)
{
	OrtValue *value;

	TRY(ort->KernelContext_GetOutput(context, p->slot, p->dims, p->rank, &value));
	return ort->GetTensorMutableData(value, data);
}

static OrtStatus *place_ports(struct engine *e, OrtKernelContext *context, const struct iovec *in,
			      struct iovec *vectors, struct room *room)
{
	for (size_t i = 0; i < e->n_in + e->n_out; i++) {
		struct port *p = &e->ports[i];

		if (i < e->n_in) {
			vectors[i] = in[p->slot];
			if (vectors[i].iov_len != p->t.bytes)
				return ort_fail(ORT_INVALID_ARGUMENT,
						"input %zu has %zu bytes, the program's %zu",
						p->slot, vectors[i].iov_len, p->t.bytes);
			continue;
		}
		vectors[i].iov_len = p->t.bytes;
		if (p->size) {
			vectors[i].iov_base = &room->sizes[i];
		} else if (p->sized) {
			room->whole[i] = malloc(p->t.bytes);
			if (!room->whole[i])
				return ort_no_memory();
			vectors[i].iov_base = room->whole[i];
		} else {
			TRY(place_output(p, context, &vectors[i].iov_base));
		}
	}
	return NULL;
}

/* Give ONNX Runtime the first @n of dimension @dim of an output. */
static OrtStatus *cut_output(const struct port *p, OrtKernelContext *context, const char *whole,
			     size_t dim, int64_t n)
{
	struct port cut = *p;
	size_t all = p->t.dims[dim], outer = 1, bytes;
	void *data;

	if (n < 0 || (uint64_t)n > all)
		return ort_fail(ORT_FAIL, "%s.size is %lld of %zu", p->t.name, (long long)n, all);
	for (size_t i = 0; i < dim; i++)
		outer *= p->t.dims[i];
	bytes = p->t.bytes / outer / all;
	cut.dims[dim] = n;
	TRY(place_output(&cut, context, &data));
	for (size_t i = 0; n && i < outer; i++)
		memcpy((char *)data + i * (size_t)n * bytes, whole + i * all * bytes,
		       (size_t)n * bytes);
	return NULL;
}

static OrtStatus *run_in(struct engine *e, OrtKernelContext *context, const struct iovec *in,
			 struct iovec *vectors, struct room *room)
{
	TRY(place_ports(e, context, in, vectors, room));
	TRY(run_program(e, vectors));
	for (size_t i = e->n_in; i < e->n_in + e->n_out; i++)
		if (room->whole[i])
			TRY(cut_output(&e->ports[i], context, room->whole[i],
				       (size_t)e->ports[i + 1].t.zero, room->sizes[i + 1]));
	return NULL;
}

OrtStatus *engine_run(struct engine *e, OrtKernelContext *context, const struct iovec *in)
{
	size_t n = e->n_in + e->n_out;
	struct iovec *vectors = calloc(n + 1, sizeof(*vectors));
	struct room room = {
		.sizes = calloc(n + 1, sizeof(*room.sizes)),
		.whole = calloc(n + 1, sizeof(*room.whole)) };
	OrtStatus *err = vectors && room.sizes && room.whole ?
		run_in(e, context, in, vectors, &room) : ort_no_memory();

	for (size_t i = 0; room.whole && i < n; i++)
		free(room.whole[i]);
	free(room.whole);
	free(room.sizes);
	free(vectors);
	return err;
}
