// SPDX-License-Identifier: Apache-2.0
/*
 * A part of a graph as ONNX Runtime computes it: one call, which is a run of a program on a card.
 *
 * A model with scales of its own is compiled at once. A float model first runs as a program in
 * floats, without the card's core; the inputs of the first runs are kept, and calibrate the program
 * for the card, which a thread compiles. The next run after that takes the new program.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"
#include "vtadev.h"
#include "vtadev_pool.h"

/* Bytes of the inputs that are kept: less runs are observed if these are many. */
#define KEPT_MAX	(256ull << 20)

/* ---- an engine: a program that is loaded ---- */

/* A source of requests that one thread uses at a time */
struct source {
	struct source *next;
	struct vtadev_caller *caller;
};

struct engine {
	atomic_uint users;
	uint8_t *image;
	struct vtaimage opened;
	struct vtadev_pool *pool;
	pthread_mutex_t lock;
	struct source *free;		/* under the lock */
	size_t n_in, n_out;		/* the program's */
	size_t *slot;			/* the node's input or output of each of these */
	size_t *bytes;
};

static void engine_free(struct engine *e)
{
	while (e->free) {
		struct source *s = e->free;

		e->free = s->next;
		vtadev_caller_close(s->caller);
		free(s);
	}
	vtadev_pool_close(e->pool);
	pthread_mutex_destroy(&e->lock);
	free(e->slot);
	free(e->bytes);
	free(e->image);
	free(e);
}

static void engine_put(struct engine *e)
{
	if (e && atomic_fetch_sub(&e->users, 1) == 1)
		engine_free(e);
}

/* The program's tensors are called in0, ... and out0, ... (model.c). */
static bool match_tensors(struct engine *e)
{
	size_t n = e->opened.tensor_count;
	struct vtadev_pool_tensor t;

	e->slot = calloc(n + 1, sizeof(*e->slot));
	e->bytes = calloc(n + 1, sizeof(*e->bytes));
	if (!e->slot || !e->bytes)
		return false;
	for (unsigned int i = 0; i < n && !vtadev_pool_tensor(e->pool, i, &t); i++) {
		const char *prefix = t.output ? "out" : "in";

		if (strncmp(t.name, prefix, strlen(prefix)))
			return false;
		e->slot[i] = strtoul(t.name + strlen(prefix), NULL, 10);
		e->bytes[i] = t.bytes;
		*(t.output ? &e->n_out : &e->n_in) += 1;
	}
	return true;
}

/* Load the image, which becomes the engine's, on the cards. */
static OrtStatus *engine_new(const struct choice *how, uint8_t *image, size_t size,
			     struct engine **engine)
{
	const struct vtadev_pool_opts opts = {
		.cards = (const char *const *)how->cards, .count = how->n_cards };
	char why[VTADEV_POOL_WHY_MAX];
	struct engine *e = calloc(1, sizeof(*e));

	if (!e) {
		free(image);
		return ort_no_memory();
	}
	atomic_init(&e->users, 1);
	pthread_mutex_init(&e->lock, NULL);
	e->image = image;
	if (vtaimage_open(&e->opened, image, size)) {
		snprintf(why, sizeof(why), "%s", e->opened.why);
		engine_free(e);
		return ort_fail(ORT_FAIL, "%s", why);
	}
	if (vtadev_pool_open(&e->opened, &opts, &e->pool, why)) {
		e->pool = NULL;
		engine_free(e);
		return ort_fail(ORT_FAIL, "%s", why);
	}
	if (!match_tensors(e)) {
		engine_free(e);
		return ort_no_memory();
	}
	*engine = e;
	return NULL;
}

static struct source *source_get(struct engine *e)
{
	struct source *s;

	pthread_mutex_lock(&e->lock);
	s = e->free;
	if (s)
		e->free = s->next;
	pthread_mutex_unlock(&e->lock);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s && vtadev_caller_open(e->pool, 1, &s->caller)) {
		free(s);
		s = NULL;
	}
	return s;
}

