// SPDX-License-Identifier: Apache-2.0
/* Values of a program's tensors: from buffers of Python's, and to arrays. */
#include <stdio.h>
#include <string.h>

#include "core.h"

/* One string: Python's cache of methods keeps every one that it is asked with. */
static PyObject *dlpack_name;

int tensor_init(PyObject *Py_UNUSED(module))
{
	dlpack_name = PyUnicode_InternFromString("__dlpack__");
	return dlpack_name ? 0 : -1;
}

/* Name of a type of vtacpu.h in the struct module. */
static const char *format_of(const struct vtaimage_tensor *t)
{
	switch (t->type) {
	case VTACPU_F32:
		return "f";
	case VTACPU_U8:
		return "B";
	case VTACPU_I32:
		return "i";
	case VTACPU_I64:
		return "q";
	case VTACPU_BOOL:
		return "?";
	default:
		return "b";
	}
}

/* The reverse; 0: a format of no tensor. */
static uint32_t type_of(const char *format)
{
	static const enum vtacpu_type types[] = {
		VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64, VTACPU_BOOL,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		const struct vtaimage_tensor t = { .type = types[i] };

		if (!strcmp(format, format_of(&t)))
			return types[i];
	}
	return 0;
}

/* Bytes of the plain values. */
static Py_ssize_t bytes_of(const struct vtaimage_tensor *t)
{
	Py_ssize_t bytes = vtacpu_type_bytes(t->type);

	for (uint32_t i = 0; i < t->rank; i++)
		bytes *= t->dims[i];
	return bytes;
}

char tensor_kind(const char *format)
{
	if (*format && strchr("@=<", *format))
		format++;
	if (!*format || format[1])
		return 0;
	if (strchr("bhilqn", *format))
		return 'i';
	if (strchr("BHILQN", *format))
		return 'u';
	if (strchr("efd", *format))
		return 'f';
	return *format == '?' ? '?' : 0;
}

static bool same_type(const struct vtaimage_tensor *t, const Py_buffer *view)
{
	const char *format = view->format ? view->format : "B";

	return tensor_kind(format) == tensor_kind(format_of(t)) &&
	       view->itemsize == (Py_ssize_t)vtacpu_type_bytes(t->type);
}

/* Dimensions of 1 in front may be missing, or be too many. */
static bool same_shape(const struct vtaimage_tensor *t, const Py_buffer *view)
{
	int i = 0;
	uint32_t j = 0;

	while (i < view->ndim && view->shape[i] == 1)
		i++;
	while (j < t->rank && t->dims[j] == 1)
		j++;
	for (; i < view->ndim && j < t->rank; i++, j++)
		if (view->shape[i] != (Py_ssize_t)t->dims[j])
			return false;
	return i == view->ndim && j == t->rank;
}

/* bytes, bytearray and the like: the values as they lie in memory. */
static bool is_raw(const struct vtaimage_tensor *t, const Py_buffer *view)
{
	return view->ndim == 1 && (!view->format || !strcmp(view->format, "B")) &&
	       view->len == bytes_of(t);
}

/* Advice for a program that gives floats to an input of integers. */
static const char *hint(const struct vtaimage_tensor *t, const Py_buffer *view)
{
	if (!view->format || tensor_kind(view->format) != 'f' || t->scale == 0.0f)
		return "";
	return ": Tensor.quantise() makes integers of floats";
}

static PyObject *dims_tuple(const struct vtaimage_tensor *t)
{
	PyObject *dims = PyTuple_New(t->rank);

	for (uint32_t i = 0; dims && i < t->rank; i++) {
		PyObject *size = PyLong_FromUnsignedLong(t->dims[i]);

		if (!size || PyTuple_SetItem(dims, i, size))
			Py_CLEAR(dims);
	}
	return dims;
}

static PyObject *shape_tuple(const Py_buffer *view)
{
	PyObject *shape = PyTuple_New(view->ndim);

	for (int i = 0; shape && i < view->ndim; i++) {
		PyObject *size = PyLong_FromSsize_t(view->shape[i]);

		if (!size || PyTuple_SetItem(shape, i, size))
			Py_CLEAR(shape);
	}
	return shape;
}

