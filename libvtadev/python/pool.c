// SPDX-License-Identifier: Apache-2.0
/*
 * Pools of cards (vtadev_pool.h): one caller, whose requests have memory of their own and
 * belong to jobs, which are whatever submit() was given. Threads and futures are in Python.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "vtadev_pool.h"

/* Values of a request: inputs, then outputs. Completions carry its address. */
struct request {
	struct request *next, **at;
	PyObject *job;
	uint8_t values[];
};

struct pool {
	PyObject_HEAD
	struct vtadev_pool *pool;	/* NULL: closed */
	struct vtadev_caller *caller;
	struct vtaimage_tensor *tensors;	/* plain: inputs, then outputs */
	unsigned int inputs, count;
	size_t bytes;			/* of all tensors */
	struct iovec *io;		/* of the request that is submitted */
	struct request *requests;	/* that are not reaped */
	struct image *image;		/* which the pool reads */
	pid_t owner;
};

static void request_unlink(struct request *request)
{
	*request->at = request->next;
	if (request->next)
		request->next->at = request->at;
}

static void request_free(struct request *request)
{
	Py_DECREF(request->job);
	PyMem_Free(request);
}

static void request_drop(struct request *request)
{
	request_unlink(request);
	request_free(request);
}

/* NULL and an exception if it is closed, or the parent process's. */
static struct pool *pool_enter(PyObject *object)
{
	struct pool *self = (struct pool *)object;

	if (owner_check(self->owner))
		return NULL;
	if (self->pool)
		return self;
	PyErr_SetString(PyExc_ValueError, "the pool is closed");
	return NULL;
}

/* ---- Opening and closing ---- */

static void release(struct pool *self)
{
	struct vtadev_pool *pool = self->pool;

	self->pool = NULL;
	self->caller = NULL;
	if (!pool || self->owner != getpid())
		return;
	Py_BEGIN_ALLOW_THREADS
	vtadev_pool_close(pool);
	Py_END_ALLOW_THREADS
	while (self->requests)
		request_drop(self->requests);
}

/* The program's tensors, as the pool takes and gives them. */
static int take_tensors(struct pool *self)
{
	const struct vtaimage *image = &self->image->image;
	struct vtadev_pool_tensor tensor;

	while (!vtadev_pool_tensor(self->pool, self->count, &tensor))
		self->count++;
	self->tensors = PyMem_Calloc(self->count + 1, sizeof(*self->tensors));
	self->io = PyMem_Calloc(self->count + 1, sizeof(*self->io));
	if (!self->tensors || !self->io) {
		PyErr_NoMemory();
		return -1;
	}
	for (unsigned int i = 0; i < self->count; i++) {
		struct vtaimage_tensor *t = &self->tensors[i];

		vtadev_pool_tensor(self->pool, i, &tensor);
		vtaimage_tensor(image, (uint32_t)vtaimage_find(image, tensor.name), t);
		t->layout = VTAIMAGE_PLAIN;
		t->bytes = (uint32_t)tensor.bytes;
		self->inputs += !tensor.output;
		self->io[i].iov_len = tensor.bytes;
		self->bytes += tensor.bytes;
	}
	return 0;
}

int pool_names(PyObject *cards, const char **names)
{
	Py_ssize_t count = PyTuple_Size(cards), length;

	if (count < 1 || count > VTADEV_POOL_CARDS_MAX) {
		PyErr_SetString(PyExc_ValueError, "a pool has 1 to 256 cards");
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *name = PyTuple_GetItem(cards, i);

		if (!PyUnicode_Check(name)) {
			PyErr_Format(PyExc_TypeError, "a card's name is a str, not %R", name);
			return -1;
		}
		names[i] = PyUnicode_AsUTF8AndSize(name, &length);
		if (!names[i])
			return -1;
		if (strlen(names[i]) != (size_t)length) {
			PyErr_Format(PyExc_ValueError, "the name %R has a null character", name);
			return -1;
		}
	}
	return (int)count;
}

static int pool_open(struct pool *self, const struct vtadev_pool_opts *opts, unsigned int entries)
{
	char why[VTADEV_POOL_WHY_MAX] = "";
	int err;

	Py_BEGIN_ALLOW_THREADS
	err = vtadev_pool_open(&self->image->image, opts, &self->pool, why);
	if (!err)
		err = vtadev_caller_open(self->pool, entries, &self->caller);
	Py_END_ALLOW_THREADS
	if (err == -EINVAL || err == -ENOEXEC)
		PyErr_SetString(PyExc_ValueError, why);
	else if (err)
		error_set(err, why);
	return err ? -1 : take_tensors(self);
}

