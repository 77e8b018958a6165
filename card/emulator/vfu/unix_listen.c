// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listening socket in the place of one that a dead process left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix_listen.h"

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* Removes the socket of a process that ended without removing it. */
static int remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, ret;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = new_socket();
	if (fd < 0)
		return fd;
	ret = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? errno : 0;
	close(fd);
	if (ret != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(addr->sun_path) ? -errno : 0;
}

int unix_listen(const char *path, int backlog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	ret = remove_stale(&addr);
	if (ret)
		return ret;
	fd = new_socket();
	if (fd < 0)
		return fd;
	/* The mode before bind is the mode that the path gets. */
	if (fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		ret = -errno;
		close(fd);
		return ret;
	}
	if (listen(fd, backlog)) {
		ret = -errno;
		unlink(path);
		close(fd);
		return ret;
	}
	return fd;
}
