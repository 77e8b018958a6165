// SPDX-License-Identifier: Apache-2.0
/* Program images, checked once for all slots and pools that load them. */
#include "core.h"

PyTypeObject *image_type;

/* Image(bytes) */
static PyObject *image_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
	struct image *self;
	Py_ssize_t size;
	PyObject *bytes;
	char *data;
	int err;

	if (!PyArg_ParseTuple(args, "S:Image", &bytes) ||
	    PyBytes_AsStringAndSize(bytes, &data, &size))
		return NULL;
	self = (struct image *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self)
		return NULL;
	self->bytes = Py_NewRef(bytes);
	Py_BEGIN_ALLOW_THREADS
	err = vtaimage_open(&self->image, data, (size_t)size);
	Py_END_ALLOW_THREADS
	if (err) {
		PyErr_SetString(PyExc_ValueError, self->image.why);
		Py_CLEAR(self);
	}
	return (PyObject *)self;
}

/* variant(i): the image of a variant */
static PyObject *image_variant(PyObject *object, PyObject *args)
{
	struct image *self = (struct image *)object, *variant;
	PyTypeObject *type = Py_TYPE(object);
	unsigned int i;

	if (!PyArg_ParseTuple(args, "I:variant", &i))
		return NULL;
	variant = (struct image *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!variant)
		return NULL;
	variant->bytes = Py_NewRef(self->bytes);
	if (vtaimage_variant(&self->image, i, &variant->image)) {
		PyErr_Format(PyExc_ValueError, "the program has variants 0 to %u",
			     vtaimage_variants(&self->image) - 1);
		Py_CLEAR(variant);
	}
	return (PyObject *)variant;
}

static PyObject *image_variants(PyObject *object, void *Py_UNUSED(closure))
{
	return PyLong_FromUnsignedLong(vtaimage_variants(&((struct image *)object)->image));
}

static void image_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	Py_XDECREF(((struct image *)object)->bytes);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* tensors(output): descriptions of the inputs, or outputs */
static PyObject *image_tensors(PyObject *object, PyObject *args)
{
	const struct vtaimage *image = &((struct image *)object)->image;
	PyObject *list = NULL, *tensor;
	struct vtaimage_tensor t;
	int output;

	if (PyArg_ParseTuple(args, "p:tensors", &output))
		list = PyList_New(0);
	for (uint32_t i = 0; list && i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role != (output ? VTAIMAGE_OUTPUT : VTAIMAGE_INPUT))
			continue;
		tensor = tensor_describe(&t);
		if (!tensor || PyList_Append(list, tensor))
			Py_CLEAR(list);
		Py_XDECREF(tensor);
	}
	return list;
}

static PyObject *image_name(PyObject *object, void *Py_UNUSED(closure))
{
	return PyUnicode_FromString(((struct image *)object)->image.name);
}

static PyObject *image_cycles(PyObject *object, void *Py_UNUSED(closure))
{
	return PyLong_FromUnsignedLongLong(((struct image *)object)->image.cycles);
}

static PyObject *image_bytes(PyObject *object, void *Py_UNUSED(closure))
{
	return Py_NewRef(((struct image *)object)->bytes);
}

static PyObject *text_of(PyObject *object, enum vtaimage_text which)
{
	const struct vtaimage_chars *text = &((struct image *)object)->image.text[which];

	return PyUnicode_FromStringAndSize(text->text, (Py_ssize_t)text->bytes);
}

static PyObject *image_labels(PyObject *object, void *Py_UNUSED(closure))
{
	return text_of(object, VTAIMAGE_LABELS);
}

static PyObject *image_report(PyObject *object, void *Py_UNUSED(closure))
{
	return text_of(object, VTAIMAGE_REPORT_JSON);
}

/* steps(): (kind, stream, instructions of the stream) of each step */
static PyObject *image_steps(PyObject *object, PyObject *Py_UNUSED(none))
{
	const struct vtaimage *image = &((struct image *)object)->image;
	PyObject *list = PyList_New(0);

	for (uint32_t i = 0; list && i < image->step_count; i++) {
		struct vtaimage_stream stream = { .insn_count = 0 };
		struct vtaimage_step step;
		PyObject *tuple;

		vtaimage_step(image, i, &step);
		if (step.kind == VTAIMAGE_RUN)
			vtaimage_stream(image, step.stream, &stream);
		tuple = Py_BuildValue("(sII)", step.kind == VTAIMAGE_RUN ? "card" :
				      step.kind == VTAIMAGE_CPU ? "cpu" : "copy",
				      step.kind == VTAIMAGE_RUN ? step.stream : 0,
				      stream.insn_count);
		if (!tuple || PyList_Append(list, tuple))
			Py_CLEAR(list);
		Py_XDECREF(tuple);
	}
	return list;
}

static PyMethodDef methods[] = {
	{ "variant", image_variant, METH_VARARGS, "variant(i): the image of a variant." },
	{ "steps", image_steps, METH_NOARGS, "steps(): what each step is." },
	{ "tensors", image_tensors, METH_VARARGS, "tensors(output): the inputs, or outputs." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "name", image_name, NULL, "Name of the program.", NULL },
	{ "cycles", image_cycles, NULL, "Cycles of a run by the card's model.", NULL },
	{ "variants", image_variants, NULL, "Number of variants.", NULL },
	{ "bytes", image_bytes, NULL, "The image.", NULL },
	{ "report", image_report, NULL, "The compiler's report, JSON or nothing.", NULL },
	{ "labels", image_labels, NULL, "Names of the classes, a line each.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "An opened program image." },
	{ Py_tp_new, image_new },
	{ Py_tp_dealloc, image_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev._core.Image",
	.basicsize = sizeof(struct image),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int image_init(PyObject *module)
{
	image_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return image_type ? PyModule_AddType(module, image_type) : -1;
}
