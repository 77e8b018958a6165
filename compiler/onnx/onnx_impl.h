/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the ONNX reader. */
#ifndef VTAC_ONNX_IMPL_H
#define VTAC_ONNX_IMPL_H

#include "ir/graph.h"
#include "onnx.pb-c.h"

#define ONNX_OPSET_MIN	7
#define ONNX_OPSET_MAX	22

/* The model's graph, or a sub-graph, with its names */
struct onnx_scope {
	struct onnx_scope *parent;	/* the graph around it; NULL: none */
	const Onnx__GraphProto *file;
	unsigned int id;
	/* Captured tensors, of the parent and in the sub-graph: constants too */
	struct vtac_tensor **outer, **inner;
	unsigned int n_captures, max_outer, max_inner;
};

struct onnx_reader {
	struct vtac_graph *g;
	struct onnx_scope top, *scope;
	unsigned int n_scopes;
	int opset;
	char dir[4096];		/* the model's directory, resolved; external data is below it */
};

/* A node that is being read. Attributes that nothing has asked for are an error. */
struct onnx_node {
	struct onnx_reader *r;
	struct vtac_graph *g;
	const Onnx__NodeProto *p;
	const struct onnx_op *op;
	struct vtac_node stub;		/* its name and operator, for errors */
	struct vtac_tensor **in, **out;	/* NULL: left out */
	unsigned int n_in, n_out;
	uint64_t used;			/* bit i: attribute i was asked for */
};

#define onnx_fail(n, ...) vtac_fail((n)->g, &(n)->stub, __VA_ARGS__)

/* ---- onnx_wire.c ---- */

/* Unpack, with bounded memory and depth: NULL and the graph's error. */
Onnx__ModelProto *onnx_unpack(struct vtac_graph *g, const uint8_t *data, size_t len);
void onnx_unpack_free(struct vtac_graph *g, Onnx__ModelProto *model);

/* ---- onnx_tensor.c ---- */

/*
 * The type that values of ONNX's @type are kept as, or -1: halves and doubles as floats, integers
 * of 16 bits in 32, unsigned ones of 32 and 64 bits in 64.
 */
int onnx_dtype(int32_t type);
/* FLOAT16 or BFLOAT16. */
bool onnx_is_half(int32_t type);
bool onnx_is_bfloat(int32_t type);
/* The file's type of the input, constant or, if the file says it, other tensor @t; or 0. */
int32_t onnx_type_of(const struct onnx_reader *r, const struct vtac_tensor *t);
const char *onnx_type_name(int64_t type);
/* Set dtype, shape and data of @t from @p. */
int onnx_tensor_fill(struct onnx_reader *r, struct vtac_tensor *t, const Onnx__TensorProto *p);

/* ---- onnx_attr.c: attributes by name, checked ---- */

const Onnx__AttributeProto *onnx_attr(struct onnx_node *n, const char *name);
int onnx_attr_int(struct onnx_node *n, const char *name, int64_t def, int64_t *value);
int onnx_attr_float(struct onnx_node *n, const char *name, float def, float *value);
/* @count values exactly, unless the attribute is left out. */
int onnx_attr_ints(struct onnx_node *n, const char *name, int64_t *values, size_t count);
/* The index of the attribute's value in @words, which NULL ends; @def if left out. */
int onnx_attr_word(struct onnx_node *n, const char *name, const char *const *words, int def,
		   int *value);
/* An attribute that older files have in place of an input, as a constant; NULL: left out. */
int onnx_attr_const(struct onnx_node *n, const char *name, struct vtac_tensor **t);
int onnx_attr_end(struct onnx_node *n);
/* The attribute axis, which may be negative. */
int onnx_attr_axis(struct onnx_node *n, int64_t def, int *axis);
/* Make input @i of what older files have as an attribute in its place. */
int onnx_in_or_attr(struct onnx_node *n, struct vtac_node *node, unsigned int i, const char *name);

/*
 * ---- onnx_ops.c, onnx_window.c, onnx_quant.c, onnx_math.c, onnx_index.c, onnx_recurrent.c,
 * onnx_signal.c, onnx_choose.c, onnx_compose.c, onnx_einsum.c, onnx_control.c,
 * onnx_microsoft.c ----
 */

typedef int (*onnx_read_fn)(struct onnx_node *n);

struct onnx_op {
	const char *name;
	unsigned int min_in, max_in, max_out;
	onnx_read_fn read;
	const void *row;	/* for read(), of which several operators have one */
};

extern const struct onnx_op onnx_ops[], onnx_window_ops[], onnx_quant_ops[], onnx_math_ops[],
	onnx_index_ops[], onnx_recurrent_ops[], onnx_signal_ops[],
	onnx_choose_ops[], onnx_compose_ops[], onnx_einsum_ops[], onnx_control_ops[],
	onnx_microsoft_ops[];

