// SPDX-License-Identifier: Apache-2.0
/*
 * A part of a graph as ONNX Runtime computes it: one call, which is a run of a program on a card.
 *
 * A model with scales of its own is compiled at once. A float model first runs as a program in
 * floats, without the card's core; the inputs of the first runs are kept, and calibrate the program
 * for the card, which a thread compiles. The next run after that takes the new program.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "thread.h"

/* Bytes of the inputs that are kept: less runs are observed if these are many. */
#define KEPT_MAX	(256ull << 20)
/* Images of files that calibrate at most, as with vtac compile. */
#define IMAGES_MAX	64

struct fused {
	OrtNodeComputeInfo info;
	const struct choice *how;
	struct border border;
	pthread_mutex_t lock;
	struct vtac_net_images *files;	/* of each input; or NULL: not all have some */
	struct engine *engine;		/* under the lock: the one for the next run */
	/* Until the program for the card is compiled; under the lock but for the thread: */
	uint8_t *model;
	size_t model_size;
	void **kept;			/* of run r, input i: kept[r * border.n_in + i] */
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
	if (atomic_load(&f->closing) || i >= f->border.n_in || count != f->border.in[i].count)
		return -1;
	for (size_t k = 0; k < count; k++)
		values[k] = float_of(&f->border.in[i], f->kept[run * f->border.n_in + i], k);
	return 0;
}

static void forget_model(struct fused *f)
{
	for (size_t i = 0; f->kept && i < (size_t)f->runs * f->border.n_in; i++)
		free(f->kept[i]);
	free(f->kept);
	free(f->model);
	f->kept = NULL;
	f->model = NULL;
}

/*
 * Compile the model: for the card with @images, of the files if there are some, else those that
 * were kept; or without the card, in floats.
 */
