// SPDX-License-Identifier: Apache-2.0
/* A graph of ONNX Runtime as arrays: nodes in topological order, and values by name. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* ---- memory ---- */

struct memory_block {
	struct memory_block *next;
	max_align_t bytes[];
};

void *memory_get(struct memory *m, size_t n, size_t size)
{
	struct memory_block *b;
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*b), &bytes))
		return NULL;
	b = calloc(1, bytes);
	if (!b)
		return NULL;
	b->next = m->blocks;
	m->blocks = b;
	return b->bytes;
}

void memory_free(struct memory *m)
{
	while (m->blocks) {
		struct memory_block *b = m->blocks;

		m->blocks = b->next;
		free(b);
	}
}

/* ---- values ---- */

bool is_number(ONNXTensorElementDataType type)
{
	switch (type) {
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
		return true;
	default:
		return false;
	}
}

static OrtStatus *read_shape(struct value *v, const OrtTensorTypeAndShapeInfo *tensor)
{
	TRY(ort->GetTensorElementType(tensor, &v->type));
	TRY(ort->GetDimensionsCount(tensor, &v->rank));
	if (v->rank > sizeof(v->dims) / sizeof(v->dims[0]))
		return NULL;
	TRY(ort->GetDimensions(tensor, v->dims, v->rank));
	/* An unknown rank is reported as 0: a value that may be a scalar is not known. */
	v->shaped = v->rank > 0 || v->constant;
	for (size_t i = 0; i < v->rank; i++)
		v->shaped = v->shaped && v->dims[i] > 0;
	return NULL;
}

static OrtStatus *read_value(struct value *v)
{
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	const OrtTypeInfo *type;

	TRY(ort->ValueInfo_IsConstantInitializer(v->info, &v->constant));
	TRY(ort->ValueInfo_IsGraphOutput(v->info, &v->output));
	TRY(ort->GetValueInfoTypeInfo(v->info, &type));
	if (type)
		TRY(ort->CastTypeInfoToTensorInfo(type, &tensor));
	return tensor ? read_shape(v, tensor) : NULL;
}

static int compare_values(const void *a, const void *b)
{
	return strcmp(((const struct value *)a)->name, ((const struct value *)b)->name);
}

size_t graph_find(const struct graph *g, const char *name)
{
	const struct value key = { .name = name };
	const struct value *v = g->n_values ? bsearch(&key, g->values, g->n_values, sizeof(key),
						      compare_values) : NULL;

	return v ? (size_t)(v - g->values) : NO_VALUE;
}

/* ---- nodes ---- */

/* The values of one node, as ONNX Runtime has them: inputs, hidden ones, outputs */
struct slots {
	const OrtValueInfo **in, **out;
};

static OrtStatus *read_node(struct graph *g, struct node *node, struct slots *s)
{
	size_t subgraphs, n_in;

	TRY(ort->Node_GetNumInputs(node->node, &n_in));
	TRY(ort->Node_GetNumImplicitInputs(node->node, &node->n_hidden));
	TRY(ort->Node_GetNumOutputs(node->node, &node->n_out));
	TRY(ort->Node_GetNumSubgraphs(node->node, &subgraphs));
	TRY(context_is_ours(node->node, &node->context));
	node->plain = !subgraphs && !node->context;
	node->n_in = n_in + node->n_hidden;
	s->in = memory_get(&g->memory, node->n_in + node->n_out + 1, sizeof(*s->in));
	node->in = memory_get(&g->memory, node->n_in + node->n_out + 1, sizeof(*node->in));
	if (!s->in || !node->in)
		return ort_no_memory();
	s->out = s->in + node->n_in;
	node->out = node->in + node->n_in;
	TRY(ort->Node_GetInputs(node->node, s->in, n_in));
	if (node->n_hidden)
		TRY(ort->Node_GetImplicitInputs(node->node, s->in + n_in, node->n_hidden));
	return ort->Node_GetOutputs(node->node, s->out, node->n_out);
}

/* Collect the names of @n slots behind those that are there; "" is a value that is left out. */
static OrtStatus *collect_values(struct graph *g, const OrtValueInfo *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct value v = { .info = slots[i], .producer = -1 };

		if (!slots[i])
			continue;
		TRY(ort->GetValueInfoName(slots[i], &v.name));
		if (v.name[0])
			g->values[g->n_values++] = v;
	}
	return NULL;
}

