// SPDX-License-Identifier: Apache-2.0
/* Attributes of a node of the file. */
#include <string.h>

#include "onnx_impl.h"

const Onnx__AttributeProto *onnx_attr(struct onnx_node *n, const char *name)
{
	for (size_t i = 0; i < n->p->n_attribute && i < 64; i++) {
		const Onnx__AttributeProto *a = n->p->attribute[i];

		if (a->name && !strcmp(a->name, name)) {
			n->used |= UINT64_C(1) << i;
			return a;
		}
	}
	return NULL;
}

int onnx_attr_int(struct onnx_node *n, const char *name, int64_t def, int64_t *value)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	*value = a ? a->i : def;
	if (a && !a->has_i)
		return onnx_fail(n, "Its attribute %s is not a whole number.", name);
	return 0;
}

int onnx_attr_float(struct onnx_node *n, const char *name, float def, float *value)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	*value = a ? a->f : def;
	if (a && !a->has_f)
		return onnx_fail(n, "Its attribute %s is not a number.", name);
	return 0;
}

int onnx_attr_ints(struct onnx_node *n, const char *name, int64_t *values, size_t count)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	if (!a)
		return 0;
	if (a->n_ints != count)
		return onnx_fail(n,
				 "Its attribute %s has %zu values; %zu are supported: pictures of "
				 "two dimensions.",
				 name, a->n_ints, count);
	memcpy(values, a->ints, count * sizeof(values[0]));
	return 0;
}

int onnx_attr_word(struct onnx_node *n, const char *name, const char *const *words, int def,
		   int *value)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	*value = def;
	if (!a)
		return 0;
	for (int i = 0; words[i]; i++)
		if (a->has_s && a->s.len == strlen(words[i]) &&
		    !memcmp(a->s.data, words[i], a->s.len)) {
			*value = i;
			return 0;
		}
	return onnx_fail(n,
			 "Its attribute %s has the value \"%.*s\", which is not supported.", name,
			 a->has_s && a->s.len < 40 ? (int)a->s.len : 0,
			 a->has_s ? (const char *)a->s.data : "");
}

int onnx_attr_const(struct onnx_node *n, const char *name, struct vtac_tensor **t)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);
	int64_t count;

	*t = NULL;
	if (!a)
		return 0;
	if (a->has_i || a->has_f) {
		*t = vtac_tensor_const(n->g, name, a->has_i ? VTAC_I64 : VTAC_F32, 0, NULL,
				       a->has_i ? (const void *)&a->i : &a->f, true);
	} else if (a->n_floats) {
		count = (int64_t)a->n_floats;
		*t = vtac_tensor_const(n->g, name, VTAC_F32, 1, &count, a->floats, true);
	} else {
		count = (int64_t)a->n_ints;
		*t = vtac_tensor_const(n->g, name, VTAC_I64, 1, &count,
				       count ? (const void *)a->ints : "", true);
	}
	return *t ? 0 : -1;
}

int onnx_attr_end(struct onnx_node *n)
{
	if (n->p->n_attribute > 64)
		return onnx_fail(n, "It has %zu attributes.", n->p->n_attribute);
	for (size_t i = 0; i < n->p->n_attribute; i++)
		if (!(n->used >> i & 1))
			return onnx_fail(n, "Its attribute %.60s is not supported.",
					 n->p->attribute[i]->name ? n->p->attribute[i]->name : "");
	return 0;
}

int onnx_attr_axis(struct onnx_node *n, int64_t def, int *axis)
{
	int64_t value;

	if (onnx_attr_int(n, "axis", def, &value))
		return -1;
	if (value < -VTAC_RANK_MAX || value > VTAC_RANK_MAX)
		return onnx_fail(n, "Its axis is %lld.", (long long)value);
	*axis = (int)value;
	return 0;
}

int onnx_in_or_attr(struct onnx_node *n, struct vtac_node *node, unsigned int i, const char *name)
{
	struct vtac_tensor *t;

	if (onnx_attr_const(n, name, &t))
		return -1;
	if (!t)
		return 0;
	if (node->in[i])
		return onnx_fail(n, "It has %s twice.", name);
	return vtac_node_set_in(n->g, node, i, t);
}