static OrtStatus *compile(struct fused *f, unsigned int images, bool no_card, uint8_t **image,
			  size_t *size)
{
	const struct vtac_net_options how = {
		.core = &f->how->core, .name = "onnxruntime", .no_card = no_card,
		.no_prune = f->how->all, .images = images,
		.image = images ? read_kept : NULL, .priv = f,
		.files = f->files,
		.n_files = images && f->files ? (unsigned int)f->border.n_in : 0 };
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
		err = engine_new(f->how, &f->border, image, size, &engine);
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
	void **kept = f->kept + (size_t)f->n_kept * f->border.n_in;

	for (size_t i = 0; i < f->border.n_in; i++) {
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
	f->compiling = !thread_create(&f->thread, compile_observed, f);
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

/* Find the run's inputs in ONNX Runtime's memory. */
static OrtStatus *get_inputs(const struct fused *f, OrtKernelContext *context, struct iovec *in)
{
	for (size_t i = 0; i < f->border.n_in; i++) {
		const OrtValue *value;
		const void *data;

		TRY(ort->KernelContext_GetInput(context, i, &value));
		TRY(ort->GetTensorSizeInBytes(value, &in[i].iov_len));
		TRY(ort->GetTensorData(value, &data));
		if (f->border.in[i].known && in[i].iov_len != f->border.in[i].bytes)
			return ort_fail(ORT_INVALID_ARGUMENT,
					"input %zu has %zu bytes where the model has %zu", i,
					in[i].iov_len, f->border.in[i].bytes);
		in[i].iov_base = (void *)(uintptr_t)data;
	}
	return NULL;
}

static OrtStatus *compute(struct fused *f, OrtKernelContext *context, struct iovec *in)
{
	struct engine *e;
	OrtStatus *err;

	TRY(get_inputs(f, context, in));
	pthread_mutex_lock(&f->lock);
	if (!f->compiling && f->kept && f->n_kept < f->runs)
		observe_run(f, in);
	e = engine_get(f->engine);
	pthread_mutex_unlock(&f->lock);
	err = engine_run(e, context, in);
	engine_put(e);
	return err;
}

static OrtStatus *ORT_API_CALL fused_compute(OrtNodeComputeInfo *info, void *state,
					     OrtKernelContext *context)
{
	struct fused *f = fused_of(info);
	struct iovec *in = calloc(f->border.n_in + 1, sizeof(*in));
	OrtStatus *err = in ? compute(f, context, in) : ort_no_memory();

	(void)state;
	free(in);
	return err;
}

/* ---- making a part ---- */

static OrtStatus *fill_shape(const struct graph *g, size_t value, struct shape *s)
{
	const struct value *v = &g->values[value];

	*s = (struct shape) { .type = v->type, .known = v->shaped, .rank = v->rank, .count = 1 };
	for (size_t i = 0; s->known && i < v->rank; i++) {
		s->dims[i] = v->dims[i];
		if (__builtin_mul_overflow(s->count, (size_t)v->dims[i], &s->count))
			return ort_fail(ORT_FAIL, "%s is too large", v->name);
	}
	if (__builtin_mul_overflow(s->count, type_bytes(s->type), &s->bytes))
		return ort_fail(ORT_FAIL, "%s is too large", v->name);
	return NULL;
}

static void forget_files(struct fused *f)
{
	for (size_t i = 0; f->files && i < f->border.n_in; i++) {
		free((char *)(uintptr_t)f->files[i].input);
		free((char *)(uintptr_t)f->files[i].path);
	}
	free(f->files);
	f->files = NULL;
}

/* Find the file of input @i, which the model names @name: an input within the model has none. */
static OrtStatus *find_file(struct fused *f, size_t i, const char *name)
{
	char *path, *input;

	if (asprintf(&path, "%s/%s.npy", f->how->calibration, name) < 0)
		return ort_no_memory();
	f->files[i].path = path;
	if (asprintf(&input, "in%zu", i) < 0)
		return ort_no_memory();
	f->files[i].input = input;
	if (!strchr(name, '/') && !access(path, F_OK))
		return NULL;
	log_text(f->how->log, ORT_LOGGING_LEVEL_WARNING,
		 "vta: there is no %s: the part is calibrated by its runs", path);
	forget_files(f);
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
	f->border.in = calloc(n_in + n_out + 1, sizeof(*f->border.in));
	if (!infos || !part->inputs || !f->border.in)
		return ort_no_memory();
	part->outputs = part->inputs + n_in;
	f->border.out = f->border.in + n_in;
	f->border.n_in = n_in;
	f->border.n_out = n_out;
	part->n_inputs = n_in;
	part->n_outputs = n_out;
	if (f->how->calibration) {
		f->files = calloc(n_in + 1, sizeof(*f->files));
		if (!f->files)
			return ort_no_memory();
	}
	TRY(ort->Node_GetInputs(node, infos, n_in));
	TRY(ort->Node_GetOutputs(node, infos + n_in, n_out));
	for (size_t i = 0; i < n_in + n_out; i++) {
		const char *name;

		TRY(ort->GetValueInfoName(infos[i], &name));
		part->inputs[i] = graph_find(g, name);
		if (part->inputs[i] == NO_VALUE)
			return ort_fail(ORT_FAIL, "%s is no value of the part", name);
		TRY(fill_shape(g, part->inputs[i], &f->border.in[i]));
		if (i < n_in && f->files)
			TRY(find_file(f, i, name));
	}
	return NULL;
}

static OrtStatus *plan_observation(struct fused *f)
{
	size_t bytes = 1;

	for (size_t i = 0; i < f->border.n_in; i++)
		bytes += f->border.in[i].bytes;
	f->runs = f->how->runs;
	if (f->runs > KEPT_MAX / bytes)
		f->runs = KEPT_MAX / bytes ? (unsigned int)(KEPT_MAX / bytes) : 1;
	f->kept = calloc((size_t)f->runs * f->border.n_in + 1, sizeof(*f->kept));
	return f->kept ? NULL : ort_no_memory();
}

/* Does the model lack scales, so that runs have to be observed? */
static OrtStatus *needs_images(struct fused *f, bool *needs)
{
	const struct vtac_net_options how = {
		.core = &f->how->core, .no_prune = f->how->all };
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
	if (observed && f->files) {
		TRY(compile(f, IMAGES_MAX, false, &image, &size));
		observed = false;
	} else {
		TRY(compile(f, 0, observed, &image, &size));
	}
	TRY(engine_new(f->how, &f->border, image, size, &f->engine));
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
	if (g->n_nodes == 1 && g->nodes[0].context)
		return context_read(g->nodes[0].node, &f->model, &f->model_size);
	return model_write(g, &part, false, &f->model, &f->model_size);
}

/* Load the program of an EPContext node. */
static OrtStatus *load_context(struct fused *f)
{
	uint8_t *image = f->model;

	f->model = NULL;
	return engine_new(f->how, &f->border, image, f->model_size, &f->engine);
}

static OrtStatus *make(struct fused *f, const OrtGraph *graph, const OrtNode *node,
		       OrtNode **context)
{
	const uint8_t *image;
	struct graph g;
	OrtStatus *err = read_part(f, &g, graph, node);
	bool is_context = !err && g.n_nodes == 1 && g.nodes[0].context;
	size_t size;

	graph_free(&g);
	if (!err)
		err = is_context ? load_context(f) : load_first(f);
	if (err || !f->how->contexts)
		return err;
	if (f->kept)
		return ort_fail(ORT_FAIL,
				"a model without scales is calibrated by its runs: vtac compile "
				"--calibrate=DIRECTORY --emit=onnx, or the option calibration, "
				"writes it with its program");
	image = engine_image(f->engine, &size);
	return context_write(node, image, size, context);
}

OrtStatus *fused_new(const struct choice *how, const OrtGraph *graph, const OrtNode *node,
		     OrtNodeComputeInfo **info, OrtNode **context)
{
	struct fused *f = calloc(1, sizeof(*f));
	OrtStatus *err;

	if (!f)
		return ort_no_memory();
	f->info = (OrtNodeComputeInfo) {
		.ort_version_supported = ORT_API_VERSION, .CreateState = fused_state,
		.Compute = fused_compute, .ReleaseState = fused_release_state };
	f->how = how;
	pthread_mutex_init(&f->lock, NULL);
	err = make(f, graph, node, context);
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
	forget_files(f);
	free(f->border.in);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
