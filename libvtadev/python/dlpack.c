// SPDX-License-Identifier: Apache-2.0
/* Arrays by DLPack: those of others, which have no buffer, and ours for others. */
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

/* ---- Arrays for others ---- */

/* The consumer's tensor; it has a reference to the array. */
struct given {
	DLManagedTensor managed;
	int64_t shape[ARRAY_RANK_MAX], strides[ARRAY_RANK_MAX];
};

/* A consumer may call this in any thread, also at the interpreter's end. */
static void drop_given(DLManagedTensor *managed)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	Py_DECREF((PyObject *)managed->manager_ctx);
	PyMem_Free(managed);
	PyGILState_Release(state);
}

/* Nobody has taken the tensor if the capsule still has its first name. */
static void drop_capsule(PyObject *capsule)
{
	if (PyCapsule_IsValid(capsule, UNUSED_NAME))
		drop_given(PyCapsule_GetPointer(capsule, UNUSED_NAME));
}

static DLDataType type_of(const struct array *array)
{
	static const struct {
		char kind;
		uint8_t code;
	} codes[] = { { 'i', kDLInt }, { 'u', kDLUInt }, { 'f', kDLFloat }, { '?', BOOLEAN } };
	const char kind = tensor_kind(array->format);
	DLDataType type = { .bits = (uint8_t)(8 * array->itemsize), .lanes = 1 };

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].kind == kind)
			type.code = codes[i].code;
	return type;
}

static void fill_given(struct given *given, struct array *array)
{
	given->managed = (DLManagedTensor){
		.dl_tensor = {
			.data = array->data, .device = { kDLCPU, 0 }, .ndim = array->rank,
			.dtype = type_of(array), .shape = given->shape, .strides = given->strides,
		},
		.manager_ctx = Py_NewRef((PyObject *)array), .deleter = drop_given,
	};
	for (int i = 0; i < array->rank; i++) {
		given->shape[i] = array->shape[i];
		given->strides[i] = array->strides[i] / array->itemsize;
	}
}

static PyObject *make_capsule(struct array *array)
{
	struct given *given = PyMem_Calloc(1, sizeof(*given));
	PyObject *capsule;

	if (!given)
		return PyErr_NoMemory();
	fill_given(given, array);
	capsule = PyCapsule_New(&given->managed, UNUSED_NAME, drop_capsule);
	if (!capsule)
		drop_given(&given->managed);
	return capsule;
}

/* 1 if @device is None, or the host's memory; -1: an exception. */
static int is_host(PyObject *device)
{
	PyObject *host = device == Py_None ? NULL : dlpack_device(NULL, NULL);
	int same = device == Py_None ? 1 : -1;

	if (host)
		same = PyObject_RichCompareBool(device, host, Py_EQ);
	Py_XDECREF(host);
	return same;
}

PyObject *dlpack_device(PyObject *Py_UNUSED(array), PyObject *Py_UNUSED(none))
{
	return Py_BuildValue("(ii)", kDLCPU, 0);
}

/* The version of the tensor is that of 0.x, which consumers take whatever max_version is. */
PyObject *dlpack_give(PyObject *object, PyObject *args, PyObject *keywords)
{
	static const char *const names[] = { "stream", "max_version", "dl_device", "copy", NULL };
	PyObject *stream = Py_None, *version, *device = Py_None, *copy = Py_None, *capsule;
	struct array *array = (struct array *)object;
	int host, copied;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", (char **)names,
					 &stream, &version, &device, &copy))
		return NULL;
	host = is_host(device);
	copied = PyObject_IsTrue(copy);
	if (host < 0 || copied < 0)
		return NULL;
	if (!host || stream != Py_None)
		return PyErr_Format(PyExc_BufferError, "it is in host memory, and has no stream");
	if (array->readonly && !copied)
		return PyErr_Format(PyExc_BufferError, "it is read-only: use copy=True");
	array = copied ? array_copy(array) : (struct array *)Py_NewRef(object);
	capsule = array ? make_capsule(array) : NULL;
	Py_XDECREF((PyObject *)array);
	return capsule;
}
