// SPDX-License-Identifier: Apache-2.0
/*
 * The pipeline: vtac_read_onnx(), or calls of libvtac.h, make a graph; the passes of this table
 * change it in place; vtac_lower() plans its memory and makes streams and calls of kernels of it;
 * vtac_image() writes the program. calibrate tries equalise, channel_split and merge_conv_add;
 * quantise uses zero_point, gptq and requantize.
 */
#include <string.h>

#include "vtac.h"

#define ALIGNED		(VTAC_SHAPED | VTAC_PARTITIONED | VTAC_LEGAL | VTAC_ALIGNED)
#define LEGAL		(VTAC_SHAPED | VTAC_PARTITIONED | VTAC_LEGAL)
#define QUANTISED	(ALIGNED | VTAC_QUANTISED)

const struct vtac_pass vtac_passes[] = {
	{ "shape", "computes shapes, and values that depend on constants alone",
	  vtac_pass_shape, 0, VTAC_SHAPED },
	{ "fuse", "merges batch norms, pads, biases, activations and residuals into other nodes",
	  vtac_pass_fuse, VTAC_SHAPED, VTAC_SHAPED },
	{ "partition", "gives each node to the card or to the CPU",
	  vtac_pass_partition, VTAC_SHAPED, VTAC_SHAPED | VTAC_PARTITIONED },
	{ "legalize", "replaces activations by operators that the card has",
	  vtac_pass_legalize, VTAC_SHAPED | VTAC_PARTITIONED, LEGAL },
	{ "input_affine", "makes the card's integers of inputs that are pixels",
	  vtac_pass_input_affine, LEGAL, LEGAL },
	{ "align_channels", "fills channels up to whole blocks in joined tensors",
	  vtac_pass_align_channels, LEGAL, ALIGNED },
	{ "pad_channels", "adds channels of zeros to inputs of convolutions that pad",
	  vtac_pass_pad_channels, ALIGNED, ALIGNED },
	{ "calibrate", "finds the range of each tensor, and the best way to quantise it",
	  vtac_pass_calibrate, ALIGNED, ALIGNED | VTAC_CALIBRATED },
	{ "quantise", "makes integers for the card's nodes, and copies at their borders",
	  vtac_pass_quantise, ALIGNED | VTAC_CALIBRATED, QUANTISED },
	{ "layout", "places parts of a joined tensor inside of it",
	  vtac_pass_layout, QUANTISED, QUANTISED },
	{ "schedule", "orders the nodes",
	  vtac_pass_schedule, QUANTISED, QUANTISED | VTAC_SCHEDULED },
	{ NULL, NULL, NULL, 0, 0 },
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
		if (p->run(g, opt) || vtac_graph_verify(g, p->after, opt->core.block))
			return -1;
		if (opt->after)
			opt->after(opt->after_priv, p, g);
		if (last && !strcmp(last, p->name))
			break;
	}
	return 0;
}

int vtac_compile(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p)
{
	return vtac_run_passes(g, opt, NULL) || vtac_lower(g, opt, p) ? -1 : 0;
}
