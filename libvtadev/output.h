/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - files of results: whole, or as they were
 *
 * A regular file is written beside its place, under a name that no other file has, and is renamed
 * when all of it is on the disk. So readers see the old contents or the new ones, a failure leaves
 * the old file and nothing beside it, and of two writers the last one wins. A symbolic link stays,
 * and its target is replaced. Devices, FIFOs and standard output are written to. Functions return 0
 * or -errno; not thread-safe for one output.
 */
#ifndef VTADEV_OUTPUT_H
#define VTADEV_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Stays where it is while it is open: the file has its address. */
struct output {
	FILE *file;		/* to write to; output_close() reports failed writes */
	int fd;			/* the same, for other processes */
	int dir;		/* of a file that is replaced, or -1 */
	int err;		/* of the first write that failed */
	char *name;		/* in @dir, or NULL */
	char *temporary;	/* the same */
	mode_t mode;		/* that it gets at the end; 0: that it has */
};

/*
 * Opens @path; "-" is standard output. @mode, less the umask, is for a new file: one of the
 * caller's that is replaced keeps its permissions.
 */
int output_open(struct output *out, const char *path, mode_t mode);
/*
 * The same for data that change: waits until other writers of the file that opened it so have
 * ended. Read the data after it: then the last writer has the latest. For programs of one thread.
 */
int output_open_in_turn(struct output *out, const char *path, mode_t mode);
/* Gives the file its name; if anything was not written, cancels. */
int output_close(struct output *out);
void output_cancel(struct output *out);
/* Cancels, and removes the file that was there. */
int output_remove(struct output *out);

/* Tests whether output_open() would succeed, and changes nothing. */
int output_check(const char *path);
/* True if a result at @path would replace @file, which a program has read. */
bool output_replaces(const char *path, const char *file);
/* True if @path is standard output: other text must not come between. */
bool output_is_stdout(const char *path);

#endif /* VTADEV_OUTPUT_H */
