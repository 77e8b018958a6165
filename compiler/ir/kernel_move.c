// SPDX-License-Identifier: Apache-2.0
/* Nodes as calls of the CPU's kernels: those that move values, of any type. */
#include <string.h>

#include "kernel_impl.h"

static uint32_t value_bytes(const struct vtac_node *node)
{
	return (uint32_t)vtac_dtype_size(node->in[0]->dtype);
}

/* The kernel wants at least one dimension. */
static uint32_t dims_of(const struct vtac_tensor *t, uint32_t *dims)
{
	dims[0] = 1;
	for (int i = 0; i < t->rank; i++)
		dims[i] = (uint32_t)t->dims[i];
	return t->rank ? (uint32_t)t->rank : 1;
}

static struct vtac_call *move_call(struct vtac_call *calls, unsigned int *n,
				   struct vtacpu_move move, const struct vtac_tensor *x,
				   const struct vtac_tensor *y)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_MOVE);

	c->p.move = move;
	c->io[0] = x;
	c->io[1] = y;
	return c;
}

int kernel_concat(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	uint32_t axis = (uint32_t)node->attr.axis.axis, at = 0, dims[VTAC_RANK_MAX];

	(void)g;
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *x = node->in[i];
		uint32_t rank = dims_of(x, dims);

		if (vtac_elements(x))
			move_call(calls, n,
				  vtacpu_concat_part(value_bytes(node), rank, dims, axis, at,
						     (uint32_t)node->out[0]->dims[axis]),
				  x, node->out[0]);
		at += dims[axis];
	}
	return 0;
}

int kernel_split(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n)
{
	uint32_t dims[VTAC_RANK_MAX], out[VTAC_RANK_MAX], rank = dims_of(node->in[0], dims);
	int32_t start[VTAC_RANK_MAX] = { 0 }, step[VTAC_RANK_MAX];
	int axis = node->attr.axis.axis;

	(void)g;
	for (int i = 0; i < VTAC_RANK_MAX; i++)
		step[i] = 1;
	for (unsigned int i = 0; i < node->n_out; i++) {
		dims_of(node->out[i], out);
		if (vtac_elements(node->out[i]))
			move_call(calls, n, vtacpu_slice(value_bytes(node), rank, dims, out, start,
							 step), node->in[0], node->out[i]);
		start[axis] += (int32_t)out[axis];
	}
	return 0;
}

int kernel_slice(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n)
{
	uint32_t dims[VTAC_RANK_MAX], out[VTAC_RANK_MAX], rank = dims_of(node->in[0], dims);
	int32_t start[VTAC_RANK_MAX] = { 0 }, step[VTAC_RANK_MAX] = { 1 };

	(void)g;
	dims_of(node->out[0], out);
	for (int i = 0; i < node->in[0]->rank; i++) {
		start[i] = (int32_t)node->attr.slice.start[i];
		/* One value is one value, however far the next would be. */
		step[i] = out[i] > 1 ? (int32_t)node->attr.slice.step[i] : 1;
	}
	move_call(calls, n, vtacpu_slice(value_bytes(node), rank, dims, out, start, step),
		  node->in[0], node->out[0]);
	return 0;
}

/* The bits of the number that is padded with. */
static void pad_bits(const struct vtac_node *node, uint32_t bits[2])
{
	float value = node->attr.pad.value;
	int64_t integer;

	bits[0] = 0;
	bits[1] = 0;
	if (node->in[0]->dtype == VTAC_F32) {
		memcpy(bits, &value, sizeof(value));
		return;
	}
	integer = value >= -9e18f && value <= 9e18f ? (int64_t)value : 0;
	bits[0] = (uint32_t)integer;
	bits[1] = (uint32_t)((uint64_t)integer >> 32);
}

int kernel_pad(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n)
{
	struct vtac_call *c = kernel_call(&calls[(*n)++], VTACPU_PAD);
	struct vtacpu_pad *p = &c->p.pad;

	(void)g;
	p->bytes = value_bytes(node);
	p->mode = node->attr.pad.mode;
	p->rank = dims_of(node->in[0], p->dims);
	dims_of(node->out[0], p->out);
	for (int i = 0; i < node->in[0]->rank; i++)
		p->before[i] = (int32_t)node->attr.pad.before[i];
	pad_bits(node, p->value);
	c->io[0] = node->in[0];
	c->io[1] = node->out[0];
	return 0;
}

int kernel_transpose(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n)
{
	uint32_t dims[VTAC_RANK_MAX], perm[VTAC_RANK_MAX] = { 0 };
	uint32_t rank = dims_of(node->in[0], dims);

	(void)g;
	for (int i = 0; i < node->in[0]->rank; i++)
		perm[i] = (uint32_t)node->attr.transpose.perm[i];
	move_call(calls, n, vtacpu_transpose(value_bytes(node), rank, dims, perm), node->in[0],
		  node->out[0]);
	return 0;
}

/* The reverse of a move of all values. */
static struct vtacpu_move reverse_move(struct vtacpu_move m)
{
	for (uint32_t i = 0; i < m.rank; i++) {
		int32_t stride = m.x_stride[i];

		m.x_stride[i] = m.y_stride[i];
		m.y_stride[i] = stride;
	}
	return m;
}

