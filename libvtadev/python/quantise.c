// SPDX-License-Identifier: Apache-2.0
/* Integers for a program's inputs, of floats, by the scale and zero point of a tensor. */
#include <math.h>
#include <string.h>

#include "core.h"

/* Values at a time, as the kernel takes floats of 32 bits. */
#define CHUNK	4096

/* The values from @at on as floats; false: one is not a number. */
static bool take_floats(float *to, const char *from, Py_ssize_t itemsize, Py_ssize_t at,
			Py_ssize_t count)
{
	bool numbers = true;

	for (Py_ssize_t i = 0; i < count; i++) {
		double wide;

		if (itemsize == sizeof(double)) {
			memcpy(&wide, from + (at + i) * itemsize, sizeof(wide));
			to[i] = (float)wide;
		} else {
			memcpy(&to[i], from + (at + i) * itemsize, sizeof(to[i]));
		}
		numbers &= !isnan(to[i]);
	}
	return numbers;
}

/* As the CPU's kernel QUANTISE does; false: a value is not a number. */
static bool quantise(uint8_t *to, const char *from, Py_ssize_t itemsize, Py_ssize_t count,
		     bool is_signed, float scale, int32_t zero)
{
	struct vtacpu_quantise kernel = {
		.outer = 1, .channels = 1, .has_zero = 1,
		.type = is_signed ? VTACPU_I8 : VTACPU_U8,
		.lo = is_signed ? -128 : 0, .hi = is_signed ? 127 : 255,
	};
	float floats[CHUNK];

	for (Py_ssize_t at = 0; at < count; at += CHUNK) {
		void *io[] = { floats, &scale, &zero, to + at };

		kernel.inner = (uint32_t)(count - at < CHUNK ? count - at : CHUNK);
		if (!take_floats(floats, from, itemsize, at, kernel.inner))
			return false;
		vtacpu_quantise(&kernel, io, NULL);
	}
	return true;
}

/* @view's values must be contiguous. */
static struct array *quantise_view(const Py_buffer *view, const char *format, float scale, int zero)
{
	struct array *array = array_new(format, 1, view->ndim, view->shape);
	bool numbers;

	if (!array)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	numbers = quantise(array->data, view->buf, view->itemsize, view->len / view->itemsize,
			   *format == 'b', scale, zero);
	Py_END_ALLOW_THREADS
	array->scale = (double)scale;
	array->zero = zero;
	if (numbers)
		return array;
	Py_DECREF((PyObject *)array);
	PyErr_SetString(PyExc_ValueError, "a value is nan, which no integer stands for");
	return NULL;
}

/* The same of values with gaps. */
static struct array *quantise_any(Py_buffer *view, const char *format, float scale, int zero)
{
	Py_buffer whole = *view;
	struct array *array = NULL;

	if (!view->format || tensor_kind(view->format) != 'f' ||
	    (view->itemsize != sizeof(float) && view->itemsize != sizeof(double)) ||
	    view->ndim > ARRAY_RANK_MAX) {
		PyErr_Format(PyExc_TypeError, "quantise() takes float32 or float64 values in up to "
			     "%d dimensions, not format '%s' in %d", ARRAY_RANK_MAX,
			     view->format ? view->format : "B", view->ndim);
		return NULL;
	}
	if (PyBuffer_IsContiguous(view, 'C'))
		return quantise_view(view, format, scale, zero);
	whole.buf = PyMem_Malloc((size_t)view->len);
	if (!whole.buf)
		return (struct array *)PyErr_NoMemory();
	if (!PyBuffer_ToContiguous(whole.buf, view, view->len, 'C'))
		array = quantise_view(&whole, format, scale, zero);
	PyMem_Free(whole.buf);
	return array;
}

PyObject *tensor_quantise(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct array *array = NULL;
	PyObject *values, *source;
	const char *format;
	Py_buffer view;
	float scale;
	int zero;

	if (!PyArg_ParseTuple(args, "Osfi:quantise", &values, &format, &scale, &zero))
		return NULL;
	if ((strcmp(format, "b") && strcmp(format, "B")) || !(scale > 0)) {
		PyErr_SetString(PyExc_ValueError, "the tensor is not one of bytes with a scale");
		return NULL;
	}
	source = tensor_buffer(NULL, values);
	if (source && !PyObject_GetBuffer(source, &view, PyBUF_FULL_RO)) {
		array = quantise_any(&view, format, scale, zero);
		PyBuffer_Release(&view);
	}
	Py_XDECREF(source);
	return (PyObject *)array;
}
