// SPDX-License-Identifier: GPL-2.0-only
/* The layers of ResNet-18 against the roofline; cycles are exact, so this is. */

#include "../frame.h"
#include "resnet.h"

/* Of the roofline, what every convolution of 3 x 3 must reach on TVM's default core. */
#define RATIO	0.70

TEST(test_roofline)
{
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		const struct resnet_layer *l = &resnet_layers[i];
		struct resnet_result r;

		resnet_run(l, &core_config_default, 1, &r);
		print_message("# %s: %.3f of the roofline\n", l->name, r.ratio);
		assert_true(r.exact);
		assert_true(r.gemm_uops >= r.compute);
		assert_true(r.ratio <= 1);
		if (l->k == 3 && r.ratio < RATIO)
			fail_msg("%s: %.3f of the roofline", l->name, r.ratio);
	}
}
