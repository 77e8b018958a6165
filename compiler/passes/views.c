// SPDX-License-Identifier: Apache-2.0
/*
 * Views: where the values come from that Reshape, Transpose, Slice, Split and Gather of one place
 * move, as strides. A node of the card that takes its operand by strides needs none of these.
 */
#include "fuse_impl.h"
#include "views.h"

bool view_init(struct view *v, struct vtac_tensor *t)
{
	int64_t stride = 1;

	*v = (struct view) { .t = t, .alpha = 1, .rank = t->rank, .n = t->rank };
	if (t->rank < 1 || t->rank > VTAC_RANK_MAX || vtac_elements(t) < 1)
		return false;
	for (int i = t->rank; i-- > 0; stride *= t->dims[i])
		v->atoms[i] = (struct view_atom) { t->dims[i], stride, i };
	return true;
}

/* The places of a moved tensor in the tensor that it is moved from. */
struct moved {
	struct vtac_tensor *from;
	int64_t stride[VTAC_RANK_MAX];	/* of each dimension of the moved one */
	int64_t offset;
};

static void plain_strides(const struct vtac_tensor *t, int64_t *stride)
{
	int64_t next = 1;

	for (int i = VTAC_RANK_MAX; i-- > 0; next *= i < t->rank ? t->dims[i] : 1)
		stride[i] = next;
}

static void find_split(const struct vtac_node *node, const struct vtac_tensor *t, struct moved *m)
{
	int axis = node->attr.axis.axis;

	plain_strides(m->from, m->stride);
	for (unsigned int i = 0; i < node->n_out && node->out[i] != t; i++)
		m->offset += node->out[i] ? node->out[i]->dims[axis] * m->stride[axis] : 0;
}

/* A Gather of one constant place. */
static bool find_gather(const struct vtac_node *node, struct moved *m)
{
	const struct vtac_tensor *index = node->in[1];
	int axis = node->attr.axis.axis;
	int64_t stride[VTAC_RANK_MAX] = { 0 }, at;

	if (!index->data || vtac_elements(index) != 1 || index->rank ||
	    (index->dtype != VTAC_I64 && index->dtype != VTAC_I32))
		return false;
	at = index->dtype == VTAC_I64 ? *(const int64_t *)index->data :
					*(const int32_t *)index->data;
	at += at < 0 ? m->from->dims[axis] : 0;
	plain_strides(m->from, stride);
	if (at < 0 || at >= m->from->dims[axis])
		return false;
	m->offset = at * stride[axis];
	for (int i = 0; i < m->from->rank - 1; i++)
		m->stride[i] = stride[i + (i >= axis)];
	return true;
}

/* Returns false if @t's producer does not move values so. */
static bool find_moved(const struct vtac_tensor *t, struct moved *m)
{
	const struct vtac_node *node = t->producer;
	int64_t stride[VTAC_RANK_MAX] = { 0 };

	*m = (struct moved) { .from = node->in[0] };
	if (m->from->data || m->from->dtype != t->dtype || m->from->size || t->size)
		return false;
	switch (node->op) {
	case VTAC_TRANSPOSE:
		plain_strides(m->from, stride);
		for (int i = 0; i < t->rank; i++)
			m->stride[i] = stride[node->attr.transpose.perm[i]];
		return true;
	case VTAC_SLICE:
		plain_strides(m->from, stride);
		for (int i = 0; i < t->rank; i++) {
			m->stride[i] = stride[i] * node->attr.slice.step[i];
			m->offset += stride[i] * node->attr.slice.start[i];
			if (node->attr.slice.step[i] < 0)
				return false;
		}
		return true;
	case VTAC_SPLIT:
		find_split(node, t, m);
		return true;
	case VTAC_GATHER:
		return find_gather(node, m);
	default:
		return false;
	}
}

/*
 * Puts an atom along the dimensions of @t, from @inner outwards: as one atom, or several. Returns
 * false if a stride does not go along one dimension, or there are too many.
 */
static bool put_atom(struct view *to, const struct vtac_tensor *t, const struct moved *m,
		     struct view_atom a, const int64_t *start, int64_t *reach)
{
	int64_t plain[VTAC_RANK_MAX];
	struct view_atom parts[VTAC_RANK_MAX];
	int n = 0, j = t->rank - 1;

