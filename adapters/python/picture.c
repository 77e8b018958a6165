// SPDX-License-Identifier: Apache-2.0
/* Pictures as inputs of programs, and the boxes that detectors find on them. */
#include "module.h"

#include <stdlib.h>

#include "boxes.h"
#include "picture.h"

/* ---- Inputs ---- */

int take_preprocess(struct vtaimage_preprocess *pre, PyObject *tuple)
{
	*pre = (struct vtaimage_preprocess) { .tensor = 0 };
	return PyArg_ParseTuple(tuple, "IIII(fff)(fff):preprocess", &pre->order, &pre->fit,
				&pre->filter, &pre->background, &pre->mean[0], &pre->mean[1],
				&pre->mean[2], &pre->scale[0], &pre->scale[1],
				&pre->scale[2]) ? 0 : -1;
}

/* The bytes of the values of @as that a picture becomes; @size gets the picture's. */
static PyObject *prepare(const char *path, const struct vtaimage_preprocess *pre,
			 const struct vtaimage_tensor *as, size_t bytes, uint32_t size[2])
{
	PyObject *values = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
	char why[PICTURE_WHY_MAX] = "", *to = values ? PyBytes_AsString(values) : NULL;
	struct picture p;
	int err;

	if (!to)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	err = picture_load(&p, path, why);
	if (!err) {
		err = picture_prepare(&p, pre, as, to, why);
		size[0] = p.width;
		size[1] = p.height;
		picture_free(&p);
	}
	Py_END_ALLOW_THREADS
	if (!err)
		return values;
	Py_DECREF(values);
	PyErr_Format(PyExc_ValueError, "%s: %s", path, why);
	return NULL;
}

PyObject *read_picture(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct vtaimage_preprocess pre;
	PyObject *tuple, *path, *values = NULL;
	uint32_t chw[3], size[2];

	if (!PyArg_ParseTuple(args, "O&(III)O:picture", PyUnicode_FSConverter, &path, &chw[0],
			      &chw[1], &chw[2], &tuple))
		return NULL;
	if (take_preprocess(&pre, tuple)) {
		;
	} else if (chw[0] != (pre.order == VTAIMAGE_GRAY ? 1 : 3) || !chw[1] || !chw[2] ||
		   (uint64_t)chw[1] * chw[2] > PICTURE_PIXELS_MAX) {
		PyErr_Format(PyExc_ValueError,
			     "the input takes %u x %u x %u values, which is no picture%s", chw[0],
			     chw[1], chw[2], chw[0] == 1 ? " (order=\"gray\"?)" : "");
	} else {
		struct vtaimage_tensor as = {
			.layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 4, .n = 1,
			.c = chw[0], .h = chw[1], .w = chw[2],
			.dims = { 1, chw[0], chw[1], chw[2] } };

		values = prepare(PyBytes_AsString(path), &pre, &as,
				 (size_t)chw[0] * chw[1] * chw[2] * sizeof(float), size);
	}
	Py_DECREF(path);
	return values;
}

/* Opens a program's bytes, of which the input is a picture's. */
static int open_image(struct vtaimage *image, const Py_buffer *data,
		      struct vtaimage_preprocess *pre, struct vtaimage_tensor *input)
{
	if (vtaimage_open(image, data->buf, (size_t)data->len)) {
		PyErr_SetString(PyExc_ValueError, image->why);
		return -1;
	}
	if (!image->preprocess_count) {
		PyErr_SetString(PyExc_ValueError,
				"the program does not say how a picture becomes an input");
		return -1;
	}
	vtaimage_preprocess(image, 0, pre);
	vtaimage_tensor(image, pre->tensor, input);
	return 0;
}

/* The input of a program that a picture becomes. */
struct picture_input {
	struct vtaimage_preprocess pre;
	struct vtaimage_tensor tensor;
};

#define INPUT_CAPSULE	"vtadev._compiler.picture_input"

static void free_input(PyObject *capsule)
{
	free(PyCapsule_GetPointer(capsule, INPUT_CAPSULE));
}

