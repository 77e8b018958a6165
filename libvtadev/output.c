// SPDX-License-Identifier: Apache-2.0
/*
 * output.c - files of results: whole, or as they were
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

#define LINKS_MAX	40	/* as many as the kernel follows */

/* ---- The file's place ---- */

/* The rule of fs.protected_symlinks: links that others put into a directory for all are traps. */
static bool may_follow(int dir, const struct stat *link)
{
	struct stat st;

	return !fstat(dir, &st) && ((st.st_mode & 01002) != 01002 ||
	       link->st_uid == geteuid() || link->st_uid == st.st_uid);
}

/* Opens the directory of @path, below @from; *@name points to the last part of @path. */
static int open_dir(int from, char *path, const char **name)
{
	char *slash = strrchr(path, '/');
	int dir;

	*name = slash ? slash + 1 : path;
	if (slash)
		*slash = '\0';
	dir = openat(from, !slash ? "." : slash == path ? "/" : path,
		     O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

/* Follows symbolic links: sets out->dir and out->name. */
static int find_place(struct output *out, const char *path)
{
	char next[PATH_MAX], text[PATH_MAX];
	const char *name;
	struct stat st;
	ssize_t len;

	if (snprintf(next, sizeof(next), "%s", path) >= (int)sizeof(next))
		return -ENAMETOOLONG;
	for (int links = 0; links <= LINKS_MAX; links++) {
		int dir = open_dir(out->dir < 0 ? AT_FDCWD : out->dir, next, &name);

		if (out->dir >= 0)
			close(out->dir);
		out->dir = dir < 0 ? -1 : dir;
		if (dir < 0 || !*name)
			return dir < 0 ? dir : -ENOENT;
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode)) {
			out->name = strdup(name);
			return out->name ? 0 : -ENOMEM;
		}
		len = readlinkat(dir, name, text, sizeof(text) - 1);
		if (len < 0)
			return -errno;
		if (!may_follow(dir, &st))
			return -EACCES;
		text[len] = '\0';
		memcpy(next, text, (size_t)len + 1);
	}
	return -ELOOP;
}

/* ---- Opening ---- */