int kernel_depth_to_space(struct vtac_graph *g, const struct vtac_node *node,
			  struct vtac_call *calls, unsigned int *n)
{
	bool inverse = node->attr.depth_to_space.inverse;
	const struct vtac_tensor *deep = inverse ? node->out[0] : node->in[0];
	struct vtacpu_move m =
		vtacpu_depth_to_space(value_bytes(node), (uint32_t)deep->dims[0],
				      (uint32_t)deep->dims[1], (uint32_t)deep->dims[2],
				      (uint32_t)deep->dims[3],
				      (uint32_t)node->attr.depth_to_space.block,
				      node->attr.depth_to_space.crd);

	(void)g;
	move_call(calls, n, inverse ? reverse_move(m) : m, node->in[0], node->out[0]);
	return 0;
}

/* Channels @to, @to + @to_step, ... are @from, @from + @from_step, ... of input @source. */
struct run {
	uint32_t source, from, to, count;
	int64_t from_step, to_step;
};

/* The channels from @r->to on, of those that are not @done, that are such a row; marks them. */
static void take_run(const struct vtaops_pick *picks, uint32_t channels, bool *done,
		     struct run *r)
{
	uint32_t last = r->to;

	r->source = picks[last].source;
	r->from = picks[last].channel;
	r->count = 1;
	done[last] = true;
	for (uint32_t c = last + 1; c < channels; c++) {
		if (done[c] || picks[c].source != r->source)
			continue;
		if (r->count == 1) {
			r->to_step = c - last;
			r->from_step = (int64_t)picks[c].channel - r->from;
		} else if (c - last != r->to_step) {
			if (c - last > r->to_step)
				break;
			continue;
		}
		if ((int64_t)picks[c].channel - picks[last].channel != r->from_step)
			break;
		done[c] = true;
		last = c;
		r->count++;
	}
}

static void call_run(const struct vtac_node *node, const struct run *r, struct vtac_call *calls,
		     unsigned int *n)
{
	const struct vtac_tensor *x = node->in[r->source], *y = node->out[0];
	uint32_t plane = (uint32_t)(vtac_elements(y) / (y->dims[0] * y->dims[1]));
	struct vtacpu_move m = {
		.bytes = value_bytes(node), .rank = 3,
		.dims = { (uint32_t)y->dims[0], r->count, plane },
		.x_stride = { (int32_t)(x->dims[1] * plane), (int32_t)(r->from_step * plane), 1 },
		.y_stride = { (int32_t)(y->dims[1] * plane), (int32_t)(r->to_step * plane), 1 },
		.x_at = r->from * plane, .y_at = r->to * plane,
		.x_count = (uint32_t)vtac_elements(x), .y_count = (uint32_t)vtac_elements(y),
	};

	move_call(calls, n, m, x, y);
}

int kernel_channels(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n)
{
	const struct vtaops_pick *picks = node->attr.channels.picks;
	uint32_t channels = (uint32_t)node->out[0]->dims[1];
	bool *done = vtac_alloc(g, channels, sizeof(*done));

	if (!done)
		return -1;
	for (uint32_t c = 0; c < channels; c++) {
		struct run r = { .to = c };

		if (done[c])
			continue;
		take_run(picks, channels, done, &r);
		call_run(node, &r, calls, n);
	}
	return 0;
}

/* The same values in the same order. */
int kernel_copy(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n)
{
	uint32_t count = (uint32_t)vtac_elements(node->in[0]);
	static const uint32_t same[] = { 0 };

	(void)g;
	move_call(calls, n, vtacpu_transpose(value_bytes(node), 1, &count, same), node->in[0],
		  node->out[0]);
	return 0;
}

int kernel_transfer(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n)
{
	return (node->attr.pad.after[1] ? kernel_pad : kernel_copy)(g, node, calls, n);
}

/* Strides of the output, plain, and of the input in a dimension that it has or repeats. */
static void repeated(struct vtacpu_move *m, const struct vtac_node *node)
{
	int64_t step = 1;

	m->bytes = value_bytes(node);
	m->x_count = (uint32_t)vtac_elements(node->in[0]);
	m->y_count = (uint32_t)vtac_elements(node->out[0]);
	for (uint32_t i = m->rank; i--; step *= m->dims[i])
		m->y_stride[i] = (int32_t)step;
}

int kernel_expand(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n)
{
	const struct vtac_tensor *y = node->out[0];
	struct vtacpu_move m = { 0 };

	(void)g;
	m.rank = dims_of(y, m.dims);
	for (int i = 0; i < y->rank; i++)
		m.x_stride[i] = (int32_t)kernel_stride(node->in[0], y->rank, i);
	repeated(&m, node);
	move_call(calls, n, m, node->in[0], y);
	return 0;
}

/* Each dimension that is repeated is two: how often, and its values. */
int kernel_tile(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	struct vtacpu_move m = { .rank = 0 };

	for (int i = 0; i < x->rank; i++) {
		uint32_t times = (uint32_t)(y->dims[i] / x->dims[i]);

		if (m.rank + 2 > VTACPU_RANK_MAX)
			return vtac_fail(g, node, "It repeats too many dimensions.");
		if (times > 1) {
			m.x_stride[m.rank] = 0;
			m.dims[m.rank++] = times;
		}
		m.x_stride[m.rank] = (int32_t)kernel_stride(x, x->rank, i);
		m.dims[m.rank++] = (uint32_t)x->dims[i];
	}
	if (!m.rank)
		m.dims[m.rank++] = 1;
	repeated(&m, node);
	move_call(calls, n, m, x, y);
	return 0;
}