PyObject *find_picture_input(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct picture_input *input = NULL;
	struct vtaimage image;
	PyObject *capsule = NULL;
	Py_buffer data;

	if (!PyArg_ParseTuple(args, "y*:picture_input", &data))
		return NULL;
	input = malloc(sizeof(*input));
	if (!input)
		PyErr_NoMemory();
	else if (!open_image(&image, &data, &input->pre, &input->tensor))
		capsule = PyCapsule_New(input, INPUT_CAPSULE, free_input);
	if (!capsule)
		free(input);
	PyBuffer_Release(&data);
	return capsule;
}

PyObject *read_input(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *capsule, *path, *values = NULL, *result = NULL;
	const struct picture_input *input;
	uint32_t size[2];

	if (!PyArg_ParseTuple(args, "OO&:input", &capsule, PyUnicode_FSConverter, &path))
		return NULL;
	input = PyCapsule_GetPointer(capsule, INPUT_CAPSULE);
	if (input)
		values = prepare(PyBytes_AsString(path), &input->pre, &input->tensor,
				 vtaprog_bytes(&input->tensor), size);
	if (values)
		result = Py_BuildValue("(NsII)", values, input->tensor.name, size[0], size[1]);
	Py_DECREF(path);
	return result;
}

/* ---- Boxes ---- */

static PyObject *name_output(const struct vtaimage *image, uint32_t i)
{
	struct vtaimage_tensor t;

	if (i == BOXES_NONE)
		Py_RETURN_NONE;
	vtaimage_tensor(image, i, &t);
	return PyUnicode_FromString(t.name);
}

PyObject *find_box_outputs(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct boxes_outputs found;
	char why[PICTURE_WHY_MAX];
	PyObject *result = NULL;
	struct vtaimage image;
	Py_buffer data;

	if (!PyArg_ParseTuple(args, "y*:box_outputs", &data))
		return NULL;
	if (vtaimage_open(&image, data.buf, (size_t)data.len))
		PyErr_SetString(PyExc_ValueError, image.why);
	else if (boxes_outputs_find(&found, &image, why))
		PyErr_SetString(PyExc_ValueError, why);
	else
		result = Py_BuildValue("(NNN)", name_output(&image, found.boxes),
				       name_output(&image, found.scores),
				       name_output(&image, found.classes));
	PyBuffer_Release(&data);
	return result;
}

static PyObject *list_boxes(const struct box *boxes, size_t count)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < count; i++) {
		const struct box *b = &boxes[i];
		PyObject *box = Py_BuildValue("(dddddI)", (double)b->left, (double)b->top,
					      (double)b->right, (double)b->bottom,
					      (double)b->score, b->class);

		if (!box || PyList_Append(list, box))
			Py_CLEAR(list);
		Py_XDECREF(box);
	}
	return list;
}

/* Floats of the same number of rows, or none. */
static int check_floats(const Py_buffer *b, Py_ssize_t rows, Py_ssize_t columns)
{
	if (!b->buf || b->len == rows * columns * (Py_ssize_t)sizeof(float))
		return 0;
	PyErr_SetString(PyExc_ValueError, "boxes, scores and classes are not equally many");
	return -1;
}

static PyObject *take_values(const struct vtaimage_preprocess *pre,
			     const struct vtaimage_tensor *input, const struct picture *size,
			     const Py_buffer floats[3], const struct boxes_format *format,
			     float least)
{
	Py_ssize_t columns = floats[1].buf ? 4 : 6, row = columns * (Py_ssize_t)sizeof(float);
	Py_ssize_t rows = floats[0].len / row;
	struct boxes_values values = { floats[0].buf, floats[1].buf, floats[2].buf, (size_t)rows };
	struct picture_place place;
	PyObject *list = NULL;
	struct box *boxes;
	size_t bad, count;

	if (check_floats(&floats[0], rows, columns) || check_floats(&floats[1], rows, 1) ||
	    check_floats(&floats[2], rows, 1))
		return NULL;
	boxes = PyMem_Calloc((size_t)rows + 1, sizeof(*boxes));
	if (!boxes)
		return PyErr_NoMemory();
	picture_place(size, pre, input, &place);
	count = boxes_take(boxes, &values, format, &place, least, &bad);
	list = list_boxes(boxes, count);
	PyMem_Free(boxes);
	return list;
}

