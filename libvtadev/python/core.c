// SPDX-License-Identifier: Apache-2.0
/* The module itself. */
#include "core.h"

static PyMethodDef functions[] = {
	{ "buffer", tensor_buffer, METH_O, "The object, or an array of its __dlpack__()." },
	{ "stack", tensor_stack, METH_VARARGS, "stack(tensor, images): an array of the images." },
	{ "quantise", tensor_quantise, METH_VARARGS, "quantise(values, format, scale, zero): an "
	  "array of integers." },
	{ "bench", bench_rate, METH_VARARGS,
	  "bench(image, cards, depth, warmup, runs, ns, inputs): rate and latencies." },
	{ "bench_parts", bench_one, METH_VARARGS, "bench_parts(image, card, runs, inputs): parts "
	  "of a run." },
	{ "profile", profile_run, METH_VARARGS, "profile(image, device, cuts, runs, inputs): parts "
	  "of the median run." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "vtadev._core",
	.m_doc = "What vtadev is made of; programs import vtadev.",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__core(void)
{
	PyObject *core = PyModule_Create(&module);

	if (!core)
		return NULL;
	if (error_init(core) || array_init(core) || device_init(core) || image_init(core) ||
	    slot_init(core) || pool_init(core) || tensor_init(core) ||
	    PyModule_AddStringConstant(core, "version", vtadev_version()))
		Py_CLEAR(core);
	return core;
}
