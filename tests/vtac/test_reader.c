// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of compiler/onnx: a wrong model gets a sentence with the reason, and nothing else happens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../frame.h"
#include "onnx.pb-c.h"
#include "api/vtac.h"

/* ---- a model of at most a few nodes, in fixed memory ---- */

#define MAX	8

struct maker {
	Onnx__ModelProto model;
	Onnx__GraphProto graph;
	Onnx__OperatorSetIdProto opset, *opsets[1];
	Onnx__NodeProto node[MAX], *nodes[MAX];
	char *in[MAX][5], *out[MAX][2];
	Onnx__TensorProto tensor[MAX], *tensors[MAX];
	Onnx__ValueInfoProto value[MAX], *inputs[MAX], *outputs[MAX];
	Onnx__TypeProto type[MAX];
	Onnx__TypeProto__Tensor tensor_type[MAX];
	Onnx__TensorShapeProto shape[MAX];
	Onnx__TensorShapeProto__Dimension dim[MAX][4], *dims[MAX][4];
	int64_t sizes[MAX][4];
	unsigned int n_values;
	Onnx__AttributeProto attr[MAX], *attrs[MAX];	/* of the first node */
	uint8_t *bytes;
	size_t len;
};

static void begin(struct maker *m)
{
	memset(m, 0, sizeof(*m));
	onnx__model_proto__init(&m->model);
	onnx__graph_proto__init(&m->graph);
	onnx__operator_set_id_proto__init(&m->opset);
	m->opset.has_version = 1;
	m->opset.version = 13;
	m->opsets[0] = &m->opset;
	m->model.opset_import = m->opsets;
	m->model.n_opset_import = 1;
	m->model.graph = &m->graph;
	m->graph.node = m->nodes;
	m->graph.input = m->inputs;
	m->graph.output = m->outputs;
	m->graph.initializer = m->tensors;
}

static void add_node(struct maker *m, const char *op, const char *a, const char *b,
		     const char *out)
{
	size_t i = m->graph.n_node++;
	Onnx__NodeProto *n = &m->node[i];

	onnx__node_proto__init(n);
	m->nodes[i] = n;
	n->op_type = (char *)(uintptr_t)op;
	n->input = m->in[i];
	n->output = m->out[i];
	m->in[i][n->n_input++] = (char *)(uintptr_t)a;
	if (b)
		m->in[i][n->n_input++] = (char *)(uintptr_t)b;
	m->out[i][n->n_output++] = (char *)(uintptr_t)out;
}

static Onnx__ValueInfoProto *new_value(struct maker *m, const char *name, int n_dims)
{
	unsigned int i = m->n_values++;

	onnx__value_info_proto__init(&m->value[i]);
	onnx__type_proto__init(&m->type[i]);
	onnx__type_proto__tensor__init(&m->tensor_type[i]);
	onnx__tensor_shape_proto__init(&m->shape[i]);
	m->value[i].name = (char *)(uintptr_t)name;
	m->value[i].type = &m->type[i];
	m->type[i].value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	m->type[i].tensor_type = &m->tensor_type[i];
	m->tensor_type[i].has_elem_type = 1;
	m->tensor_type[i].elem_type = 1;
	m->tensor_type[i].shape = &m->shape[i];
	m->shape[i].dim = m->dims[i];
	m->shape[i].n_dim = (size_t)n_dims;
	for (int d = 0; d < n_dims; d++) {
		onnx__tensor_shape_proto__dimension__init(&m->dim[i][d]);
		m->dims[i][d] = &m->dim[i][d];
		m->dim[i][d].value_case =
			ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		m->dim[i][d].dim_value = 4;
	}
	return &m->value[i];
}

static void add_input(struct maker *m, const char *name, int n_dims)
{
	m->inputs[m->graph.n_input++] = new_value(m, name, n_dims);
}

static void add_output(struct maker *m, const char *name)
{
	m->outputs[m->graph.n_output++] = new_value(m, name, 2);
}

static Onnx__TensorProto *add_const(struct maker *m, const char *name, int64_t a, int64_t b)
{
	size_t i = m->graph.n_initializer++;
	Onnx__TensorProto *t = &m->tensor[i];

	onnx__tensor_proto__init(t);
	m->tensors[i] = t;
	t->name = (char *)(uintptr_t)name;
	t->has_data_type = 1;
	t->data_type = 1;
	t->n_dims = 2;
	t->dims = m->sizes[i];
	t->dims[0] = a;
	t->dims[1] = b;
	return t;
}