static int check_view(const struct vtaimage_tensor *t, const Py_buffer *view)
{
	PyObject *dims, *given;

	if (is_raw(t, view) || (same_type(t, view) && same_shape(t, view)))
		return 0;
	dims = dims_tuple(t);
	given = shape_tuple(view);
	if (dims && given && same_type(t, view))
		PyErr_Format(PyExc_ValueError, "%s: its shape is %R, not %R", t->name, dims, given);
	else if (dims && given)
		PyErr_Format(PyExc_TypeError, "%s: takes values of format '%s' in shape %R, or %zd "
			     "raw bytes, not format '%s' in shape %R%s", t->name, format_of(t),
			     dims, bytes_of(t), view->format ? view->format : "B", given,
			     hint(t, view));
	Py_XDECREF(dims);
	Py_XDECREF(given);
	return -1;
}

/* Packed by the card's blocks, from values that may have gaps. */
static int put_packed(const struct vtaops_core *core, const struct vtaimage_tensor *t, void *to,
		      Py_buffer *view)
{
	void *values = NULL;

	if (!PyBuffer_IsContiguous(view, 'C')) {
		values = PyMem_Malloc((size_t)view->len);
		if (!values) {
			PyErr_NoMemory();
			return -1;
		}
		if (PyBuffer_ToContiguous(values, view, view->len, 'C')) {
			PyMem_Free(values);
			return -1;
		}
	}
	Py_BEGIN_ALLOW_THREADS
	vtaops_pack_act(core, to, values ? values : view->buf, t->n, t->c, t->h, t->w);
	Py_END_ALLOW_THREADS
	PyMem_Free(values);
	return 0;
}

static int put_view(const struct vtaops_core *core, const struct vtaimage_tensor *t, void *to,
		    Py_buffer *view)
{
	if (check_view(t, view))
		return -1;
	if (t->layout == VTAIMAGE_PACKED)
		return put_packed(core, t, to, view);
	if (!PyBuffer_IsContiguous(view, 'C'))
		return PyBuffer_ToContiguous(to, view, view->len, 'C');
	Py_BEGIN_ALLOW_THREADS
	memcpy(to, view->buf, (size_t)view->len);
	Py_END_ALLOW_THREADS
	return 0;
}

PyObject *tensor_buffer(PyObject *Py_UNUSED(module), PyObject *object)
{
	PyObject *method, *array;

	if (PyObject_CheckBuffer(object))
		return Py_NewRef(object);
	method = PyObject_GetAttr(object, dlpack_name);
	if (method) {
		array = dlpack_wrap(method);
		Py_DECREF(method);
		return array;
	}
	if (!PyErr_ExceptionMatches(PyExc_AttributeError))
		return NULL;
	return PyErr_Format(PyExc_TypeError, "an input is an object with the buffer protocol or "
			    "__dlpack__(), not %R", Py_TYPE(object));
}

int tensor_put(const struct vtaops_core *core, const struct vtaimage_tensor *t, void *to,
	       PyObject *object)
{
	PyObject *source = tensor_buffer(NULL, object);
	Py_buffer view;
	int ret = -1;

	if (source && !PyObject_GetBuffer(source, &view, PyBUF_FULL_RO)) {
		ret = put_view(core, t, to, &view);
		PyBuffer_Release(&view);
	}
	Py_XDECREF(source);
	return ret;
}

/* The values of @part, which is less than @t in one dimension at most. */
static void copy_part(void *to, const struct vtaimage_tensor *t, const struct vtaimage_tensor *part,
		      const void *from)
{
	size_t outer = 1, row = vtacpu_type_bytes(t->type);
	uint32_t dim = 0;

	while (dim + 1 < t->rank && t->dims[dim] == part->dims[dim])
		outer *= t->dims[dim++];
	for (uint32_t i = dim + 1; i < t->rank; i++)
		row *= t->dims[i];
	for (size_t o = 0; o < outer; o++)
		memcpy((char *)to + o * part->dims[dim] * row,
		       (const char *)from + o * t->dims[dim] * row, part->dims[dim] * row);
}

