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
	Py_XDECREF(self->base);
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

static PyObject *array_dtype(PyObject *object, void *Py_UNUSED(closure))
{
	static const struct {
		char kind;
		const char *name;
	} names[] = { { 'i', "int" }, { 'u', "uint" }, { 'f', "float" } };
	struct array *self = (struct array *)object;
	const char kind = tensor_kind(self->format);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].kind == kind)
			return PyUnicode_FromFormat("%s%zd", names[i].name, 8 * self->itemsize);
	return PyUnicode_FromString("bool");
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

struct array *array_copy(struct array *array)
{
	struct array *copy = array_new(array->format, array->itemsize, array->rank, array->shape);
	Py_buffer view;

	if (!copy || array_getbuffer((PyObject *)array, &view, PyBUF_FULL_RO))
		goto err;
	if (PyBuffer_ToContiguous(copy->data, &view, view.len, 'C')) {
		PyBuffer_Release(&view);
		goto err;
	}
	PyBuffer_Release(&view);
	return copy;
err:
	Py_XDECREF((PyObject *)copy);
	return NULL;
}

/* ---- Parts of an array ---- */

/* Adds dimension @i of @self to @part, as @key takes it: all, some, or one of its values. */
static int take_dimension(struct array *part, const struct array *self, int i, PyObject *key)
{
	Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX, step = 1, count = self->shape[i];

	if (key && PyIndex_Check(key)) {
		start = PyNumber_AsSsize_t(key, PyExc_IndexError);
		if (start == -1 && PyErr_Occurred())
			return -1;
		start += start < 0 ? count : 0;
		if (start < 0 || start >= count) {
			PyErr_Format(PyExc_IndexError, "%R of a dimension of %zd", key, count);
			return -1;
		}
		part->data = (char *)part->data + start * self->strides[i];
		return 0;
	}
	if (key && !PySlice_Check(key)) {
		PyErr_Format(PyExc_TypeError, "an index is an int or a slice, not %R",
			     Py_TYPE(key));
		return -1;
	}
	if (key && PySlice_Unpack(key, &start, &stop, &step))
		return -1;
	part->shape[part->rank] = PySlice_AdjustIndices(count, &start, &stop, step);
	part->strides[part->rank++] = step * self->strides[i];
	part->data = (char *)part->data + start * self->strides[i];
	return 0;
}

/* The part at @keys, a tuple; it shares the values. */
static struct array *part_of(struct array *self, PyObject *keys)
{
	struct array *part = array_alloc();

	if (!part)
		return NULL;
	if (PyTuple_Size(keys) > self->rank) {
		PyErr_Format(PyExc_IndexError, "%zd indices of an array of %d dimensions",
			     PyTuple_Size(keys), self->rank);
		goto err;
	}
	part->base = Py_NewRef((PyObject *)self);
	part->data = self->data;
	part->readonly = self->readonly;
	part->itemsize = self->itemsize;
	part->format[0] = self->format[0];
	part->scale = self->scale;
	part->zero = self->zero;
	Py_DECREF(part->name);
	part->name = Py_NewRef(self->name);
	for (int i = 0; i < self->rank; i++) {
		PyObject *key = i < PyTuple_Size(keys) ? PyTuple_GetItem(keys, i) : NULL;

		if (take_dimension(part, self, i, key))
			goto err;
	}
	return part;
err:
	Py_DECREF((PyObject *)part);
	return NULL;
}

/* The value of an array without dimensions. */
static PyObject *value_of(PyObject *object)
{
	PyObject *view = PyMemoryView_FromObject(object);
	PyObject *none = view ? PyTuple_New(0) : NULL;
	PyObject *value = none ? PyObject_GetItem(view, none) : NULL;

	Py_XDECREF(none);
	Py_XDECREF(view);
	return value;
}

/* One value, or a part, which shares the values. */
static PyObject *array_subscript(PyObject *object, PyObject *key)
{
	PyObject *keys = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
	struct array *part = keys ? part_of((struct array *)object, keys) : NULL;
	PyObject *value = NULL;

	Py_XDECREF(keys);
	if (!part || part->rank)
		return (PyObject *)part;
	value = value_of((PyObject *)part);
	Py_DECREF((PyObject *)part);
	return value;
}

/* Row @i, which iteration takes. */
static PyObject *array_row(PyObject *object, Py_ssize_t i)
{
	PyObject *key = PyLong_FromSsize_t(i);
	PyObject *row = key ? array_subscript(object, key) : NULL;

	Py_XDECREF(key);
	return row;
}

static PyObject *array_iterate(PyObject *object)
{
	return array_length(object) < 0 ? NULL : PySeqIter_New(object);
}

/* Equal: of the same shape, with equal values; also as nested lists. */
static PyObject *array_compare(PyObject *object, PyObject *other, int op)
{
	PyObject *values, *result;

	if (op != Py_EQ && op != Py_NE)
		return Py_NewRef(Py_NotImplemented);
	if (PyList_Check(other))
		values = array_tolist(object, NULL);
	else if (PyObject_CheckBuffer(other))
		values = PyMemoryView_FromObject(object);
	else
		return Py_NewRef(Py_NotImplemented);
	result = values ? PyObject_RichCompare(values, other, op) : NULL;
	Py_XDECREF(values);
	return result;
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
	{ "__dlpack__", (PyCFunction)(void (*)(void))dlpack_give, METH_VARARGS | METH_KEYWORDS,
	  "The values by DLPack, without a copy." },
	{ "__dlpack_device__", dlpack_device, METH_NOARGS, "The host's memory, by DLPack." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "shape", array_shape, NULL, "The size of each dimension.", NULL },
	{ "format", array_format, NULL, "The type of a value, as in the module struct.", NULL },
	{ "dtype", array_dtype, NULL, "The type of a value, as \"int8\" or \"float32\".", NULL },
	{ "nbytes", array_nbytes, NULL, "Bytes of all values.", NULL },
	{ "name", array_name, NULL, "The tensor's name, or None.", NULL },
	{ "scale", array_scale, NULL, "A value stands for scale * (value - zero); "
				      "0: the program does not tell.", NULL },
	{ "zero", array_zero, NULL, "See scale.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Values with a shape: numpy.asarray(), from_dlpack() and memoryview() take "
		     "them without a copy." },
	{ Py_tp_new, array_make },
	{ Py_tp_dealloc, array_dealloc },
	{ Py_tp_repr, array_repr },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ Py_tp_richcompare, array_compare },
	{ Py_tp_iter, array_iterate },
	{ Py_mp_length, array_length },
	{ Py_mp_subscript, array_subscript },
	{ Py_sq_length, array_length },
	{ Py_sq_item, array_row },
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