/* An attribute of the first node. */
static void add_attr(struct maker *m, const char *name, int64_t value)
{
	size_t i = m->node[0].n_attribute++;

	onnx__attribute_proto__init(&m->attr[i]);
	m->attrs[i] = &m->attr[i];
	m->node[0].attribute = m->attrs;
	m->attr[i].name = (char *)(uintptr_t)name;
	m->attr[i].has_i = 1;
	m->attr[i].i = value;
}

/* input -> Relu -> output: a model that is good. */
static void good(struct maker *m)
{
	begin(m);
	add_input(m, "input", 2);
	add_node(m, "Relu", "input", NULL, "output");
	add_output(m, "output");
}

static void pack(struct maker *m)
{
	m->len = onnx__model_proto__get_packed_size(&m->model);
	m->bytes = malloc(m->len + 1);
	assert_non_null(m->bytes);
	onnx__model_proto__pack(&m->model, m->bytes);
}

/* Reading and inferring shapes; NULL: it must be good, else what the sentence has in it. */
static void expect_in(struct maker *m, const char *dir, const char *what)
{
	struct vtac_graph *g = vtac_graph_new(64 << 20);
	struct vtac_options opt = { 0 };
	int err;

	assert_non_null(g);
	if (!m->bytes)
		pack(m);
	err = vtac_read_onnx_memory(g, m->bytes, m->len, dir);
	if (!err)
		err = vtac_pass_shape(g, &opt);
	if (!what && err)
		fail_msg("not read: %s", g->error.text);
	if (what && !err)
		fail_msg("read, without: %s", what);
	if (what && !strstr(g->error.text, what))
		fail_msg("\"%s\" instead of \"%s\"", g->error.text, what);
	vtac_graph_free(g);
	free(m->bytes);
	m->bytes = NULL;
}

static void expect(struct maker *m, const char *what)
{
	expect_in(m, NULL, what);
}

/* ---- the tests ---- */

TEST(good_models_are_read)
{
	float values[16] = { 0 };
	Onnx__TensorProto *t;
	struct maker m;

	good(&m);
	expect(&m, NULL);
	good(&m);
	t = add_const(&m, "w", 4, 4);
	t->n_float_data = 16;
	t->float_data = values;
	add_node(&m, "MatMul", "input", "w", "unused");
	expect(&m, NULL);
}

TEST(graphs_that_are_no_graphs)
{
	struct maker m;

	begin(&m);
	add_node(&m, "Relu", "b", NULL, "a");
	add_node(&m, "Relu", "a", NULL, "b");
	add_output(&m, "b");
	expect(&m, "depends on its own output");

	good(&m);
	add_node(&m, "Relu", "input", NULL, "output");
	expect(&m, "defined elsewhere too");

	good(&m);
	add_node(&m, "Relu", "output", NULL, "input");
	expect(&m, "defined elsewhere too");

	good(&m);
	add_node(&m, "Add", "output", "nowhere", "sum");
	expect(&m, "computes its input nowhere");

	good(&m);
	add_output(&m, "other");
	expect(&m, "Nothing computes the model's output other");

	good(&m);
	add_input(&m, "input", 2);
	expect(&m, "two inputs input");

	good(&m);
	m.graph.n_output = 0;
	expect(&m, "no outputs");

	good(&m);
	m.model.graph = NULL;
	expect(&m, "no graph");
}