static void source_put(struct engine *e, struct source *s)
{
	pthread_mutex_lock(&e->lock);
	s->next = e->free;
	e->free = s;
	pthread_mutex_unlock(&e->lock);
}

static OrtStatus *describe_failure(struct engine *e, const struct vtadev_completion *c)
{
	struct vtadev_pool_stats stats = { .name = "no card" };
	char fault[256];

	if (c->card != UINT32_MAX)
		vtadev_pool_stats(e->pool, c->card, &stats);
	if (c->result != -EIO)
		return ort_fail(ORT_FAIL, "%s: %s", stats.name, vtadev_strerror(c->result));
	vtadev_fault_text(&c->fault, fault, sizeof(fault));
	return ort_fail(ORT_FAIL, "%s: %s", stats.name, fault);
}

/* Run once; @in and @out are the node's inputs and outputs. */
static OrtStatus *engine_run(struct engine *e, const struct iovec *in, const struct iovec *out)
{
	struct iovec lists[e->n_in + e->n_out + 1];
	const struct vtadev_request request = {
		.inputs = lists, .input_count = (unsigned int)e->n_in,
		.outputs = lists + e->n_in, .output_count = (unsigned int)e->n_out };
	struct vtadev_completion done = { .result = 0 };
	struct source *s = source_get(e);
	int err;

	if (!s)
		return ort_no_memory();
	for (size_t i = 0; i < e->n_in + e->n_out; i++)
		lists[i] = i < e->n_in ? in[e->slot[i]] : out[e->slot[i]];
	err = vtadev_caller_submit(s->caller, &request);
	if (!err)
		err = vtadev_caller_wait(s->caller, -1);
	if (!err)
		vtadev_caller_reap(s->caller, &done, 1);
	source_put(e, s);
	if (err)
		return ort_fail(ORT_FAIL, "%s", vtadev_strerror(err));
	return done.result ? describe_failure(e, &done) : NULL;
}

/* ---- the part ---- */

struct shape {
	ONNXTensorElementDataType type;
	size_t rank, count, bytes;
	int64_t dims[8];
};

struct fused {
	OrtNodeComputeInfo info;
	const struct choice *how;
	size_t n_in, n_out;
	struct shape *in, *out;
	pthread_mutex_t lock;
	struct engine *engine;		/* under the lock: the one for the next run */
	/* Until the program for the card is compiled; under the lock but for the thread: */
	uint8_t *model;
	size_t model_size;
	void **kept;			/* of run r, input i: kept[r * n_in + i] */
	unsigned int n_kept, runs;
	bool compiling;
	pthread_t thread;
	atomic_bool closing;
};

static size_t type_bytes(ONNXTensorElementDataType type)
{
	switch (type) {
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
		return 4;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
		return 8;
	default:
		return 1;
	}
}

/* ---- calibration by what was observed ---- */

static float float_of(const struct shape *s, const void *values, size_t i)
{
	switch (s->type) {
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
		return ((const float *)values)[i];
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
		return (float)((const int32_t *)values)[i];
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
		return (float)((const int64_t *)values)[i];
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
		return ((const int8_t *)values)[i];
	default:
		return ((const uint8_t *)values)[i];
	}
}

static int read_kept(void *priv, unsigned int run, const char *input, float *values, size_t count)
{
	const struct fused *f = priv;
	size_t i = strtoul(input + 2, NULL, 10);

	/* The session ends: so does the compilation. */
	if (atomic_load(&f->closing) || i >= f->n_in || count != f->in[i].count)
		return -1;
	for (size_t k = 0; k < count; k++)
		values[k] = float_of(&f->in[i], f->kept[run * f->n_in + i], k);
	return 0;
}

static void forget_model(struct fused *f)
{
	for (size_t i = 0; f->kept && i < (size_t)f->runs * f->n_in; i++)
		free(f->kept[i]);
	free(f->kept);
	free(f->model);
	f->kept = NULL;
	f->model = NULL;
}

