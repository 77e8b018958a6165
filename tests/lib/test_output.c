// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_output.c - files of results: whole or as they were, links, devices, FIFOs, standard output
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "output.h"

static char dir[64];

/* A name in the directory, good until the eighth call after it. */
static const char *at(const char *name)
{
	static char paths[8][128];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

static const char *get(const char *name)
{
	static char text[256];
	int fd = open(at(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? "no such file" : text;
}

/* Names in the directory. */
static unsigned int names(void)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(at(name), &st), 0);
	return st.st_mode;
}

/* Writes all of @text to @path. */
static int store(const char *path, const char *text)
{
	struct output out;
	int err = output_open(&out, path, 0666);

	if (err)
		return err;
	fputs(text, out.file);
	return output_close(&out);
}

static int setup(void **state)
{
	*state = NULL;
	umask(022);
	snprintf(dir, sizeof(dir), "/tmp/vta-output-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

#define DIRECTORY void *unused, setup, teardown

TEST_F(DIRECTORY, new_files_follow_the_umask)
{
	assert_int_equal(store(at("new"), "text"), 0);
	assert_string_equal(get("new"), "text");
	assert_int_equal(mode_of("new"), S_IFREG | 0644);
	assert_int_equal(names(), 1);
}

TEST_F(DIRECTORY, the_old_file_is_there_until_the_end)
{
	struct output out;
	struct stat st;

	put("file", "old", 0640);
	assert_int_equal(output_open(&out, at("file"), 0666), 0);
	fputs("new", out.file);
	fflush(out.file);
	assert_string_equal(get("file"), "old");
	assert_int_equal(fstat(out.fd, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(output_close(&out), 0);
	assert_string_equal(get("file"), "new");
	assert_int_equal(mode_of("file"), S_IFREG | 0640);
	assert_int_equal(names(), 1);
}

TEST_F(DIRECTORY, cancelled_there_is_nothing_new)
{
	struct output out;

	put("file", "old", 0600);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(output_open(&out, at(i ? "none" : "file"), 0666), 0);
		fputs("new", out.file);
		output_cancel(&out);
		assert_string_equal(get("file"), "old");
		assert_int_equal(names(), 1);
	}
}

/* Other programs write to the descriptor. */
TEST_F(DIRECTORY, the_descriptor_is_the_file)
{
	struct output out;

	assert_int_equal(output_open(&out, at("file"), 0600), 0);
	assert_int_equal(write(out.fd, "by another", 10), 10);
	assert_int_equal(output_close(&out), 0);
	assert_string_equal(get("file"), "by another");
	assert_int_equal(mode_of("file"), S_IFREG | 0600);
}

TEST_F(DIRECTORY, a_write_that_fails_is_reported_and_keeps_the_old_file)
{
	const struct rlimit small = { 8192, RLIM_INFINITY };
	struct rlimit before;
	struct output out;
	char block[4096];

	put("file", "old", 0600);
	memset(block, 'x', sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	/* The one that fails is not the last. */
	assert_int_equal(output_open(&out, at("file"), 0666), 0);
	for (int i = 0; i < 16; i++)
		fwrite(block, 1, sizeof(block), out.file);
	assert_int_equal(output_close(&out), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_string_equal(get("file"), "old");
	assert_int_equal(names(), 1);
}

TEST_F(DIRECTORY, what_cannot_be_opened_has_a_reason)
{
	char path[5000];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	put("file", "old", 0600);
	assert_int_equal(mkdir(at("dir"), 0700), 0);
	assert_int_equal(symlink("loop", at("loop")), 0);
	for (int i = 0; i < 2; i++) {
		const struct {
			const char *path;
			int err;
		} cases[] = {
			{ "", ENOENT }, { at("no/file"), ENOENT }, { at("new/"), ENOENT },
			{ at("file/x"), ENOTDIR }, { at("dir"), EISDIR }, { at("loop"), ELOOP },
			{ path, ENAMETOOLONG },
		};

		for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
			const char *to = cases[c].path;
			int err = i ? output_check(to) : store(to, "x");

			assert_int_equal(err, -cases[c].err);
		}
	}
	assert_int_equal(names(), 3);
}

TEST_F(DIRECTORY, a_check_changes_nothing)
{
	put("file", "old", 0600);
	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	assert_int_equal(output_check(at("file")), 0);
	assert_int_equal(output_check(at("new")), 0);
	assert_int_equal(output_check(at("fifo")), 0);
	assert_int_equal(output_check("/dev/full"), 0);
	assert_int_equal(output_check("-"), 0);
	assert_string_equal(get("file"), "old");
	assert_int_equal(names(), 2);
}

TEST_F(DIRECTORY, a_result_in_place_of_an_input_is_seen)
{
	char link_path[512];

	put("file", "old", 0600);
	put("other", "old", 0600);
	snprintf(link_path, sizeof(link_path), "%s", at("link"));
	assert_int_equal(symlink("file", link_path), 0);
	assert_true(output_replaces(at("file"), link_path));
	assert_true(output_replaces(link_path, at("file")));
	assert_false(output_replaces(at("other"), link_path));
	assert_false(output_replaces(at("none"), link_path));
	assert_false(output_replaces("-", link_path));
	assert_false(output_replaces("/dev/null", "/dev/null"));
}

TEST_F(DIRECTORY, links_stay_and_targets_are_replaced)
{
	static const char *const links[] = { "near", "chain", "absolute" };

	assert_int_equal(mkdir(at("dir"), 0700), 0);
	put("dir/target", "old", 0600);
	assert_int_equal(symlink("dir/target", at("near")), 0);
	assert_int_equal(symlink("../near", at("dir/back")), 0);
	assert_int_equal(symlink("dir/back", at("chain")), 0);
	assert_int_equal(symlink(at("dir/target"), at("absolute")), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(store(at(links[i]), links[i]), 0);
		assert_true(S_ISLNK(mode_of(links[i])));
		assert_true(S_ISREG(mode_of("dir/target")));
		assert_string_equal(get("dir/target"), links[i]);
	}
	assert_int_equal(names(), 4);

	assert_int_equal(symlink("dir/new", at("dangling")), 0);
	assert_int_equal(store(at("dangling"), "made"), 0);
	assert_true(S_ISLNK(mode_of("dangling")));
	assert_string_equal(get("dir/new"), "made");
}

/* Another user's link in a directory for all leads a file of root's astray. */
TEST_F(DIRECTORY, links_of_others_are_traps)
{
	if (geteuid())
		skip();
	assert_int_equal(mkdir(at("all"), 0700), 0);
	assert_int_equal(chmod(at("all"), 01777), 0);
	put("secret", "old", 0600);
	assert_int_equal(symlink("../secret", at("all/link")), 0);
	assert_int_equal(symlink("../none", at("all/dangling")), 0);
	assert_int_equal(lchown(at("all/link"), 1, 1), 0);
	assert_int_equal(lchown(at("all/dangling"), 1, 1), 0);
	assert_int_equal(store(at("all/link"), "new"), -EACCES);
	assert_int_equal(store(at("all/dangling"), "new"), -EACCES);
	assert_string_equal(get("secret"), "old");
	assert_string_equal(get("none"), "no such file");
	/* Our own are none. */
	assert_int_equal(lchown(at("all/link"), 0, 0), 0);
	assert_int_equal(store(at("all/link"), "new"), 0);
	assert_string_equal(get("secret"), "new");
}

TEST_F(DIRECTORY, fifos_are_written_to)
{
	char text[16] = "";
	int fd;

	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	assert_int_equal(symlink("fifo", at("link")), 0);
	fd = open(at("fifo"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(store(at("link"), "text"), 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 4);
	assert_string_equal(text, "text");
	assert_true(S_ISFIFO(mode_of("fifo")) && S_ISLNK(mode_of("link")));
	assert_int_equal(names(), 2);
	close(fd);
}

TEST_F(DIRECTORY, devices_are_written_to)
{
	struct stat before, after;

	assert_int_equal(stat("/dev/full", &before), 0);
	assert_int_equal(symlink("/dev/full", at("link")), 0);
	assert_int_equal(store("/dev/full", "text"), -ENOSPC);
	assert_int_equal(store(at("link"), "text"), -ENOSPC);
	assert_int_equal(store("/dev/null", "text"), 0);
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_true(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
	assert_int_equal(names(), 1);
}

/* Standard output is a regular file with a line, to which a program adds. */
static void write_to_stdout(void)
{
	int fd = open(at("file"), O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		_exit(1);
	printf("one ");
	_exit(store("-", "two ") || store("/dev/stdout", "three ") ||
	      store("/proc/self/fd/1", "four ") || printf("five") < 0 || fclose(stdout));
}

TEST_F(DIRECTORY, standard_output_is_added_to)
{
	int status = -1;
	pid_t pid;

	put("file", "zero ", 0600);
	fflush(NULL);
	pid = fork();
	if (!pid)
		write_to_stdout();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(get("file"), "zero one two three four five");
	assert_int_equal(names(), 1);
}

/* Two writers at a time, 60 times: neither fails, and the file is one of theirs. */
TEST_F(DIRECTORY, writers_at_once)
{
	for (int i = 0; i < 60; i++) {
		int status = -1;

		for (int k = 0; k < 2; k++)
			if (!fork())
				_exit(store(at("file"), k ? "second" : "first") != 0);
		while (wait(&status) > 0)
			assert_int_equal(status, 0);
		assert_true(!strcmp(get("file"), "first") || !strcmp(get("file"), "second"));
		assert_int_equal(names(), 1);
	}
}
