// SPDX-License-Identifier: Apache-2.0
/*
 * A place for runs of a program: a queue, memory for tensors, at most one run in progress. The
 * first has the weights, which its twins share. One thread is in a slot at a time. Only the slot
 * knows whether it is in use, so an exception of a signal's handler, wherever it comes, loses no
 * slot. A slot keeps its card open.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "core.h"

/* Interval at which a wait checks for signals, and whether the slot was closed. */
#define SLICE_NS	50000000ll

static PyTypeObject *slot_type;

struct slot {
	PyObject_HEAD
	struct device *device;		/* NULL: no slot yet; entered */
	struct slot *first;		/* whose weights this one has; NULL: its own */
	unsigned int users;		/* of the program: this slot's queue, and twins */
	struct vtadev_queue *queue;
	struct vtaprog *prog;
	struct vtaops_core core;
	PyObject *job;			/* argument of begin(); NULL: no run, or one given up */
	pid_t owner;
	bool busy;			/* a thread is in a call that releases the GIL */
	bool running;			/* a run was begun, and has not been seen to end */
	bool closing;			/* freed as soon as it is not busy */
};

static struct slot *slot_enter(PyObject *object)
{
	struct slot *self = (struct slot *)object;

	if (self->closing) {
		PyErr_SetString(PyExc_ValueError, "the program is closed");
		return NULL;
	}
	if (owner_check(self->owner))
		return NULL;
	if (self->busy) {
		PyErr_SetString(PyExc_RuntimeError, "another thread uses this run of the program");
		return NULL;
	}
	self->busy = true;
	return self;
}

/* A thread is in a call, or a run is under way that poll() will end. */
static bool in_use(const struct slot *self)
{
	return (self->busy || self->job) && !self->closing;
}

/* One user less; the last one frees the program. */
static void put_user(struct slot *self)
{
	struct vtaprog *prog = self->prog;
	struct slot *first = self->first;

	if (--self->users)
		return;
	self->prog = NULL;
	self->first = NULL;
	Py_BEGIN_ALLOW_THREADS
	vtaprog_free(prog);
	Py_END_ALLOW_THREADS
	device_leave(self->device);
	if (first) {
		put_user(first);
		Py_DECREF((PyObject *)first);
	}
}

/* Frees what the card has. A child process must leave its parent's alone. */
static void release(struct slot *self)
{
	struct vtadev_queue *queue = self->queue;

	self->queue = NULL;
	Py_CLEAR(self->job);
	if (self->owner != getpid() || !queue)
		return;
	Py_BEGIN_ALLOW_THREADS
	vtadev_queue_destroy(queue);
	Py_END_ALLOW_THREADS
	put_user(self);
}

static void slot_leave(struct slot *self)
{
	self->busy = false;
	if (self->closing)
		release(self);
}

/* ---- Loading ---- */

/* Makes the queue and the program; on error there is neither. */
static int load_program(struct slot *self, struct vtadev *dev, const struct vtaimage *image,
			int event, char *why)
{
	const struct vtadev_queue_opts opts = { .ring_entries = vtaprog_ring(dev, image) };
	int err = vtadev_queue_create(dev, &opts, &self->queue);

	*why = '\0';
	if (err)
		return err;
	err = vtadev_queue_eventfd(self->queue, event);
	if (!err && self->first)
		err = vtaprog_twin(dev, self->queue, self->first->prog, image, &self->prog, why);
	else if (!err)
		err = vtaprog_load(dev, self->queue, image, &self->prog, why);
	if (err) {
		vtadev_queue_destroy(self->queue);
		self->queue = NULL;
	}
	return err;
}

static PyObject *load_error(int err, struct vtadev *dev, const char *why)
{
	if (err == -EINVAL || err == -ENOEXEC) {
		PyErr_SetString(PyExc_ValueError, *why ? why : vtadev_strerror(err));
		return NULL;
	}
	return err == -ENODEV ? error_set_card(err, dev) : error_set(err, why);
}

/* The slot for an image; NULL and an exception. */
static PyObject *slot_load(struct slot *self, const struct vtaimage *image, int event)
{
	struct vtadev *dev = self->device->dev;
	char why[VTAPROG_WHY_MAX];
	int err;

	self->core = image->core;
	Py_BEGIN_ALLOW_THREADS
	err = load_program(self, dev, image, event, why);
	Py_END_ALLOW_THREADS
	if (err)
		return load_error(err, dev, why);
	self->users = 1;
	return (PyObject *)self;
}

/* The same for a slot with the weights of @first, which stay until put_user(). */
static PyObject *slot_load_twin(struct slot *self, struct slot *first,
				const struct vtaimage *image, int event)
{
	if (first->first)
		first = first->first;
	if (first->closing || first->device != self->device) {
		PyErr_SetString(PyExc_ValueError,
				"the first slot is closed, or another card's");
		return NULL;
	}
	first->users++;
	self->first = (struct slot *)Py_NewRef((PyObject *)first);
	if (slot_load(self, image, event))
		return (PyObject *)self;
	put_user(first);
	return NULL;
}