/* Compile the model: for the card with @images that were kept; or without it, in floats. */
static OrtStatus *compile(struct fused *f, unsigned int images, bool no_card, uint8_t **image,
			  size_t *size)
{
	const struct vtac_net_options how = {
		.core = &f->how->core, .name = "onnxruntime", .no_card = no_card,
		.images = images, .image = images ? read_kept : NULL, .priv = f };
	struct vtac_net *net = vtac_net_new();
	OrtStatus *err = NULL;

	if (!net)
		return ort_no_memory();
	if (vtac_net_read_onnx(net, f->model, f->model_size, NULL) ||
	    vtac_net_compile(net, &how, image, size))
		err = ort_fail(ORT_FAIL, "%s", vtac_net_error(net));
	vtac_net_free(net);
	return err;
}

static void log_status(const struct choice *how, const char *what, OrtStatus *err)
{
	log_text(how->log, ORT_LOGGING_LEVEL_WARNING, "%s: %s", what, ort->GetErrorMessage(err));
	ort->ReleaseStatus(err);
}

static void *compile_observed(void *arg)
{
	struct fused *f = arg;
	struct engine *engine = NULL, *old = NULL;
	uint8_t *image;
	size_t size;
	OrtStatus *err = compile(f, f->n_kept, false, &image, &size);

	if (!err)
		err = engine_new(f->how, image, size, &engine);
	if (!err) {
		pthread_mutex_lock(&f->lock);
		old = f->engine;
		f->engine = engine;
		pthread_mutex_unlock(&f->lock);
		engine_put(old);
		log_text(f->how->log, ORT_LOGGING_LEVEL_INFO,
			 "vta: calibrated by %u runs; the card computes from now on", f->n_kept);
	} else if (atomic_load(&f->closing)) {
		ort->ReleaseStatus(err);
	} else {
		log_status(f->how, "vta: the model stays on the CPU", err);
	}
	forget_model(f);
	return NULL;
}

/* Keep the inputs of a run, under the lock; after the last one, compile. */
static void observe_run(struct fused *f, const struct iovec *in)
{
	void **kept = f->kept + (size_t)f->n_kept * f->n_in;

	for (size_t i = 0; i < f->n_in; i++) {
		kept[i] = malloc(in[i].iov_len);
		if (kept[i]) {
			memcpy(kept[i], in[i].iov_base, in[i].iov_len);
			continue;
		}
		/* This run is not kept. */
		while (i--) {
			free(kept[i]);
			kept[i] = NULL;
		}
		return;
	}
	if (++f->n_kept < f->runs)
		return;
	f->compiling = !pthread_create(&f->thread, NULL, compile_observed, f);
	if (!f->compiling) {
		log_text(f->how->log, ORT_LOGGING_LEVEL_WARNING,
			 "vta: the model stays on the CPU: no more threads");
		forget_model(f);
	}
}

/* ---- called by ONNX Runtime ---- */

static struct fused *fused_of(OrtNodeComputeInfo *info)
{
	return (struct fused *)info;
}

static OrtStatus *ORT_API_CALL fused_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context,
					   void **state)
{
	(void)context;
	*state = info;
	return NULL;
}

static void ORT_API_CALL fused_release_state(OrtNodeComputeInfo *info, void *state)
{
	(void)info;
	(void)state;
}

static OrtStatus *get_values(const struct fused *f, OrtKernelContext *context, struct iovec *in,
			     struct iovec *out)
{
	for (size_t i = 0; i < f->n_in; i++) {
		const OrtValue *value;
		const void *data;

		TRY(ort->KernelContext_GetInput(context, i, &value));
		TRY(ort->GetTensorSizeInBytes(value, &in[i].iov_len));
		TRY(ort->GetTensorData(value, &data));
		if (in[i].iov_len != f->in[i].bytes)
			return ort_fail(ORT_INVALID_ARGUMENT,
					"input %zu has %zu bytes where the model has %zu", i,
					in[i].iov_len, f->in[i].bytes);
		in[i].iov_base = (void *)(uintptr_t)data;
	}
	for (size_t i = 0; i < f->n_out; i++) {
		OrtValue *value;

		TRY(ort->KernelContext_GetOutput(context, i, f->out[i].dims, f->out[i].rank,
						 &value));
		TRY(ort->GetTensorMutableData(value, &out[i].iov_base));
		out[i].iov_len = f->out[i].bytes;
	}
	return NULL;
}