TEST(operators_that_are_unknown_or_wrong)
{
	struct maker m;

	good(&m);
	m.node[0].op_type = (char *)(uintptr_t)"StringConcat";
	expect(&m, "output (StringConcat): The operator is not supported");

	good(&m);
	m.node[0].name = (char *)(uintptr_t)"relu_17";
	m.node[0].domain = (char *)(uintptr_t)"com.microsoft";
	expect(&m, "relu_17 (Relu): The operator is not supported");
	m.node[0].op_type = (char *)(uintptr_t)"Attention";
	expect(&m, "relu_17 (Attention): It has 1 inputs");
	m.node[0].op_type = (char *)(uintptr_t)"MultiHeadAttention";
	expect(&m, "relu_17 (MultiHeadAttention): It has no heads");
	m.node[0].op_type = (char *)(uintptr_t)"QLinearAdd";
	expect(&m, "relu_17 (QLinearAdd): One of its inputs is missing");

	good(&m);
	m.node[0].name = (char *)(uintptr_t)"relu_17";
	m.node[0].domain = (char *)(uintptr_t)"com.example";
	expect(&m, "relu_17 (Relu): Operators of the domain com.example");

	good(&m);
	m.node[0].n_output = 0;
	expect(&m, "0 outputs");

	good(&m);
	m.node[0].op_type = (char *)(uintptr_t)"Add";
	expect(&m, "1 inputs");

	good(&m);
	m.node[0].op_type = (char *)(uintptr_t)"Conv";
	m.in[0][m.node[0].n_input++] = (char *)(uintptr_t)"input";
	expect(&m, "2 dimensions; pictures have 4");

	good(&m);
	m.node[0].name = (char *)(uintptr_t)"\033[2J";
	expect(&m, "control characters");

	good(&m);
	m.opset.version = 6;
	expect(&m, "opset 6; 7 to 22");

	good(&m);
	m.opset.version = INT64_MAX;
	expect(&m, "7 to 22");
}

/* All nodes that cannot be read are named, by operator. */
TEST(refusals_name_all_nodes)
{
	struct maker m;

	good(&m);
	add_node(&m, "StringConcat", "input", "input", "first");
	add_node(&m, "TfIdfVectorizer", "first", NULL, "state");
	add_node(&m, "StringConcat", "state", "output", "second");
	m.graph.n_output = 0;
	add_output(&m, "second");
	expect(&m, "3 nodes cannot be compiled:\n"
	       "    first, second (StringConcat): The operator is not supported.\n"
	       "    state (TfIdfVectorizer): The operator is not supported.");

	good(&m);
	add_node(&m, "Cast", "output", NULL, "cast");
	add_node(&m, "Conv", "cast", NULL, "conv");
	expect(&m, "2 nodes cannot be compiled:\n"
	       "    cast (Cast): It casts to");
}

/* Of more than a message has room for, the rest is counted. */
TEST(refusals_have_an_end)
{
	struct vtac_graph *g = vtac_graph_new(0);
	struct vtac_node node = { .file_op = "StringConcat" };

	for (int i = 0; i < 1000; i++) {
		node.name = vtac_text(g, "node%0100d", i);
		vtac_fail(g, &node, "No.");
		assert_int_equal(vtac_refuse(g, &node), 0);
	}
	vtac_fail(g, NULL, "Another error.");
	assert_int_equal(vtac_refuse(g, &node), -1);
	g->error.text[0] = 0;
	assert_int_equal(vtac_refused(g), -1);
	assert_non_null(strstr(g->error.text, "1000 nodes cannot be compiled"));
	assert_non_null(strstr(g->error.text, " more (StringConcat): No."));
	vtac_graph_free(g);
}

TEST(second_outputs_are_said_to_be_missing)
{
	struct maker m;

	for (int user = 0; user < 2; user++) {
		good(&m);
		m.node[0].op_type = (char *)(uintptr_t)"BatchNormalization";
		while (m.node[0].n_input < 5)
			m.in[0][m.node[0].n_input++] = (char *)(uintptr_t)"input";
		m.out[0][m.node[0].n_output++] = (char *)(uintptr_t)"mean";
		if (user)
			add_node(&m, "Relu", "mean", NULL, "relu");
		add_output(&m, user ? "relu" : "mean");
		expect(&m, "output (BatchNormalization): Its output 2, mean, is used");
	}
}

/* input -> @op -> output in opset 22; @b names a second input, or is NULL. */
static void new_operator(struct maker *m, const char *op, const char *b)
{
	begin(m);
	m->opset.version = 22;
	add_input(m, "input", 4);
	add_node(m, op, "input", b, "output");
	add_output(m, "output");
}

