/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - functions of the extension module vtadev._compiler */
#ifndef ADAPTERS_PYTHON_MODULE_H
#define ADAPTERS_PYTHON_MODULE_H

#define Py_LIMITED_API	0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "vtaprog.h"

/* Reads (order, fit, filter, background, means, scales), numbers of vtaimage.h; 0, or -1. */
int take_preprocess(struct vtaimage_preprocess *pre, PyObject *tuple);

/* Methods of the module: arguments and results are in vtadev/_compiler.pyi. */
PyObject *read_picture(PyObject *module, PyObject *args);
PyObject *find_picture_input(PyObject *module, PyObject *args);
PyObject *read_input(PyObject *module, PyObject *args);
PyObject *find_box_outputs(PyObject *module, PyObject *args);
PyObject *take_boxes(PyObject *module, PyObject *args);
PyObject *draw_boxes(PyObject *module, PyObject *args);

#endif /* ADAPTERS_PYTHON_MODULE_H */
