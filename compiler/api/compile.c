// SPDX-License-Identifier: Apache-2.0
/*
 * The pipeline: vtac_read_onnx(), or calls of libvtac.h, make a graph; the passes of this table
 * change it in place; vtac_lower() makes streams and calls of kernels of it; vtac_image() writes
 * the program. These two are no rows: they leave the graph as it is. Each row has what holds before
 * the pass and after it, which is checked after it. calibrate tries the rows behind it, down to
 * quantise, on copies of the graph.
 */
#include <string.h>

#include "vtac.h"

#define PLACED		(VTAC_SHAPED | VTAC_PARTITIONED)
#define LEGAL		(PLACED | VTAC_LEGAL)
#define ALIGNED		(LEGAL | VTAC_ALIGNED)
#define CHOSEN		(ALIGNED | VTAC_CHOSEN)
#define CALIBRATED	(CHOSEN | VTAC_CALIBRATED)
#define SCALED		(CALIBRATED | VTAC_SCALED)
#define REQUANTIZED	(CHOSEN | VTAC_SCALED | VTAC_REQUANTIZED)
#define QUANTISED	(ALIGNED | VTAC_SCALED | VTAC_REQUANTIZED | VTAC_QUANTISED)
#define SCHEDULED	(QUANTISED | VTAC_SCHEDULED)

const struct vtac_pass vtac_passes[] = {
	{ "shape", "computes shapes, and values that depend on constants alone",
	  vtac_pass_shape, 0, VTAC_SHAPED },
	{ "fuse", "merges batch norms, pads, biases, activations and residuals into other nodes",
	  vtac_pass_fuse, VTAC_SHAPED, VTAC_SHAPED },
	{ "partition", "gives each node to the card or to the CPU",
	  vtac_pass_partition, VTAC_SHAPED, PLACED },
	{ "legalize", "replaces operators by those that the card has",
	  vtac_pass_legalize, PLACED, LEGAL },
	{ "rounded", "computes products of rounded values on the CPU with integers",
	  vtac_pass_rounded, LEGAL, LEGAL },
	{ "exact", "computes great sums of integers on the CPU by parts that floats hold",
	  vtac_pass_exact, LEGAL, LEGAL },
	{ "channels", "joins splits, joins and shuffles of channels that follow each other",
	  vtac_pass_channels, LEGAL, LEGAL },
	{ "input_affine", "makes the card's integers of inputs that are pixels",
	  vtac_pass_input_affine, LEGAL, LEGAL },
	{ "space_to_depth", "moves positions of an input into channels, for layers with strides",
	  vtac_pass_space_to_depth, LEGAL, LEGAL },
	{ "align_channels", "fills channels up to whole blocks in joined tensors",
	  vtac_pass_align_channels, LEGAL, ALIGNED },
	{ "pad_channels", "adds channels of zeros to inputs of convolutions that pad",
	  vtac_pass_pad_channels, ALIGNED, ALIGNED },
	{ "calibrate", "chooses the best way to quantise, and separates residuals from sums",
	  vtac_pass_calibrate, ALIGNED, CHOSEN },
	{ "channel_split", "computes first layers in two sets of channels, for finer steps",
	  vtac_pass_channel_split, CHOSEN, CHOSEN },
	{ "merge_conv_add", "merges convolutions that are added into one",
	  vtac_pass_merge_conv_add, CHOSEN, CHOSEN },
	{ "gptq", "selects convolutions whose weights are rounded together",
	  vtac_pass_gptq, CHOSEN, CHOSEN },
	{ "stats", "collects the ranges of tensors on images",
	  vtac_pass_stats, CHOSEN, CALIBRATED },
	{ "equalise", "brings channels of a tensor to one range",
	  vtac_pass_equalise, CALIBRATED, CALIBRATED },
	{ "residual", "adds residuals to sums again, if that is exact enough",
	  vtac_pass_residual, CALIBRATED, CALIBRATED },
	{ "precision", "computes tensors of finer steps than 8 bits as two",
	  vtac_pass_precision, CALIBRATED, CALIBRATED },
	{ "zero_point", "chooses scales and zero points of the card's tensors",
	  vtac_pass_zero_point, CALIBRATED, SCALED },
	{ "requantize", "makes integers of weights, and output stages of the card's nodes",
	  vtac_pass_requantize, SCALED, REQUANTIZED },
	{ "quantise", "makes the card's tensors integers, and copies at their borders",
	  vtac_pass_quantise, REQUANTIZED, QUANTISED },
	{ "layout", "places parts of a joined tensor inside of it",
	  vtac_pass_layout, QUANTISED, QUANTISED },
	{ "schedule", "orders the nodes",
	  vtac_pass_schedule, QUANTISED, SCHEDULED },
	{ "memory_plan", "gives each tensor its place in memory",
	  vtac_pass_memory_plan, SCHEDULED, SCHEDULED | VTAC_PLANNED },
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
		if (opt->progress && opt->progress(opt->progress_priv, p->name, 0, 1))
			return vtac_fail(g, NULL, "The caller ended the compilation.");
		if (p->run(g, opt) || vtac_graph_verify(g, p->after, opt->core.block))
			return -1;
		if (opt->after && opt->after(opt->after_priv, p, g))
			return -1;
		if (last && !strcmp(last, p->name))
			break;
	}
	return 0;
}

int vtac_compile(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p)
{
	return vtac_compile_variant(g, opt, NULL, p);
}

int vtac_compile_variant(struct vtac_graph *g, const struct vtac_options *opt,
			 struct vtac_program *before, struct vtac_program *p)
{
	return vtac_run_passes(g, opt, NULL) || vtac_lower_variant(g, opt, before, p) ? -1 : 0;
}
