// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listening socket in the place of one that a dead process left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

static int bind_and_listen(int fd, const struct sockaddr_un *addr, int backlog)
{
	int ret;

	/* The mode before bind is the mode that the path gets. */
	if (fchmod(fd, 0600) || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -errno;
	ret = listen(fd, backlog) ? -errno : 0;
	if (ret)
		unlink(addr->sun_path);
	return ret;
}

/*
 * A client that waits for the path finds a socket that listens: it gets the path only then. Where
 * there is no room for another name, or there are no links, it has the path before.
 */
static int listen_and_link(int fd, const struct sockaddr_un *addr, int backlog)
{
	struct sockaddr_un other = *addr;
	size_t len = strlen(addr->sun_path);
	size_t room = sizeof(other.sun_path) - len;
	int ret;

	if ((size_t)snprintf(other.sun_path + len, room, ".%d", (int)getpid()) >= room)
		return bind_and_listen(fd, addr, backlog);
	ret = remove_stale(&other) ?: bind_and_listen(fd, &other, backlog);
	if (ret)
		return ret;
	if (link(other.sun_path, addr->sun_path)) {
		if (errno == EEXIST)
			ret = -EADDRINUSE;
		else if (rename(other.sun_path, addr->sun_path))
			ret = -errno;
	}
	unlink(other.sun_path);
	return ret;
}

static int listen_at(struct unix_socket *s, const struct sockaddr_un *addr, int backlog)
{
	struct stat st;
	int ret;

	s->path = strdup(addr->sun_path);
	if (!s->path)
		return -ENOMEM;
	ret = listen_and_link(s->fd, addr, backlog);
	if (!ret && !lstat(s->path, &st)) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	return ret;
}

int unix_listen(struct unix_socket *s, const char *path, int backlog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	*s = UNIX_SOCKET_CLOSED;
	if (!*path)
		return -EINVAL;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	ret = remove_stale(&addr);
	if (ret)
		return ret;
	s->fd = new_socket();
	if (s->fd < 0)
		return s->fd;
	ret = listen_at(s, &addr, backlog);
	if (ret)
		unix_close(s);
	return ret;
}

void unix_close(struct unix_socket *s)
{
	struct stat st;

	if (s->fd >= 0)
		close(s->fd);
	if (s->path && !lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
	free(s->path);
	*s = UNIX_SOCKET_CLOSED;
}