/* Pool(image, cards, depth, entries); cards are a tuple of names, or None. */
static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
	const char *names[VTADEV_POOL_CARDS_MAX];
	struct vtadev_pool_opts opts = { .cards = NULL };
	struct image *image;
	unsigned int entries;
	struct pool *self;
	PyObject *cards;
	int ret = 0;

	if (!PyArg_ParseTuple(args, "O!OII:Pool", image_type, &image, &cards, &opts.depth,
			      &entries))
		return NULL;
	self = (struct pool *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (self && cards != Py_None) {
		ret = pool_names(cards, names);
		opts.cards = names;
		opts.count = ret > 0 ? (unsigned int)ret : 0;
	}
	if (self) {
		self->owner = getpid();
		self->image = (struct image *)Py_NewRef((PyObject *)image);
		if (ret < 0 || pool_open(self, &opts, entries))
			Py_CLEAR(self);
	}
	return (PyObject *)self;
}

static void pool_dealloc(PyObject *object)
{
	struct pool *self = (struct pool *)object;
	PyTypeObject *type = Py_TYPE(object);

	release(self);
	PyMem_Free(self->tensors);
	PyMem_Free(self->io);
	Py_XDECREF((PyObject *)self->image);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *pool_close(PyObject *object, PyObject *Py_UNUSED(none))
{
	release((struct pool *)object);
	Py_RETURN_NONE;
}

/* ---- Requests ---- */

static int put_inputs(const struct pool *self, struct request *request, PyObject *inputs)
{
	const struct vtaops_core *core = &self->image->image.core;
	uint8_t *to = request->values;

	if (PyTuple_Size(inputs) != (Py_ssize_t)self->inputs) {
		PyErr_Format(PyExc_TypeError, "the program takes %u inputs, not %zd", self->inputs,
			     PyTuple_Size(inputs));
		return -1;
	}
	for (unsigned int i = 0; i < self->inputs; i++) {
		if (tensor_put(core, &self->tensors[i], to, PyTuple_GetItem(inputs, i)))
			return -1;
		to += self->io[i].iov_len;
	}
	return 0;
}

static struct request *request_new(struct pool *self, PyObject *inputs, PyObject *job)
{
	struct request *request = PyMem_Calloc(1, sizeof(*request) + self->bytes);

	if (!request) {
		PyErr_NoMemory();
		return NULL;
	}
	if (put_inputs(self, request, inputs)) {
		PyMem_Free(request);
		return NULL;
	}
	request->job = Py_NewRef(job);
	request->next = self->requests;
	request->at = &self->requests;
	if (request->next)
		request->next->at = &request->next;
	self->requests = request;
	return request;
}

static int hand_over(struct pool *self, struct request *request)
{
	uint8_t *at = request->values;

	for (unsigned int i = 0; i < self->count; i++) {
		self->io[i].iov_base = at;
		at += self->io[i].iov_len;
	}
	return vtadev_caller_submit(self->caller, &(struct vtadev_request){
		.inputs = self->io, .outputs = self->io + self->inputs,
		.input_count = self->inputs, .output_count = self->count - self->inputs,
		.user_data = (uintptr_t)request });
}

static PyObject *pool_submit(PyObject *object, PyObject *args)
{
	PyObject *inputs, *job;
	struct request *request;
	struct pool *self;
	int err;

	if (!PyArg_ParseTuple(args, "O!O:submit", &PyTuple_Type, &inputs, &job))
		return NULL;
	self = pool_enter(object);
	request = self ? request_new(self, inputs, job) : NULL;
	if (!request)
		return NULL;
	/* Copying let other threads run: one of them may have closed it. */
	if (!pool_enter(object)) {
		request_drop(request);
		return NULL;
	}
	err = hand_over(self, request);
	if (err)
		request_drop(request);
	return err && err != -EAGAIN ? error_set(err, NULL) : PyBool_FromLong(!err);
}

/* Output @i, whose size may be behind it. */
static PyObject *output(const struct pool *self, unsigned int i, const uint8_t *from)
{
	const struct vtaimage_tensor *t = &self->tensors[i];
	struct vtaimage_tensor own = *t;

	if (i + 1 < self->count && t[1].role == VTAIMAGE_SIZE) {
		uint32_t *dim = &own.dims[t[1].zero];
		int64_t n;

		memcpy(&n, from + self->io[i].iov_len, sizeof(n));
		*dim = n < 0 ? 0 : n < *dim ? (uint32_t)n : *dim;
	}
	return tensor_get(&self->image->image.core, t, &own, from);
}

/* The outputs of a request that has succeeded. */
static PyObject *outputs(const struct pool *self, const struct request *request)
{
	PyObject *list = PyList_New(0), *tuple;
	const uint8_t *from = request->values;

	for (unsigned int i = 0; list && i < self->count; i++) {
		PyObject *array;

		if (self->tensors[i].role == VTAIMAGE_OUTPUT) {
			array = output(self, i, from);
			if (!array || PyList_Append(list, array))
				Py_CLEAR(list);
			Py_XDECREF(array);
		}
		from += self->io[i].iov_len;
	}
	tuple = list ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return tuple;
}

/* The exception that is set, as an object. */
static PyObject *take_exception(void)
{
	PyObject *type, *value, *trace;

	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	Py_XDECREF(type);
	Py_XDECREF(trace);
	return value;
}

/* (job, outputs or None, exception or None) */
static PyObject *result(const struct pool *self, const struct request *request,
			const struct vtadev_completion *done)
{
	PyObject *values = NULL, *exception = NULL;

	if (!done->result)
		values = outputs(self, request);
	else if (done->result == -EIO)
		error_set_fault(&done->fault);
	else
		error_set(done->result, NULL);
	if (!values)
		exception = take_exception();
	return Py_BuildValue("(ONN)", request->job, values ? values : Py_NewRef(Py_None),
			     exception ? exception : Py_NewRef(Py_None));
}

static PyObject *pool_reap(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct pool *self = pool_enter(object);
	PyObject *list = self ? PyList_New(0) : NULL;
	struct vtadev_completion done;

	/* Making outputs lets other threads run: one of them may close it. */
	while (list && self->caller && vtadev_caller_reap(self->caller, &done, 1) == 1) {
		struct request *request = (struct request *)(uintptr_t)done.user_data;
		PyObject *tuple;

		request_unlink(request);
		tuple = result(self, request, &done);
		if (!tuple || PyList_Append(list, tuple))
			Py_CLEAR(list);
		Py_XDECREF(tuple);
		request_free(request);
	}
	return list;
}

/* ---- State ---- */

static PyObject *stats_tuple(const struct vtadev_pool_stats *s)
{
	return Py_BuildValue("(sNsKKKKKIKK)", s->name, PyBool_FromLong(s->up), s->why,
			     (unsigned long long)s->answers, (unsigned long long)s->faults,
			     (unsigned long long)s->given_back, (unsigned long long)s->losses,
			     (unsigned long long)s->joins, s->in_hand,
			     (unsigned long long)s->cycles,
			     (unsigned long long)s->cycles_in_hand);
}

static PyObject *pool_stats(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct pool *self = pool_enter(object);
	PyObject *list = self ? PyList_New(0) : NULL;
	struct vtadev_pool_stats stats;

	for (unsigned int i = 0; list && !vtadev_pool_stats(self->pool, i, &stats); i++) {
		PyObject *tuple = stats_tuple(&stats);

		if (!tuple || PyList_Append(list, tuple))
			Py_CLEAR(list);
		Py_XDECREF(tuple);
	}
	return list;
}

static PyObject *pool_fd(PyObject *object, void *Py_UNUSED(closure))
{
	struct pool *self = pool_enter(object);

	return self ? PyLong_FromLong(vtadev_caller_fd(self->caller)) : NULL;
}

static PyMethodDef methods[] = {
	{ "submit", pool_submit, METH_VARARGS, "submit(inputs, job): False: there are too many." },
	{ "reap", pool_reap, METH_NOARGS, "What is done: a list of (job, outputs, exception)." },
	{ "stats", pool_stats, METH_NOARGS, "A tuple for each card." },
	{ "close", pool_close, METH_NOARGS, "Free the pool; runs that are not done are given up." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "fd", pool_fd, NULL, "Readable while there is something to reap.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "A program on several cards." },
	{ Py_tp_new, pool_new },
	{ Py_tp_dealloc, pool_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev._core.Pool",
	.basicsize = sizeof(struct pool),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int pool_init(PyObject *module)
{
	PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
	int ret = type ? PyModule_AddType(module, type) : -1;

	if (!ret)
		ret = PyModule_AddIntConstant(module, "POOL_DEPTH_MAX", VTADEV_POOL_DEPTH_MAX);
	Py_XDECREF((PyObject *)type);
	return ret;
}