TEST(attributes_of_new_opsets)
{
	float scale = 1;
	Onnx__TensorProto *t;
	struct maker m;

	new_operator(&m, "Split", NULL);
	add_attr(&m, "num_outputs", 2);
	expect(&m, "output (Split): Its num_outputs is 2, and it has 1 outputs");

	new_operator(&m, "MaxUnpool", "input");
	expect(&m, "output (MaxUnpool): It has windows of 0 dimensions; 1 to 3");

	new_operator(&m, "Resize", NULL);
	add_attr(&m, "antialias", 1);
	expect(&m, "output (Resize): It has neither scales nor sizes");

	for (int type = 1; type < 25; type++) {
		new_operator(&m, "QuantizeLinear", "scale");
		t = add_const(&m, "scale", 1, 1);
		t->n_dims = 0;
		t->n_float_data = 1;
		t->float_data = &scale;
		add_attr(&m, "output_dtype", type);
		expect(&m, type == 2 || type == 3 ? NULL : type == 22 ?
		       "output (QuantizeLinear): It makes int4 (output_dtype)" :
		       "(output_dtype); int8 and uint8 are supported");
		add_attr(&m, "block_size", 32);
		expect(&m, "output (QuantizeLinear): It has a scale for each 32 values");
	}

	new_operator(&m, "QuantizeLinear", "input");
	add_attr(&m, "output_dtype", 3);
	expect(&m, "output (QuantizeLinear): Its scale is not constant");

	new_operator(&m, "Cast", NULL);
	add_attr(&m, "to", 17);
	expect(&m, "output (Cast): It casts to float8e4m3fn");
	new_operator(&m, "Cast", NULL);
	add_attr(&m, "to", INT64_MAX);
	expect(&m, "output (Cast): It casts to a type that is not known");
}

TEST(constants_of_halves)
{
	const uint8_t raw[] = { 0xc0, 0x3f, 0x00, 0xc0 };	/* 1.5 and -2 */
	struct vtac_graph *g;
	Onnx__TensorProto *t;
	struct maker m;

	good(&m);
	m.opset.version = 22;
	t = add_const(&m, "w", 1, 2);
	t->data_type = 16;
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *)(uintptr_t)raw;
	t->raw_data.len = sizeof(raw);
	add_node(&m, "MatMul", "input", "w", "unused");
	pack(&m);
	g = vtac_graph_new(64 << 20);
	assert_int_equal(vtac_read_onnx_memory(g, m.bytes, m.len, NULL), 0);
	assert_float_equal(((const float *)vtac_tensor_find(g, "w")->data)[0], 1.5f, 0);
	assert_float_equal(((const float *)vtac_tensor_find(g, "w")->data)[1], -2, 0);
	vtac_graph_free(g);
	free(m.bytes);
	m.bytes = NULL;

	t->data_type = 22;
	expect(&m, "Constant w is of int4, which is not supported");
	m.opset.version = 23;
	expect(&m, "opset 23; 7 to 22");
}

TEST(constants_whose_sizes_lie)
{
	float values[16] = { 0 };
	Onnx__TensorProto *t;
	struct maker m;

	good(&m);
	t = add_const(&m, "w", 4, 5);
	t->n_float_data = 16;
	t->float_data = values;
	expect(&m, "16 values; its shape takes 20");

	good(&m);
	t = add_const(&m, "w", INT64_C(1) << 33, INT64_C(1) << 33);
	expect(&m, "negative or too large");

	good(&m);
	t = add_const(&m, "w", -4, -4);
	expect(&m, "negative or too large");

	good(&m);
	t = add_const(&m, "w", 4, 4);
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *)values;
	t->raw_data.len = 63;
	expect(&m, "63 bytes of data; its shape takes 64");

	good(&m);
	t = add_const(&m, "w", 4, 4);
	t->data_type = 8;
	expect(&m, "Constant w is of string");

	good(&m);
	add_const(&m, "w", 0, 4);
	add_const(&m, "w", 0, 4);
	expect(&m, "two constants w");

	good(&m);
	m.dim[0][1].dim_value = INT64_C(1) << 62;
	expect(&m, "negative or too large");

	good(&m);
	m.dim[0][1].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
	expect(&m, "leaves dimension 1 of input");

	good(&m);
	m.dim[0][0].dim_value = 0;
	expect(&m, "Dimension 0 of input");
}

