// SPDX-License-Identifier: Apache-2.0
/* Arrays: values with a shape, which buffers are made of without a copy. */
#include <stddef.h>

#include "core.h"

PyTypeObject *array_type;

/* One string: Python's cache of methods keeps every one that it is asked with. */
static PyObject *tolist_name;

struct array *array_alloc(void)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(array_type, Py_tp_alloc);
	struct array *self = (struct array *)alloc(array_type, 0);

	if (self)
		self->name = Py_NewRef(Py_None);
	return self;
}

static Py_ssize_t bytes_of(const struct array *array)
{
	Py_ssize_t bytes = array->itemsize;

	for (int i = 0; i < array->rank; i++)
		bytes *= array->shape[i];
	return bytes;
}

struct array *array_new(const char *format, Py_ssize_t itemsize, int rank,
			const Py_ssize_t *shape)
{
	struct array *self = array_alloc();
	Py_ssize_t bytes = itemsize;

	if (!self)
		return NULL;
	self->format[0] = *format;
	self->itemsize = itemsize;
	self->rank = rank;
	for (int i = rank - 1; i >= 0; i--) {
		self->shape[i] = shape[i];
		self->strides[i] = bytes;
		bytes *= shape[i];
	}
	self->owned = PyMem_Malloc((size_t)bytes);
	self->data = self->owned;
	if (self->owned)
		return self;
	Py_DECREF(self);
	return (struct array *)PyErr_NoMemory();
}

static void array_dealloc(PyObject *object)
{
	struct array *self = (struct array *)object;
	PyTypeObject *type = Py_TYPE(object);

	if (self->managed)
		dlpack_release(self->managed);
	PyMem_Free(self->owned);
	Py_XDECREF(self->name);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* The order without gaps that a view with these flags needs: PyBuffer_IsContiguous()'s; 0: none. */
static char order_of(int flags)
{
	if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
		return 'F';
	if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)
		return 'A';
	/* A view without shape or strides has values in C's order. */
	if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
	    (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
		return 'C';
	return 0;
}

static int array_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
	struct array *self = (struct array *)object;
	char order = order_of(flags);

	*view = (Py_buffer) {
		.buf = self->data, .len = bytes_of(self), .itemsize = self->itemsize,
		.readonly = self->readonly, .ndim = self->rank,
		.format = flags & PyBUF_FORMAT ? self->format : NULL,
		.shape = self->shape, .strides = self->strides,
	};
	if (self->readonly && (flags & PyBUF_WRITABLE)) {
		PyErr_SetString(PyExc_BufferError, "the array is read-only");
		return -1;
	}
	if (order && !PyBuffer_IsContiguous(view, order)) {
		PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
		return -1;
	}
	if (!(flags & PyBUF_ND))
		view->shape = NULL;
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
		view->strides = NULL;
	view->obj = Py_NewRef(object);
	return 0;
}

static PyObject *array_shape(PyObject *object, void *Py_UNUSED(closure))
{
	struct array *self = (struct array *)object;
	PyObject *shape = PyTuple_New(self->rank);

	for (int i = 0; shape && i < self->rank; i++) {
		PyObject *size = PyLong_FromSsize_t(self->shape[i]);

		if (!size || PyTuple_SetItem(shape, i, size))
			Py_CLEAR(shape);
	}
	return shape;
}

static PyObject *array_format(PyObject *object, void *Py_UNUSED(closure))
{
	return PyUnicode_FromString(((struct array *)object)->format);
}

static PyObject *array_nbytes(PyObject *object, void *Py_UNUSED(closure))
{
	return PyLong_FromSsize_t(bytes_of((struct array *)object));
}

static PyObject *array_name(PyObject *object, void *Py_UNUSED(closure))
{
	return Py_NewRef(((struct array *)object)->name);
}

static PyObject *array_scale(PyObject *object, void *Py_UNUSED(closure))
{
	return PyFloat_FromDouble(((struct array *)object)->scale);
}

static PyObject *array_zero(PyObject *object, void *Py_UNUSED(closure))
{
	return PyLong_FromLong(((struct array *)object)->zero);
}