static OrtStatus *number_slots(const struct graph *g, const OrtValueInfo *const *slots, size_t n,
			       size_t *numbers)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = "";

		if (slots[i])
			TRY(ort->GetValueInfoName(slots[i], &name));
		numbers[i] = name[0] ? graph_find(g, name) : NO_VALUE;
	}
	return NULL;
}

/* Sort values by name, and keep one of each. */
static OrtStatus *sort_values(struct graph *g)
{
	size_t n = 0;

	if (g->n_values)
		qsort(g->values, g->n_values, sizeof(*g->values), compare_values);
	for (size_t i = 0; i < g->n_values; i++)
		if (!n || compare_values(&g->values[n - 1], &g->values[i]))
			g->values[n++] = g->values[i];
	g->n_values = n;
	for (size_t i = 0; i < n; i++)
		TRY(read_value(&g->values[i]));
	return NULL;
}

/* ---- the order of nodes ---- */

/* The place of a node in an order: the file's, then ONNX Runtime's */
struct place {
	size_t id, number;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	if (p->id != q->id)
		return p->id < q->id ? -1 : 1;
	return p->number < q->number ? -1 : p->number > q->number;
}

/* Find the places of nodes: one that the file lacks is placed before the first that needs it. */
static OrtStatus *find_places(const struct graph *g, struct place *places)
{
	for (size_t i = 0; i < g->n_nodes; i++) {
		places[i].number = i;
		TRY(ort->Node_GetId(g->nodes[i].node, &places[i].id));
	}
	for (size_t i = g->n_nodes; i--;)
		for (size_t k = 0; k < g->nodes[i].n_in; k++) {
			size_t v = g->nodes[i].in[k];
			ptrdiff_t p = v == NO_VALUE ? -1 : g->values[v].producer;

			if (p >= 0 && places[p].id > places[i].id)
				places[p].id = places[i].id;
		}
	return NULL;
}

/* Set the producers of values. */
static void find_producers(struct graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		for (size_t k = 0; k < g->nodes[i].n_out; k++)
			if (g->nodes[i].out[k] != NO_VALUE)
				g->values[g->nodes[i].out[k]].producer = (ptrdiff_t)i;
}

/*
 * Order nodes as in the file: ONNX Runtime's order is another one, and the compiler's choices
 * depend on it. ONNX Runtime numbers nodes as it reads them, and those of its optimiser after them.
 */
static OrtStatus *order_nodes(struct graph *g)
{
	struct place *places = memory_get(&g->memory, g->n_nodes + 1, sizeof(*places));
	struct node *ordered = memory_get(&g->memory, g->n_nodes + 1, sizeof(*ordered));

	if (!places || !ordered)
		return ort_no_memory();
	find_producers(g);
	TRY(find_places(g, places));
	qsort(places, g->n_nodes, sizeof(*places), compare_places);
	for (size_t i = 0; i < g->n_nodes; i++)
		ordered[i] = g->nodes[places[i].number];
	g->nodes = ordered;
	find_producers(g);
	return NULL;
}

OrtStatus *graph_read(struct graph *g, const OrtGraph *graph)
{
	const OrtNode **nodes;
	struct slots *slots;
	size_t n_slots = 0;

	*g = (struct graph) { .graph = graph };
	TRY(ort->Graph_GetNumNodes(graph, &g->n_nodes));
	nodes = memory_get(&g->memory, g->n_nodes + 1, sizeof(*nodes));
	slots = memory_get(&g->memory, g->n_nodes + 1, sizeof(*slots));
	g->nodes = memory_get(&g->memory, g->n_nodes + 1, sizeof(*g->nodes));
	if (!nodes || !slots || !g->nodes)
		return ort_no_memory();
	TRY(ort->Graph_GetNodes(graph, nodes, g->n_nodes));
	for (size_t i = 0; i < g->n_nodes; i++) {
		g->nodes[i].node = nodes[i];
		TRY(read_node(g, &g->nodes[i], &slots[i]));
		n_slots += g->nodes[i].n_in + g->nodes[i].n_out;
	}
	g->values = memory_get(&g->memory, n_slots + 1, sizeof(*g->values));
	if (!g->values)
		return ort_no_memory();
	for (size_t i = 0; i < g->n_nodes; i++)
		TRY(collect_values(g, slots[i].in, g->nodes[i].n_in + g->nodes[i].n_out));
	TRY(sort_values(g));
	for (size_t i = 0; i < g->n_nodes; i++)
		TRY(number_slots(g, slots[i].in, g->nodes[i].n_in + g->nodes[i].n_out,
				 g->nodes[i].in));
	return order_nodes(g);
}

void graph_free(struct graph *g)
{
	memory_free(&g->memory);
}
