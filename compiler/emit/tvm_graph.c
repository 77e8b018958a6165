// SPDX-License-Identifier: Apache-2.0
/* The graph of TVM's graph executor, as JSON. */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tvm.h"

#define NODES_MAX	100000u
#define STORAGES_MAX	1000000
#define DEPTH_MAX	16

int tvm_fail(struct vtac_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

uint64_t tvm_bytes(struct tvm_type type, uint32_t rank, const int64_t *dims)
{
	uint64_t bytes = (type.bits + 7u) / 8 * type.lanes;

	for (uint32_t i = 0; i < rank; i++) {
		if (dims[i] < 1 || dims[i] > VTAIMAGE_SEGMENT_MAX)
			return 0;
		bytes *= (uint64_t)dims[i];
		if (bytes > VTAIMAGE_SEGMENT_MAX)
			return 0;
	}
	return bytes;
}

/* A list under @key of @from: NULL if there is none. */
static struct json_object *list(struct json_object *from, const char *key)
{
	struct json_object *value;

	if (!json_object_is_type(from, json_type_object) ||
	    !json_object_object_get_ex(from, key, &value) ||
	    !json_object_is_type(value, json_type_array))
		return NULL;
	return value;
}

static size_t length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* Attribute lists are ["list_int", [...]]. */
static struct json_object *attribute(struct json_object *root, const char *key)
{
	struct json_object *attrs, *value;

	if (!json_object_object_get_ex(root, "attrs", &attrs))
		return NULL;
	value = list(attrs, key);
	if (length(value) != 2)
		return NULL;
	value = json_object_array_get_idx(value, 1);
	return json_object_is_type(value, json_type_array) ? value : NULL;
}

/* Number @i of a list, which is from 0 to @most; -1 if it is not. */
static int64_t number(struct json_object *array, size_t i, int64_t most)
{
	struct json_object *value = i < length(array) ? json_object_array_get_idx(array, i) : NULL;
	int64_t n;

	if (!json_object_is_type(value, json_type_int))
		return -1;
	n = json_object_get_int64(value);
	return n >= 0 && n <= most ? n : -1;
}

static const char *text(struct json_object *from, const char *key)
{
	struct json_object *value;

	if (!json_object_is_type(from, json_type_object) ||
	    !json_object_object_get_ex(from, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static int parse_type(const char *name, struct tvm_type *type)
{
	static const struct {
		const char *name;
		uint8_t code;
	} codes[] = { { "int", 0 }, { "uint", 1 }, { "float", 2 }, { "bfloat", 4 } };
	unsigned long bits;
	char *end;

	*type = (struct tvm_type) { 1, 1, 1 };
	if (!strcmp(name, "bool"))
		return 0;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		size_t n = strlen(codes[i].name);

		if (strncmp(name, codes[i].name, n) || name[n] < '1' || name[n] > '9')
			continue;
		bits = strtoul(name + n, &end, 10);
		if (*end || bits > 64 || (bits != 8 && bits % 16))
			return -1;
		*type = (struct tvm_type) { codes[i].code, (uint8_t)bits, 1 };
		return 0;
	}
	return -1;
}

static int read_entry(struct tvm_entry *e, struct json_object *root, uint32_t i,
		      struct vtac_error *error)
{
	struct json_object *shapes = attribute(root, "shape"), *types = attribute(root, "dltype");
	struct json_object *storages = attribute(root, "storage_id");
	struct json_object *devices = attribute(root, "device_index"), *shape, *type;
	int64_t storage, device = TVM_DEVICE_CPU;

	shape = i < length(shapes) ? json_object_array_get_idx(shapes, i) : NULL;
	type = i < length(types) ? json_object_array_get_idx(types, i) : NULL;
	storage = number(storages, i, STORAGES_MAX);
	if (devices)
		device = number(devices, i, 1000);
	if (!json_object_is_type(shape, json_type_array) || length(shape) > TVM_RANK_MAX ||
	    !json_object_is_type(type, json_type_string) || storage < 0 || device < 0)
		return tvm_fail(error, "Value %u of the graph has no shape of at most %u "
				"dimensions, "
				"type, storage_id or device_index.", i, TVM_RANK_MAX);
	e->storage = (uint32_t)storage;
	e->device = (uint32_t)device;
	e->rank = (uint32_t)length(shape);
	for (uint32_t j = 0; j < e->rank; j++)
		e->dims[j] = number(shape, j, VTAIMAGE_SEGMENT_MAX);
	if (parse_type(json_object_get_string(type), &e->type))
		return tvm_fail(error, "Value %u of the graph is of type %.40s, which is not "
				"known.",
				i, json_object_get_string(type));
	e->bytes = tvm_bytes(e->type, e->rank, e->dims);
	return e->bytes ? 0 :
	       tvm_fail(error, "Value %u of the graph is empty, or larger than 1 GiB.", i);
}

/* The entry that [node, index, version] means; -1 if there is none before node @before. */
static int64_t entry_of(const struct tvm_graph *g, struct json_object *reference, uint32_t before)
{
	int64_t node = number(reference, 0, (int64_t)before - 1), index;

	if (!before || node < 0 || length(reference) < 2)
		return -1;
	index = number(reference, 1, (int64_t)g->nodes[node].n_outputs - 1);
	return index < 0 ? -1 : (int64_t)g->nodes[node].first + index;
}

static int read_inputs(struct tvm_graph *g, uint32_t i, struct json_object *inputs,
		       struct vtac_error *error)
{
	struct tvm_node *node = &g->nodes[i];

	node->n_inputs = (uint32_t)length(inputs);
	node->inputs = calloc(node->n_inputs + 1u, sizeof(*node->inputs));
	if (!node->inputs)
		return tvm_fail(error, "Out of memory.");
	for (uint32_t j = 0; j < node->n_inputs; j++) {
		int64_t entry = entry_of(g, json_object_array_get_idx(inputs, j), i);

		if (entry < 0)
			return tvm_fail(error, "%.100s: input %u is not from an earlier node.",
					node->name, j);
		node->inputs[j] = (uint32_t)entry;
	}
	return 0;
}

static bool is_c_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && n < 1000 && !name[n] && (*name < '0' || *name > '9');
}

static int read_node(struct tvm_graph *g, uint32_t i, struct json_object *json,
		     struct json_object *rows, struct vtac_error *error)
{
	const char *op = text(json, "op"), *name = text(json, "name"), *function, *flatten;
	int64_t first = number(rows, i, g->n_entries), end = number(rows, i + 1u, g->n_entries);
	struct tvm_node *node = &g->nodes[i];
	struct json_object *attrs = NULL;

	if (!op || !name || !list(json, "inputs") || first < 0 || end <= first ||
	    first != (i ? (int64_t)g->nodes[i - 1].first + g->nodes[i - 1].n_outputs : 0))
		return tvm_fail(error, "Node %u of the graph has no op, name, inputs or "
				"outputs.", i);
	node->name = strdup(name);
	node->first = (uint32_t)first;
	node->n_outputs = (uint32_t)(end - first);
	if (!node->name)
		return tvm_fail(error, "Out of memory.");
	for (int64_t j = first; j < end; j++) {
		g->entries[j].node = i;
		g->entries[j].index = (uint32_t)(j - first);
	}
	if (!strcmp(op, "null"))
		return length(list(json, "inputs")) ? tvm_fail(error, "%.100s: a value with "
							       "inputs.",
							       name) : 0;
	json_object_object_get_ex(json, "attrs", &attrs);
	function = text(attrs, "func_name");
	flatten = text(attrs, "flatten_data");
	if (strcmp(op, "tvm_op") || !function || !is_c_name(function))
		return tvm_fail(error, "%.100s: operator %.40s is not a call of a function of "
				"C.", name,
				op);
	node->flatten = flatten && !strcmp(flatten, "1");
	node->function = strdup(function);
	if (!node->function)
		return tvm_fail(error, "Out of memory.");
	return read_inputs(g, i, list(json, "inputs"), error);
}

static int read_heads(struct tvm_graph *g, struct json_object *heads, struct vtac_error *error)
{
	g->n_heads = (uint32_t)length(heads);
	if (!g->n_heads || g->n_heads > NODES_MAX)
		return tvm_fail(error, "The graph has no outputs.");
	g->heads = calloc(g->n_heads, sizeof(*g->heads));
	if (!g->heads)
		return tvm_fail(error, "Out of memory.");
	for (uint32_t i = 0; i < g->n_heads; i++) {
		int64_t entry = entry_of(g, json_object_array_get_idx(heads, i), g->n_nodes);

		if (entry < 0)
			return tvm_fail(error, "Output %u of the graph is not from a node.", i);
		g->heads[i] = (uint32_t)entry;
	}
	return 0;
}

static int read_root(struct tvm_graph *g, struct json_object *root, struct vtac_error *error)
{
	struct json_object *nodes = list(root, "nodes"), *rows = list(root, "node_row_ptr");
	size_t count = length(nodes);
	int64_t entries;

	if (!count || count > NODES_MAX || length(rows) != count + 1)
		return tvm_fail(error, "This is not a graph of TVM's graph executor of at most %u "
				"nodes.", NODES_MAX);
	entries = number(rows, count, 4 * NODES_MAX);
	if (entries < 1)
		return tvm_fail(error, "The graph has no values.");
	g->nodes = calloc(count, sizeof(*g->nodes));
	g->entries = calloc((size_t)entries, sizeof(*g->entries));
	if (!g->nodes || !g->entries)
		return tvm_fail(error, "Out of memory.");
	g->n_nodes = (uint32_t)count;
	g->n_entries = (uint32_t)entries;
	for (uint32_t i = 0; i < g->n_entries; i++)
		if (read_entry(&g->entries[i], root, i, error))
			return -1;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (read_node(g, i, json_object_array_get_idx(nodes, i), rows, error))
			return -1;
	return read_heads(g, list(root, "heads"), error);
}

int tvm_graph_read(struct tvm_graph *g, const char *text, size_t size, struct vtac_error *error)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *root = NULL;
	int ret = -1;

	*g = (struct tvm_graph) { .nodes = NULL };
	if (tokener && size <= INT32_MAX)
		root = json_tokener_parse_ex(tokener, text, (int)size);
	if (root)
		ret = read_root(g, root, error);
	else
		tvm_fail(error, "The graph is not JSON.");
	json_object_put(root);
	if (tokener)
		json_tokener_free(tokener);
	return ret;
}

void tvm_graph_free(struct tvm_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		free(g->nodes[i].name);
		free(g->nodes[i].function);
		free(g->nodes[i].inputs);
	}
	free(g->nodes);
	free(g->entries);
	free(g->heads);
}
