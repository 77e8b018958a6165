// SPDX-License-Identifier: Apache-2.0
/*
 * The extension module vtadev._compiler: the compiler of libvtac.h, and pictures as inputs. The
 * module vtadev._compile calls it; programs call vtadev.compile(). The file contains the compiler,
 * so that vtadev needs no other library for it.
 *
 * Only the limited API of Python 3.11 is used. The GIL is released while the compiler works.
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "libvtac.h"
#include "vtaops.h"

/* ---- nets ---- */

struct net {
	PyObject_HEAD
	struct vtac_net *net;
	int busy;		/* a thread compiles it */
};

/* Raise CompileError with the reason and the nodes of the failure. */
static PyObject *raise_refusal(const struct vtac_net *net)
{
	PyObject *module = PyImport_ImportModule("vtadev._compile");
	PyObject *type = module ? PyObject_GetAttrString(module, "CompileError") : NULL;
	PyObject *nodes = type ? PyList_New(0) : NULL, *error = NULL;
	const char *node, *why;

	for (unsigned int i = 0; nodes && (node = vtac_net_refused(net, i, &why)); i++) {
		PyObject *pair = Py_BuildValue("(ss)", node, why);

		if (!pair || PyList_Append(nodes, pair))
			Py_CLEAR(nodes);
		Py_XDECREF(pair);
	}
	if (nodes)
		error = PyObject_CallFunction(type, "s", vtac_net_error(net));
	if (error && !PyObject_SetAttrString(error, "nodes", nodes))
		PyErr_SetObject(type, error);
	Py_XDECREF(error);
	Py_XDECREF(nodes);
	Py_XDECREF(type);
	Py_XDECREF(module);
	return NULL;
}

/* Net(model, directory): an ONNX model, of bytes; the directory of its other files, or None */
static PyObject *net_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
	const char *directory;
	struct net *self;
	Py_buffer model;
	int err;

	if (!PyArg_ParseTuple(args, "y*z:Net", &model, &directory))
		return NULL;
	self = (struct net *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (self) {
		self->net = vtac_net_new();
		if (!self->net) {
			Py_CLEAR(self);
			PyErr_NoMemory();
		}
	}
	if (self) {
		Py_BEGIN_ALLOW_THREADS
		err = vtac_net_read_onnx(self->net, model.buf, (size_t)model.len, directory);
		Py_END_ALLOW_THREADS
		if (err) {
			raise_refusal(self->net);
			Py_CLEAR(self);
		}
	}
	PyBuffer_Release(&model);
	return (PyObject *)self;
}

static void net_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	vtac_net_free(((struct net *)object)->net);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *shape_tuple(const struct vtac_net_value *v)
{
	PyObject *shape = PyTuple_New(v->rank);

	for (int i = 0; shape && i < v->rank; i++) {
		PyObject *size = PyLong_FromLongLong(v->dims[i]);

		if (!size || PyTuple_SetItem(shape, i, size))
			Py_CLEAR(shape);
	}
	return shape;
}

/* inputs(): a list of (name, shape), with -1 for sizes that the model leaves open */
static PyObject *net_inputs(PyObject *object, PyObject *Py_UNUSED(none))
{
	struct net *self = (struct net *)object;
	PyObject *list = PyList_New(0);
	struct vtac_net_value v;

	for (unsigned int i = 0; list && !vtac_net_input_at(self->net, i, &v); i++) {
		PyObject *shape = shape_tuple(&v);
		PyObject *input = shape ? Py_BuildValue("(sN)", v.name, shape) : NULL;

		if (!input || PyList_Append(list, input))
			Py_CLEAR(list);
		Py_XDECREF(input);
	}
	return list;
}

/* ---- callbacks: in the thread that compiles, which has released the GIL ---- */

struct run {
	PyObject *image, *progress, *warn;	/* progress may be None */
	PyThreadState *thread;
	int failed;			/* an exception is set */
};

static int copy_values(PyObject *object, float *values, size_t count)
{
	Py_buffer buffer;
	int ret = -1;

	if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE))
		return -1;
	if ((size_t)buffer.len == count * sizeof(*values)) {
		memcpy(values, buffer.buf, (size_t)buffer.len);
		ret = 0;
	} else {
		PyErr_Format(PyExc_ValueError, "an image has %zd bytes, not %zu", buffer.len,
			     count * sizeof(*values));
	}
	PyBuffer_Release(&buffer);
	return ret;
}