static OrtStatus *ORT_API_CALL fused_compute(OrtNodeComputeInfo *info, void *state,
					     OrtKernelContext *context)
{
	struct fused *f = fused_of(info);
	struct iovec in[f->n_in + 1], out[f->n_out + 1];
	struct engine *e;
	OrtStatus *err;

	(void)state;
	TRY(get_values(f, context, in, out));
	pthread_mutex_lock(&f->lock);
	if (!f->compiling && f->kept && f->n_kept < f->runs)
		observe_run(f, in);
	e = f->engine;
	atomic_fetch_add(&e->users, 1);
	pthread_mutex_unlock(&f->lock);
	err = engine_run(e, in, out);
	engine_put(e);
	return err;
}

/* ---- making a part ---- */

static OrtStatus *fill_shape(const struct graph *g, size_t value, struct shape *s)
{
	const struct value *v = &g->values[value];

	*s = (struct shape) { .type = v->type, .rank = v->rank, .count = 1 };
	for (size_t i = 0; v->shaped && i < v->rank; i++) {
		s->dims[i] = v->dims[i];
		if (__builtin_mul_overflow(s->count, (size_t)v->dims[i], &s->count))
			return ort_fail(ORT_FAIL, "%s is too large", v->name);
	}
	if (__builtin_mul_overflow(s->count, type_bytes(s->type), &s->bytes))
		return ort_fail(ORT_FAIL, "%s is too large", v->name);
	return NULL;
}

/* The node's inputs and outputs, in its order, are the part's. */
static OrtStatus *read_border(struct fused *f, struct graph *g, const OrtNode *node,
			      struct part *part)
{
	const OrtValueInfo **infos;
	size_t n_in, n_out;

	TRY(ort->Node_GetNumInputs(node, &n_in));
	TRY(ort->Node_GetNumOutputs(node, &n_out));
	infos = memory_get(&g->memory, n_in + n_out + 1, sizeof(*infos));
	part->inputs = memory_get(&g->memory, n_in + n_out + 1, sizeof(*part->inputs));
	f->in = calloc(n_in + n_out + 1, sizeof(*f->in));
	if (!infos || !part->inputs || !f->in)
		return ort_no_memory();
	part->outputs = part->inputs + n_in;
	f->out = f->in + n_in;
	f->n_in = n_in;
	f->n_out = n_out;
	part->n_inputs = n_in;
	part->n_outputs = n_out;
	TRY(ort->Node_GetInputs(node, infos, n_in));
	TRY(ort->Node_GetOutputs(node, infos + n_in, n_out));
	for (size_t i = 0; i < n_in + n_out; i++) {
		const char *name;

		TRY(ort->GetValueInfoName(infos[i], &name));
		part->inputs[i] = graph_find(g, name);
		if (part->inputs[i] == NO_VALUE)
			return ort_fail(ORT_FAIL, "%s is no value of the part", name);
		TRY(fill_shape(g, part->inputs[i], &f->in[i]));
	}
	return NULL;
}

