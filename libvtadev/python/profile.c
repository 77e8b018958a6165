// SPDX-License-Identifier: Apache-2.0
/*
 * The time of each part of a program's run. Runs of the program as it is are measured besides: the
 * difference is the cost of the record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

#define RUN_NS	(600 * 1000000000ll)

/* A run, and the record of it */
struct timed {
	int64_t ns;
	struct vtaprog_span *spans;
	uint32_t count;
};

struct job {
	const struct vtaimage *image;
	struct vtadev *dev;
	struct inputs inputs;
	struct vtaprog_cut *cuts;	/* NULL: not recorded */
	uint32_t cut_count;
	struct timed *runs;
	unsigned int n;
	int64_t error_ns;
	char why[VTAPROG_WHY_MAX];
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int compare_runs(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void put_inputs(const struct job *j, struct vtaprog *prog)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog) && n < j->inputs.count; i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_INPUT)
			vtaprog_put(prog, i, j->inputs.io[n++].iov_base);
}

static int keep_spans(struct job *j, const struct vtaprog *prog, struct timed *t)
{
	const struct vtaprog_span *spans;

	t->count = vtaprog_spans(prog, &spans, &j->error_ns);
	t->spans = malloc(t->count * sizeof(*spans) + 1);
	if (!t->spans)
		return -ENOMEM;
	memcpy(t->spans, spans, t->count * sizeof(*spans));
	return 0;
}

/* A run may overwrite its inputs, so each gets them anew. */
static int run_all(struct job *j, struct vtaprog *prog)
{
	int err;

	put_inputs(j, prog);
	err = vtaprog_run(prog, RUN_NS);
	for (unsigned int i = 0; i < j->n && !err; i++) {
		struct timed *t = &j->runs[i];

		put_inputs(j, prog);
		t->ns = now_ns();
		err = vtaprog_run(prog, RUN_NS);
		t->ns = now_ns() - t->ns;
		if (!err && j->cuts)
			err = keep_spans(j, prog, t);
	}
	qsort(j->runs, j->n, sizeof(*j->runs), compare_runs);
	return err;
}

static int measure(struct job *j)
{
	const struct vtadev_queue_opts options = {
		.ring_entries = j->cuts ? vtadev_info(j->dev)->ring_entries_max :
				vtaprog_ring(j->dev, j->image),
		.flags = j->cut_count ? VTADEV_QUEUE_KEEP : 0,
	};
	struct vtaprog *prog = NULL;
	struct vtadev_queue *queue;
	bool loaded;
	int err = vtadev_queue_create(j->dev, &options, &queue);

	if (err)
		return err;
	err = j->cuts ? vtaprog_profile(j->dev, queue, j->image, j->cuts, j->cut_count, &prog,
					j->why) :
	      vtaprog_load(j->dev, queue, j->image, &prog, j->why);
	loaded = !err;
	if (loaded)
		err = run_all(j, prog);
	vtadev_queue_destroy(queue);
	if (loaded)
		vtaprog_free(prog);
	return err;
}

/* (stream, insn) of a list, by rising stream and instruction */
static int take_cuts(PyObject *list, struct job *j)
{
	Py_ssize_t n = PyList_Size(list);

	j->cuts = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof(*j->cuts));
	if (!j->cuts)
		return -1;
	for (Py_ssize_t i = 0; i < n; i++)
		if (!PyArg_ParseTuple(PyList_GetItem(list, i), "II", &j->cuts[i].stream,
				      &j->cuts[i].insn))
			return -1;
	j->cut_count = (uint32_t)n;
	return 0;
}

static PyObject *describe_run(const struct timed *t)
{
	PyObject *list = PyList_New(0);

	for (uint32_t i = 0; list && i < t->count; i++) {
		const struct vtaprog_span *s = &t->spans[i];
		PyObject *part = Py_BuildValue("(IILLK)", s->step, s->insn, (long long)s->begin,
					       (long long)s->end, (unsigned long long)s->cycles);

		if (!part || PyList_Append(list, part))
			Py_CLEAR(list);
		Py_XDECREF(part);
	}
	return list;
}

/* Both measurements, the one without a record first. */
static PyObject *measure_both(struct job *j, PyObject *cuts)
{
	int64_t plain = 0;
	int err;

	Py_BEGIN_ALLOW_THREADS
	err = measure(j);
	Py_END_ALLOW_THREADS
	if (!err) {
		plain = j->runs[j->n / 2].ns;
		if (take_cuts(cuts, j))
			return NULL;
		Py_BEGIN_ALLOW_THREADS
		err = measure(j);
		Py_END_ALLOW_THREADS
	}
	if (!err)
		return Py_BuildValue("(LLLN)", (long long)plain, (long long)j->runs[j->n / 2].ns,
				     (long long)j->error_ns, describe_run(&j->runs[j->n / 2]));
	return j->why[0] ? error_set(err, j->why) : error_set_card(err, j->dev);
}

PyObject *profile_run(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *cuts, *objects, *result = NULL;
	struct job j = { .why = "" };
	struct device *device;
	struct image *image;

	if (!PyArg_ParseTuple(args, "O!O!O!IO:profile", image_type, &image, device_type, &device,
			      &PyList_Type, &cuts, &j.n, &objects))
		return NULL;
	j.image = &image->image;
	j.dev = device_enter(device);
	if (!j.dev)
		return NULL;
	j.runs = calloc((size_t)j.n + 1, sizeof(*j.runs));
	if (!j.runs)
		PyErr_NoMemory();
	else if (!inputs_take(&j.inputs, j.image, objects))
		result = measure_both(&j, cuts);
	device_leave(device);
	inputs_free(&j.inputs);
	for (unsigned int i = 0; j.runs && i < j.n; i++)
		free(j.runs[i].spans);
	free(j.runs);
	PyMem_Free(j.cuts);
	return result;
}
