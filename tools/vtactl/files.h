/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * files.h - read small files of the kernel
 */
#ifndef VTACTL_FILES_H
#define VTACTL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_LINE	256

/* Opens the directory of vtaN in sysfs; a descriptor, or -errno. */
int files_card(unsigned int index);

/* Reads a file, at most @size - 1 bytes, as a string; 0 or -errno. */
int files_read(int dir, const char *file, char *text, size_t size);
/* Reads the first line; false if it cannot be read. */
bool files_line(int dir, const char *file, char text[FILES_LINE]);
/* Reads a number, decimal or with 0x; false if the file has none. */
bool files_number(int dir, const char *file, uint64_t *value);

/* Replaces characters that are not printable by '?'. */
void files_make_printable(char *text);

#endif /* VTACTL_FILES_H */
