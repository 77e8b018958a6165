// SPDX-License-Identifier: GPL-2.0-only
/*
 * dataset.c - a directory of images whose classes are known
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "ctl.h"
#include "dataset.h"
#include "labels.h"
#include "picture.h"
#include "values.h"

#define IMAGES_MAX	10000000u

struct loader {
	struct dataset *set;
	const char *directory;
	const struct labels *names;
	size_t classes, room;
};

static int out_of_memory(const struct loader *l)
{
	return ctl_fail(l->directory, strerror(ENOMEM));
}

static bool is_image(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".jpg") ||
		       !strcasecmp(dot, ".jpeg") || values_is_npy(name));
}

/* The class that a word names; -1: none. */
static int64_t class_of(const struct loader *l, const char *word)
{
	uint64_t number;

	for (size_t i = 0; i < l->names->count && i < l->classes; i++)
		if (labels_name(l->names, i) && !strcmp(labels_name(l->names, i), word))
			return (int64_t)i;
	return cli_number(word, 0, l->classes - 1, &number) ? (int64_t)number : -1;
}

static int check_file(const char *path)
{
	char why[PICTURE_WHY_MAX];
	struct stat st;

	if (stat(path, &st))
		return ctl_fail(path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ctl_fail(path, "not a file");
	if (values_is_npy(path))
		return CTL_OK;
	return picture_probe(path, why) ? ctl_fail(path, why) : CTL_OK;
}

static int add_image(struct loader *l, const char *directory, const char *name, int64_t class)
{
	struct dataset *set = l->set;
	char *path;

	if (set->count == IMAGES_MAX)
		return ctl_fail(l->directory, "more than 10,000,000 images");
	if (set->count == l->room) {
		size_t room = l->room ? 2 * l->room : 256;
		struct dataset_image *more = realloc(set->images, room * sizeof(*more));

		if (!more)
			return out_of_memory(l);
		set->images = more;
		l->room = room;
	}
	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return out_of_memory(l);
	set->images[set->count++] = (struct dataset_image) { path, (uint32_t)class };
	return check_file(path);
}

/* ---- A file of labels ---- */

static int fail_line(const char *path, size_t number, const char *why)
{
	char subject[300];

	snprintf(subject, sizeof(subject), "%.256s: line %zu", path, number);
	return ctl_fail(subject, why);
}

/* Cuts blanks from both ends. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int add_line(struct loader *l, const char *path, char *line, size_t number)
{
	char *name = trim(line), *end = strchr(name, '\t'), why[160];
	int64_t class;

	if (!*name)
		return CTL_OK;
	if (!end)
		end = strchr(name, ' ');
	if (!end)
		return fail_line(path, number, "no class behind the image's name");
	*end++ = '\0';
	name = trim(name);
	end = trim(end);
	class = class_of(l, end);
	if (class >= 0)
		return add_image(l, l->directory, name, class);
	snprintf(why, sizeof(why), "'%.60s' is no name of a class of the program, and no number "
		 "from 0 to %zu", end, l->classes - 1);
	return fail_line(path, number, why);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An image that is named twice would count twice. */
static int check_twice(const struct loader *l, const char *labels)
{
	const struct dataset *set = l->set;
	const char **paths = calloc(set->count + 1, sizeof(*paths));
	int ret = CTL_OK;

	if (!paths)
		return out_of_memory(l);
	for (size_t i = 0; i < set->count; i++)
		paths[i] = set->images[i].path;
	qsort(paths, set->count, sizeof(*paths), by_path);
	for (size_t i = 1; i < set->count && !ret; i++)
		if (!strcmp(paths[i - 1], paths[i])) {
			fprintf(stderr, "%s: %s: names %s twice\n", cli_name(), labels, paths[i]);
			ret = CTL_ERROR;
		}
	free(paths);
	return ret;
}

static int load_lines(struct loader *l, const char *labels)
{
	size_t size, at = 0;
	char *data = (char *)values_read_file(labels, &size), *text;
	int ret = CTL_OK;

	if (!data)
		return ctl_fail(labels, strerror(errno));
	if (memchr(data, '\0', size)) {
		free(data);
		return ctl_fail(labels, "not a text of lines FILE CLASS");
	}
	text = strndup(data, size);
	free(data);
	if (!text)
		return out_of_memory(l);
	data = text;
	for (char *line; !ret && (line = strsep(&text, "\n"));)
		ret = add_line(l, labels, line, ++at);
	free(data);
	if (!ret && !l->set->count)
		ret = ctl_fail(labels, "names no image");
	return ret ? ret : check_twice(l, labels);
}

/* ---- Folders ---- */

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int is_shown_image(const struct dirent *entry)
{
	return is_shown(entry) && is_image(entry->d_name);
}

static void free_entries(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n >= 0)
		free(entries);
}

static bool is_folder(const char *directory, const char *name)
{
	struct stat st;
	char *path;
	bool is;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return false;
	is = !stat(path, &st) && S_ISDIR(st.st_mode);
	free(path);
	return is;
}

static int add_folder(struct loader *l, const char *name)
{
	int64_t class = class_of(l, name);
	struct dirent **entries = NULL;
	char *folder, why[100];
	int n, ret = CTL_OK;

	if (asprintf(&folder, "%s/%s", l->directory, name) < 0)
		return out_of_memory(l);
	n = class < 0 ? -1 : scandir(folder, &entries, is_shown_image, alphasort);
	if (class < 0) {
		snprintf(why, sizeof(why), "the folder's name is no name of a class of the "
			 "program, and no number from 0 to %zu", l->classes - 1);
		ret = ctl_fail(folder, why);
	} else if (n < 0) {
		ret = ctl_fail(folder, strerror(errno));
	}
	for (int i = 0; i < n && !ret; i++)
		ret = add_image(l, folder, entries[i]->d_name, class);
	free_entries(entries, n);
	free(folder);
	return ret;
}

static int load_folders(struct loader *l)
{
	struct dirent **entries;
	int n = scandir(l->directory, &entries, is_shown, alphasort), ret = CTL_OK;

	if (n < 0)
		return ctl_fail(l->directory, strerror(errno));
	for (int i = 0; i < n && !ret; i++)
		if (is_folder(l->directory, entries[i]->d_name))
			ret = add_folder(l, entries[i]->d_name);
	free_entries(entries, n);
	if (!ret && !l->set->count)
		ret = ctl_fail(l->directory, "no images in folders that are named by classes; or "
			       "name a file of classes: --labels=FILE");
	return ret;
}

int dataset_load(struct dataset *set, const char *directory, const char *labels,
		 const struct labels *names, size_t classes)
{
	struct loader l = { set, directory, names, classes, 0 };

	*set = (struct dataset) { .images = NULL };
	return labels ? load_lines(&l, labels) : load_folders(&l);
}

void dataset_free(struct dataset *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->images[i].path);
	free(set->images);
	*set = (struct dataset) { .images = NULL };
}
