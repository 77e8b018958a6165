// SPDX-License-Identifier: Apache-2.0
/*
 * A part of a graph as an ONNX file in memory. All values get names of their own: in0, in1, ... for
 * inputs, out0, out1, ... for outputs, v and a number for others. So names of any form in the
 * user's file cannot collide, or be too long for a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "provider.h"

/* Sizes of the format are of 32 bits. */
#define FILE_MAX	INT32_MAX
/* Bytes of a file with one node, besides its constants */
#define FILE_REST	(1 << 20)

struct writer {
	const struct graph *g;
	struct memory memory;
	const char **names;		/* of values, or NULL */
	bool *written;			/* constants that the file has */
	Onnx__GraphProto file;
};

static char *make_name(struct writer *w, const char *prefix, size_t i)
{
	char text[40];
	char *name;

	snprintf(text, sizeof(text), "%s%zu", prefix, i);
	name = memory_get(&w->memory, 1, strlen(text) + 1);
	return name ? strcpy(name, text) : NULL;
}

/* The value's name in the file; "" if it is left out; NULL without memory. */
static const char *name_of(struct writer *w, size_t value)
{
	if (value == NO_VALUE)
		return "";
	if (!w->names[value])
		w->names[value] = make_name(w, "v", value);
	return w->names[value];
}

/* ---- tensors ---- */

static OrtStatus *fill_tensor(struct writer *w, Onnx__TensorProto *t, const OrtValue *value)
{
	OrtTensorTypeAndShapeInfo *info;
	ONNXTensorElementDataType type;
	size_t bytes = 0;
	const void *data = NULL;
	OrtStatus *err;

	TRY(ort->GetTensorTypeAndShape(value, &info));
	err = ort->GetTensorElementType(info, &type);
	if (!err)
		err = ort->GetDimensionsCount(info, &t->n_dims);
	if (!err) {
		t->dims = memory_get(&w->memory, t->n_dims + 1, sizeof(*t->dims));
		err = t->dims ? ort->GetDimensions(info, t->dims, t->n_dims) : ort_no_memory();
	}
	ort->ReleaseTensorTypeAndShapeInfo(info);
	if (err)
		return err;
	/* The types' numbers are those of ONNX. Texts have no bytes to copy. */
	if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
		return ort_fail(ORT_NOT_IMPLEMENTED, "a constant has texts");
	t->has_data_type = 1;
	t->data_type = (int32_t)type;
	TRY(ort->GetTensorSizeInBytes(value, &bytes));
	TRY(ort->GetTensorData(value, &data));
	t->has_raw_data = 1;
	t->raw_data = (ProtobufCBinaryData) { .len = bytes, .data = (uint8_t *)(uintptr_t)data };
	return NULL;
}

static Onnx__TensorProto *new_tensor(struct writer *w)
{
	Onnx__TensorProto *t = memory_get(&w->memory, 1, sizeof(*t));

	if (t)
		onnx__tensor_proto__init(t);
	return t;
}

static OrtStatus *write_constant(struct writer *w, size_t value)
{
	Onnx__TensorProto *t = new_tensor(w);
	const OrtValue *data;

	if (!t)
		return ort_no_memory();
	t->name = (char *)(uintptr_t)name_of(w, value);
	if (!t->name)
		return ort_no_memory();
	TRY(ort->ValueInfo_GetInitializerValue(w->g->values[value].info, &data));
	w->written[value] = true;
	w->file.initializer[w->file.n_initializer++] = t;
	return data ? fill_tensor(w, t, data) : ort_fail(ORT_FAIL, "a constant has no value");
}