/* Slot(device, image, eventfd[, first]) */
static PyObject *slot_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
	struct slot *self, *first = NULL;
	struct device *device;
	struct image *image;
	int event;

	if (!PyArg_ParseTuple(args, "O!O!i|O!:Slot", device_type, &device, image_type, &image,
			      &event, slot_type, &first))
		return NULL;
	self = (struct slot *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (self) {
		self->owner = getpid();
		if (device_enter(device)) {
			self->device = device;
			Py_INCREF((PyObject *)device);
			if (!(first ? slot_load_twin(self, first, &image->image, event) :
				      slot_load(self, &image->image, event))) {
				device_leave(device);
				Py_CLEAR(self);
			}
		} else {
			Py_CLEAR(self);
		}
	}
	return (PyObject *)self;
}

static void slot_dealloc(PyObject *object)
{
	struct slot *self = (struct slot *)object;
	PyTypeObject *type = Py_TYPE(object);

	release(self);
	Py_XDECREF((PyObject *)self->first);
	Py_XDECREF((PyObject *)self->device);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *slot_close(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct slot *self = (struct slot *)object;

	self->closing = true;
	if (!self->busy)
		release(self);
	Py_RETURN_NONE;
}

/* threads(n): that compute a large step of the CPU */
static PyObject *slot_threads(PyObject *object, PyObject *args)
{
	struct slot *self = (struct slot *)object;
	unsigned int threads;
	int err;

	if (!PyArg_ParseTuple(args, "I:threads", &threads) || owner_check(self->owner))
		return NULL;
	err = self->busy || !self->prog ? -EBUSY : vtaprog_threads(self->prog, threads);
	if (!err)
		Py_RETURN_NONE;
	return error_set(err, err == -EINVAL ? "threads is 0 to 64" : "the threads");
}

/* ---- Running ---- */

/* The exception for a run that failed; the queue takes the next one. */
static PyObject *fail(struct slot *self, int err)
{
	struct vtadev_fault fault;
	int unknown = -1;

	if (err == -EIO) {
		Py_BEGIN_ALLOW_THREADS
		unknown = vtadev_fault(self->queue, &fault);
		vtadev_recover(self->queue);
		Py_END_ALLOW_THREADS
	}
	return unknown ? error_set_card(err, self->device->dev) : error_set_fault(&fault);
}

/*
 * Waits for the run, until @deadline if it is not negative. -EINTR: a signal's handler, or
 * closing, has set an exception; the run continues, as after -ETIMEDOUT.
 */
static int wait_run(struct slot *self, int64_t deadline)
{
	for (;;) {
		int64_t left = deadline < 0 ? SLICE_NS : deadline - clock_ns();
		int err;

		left = left < 0 ? 0 : left;
		Py_BEGIN_ALLOW_THREADS
		err = vtaprog_end(self->prog, left < SLICE_NS ? left : SLICE_NS);
		Py_END_ALLOW_THREADS
		if (err != -ETIMEDOUT && err != -EINTR) {
			self->running = false;
			return err;
		}
		if (PyErr_CheckSignals())
			return -EINTR;
		if (self->closing) {
			PyErr_SetString(PyExc_ValueError, "the program was closed");
			return -EINTR;
		}
		if (deadline >= 0 && clock_ns() >= deadline)
			return -ETIMEDOUT;
	}
}

static int put_inputs(struct slot *self, PyObject *inputs)
{
	Py_ssize_t given = PyTuple_Size(inputs), taken = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(self->prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(self->prog, i);
		void *to;

		if (t->role != VTAIMAGE_INPUT || vtaprog_map(self->prog, i, &to))
			continue;
		if (taken < given &&
		    tensor_put(&self->core, t, to, PyTuple_GetItem(inputs, taken)))
			return -1;
		taken++;
	}
	if (taken == given)
		return 0;
	PyErr_Format(PyExc_TypeError, "the program takes %zd inputs, not %zd", taken, given);
	return -1;
}

/* -ETIMEDOUT: the run continues. */
static int poll_run(struct slot *self)
{
	int err;

	Py_BEGIN_ALLOW_THREADS
	err = vtaprog_poll(self->prog);
	Py_END_ALLOW_THREADS
	self->running = err == -ETIMEDOUT;
	return err;
}

/* Returns true if an abandoned run is still in progress. Its result is ignored. */
static bool abandoned(struct slot *self)
{
	int err = 0;

	if (self->running)
		err = poll_run(self);
	if (err == -EIO) {
		Py_BEGIN_ALLOW_THREADS
		vtadev_recover(self->queue);
		Py_END_ALLOW_THREADS
	}
	return self->running;
}

static int begin_run(struct slot *self, PyObject *inputs)
{
	int err;

	if (put_inputs(self, inputs))
		return -1;
	Py_BEGIN_ALLOW_THREADS
	err = vtaprog_begin(self->prog);
	Py_END_ALLOW_THREADS
	if (err) {
		fail(self, err);
		return -1;
	}
	self->running = true;
	return 0;
}

static PyObject *slot_begin(PyObject *object, PyObject *args)
{
	struct slot *self;
	PyObject *inputs, *job, *ret = NULL;

	if (!PyArg_ParseTuple(args, "O!O:begin", &PyTuple_Type, &inputs, &job))
		return NULL;
	if (in_use((struct slot *)object))
		Py_RETURN_FALSE;
	self = slot_enter(object);
	if (!self)
		return NULL;
	if (abandoned(self)) {
		ret = Py_NewRef(Py_False);
	} else if (!begin_run(self, inputs)) {
		self->job = Py_NewRef(job);
		ret = Py_NewRef(Py_True);
	}
	slot_leave(self);
	return ret;
}

static PyObject *outputs(struct slot *self)
{
	PyObject *list = PyList_New(0), *tuple;

	for (uint32_t i = 0; list && i < vtaprog_tensors(self->prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(self->prog, i);
		struct vtaimage_tensor own = *t;
		PyObject *array;
		uint32_t dim;
		int64_t size;
		void *from;

		if (t->role != VTAIMAGE_OUTPUT || vtaprog_map(self->prog, i, &from))
			continue;
		size = vtaprog_size(self->prog, i, &dim);
		if (size >= 0)
			own.dims[dim] = (uint32_t)size;
		array = tensor_get(&self->core, t, &own, from);
		if (!array || PyList_Append(list, array))
			Py_CLEAR(list);
		Py_XDECREF(array);
	}
	tuple = list ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return tuple;
}

/* The outputs, or the exception for how the run ended. */
static PyObject *finish(struct slot *self, int err)
{
	PyObject *values;

	if (err == -EINTR)
		return NULL;
	if (err == -ETIMEDOUT)
		return error_set(err, "the run is not done; it continues");
	values = err ? NULL : outputs(self);
	if (values)
		err = vtaprog_check(self->prog);
	if (err)
		Py_CLEAR(values);
	return err ? fail(self, err) : values;
}

static PyObject *run(struct slot *self, PyObject *inputs, double timeout)
{
	int64_t deadline = -1;

	if (begin_run(self, inputs))
		return NULL;
	if (timeout >= 0 && timeout < 1e9)
		deadline = clock_ns() + (int64_t)(timeout * 1e9);
	return finish(self, wait_run(self, deadline));
}

static PyObject *slot_run(PyObject *object, PyObject *args)
{
	PyObject *inputs, *ret;
	struct slot *self;
	double timeout;

	if (!PyArg_ParseTuple(args, "O!d:run", &PyTuple_Type, &inputs, &timeout))
		return NULL;
	if (in_use((struct slot *)object))
		Py_RETURN_NONE;
	self = slot_enter(object);
	if (!self)
		return NULL;
	if (abandoned(self))
		ret = Py_NewRef(Py_None);
	else
		ret = run(self, inputs, timeout);
	slot_leave(self);
	return ret;
}

static PyObject *slot_poll(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct slot *self = (struct slot *)object;
	PyObject *ret = NULL;
	int err;

	if (self->busy || !self->job)
		Py_RETURN_NONE;
	self = slot_enter(object);
	if (!self)
		return NULL;
	err = poll_run(self);
	if (err == -ETIMEDOUT) {
		ret = Py_NewRef(Py_None);
	} else {
		ret = finish(self, err);
		Py_CLEAR(self->job);
	}
	slot_leave(self);
	return ret;
}

static PyObject *slot_busy(PyObject *object, void *Py_UNUSED(closure))
{
	return PyBool_FromLong(((struct slot *)object)->busy);
}

static PyObject *slot_job(PyObject *object, void *Py_UNUSED(closure))
{
	PyObject *job = ((struct slot *)object)->job;

	return Py_NewRef(job ? job : Py_None);
}

static PyMethodDef methods[] = {
	{ "run", slot_run, METH_VARARGS, "run(inputs, seconds): the outputs of a run; None: the "
	  "slot is in use. Seconds of -1: any time." },
	{ "begin", slot_begin, METH_VARARGS, "begin(inputs, job): start a run; False: the slot is "
	  "in use. If by a run that was given up, an event will come." },
	{ "poll", slot_poll, METH_NOARGS, "The outputs of a run that is done; None: it is not, "
	  "and an event will come." },
	{ "threads", slot_threads, METH_VARARGS, "threads(n): that compute a step of the CPU." },
	{ "close", slot_close, METH_NOARGS, "Free it; a run under way is given up." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "busy", slot_busy, NULL, "Whether a thread is in a call.", NULL },
	{ "job", slot_job, NULL, "What begin_run() was given for this run, or None.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "A place for runs of a program; a twin shares the weights of another." },
	{ Py_tp_new, slot_new },
	{ Py_tp_dealloc, slot_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev._core.Slot",
	.basicsize = sizeof(struct slot),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int slot_init(PyObject *module)
{
	slot_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return slot_type ? PyModule_AddType(module, slot_type) : -1;
}
