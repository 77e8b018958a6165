// SPDX-License-Identifier: Apache-2.0
/* Measurements of a program (vtadev_bench.h). */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "vtadev_bench.h"

void inputs_free(struct inputs *inputs)
{
	for (unsigned int i = 0; i < inputs->count; i++)
		PyMem_Free(inputs->io[i].iov_base);
	PyMem_Free(inputs->io);
}

static int add_input(struct inputs *inputs, const struct vtaimage *image,
		     struct vtaimage_tensor *t, PyObject *object)
{
	struct iovec *io = &inputs->io[inputs->count];

	io->iov_len = vtaprog_bytes(t);
	io->iov_base = PyMem_Calloc(1, io->iov_len + 1);
	if (!io->iov_base) {
		PyErr_NoMemory();
		return -1;
	}
	inputs->count++;
	t->bytes = (uint32_t)io->iov_len;
	t->layout = VTAIMAGE_PLAIN;
	return tensor_put(&image->core, t, io->iov_base, object);
}

int inputs_take(struct inputs *inputs, const struct vtaimage *image, PyObject *objects)
{
	Py_ssize_t given = objects == Py_None ? 0 : PyTuple_Size(objects), n = 0;

	if (objects == Py_None)
		return 0;
	inputs->io = PyMem_Calloc(image->tensor_count + 1, sizeof(*inputs->io));
	if (!inputs->io) {
		PyErr_NoMemory();
		return -1;
	}
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		struct vtaimage_tensor t;

		vtaimage_tensor(image, i, &t);
		if (t.role != VTAIMAGE_INPUT)
			continue;
		if (n < given && add_input(inputs, image, &t, PyTuple_GetItem(objects, n)))
			return -1;
		n++;
	}
	if (n == given)
		return 0;
	PyErr_Format(PyExc_TypeError, "the program takes %zd inputs, not %zd", n, given);
	return -1;
}

static PyObject *fail(int err, const char *why)
{
	if (err != -EINVAL && err != -ENOEXEC)
		return error_set(err, why);
	PyErr_SetString(PyExc_ValueError, why);
	return NULL;
}

static PyObject *measure(const struct vtaimage *image, const struct vtadev_bench_opts *opts)
{
	struct vtadev_bench_result r;
	char why[VTADEV_POOL_WHY_MAX] = "";
	int err;

	Py_BEGIN_ALLOW_THREADS
	err = vtadev_bench(image, opts, &r, why);
	Py_END_ALLOW_THREADS
	if (err)
		return fail(err, why);
	return Py_BuildValue("(IKKLLLLLLLLL)", r.cards, (unsigned long long)r.runs,
			     (unsigned long long)r.lost, (long long)r.load_ns,
			     (long long)r.first_ns, (long long)r.wall_ns, (long long)r.min_ns,
			     (long long)r.mean_ns, (long long)r.p50_ns, (long long)r.p90_ns,
			     (long long)r.p99_ns, (long long)r.max_ns);
}

PyObject *bench_rate(PyObject *Py_UNUSED(module), PyObject *args)
{
	const char *names[VTADEV_POOL_CARDS_MAX];
	struct vtadev_bench_opts opts = { .cards = NULL };
	PyObject *cards, *objects, *result = NULL;
	struct inputs inputs = { NULL, 0 };
	unsigned long long runs;
	struct image *image;
	long long duration;
	int count = 0;

	if (!PyArg_ParseTuple(args, "O!OIIKLO:bench", image_type, &image, &cards, &opts.depth,
			      &opts.warmup, &runs, &duration, &objects))
		return NULL;
	if (cards != Py_None)
		count = pool_names(cards, names);
	if (count > 0) {
		opts.cards = names;
		opts.count = (unsigned int)count;
	}
	opts.runs = runs;
	opts.duration_ns = duration;
	if (count >= 0 && !inputs_take(&inputs, &image->image, objects)) {
		opts.inputs = inputs.io;
		opts.input_count = inputs.count;
		result = measure(&image->image, &opts);
	}
	inputs_free(&inputs);
	return result;
}

PyObject *bench_one(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct inputs inputs = { NULL, 0 };
	char why[VTADEV_POOL_WHY_MAX] = "";
	struct vtadev_bench_parts p;
	unsigned long long runs;
	struct image *image;
	PyObject *objects;
	const char *card;
	int err;

	if (!PyArg_ParseTuple(args, "O!zKO:bench_parts", image_type, &image, &card, &runs,
			      &objects))
		return NULL;
	err = inputs_take(&inputs, &image->image, objects);
	if (!err) {
		Py_BEGIN_ALLOW_THREADS
		err = vtadev_bench_parts(&image->image, card, runs, inputs.io, inputs.count, &p,
					 why);
		Py_END_ALLOW_THREADS
		if (err)
			fail(err, why);
	}
	inputs_free(&inputs);
	if (err)
		return NULL;
	return Py_BuildValue("(KILLLLKKK)", (unsigned long long)p.runs, p.clock_khz,
			     (long long)p.total_ns, (long long)p.compute_ns,
			     (long long)p.copy_ns, (long long)p.cpu_ns,
			     (unsigned long long)p.cycles, (unsigned long long)p.to_card,
			     (unsigned long long)p.from_card);
}
