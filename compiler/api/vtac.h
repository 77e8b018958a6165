/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libvtac: from a trained network to a program for the card
 *
 *	struct vtac_graph *g = vtac_graph_new(0);
 *	struct vtac_program p;
 *
 *	vtac_read_onnx(g, "model.onnx")			// or make nodes, see graph.h
 *	vtac_run_passes(g, &options, NULL)
 *	vtac_lower(g, &options, &p)			// program.h
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

#include "passes/passes.h"
#include "lower/program.h"
#include "quant/quant.h"

/* The passes in order, up to @last (NULL: all). The graph is checked after each. */
int vtac_run_passes(struct vtac_graph *g, const struct vtac_options *opt, const char *last);

/* report.c: what runs where, and why; cycles and memory. */
struct vtac_report_options {
	bool json;
	const struct vtac_accuracy *accuracy;	/* of vtac_measure(), or NULL */
};
void vtac_report(const struct vtac_program *p, const struct vtac_report_options *how, FILE *f);
/* The same as a text, to be freed; NULL: no memory. */
char *vtac_report_text(const struct vtac_program *p, const struct vtac_report_options *how);

/* accuracy.c: integers against floats, tensor by tensor. */
struct vtac_accuracy {
	unsigned int images, agree;	/* the greatest output is the same */
	bool labelled;			/* the images' classes are known: */
	unsigned int right, right_float;	/* the greatest output is the image's class */
	double *sqnr;			/* dB, by tensor id of the quantised graph; 0: not known */
	double *each;			/* likewise, the mean of the images' own */
	unsigned int n_sqnr;
	double output_sqnr;		/* of the first output */
};

/*
 * Run @images through @real, a float graph of the same network after the pass `pad_channels`,
 * and through @quantised. Tensors are the same by name.
 */
int vtac_measure(struct vtac_graph *real, struct vtac_graph *quantised,
		 const struct vtac_options *opt, const struct vtac_images *images,
		 struct vtac_accuracy *accuracy);

/* images.c: images to calibrate with, from .npy files. */
struct vtac_image_files;
struct vtac_image_files *vtac_images_open(const char *path, struct vtac_error *error);
const struct vtac_images *vtac_images_of(struct vtac_image_files *files);
void vtac_images_close(struct vtac_image_files *files);
/* What @count images show: a number on each line of a file. To be freed. */
unsigned int *vtac_classes_read(const char *path, unsigned int count, struct vtac_error *error);

#endif /* VTAC_H */