static ssize_t write_some(void *cookie, const char *data, size_t size)
{
	struct output *out = cookie;
	size_t done = 0;

	while (done < size && !out->err) {
		ssize_t n = write(out->fd, data + done, size - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			out->err = -errno;
	}
	return (ssize_t)done;
}

static int close_fd(struct output *out)
{
	int fd = out->fd;

	out->fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

static int create_temporary(struct output *out, mode_t mode)
{
	uint64_t number;

	do {
		free(out->temporary);
		out->temporary = NULL;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -errno;
		if (asprintf(&out->temporary, ".vta-%016" PRIx64, number) < 0)
			return -ENOMEM;
		out->fd = openat(out->dir, out->temporary,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	} while (out->fd < 0 && errno == EEXIST);
	return out->fd < 0 ? -errno : 0;
}

/* Another writer may have renamed or removed the file while this one waited for the lock. */
static bool is_still(const struct output *out)
{
	struct stat mine, there;

	return !fstat(out->fd, &mine) &&
	       !fstatat(out->dir, out->temporary, &there, AT_SYMLINK_NOFOLLOW) &&
	       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* In others' directory, the name may be a file of theirs, or a link to one of ours. */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_nlink == 1;
}

/*
 * The writer whose turn it is has locked NAME.new. Only its owner can open it: another user must
 * not be able to hold up root's writer.
 */
static int lock_temporary(struct output *out)
{
	int err;

	if (asprintf(&out->temporary, "%s.new", out->name) < 0) {
		out->temporary = NULL;
		return -ENOMEM;
	}
	do {
		out->fd = openat(out->dir, out->temporary,
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (out->fd < 0)
			err = -errno;
		else if (flock(out->fd, LOCK_EX))
			err = errno == EINTR ? -EAGAIN : -errno;
		else if (!is_still(out))
			err = -EAGAIN;
		else if (!is_ours(out->fd))
			err = -EEXIST;
		else
			err = ftruncate(out->fd, 0) ? -errno : 0;
		if (err)
			close_fd(out);
	} while (err == -EAGAIN);
	return err;
}

static mode_t umask_now(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

static int begin_replacing(struct output *out, const char *path, mode_t mode, bool in_turn)
{
	struct stat old;
	bool exists;
	int err;

	err = find_place(out, path);
	if (!out->name)
		return err;
	exists = !fstatat(out->dir, out->name, &old, AT_SYMLINK_NOFOLLOW);
	if (exists && faccessat(out->dir, out->name, W_OK, AT_EACCESS))
		return -errno;
	if (exists && old.st_uid == geteuid())
		out->mode = old.st_mode & 0777;
	else if (in_turn)
		out->mode = mode & ~umask_now();
	err = in_turn ? lock_temporary(out) : create_temporary(out, mode);
	/* Without the file there is none to remove. */
	if (err) {
		free(out->temporary);
		out->temporary = NULL;
	}
	return err;
}

bool output_is_stdout(const char *path)
{
	struct stat st, out;

	return !strcmp(path, "-") || (!stat(path, &st) && !fstat(STDOUT_FILENO, &out) &&
	       out.st_dev == st.st_dev && out.st_ino == st.st_ino);
}

bool output_replaces(const char *path, const char *file)
{
	struct stat a, b;

	return strcmp(path, "-") && !stat(path, &a) && S_ISREG(a.st_mode) && !stat(file, &b) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int open_place(struct output *out, const char *path, mode_t mode, bool in_turn)
{
	struct stat st;
	bool exists;

	if (output_is_stdout(path)) {
		out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return out->fd < 0 || fflush(stdout) ? -errno : 0;
	}
	exists = !stat(path, &st);
	if (!exists && errno != ENOENT)
		return -errno;
	if (!exists || S_ISREG(st.st_mode))
		return begin_replacing(out, path, mode, in_turn);
	out->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return out->fd < 0 ? -errno : 0;
}

static int open_output(struct output *out, const char *path, mode_t mode, bool in_turn)
{
	int err;

	*out = (struct output){ .fd = -1, .dir = -1 };
	err = open_place(out, path, mode, in_turn);
	if (!err) {
		out->file = fopencookie(out, "w", (cookie_io_functions_t){ .write = write_some });
		if (!out->file)
			err = -ENOMEM;
	}
	if (err)
		output_cancel(out);
	return err;
}

int output_open(struct output *out, const char *path, mode_t mode)
{
	return open_output(out, path, mode, false);
}

int output_open_in_turn(struct output *out, const char *path, mode_t mode)
{
	return open_output(out, path, mode, true);
}

int output_check(const char *path)
{
	struct output out = { .fd = -1, .dir = -1 };
	struct stat st;
	int err;

	/* To open a FIFO waits for its reader, who would see its end. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return access(path, W_OK) ? -errno : 0;
	err = open_place(&out, path, 0600, false);
	output_cancel(&out);
	return err;
}

/* ---- Closing ---- */

/* A lock ends with the descriptor, when the file has its name or is removed. */
void output_cancel(struct output *out)
{
	out->err = out->err ? out->err : -ECANCELED;
	if (out->file)
		fclose(out->file);
	if (out->temporary)
		unlinkat(out->dir, out->temporary, 0);
	close_fd(out);
	if (out->dir >= 0)
		close(out->dir);
	free(out->name);
	free(out->temporary);
	*out = (struct output){ .fd = -1, .dir = -1 };
}

/* The contents are on the disk before the name is: a crash leaves the old file or the new one. */
static int replace(struct output *out)
{
	if ((out->mode && fchmod(out->fd, out->mode)) || fsync(out->fd) ||
	    renameat(out->dir, out->temporary, out->dir, out->name))
		return -errno;
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

int output_close(struct output *out)
{
	int err;

	fflush(out->file);
	err = out->err;
	if (!err)
		err = out->temporary ? replace(out) : close_fd(out);
	output_cancel(out);
	return err;
}

int output_remove(struct output *out)
{
	int err = 0;

	if (out->name && unlinkat(out->dir, out->name, 0) && errno != ENOENT)
		err = -errno;
	output_cancel(out);
	return err;
}