/* A shape that ONNX Runtime does not know is the program's. */
static OrtStatus *complete_shapes(struct fused *f)
{
	struct vtadev_pool_tensor t;

	for (unsigned int i = 0; !vtadev_pool_tensor(f->engine->pool, i, &t); i++) {
		size_t slot = f->engine->slot[i];
		struct shape *s = slot < (t.output ? f->n_out : f->n_in) ?
			(t.output ? &f->out[slot] : &f->in[slot]) : NULL;

		if (!s)
			return ort_fail(ORT_FAIL, "tensor %s of the program is not the part's",
					t.name);
		if (t.output && s->bytes != t.bytes) {
			s->rank = t.rank;
			for (uint32_t k = 0; k < t.rank; k++)
				s->dims[k] = t.dims[k];
			s->bytes = t.bytes;
		}
		if (s->bytes != t.bytes)
			return ort_fail(ORT_FAIL, "tensor %s of the program has %zu bytes, not %zu",
					t.name, t.bytes, s->bytes);
	}
	return NULL;
}

static OrtStatus *plan_observation(struct fused *f)
{
	size_t bytes = 1;

	for (size_t i = 0; i < f->n_in; i++)
		bytes += f->in[i].bytes;
	f->runs = f->how->runs;
	if (f->runs > KEPT_MAX / bytes)
		f->runs = KEPT_MAX / bytes ? (unsigned int)(KEPT_MAX / bytes) : 1;
	f->kept = calloc((size_t)f->runs * f->n_in + 1, sizeof(*f->kept));
	return f->kept ? NULL : ort_no_memory();
}

/* Does the model lack scales, so that runs have to be observed? */
static OrtStatus *needs_images(struct fused *f, bool *needs)
{
	const struct vtac_net_options how = { .core = &f->how->core };
	struct vtac_net_placement place = { 0 };
	struct vtac_net *net = vtac_net_new();
	OrtStatus *err = NULL;

	if (!net)
		return ort_no_memory();
	if (vtac_net_read_onnx(net, f->model, f->model_size, NULL) ||
	    vtac_net_place(net, &how, &place))
		err = ort_fail(ORT_FAIL, "%s", vtac_net_error(net));
	*needs = place.unscaled;
	vtac_net_free(net);
	return err;
}

static OrtStatus *load_first(struct fused *f)
{
	bool observed = false;
	uint8_t *image;
	size_t size;

	TRY(needs_images(f, &observed));
	TRY(compile(f, 0, observed, &image, &size));
	TRY(engine_new(f->how, image, size, &f->engine));
	TRY(complete_shapes(f));
	if (observed)
		return plan_observation(f);
	forget_model(f);
	return NULL;
}

static OrtStatus *read_part(struct fused *f, struct graph *g, const OrtGraph *graph,
			    const OrtNode *node)
{
	struct part part = { 0 };

	TRY(graph_read(g, graph));
	part.n_nodes = g->n_nodes;
	part.nodes = memory_get(&g->memory, g->n_nodes + 1, sizeof(*part.nodes));
	if (!part.nodes)
		return ort_no_memory();
	for (size_t i = 0; i < g->n_nodes; i++)
		part.nodes[i] = i;
	TRY(read_border(f, g, node, &part));
	return model_write(g, &part, false, &f->model, &f->model_size);
}

OrtStatus *fused_new(const struct choice *how, const OrtGraph *graph, const OrtNode *node,
		     OrtNodeComputeInfo **info)
{
	struct fused *f = calloc(1, sizeof(*f));
	struct graph g;
	OrtStatus *err;

	if (!f)
		return ort_no_memory();
	f->info = (OrtNodeComputeInfo) {
		.ort_version_supported = ORT_API_VERSION, .CreateState = fused_state,
		.Compute = fused_compute, .ReleaseState = fused_release_state };
	f->how = how;
	pthread_mutex_init(&f->lock, NULL);
	err = read_part(f, &g, graph, node);
	graph_free(&g);
	if (!err)
		err = load_first(f);
	if (err)
		fused_free(&f->info);
	else
		*info = &f->info;
	return err;
}

void fused_free(OrtNodeComputeInfo *info)
{
	struct fused *f = fused_of(info);

	atomic_store(&f->closing, true);
	if (f->compiling)
		pthread_join(f->thread, NULL);
	engine_put(f->engine);
	forget_model(f);
	free(f->in);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
