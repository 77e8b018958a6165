/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler does to a graph, in order (api/compile.c has the table)
 *
 * A pass is int vtac_pass_NAME(graph, options): 0, or -1 with graph->error. One pass,
 * one file. `vtac compile --dump-after=NAME` prints the graph after any of them.
 */
#ifndef VTAC_PASSES_H
#define VTAC_PASSES_H

#include "ir/graph.h"
#include "ir/interp.h"
#include "vtaops.h"

/* A graph input's shape, given by the user. */
struct vtac_shape_option {
	const char *input;	/* NULL: the only one */
	int rank;
	int64_t dims[VTAC_RANK_MAX];
};

/* Progress of the work: @done of @total; called from the compiler's thread. */
typedef void (*vtac_progress)(void *priv, const char *what, uint64_t done, uint64_t total);

struct vtac_quant_options;
struct vtac_images;
struct vtac_pass;

struct vtac_options {
	struct vtaops_core core;	/* by vtaops_core_init() */
	bool no_card;			/* everything on the CPU */
	const struct vtac_shape_option *shapes;
	unsigned int n_shapes;
	const char *const *cpu;		/* names of nodes that the user keeps off the card */
	unsigned int n_cpu;
	const char *card_from, *card_to;	/* only from this node to that one, or NULL */
	bool no_prune;
	unsigned int cpu_rate;	/* of the host, see partition_cost.c; 0: the usual */
	bool keep_all;		/* tensors share no memory: to look at them after a run */
	bool one_by_one;	/* each card node is a stream of its own: to compare with */
	const struct vtac_quant_options *quant;	/* quant.h; NULL: what is best as a rule */
	const struct vtac_images *images;	/* to calibrate with (quant.h), or NULL */
	vtac_progress progress;		/* or NULL */
	void *progress_priv;
	/* Called after each pass, or NULL. */
	void (*after)(void *priv, const struct vtac_pass *pass, const struct vtac_graph *g);
	void *after_priv;
};

typedef int (*vtac_pass_fn)(struct vtac_graph *g, const struct vtac_options *opt);

struct vtac_pass {
	const char *name, *what;
	vtac_pass_fn run;
};

/* In order, ended by a NULL name. */
extern const struct vtac_pass vtac_passes[];
const struct vtac_pass *vtac_pass_find(const char *name);

/* onnx.c: read a model. External data is looked for below the file's directory. */
int vtac_read_onnx(struct vtac_graph *g, const char *path);
/* The same from memory; @dir is where external data is, NULL: there is none. */
int vtac_read_onnx_memory(struct vtac_graph *g, const void *data, size_t len, const char *dir);

int vtac_pass_shape(struct vtac_graph *g, const struct vtac_options *opt);	/* and folds */
int vtac_pass_fuse(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_partition(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_legalize(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_input_affine(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_align_channels(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_pad_channels(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_calibrate(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_layout(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_quantise(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_schedule(struct vtac_graph *g, const struct vtac_options *opt);

/* fold.c: compute a node whose inputs are constant now; its outputs become constants. */
int vtac_fold_node(struct vtac_graph *g, struct vtac_node *node);

#endif /* VTAC_PASSES_H */
