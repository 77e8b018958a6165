// SPDX-License-Identifier: Apache-2.0
/*
 * Nodes as calls of the CPU's kernels: samples, windows of three dimensions, transforms, and
 * products by labels.
 */
#include <string.h>

#include "kernel_impl.h"

/* ---- other sizes ---- */

static bool is_plain_resize(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_resize *r = &node->attr.resize;

	return x->rank == 4 && x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1] &&
	       r->mode != VTAC_CUBIC && r->coord <= VTAC_HALF_PIXEL_SYMMETRIC && !r->antialias &&
	       !(r->exclude && r->mode == VTAC_LINEAR);
}

/* Dimensions that stay as they are become one with those before. */
static int resample(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *c)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_resize *r = &node->attr.resize;
	struct vtacpu_resample *p = &c->p.resample;
	bool joins = false;

	c->kernel = VTACPU_RESAMPLE;
	*p = (struct vtacpu_resample){
		.type = vtac_cpu_type(x->dtype), .mode = r->mode, .coord = r->coord,
		.round = r->round, .exclude = r->exclude, .antialias = r->antialias,
		.cubic = r->cubic, .extrapolation = r->extrapolation,
	};
	for (int i = 0; i < x->rank; i++) {
		bool same = x->dims[i] == y->dims[i] && r->scale[i] == 1 && r->start[i] == 0 &&
			r->end[i] == 1;

		if (same && joins) {
			p->dims[p->rank - 1] *= (uint32_t)x->dims[i];
			p->out[p->rank - 1] = p->dims[p->rank - 1];
			continue;
		}
		if (p->rank == VTACPU_RESAMPLE_RANK_MAX)
			return vtac_fail(g, node, "It has too many dimensions.");
		p->dims[p->rank] = (uint32_t)x->dims[i];
		p->out[p->rank] = (uint32_t)y->dims[i];
		p->scale[p->rank] = r->scale[i];
		p->start[p->rank] = r->start[i];
		p->end[p->rank++] = r->end[i];
		joins = same;
	}
	return 0;
}

int kernel_resize(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_RESIZE);
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_resize *r = &node->attr.resize;
	uint32_t inner;

	c->io[0] = x;
	c->io[1] = y;
	if (!is_plain_resize(node))
		return resample(g, node, c);
	/* Enumerations have the same order here and there. */
	c->p.resize = (struct vtacpu_resize){
		.type = vtac_cpu_type(x->dtype),
		.ih = (uint32_t)x->dims[2], .iw = (uint32_t)x->dims[3],
		.oh = (uint32_t)y->dims[2], .ow = (uint32_t)y->dims[3],
		.mode = r->mode, .coord = r->coord, .round = r->round,
		.scale_h = r->scale[2], .scale_w = r->scale[3],
	};
	kernel_around(x, 2, &c->p.resize.planes, &inner);
	return 0;
}

/* ---- places that data has ---- */

int kernel_grid_sample(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_GRID_SAMPLE);
	struct vtacpu_grid_sample *p = &c->p.grid_sample;
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	int axes = x->rank - 2;

	(void)g;
	*p = (struct vtacpu_grid_sample){
		.n = (uint32_t)x->dims[0], .c = (uint32_t)x->dims[1], .axes = (uint32_t)axes,
		.in = { 1 }, .out = { 1 }, .mode = node->attr.grid.mode, .pad = node->attr.grid.pad,
		.align = node->attr.grid.align,
	};
	for (int i = 0; i < axes; i++) {
		p->in[3 - axes + i] = (uint32_t)x->dims[2 + i];
		p->out[3 - axes + i] = (uint32_t)y->dims[2 + i];
	}
	c->io[0] = x;
	c->io[1] = node->in[1];
	c->io[2] = y;
	return 0;
}