/* An input or output, with its shape if that is known. */
static Onnx__ValueInfoProto *describe_value(struct writer *w, size_t value)
{
	const struct value *v = &w->g->values[value];
	Onnx__ValueInfoProto *info = memory_get(&w->memory, 1, sizeof(*info));
	Onnx__TypeProto *type = memory_get(&w->memory, 1, sizeof(*type));
	Onnx__TypeProto__Tensor *tensor = memory_get(&w->memory, 1, sizeof(*tensor));
	Onnx__TensorShapeProto *shape = memory_get(&w->memory, 1, sizeof(*shape));
	Onnx__TensorShapeProto__Dimension *dims =
		memory_get(&w->memory, v->rank + 1, sizeof(*dims));
	Onnx__TensorShapeProto__Dimension **list =
		memory_get(&w->memory, v->rank + 1, sizeof(*list));

	if (!info || !type || !tensor || !shape || !dims || !list)
		return NULL;
	onnx__value_info_proto__init(info);
	onnx__type_proto__init(type);
	onnx__type_proto__tensor__init(tensor);
	onnx__tensor_shape_proto__init(shape);
	info->name = (char *)(uintptr_t)w->names[value];
	info->type = type;
	type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type->tensor_type = tensor;
	tensor->has_elem_type = 1;
	tensor->elem_type = (int32_t)v->type;
	for (size_t i = 0; v->shaped && i < v->rank; i++) {
		onnx__tensor_shape_proto__dimension__init(&dims[i]);
		dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		dims[i].dim_value = v->dims[i];
		list[i] = &dims[i];
	}
	if (v->shaped) {
		shape->n_dim = v->rank;
		shape->dim = list;
		tensor->shape = shape;
	}
	return info;
}

/* ---- nodes ---- */

/* Read the values of an attribute; @bytes: out: of all of them */
static OrtStatus *read_attribute(struct writer *w, const OrtOpAttr *attr, OrtOpAttrType type,
				 void **values, size_t *bytes)
{
	size_t got = 0;
	OrtStatus *err = ort->ReadOpAttr(attr, type, NULL, 0, bytes);

	/* Without room it fails, and has set the bytes. */
	if (err)
		ort->ReleaseStatus(err);
	*values = memory_get(&w->memory, *bytes + 1, 1);
	if (!*values)
		return ort_no_memory();
	return *bytes ? ort->ReadOpAttr(attr, type, *values, *bytes, &got) : NULL;
}

/* ONNX Runtime has strings one after the other, each with a NUL at its end. */
static OrtStatus *split_strings(struct writer *w, Onnx__AttributeProto *a, char *text, size_t bytes)
{
	a->strings = memory_get(&w->memory, bytes + 1, sizeof(*a->strings));
	if (!a->strings)
		return ort_no_memory();
	for (char *end = text + bytes; text < end; text += strlen(text) + 1)
		a->strings[a->n_strings++] = (ProtobufCBinaryData) {
			.len = strlen(text), .data = (uint8_t *)text };
	return NULL;
}