static int read_image(void *priv, unsigned int i, const char *input, float *values, size_t count)
{
	struct run *run = priv;
	PyObject *object;

	if (run->failed)
		return -1;
	PyEval_RestoreThread(run->thread);
	object = PyObject_CallFunction(run->image, "Isn", i, input, (Py_ssize_t)count);
	run->failed = !object || copy_values(object, values, count);
	Py_XDECREF(object);
	run->thread = PyEval_SaveThread();
	return run->failed ? -1 : 0;
}

static int report_progress(void *priv, const char *what, uint64_t done, uint64_t total)
{
	struct run *run = priv;
	PyObject *result = Py_None;

	if (run->failed)
		return -1;
	PyEval_RestoreThread(run->thread);
	run->failed = PyErr_CheckSignals() < 0;
	if (!run->failed && run->progress != Py_None) {
		result = PyObject_CallFunction(run->progress, "sKK", what,
					       (unsigned long long)done,
					       (unsigned long long)total);
		run->failed = !result;
		Py_XDECREF(result);
	}
	run->thread = PyEval_SaveThread();
	return run->failed ? -1 : 0;
}

static void take_warning(void *priv, const char *text)
{
	struct run *run = priv;
	PyObject *result;

	PyEval_RestoreThread(run->thread);
	/* The compiler goes on to its next report of progress, which ends it. */
	result = PyObject_CallFunction(run->warn, "s", text);
	run->failed = !result;
	Py_XDECREF(result);
	run->thread = PyEval_SaveThread();
}

/* ---- options ---- */

/* Texts of a tuple of str, which lives as long; to be freed by PyMem_Free() */
static const char **take_texts(PyObject *tuple, unsigned int *n)
{
	Py_ssize_t count = PyTuple_Size(tuple);
	const char **texts = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof(*texts));

	if (!texts)
		return count < 0 ? NULL : (const char **)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++) {
		texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL);
		if (!texts[i]) {
			PyMem_Free(texts);
			return NULL;
		}
	}
	*n = (unsigned int)count;
	return texts;
}

static int take_sizes(PyObject *tuple, struct vtac_net_shape *shape)
{
	Py_ssize_t rank = PyTuple_Size(tuple);

	if (rank > 8)
		PyErr_SetString(PyExc_ValueError, "a shape has at most 8 sizes");
	if (rank < 0 || rank > 8)
		return -1;
	shape->rank = (int)rank;
	for (Py_ssize_t i = 0; i < rank; i++) {
		shape->dims[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
		if (shape->dims[i] == -1 && PyErr_Occurred())
			return -1;
	}
	return 0;
}

/* Shapes of a tuple of (name, sizes); to be freed by PyMem_Free() */
static struct vtac_net_shape *take_shapes(PyObject *tuple, unsigned int *n)
{
	Py_ssize_t count = PyTuple_Size(tuple);
	struct vtac_net_shape *shapes = count < 0 ? NULL :
		PyMem_Calloc((size_t)count + 1, sizeof(*shapes));

	if (!shapes)
		return count < 0 ? NULL : (struct vtac_net_shape *)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *sizes;

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "sO!", &shapes[i].input,
				      &PyTuple_Type, &sizes) || take_sizes(sizes, &shapes[i])) {
			PyMem_Free(shapes);
			return NULL;
		}
	}
	*n = (unsigned int)count;
	return shapes;
}

/* Bits of a tuple of (name or None, bits); to be freed by PyMem_Free() */
static struct vtac_net_precision *take_precisions(PyObject *tuple, unsigned int *n)
{
	Py_ssize_t count = PyTuple_Size(tuple);
	struct vtac_net_precision *nodes = count < 0 ? NULL :
		PyMem_Calloc((size_t)count + 1, sizeof(*nodes));

	if (!nodes)
		return count < 0 ? NULL : (struct vtac_net_precision *)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++) {
		int bits;

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "zi", &nodes[i].node, &bits)) {
			PyMem_Free(nodes);
			return NULL;
		}
		nodes[i].bits = bits == 8 ? VTAC_NET_8_BITS : bits == 16 ? VTAC_NET_16_BITS :
			VTAC_NET_AUTO_BITS;
	}
	*n = (unsigned int)count;
	return nodes;
}

static int take_core(PyObject *bytes, struct vtaops_core *core)
{
	Py_ssize_t size;
	char *data;

	if (PyBytes_AsStringAndSize(bytes, &data, &size))
		return -1;
	if (size != sizeof(*core)) {
		PyErr_SetString(PyExc_ValueError, "the core is of another version of vtadev");
		return -1;
	}
	memcpy(core, data, sizeof(*core));
	return 0;
}

