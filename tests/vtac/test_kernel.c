// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the kernels that nodes become. */
#include <string.h>

#include "../frame.h"
#include "net.h"
#include "api/vtac.h"
#include "ir/kernel.h"

/* The kernel of an Einsum of two inputs with images of @batch. */
static uint32_t kernel_of_einsum(int64_t batch, const char *a, const char *b, const char *y)
{
	struct vtac_options opt = { .no_card = true };
	struct vtac_tensor *left, *right;
	struct vtac_call *calls;
	struct vtac_node *node;
	unsigned int n = 0;
	uint32_t kernel;
	struct net net;

	net_begin(&net, 60);
	left = net_input(&net, 6, 4, 4);
	right = net_input(&net, 6, 4, 4);
	left->dims[0] = batch;
	right->dims[0] = batch;
	node = net_node(&net, VTAC_EINSUM, "einsum", left, right, NULL);
	strcpy(node->attr.einsum.a, a);
	strcpy(node->attr.einsum.b, b);
	strcpy(node->attr.einsum.y, y);
	net_output(&net, node->out[0]);
	if (vtac_run_passes(net.g, &opt, "shape") || vtac_calls(net.g, node, &calls, &n))
		fail_msg("%s", net.g->error.text);
	assert_int_equal(n, 1);
	kernel = calls[0].kernel;
	net_end(&net);
	return kernel;
}

/* A dimension of 1 has no strides, and belongs to a product of matrices all the same. */
TEST(einsum_of_one_image_is_a_product_of_matrices)
{
	for (int64_t batch = 1; batch <= 2; batch++) {
		assert_int_equal(kernel_of_einsum(batch, "bhik", "bhjk", "bhij"), VTACPU_GEMM_F32);
		assert_int_equal(kernel_of_einsum(batch, "bhij", "bhjk", "bhik"), VTACPU_GEMM_F32);
	}
	assert_int_equal(kernel_of_einsum(1, "bhij", "bhjk", "bihk"), VTACPU_CONTRACT_F32);
}