static OrtStatus *fill_attribute(struct writer *w, Onnx__AttributeProto *a, const OrtOpAttr *attr)
{
	OrtOpAttrType type;
	const char *name;
	void *values = NULL;
	size_t bytes = 0;
	OrtValue *tensor = NULL;
	OrtStatus *err;

	TRY(ort->OpAttr_GetName(attr, &name));
	TRY(ort->OpAttr_GetType(attr, &type));
	a->name = (char *)(uintptr_t)name;
	a->has_type = 1;
	if (type != ORT_OP_ATTR_TENSOR)
		TRY(read_attribute(w, attr, type, &values, &bytes));
	switch (type) {
	case ORT_OP_ATTR_INT:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
		a->has_i = 1;
		if (bytes == sizeof(a->i))
			memcpy(&a->i, values, sizeof(a->i));
		return NULL;
	case ORT_OP_ATTR_INTS:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
		a->n_ints = bytes / sizeof(*a->ints);
		a->ints = values;
		return NULL;
	case ORT_OP_ATTR_FLOAT:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
		a->has_f = 1;
		if (bytes == sizeof(a->f))
			memcpy(&a->f, values, sizeof(a->f));
		return NULL;
	case ORT_OP_ATTR_FLOATS:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
		a->n_floats = bytes / sizeof(*a->floats);
		a->floats = values;
		return NULL;
	case ORT_OP_ATTR_STRING:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
		a->has_s = 1;
		a->s = (ProtobufCBinaryData) { .len = strlen(values), .data = values };
		return NULL;
	case ORT_OP_ATTR_STRINGS:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
		return split_strings(w, a, values, bytes);
	case ORT_OP_ATTR_TENSOR:
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
		a->t = new_tensor(w);
		if (!a->t)
			return ort_no_memory();
		TRY(ort->OpAttr_GetTensorAttributeAsOrtValue(attr, &tensor));
		if (!tensor)
			return ort_fail(ORT_FAIL, "an attribute has no tensor");
		err = fill_tensor(w, a->t, tensor);
		/* The file is packed when the tensor is gone. */
		if (!err && a->t->raw_data.len) {
			values = memory_get(&w->memory, a->t->raw_data.len, 1);
			if (values)
				a->t->raw_data.data = memcpy(values, a->t->raw_data.data,
							     a->t->raw_data.len);
			else
				err = ort_no_memory();
		}
		ort->ReleaseValue(tensor);
		return err;
	default:
		return ort_fail(ORT_NOT_IMPLEMENTED, "attribute %s has another type", name);
	}
}

static OrtStatus *write_attributes(struct writer *w, Onnx__NodeProto *n, const OrtNode *node)
{
	const OrtOpAttr **attrs;
	Onnx__AttributeProto *a;

	TRY(ort->Node_GetNumAttributes(node, &n->n_attribute));
	attrs = memory_get(&w->memory, n->n_attribute + 1, sizeof(*attrs));
	a = memory_get(&w->memory, n->n_attribute + 1, sizeof(*a));
	n->attribute = memory_get(&w->memory, n->n_attribute + 1, sizeof(*n->attribute));
	if (!attrs || !a || !n->attribute)
		return ort_no_memory();
	TRY(ort->Node_GetAttributes(node, attrs, n->n_attribute));
	for (size_t i = 0; i < n->n_attribute; i++) {
		onnx__attribute_proto__init(&a[i]);
		n->attribute[i] = &a[i];
		TRY(fill_attribute(w, &a[i], attrs[i]));
	}
	return NULL;
}

static char **write_slots(struct writer *w, const size_t *values, size_t n)
{
	char **names = memory_get(&w->memory, n + 1, sizeof(*names));

	for (size_t i = 0; names && i < n; i++) {
		names[i] = (char *)(uintptr_t)name_of(w, values[i]);
		if (!names[i])
			return NULL;
	}
	return names;
}

static OrtStatus *write_node(struct writer *w, size_t i, bool numbered)
{
	const struct node *node = &w->g->nodes[i];
	Onnx__NodeProto *n = memory_get(&w->memory, 1, sizeof(*n));
	const char *name, *type, *domain;

	if (!n)
		return ort_no_memory();
	onnx__node_proto__init(n);
	for (size_t k = 0; k < node->n_in; k++) {
		size_t v = node->in[k];

		if (v != NO_VALUE && w->g->values[v].constant && !w->written[v])
			TRY(write_constant(w, v));
	}
	TRY(ort->Node_GetName(node->node, &name));
	TRY(ort->Node_GetOperatorType(node->node, &type));
	n->name = numbered ? make_name(w, "n", i) : (char *)(uintptr_t)name;
	TRY(ort->Node_GetDomain(node->node, &domain));
	n->op_type = (char *)(uintptr_t)type;
	n->domain = (char *)(uintptr_t)domain;
	n->n_input = node->n_in;
	n->n_output = node->n_out;
	n->input = write_slots(w, node->in, node->n_in);
	n->output = write_slots(w, node->out, node->n_out);
	if (!n->name || !n->input || !n->output)
		return ort_no_memory();
	w->file.node[w->file.n_node++] = n;
	return write_attributes(w, n, node->node);
}

