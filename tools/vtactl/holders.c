// SPDX-License-Identifier: GPL-2.0-only
/*
 * holders.c - open files of cards: their processes, resources and work
 *
 * /proc decides which users may see which files; files that it does not show are left out.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "holders.h"

struct list {
	struct holder *at;
	size_t count, room;
};

/* ---- One open file ---- */

static void parse_line(struct holder *h, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
		{ "vta-client-id", offsetof(struct holder, client) },
		{ "vta-queues", offsetof(struct holder, nr_queues) },
		{ "vta-host-bytes", offsetof(struct holder, host_bytes) },
		{ "vta-card-bytes", offsetof(struct holder, card_bytes) },
		{ "vta-pinned-bytes", offsetof(struct holder, pinned_bytes) },
		{ "vta-imported-bytes", offsetof(struct holder, imported_bytes) },
		{ "vta-descriptors", offsetof(struct holder, descriptors) },
		{ "vta-runs", offsetof(struct holder, runs) },
		{ "vta-copies", offsetof(struct holder, copies) },
		{ "vta-engine-compute", offsetof(struct holder, compute_ns) },
		{ "vta-engine-copy", offsetof(struct holder, copy_ns) },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!strcmp(key, numbers[i].key))
			*(uint64_t *)((char *)h + numbers[i].offset) = strtoull(value, NULL, 10);
	}
	if (!strcmp(key, "vta-runs"))
		h->has_usage = true;
	else if (!strcmp(key, "vta-queue-numbers"))
		snprintf(h->queues, sizeof(h->queues), "%s", value);
	else if (!strcmp(key, "vta-lost") && strcmp(value, "no"))
		snprintf(h->lost, sizeof(h->lost), "%s", value);
}

/* False if it is no card's. */
static bool parse(char *text, struct holder *h)
{
	char *save, *line;
	bool ours = false;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strstr(line, ":\t");
		size_t len;

		if (!value)
			continue;
		*value = '\0';
		value += 2;
		len = strlen(value);
		while (len && value[len - 1] == ' ')
			value[--len] = '\0';
		if (!strcmp(line, "vta-card"))
			ours = sscanf(value, "vta%u", &h->card) == 1;
		else
			parse_line(h, line, value);
	}
	return ours;
}

static bool read_file_of(int process, const char *number, struct holder *h)
{
	char path[288], text[4096];
	struct stat st;

	snprintf(path, sizeof(path), "fd/%s", number);
	if (fstatat(process, path, &st, 0) || !S_ISCHR(st.st_mode))
		return false;
	snprintf(path, sizeof(path), "fdinfo/%s", number);
	return !files_read(process, path, text, sizeof(text)) && parse(text, h);
}

/* ---- One process ---- */

static void read_process(int process, struct holder *h)
{
	char status[4096], *line;
	struct passwd *user;

	h->uid = (uid_t)-1;
	if (!files_read(process, "status", status, sizeof(status))) {
		line = strstr(status, "\nUid:");
		if (line)
			h->uid = (uid_t)strtoul(line + 5, NULL, 10);
	}
	user = getpwuid(h->uid);
	if (user)
		snprintf(h->user, sizeof(h->user), "%.32s", user->pw_name);
	else
		snprintf(h->user, sizeof(h->user), "%u", h->uid);
	if (files_read(process, "comm", h->command, sizeof(h->command)))
		h->command[0] = '\0';
	h->command[strcspn(h->command, "\n")] = '\0';
	files_make_printable(h->command);
	files_make_printable(h->user);
}

static int add_holder(struct list *list, const struct holder *h)
{
	struct holder *more;

	for (size_t i = 0; i < list->count; i++) {
		struct holder *known = &list->at[i];

		if (known->client != h->client)
			continue;
		/* One process may have it twice; they come one after the other. */
		if (known->pid != h->pid)
			known->processes++;
		return 0;
	}
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		more = realloc(list->at, list->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->at = more;
	}
	list->at[list->count++] = *h;
	return 0;
}

static int scan_process(int proc, const char *name, struct list *list)
{
	int process, fd, err = 0;
	struct dirent *entry;
	DIR *dir;

	process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return 0;	/* it has ended */
	fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	while (dir && !err && (entry = readdir(dir))) {
		struct holder h = { .processes = 1, .pid = (pid_t)atoi(name) };

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_file_of(process, entry->d_name, &h)) {
			read_process(process, &h);
			err = add_holder(list, &h);
		}
	}
	if (dir)
		closedir(dir);
	close(process);
	return err;
}

/* ---- All processes ---- */

static int by_client(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return (x->client > y->client) - (x->client < y->client);
}

int holders_find(struct holder **holders)
{
	struct list list = { 0 };
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int err = 0;

	while (proc && !err && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = scan_process(dirfd(proc), entry->d_name, &list);
	}
	if (proc)
		closedir(proc);
	if (err) {
		free(list.at);
		return err;
	}
	if (list.count)
		qsort(list.at, list.count, sizeof(*list.at), by_client);
	*holders = list.at;
	return (int)list.count;
}
