// SPDX-License-Identifier: GPL-2.0-only
/* The passes in their order, and all of them. */
#include <string.h>

#include "vtac.h"

const struct vtac_pass vtac_passes[] = {
	{ "shape", "shapes of all tensors; what is computed of constants becomes one",
	  vtac_pass_shape },
	{ "fuse", "batch norms, pads, biases, activations and residuals into other nodes",
	  vtac_pass_fuse },
	{ "annotate", "what the card could compute", vtac_pass_annotate },
	{ "propagate", "the card for what is next to it", vtac_pass_propagate },
	{ "prune", "the CPU for what is not worth its copies", vtac_pass_prune },
	{ "forms", "activations as what the card has", vtac_pass_forms },
	{ "blocks", "channels filled up to whole blocks where they are joined", vtac_pass_blocks },
	{ "calibrate", "what values tensors have on the images, and how to make integers of them",
	  vtac_pass_calibrate },
	{ "quantise", "integers for the card, and the copies to it and back", vtac_pass_quantise },
	{ "layout", "parts of joined tensors where the whole is", vtac_pass_layout },
	{ "schedule", "the order of running", vtac_pass_schedule },
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
		if (p->run(g, opt) || vtac_graph_check(g))
			return -1;
		if (opt->after)
			opt->after(opt->after_priv, p, g);
		if (last && !strcmp(last, p->name))
			break;
	}
	return 0;
}