static PyObject *array_tolist(PyObject *object, PyObject *Py_UNUSED(none))
{
	PyObject *view = PyMemoryView_FromObject(object);
	PyObject *method = view ? PyObject_GetAttr(view, tolist_name) : NULL;
	PyObject *list = method ? PyObject_CallNoArgs(method) : NULL;

	Py_XDECREF(method);
	Py_XDECREF(view);
	return list;
}

static Py_ssize_t array_length(PyObject *object)
{
	struct array *self = (struct array *)object;

	if (self->rank)
		return self->shape[0];
	PyErr_SetString(PyExc_TypeError, "an array without dimensions has no length");
	return -1;
}

/* As of a memoryview: one value, or, by a slice, a view of a part. */
static PyObject *array_subscript(PyObject *object, PyObject *key)
{
	PyObject *view = PyMemoryView_FromObject(object);
	PyObject *item = view ? PyObject_GetItem(view, key) : NULL;

	Py_XDECREF(view);
	return item;
}

static PyObject *array_repr(PyObject *object)
{
	struct array *self = (struct array *)object;
	PyObject *shape = array_shape(object, NULL);
	PyObject *repr = shape ? PyUnicode_FromFormat("<vtadev.Array %S shape=%R format='%s'>",
						      self->name, shape, self->format) : NULL;

	Py_XDECREF(shape);
	return repr;
}

/* Array(format, shape): zeros, for results to be put together in. */
static PyObject *array_make(PyTypeObject *Py_UNUSED(type), PyObject *args,
			    PyObject *Py_UNUSED(keywords))
{
	Py_ssize_t shape[ARRAY_RANK_MAX], itemsize, rank, bytes;
	struct array *self;
	const char *format;
	PyObject *sizes;

	if (!PyArg_ParseTuple(args, "sO!:Array", &format, &PyTuple_Type, &sizes))
		return NULL;
	rank = PyTuple_Size(sizes);
	itemsize = strlen(format) == 1 && strchr("bBhHiIlLqQnNefd?", *format) ?
		   PyBuffer_SizeFromFormat(format) : -1;
	bytes = itemsize;
	for (Py_ssize_t i = 0; i < rank && rank <= ARRAY_RANK_MAX && bytes > 0; i++) {
		shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(sizes, i));
		bytes = shape[i] > 0 && shape[i] <= PY_SSIZE_T_MAX / bytes ? bytes * shape[i] : -1;
	}
	if (rank > ARRAY_RANK_MAX || bytes <= 0) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "a format or shape that cannot be");
		return NULL;
	}
	self = array_new(format, itemsize, (int)rank, shape);
	if (self)
		memset(self->data, 0, (size_t)bytes);
	return (PyObject *)self;
}

static PyMethodDef methods[] = {
	{ "tolist", array_tolist, METH_NOARGS, "The values as nested lists." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "shape", array_shape, NULL, "The size of each dimension.", NULL },
	{ "format", array_format, NULL, "The type of a value, as in the module struct.", NULL },
	{ "nbytes", array_nbytes, NULL, "Bytes of all values.", NULL },
	{ "name", array_name, NULL, "The tensor's name, or None.", NULL },
	{ "scale", array_scale, NULL, "A value stands for scale * (value - zero); "
				      "0: the program does not tell.", NULL },
	{ "zero", array_zero, NULL, "See scale.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Values with a shape: numpy.asarray() and memoryview() take them "
		     "without a copy." },
	{ Py_tp_new, array_make },
	{ Py_tp_dealloc, array_dealloc },
	{ Py_tp_repr, array_repr },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ Py_mp_length, array_length },
	{ Py_mp_subscript, array_subscript },
	{ Py_bf_getbuffer, array_getbuffer },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev.Array",
	.basicsize = sizeof(struct array),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int array_init(PyObject *module)
{
	array_type = (PyTypeObject *)PyType_FromSpec(&spec);
	tolist_name = PyUnicode_InternFromString("tolist");
	return array_type && tolist_name ? PyModule_AddType(module, array_type) : -1;
}
