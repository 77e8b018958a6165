// SPDX-License-Identifier: Apache-2.0
/* Nodes as calls of the CPU's kernels: lists whose length data decides. */
#include "kernel_impl.h"

int kernel_non_zero(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_NON_ZERO);
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	c->p.non_zero.type = vtac_cpu_type(x->dtype);
	c->p.non_zero.rank = (uint32_t)x->rank;
	for (int i = 0; i < x->rank; i++)
		c->p.non_zero.dims[i] = (uint32_t)x->dims[i];
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}

int kernel_unique(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], node->op == VTAC_UNIQUE ?
					  VTACPU_UNIQUE : VTACPU_UNIQUE_INVERSE);
	struct vtacpu_unique *p = &c->p.unique;
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	*p = (struct vtacpu_unique){ .type = vtac_cpu_type(x->dtype), .outer = 1, .inner = 1,
				     .count = (uint32_t)vtac_elements(x),
				     .sorted = node->attr.unique.sorted };
	if (!node->attr.unique.flat) {
		kernel_around(x, node->attr.unique.axis, &p->outer, &p->inner);
		p->count = (uint32_t)x->dims[node->attr.unique.axis];
	}
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}

int kernel_nms(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_NMS);
	const struct vtac_tensor *scores = node->in[1];

	(void)g;
	c->p.nms = (struct vtacpu_nms){
		.batch = (uint32_t)scores->dims[0], .classes = (uint32_t)scores->dims[1],
		.boxes = (uint32_t)scores->dims[2], .most = (uint32_t)node->attr.nms.most,
		.centre = node->attr.nms.centre, .has_count = !!kernel_in(node, 2),
		.has_score = node->attr.nms.has_score, .iou = node->attr.nms.overlap,
		.score = node->attr.nms.score,
	};
	for (unsigned int i = 0; i < 3; i++)
		c->io[i] = kernel_in(node, i);
	c->io[3] = node->out[0];
	return 0;
}

int kernel_count(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_COUNT);
	const struct vtac_tensor *x = node->in[0];
	uint32_t outer;

	(void)g;
	kernel_around(x, x->open, &outer, &c->p.count.stride);
	c->p.count.count = (uint32_t)x->dims[x->open];
	c->p.count.total = (uint32_t)vtac_elements(x);
	c->io[0] = x;
	c->io[1] = node->out[0];
	return 0;
}
