// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net.h"

static void check(struct net *net, bool good)
{
	if (!good)
		fail_msg("%s", net->g->error.text);
}

void net_begin(struct net *net, uint64_t seed)
{
	*net = (struct net){ .g = vtac_graph_new(0), .seed = seed };
	assert_non_null(net->g);
}

void net_end(struct net *net)
{
	vtac_graph_free(net->g);
	free(net->out);
}

uint32_t net_random(struct net *net, uint32_t below)
{
	net->seed = net->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(net->seed >> 33) % below;
}

int net_random_image(void *priv, unsigned int i, const struct vtac_tensor *t,
		     float *values)
{
	struct net dice = { .seed = 100 + i };

	(void)priv;
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = (float)net_random(&dice, 2001) / 1000 - 1;
	return 0;
}

struct vtac_tensor *net_input(struct net *net, int64_t c, int64_t h, int64_t w)
{
	struct vtac_tensor *t = vtac_tensor_shaped(net->g, "input", VTAC_F32, 4,
						   (const int64_t[]){ 1, c, h, w });

	check(net, t && !vtac_graph_input(net->g, t));
	return t;
}

struct vtac_tensor *net_const(struct net *net, int rank, const int64_t *dims)
{
	struct vtac_tensor *t;
	int64_t n = 1;
	float *v;

	for (int i = 0; i < rank; i++)
		n *= dims[i];
	v = vtac_alloc(net->g, (uint64_t)n, sizeof(*v));
	check(net, v);
	for (int64_t i = 0; i < n; i++)
		v[i] = (float)net_random(net, 2001) / 1000 - 1;
	t = vtac_tensor_const(net->g, "w", VTAC_F32, rank, dims, v, false);
	check(net, t);
	return t;
}

struct vtac_node *net_node(struct net *net, enum vtac_op op, const char *name,
			   struct vtac_tensor *a, struct vtac_tensor *b, struct vtac_tensor *c)
{
	struct vtac_tensor *in[] = { a, b, c }, *t;
	struct vtac_node *node;
	unsigned int n = 0;

	while (n < 3 && in[n])
		n++;
	node = vtac_node_new(net->g, op, name, n, 1);
	t = vtac_tensor_new(net->g, name, VTAC_F32);
	check(net, node && t);
	for (unsigned int i = 0; i < n; i++)
		check(net, !vtac_node_set_in(net->g, node, i, in[i]));
	vtac_node_set_out(node, 0, t);
	return node;
}

struct vtac_tensor *net_conv(struct net *net, struct vtac_tensor *x, const char *name,
			     int64_t in, int64_t out, int64_t k)
{
	struct vtac_tensor *w = net_const(net, 4, (const int64_t[]){ out, in, k, k });
	struct vtac_node *node = net_node(net, VTAC_CONV, name, x, w, net_const(net, 1, &out));

	node->attr.conv = (struct vtac_conv){
		.window = { .kernel = { k, k }, .stride = { 1, 1 }, .dilation = { 1, 1 },
			    .pad = { k / 2, k / 2, k / 2, k / 2 } },
		.groups = 1,
	};
	return node->out[0];
}

struct vtac_tensor *net_norm(struct net *net, struct vtac_tensor *x, const char *name, int64_t c)
{
	struct vtac_node *node = net_node(net, VTAC_BATCH_NORM, name, x, net_const(net, 1, &c),
					  net_const(net, 1, &c));
	struct vtac_tensor *mean = net_const(net, 1, &c), *variance = net_const(net, 1, &c);
	float *v = (float *)(uintptr_t)variance->data;

	for (int64_t i = 0; i < c; i++)
		v[i] = fabsf(v[i]) + 0.5f;
	check(net, !vtac_node_resize_in(net->g, node, 5));
	check(net, !vtac_node_set_in(net->g, node, 3, mean));
	check(net, !vtac_node_set_in(net->g, node, 4, variance));
	node->attr.batch_norm.epsilon = 0.001f;
	return node->out[0];
}

struct vtac_tensor *net_relu(struct net *net, struct vtac_tensor *x, const char *name)
{
	struct vtac_node *node = net_node(net, VTAC_CLIP, name, x, NULL, NULL);

	node->attr.clip.lo = 0;
	node->attr.clip.hi = INFINITY;
	return node->out[0];
}

void net_output(struct net *net, struct vtac_tensor *t)
{
	check(net, !vtac_graph_output(net->g, t) && !vtac_graph_dce(net->g));
}

/* ---- running ---- */

static int give(void *priv, const struct vtac_tensor *t, void *data)
{
	struct net image = { .seed = 7 };
	float *v = data;

	(void)priv;
	for (int64_t i = 0; i < vtac_elements(t); i++)
		if (t->dtype == VTAC_U8)
			((uint8_t *)data)[i] = (uint8_t)net_random(&image, 256);
		else
			v[i] = (float)net_random(&image, 2001) / 1000 - 1;
	return 0;
}

static void take(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct net *net = priv;

	if (t != net->g->outputs[0])
		return;
	free(net->out);
	net->n_out = vtac_elements(t);
	net->out = malloc((size_t)vtac_bytes(t) + 1);
	assert_non_null(net->out);
	memcpy(net->out, data, (size_t)vtac_bytes(t));
}

void net_run(struct net *net)
{
	const struct vtac_interp io = { .input = give, .tensor = take, .priv = net };

	check(net, !vtac_interp_float(net->g, &io));
	assert_non_null(net->out);
}

void net_core(struct vtac_options *opt)
{
	opt->core = (struct vtaops_core){
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_block = 4,
		.log_uop_buff_size = 15, .log_inp_buff_size = 15, .log_wgt_buff_size = 18,
		.log_acc_buff_size = 17,
	};
	assert_int_equal(vtaops_core_init(&opt->core), 0);
}

void net_pass(struct net *net, vtac_pass_fn run, const struct vtac_options *opt)
{
	if (run(net->g, opt) || vtac_graph_verify(net->g, 0, 1))
		fail_msg("%s", net->g->error.text);
}

unsigned int net_count(const struct net *net, enum vtac_op op)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		n += net->g->nodes[i]->op == op;
	return n;
}

struct vtac_node *net_find(const struct net *net, const char *name)
{
	for (unsigned int i = 0; i < net->g->n_nodes; i++)
		if (!strcmp(net->g->nodes[i]->name, name))
			return net->g->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

void net_keeps_values(struct net *net, vtac_pass_fn run, const struct vtac_options *opt)
{
	float *before, most = 0;
	int64_t n;

	net_run(net);
	before = net->out;
	n = net->n_out;
	net->out = NULL;
	for (int64_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(before[i]));
	net_pass(net, run, opt);
	net_run(net);
	assert_int_equal(net->n_out, n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabsf(before[i] - net->out[i]) <= 0.00001f * most))
			fail_msg("value %lld is %g, was %g", (long long)i, (double)net->out[i],
				 (double)before[i]);
	free(before);
}

struct vtac_tensor *net_uint8(struct net *net, struct vtac_tensor *t, float scale, uint8_t zero)
{
	struct vtac_tensor *s, *z;
	struct vtac_node *node;

	s = vtac_tensor_const(net->g, "scale", VTAC_F32, 0, NULL, &scale, true);
	z = vtac_tensor_const(net->g, "zero", VTAC_U8, 0, NULL, &zero, true);
	node = net_node(net, VTAC_QUANTIZE, vtac_text(net->g, "%s/q", t->name), t, s, z);
	node = net_node(net, VTAC_DEQUANTIZE, vtac_text(net->g, "%s/dq", t->name), node->out[0],
			s, z);
	return node->out[0];
}
