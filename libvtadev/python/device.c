// SPDX-License-Identifier: Apache-2.0
/* Open cards: a context each. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "core.h"

PyTypeObject *device_type;

int owner_check(pid_t owner)
{
	if (owner == getpid())
		return 0;
	PyErr_SetString(PyExc_RuntimeError,
			"the card was opened before fork(): open it again in this process");
	return -1;
}

struct vtadev *device_enter(struct device *device)
{
	if (device->closing) {
		PyErr_SetString(PyExc_ValueError, "the card is closed");
		return NULL;
	}
	if (owner_check(device->owner))
		return NULL;
	device->users++;
	return device->dev;
}

static void close_unused(struct device *device)
{
	struct vtadev *dev = device->dev;

	if (device->users || !dev)
		return;
	device->dev = NULL;
	Py_BEGIN_ALLOW_THREADS
	vtadev_close(dev);
	Py_END_ALLOW_THREADS
}

void device_leave(struct device *device)
{
	device->users--;
	if (device->closing)
		close_unused(device);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
	char text[VTADEV_OPEN_TEXT_MAX];
	const char *which = NULL;
	struct device *self;
	struct vtadev *dev;
	int err;

	if (!PyArg_ParseTuple(args, "|z:Device", &which))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	err = vtadev_open(which, &dev);
	if (err)
		vtadev_open_text(which, text, sizeof(text));
	Py_END_ALLOW_THREADS
	if (err)
		return error_set(err, text);
	self = (struct device *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self) {
		vtadev_close(dev);
		return NULL;
	}
	self->dev = dev;
	self->owner = getpid();
	return (PyObject *)self;
}

/* In a child process, too, which vtadev_close() allows. */
static PyObject *device_close(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct device *self = (struct device *)object;

	self->closing = true;
	/* The calls of threads that a child process does not have never leave. */
	if (self->owner != getpid())
		self->users = 0;
	close_unused(self);
	Py_RETURN_NONE;
}

static void device_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	vtadev_close(((struct device *)object)->dev);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *device_check(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct device *self = (struct device *)object;

	if (!device_enter(self))
		return NULL;
	device_leave(self);
	Py_RETURN_NONE;
}

static PyObject *card_tuple(const struct vtadev_card *card)
{
	if (card->index == UINT_MAX)
		return Py_BuildValue("(zsz)", NULL, card->node, *card->pci ? card->pci : NULL);
	return Py_BuildValue("(Isz)", card->index, card->node, *card->pci ? card->pci : NULL);
}

static PyObject *info_dict(const struct vtadev_info *i)
{
	return Py_BuildValue("{s:N,s:(II),s:K,s:K,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
			     "card", card_tuple(&i->card),
			     "contract", i->contract_major, i->contract_minor,
			     "serial", (unsigned long long)i->serial,
			     "mem_size", (unsigned long long)i->mem_size,
			     "queues", i->queues, "contexts", i->contexts,
			     "ring_entries_max", i->ring_entries_max,
			     "clock_khz", i->clock_khz, "batch", i->batch, "block", i->block,
			     "inp_bits", 1u << i->log_inp_width, "wgt_bits", 1u << i->log_wgt_width,
			     "acc_bits", 1u << i->log_acc_width);
}

static PyObject *device_info(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct device *self = (struct device *)object;
	struct vtadev *dev = device_enter(self);
	PyObject *info;

	if (!dev)
		return NULL;
	info = info_dict(vtadev_info(dev));
	device_leave(self);
	return info;
}

static PyObject *device_mem_free(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct device *self = (struct device *)object;
	struct vtadev *dev = device_enter(self);
	PyObject *result;
	uint64_t bytes = 0;
	int err;

	if (!dev)
		return NULL;
	err = vtadev_mem_free(dev, &bytes);
	result = err ? error_set_card(err, dev) : PyLong_FromUnsignedLongLong(bytes);
	device_leave(self);
	return result;
}

/* The bytes of a struct vtaops_core, for the compiler. */
static PyObject *device_core(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct device *self = (struct device *)object;
	struct vtadev *dev = device_enter(self);
	struct vtaops_core core;
	int err;

	if (!dev)
		return NULL;
	err = vtaprog_core(dev, &core);
	device_leave(self);
	return err ? error_set(err, NULL) :
		PyBytes_FromStringAndSize((char *)&core, sizeof(core));
}

static PyObject *list_cards(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct vtadev_card *found;
	PyObject *list;
	int all, count;

	if (!PyArg_ParseTuple(args, "p:cards", &all))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	count = all ? vtadev_list_all(&found) : vtadev_list(&found);
	Py_END_ALLOW_THREADS
	if (count < 0)
		return error_set(count, NULL);
	list = PyList_New(count);
	for (int i = 0; list && i < count; i++) {
		PyObject *card = card_tuple(&found[i]);

		if (!card || PyList_SetItem(list, i, card))
			Py_CLEAR(list);
	}
	vtadev_list_free(found);
	return list;
}

static PyMethodDef methods[] = {
	{ "close", device_close, METH_NOARGS, "Close the card." },
	{ "check", device_check, METH_NOARGS, "Raise if closed, or opened before fork()." },
	{ "info", device_info, METH_NOARGS, "What the card is, as a dict." },
	{ "core", device_core, METH_NOARGS, "The configuration, for the compiler." },
	{ "mem_free", device_mem_free, METH_NOARGS, "Free bytes of card memory." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "An open card." },
	{ Py_tp_new, device_new },
	{ Py_tp_dealloc, device_dealloc },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev._core.Device",
	.basicsize = sizeof(struct device),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyMethodDef functions[] = {
	{ "cards", list_cards, METH_VARARGS, "cards(all): a list of (index, node, pci)." },
	{ NULL, NULL, 0, NULL },
};

int device_init(PyObject *module)
{
	device_type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!device_type || PyModule_AddType(module, device_type))
		return -1;
	return PyModule_AddFunctions(module, functions);
}
