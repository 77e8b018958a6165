/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bundle.h - files that go into one archive
 */
#ifndef VTACTL_BUNDLE_H
#define VTACTL_BUNDLE_H

#include <stddef.h>
#include <stdio.h>

/* A directory of our own, for the time being. */
struct bundle {
	char dir[64];
};

/* 0 or -errno. */
int bundle_begin(struct bundle *bundle);
/* A file of that name ("a" or "a/b"), to be closed by fclose(); NULL with errno set. */
FILE *bundle_file(struct bundle *bundle, const char *name);
/* Writes a tar of all of it, as a directory @name, to @archive, a descriptor; 0 or -errno. */
int bundle_pack(struct bundle *bundle, const char *name, int archive);
/* Removes the directory. */
void bundle_end(struct bundle *bundle);

#endif /* VTACTL_BUNDLE_H */
