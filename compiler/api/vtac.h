/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libvtac: from a trained network to a program for the card
 *
 *	struct vtac_graph *g = vtac_graph_new(0);
 *	struct vtac_program p;
 *
 *	vtac_read_onnx(g, "model.onnx")			// or make nodes, see graph.h
 *	vtac_compile(g, &options, &p)
 *	...
 *	vtac_program_free(&p);
 *	vtac_graph_free(g);
 *
 * Each returns -1 with a sentence in g->error.text. A network in another form becomes a
 * graph by vtac_node_new() and so on: the passes do not know where a graph came from.
 * These headers are the compiler's own, and change with it. libvtac.h is for others.
 */
#ifndef VTAC_H
#define VTAC_H

#include "ir/interp.h"
#include "lower/program.h"
#include "onnx/onnx.h"
#include "passes/passes.h"
#include "quant/quant.h"

/* @before, @after: properties of the graph (enum vtac_holds) that the pass needs and leaves */
struct vtac_pass {
	const char *name, *what;
	vtac_pass_fn run;
	unsigned int before, after;
};

/* In order, ended by a NULL name. */
extern const struct vtac_pass vtac_passes[];
const struct vtac_pass *vtac_pass_find(const char *name);

/* Run the passes in order, up to @last (NULL: all). The graph is verified after each. */
int vtac_run_passes(struct vtac_graph *g, const struct vtac_options *opt, const char *last);
/* Run all passes, and lower the graph to @p. */
int vtac_compile(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p);

/* The same for a variant behind @before, or NULL (vtac_lower_variant()). */
int vtac_compile_variant(struct vtac_graph *g, const struct vtac_options *opt,
			 struct vtac_program *before, struct vtac_program *p);

/*
 * variants.c: the number of variants that the shapes of @opt ask for, at least 1; 0 and a sentence
 * in @error if inputs have different numbers of shapes, or too many.
 */
unsigned int vtac_variants(const struct vtac_options *opt, struct vtac_error *error);
/* The shapes of a variant, of which there are at most opt->n_shapes. Returns their number. */
unsigned int vtac_variant_shapes(const struct vtac_options *opt, unsigned int variant,
				 struct vtac_shape_option *shapes);

/*
 * labels.c, once shapes are known: 0 if @labels has a line for each class of the first output, or
 * that output is no batch of vectors; else -1, with the error of @g
 */
int vtac_check_labels(struct vtac_graph *g, const char *labels);
/* The same of @right, the classes of @n images: 0 if the first output has them all. */
int vtac_check_classes(struct vtac_graph *g, const unsigned int *right, unsigned int n);

/*
 * random.c: inputs of a model without images: of a picture, pixels as @pre makes them; NULL: values
 * are normal. @r stays as long as the images.
 */
#define VTAC_RANDOM_INPUTS	8u
struct vtac_random {
	struct vtac_images images;
	float least, most;		/* of pixels; equal: none are known */
};

void vtac_random_init(struct vtac_random *r, const struct vtaimage_preprocess *pre);
/*
 * Do nodes of the card need ranges, which neither the file has nor images of @opt show? @g has just
 * been read, and does not change.
 */
bool vtac_lacks_images(const struct vtac_graph *g, const struct vtac_options *opt);
#define VTAC_RANDOM_TEXT	240	/* bytes of a buffer for this: */
/* Write to @buf what results by random inputs are worth: sentences without the first capital. */
const char *vtac_random_text(char *buf);

/* net.c: the net of libvtac.h */
struct vtac_net {
	struct vtac_graph *g;
};

/* report.c: what runs where, and why; cycles and memory. */
struct vtac_report_options {
	bool json;
	unsigned int clock_khz;			/* of the card, for times; 0: 100 MHz */
	const struct vtac_accuracy *accuracy;	/* of vtac_measure(), or NULL */
};
void vtac_report(const struct vtac_program *p, const struct vtac_report_options *how, FILE *f);
/* The same as a text, to be freed; NULL: no memory. */
char *vtac_report_text(const struct vtac_program *p, const struct vtac_report_options *how);
/* The same of a variant, whose number and inputs stand before it. */
char *vtac_variant_report(const struct vtac_program *p, const struct vtac_report_options *how,
			  unsigned int variant);

#endif /* VTAC_H */
