// SPDX-License-Identifier: Apache-2.0
/* Errors of the library as exceptions. */
#include <errno.h>
#include <string.h>

#include "core.h"
#include "vta_faults.h"

static PyObject *error_type, *fault_type, *lost_type;

/* A member of an enumeration. */
struct name {
	const char *name;
	int value;
};

#define REASON(n, word, text)	{ #n, VTA_FAULT_##n },
static const struct name reasons[] = {
	VTA_CARD_FAULTS(REASON) VTA_DRIVER_FAULTS(REASON) { NULL, 0 },
};

#define ACCESS(n, word, text)	{ #n, VTA_ACCESS_##n },
static const struct name accesses[] = {
	VTA_ACCESSES(ACCESS) { NULL, 0 },
};

#define FATE(n, word, text)	{ #n, VTA_FATE_##n },
static const struct name fates[] = {
	VTA_FATES(FATE) { NULL, 0 },
};

#define CAUSE(n, word, text)	{ #n, VTA_CAUSE_##n },
static const struct name causes[] = {
	VTA_CAUSES(CAUSE) { NULL, 0 },
};

static PyObject *names_dict(const struct name *names)
{
	PyObject *dict = PyDict_New();

	for (; dict && names->name; names++) {
		PyObject *value = PyLong_FromLong(names->value);

		if (!value || PyDict_SetItemString(dict, names->name, value))
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

/* Add an IntEnum of the package. */
static int add_enum(PyObject *module, const char *name, const struct name *names)
{
	PyObject *enums = PyImport_ImportModule("enum");
	PyObject *base = enums ? PyObject_GetAttrString(enums, "IntEnum") : NULL;
	PyObject *args = base ? Py_BuildValue("(sN)", name, names_dict(names)) : NULL;
	PyObject *options = args ? Py_BuildValue("{s:s}", "module", "vtadev") : NULL;
	PyObject *type = options ? PyObject_Call(base, args, options) : NULL;
	int ret = type ? PyModule_AddObjectRef(module, name, type) : -1;

	Py_XDECREF(type);
	Py_XDECREF(options);
	Py_XDECREF(args);
	Py_XDECREF(base);
	Py_XDECREF(enums);
	return ret;
}

static const char error_doc[] =
	"A card, device or program could not do what was asked: errno, and why.";
static const char fault_doc[] =
	"The card halted a run. The program can be run again.\n\n"
	"reason, access, seq, addr, insn_index (None: no instruction), insn (four words),\n"
	"queue and time (nanoseconds of card time) are the fault record.";
static const char lost_doc[] =
	"The card was reset or is gone: close everything and open it again.\n\n"
	"fate is what became of the card, cause what took it away.";

static PyObject *new_type(PyObject *module, const char *name, const char *doc, PyObject *base)
{
	PyObject *type = PyErr_NewExceptionWithDoc(name, doc, base, NULL);

	if (type && PyModule_AddObjectRef(module, strchr(name, '.') + 1, type))
		Py_CLEAR(type);
	return type;
}

int error_init(PyObject *module)
{
	error_type = new_type(module, "vtadev.Error", error_doc, PyExc_OSError);
	if (!error_type)
		return -1;
	fault_type = new_type(module, "vtadev.Fault", fault_doc, error_type);
	lost_type = new_type(module, "vtadev.Lost", lost_doc, error_type);
	if (!fault_type || !lost_type)
		return -1;
	return add_enum(module, "Reason", reasons) || add_enum(module, "Access", accesses) ||
	       add_enum(module, "Fate", fates) || add_enum(module, "Cause", causes) ? -1 : 0;
}

/* An instance of an exception's type; OSError's arguments are errno and text. */
static PyObject *make_error(PyObject *type, int err, const char *text)
{
	return PyObject_CallFunction(type, "is", -err, text);
}

/* Sets an attribute to @value, whose reference it takes. */
static bool attribute(PyObject *object, const char *name, PyObject *value)
{
	bool ok = value && !PyObject_SetAttrString(object, name, value);

	Py_XDECREF(value);
	return ok;
}

/* Raises @exception, whose reference it takes, if @complete. */
static PyObject *raise(PyObject *exception, bool complete)
{
	if (complete)
		PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
	Py_XDECREF(exception);
	return NULL;
}

PyObject *error_set(int err, const char *text)
{
	PyObject *exception;

	if (err == -ENOMEM && !text)
		return PyErr_NoMemory();
	text = text && *text ? text : vtadev_strerror(err);
	if (err == -ETIMEDOUT) {
		PyErr_SetString(PyExc_TimeoutError, text);
		return NULL;
	}
	exception = make_error(error_type, err, text);
	return raise(exception, exception);
}

PyObject *error_set_card(int err, struct vtadev *dev)
{
	char text[VTADEV_LOST_TEXT_MAX];
	struct vtadev_lost lost;
	PyObject *exception;
	int unknown = -1;

	if (err == -ENODEV && dev) {
		Py_BEGIN_ALLOW_THREADS
		unknown = vtadev_lost(dev, &lost);
		Py_END_ALLOW_THREADS
	}
	if (unknown)
		return error_set(err, NULL);
	vtadev_lost_text(&lost, text, sizeof(text));
	exception = make_error(lost_type, err, text);
	return raise(exception, exception &&
		     attribute(exception, "fate", PyLong_FromLong(lost.fate)) &&
		     attribute(exception, "cause", PyLong_FromLong(lost.cause)));
}

PyObject *error_set_fault(const struct vtadev_fault *fault)
{
	char text[VTADEV_FAULT_TEXT_MAX];
	PyObject *e;

	vtadev_fault_text(fault, text, sizeof(text));
	e = make_error(fault_type, -EIO, text);
	return raise(e, e && attribute(e, "reason", PyLong_FromLong(fault->reason)) &&
		     attribute(e, "access", PyLong_FromLong(fault->access)) &&
		     attribute(e, "seq", PyLong_FromUnsignedLongLong(fault->seq)) &&
		     attribute(e, "addr", PyLong_FromUnsignedLong(fault->addr)) &&
		     attribute(e, "insn_index", fault->insn_index == VTA_FAULT_NO_INSN ?
			       Py_NewRef(Py_None) : PyLong_FromUnsignedLong(fault->insn_index)) &&
		     attribute(e, "insn", Py_BuildValue("(IIII)", fault->insn[0], fault->insn[1],
							fault->insn[2], fault->insn[3])) &&
		     attribute(e, "queue", PyLong_FromUnsignedLong(fault->queue)) &&
		     attribute(e, "time", PyLong_FromUnsignedLongLong(fault->time)));
}
