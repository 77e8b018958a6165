// SPDX-License-Identifier: Apache-2.0
/* Operators on shapes, which only the compiler can compute. */
#include <string.h>

#include "kernel.h"

bool vtac_is_shape_op(enum vtac_op op)
{
	return op == VTAC_SHAPE || op == VTAC_CONSTANT_OF_SHAPE || op == VTAC_RANGE;
}

static void eval_range(const struct vtac_node *node, const void *const *in, void *out)
{
	for (int64_t i = 0; i < vtac_elements(node->out[0]); i++) {
		const int64_t *start = in[0], *step = in[2];
		const int32_t *start32 = in[0], *step32 = in[2];
		const float *startf = in[0], *stepf = in[2];

		if (node->out[0]->dtype == VTAC_F32)
			((float *)out)[i] = *startf + (float)i * *stepf;
		else if (node->out[0]->dtype == VTAC_I32)
			((int32_t *)out)[i] = (int32_t)(*start32 + i * *step32);
		else
			((int64_t *)out)[i] = (int64_t)((uint64_t)*start +
							(uint64_t)i * (uint64_t)*step);
	}
}

void vtac_eval(const struct vtac_node *node, const void *const *in, void *out)
{
	size_t bytes = vtac_dtype_size(node->out[0]->dtype);

	if (node->op == VTAC_RANGE)
		eval_range(node, in, out);
	else if (node->op == VTAC_SHAPE)
		memcpy(out, node->in[0]->dims + node->attr.shape.start,
		       (size_t)vtac_bytes(node->out[0]));
	else
		for (int64_t i = 0; i < vtac_elements(node->out[0]); i++)
			memcpy((char *)out + (size_t)i * bytes, in[1], bytes);
}
