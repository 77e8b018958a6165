/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replace.h - write a file whole: readers see the old one or the new one
 *
 * Writers of the same file wait for each other between replace_begin() and replace_end().
 * What is written must be found out after replace_begin(): then the writer that ends last
 * has also looked last.
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
 * All return an exit status, CTL_OK or what has been said on stderr. Only a regular file is
 * replaced. After CTL_OK one of the other three must follow; they free everything.
 */
int replace_begin(struct replace *replace, const char *path);
/* The file is what was written, readable by all users (0644, less the umask); or as it was. */
int replace_end(struct replace *replace);
/* The file is removed; that there is none is no error. */
int replace_remove(struct replace *replace);
/* The file stays as it was. */
void replace_cancel(struct replace *replace);

#endif /* VTACTL_REPLACE_H */