	if (j < 0)	/* a single number */
		return a.size == 1;
	if (j >= VTAC_RANK_MAX)
		return false;
	plain_strides(t, plain);
	while (j > 0 && (a.stride % plain[j] || a.stride / plain[j] >= t->dims[j]))
		j--;
	if (a.stride % plain[j])
		return false;
	for (; a.size > 1; j--) {
		int64_t step, room;

		if (j < 0 || a.stride % plain[j])
			return false;
		step = a.stride / plain[j];
		room = (t->dims[j] - start[j] + step - 1) / step;
		if (a.size <= room) {
			parts[n++] = (struct view_atom) { a.size, step * m->stride[j], a.dim };
			reach[j] += (a.size - 1) * step;
			break;
		}
		/* It goes on in the next dimension: from one whole of this one to the next. */
		if (start[j] || t->dims[j] % step || a.size % (t->dims[j] / step))
			return false;
		room = t->dims[j] / step;
		if (room > 1)
			parts[n++] = (struct view_atom) { room, step * m->stride[j], a.dim };
		reach[j] += (room - 1) * step;
		a.size /= room;
		a.stride = plain[j] * t->dims[j];
	}
	if (to->n + n > VIEW_ATOMS_MAX)
		return false;
	while (n)
		to->atoms[to->n++] = parts[--n];
	return true;
}

static bool remap(struct view *v, const struct moved *m)
{
	const struct vtac_tensor *t = v->t;
	struct view to = *v;
	int64_t plain[VTAC_RANK_MAX], start[VTAC_RANK_MAX], reach[VTAC_RANK_MAX];

	plain_strides(t, plain);
	to.t = m->from;
	to.offset = m->offset;
	to.n = 0;
	for (int i = 0; i < t->rank; i++) {
		start[i] = v->offset / plain[i] % t->dims[i];
		reach[i] = start[i];
		to.offset += start[i] * m->stride[i];
	}
	for (int i = 0; i < v->n; i++)
		if (!put_atom(&to, t, m, v->atoms[i], start, reach))
			return false;
	/* Together, atoms of one dimension stay within it. */
	for (int i = 0; i < t->rank; i++)
		if (reach[i] >= t->dims[i])
			return false;
	*v = to;
	return true;
}

/* The factor of a product by one number, of which @t is the result; 0: it is none. */
static float factor_of(const struct vtac_tensor *t, struct vtac_tensor **from)
{
	const struct vtac_node *node = t->producer;
	float number;

	if ((node->op != VTAC_MUL && node->op != VTAC_DIV) || node->act.kind != VTAC_ACT_NONE ||
	    t->dtype != VTAC_F32)
		return 0;
	for (int i = 1; i >= 0; i--) {
		if (!node->in[1 - i]->data && fuse_number(node->in[i], &number) && number != 0 &&
		    vtac_same_shape(node->in[1 - i], t)) {
			*from = node->in[1 - i];
			return node->op == VTAC_DIV ? 1 / number : number;
		}
		if (node->op == VTAC_DIV)
			break;
	}
	return 0;
}

bool view_step(struct view *v)
{
	struct vtac_node *node = v->t->producer;
	struct vtac_tensor *from = NULL;
	struct moved m;
	float factor;
	const struct vtac_quant *quant = vtac_is_given(v->t) && v->t->quant.n == 1 ?
		&v->t->quant : v->quant;

	if (!node)
		return false;
	if ((node->op == VTAC_RESHAPE || node->op == VTAC_IDENTITY) && !node->in[0]->data &&
	    !node->in[0]->size && !v->t->size && node->in[0]->dtype == v->t->dtype) {
		v->t = node->in[0];
		v->quant = quant;
		return true;
	}
	factor = factor_of(v->t, &from);
	if (factor != 0) {
		v->t = from;
		v->alpha *= factor;
		v->quant = NULL;
		return true;
	}
	if (!find_moved(v->t, &m) || !remap(v, &m))
		return false;
	v->quant = quant;
	return true;
}

void view_join(struct view *v)
{
	int n = 0;

	for (int i = 0; i < v->n; i++) {
		struct view_atom a = v->atoms[i];

		if (a.size == 1)
			continue;
		if (n && v->atoms[n - 1].dim == a.dim &&
		    v->atoms[n - 1].stride == a.size * a.stride) {
			a.size *= v->atoms[n - 1].size;
			n--;
		}
		v->atoms[n++] = a;
	}
	v->n = n;
}
