/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs of vtac. */
#ifndef VTAC_CMD_H
#define VTAC_CMD_H

#include "api/inputs.h"
#include "api/vtac.h"
#include "cli.h"

/* Exit status: numbers never change their meaning. */
enum {
	CMD_OK		= CLI_OK,
	CMD_ERROR	= CLI_ERROR,	/* of the machine: files, memory */
	CMD_NO_CARD	= 3,	/* or it cannot be opened */
	CMD_MODEL	= 4,	/* the model cannot be compiled; the sentence says why */
};

cli_verb_fn compile_main, report_main, passes_main, tvm_main;

/* "vtac: subject: why", or without a subject if it is NULL; returns @status. */
int cmd_fail(int status, const char *subject, const char *why);

/* A core from a vta_config.json, NULL: TVM's default; or from a card, with its clock. */
int cmd_core_of_file(struct vtaops_core *core, const char *path);
int cmd_core_of_card(struct vtaops_core *core, const char *card, uint32_t *clock_khz);

/*
 * The PNG and JPEG files of a directory as images; @pre stays as long. NULL: there are
 * none.
 */
struct cmd_pictures;
struct cmd_pictures *cmd_pictures_open(const char *path, const struct vtaimage_preprocess *pre);
const struct vtac_images *cmd_pictures_images(struct cmd_pictures *c);
void cmd_pictures_close(struct cmd_pictures *c);

/*
 * cmd_images.c: images of each of a model's inputs. The option takes [INPUT=]PATH, once for each
 * input: pictures, or .npy files.
 */
#define CMD_INPUTS_MAX	64
struct cmd_images;
struct cmd_images *cmd_images_new(void);
int cmd_images_add(const struct cli_option *option, char *text);
bool cmd_images_given(const struct cmd_images *c);
/* Would a file at @path replace one of them? */
bool cmd_images_replaced(const struct cmd_images *c, const char *path);
/* At most @max of the images. Returns the exit status, like the next. */
int cmd_images_open(struct cmd_images *c, const struct vtaimage_preprocess *pre, unsigned int max);
/* Has each input of the model images, if any are given? */
int cmd_images_match(const struct cmd_images *c, const struct vtac_graph *g);
/*
 * Compare all arrays, and the first picture, with the shapes of @g's inputs: 0, or -1 with the
 * error of @g.
 */
int cmd_images_check(const struct cmd_images *c, struct vtac_graph *g);
struct vtac_images *cmd_images_all(struct cmd_images *c);
void cmd_images_free(struct cmd_images *c);

/* cmd_output.c */
struct output_options {
	const char *model;		/* the model's file, which names the program */
	const char *labels;		/* a line for each class, or NULL */
	const struct vtaimage_preprocess *preprocess;	/* or NULL */
};

/* The reports of a variant. */
struct output_reports {
	char *text, *json;
};

/*
 * Test labels and preprocessing before @g is compiled, by a program that returns its first input.
 * Returns the exit status.
 */
int output_check_program(const struct vtac_graph *g, const struct vtac_options *opt,
			 const struct output_options *how);
/* The words of --emit, in their order; and the program itself */
enum output_form { OUTPUT_C, OUTPUT_ONNX, OUTPUT_PROGRAM };

/*
 * Write a program of @n variants to a file; one of one variant also in another form. Returns the
 * exit status.
 */
int output_program(const struct vtac_program *p, unsigned int n, const struct output_options *how,
		   const struct output_reports *reports, enum output_form form, const char *path);

/*
 * cmd_progress.c: the compiler's steps as the progress of the whole command (progress.h). First the
 * images that it will use, by which the steps' times are estimated.
 */
void cmd_progress_plan(unsigned int calibrate, unsigned int measure);
/* For vtac_options.progress. */
int cmd_progress(void *priv, const char *what, uint64_t done, uint64_t total);

#endif /* VTAC_CMD_H */
