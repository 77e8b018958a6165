/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unix sockets to listen on
 */
#ifndef VTA_EMU_UNIX_LISTEN_H
#define VTA_EMU_UNIX_LISTEN_H

#include <sys/types.h>

struct unix_socket {
	int fd;			/* -1: closed */
	char *path;
	dev_t dev;		/* of the file at @path */
	ino_t ino;
};

#define UNIX_SOCKET_CLOSED	((struct unix_socket){ .fd = -1 })

/*
 * A non-blocking unix stream socket (mode 0600) that listens at @path. A socket there without a
 * listener is replaced, anything else is not. Returns 0, -EINVAL for an empty path (any user would
 * reach such a socket), -ENAMETOOLONG, -EADDRINUSE, or another negative errno.
 */
int unix_listen(struct unix_socket *s, const char *path, int backlog);
/* Closes it, and removes its file: no other process's that took the place. */
void unix_close(struct unix_socket *s);

#endif