TEST(bytes_that_are_no_model)
{
	struct maker m;

	good(&m);
	pack(&m);
	m.len -= 3;
	expect(&m, "not an ONNX model");

	begin(&m);
	m.len = 1000;
	m.bytes = malloc(m.len);
	memset(m.bytes, 0xff, m.len);
	expect(&m, "not an ONNX model");

	/* Graphs in attributes of nodes of graphs, 40 of them: no stack is that deep. */
	begin(&m);
	m.bytes = calloc(1, 4096);
	m.len = 0;
	for (int i = 0; i < 40; i++) {
		static const uint8_t tags[3] = { 0x0a, 0x2a, 0x32 };	/* node, attribute, g */

		for (int k = 0; k < 3; k++) {
			memmove(m.bytes + 3, m.bytes, m.len);
			m.bytes[0] = tags[2 - k];
			m.bytes[1] = (uint8_t)(0x80 | (m.len & 0x7f));
			m.bytes[2] = (uint8_t)(m.len >> 7);
			m.len += 3;
		}
	}
	memmove(m.bytes + 3, m.bytes, m.len);
	m.bytes[0] = 0x3a;
	m.bytes[1] = (uint8_t)(0x80 | (m.len & 0x7f));
	m.bytes[2] = (uint8_t)(m.len >> 7);
	m.len += 3;
	expect(&m, "too deep");
}

/* ---- data in other files ---- */

struct outside {
	char dir[64], model[80], secret[80];
};

static int make_directory(void **state)
{
	static struct outside o;

	strcpy(o.dir, "/tmp/vtac-reader-XXXXXX");
	if (!mkdtemp(o.dir))
		return -1;
	snprintf(o.model, sizeof(o.model), "%s/model", o.dir);
	snprintf(o.secret, sizeof(o.secret), "%s/secret", o.dir);
	*state = &o;
	return mkdir(o.model, 0700);
}

static int remove_directory(void **state)
{
	struct outside *o = *state;
	char path[100];

	snprintf(path, sizeof(path), "%s/data", o->model);
	unlink(path);
	snprintf(path, sizeof(path), "%s/link", o->model);
	unlink(path);
	unlink(o->secret);
	rmdir(o->model);
	return rmdir(o->dir);
}

#define DIRECTORY const struct outside *o, make_directory, remove_directory

static void write_bytes(const char *path, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		fputc(0, f);
	assert_int_equal(fclose(f), 0);
}

static void expect_external(const struct outside *o, const char *location, const char *offset,
			    const char *what)
{
	Onnx__StringStringEntryProto entry[2], *entries[2] = { &entry[0], &entry[1] };
	Onnx__TensorProto *t;
	struct maker m;

	good(&m);
	t = add_const(&m, "w", 4, 4);
	t->has_data_location = 1;
	t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	onnx__string_string_entry_proto__init(&entry[0]);
	onnx__string_string_entry_proto__init(&entry[1]);
	entry[0].key = (char *)(uintptr_t)"location";
	entry[0].value = (char *)(uintptr_t)location;
	entry[1].key = (char *)(uintptr_t)"offset";
	entry[1].value = (char *)(uintptr_t)offset;
	t->external_data = entries;
	t->n_external_data = 2;
	expect_in(&m, o->model, what);
}

TEST_F(DIRECTORY, data_stays_below_the_models_directory)
{
	char path[100];

	write_bytes(o->secret, 64);
	snprintf(path, sizeof(path), "%s/data", o->model);
	write_bytes(path, 72);
	expect_external(o, "data", "0", NULL);
	expect_external(o, "data", "8", NULL);
	expect_external(o, "data", "12", "ends before its data");
	expect_external(o, "data", "18446744073709551615", "bytes of data");
	expect_external(o, "data", "-1", "is damaged");
	expect_external(o, "nothing", "0", "No such file");
	expect_external(o, "../secret", "0", "below the model's directory");
	expect_external(o, o->secret, "0", "below the model's directory");
	expect_external(o, ".", "0", "below the model's directory");
	snprintf(path, sizeof(path), "%s/link", o->model);
	assert_int_equal(symlink("../secret", path), 0);
	expect_external(o, "link", "0", "below the model's directory");
}

/* A small file that asks for much memory gets a sentence. */
TEST(memory_is_bounded)
{
	struct maker m;
	Onnx__TensorProto *t;
	int64_t sizes[2] = { 1 << 14, 1 << 14 };

	good(&m);
	t = add_const(&m, "sizes", 2, 1);
	t->n_dims = 1;
	t->data_type = 7;
	t->n_int64_data = 2;
	t->int64_data = sizes;
	add_node(&m, "ConstantOfShape", "sizes", NULL, "large");
	add_node(&m, "Add", "large", "large", "larger");
	add_output(&m, "larger");
	expect(&m, "limit of 64 MiB");
}
