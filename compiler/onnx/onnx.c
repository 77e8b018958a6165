// SPDX-License-Identifier: Apache-2.0
/* Read ONNX models: the file, the graph's inputs, constants, nodes and outputs. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx_impl.h"
#include "onnx.h"

/* ---- names ---- */

static int fail_name(struct vtac_graph *g)
{
	return vtac_fail(g, NULL,
			 "The model has a name that is not UTF-8, or has control characters.");
}

void onnx_scope_begin(struct onnx_reader *r, struct onnx_scope *scope,
		      const Onnx__GraphProto *file)
{
	*scope = (struct onnx_scope){ .parent = r->scope, .file = file, .id = r->n_scopes++ };
	r->scope = scope;
}

static struct vtac_tensor *find_in_scope(const struct onnx_reader *r,
					 const struct onnx_scope *scope, const char *name)
{
	return names_find(r->g, NAME_SCOPE + scope->id, name);
}

struct vtac_tensor *onnx_find(const struct onnx_reader *r, const char *name)
{
	return find_in_scope(r, r->scope, name);
}

static struct vtac_tensor *define_in(struct onnx_reader *r, const struct onnx_scope *scope,
				     const char *name, struct vtac_tensor *t)
{
	return t && names_add(r->g, NAME_SCOPE + scope->id, name, t) ? t : NULL;
}

struct vtac_tensor *onnx_define(struct onnx_reader *r, const char *name)
{
	if (!vtac_is_name(name)) {
		fail_name(r->g);
		return NULL;
	}
	return define_in(r, r->scope, name, vtac_tensor_new(r->g, name, VTAC_F32));
}

/*
 * A tensor of @scope that stands for the one of this name in a graph around it. Constants are the
 * same in each. NULL: there is none, or no memory.
 */
static struct vtac_tensor *capture(struct onnx_reader *r, struct onnx_scope *scope,
				   const char *name)
{
	struct vtac_tensor *outer, *t = find_in_scope(r, scope, name);

	if (t || !scope->parent)
		return t;
	outer = capture(r, scope->parent, name);
	if (!outer)
		return NULL;
	t = outer->data ? vtac_tensor_const(r->g, name, outer->dtype, outer->rank, outer->dims,
					    outer->data, false) :
		vtac_tensor_new(r->g, name, VTAC_F32);
	if (!define_in(r, scope, name, t) ||
	    array_grow(r->g, (void **)&scope->outer, scope->n_captures, &scope->max_outer,
		       sizeof(void *)) ||
	    array_grow(r->g, (void **)&scope->inner, scope->n_captures, &scope->max_inner,
		       sizeof(void *)))
		return NULL;
	scope->outer[scope->n_captures] = outer;
	scope->inner[scope->n_captures++] = t;
	return t;
}

struct vtac_tensor *onnx_tensor(struct onnx_reader *r, const char *name)
{
	struct vtac_tensor *t = capture(r, r->scope, name);

	/* After a node that was refused, its outputs are unknown. */
	if (t || r->g->error.text[0])
		return t;
	if (!r->scope->parent || r->g->refusals)
		return onnx_define(r, name);
	if (!vtac_is_name(name))
		fail_name(r->g);
	vtac_fail(r->g, NULL, "A sub-graph uses %.120s, which nothing computes before it.", name);
	return NULL;
}

/* ---- nodes ---- */

static const struct onnx_op *find_in(const struct onnx_op *op, const char *name)
{
	while (op->name && strcmp(op->name, name))
		op++;
	return op->name ? op : NULL;
}

const struct onnx_op *onnx_find_op(const char *domain, const char *name)
{
	static const struct onnx_op *const tables[] = {
		onnx_ops, onnx_window_ops, onnx_quant_ops, onnx_math_ops, onnx_index_ops,
		onnx_recurrent_ops, onnx_signal_ops, onnx_choose_ops,
		onnx_compose_ops, onnx_einsum_ops, onnx_control_ops,
	};
	const struct onnx_op *op = NULL;

	if (domain && !strcmp(domain, "com.microsoft"))
		return find_in(onnx_microsoft_ops, name);
	for (unsigned int i = 0; !op && i < sizeof(tables) / sizeof(tables[0]); i++)
		op = find_in(tables[i], name);
	return op;
}

static bool is_given(char *const *names, size_t n, size_t i)
{
	return i < n && names[i] && names[i][0];
}