/* Read a node of the file. */
int onnx_read_node(struct onnx_reader *r, const Onnx__NodeProto *p);
int onnx_read_initializers(struct onnx_reader *r, const Onnx__GraphProto *p);
/* Begin the scope of the graph @file, which @r->scope is around; the end sets @r->scope back. */
void onnx_scope_begin(struct onnx_reader *r, struct onnx_scope *scope,
		      const Onnx__GraphProto *file);
/*
 * The tensor of this name: of the scope; a new one that something will define; or, in a sub-graph,
 * one that stands for that of a graph around it.
 */
struct vtac_tensor *onnx_tensor(struct onnx_reader *r, const char *name);
/* The scope's own of this name, or NULL; and a new one of a name that it has not. */
struct vtac_tensor *onnx_find(const struct onnx_reader *r, const char *name);
struct vtac_tensor *onnx_define(struct onnx_reader *r, const char *name);

/* LSTM without w: its first input has the gates' sums, [steps][batch][directions * gates]. */
int onnx_read_lstm_of_sums(struct onnx_node *n);
/* The operator @name of ONNX's own domain if @domain is NULL or "", or of another; or NULL. */
const struct onnx_op *onnx_find_op(const char *domain, const char *name);
/* @x in float. Per-channel scales are along @axis. */
struct vtac_tensor *onnx_dequantize(struct onnx_node *n, struct vtac_tensor *x,
				    struct vtac_tensor *scale, struct vtac_tensor *zero, int axis);
/*
 * Likewise with scales or zero points that may be computed, or have all dimensions, each 1 or x's.
 * An @axis of VTAC_RANK_MAX is none: there is one number.
 */
struct vtac_tensor *onnx_floats(struct onnx_node *n, struct vtac_tensor *x,
				struct vtac_tensor *scale, struct vtac_tensor *zero, int axis);

/* @x rounded to 256 steps of its range */
struct vtac_tensor *onnx_round(struct onnx_node *n, struct vtac_tensor *x);

/* ---- onnx_make.c ---- */

/* A node of the graph with the first @n_in inputs and the output(s) of @n. */
struct vtac_node *onnx_make(struct onnx_node *n, enum vtac_op op, unsigned int n_in);
/* Likewise with as many inputs as the file gives. */
struct vtac_node *onnx_make_all(struct onnx_node *n, enum vtac_op op);
/* A node in between, with an output of its own; both are called after @n and @op. */
struct vtac_node *onnx_between(struct onnx_node *n, enum vtac_op op, unsigned int n_in);
/* Likewise with its inputs. Here and below, an input that is NULL gives NULL. */
struct vtac_node *onnx_of_one(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *x);
struct vtac_node *onnx_of_two(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *a,
			      struct vtac_tensor *b);
/* The output of such a node. */
struct vtac_tensor *onnx_two(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *a,
			     struct vtac_tensor *b);
struct vtac_tensor *onnx_binary(struct onnx_node *n, enum vtacpu_binary_op op,
				struct vtac_tensor *a, struct vtac_tensor *b);
struct vtac_tensor *onnx_unary(struct onnx_node *n, enum vtacpu_act_kind kind,
			       struct vtac_tensor *x);
/* @axes are kept, as 1. */
struct vtac_tensor *onnx_reduce(struct onnx_node *n, enum vtacpu_reduce_op op,
				struct vtac_tensor *x, struct vtac_tensor *axes);
struct vtac_tensor *onnx_cast(struct onnx_node *n, enum vtac_dtype to, struct vtac_tensor *x);
/*
 * onnx_math.c: integers @y of the file's type @type, which are kept in wider ones, without the bits
 * above their own. They come from @from, a file's type, or 0 if that is not known.
 */
struct vtac_tensor *onnx_wrap(struct onnx_node *n, struct vtac_tensor *y, int32_t type,
			      int32_t from);
/* To a type of the file's: to halves by rounding. onnx_ops.c */
struct vtac_tensor *onnx_cast_to(struct onnx_node *n, struct vtac_tensor *x, int64_t to);
struct vtac_tensor *onnx_reshape(struct onnx_node *n, enum vtac_reshape_kind kind,
				 struct vtac_tensor *x, struct vtac_tensor *v);
struct vtac_tensor *onnx_shape(struct onnx_node *n, struct vtac_tensor *x);
/* Constants */
struct vtac_tensor *onnx_integer(struct onnx_node *n, int64_t value);
struct vtac_tensor *onnx_integers(struct onnx_node *n, const int64_t *values, int64_t count);
struct vtac_tensor *onnx_float(struct onnx_node *n, float value);
/* Make @t, a part of @n, its output @i, if the file has it: after all that reads @t. */
int onnx_result(struct onnx_node *n, unsigned int i, struct vtac_tensor *t);

#endif /* VTAC_ONNX_IMPL_H */
