// SPDX-License-Identifier: GPL-2.0-only
/*
 * bundle.c - files that go into one archive
 */
#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle.h"

extern char **environ;

int bundle_begin(struct bundle *bundle)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || strlen(tmp) > 32)
		tmp = "/tmp";
	snprintf(bundle->dir, sizeof(bundle->dir), "%s/vtactl-dump-XXXXXX", tmp);
	return mkdtemp(bundle->dir) ? 0 : -errno;
}

FILE *bundle_file(struct bundle *bundle, const char *name)
{
	char path[320];
	char *slash;

	if (snprintf(path, sizeof(path), "%s/%s", bundle->dir, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	for (slash = strchr(path + strlen(bundle->dir) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			return NULL;
		*slash = '/';
	}
	return fopen(path, "wxe");
}

/* Uses options that every tar has. */
int bundle_pack(struct bundle *bundle, const char *name, int archive)
{
	char from[128], to[128];
	char *argv[8] = { (char *)"tar", (char *)"-c", (char *)"-f", NULL, (char *)"-C",
			  bundle->dir, NULL, NULL };
	posix_spawn_file_actions_t actions;
	int status = 0, err;
	pid_t pid;

	snprintf(from, sizeof(from), "%s/files", bundle->dir);
	snprintf(to, sizeof(to), "%s/%s", bundle->dir, name);
	if (rename(from, to))
		return -errno;
	/* tar reads some names as those of hosts. */
	argv[3] = (char *)"-";
	argv[6] = (char *)name;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, archive, STDOUT_FILENO);
	err = -posix_spawnp(&pid, "tar", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (!err && waitpid(pid, &status, 0) < 0)
		err = -errno;
	if (!err && status)
		err = -EIO;
	return err;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void bundle_end(struct bundle *bundle)
{
	nftw(bundle->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