static PyObject *run_compiler(struct net *self, struct vtac_net_options *how, struct run *run)
{
	PyObject *bytes = NULL;
	uint8_t *image = NULL;
	size_t size = 0;
	int err;

	if (self->busy) {
		PyErr_SetString(PyExc_RuntimeError, "another thread compiles this net");
		return NULL;
	}
	how->image = read_image;
	how->progress = report_progress;
	how->warn = take_warning;
	how->priv = run;
	self->busy = 1;
	run->thread = PyEval_SaveThread();
	err = vtac_net_compile(self->net, how, &image, &size);
	PyEval_RestoreThread(run->thread);
	self->busy = 0;
	if (!run->failed)
		bytes = err ? raise_refusal(self->net) :
			PyBytes_FromStringAndSize((char *)image, (Py_ssize_t)size);
	if (!err)
		free(image);
	return bytes;
}

/*
 * compile(core, name, no_card, no_prune, cpu, shapes, labels, preprocess, images, image, progress,
 * threads, precisions, extra_cycles, warn): the bytes of a program. precisions: (name or None, 8,
 * 16 or 0) for each. image(i, input, count) returns count floats; warn(text) may be called once.
 */
static PyObject *net_compile(PyObject *object, PyObject *args)
{
	struct vtac_net_options how = { .core = NULL };
	PyObject *core_bytes, *cpu, *shapes, *pre, *precisions, *bytes = NULL;
	struct vtac_net_precision *nodes = NULL;
	const char **names = NULL;
	struct vtac_net_shape *sizes = NULL;
	struct vtaimage_preprocess preprocess;
	struct run run = { .failed = 0 };
	struct vtaops_core core;

	if (!PyArg_ParseTuple(args, "SzppO!O!zOIOOIO!IO:compile", &core_bytes, &how.name,
			      &how.no_card, &how.no_prune, &PyTuple_Type, &cpu,
			      &PyTuple_Type, &shapes, &how.labels, &pre, &how.images,
			      &run.image, &run.progress, &how.threads,
			      &PyTuple_Type, &precisions, &how.extra_cycles, &run.warn) ||
	    take_core(core_bytes, &core) ||
	    (pre != Py_None && take_preprocess(&preprocess, pre)))
		return NULL;
	how.core = &core;
	how.preprocess = pre == Py_None ? NULL : &preprocess;
	names = take_texts(cpu, &how.n_cpu);
	sizes = names ? take_shapes(shapes, &how.n_shapes) : NULL;
	nodes = sizes ? take_precisions(precisions, &how.n_precisions) : NULL;
	if (nodes) {
		how.precisions = nodes;
		how.cpu = names;
		how.shapes = sizes;
		bytes = run_compiler((struct net *)object, &how, &run);
	}
	PyMem_Free(names);
	PyMem_Free(sizes);
	PyMem_Free(nodes);
	return bytes;
}

static PyMethodDef methods[] = {
	{ "inputs", net_inputs, METH_NOARGS, "inputs(): a list of (name, shape)." },
	{ "compile", net_compile, METH_VARARGS, "compile(...): the bytes of a program." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "A model." },
	{ Py_tp_new, net_new },
	{ Py_tp_dealloc, net_dealloc },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "vtadev._compiler.Net",
	.basicsize = sizeof(struct net),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyMethodDef functions[] = {
	{ "picture", read_picture, METH_VARARGS,
	  "picture(path, shape, preprocess): bytes of floats." },
	{ "picture_input", find_picture_input, METH_VARARGS,
	  "picture_input(image): the input that a picture becomes." },
	{ "input", read_input, METH_VARARGS,
	  "input(of, path): the input's bytes, its name, and the picture's width and height." },
	{ "box_outputs", find_box_outputs, METH_VARARGS,
	  "box_outputs(image): the names of a detector's boxes, scores and classes." },
	{ "boxes", take_boxes, METH_VARARGS,
	  "boxes(image, width, height, boxes, scores, classes, format, least): a list of tuples." },
	{ "draw", draw_boxes, METH_VARARGS, "draw(path, boxes, texts): bytes of a PNG file." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "vtadev._compiler",
	.m_doc = "The compiler; programs call vtadev.compile().",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__compiler(void)
{
	PyObject *compiler = PyModule_Create(&module);
	PyObject *net = PyType_FromSpec(&spec);

	if (!compiler || !net || PyModule_AddType(compiler, (PyTypeObject *)net))
		Py_CLEAR(compiler);
	Py_XDECREF(net);
	return compiler;
}
