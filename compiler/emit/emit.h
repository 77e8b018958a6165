/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - programs as C, for machines without an operating system
 *
 * The output belongs to the user: model.c, model.h, weights.h, main.c and a Makefile, with no
 * licence of this project's but that of the libraries it is linked to (Apache-2.0). The same input
 * gives the same bytes.
 */
#ifndef VTAC_EMIT_H
#define VTAC_EMIT_H

#include <stdbool.h>
#include <stdio.h>

#include "ir/graph.h"
#include "vtaimage.h"

/*
 * Write an opened image as C into directory @dir, which is made. @name is what its
 * functions begin with; characters that C does not have become '_'. Returns 0, or -1 and
 * the reason; then the directory has the files that it had.
 */
int vtac_emit_c(const struct vtaimage *image, const char *name, const char *dir,
		struct vtac_error *error);

/*
 * Make an ONNX model with a program, for ONNX Runtime: @g is the graph of the program, @image its
 * bytes. *@model is to be freed. Returns 0, or -1 with the reason in @g->error.
 */
int vtac_emit_onnx(struct vtac_graph *g, const uint8_t *image, size_t size, uint8_t **model,
		   size_t *packed);

/*
 * Write the output of TVM's graph executor as C into @dir: graph JSON, parameters
 * (relay.save_param_dict) and the functions' C sources, which are copied beside it.
 * docs/models.md says what this can and cannot do.
 */
struct vtac_tvm_files {
	const char *graph, *params;
	const char *const *sources;
	unsigned int n_sources;
};
int vtac_emit_tvm(const struct vtac_tvm_files *files, const char *name, const char *dir,
		  struct vtac_error *error);

/* ---- what both share: emit_file.c ---- */

#define VTAC_C_NAME_MAX	64

struct vtac_c_name {
	char text[VTAC_C_NAME_MAX];
};

/* A C identifier of any text; unique among @n in @taken. */
struct vtac_c_name vtac_c_name(const char *text, const struct vtac_c_name *taken,
			       unsigned int n);

/* Files of a directory, which replace those of before when all are written. */
struct vtac_emit_files {
	const char *dir;
	struct vtac_error *error;
	struct vtac_emit_file *first;	/* the last opened */
};

/* A file to write, until vtac_emit_end(); NULL and the reason. */
FILE *vtac_emit_open(struct vtac_emit_files *files, const char *name);
/* Ends all files. @ret -1: the caller has failed. Returns 0, or -1 and the reason. */
int vtac_emit_end(struct vtac_emit_files *files, int ret);
/* "const uint8_t NAME[SIZE]" of these bytes, aligned to 64. */
void vtac_emit_bytes(FILE *f, const char *name, const uint8_t *data, size_t size);

/* Is it a tensor of the caller's of @role? Sizes are outputs. */
bool vtac_emit_is(const struct vtaimage_tensor *t, enum vtaimage_role role);
/* The program around a network, and how to make it: emit_main.c. @tensor: C names. */
void vtac_emit_main(FILE *f, const char *name, const char *upper,
		    const struct vtaimage *image, const struct vtac_c_name *tensor);
void vtac_emit_makefile(FILE *f);

#endif /* VTAC_EMIT_H */
