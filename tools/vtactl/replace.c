// SPDX-License-Identifier: GPL-2.0-only
/*
 * replace.c - write a file whole: readers see the old one or the new one
 *
 * The lock is on the temporary file, which only its owner can open: another user must not
 * be able to hold up root's writer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"
#include "replace.h"

/* A rename would put a file in the place of a device, a pipe or a link. */
static bool can_be_replaced(const char *path)
{
	struct stat st;

	return lstat(path, &st) || S_ISREG(st.st_mode);
}

/* Another writer may have renamed or removed the file while this one waited for the lock. */
static bool is_still(int fd, const char *path)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !lstat(path, &there) &&
	       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* In others' directory, the name may be a file of theirs, or a link to one of ours. */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_nlink == 1;
}

/* @path open, locked and empty; -errno. */
static int open_locked(const char *path)
{
	int fd, err;

	do {
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX))
			err = errno == EINTR ? -EAGAIN : -errno;
		else if (!is_still(fd, path))
			err = -EAGAIN;
		else if (!is_ours(fd))
			err = -EEXIST;
		else
			err = ftruncate(fd, 0) ? -errno : 0;
		if (err)
			close(fd);
	} while (err == -EAGAIN);
	return err ? err : fd;
}

int replace_begin(struct replace *replace, const char *path)
{
	int err;

	*replace = (struct replace) { .path = path };
	if (!can_be_replaced(path))
		return ctl_fail(path, "not a regular file, so it is not replaced");
	if (asprintf(&replace->temporary, "%s.new", path) < 0)
		return ctl_error(path, -ENOMEM);
	replace->fd = open_locked(replace->temporary);
	if (replace->fd >= 0)
		replace->file = open_memstream(&replace->text, &replace->size);
	if (replace->file)
		return CTL_OK;
	err = replace->fd < 0 ? replace->fd : -ENOMEM;
	if (replace->fd >= 0)
		close(replace->fd);
	ctl_fail(replace->temporary, strerror(-err));
	free(replace->temporary);
	return err == -EACCES || err == -EPERM ? CTL_DENIED : CTL_ERROR;
}

static bool write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);

		if (written < 0)
			return false;
		text += written;
		size -= (size_t)written;
	}
	return true;
}

/* The contents are on the disk before the name is: a crash leaves the old file or the new one. */
static bool write_and_rename(struct replace *r)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fflush(r->file) || ferror(r->file)) {
		errno = ENOMEM;
		return false;
	}
	return write_all(r->fd, r->text, r->size) && !fchmod(r->fd, 0644 & ~mask) &&
	       !fsync(r->fd) && !rename(r->temporary, r->path);
}

/* The lock ends with the descriptor, after the file has its name. */
static void free_replace(struct replace *r)
{
	fclose(r->file);
	close(r->fd);
	free(r->text);
	free(r->temporary);
}

int replace_end(struct replace *replace)
{
	int ret = CTL_OK;

	if (!write_and_rename(replace)) {
		ret = ctl_fail(replace->path, strerror(errno));
		unlink(replace->temporary);
	}
	free_replace(replace);
	return ret;
}

void replace_cancel(struct replace *replace)
{
	unlink(replace->temporary);
	free_replace(replace);
}

int replace_remove(struct replace *replace)
{
	const char *path = replace->path;
	int ret = CTL_OK;

	if (unlink(path) && errno != ENOENT)
		ret = ctl_fail(path, strerror(errno));
	replace_cancel(replace);
	return ret;
}
