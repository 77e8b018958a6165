// SPDX-License-Identifier: Apache-2.0
/* Arrays of others by DLPack: objects that have __dlpack__() and no buffer. */
#include <dlpack/dlpack.h>

#include "core.h"

#define UNUSED_NAME	"dltensor"
#define USED_NAME	"used_dltensor"

/* kDLBool of later headers. */
#define BOOLEAN		6

void dlpack_release(void *managed)
{
	DLManagedTensor *m = managed;

	if (m->deleter)
		m->deleter(m);
}

/* The format of a value; 0: none that buffers have. */
static char format_of(DLDataType type)
{
	static const struct {
		uint8_t code, bits;
		char format;
	} formats[] = {
		{ kDLInt, 8, 'b' }, { kDLInt, 16, 'h' }, { kDLInt, 32, 'i' }, { kDLInt, 64, 'q' },
		{ kDLUInt, 8, 'B' }, { kDLUInt, 16, 'H' }, { kDLUInt, 32, 'I' },
		{ kDLUInt, 64, 'Q' }, { kDLFloat, 16, 'e' }, { kDLFloat, 32, 'f' },
		{ kDLFloat, 64, 'd' }, { BOOLEAN, 8, '?' },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].code == type.code && formats[i].bits == type.bits && type.lanes == 1)
			return formats[i].format;
	return 0;
}

static int fill_array(struct array *self, const DLTensor *t)
{
	Py_ssize_t bytes = (t->dtype.bits + 7) / 8;

	self->format[0] = format_of(t->dtype);
	if (!self->format[0] || t->ndim < 0 || t->ndim > ARRAY_RANK_MAX ||
	    (t->device.device_type != kDLCPU && t->device.device_type != kDLCUDAHost)) {
		PyErr_SetString(PyExc_BufferError,
				"only host memory with integers or floats can be an input");
		return -1;
	}
	self->data = (char *)t->data + t->byte_offset;
	self->readonly = true;
	self->itemsize = bytes;
	self->rank = t->ndim;
	for (int i = t->ndim - 1; i >= 0; i--) {
		self->shape[i] = (Py_ssize_t)t->shape[i];
		self->strides[i] = t->strides ?
			(Py_ssize_t)t->strides[i] * self->itemsize : bytes;
		bytes *= self->shape[i];
	}
	return 0;
}

PyObject *dlpack_wrap(PyObject *method)
{
	PyObject *capsule = PyObject_CallNoArgs(method);
	struct array *self = capsule ? array_alloc() : NULL;
	DLManagedTensor *managed;

	managed = self ? PyCapsule_GetPointer(capsule, UNUSED_NAME) : NULL;
	/* A capsule of that name no longer frees the tensor. */
	if (!managed || fill_array(self, &managed->dl_tensor) ||
	    PyCapsule_SetName(capsule, USED_NAME))
		Py_CLEAR(self);
	else
		self->managed = managed;
	Py_XDECREF(capsule);
	return (PyObject *)self;
}
