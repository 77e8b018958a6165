/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs of vtac. */
#ifndef VTAC_CMD_H
#define VTAC_CMD_H

#include "api/vtac.h"
#include "cli.h"
#include "inputs.h"

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

/* A core from a vta_config.json, NULL: TVM's default; or from a card. */
int cmd_core_of_file(struct vtaops_core *core, const char *path);
int cmd_core_of_card(struct vtaops_core *core, const char *card);

/*
 * The PNG and JPEG files of a directory as images; @pre stays as long. NULL: there are
 * none.
 */
struct cmd_pictures;
struct cmd_pictures *cmd_pictures_open(const char *path, const struct vtaimage_preprocess *pre);
const struct vtac_images *cmd_pictures_images(struct cmd_pictures *c);
void cmd_pictures_close(struct cmd_pictures *c);

/* cmd_output.c */
struct output_options {
	const char *model;		/* the model's file, which names the program */
	const char *labels;		/* a file with a line for each class, or NULL */
	const struct vtac_report_options *report;
	const struct vtaimage_preprocess *preprocess;	/* or NULL */
};

/* Write a program to a file; or with @c as C to a directory. Returns the exit status. */
int output_program(const struct vtac_program *p, const struct output_options *how, bool c,
		   const char *path);

/* A progress line on a terminal; ended by cmd_progress_end(). */
void cmd_progress(void *priv, const char *what, uint64_t done, uint64_t total);
void cmd_progress_end(void);

#endif /* VTAC_CMD_H */
