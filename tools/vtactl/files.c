// SPDX-License-Identifier: GPL-2.0-only
/*
 * files.c - read small files of the kernel
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

int files_card(unsigned int index)
{
	char path[64];
	int dir;

	snprintf(path, sizeof(path), "/sys/class/vta/vta%u", index);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

int files_read(int dir, const char *file, char *text, size_t size)
{
	size_t used = 0;
	ssize_t len = 1;
	int fd, err = 0;

	fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len > 0 && used < size - 1) {
		len = read(fd, text + used, size - 1 - used);
		if (len < 0)
			err = -errno;
		else
			used += (size_t)len;
	}
	close(fd);
	text[used] = '\0';
	return err;
}

bool files_line(int dir, const char *file, char text[FILES_LINE])
{
	if (files_read(dir, file, text, FILES_LINE))
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

bool files_number(int dir, const char *file, uint64_t *value)
{
	char text[FILES_LINE];
	char *end;

	if (!files_line(dir, file, text) || !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end;
}

void files_make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}
