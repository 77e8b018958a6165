/* SPDX-License-Identifier: Apache-2.0 */
/* What vtac compile writes; exit status each. */
#ifndef VTAC_OUTPUT_H
#define VTAC_OUTPUT_H

#include "api/vtac.h"

struct output_options {
	const char *model;		/* the model's file, which names the program */
	const char *labels;		/* a file with a line for each class, or NULL */
	const struct vtac_report_options *report;
	const struct vtaimage_preprocess *preprocess;	/* or NULL */
};

/* To a file; or with @c as C, to a directory. */
int output_program(const struct vtac_program *p, const struct output_options *how, bool c,
		   const char *path);

#endif /* VTAC_OUTPUT_H */
