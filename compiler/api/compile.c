// SPDX-License-Identifier: Apache-2.0
/* The passes in their order, and all of them. */
#include <string.h>

#include "vtac.h"

const struct vtac_pass vtac_passes[] = {
	{ "shape", "computes shapes, and values that depend on constants alone", vtac_pass_shape },
	{ "fuse", "merges batch norms, pads, biases, activations and residuals into other nodes",
	  vtac_pass_fuse },
	{ "partition", "gives each node to the card or to the CPU", vtac_pass_partition },
	{ "legalize", "replaces activations by operators that the card has", vtac_pass_legalize },
	{ "input_affine", "makes the card's integers of inputs that are pixels",
	  vtac_pass_input_affine },
	{ "align_channels", "fills channels up to whole blocks in joined tensors",
	  vtac_pass_align_channels },
	{ "pad_channels", "adds channels of zeros to inputs of convolutions that pad",
	  vtac_pass_pad_channels },
	{ "calibrate", "finds the range of each tensor, and the best way to quantise it",
	  vtac_pass_calibrate },
	{ "quantise", "makes integers for the card's nodes, and copies at their borders",
	  vtac_pass_quantise },
	{ "layout", "places parts of a joined tensor inside of it", vtac_pass_layout },
	{ "schedule", "orders the nodes", vtac_pass_schedule },
	{ NULL, NULL, NULL },
};

const struct vtac_pass *vtac_pass_find(const char *name)
{
	for (const struct vtac_pass *p = vtac_passes; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

int vtac_run_passes(struct vtac_graph *g, const struct vtac_options *opt, const char *last)
{
	for (const struct vtac_pass *p = vtac_passes; p->name; p++) {
		if (opt->progress)
			opt->progress(opt->progress_priv, p->name, 0, 1);
		if (p->run(g, opt) || vtac_graph_verify(g))
			return -1;
		if (opt->after)
			opt->after(opt->after_priv, p, g);
		if (last && !strcmp(last, p->name))
			break;
	}
	return 0;
}