/* Only its first output is computed, unless an operator has any number. */
static int node_outputs(struct onnx_node *n, const struct onnx_op *op)
{
	bool has_any = false;

	n->n_out = op->max_out == UINT32_MAX ? (unsigned int)n->p->n_output : 1;
	n->out = vtac_alloc(n->g, n->n_out, sizeof(void *));
	if (!n->out)
		return -1;
	for (unsigned int i = 0; i < n->n_out; i++) {
		if (!is_given(n->p->output, n->p->n_output, i))
			continue;
		n->out[i] = onnx_tensor(n->r, n->p->output[i]);
		if (!n->out[i])
			return -1;
		for (unsigned int k = 0; k < i; k++)
			if (n->out[k] == n->out[i])
				return onnx_fail(n, "Two of its outputs have the name %.120s.",
						 n->out[i]->name);
		has_any = has_any || op->max_out == UINT32_MAX;
		if (n->out[i]->producer || n->out[i]->data || n->out[i]->rank >= 0)
			return onnx_fail(n, "Its output %.120s is defined elsewhere too.",
					 n->out[i]->name);
	}
	return n->out[0] || has_any ? 0 : onnx_fail(n, "It has no output.");
}

static int node_inputs(struct onnx_node *n, const struct onnx_op *op)
{
	n->n_in = (unsigned int)n->p->n_input;
	n->in = vtac_alloc(n->g, n->n_in, sizeof(void *));
	if (!n->in)
		return -1;
	for (unsigned int i = 0; i < n->n_in; i++) {
		if (!is_given(n->p->input, n->n_in, i)) {
			if (i < op->min_in || op->max_in == UINT32_MAX)
				return onnx_fail(n, "Its input %u is missing.", i);
			continue;
		}
		n->in[i] = onnx_tensor(n->r, n->p->input[i]);
		if (!n->in[i])
			return -1;
	}
	return 0;
}

static int check_counts(struct onnx_node *n, const struct onnx_op *op)
{
	if (n->p->n_input < op->min_in || n->p->n_input > op->max_in || n->p->n_input > 65536)
		return onnx_fail(n, "It has %zu inputs.", n->p->n_input);
	if (!n->p->n_output || n->p->n_output > op->max_out || n->p->n_output > 65536)
		return onnx_fail(n, "It has %zu outputs.", n->p->n_output);
	return 0;
}

/* A node without a name is called as its output is. */
static const char *node_name(const Onnx__NodeProto *p)
{
	if (p->name && p->name[0])
		return p->name;
	return is_given(p->output, p->n_output, 0) ? p->output[0] : "node";
}

static int read_node(struct onnx_node *n)
{
	const Onnx__NodeProto *p = n->p;
	const struct onnx_op *op = p->op_type ? onnx_find_op(p->domain, p->op_type) : NULL;

	if (!vtac_is_name(n->stub.name) || !vtac_is_name(n->stub.file_op))
		return fail_name(n->g);
	if (p->domain && p->domain[0] && strcmp(p->domain, "ai.onnx") &&
	    strcmp(p->domain, "com.microsoft"))
		return onnx_fail(n, "Operators of the domain %.80s are not supported.", p->domain);
	if (!op)
		return onnx_fail(n, "The operator is not supported.");
	n->op = op;
	/* The message goes away, the graph stays. */
	n->stub.file_op = op->name;
	if (check_counts(n, op) || node_inputs(n, op) || node_outputs(n, op))
		return -1;
	return op->read(n) ? -1 : onnx_attr_end(n);
}

/* Nodes that cannot be read are all named at the end. */
int onnx_read_node(struct onnx_reader *r, const Onnx__NodeProto *p)
{
	struct onnx_node n = { .r = r, .g = r->g, .p = p };

	n.stub.name = node_name(p);
	n.stub.file_op = p->op_type ? p->op_type : "?";
	return read_node(&n) ? vtac_refuse(r->g, &n.stub) : 0;
}

/* ---- the graph ---- */

