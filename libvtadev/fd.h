/* SPDX-License-Identifier: Apache-2.0 */
/* fd.h - descriptors of the library are never those of standard streams */
#ifndef VTADEV_FD_H
#define VTADEV_FD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Takes @fd, or -1 with errno, and returns a descriptor above 2 of the same file, or -1 with errno.
 * A program with closed standard streams must not write its messages to a card, or read from it.
 */
static inline int fd_above_streams(int fd)
{
	int above, err;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = errno;
	close(fd);
	errno = err;
	return above;
}

#endif /* VTADEV_FD_H */
