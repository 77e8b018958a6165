/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * files.h - small files of the kernel
 */
#ifndef VTACTL_FILES_H
#define VTACTL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_LINE	256

/* A directory of sysfs, to be closed; -errno. */
int files_card(unsigned int index);

/* All of a file, at most @size - 1 bytes, as a string; -errno. */
int files_read(int dir, const char *file, char *text, size_t size);
/* The first line; false if it cannot be read. */
bool files_line(int dir, const char *file, char text[FILES_LINE]);
/* A number, decimal or with 0x; false if the file has none. */
bool files_number(int dir, const char *file, uint64_t *value);

/* Makes what a terminal may not like to '?', in place. */
void files_make_printable(char *text);

#endif /* VTACTL_FILES_H */