static int32_t type_in(const struct onnx_reader *r, Onnx__ValueInfoProto **infos, size_t n,
		       const struct vtac_tensor *t)
{
	for (size_t i = 0; i < n; i++)
		if (infos[i]->name && onnx_find(r, infos[i]->name) == t && infos[i]->type &&
		    infos[i]->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			return infos[i]->type->tensor_type->elem_type;
	return 0;
}

/* The same of the scope alone */
static int32_t type_in_scope(const struct onnx_reader *r, const struct vtac_tensor *t)
{
	const Onnx__GraphProto *file = r->scope->file;
	int32_t type = type_in(r, file->input, file->n_input, t);

	for (size_t i = 0; !type && i < file->n_initializer; i++)
		if (file->initializer[i]->name && onnx_find(r, file->initializer[i]->name) == t)
			type = file->initializer[i]->data_type;
	return type ? type : type_in(r, file->value_info, file->n_value_info, t);
}

int32_t onnx_type_of(const struct onnx_reader *r, const struct vtac_tensor *t)
{
	struct onnx_reader at = *r;

	for (unsigned int i = 0; i < at.scope->n_captures; i++)
		if (at.scope->inner[i] == t) {
			t = at.scope->outer[i];
			at.scope = at.scope->parent;
			i = UINT32_MAX;
		}
	return type_in_scope(&at, t);
}

int onnx_read_initializers(struct onnx_reader *r, const Onnx__GraphProto *p)
{
	if (p->n_sparse_initializer)
		return vtac_fail(r->g, NULL, "Sparse constants are not supported.");
	for (size_t i = 0; i < p->n_initializer; i++) {
		const char *name = p->initializer[i]->name;
		struct vtac_tensor *t;

		if (!name || !name[0])
			return vtac_fail(r->g, NULL, "A constant has no name.");
		t = onnx_tensor(r, name);
		if (!t)
			return -1;
		if (t->data)
			return vtac_fail(r->g, NULL, "There are two constants %.120s.", name);
		if (onnx_tensor_fill(r, t, p->initializer[i]))
			return -1;
	}
	return 0;
}

/* Sizes that the file leaves open are -1. */
static int read_input_shape(struct onnx_reader *r, struct vtac_tensor *t,
			    const Onnx__TensorShapeProto *shape)
{
	if (shape->n_dim > VTAC_RANK_MAX)
		return vtac_fail(r->g, NULL, "Input %.120s has %zu dimensions.", t->name,
				 shape->n_dim);
	t->rank = (int)shape->n_dim;
	for (size_t i = 0; i < shape->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
		bool known = d->value_case ==
			ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0;

		t->dims[i] = known ? d->dim_value : -1;
	}
	return 0;
}

static int read_input(struct onnx_reader *r, const Onnx__ValueInfoProto *p)
{
	const Onnx__TypeProto__Tensor *type;
	struct vtac_tensor *t;
	int dtype;

	if (!p->name || !p->name[0])
		return vtac_fail(r->g, NULL, "An input of the model has no name.");
	t = onnx_tensor(r, p->name);
	if (!t)
		return -1;
	if (t->data)
		return 0;	/* old files list constants here too */
	if (t->rank >= 0)
		return vtac_fail(r->g, NULL, "There are two inputs %.120s.", p->name);
	if (!p->type || p->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		return vtac_fail(r->g, NULL, "Input %.120s is not a tensor.", p->name);
	type = p->type->tensor_type;
	dtype = onnx_dtype(type->elem_type);
	if (dtype < 0)
		return vtac_fail(r->g, NULL, "Input %.120s is of %s, which is not supported.",
				 p->name, onnx_type_name(type->elem_type));
	if (!type->shape)
		return vtac_fail(r->g, NULL,
				 "The file does not say how many dimensions input %.120s has.",
				 p->name);
	t->dtype = (enum vtac_dtype)dtype;
	return read_input_shape(r, t, type->shape) ? -1 : vtac_graph_input(r->g, t);
}

/* @name is an output that no node computes, though one has it: returns -1 with that node's name. */
static int fail_undefined(struct onnx_reader *r, const Onnx__GraphProto *p, const char *name)
{
	for (size_t i = 0; i < p->n_node; i++)
		for (size_t k = 1; k < p->node[i]->n_output; k++)
			if (is_given(p->node[i]->output, p->node[i]->n_output, k) &&
			    !strcmp(p->node[i]->output[k], name)) {
				const struct vtac_node stub = { .name = node_name(p->node[i]),
								.file_op = p->node[i]->op_type };

				return vtac_fail(r->g, &stub,
						 "Its output %zu, %.120s, is used, and is not "
						 "supported.",
						 k + 1, name);
			}
	return 0;
}

static int read_outputs(struct onnx_reader *r, const Onnx__GraphProto *p)
{
	for (size_t i = 0; i < p->n_output; i++) {
		const char *name = p->output[i]->name;
		struct vtac_tensor *t = name ? onnx_find(r, name) : NULL;

		if (!t && name && fail_undefined(r, p, name))
			return -1;
		if (!t)
			return vtac_fail(r->g, NULL, "Nothing computes the model's output %.120s.",
					 name ? name : "without a name");
		if (vtac_is_output(r->g, t))
			return vtac_fail(r->g, NULL, "There are two outputs %.120s.", name);
		if (vtac_graph_output(r->g, t))
			return -1;
		r->g->output_names[i] = vtac_text(r->g, "%s", name);
		if (!r->g->output_names[i])
			return -1;
	}
	return p->n_output ? 0 : vtac_fail(r->g, NULL, "The model has no outputs.");
}

/* Fail for a tensor that was named but never defined. */
static int check_defined(struct onnx_reader *r, const Onnx__GraphProto *p)
{
	struct vtac_graph *g = r->g;

	for (unsigned int i = 0; i < g->n_tensors; i++) {
		const struct vtac_tensor *t = g->tensors[i];

		if (t->producer || t->data || t->rank >= 0)
			continue;
		if ((t->n_users || vtac_is_output(g, t)) && fail_undefined(r, p, t->name))
			return -1;
		if (t->n_users)
			return vtac_fail(g, t->users[0],
					 "Nothing that is supported computes its input %.120s.",
					 t->name);
		if (vtac_is_output(g, t))
			return vtac_fail(g, NULL,
					 "Nothing that is supported computes the output %.120s.",
					 t->name);
	}
	return 0;
}

static int read_graph(struct onnx_reader *r, const Onnx__GraphProto *p)
{
	struct vtac_graph *g = r->g;
	unsigned int chars = 200;

	onnx_scope_begin(r, &r->top, p);
	if (p->name && vtac_is_name(p->name))
		g->name = vtac_text(g, "%.*s", vtac_name_cut(p->name, &chars), p->name);
	if (!g->name || onnx_read_initializers(r, p))
		return -1;
	for (size_t i = 0; i < p->n_input; i++)
		if (read_input(r, p->input[i]))
			return -1;
	for (size_t i = 0; i < p->n_node; i++)
		if (onnx_read_node(r, p->node[i]))
			return -1;
	if (vtac_refused(g) || read_outputs(r, p) || check_defined(r, p))
		return -1;
	return vtac_graph_dce(g);
}

static int read_opset(struct onnx_reader *r, const Onnx__ModelProto *m)
{
	int64_t version = 0;

	for (size_t i = 0; i < m->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *p = m->opset_import[i];

		if (!p->domain || !p->domain[0] || !strcmp(p->domain, "ai.onnx"))
			version = p->version;
	}
	if (version < ONNX_OPSET_MIN || version > ONNX_OPSET_MAX)
		return vtac_fail(r->g, NULL,
				 "The model is of opset %lld; %d to %d are supported: export it "
				 "for one of them.",
				 (long long)version, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
	r->opset = (int)version;
	return 0;
}

static int read_model(struct onnx_reader *r, const Onnx__ModelProto *m)
{
	if (read_opset(r, m))
		return -1;
	if (!m->graph)
		return vtac_fail(r->g, NULL, "The model has no graph.");
	if (m->n_functions)
		return vtac_fail(r->g, NULL,
				 "Functions of a model are not supported: export it without.");
	return read_graph(r, m->graph);
}

int vtac_read_onnx_memory(struct vtac_graph *g, const void *data, size_t len, const char *dir)
{
	struct onnx_reader *r = vtac_alloc(g, 1, sizeof(*r));
	Onnx__ModelProto *m;
	int err;

	if (!r)
		return -1;
	r->g = g;
	if (dir && !realpath(dir, r->dir))
		return vtac_fail(g, NULL, "%.200s: %s.", dir, strerror(errno));
	m = onnx_unpack(g, data, len);
	if (!m)
		return -1;
	err = read_model(r, m);
	onnx_unpack_free(g, m);
	return err;
}

/* ---- the file ---- */

static uint8_t *read_file(struct vtac_graph *g, const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data = NULL;
	struct stat st;
	size_t at = 0;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st)) {
		vtac_fail(g, NULL, "%.200s: %s.", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size > INT32_MAX) {
		vtac_fail(g, NULL, "%.200s is not a file, or is over 2 GiB.", path);
	} else {
		data = malloc((size_t)st.st_size + 1);
		while (data && at < (size_t)st.st_size && n > 0) {
			n = read(fd, data + at, (size_t)st.st_size - at);
			at += n > 0 ? (size_t)n : 0;
		}
		if (!data || n < 0)
			vtac_fail(g, NULL, "%.200s cannot be read.", path);
	}
	if (fd >= 0)
		close(fd);
	*len = at;
	return data;
}

int vtac_read_onnx(struct vtac_graph *g, const char *path)
{
	char *copy = strdup(path);
	uint8_t *data;
	size_t len;
	int err = -1;

	data = copy ? read_file(g, path, &len) : NULL;
	if (data && !g->error.text[0])
		err = vtac_read_onnx_memory(g, data, len, dirname(copy));
	free(data);
	free(copy);
	return err;
}
