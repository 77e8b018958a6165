// SPDX-License-Identifier: Apache-2.0
/* Read Einsum: products of two operands at a time, the first two and then the next. */
#include <string.h>

#include "onnx_impl.h"

#define OPERANDS_MAX	16u

struct equation {
	char in[OPERANDS_MAX][VTAC_LABELS_MAX], out[VTAC_LABELS_MAX];
	unsigned int n;
};

static int add_label(struct onnx_node *n, char labels[VTAC_LABELS_MAX], char label)
{
	size_t len = strlen(labels);

	if (len + 1 >= VTAC_LABELS_MAX)
		return onnx_fail(n, "Its equation has more than %d dimensions.", VTAC_RANK_MAX);
	labels[len] = label;
	labels[len + 1] = 0;
	return 0;
}

/* Without "->": the dimensions of "...", and the letters that are there once, in their order. */
static int default_output(struct onnx_node *n, struct equation *e)
{
	unsigned int count[128] = { 0 };

	for (unsigned int i = 0; i < e->n; i++)
		for (const char *p = e->in[i]; *p; p++)
			count[(unsigned char)*p]++;
	if (count['.'] && add_label(n, e->out, '.'))
		return -1;
	for (int c = 'A'; c <= 'z'; c++)
		if (count[c] == 1 && add_label(n, e->out, (char)c))
			return -1;
	return 0;
}

static int parse(struct onnx_node *n, const Onnx__AttributeProto *a, struct equation *e)
{
	const char *p = (const char *)a->s.data, *end = p + a->s.len;
	char *to = e->in[0];
	bool arrow = false;

	e->n = 1;
	for (; p < end; p++) {
		bool good = true;

		if (*p == ' ')
			continue;
		if (*p == ',' && !arrow && e->n < OPERANDS_MAX) {
			to = e->in[e->n++];
		} else if (end - p >= 2 && !memcmp(p, "->", 2) && !arrow) {
			arrow = true;
			to = e->out;
			p++;
		} else if (end - p >= 3 && !memcmp(p, "...", 3) && !strchr(to, '.')) {
			good = !add_label(n, to, '.');
			p += 2;
		} else if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')) {
			good = !add_label(n, to, *p);
		} else {
			return onnx_fail(n, "Its equation is not one.");
		}
		if (!good)
			return -1;
	}
	if (e->n != n->n_in)
		return onnx_fail(n, "Its equation has %u operands for %u inputs.", e->n, n->n_in);
	return arrow ? 0 : default_output(n, e);
}

/* The labels of the first product that the rest, or the output, has. */
static int between(struct onnx_node *n, const struct equation *e, const char *left,
		   unsigned int right, char out[VTAC_LABELS_MAX])
{
	const char *const both[] = { left, e->in[right] };

	out[0] = 0;
	for (unsigned int i = 0; i < 2; i++)
		for (const char *p = both[i]; *p; p++) {
			bool used = strchr(e->out, *p);

			for (unsigned int k = right + 1; k < e->n; k++)
				used = used || strchr(e->in[k], *p);
			if (used && !strchr(out, *p) && add_label(n, out, *p))
				return -1;
		}
	return 0;
}

static struct vtac_node *make_product(struct onnx_node *n, struct vtac_tensor *a,
				      struct vtac_tensor *b, const char left[VTAC_LABELS_MAX],
				      const char right[VTAC_LABELS_MAX],
				      const char out[VTAC_LABELS_MAX])
{
	struct vtac_node *node = b ? onnx_of_two(n, VTAC_EINSUM, a, b) :
		onnx_of_one(n, VTAC_EINSUM, a);

	if (!node)
		return NULL;
	memcpy(node->attr.einsum.a, left, VTAC_LABELS_MAX);
	memcpy(node->attr.einsum.b, right, VTAC_LABELS_MAX);
	memcpy(node->attr.einsum.y, out, VTAC_LABELS_MAX);
	return node;
}

static int read_einsum(struct onnx_node *n)
{
	const Onnx__AttributeProto *a = onnx_attr(n, "equation");
	char left[VTAC_LABELS_MAX], out[VTAC_LABELS_MAX] = "";
	struct equation e = { .n = 0 };
	struct vtac_node *node = NULL;
	struct vtac_tensor *x = n->in[0];

	if (!a || !a->has_s)
		return onnx_fail(n, "It has no equation.");
	if (parse(n, a, &e))
		return -1;
	if (e.n == 1) {
		node = make_product(n, x, NULL, e.in[0], out, e.out);
		return node ? onnx_result(n, 0, node->out[0]) : -1;
	}
	memcpy(left, e.in[0], sizeof(left));
	for (unsigned int i = 1; i < e.n; i++) {
		if (between(n, &e, left, i, out))
			return -1;
		node = make_product(n, x, n->in[i], left, e.in[i], i + 1 < e.n ? out : e.out);
		if (!node)
			return -1;
		x = node->out[0];
		memcpy(left, out, sizeof(left));
	}
	return onnx_result(n, 0, x);
}

const struct onnx_op onnx_einsum_ops[] = {
	{ "Einsum", 1, UINT32_MAX, 1, read_einsum, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};