PyObject *take_boxes(PyObject *Py_UNUSED(module), PyObject *args)
{
	Py_buffer data, floats[3] = { { .buf = NULL } };
	struct vtaimage_preprocess pre;
	struct vtaimage_tensor input;
	struct boxes_format format;
	struct picture size = { 0 };
	PyObject *result = NULL;
	struct vtaimage image;
	const char *words;
	float least;

	if (!PyArg_ParseTuple(args, "y*IIy*z*z*zf:boxes", &data, &size.width, &size.height,
			      &floats[0], &floats[1], &floats[2], &words, &least))
		return NULL;
	if (!size.width || !size.height)
		PyErr_SetString(PyExc_ValueError, "the picture has no pixels");
	else if (boxes_format_read(&format, words))
		PyErr_SetString(PyExc_ValueError, "format is xyxy, yxyx, xywh or cxcywh, a comma, "
				"and pixels or normalised");
	else if (!open_image(&image, &data, &pre, &input))
		result = take_values(&pre, &input, &size, floats, &format, least);
	for (int i = 0; i < 3; i++)
		if (floats[i].buf)
			PyBuffer_Release(&floats[i]);
	PyBuffer_Release(&data);
	return result;
}

/* ---- Drawing ---- */

struct drawn {
	PyObject *texts;
	const struct box *boxes;
};

static const char *text_of(void *priv, const struct box *box)
{
	struct drawn *d = priv;
	const char *text = PyUnicode_AsUTF8AndSize(PyList_GetItem(d->texts, box - d->boxes), NULL);

	if (!text)
		PyErr_Clear();
	return text ? text : "?";
}

static int take_box_tuple(PyObject *tuple, const struct picture *p, struct box *b)
{
	if (!PyArg_ParseTuple(tuple, "fffffI:box", &b->left, &b->top, &b->right, &b->bottom,
			      &b->score, &b->class))
		return -1;
	/* False for NaN, too. */
	if (b->left >= 0 && b->top >= 0 && b->right <= (float)p->width &&
	    b->bottom <= (float)p->height && b->left <= b->right && b->top <= b->bottom)
		return 0;
	PyErr_SetString(PyExc_ValueError, "a box is not on the picture");
	return -1;
}

static PyObject *draw_on(struct picture *p, const char *path, PyObject *list, PyObject *texts)
{
	Py_ssize_t count = PyList_Size(list);
	struct box *boxes = PyMem_Calloc((size_t)count + 1, sizeof(*boxes));
	struct drawn drawn = { texts, boxes };
	char why[PICTURE_WHY_MAX];
	PyObject *bytes = NULL;
	uint8_t *data;
	size_t size;

	for (Py_ssize_t i = 0; boxes && i < count; i++)
		if (take_box_tuple(PyList_GetItem(list, i), p, &boxes[i])) {
			PyMem_Free(boxes);
			return NULL;
		}
	if (!boxes)
		return PyErr_NoMemory();
	boxes_draw(p, boxes, (size_t)count, text_of, &drawn);
	if (picture_encode(p, &data, &size, why)) {
		PyErr_Format(PyExc_ValueError, "%s: %s", path, why);
	} else {
		bytes = PyBytes_FromStringAndSize((char *)data, (Py_ssize_t)size);
		free(data);
	}
	PyMem_Free(boxes);
	return bytes;
}

PyObject *draw_boxes(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *path, *list, *texts, *result = NULL;
	char why[PICTURE_WHY_MAX];
	struct picture p;

	if (!PyArg_ParseTuple(args, "O&O!O!:draw", PyUnicode_FSConverter, &path, &PyList_Type,
			      &list, &PyList_Type, &texts))
		return NULL;
	if (PyList_Size(list) != PyList_Size(texts)) {
		PyErr_SetString(PyExc_ValueError, "each box has a text");
	} else if (picture_load(&p, PyBytes_AsString(path), why)) {
		PyErr_Format(PyExc_ValueError, "%s: %s", PyBytes_AsString(path), why);
	} else {
		result = draw_on(&p, PyBytes_AsString(path), list, texts);
		picture_free(&p);
	}
	Py_DECREF(path);
	return result;
}
