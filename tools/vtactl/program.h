/* SPDX-License-Identifier: GPL-2.0-only */
/* vtactl program: say what a program image is, and run it. */
#ifndef VTACTL_PROGRAM_H
#define VTACTL_PROGRAM_H

#include <stdbool.h>

/* Both say on stderr what is wrong, and return the exit status. */
int program_info(const char *path, bool json);
/* @assigns: NAME=FILE for each input and for the outputs to be kept. */
int program_run(const char *which, const char *path, char **assigns, int count);

#endif /* VTACTL_PROGRAM_H */