int kernel_roi_align(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_ROI_ALIGN);
	const struct vtac_tensor *x = node->in[0];

	(void)g;
	c->p.roi_align = (struct vtacpu_roi_align){
		.n = (uint32_t)x->dims[0], .c = (uint32_t)x->dims[1], .h = (uint32_t)x->dims[2],
		.w = (uint32_t)x->dims[3], .count = (uint32_t)node->in[1]->dims[0],
		.oh = (uint32_t)node->attr.roi.h, .ow = (uint32_t)node->attr.roi.w,
		.samples = (uint32_t)node->attr.roi.samples, .max = node->attr.roi.max,
		.half = node->attr.roi.half, .scale = node->attr.roi.scale,
	};
	for (unsigned int i = 0; i < 3; i++)
		c->io[i] = node->in[i];
	c->io[3] = node->out[0];
	return 0;
}

/* ---- windows of three dimensions ---- */

static struct vtacpu_window_3d window_3d(const struct vtac_node *node)
{
	const struct vtac_window_3d *w = &node->attr.window_3d;
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	struct vtacpu_window_3d win;

	for (int i = 0; i < 3; i++) {
		int d = i + x->rank - 3;

		win.in[i] = d < 2 ? 1 : (uint32_t)x->dims[d];
		win.out[i] = d < 2 ? 1 : (uint32_t)y->dims[d];
		win.kernel[i] = (uint32_t)w->kernel[i];
		win.stride[i] = (uint32_t)w->stride[i];
		win.before[i] = (uint32_t)w->pad[i];
		win.dilation[i] = (uint32_t)w->dilation[i];
	}
	return win;
}

int kernel_conv_3d(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_CONV_3D_F32);

	(void)g;
	c->p.conv_3d_f32 = (struct vtacpu_conv_3d_f32){
		.n = (uint32_t)node->in[0]->dims[0], .ic = (uint32_t)node->in[0]->dims[1],
		.oc = (uint32_t)node->out[0]->dims[1],
		.groups = (uint32_t)node->attr.window_3d.groups,
		.transposed = node->attr.window_3d.transposed, .has_bias = !!kernel_in(node, 2),
		.win = window_3d(node),
	};
	for (unsigned int i = 0; i < 3; i++)
		c->io[i] = kernel_in(node, i);
	c->io[3] = node->out[0];
	return 0;
}

int kernel_pool_3d(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_POOL_3D_F32);

	(void)g;
	c->p.pool_3d_f32 = (struct vtacpu_pool_3d_f32){
		.kind = node->attr.window_3d.kind, .n = (uint32_t)node->in[0]->dims[0],
		.c = (uint32_t)node->in[0]->dims[1],
		.power = (uint32_t)node->attr.window_3d.power,
		.by_column = node->attr.window_3d.by_column, .win = window_3d(node),
	};
	for (int i = 0; i < 3; i++)
		c->p.pool_3d_f32.behind[i] = (uint32_t)node->attr.window_3d.pad[3 + i];
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

/* ---- transforms ---- */

int kernel_dft(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_DFT_F32);
	struct vtacpu_dft_f32 *p = &c->p.dft_f32;
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	int axis = node->attr.dft.axis;

	(void)g;
	kernel_around(x, axis, &p->batch, &p->inner);
	p->complex = x->dims[x->rank - 1] == 2;
	p->inner /= (uint32_t)x->dims[x->rank - 1];
	p->length = (uint32_t)x->dims[axis];
	p->frames = node->attr.dft.frames ? (uint32_t)y->dims[1] : 1;
	p->step = (uint32_t)node->attr.dft.step;
	p->count = (uint32_t)node->attr.dft.count;
	p->bins = (uint32_t)y->dims[node->attr.dft.frames ? 2 : axis];
	p->inverse = node->attr.dft.inverse;
	p->has_window = !!kernel_in(node, 1);
	c->io[0] = x;
	c->io[1] = kernel_in(node, 1);
	c->io[2] = y;
	return 0;
}

/* ---- products by labels ---- */

/* Labels of a contraction: those of the output, then those that are summed. */
struct product {
	char labels[3 * VTAC_LABELS_MAX];
	int n, kept;
	uint32_t dims[3 * VTAC_RANK_MAX], a[3 * VTAC_RANK_MAX], b[3 * VTAC_RANK_MAX];
};

/* Values from one place of @label to the next; a label that is there twice is a diagonal. */
static uint32_t label_stride(const struct vtac_tensor *t, const char *labels, char label)
{
	uint32_t stride = 0;

	for (int i = 0; labels[i]; i++)
		if (labels[i] == label)
			stride += kernel_stride(t, t->rank, i);
	return stride;
}

