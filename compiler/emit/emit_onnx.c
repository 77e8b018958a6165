// SPDX-License-Identifier: Apache-2.0
/*
 * A program as an ONNX model: one node EPContext of the domain com.microsoft, which ONNX Runtime
 * gives to the execution provider that its attribute `source` names (docs/onnxruntime.md). It has
 * the inputs and outputs of the model that was compiled.
 */
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "ir/kernel.h"
#include "onnx.pb-c.h"

#define SOURCE	"VtaExecutionProvider"

/* ONNX's number of each enum vtacpu_type */
static const int32_t onnx_types[] = {
	[VTACPU_F32] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
	[VTACPU_I8] = ONNX__TENSOR_PROTO__DATA_TYPE__INT8,
	[VTACPU_U8] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
	[VTACPU_I32] = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
	[VTACPU_I64] = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
	[VTACPU_BOOL] = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL,
};

/* A value, with all messages that describe it */
struct value {
	Onnx__ValueInfoProto info;
	Onnx__TypeProto type;
	Onnx__TypeProto__Tensor tensor;
	Onnx__TensorShapeProto shape;
	Onnx__TensorShapeProto__Dimension dims[VTAC_RANK_MAX], *list[VTAC_RANK_MAX];
};

/* The message of a value; a size that data decides has no number. */
static void fill_value(struct value *v, const struct vtac_tensor *t, const char *name)
{
	onnx__value_info_proto__init(&v->info);
	onnx__type_proto__init(&v->type);
	onnx__type_proto__tensor__init(&v->tensor);
	onnx__tensor_shape_proto__init(&v->shape);
	v->info.name = (char *)(uintptr_t)name;
	v->info.type = &v->type;
	v->type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	v->type.tensor_type = &v->tensor;
	v->tensor.has_elem_type = 1;
	v->tensor.elem_type = onnx_types[vtac_cpu_type(t->dtype)];
	v->tensor.shape = &v->shape;
	v->shape.n_dim = (size_t)t->rank;
	v->shape.dim = v->list;
	for (int i = 0; i < t->rank; i++) {
		v->list[i] = &v->dims[i];
		onnx__tensor_shape_proto__dimension__init(&v->dims[i]);
		if (t->size && i == t->open)
			continue;
		v->dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		v->dims[i].dim_value = t->dims[i];
	}
}

/* An attribute: a text of @size bytes, or 1 if @text is NULL */
static void fill_attribute(Onnx__AttributeProto *a, const char *name, const void *text, size_t size)
{
	onnx__attribute_proto__init(a);
	a->name = (char *)(uintptr_t)name;
	a->has_type = 1;
	a->type = text ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING :
		ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
	a->has_i = !text;
	a->i = !text;
	a->has_s = !!text;
	a->s = (ProtobufCBinaryData) { .len = size, .data = (uint8_t *)(uintptr_t)text };
}

static uint8_t *pack(Onnx__GraphProto *graph, size_t *packed)
{
	Onnx__OperatorSetIdProto sets[2], *list[2] = { &sets[0], &sets[1] };
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	uint8_t *data;

	onnx__operator_set_id_proto__init(&sets[0]);
	onnx__operator_set_id_proto__init(&sets[1]);
	sets[0].has_version = 1;
	sets[0].version = 17;
	sets[1].domain = (char *)(uintptr_t)"com.microsoft";
	sets[1].has_version = 1;
	sets[1].version = 1;
	model.has_ir_version = 1;
	model.ir_version = 8;
	model.producer_name = (char *)(uintptr_t)"vtac";
	model.n_opset_import = 2;
	model.opset_import = list;
	model.graph = graph;
	*packed = onnx__model_proto__get_packed_size(&model);
	data = *packed > INT32_MAX ? NULL : malloc(*packed + 1);
	if (data)
		onnx__model_proto__pack(&model, data);
	return data;
}

/* The lists of one model */
struct lists {
	struct value *values;
	Onnx__ValueInfoProto **infos;
	char **names;
};

static uint8_t *write_model(const struct vtac_graph *g, const uint8_t *image, size_t size,
			    const struct lists *l, size_t *packed)
{
	unsigned int n_out = g->n_outputs - g->n_sizes, n = g->n_inputs + n_out;
	Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
	Onnx__NodeProto node = ONNX__NODE_PROTO__INIT, *nodes = &node;
	Onnx__AttributeProto attrs[4], *attr_list[4];

	for (unsigned int i = 0; i < n; i++) {
		bool in = i < g->n_inputs;
		unsigned int k = in ? i : i - g->n_inputs;
		const char *name = in ? g->inputs[k]->name : g->output_names[k];

		fill_value(&l->values[i], in ? g->inputs[k] : g->outputs[k], name);
		l->infos[i] = &l->values[i].info;
		l->names[i] = (char *)(uintptr_t)name;
	}
	fill_attribute(&attrs[0], "main_context", NULL, 0);
	fill_attribute(&attrs[1], "embed_mode", NULL, 0);
	fill_attribute(&attrs[2], "ep_cache_context", image, size);
	fill_attribute(&attrs[3], "source", SOURCE, strlen(SOURCE));
	for (int i = 0; i < 4; i++)
		attr_list[i] = &attrs[i];
	node.name = (char *)(uintptr_t)"program";
	node.op_type = (char *)(uintptr_t)"EPContext";
	node.domain = (char *)(uintptr_t)"com.microsoft";
	node.n_attribute = 4;
	node.attribute = attr_list;
	node.n_input = g->n_inputs;
	node.input = l->names;
	node.n_output = n_out;
	node.output = l->names + g->n_inputs;
	graph.name = (char *)(uintptr_t)(g->name && *g->name ? g->name : "program");
	graph.n_node = 1;
	graph.node = &nodes;
	graph.n_input = g->n_inputs;
	graph.input = l->infos;
	graph.n_output = n_out;
	graph.output = l->infos + g->n_inputs;
	return pack(&graph, packed);
}

int vtac_emit_onnx(struct vtac_graph *g, const uint8_t *image, size_t size, uint8_t **model,
		   size_t *packed)
{
	size_t n = (size_t)g->n_inputs + g->n_outputs + 1;
	struct lists l = { .values = calloc(n, sizeof(*l.values)),
			   .infos = calloc(n, sizeof(void *)),
			   .names = calloc(n, sizeof(*l.names)) };

	*model = l.values && l.infos && l.names ? write_model(g, image, size, &l, packed) : NULL;
	free(l.values);
	free(l.infos);
	free(l.names);
	if (*model)
		return 0;
	return vtac_fail(g, NULL, "The program is too large for an ONNX model, or there is no "
			 "memory.");
}
