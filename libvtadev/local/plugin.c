// SPDX-License-Identifier: Apache-2.0
/*
 * plugin.c - find and load libvtadev-NAME.so
 *
 * It is searched in VTADEV_PLUGINS, or else in the library's folder, and then
 * where it was to be installed: a program that is linked statically lies elsewhere. A
 * setuid program ignores VTADEV_PLUGINS. A plugin is never unloaded: its
 * threads and destructors are not the library's.
 */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local.h"

#define PREFIX		"libvtadev-"
#define SUFFIX		".so"
#define NAME_LEN_MAX	31

#ifndef VTADEV_PLUGIN_DIR
#define VTADEV_PLUGIN_DIR	"/usr/local/lib"
#endif

/* Those that are packages of their own: what is missing can be installed. */
static const char *const packaged[] = { "soft", "opencl" };

struct name {
	char text[NAME_LEN_MAX + 1];
};

/* A letter, then letters, digits and '-': nothing that leads out of a directory. */
static bool good_name(const char *text, size_t len)
{
	if (!len || len > NAME_LEN_MAX || !islower((unsigned char)*text))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    text[i] != '-')
			return false;
	return true;
}

static bool parse(const char *which, struct name *name, const char **args)
{
	size_t len;

	if (!which)
		return false;
	len = strcspn(which, ":");
	if (!good_name(which, len))
		return false;
	memcpy(name->text, which, len);
	name->text[len] = '\0';
	*args = which[len] ? which + len + 1 : "";
	return true;
}

static bool is_packaged(const char *name)
{
	for (size_t i = 0; i < sizeof(packaged) / sizeof(*packaged); i++)
		if (!strcmp(packaged[i], name))
			return true;
	return false;
}

/* Get the directory of the library, or of the program that it is a part of. */
static bool own_dir(char *dir, size_t size)
{
	struct link_map *map = NULL;
	char *path, *slash;
	Dl_info info;
	bool good;

	if (!dladdr1((void *)(uintptr_t)own_dir, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	/* The caller of a program chooses argv[0]; the loader's paths are reliable. */
	path = realpath(*map->l_name ? map->l_name : "/proc/self/exe", NULL);
	if (!path)
		return false;
	slash = strrchr(path, '/');
	good = slash && (size_t)(slash - path) < size;
	if (good) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
	}
	free(path);
	return good;
}

/* The i-th directory to search; false if there are not so many. */
static bool dir_at(unsigned int i, char *dir, size_t size)
{
	const char *said = secure_getenv("VTADEV_PLUGINS");

	if (said && *said)
		return !i && snprintf(dir, size, "%s", said) < (int)size;
	if (i == 0)
		return own_dir(dir, size) || dir_at(1, dir, size);
	return i == 1 && snprintf(dir, size, "%s", VTADEV_PLUGIN_DIR) < (int)size;
}

/* A file of another user, or one that all users may write, is not loaded: programs lie in /tmp. */
static bool trusted(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (!st.st_uid || st.st_uid == geteuid()) &&
	       !(st.st_mode & 0002) && !access(path, R_OK);
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

/* The first of that name that is @good. */
static bool find_file(const struct name *name, bool (*good)(const char *path), char *path,
		      size_t size)
{
	char dir[PATH_MAX];

	for (unsigned int i = 0; dir_at(i, dir, sizeof(dir)); i++)
		if (snprintf(path, size, "%s/" PREFIX "%s" SUFFIX, dir, name->text) < (int)size &&
		    good(path))
			return true;
	return false;
}

bool plugin_is_name(const char *which)
{
	char path[PATH_MAX];
	struct name name;
	const char *args;

	return parse(which, &name, &args) &&
	       (is_packaged(name.text) || find_file(&name, is_there, path, sizeof(path)));
}

static int load_file(const char *path, const struct vtadev_device_ops **ops, char *why, size_t size)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct vtadev_device_ops *found;

	if (!handle) {
		snprintf(why, size, "%s", dlerror());
		return -ELIBBAD;
	}
	found = dlsym(handle, VTADEV_DEVICE_SYMBOL);
	if (found && found->version == VTADEV_DEVICE_VERSION) {
		*ops = found;
		return 0;
	}
	if (found)
		snprintf(why, size, "%s is of version %u of vtadev_device.h, and this library "
			 "of version %u: install both of the same release", path, found->version,
			 VTADEV_DEVICE_VERSION);
	else
		snprintf(why, size, "%s is not a plugin: it has no %s", path, VTADEV_DEVICE_SYMBOL);
	dlclose(handle);
	return -ELIBBAD;
}

int plugin_load(const char *which, const struct vtadev_device_ops **ops, const char **args,
		char *why, size_t size)
{
	char path[PATH_MAX], dir[PATH_MAX] = "";
	struct name name;

	if (!parse(which, &name, args)) {
		snprintf(why, size, "that is not the name of a device");
		return -EINVAL;
	}
	if (find_file(&name, trusted, path, sizeof(path)))
		return load_file(path, ops, why, size);
	if (find_file(&name, is_there, path, sizeof(path))) {
		snprintf(why, size, "%.128s is not loaded: it must belong to you or root, and not "
			 "be writable by all users", path);
		return -ELIBBAD;
	}
	dir_at(0, dir, sizeof(dir));
	if (is_packaged(name.text))
		snprintf(why, size, "there is no " PREFIX "%s" SUFFIX " in %.64s: install the "
			 "package " PREFIX "%s", name.text, dir, name.text);
	else
		snprintf(why, size, "there is no " PREFIX "%s" SUFFIX " in %.128s", name.text, dir);
	return -ELIBACC;
}

/* The NAME of libvtadev-NAME.so. */
static bool name_of_file(const char *file, struct name *name)
{
	size_t len = strlen(file), around = strlen(PREFIX) + strlen(SUFFIX);

	if (len <= around || strncmp(file, PREFIX, strlen(PREFIX)) != 0 ||
	    strcmp(file + len - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	len -= around;
	if (!good_name(file + strlen(PREFIX), len))
		return false;
	memcpy(name->text, file + strlen(PREFIX), len);
	name->text[len] = '\0';
	return true;
}

static int each_in(const char *path, unsigned int nth, int (*each)(const char *, void *),
		   void *priv)
{
	char found[PATH_MAX], file[PATH_MAX + 66];
	struct dirent *entry;
	struct name name;
	int err = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return 0;
	while (!err && (entry = readdir(dir))) {
		if (!name_of_file(entry->d_name, &name))
			continue;
		/* The first directory that has it counts. */
		snprintf(file, sizeof(file), "%s/%.64s", path, entry->d_name);
		if (nth && find_file(&name, trusted, found, sizeof(found)) &&
		    strcmp(found, file) != 0)
			continue;
		err = each(name.text, priv);
	}
	closedir(dir);
	return err;
}

int plugin_each(int (*each)(const char *name, void *priv), void *priv)
{
	char first[PATH_MAX] = "", dir[PATH_MAX];
	int err = 0;

	for (unsigned int i = 0; !err && dir_at(i, dir, sizeof(dir)); i++) {
		if (i && !strcmp(first, dir))
			continue;
		if (!i)
			memcpy(first, dir, sizeof(first));
		err = each_in(dir, i, each, priv);
	}
	return err;
}