/* ---- the file ---- */

static OrtStatus *write_opsets(struct writer *w, Onnx__ModelProto *m)
{
	const char **domains;
	int64_t *versions;
	Onnx__OperatorSetIdProto *sets;

	TRY(ort->Graph_GetNumOperatorSets(w->g->graph, &m->n_opset_import));
	domains = memory_get(&w->memory, m->n_opset_import + 1, sizeof(*domains));
	versions = memory_get(&w->memory, m->n_opset_import + 1, sizeof(*versions));
	sets = memory_get(&w->memory, m->n_opset_import + 1, sizeof(*sets));
	m->opset_import = memory_get(&w->memory, m->n_opset_import + 1, sizeof(*m->opset_import));
	if (!domains || !versions || !sets || !m->opset_import)
		return ort_no_memory();
	TRY(ort->Graph_GetOperatorSets(w->g->graph, domains, versions, m->n_opset_import));
	for (size_t i = 0; i < m->n_opset_import; i++) {
		onnx__operator_set_id_proto__init(&sets[i]);
		sets[i].domain = (char *)(uintptr_t)domains[i];
		sets[i].has_version = 1;
		sets[i].version = versions[i];
		m->opset_import[i] = &sets[i];
	}
	return NULL;
}

static OrtStatus *write_border(struct writer *w, const struct part *part)
{
	for (size_t i = 0; i < part->n_inputs; i++)
		w->names[part->inputs[i]] = make_name(w, "in", i);
	for (size_t i = 0; i < part->n_outputs; i++)
		w->names[part->outputs[i]] = make_name(w, "out", i);
	w->file.n_input = part->n_inputs;
	w->file.n_output = part->n_outputs;
	w->file.input = memory_get(&w->memory, part->n_inputs + 1, sizeof(*w->file.input));
	w->file.output = memory_get(&w->memory, part->n_outputs + 1, sizeof(*w->file.output));
	if (!w->file.input || !w->file.output)
		return ort_no_memory();
	for (size_t i = 0; i < part->n_inputs; i++) {
		w->file.input[i] = describe_value(w, part->inputs[i]);
		if (!w->file.input[i] || !w->names[part->inputs[i]])
			return ort_no_memory();
	}
	for (size_t i = 0; i < part->n_outputs; i++) {
		w->file.output[i] = describe_value(w, part->outputs[i]);
		if (!w->file.output[i] || !w->names[part->outputs[i]])
			return ort_no_memory();
	}
	return NULL;
}

static OrtStatus *pack(const Onnx__ModelProto *m, uint8_t **data, size_t *size)
{
	*size = onnx__model_proto__get_packed_size(m);
	if (*size > FILE_MAX)
		return ort_fail(ORT_NOT_IMPLEMENTED, "the model has more than 2 GiB");
	*data = malloc(*size + 1);
	if (!*data)
		return ort_no_memory();
	onnx__model_proto__pack(m, *data);
	return NULL;
}

static OrtStatus *write_model(struct writer *w, const struct part *part, bool numbered,
			      uint8_t **data, size_t *size)
{
	Onnx__ModelProto m = ONNX__MODEL_PROTO__INIT;

	onnx__graph_proto__init(&w->file);
	w->file.name = (char *)(uintptr_t)"part";
	w->names = memory_get(&w->memory, w->g->n_values + 1, sizeof(*w->names));
	w->written = memory_get(&w->memory, w->g->n_values + 1, sizeof(*w->written));
	w->file.node = memory_get(&w->memory, part->n_nodes + 1, sizeof(*w->file.node));
	w->file.initializer = memory_get(&w->memory, w->g->n_values + 1,
					 sizeof(*w->file.initializer));
	if (!w->names || !w->written || !w->file.node || !w->file.initializer)
		return ort_no_memory();
	TRY(write_border(w, part));
	for (size_t i = 0; i < part->n_nodes; i++)
		TRY(write_node(w, part->nodes[i], numbered));
	m.has_ir_version = 1;
	TRY(ort->Graph_GetOnnxIRVersion(w->g->graph, &m.ir_version));
	m.graph = &w->file;
	TRY(write_opsets(w, &m));
	return pack(&m, data, size);
}

