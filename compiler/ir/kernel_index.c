// SPDX-License-Identifier: Apache-2.0
/* Nodes as calls of the CPU's kernels: values that other values choose, and orders of values. */
#include "kernel_impl.h"

static struct vtac_call *next_call(struct vtac_call *calls, unsigned int *n,
				   enum vtacpu_kernel kernel, const struct vtac_node *node)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], kernel);
	unsigned int i;

	for (i = 0; i < node->n_in; i++)
		c->io[i] = node->in[i];
	c->io[i] = node->out[0];
	return c;
}

int kernel_where(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n)
{
	struct vtacpu_select *p = &next_call(calls, n, VTACPU_SELECT, node)->p.select;
	const struct vtac_tensor *y = node->out[0];

	(void)g;
	p->bytes = (uint32_t)vtac_dtype_size(y->dtype);
	p->rank = (uint32_t)y->rank;
	for (int i = 0; i < y->rank; i++) {
		p->dims[i] = (uint32_t)y->dims[i];
		p->c_stride[i] = kernel_stride(node->in[0], y->rank, i);
		p->a_stride[i] = kernel_stride(node->in[1], y->rank, i);
		p->b_stride[i] = kernel_stride(node->in[2], y->rank, i);
	}
	return 0;
}

int kernel_cast(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n)
{
	struct vtac_call *c = next_call(calls, n, VTACPU_CAST, node);

	(void)g;
	c->p.cast.count = (uint32_t)vtac_elements(node->in[0]);
	c->p.cast.x_type = vtac_cpu_type(node->in[0]->dtype);
	c->p.cast.y_type = vtac_cpu_type(node->out[0]->dtype);
	return 0;
}

/* ---- along an axis ---- */

int kernel_arg(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n)
{
	struct vtacpu_arg *p = &next_call(calls, n, VTACPU_ARG, node)->p.arg;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	p->type = vtac_cpu_type(x->dtype);
	kernel_around(x, node->attr.arg.axis, &p->outer, &p->inner);
	p->count = (uint32_t)x->dims[node->attr.arg.axis];
	p->least = node->attr.arg.least;
	p->last = node->attr.arg.last;
	return 0;
}

int kernel_top(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n)
{
	struct vtacpu_top *p = &next_call(calls, n, VTACPU_TOP, node)->p.top;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	p->type = vtac_cpu_type(x->dtype);
	kernel_around(x, node->attr.top.axis, &p->outer, &p->inner);
	p->count = (uint32_t)x->dims[node->attr.top.axis];
	p->k = (uint32_t)node->out[0]->dims[node->attr.top.axis];
	p->least = node->attr.top.least;
	return 0;
}

int kernel_cum_sum(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n)
{
	struct vtacpu_cum_sum *p = &next_call(calls, n, VTACPU_CUM_SUM, node)->p.cum_sum;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	p->type = vtac_cpu_type(x->dtype);
	kernel_around(x, node->attr.cum_sum.axis, &p->outer, &p->inner);
	p->count = (uint32_t)x->dims[node->attr.cum_sum.axis];
	p->exclusive = node->attr.cum_sum.exclusive;
	p->reverse = node->attr.cum_sum.reverse;
	return 0;
}

int kernel_gather(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	struct vtacpu_gather *p = &next_call(calls, n, VTACPU_GATHER, node)->p.gather;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	p->bytes = (uint32_t)vtac_dtype_size(x->dtype);
	p->index_type = vtac_cpu_type(node->in[1]->dtype);
	kernel_around(x, node->attr.axis.axis, &p->outer, &p->inner);
	p->dim = (uint32_t)x->dims[node->attr.axis.axis];
	p->count = (uint32_t)vtac_elements(node->in[1]);
	return 0;
}

int kernel_one_hot(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n)
{
	struct vtacpu_one_hot *p = &next_call(calls, n, VTACPU_ONE_HOT, node)->p.one_hot;

	(void)g;
	p->bytes = (uint32_t)vtac_dtype_size(node->in[1]->dtype);
	p->index_type = vtac_cpu_type(node->in[0]->dtype);
	kernel_around(node->out[0], node->attr.one_hot.axis, &p->outer, &p->inner);
	p->depth = (uint32_t)node->attr.one_hot.depth;
	return 0;
}

int kernel_reverse_sequence(struct vtac_graph *g, const struct vtac_node *node,
			    struct vtac_call *calls, unsigned int *n)
{
	struct vtac_call *c = next_call(calls, n, VTACPU_REVERSE_SEQUENCE, node);
	struct vtacpu_reverse_sequence *p = &c->p.reverse_sequence;
	const struct vtac_tensor *x = node->in[0];
	uint32_t outer;

	(void)g;
	p->bytes = (uint32_t)vtac_dtype_size(x->dtype);
	p->length_type = vtac_cpu_type(node->in[1]->dtype);
	kernel_around(x, 1, &outer, &p->inner);
	p->steps = (uint32_t)x->dims[node->attr.reverse.time];
	p->batch = (uint32_t)x->dims[1 - node->attr.reverse.time];
	p->batch_first = node->attr.reverse.time == 1;
	return 0;
}

/* ---- in several dimensions ---- */

int kernel_elements(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n)
{
	bool scatter = node->op == VTAC_SCATTER_ELEMENTS;
	struct vtac_call *c = next_call(calls, n, scatter ? VTACPU_SCATTER_ELEMENTS :
					VTACPU_GATHER_ELEMENTS, node);
	struct vtacpu_elements *p = &c->p.elements;

	(void)g;
	p->type = vtac_cpu_type(node->in[0]->dtype);
	p->index_type = vtac_cpu_type(node->in[1]->dtype);
	p->op = scatter ? node->attr.scatter.op : VTACPU_SCATTER_SET;
	p->rank = (uint32_t)node->in[0]->rank;
	p->axis = (uint32_t)(scatter ? node->attr.scatter.axis : node->attr.axis.axis);
	for (uint32_t i = 0; i < p->rank; i++) {
		p->dims[i] = (uint32_t)node->in[0]->dims[i];
		p->index_dims[i] = (uint32_t)node->in[1]->dims[i];
	}
	return 0;
}

int kernel_slices(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	bool scatter = node->op == VTAC_SCATTER_ND;
	struct vtac_call *c = next_call(calls, n, scatter ? VTACPU_SCATTER_ND : VTACPU_GATHER_ND,
					node);
	const struct vtac_tensor *x = node->in[0], *index = node->in[1];
	int batch = scatter ? 0 : node->attr.gather_nd.batch;
	struct vtacpu_slices *p = &c->p.slices;

	(void)g;
	*p = (struct vtacpu_slices){ .batch = 1, .rows = 1, .inner = 1 };
	p->type = vtac_cpu_type(x->dtype);
	p->index_type = vtac_cpu_type(index->dtype);
	p->op = scatter ? node->attr.scatter.op : VTACPU_SCATTER_SET;
	p->depth = (uint32_t)index->dims[index->rank - 1];
	for (int i = 0; i < batch; i++)
		p->batch *= (uint32_t)x->dims[i];
	for (int i = batch; i + 1 < index->rank; i++)
		p->rows *= (uint32_t)index->dims[i];
	for (int i = batch; i < x->rank; i++) {
		if (i - batch < (int)p->depth)
			p->sizes[i - batch] = (uint32_t)x->dims[i];
		else
			p->inner *= (uint32_t)x->dims[i];
	}
	return 0;
}
