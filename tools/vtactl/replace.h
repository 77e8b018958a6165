/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replace.h - write a file whole: readers see the old one or the new one
 *
 * Writers of the same file wait for each other between replace_begin() and replace_end().
 * Read the data to write after replace_begin(): then the writer that ends last has the latest data.
 */
#ifndef VTACTL_REPLACE_H
#define VTACTL_REPLACE_H

#include <stdio.h>

struct replace {
	const char *path;	/* of the file; the caller's */
	char *temporary;	/* PATH.new, locked: it will have the file's name */
	int fd;			/* of that */
	FILE *file;		/* to write to: in memory until replace_end() */
	char *text;
	size_t size;
};

/*
 * All functions return an exit status, and print the reason if they fail. replace_begin() refuses
 * files that are not regular. After its CTL_OK call one of the others; they free everything.
 */
int replace_begin(struct replace *replace, const char *path);
/* Replaces the file, readable by all users (0644, less the umask); if that fails, keeps it. */
int replace_end(struct replace *replace);
/* Removes the file, if it exists. */
int replace_remove(struct replace *replace);
/* Keeps the file. */
void replace_cancel(struct replace *replace);

#endif /* VTACTL_REPLACE_H */