static bool is_writable(OrtOpAttrType type)
{
	switch (type) {
	case ORT_OP_ATTR_INT:
	case ORT_OP_ATTR_INTS:
	case ORT_OP_ATTR_FLOAT:
	case ORT_OP_ATTR_FLOATS:
	case ORT_OP_ATTR_STRING:
	case ORT_OP_ATTR_STRINGS:
	case ORT_OP_ATTR_TENSOR:
		return true;
	default:
		return false;
	}
}

/* Find the bytes of a tensor; @numbers: out: it has no texts. */
static OrtStatus *measure_tensor(const OrtValue *value, size_t *bytes, bool *numbers)
{
	OrtTensorTypeAndShapeInfo *info;
	ONNXTensorElementDataType type;
	OrtStatus *err;

	TRY(ort->GetTensorTypeAndShape(value, &info));
	err = ort->GetTensorElementType(info, &type);
	ort->ReleaseTensorTypeAndShapeInfo(info);
	if (err)
		return err;
	*numbers = type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
	return *numbers ? ort->GetTensorSizeInBytes(value, bytes) : NULL;
}

static OrtStatus *check_attributes(struct memory *m, const OrtNode *node, const char **why)
{
	const OrtOpAttr **attrs;
	size_t n;

	TRY(ort->Node_GetNumAttributes(node, &n));
	attrs = memory_get(m, n + 1, sizeof(*attrs));
	if (!attrs)
		return ort_no_memory();
	TRY(ort->Node_GetAttributes(node, attrs, n));
	for (size_t i = 0; i < n && !*why; i++) {
		OrtValue *tensor = NULL;
		bool numbers = true;
		OrtOpAttrType type;
		OrtStatus *err;
		size_t bytes;

		TRY(ort->OpAttr_GetType(attrs[i], &type));
		if (!is_writable(type))
			*why = "it has an attribute of a type that the compiler does not read.";
		if (type != ORT_OP_ATTR_TENSOR)
			continue;
		TRY(ort->OpAttr_GetTensorAttributeAsOrtValue(attrs[i], &tensor));
		if (!tensor)
			continue;
		err = measure_tensor(tensor, &bytes, &numbers);
		ort->ReleaseValue(tensor);
		if (err)
			return err;
		if (!numbers)
			*why = "it has an attribute of texts.";
	}
	return NULL;
}

OrtStatus *model_check(const struct graph *g, size_t node, const char **why)
{
	const struct node *n = &g->nodes[node];
	struct memory memory = { 0 };
	size_t sum = 0;
	OrtStatus *err;

	*why = NULL;
	err = check_attributes(&memory, n->node, why);
	memory_free(&memory);
	for (size_t i = 0; !err && !*why && i < n->n_in; i++) {
		const OrtValue *data = NULL;
		bool numbers = true;
		size_t bytes = 0;

		if (n->in[i] == NO_VALUE || !g->values[n->in[i]].constant)
			continue;
		err = ort->ValueInfo_GetInitializerValue(g->values[n->in[i]].info, &data);
		if (!err && data)
			err = measure_tensor(data, &bytes, &numbers);
		if (!numbers)
			*why = "it has a constant of texts.";
		else if (__builtin_add_overflow(sum, bytes, &sum) || sum > FILE_MAX - FILE_REST)
			*why = "its constants have more than 2 GiB.";
	}
	return err;
}

OrtStatus *model_write(const struct graph *g, const struct part *part, bool numbered,
		       uint8_t **data, size_t *size)
{
	struct writer w = { .g = g };
	OrtStatus *err = write_model(&w, part, numbered, data, size);

	memory_free(&w.memory);
	return err;
}