PyObject *tensor_get(const struct vtaops_core *core, const struct vtaimage_tensor *t,
		     const struct vtaimage_tensor *part, const void *from)
{
	Py_ssize_t shape[ARRAY_RANK_MAX];
	struct array *array;

	for (uint32_t i = 0; i < t->rank; i++)
		shape[i] = part->dims[i];
	array = array_new(format_of(t), vtacpu_type_bytes(t->type), (int)t->rank, shape);
	if (!array)
		return NULL;
	Py_DECREF(array->name);
	array->name = PyUnicode_FromString(t->name);
	if (!array->name) {
		Py_DECREF(array);
		return NULL;
	}
	array->scale = (double)t->scale;
	array->zero = t->zero;
	Py_BEGIN_ALLOW_THREADS
	if (t->layout == VTAIMAGE_PACKED)
		vtaops_unpack_act(core, array->data, from, t->n, t->c, t->h, t->w);
	else
		copy_part(array->data, t, part, from);
	Py_END_ALLOW_THREADS
	return (PyObject *)array;
}

PyObject *tensor_describe(const struct vtaimage_tensor *t)
{
	return Py_BuildValue("(ssNdi)", t->name, format_of(t), dims_tuple(t), (double)t->scale,
			     t->zero);
}

/* The tensor of a description by tensor_describe(), but for one image. */
static int describe_one(PyObject *described, struct vtaimage_tensor *t)
{
	const char *name, *format;
	PyObject *shape;
	double scale;

	if (!PyArg_ParseTuple(described, "ssO!di", &name, &format, &PyTuple_Type, &shape, &scale,
			      &t->zero))
		return -1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->scale = (float)scale;
	t->layout = VTAIMAGE_PLAIN;
	t->type = type_of(format);
	if (!t->type || PyTuple_Size(shape) < 1 || PyTuple_Size(shape) > ARRAY_RANK_MAX) {
		PyErr_SetString(PyExc_ValueError, "a format or shape that cannot be");
		return -1;
	}
	t->rank = (uint32_t)PyTuple_Size(shape);
	t->dims[0] = 1;
	for (uint32_t i = 1; i < t->rank; i++)
		t->dims[i] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(shape, i));
	return PyErr_Occurred() ? -1 : 0;
}

static struct array *stack_array(const struct vtaimage_tensor *t, Py_ssize_t count)
{
	Py_ssize_t shape[ARRAY_RANK_MAX] = { count };

	for (uint32_t i = 1; i < t->rank; i++)
		shape[i] = t->dims[i];
	if (count && bytes_of(t) <= PY_SSIZE_T_MAX / count)
		return array_new(format_of(t), vtacpu_type_bytes(t->type), (int)t->rank, shape);
	PyErr_SetString(PyExc_ValueError, "takes one image or more");
	return NULL;
}

PyObject *tensor_stack(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *described, *images;
	struct vtaimage_tensor t = { .type = 0 };
	struct array *array;
	char name[41];

	if (!PyArg_ParseTuple(args, "O!O!:stack", &PyTuple_Type, &described, &PyTuple_Type,
			      &images) || describe_one(described, &t))
		return NULL;
	array = stack_array(&t, PyTuple_Size(images));
	snprintf(name, sizeof(name), "%.40s", t.name);
	for (Py_ssize_t i = 0; array && i < PyTuple_Size(images); i++) {
		snprintf(t.name, sizeof(t.name), "%s[%zd]", name, i);
		if (tensor_put(NULL, &t, (char *)array->data + i * bytes_of(&t),
			       PyTuple_GetItem(images, i))) {
			Py_DECREF((PyObject *)array);
			array = NULL;
		}
	}
	return (PyObject *)array;
}