static void add_labels(struct product *p, const struct vtac_tensor *t, const char *labels,
		       const struct vtac_node *node)
{
	const struct vtac_einsum *e = &node->attr.einsum;

	for (int i = 0; labels[i]; i++) {
		char *known = memchr(p->labels, labels[i], (size_t)p->n);
		int at = known ? (int)(known - p->labels) : p->n++;

		p->labels[at] = labels[i];
		if (!known || p->dims[at] < (uint32_t)t->dims[i])
			p->dims[at] = (uint32_t)t->dims[i];
		p->a[at] = label_stride(node->in[0], e->a, labels[i]);
		p->b[at] = node->n_in > 1 ? label_stride(node->in[1], e->b, labels[i]) : 0;
	}
}

/*
 * The sizes and strides of a product of matrices, if it is one: the output's labels are those of
 * both inputs (batches, three at most), then one of a alone, then one of b alone; one is summed.
 */
static bool is_matrices(const struct product *p, struct vtacpu_matrices *m)
{
	int batches = 0, at;

	*m = (struct vtacpu_matrices){ .batch = { 1, 1, 1 }, .m = 1, .n = 1, .k = 1 };
	while (batches < p->kept && p->a[batches] && p->b[batches])
		batches++;
	if (batches > 3 || p->kept > batches + 2 || p->n > p->kept + 1)
		return false;
	for (int i = 0; i < batches; i++) {
		int to = 3 - batches + i;

		m->batch[to] = p->dims[i];
		m->a_batch[to] = p->a[i];
		m->b_batch[to] = p->b[i];
	}
	at = batches;
	if (at < p->kept && !p->b[at]) {
		m->m = p->dims[at];
		m->a_row = p->a[at++];
	}
	if (at < p->kept && !p->a[at]) {
		m->n = p->dims[at];
		m->b_col = p->b[at++];
	}
	if (at < p->kept)
		return false;
	if (p->n > p->kept) {
		m->k = p->dims[at];
		m->a_col = p->a[at];
		m->b_row = p->b[at];
	}
	return true;
}

/* The same product without labels of one value, which have no stride. */
static struct product without_ones(const struct product *p)
{
	struct product q = { .n = 0 };

	for (int i = 0; i < p->n; i++) {
		if (p->dims[i] == 1)
			continue;
		q.dims[q.n] = p->dims[i];
		q.a[q.n] = p->a[i];
		q.b[q.n++] = p->b[i];
		q.kept += i < p->kept;
	}
	return q;
}

int kernel_einsum(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_CONTRACT_F32);
	const struct vtac_einsum *e = &node->attr.einsum;
	struct vtacpu_matrices matrices;
	struct product p = { .n = 0 };

	add_labels(&p, node->out[0], e->y, node);
	p.kept = p.n;
	add_labels(&p, node->in[0], e->a, node);
	if (node->n_in > 1)
		add_labels(&p, node->in[1], e->b, node);
	c->io[0] = node->in[0];
	c->io[1] = kernel_in(node, 1);
	p = without_ones(&p);
	if (node->n_in > 1 && is_matrices(&p, &matrices)) {
		c->kernel = VTACPU_GEMM_F32;
		c->p.gemm_f32.mat = matrices;
		c->p.gemm_f32.alpha = 1;
		c->io[3] = node->out[0];
		return 0;
	}
	if (p.n > VTACPU_RANK_MAX)
		return vtac_fail(g, node, "Its equation has more than %d labels.", VTACPU_RANK_MAX);
	c->p.contract_f32 = (struct vtacpu_contract_f32){
		.rank = (uint32_t)p.n, .kept = (uint32_t)p.kept, .has_b = node->n_in > 1 };
	for (int i = 0; i < p.n; i++) {
		c->p.contract_f32.dims[i] = p.dims[i];
		c->p.contract_f32.a_stride[i] = p.a[i];
		c->p.contract_f32.b_stride[i] = p.b[i];
	}
	c->io[2] = node->out[0];
	return 0;
}
