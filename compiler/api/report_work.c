// SPDX-License-Identifier: Apache-2.0
/* The work of each node of the card, counted in the program's streams; and memory in use. */
#include <stdlib.h>

#include "report_impl.h"

/* The nodes of a stream, and where each but the first begins; one without instructions is none. */
struct cut_stream {
	const struct vtac_node **nodes;
	uint32_t *cuts;
	unsigned int n;
};

static bool is_in(const struct vtac_node *node, uint32_t stream)
{
	return node->device == VTAC_CARD && node->stream == stream;
}

static void find_nodes(const struct vtac_program *p, uint32_t stream, struct cut_stream *s)
{
	const struct vtac_graph *g = p->graph;
	uint32_t end = p->streams[stream].insn_count - 1;	/* FINISH is the last node's */

	s->n = 0;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		uint32_t next = end;

		if (i + 1 < g->n_nodes && is_in(g->nodes[i + 1], stream))
			next = g->nodes[i + 1]->insn;
		if (!is_in(node, stream) || node->insn == next)
			continue;
		if (s->n)
			s->cuts[s->n - 1] = node->insn;
		s->nodes[s->n++] = node;
	}
}

struct vtaops_work *report_count_work(const struct vtac_program *p)
{
	unsigned int n = p->graph->n_nodes;
	struct vtaops_work *all = calloc(n + 1, sizeof(*all)), *work = calloc(n + 1, sizeof(*work));
	struct cut_stream s = {
		.nodes = calloc(n + 1, sizeof(struct vtac_node *)),
		.cuts = calloc(n + 1, sizeof(*s.cuts)),
	};

	for (uint32_t i = 0; all && work && s.nodes && s.cuts && i < p->n_streams; i++) {
		find_nodes(p, i, &s);
		if (!s.n || vtaops_work(&p->core, p->model.data + p->streams[i].insn_at,
					p->streams[i].insn_count, s.cuts, s.n - 1, work))
			continue;
		for (unsigned int k = 0; k < s.n; k++)
			all[s.nodes[k]->id] = work[k];
	}
	free(work);
	free(s.nodes);
	free(s.cuts);
	return all;
}

double report_multiplications(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->n_in ? node->in[0] : NULL;
	const struct vtac_tensor *y = node->n_out ? node->out[0] : NULL;
	double outputs;

	/* A low half is computed with the high one. */
	if (!x || !y || node->post.low)
		return 0;
	outputs = (double)vtac_elements(y);
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
		return vtac_work(node);
	case VTAC_GEMM:
	case VTAC_GEMM_ROUNDED:
		return outputs * (double)vtac_elements(x) / (double)y->dims[0];
	case VTAC_BATCH_GEMM:
		return outputs * (double)vtac_product_of(node).k;
	case VTAC_MATMUL:
		return x->rank ? outputs * (double)x->dims[x->rank - 1] : 0;
	default:
		return 0;
	}
}

uint64_t report_live_bytes(const struct vtac_program *p, unsigned int step)
{
	const struct vtac_graph *g = p->graph;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < g->n_tensors; i++) {
		const struct vtac_tensor *t = g->tensors[i];

		if (report_is_block(t) && t->first <= step && t->last >= step)
			bytes += vtac_tensor_bytes(&p->core, t);
	}
	return bytes;
}

bool report_is_block(const struct vtac_tensor *t)
{
	return t->device == VTAC_CARD && !t->data && !t->home;
}
