// SPDX-License-Identifier: GPL-2.0-only
/*
 * gather.c - gather a card's status from sysfs, as JSON
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "gather.h"
#include "vtadev.h"

#define VALUE_MAX	256

/* The first line of a file; false if it cannot be read. */
static bool read_text(int dir, const char *file, char text[VALUE_MAX])
{
	ssize_t len;
	int fd;

	fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, VALUE_MAX - 1);
	close(fd);
	if (len < 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static struct json_object *text_of(int dir, const char *file)
{
	char text[VALUE_MAX];

	return read_text(dir, file, text) ? json_object_new_string(text) : NULL;
}

/* A number, decimal or with 0x; null if the file has none. */
static struct json_object *number_of(int dir, const char *file)
{
	unsigned long long value;
	char text[VALUE_MAX];
	char *end;

	if (!read_text(dir, file, text) || !isdigit((unsigned char)text[0]))
		return NULL;
	errno = 0;
	value = strtoull(text, &end, 0);
	return errno || *end ? NULL : json_object_new_uint64(value);
}

/* All files of a directory, whatever the driver's version has there. */
static struct json_object *numbers_of(int parent, const char *name)
{
	struct json_object *group;
	struct dirent **files;
	int count, dir;

	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	count = scandirat(parent, name, &files, NULL, alphasort);
	group = count < 0 ? NULL : json_object_new_object();
	for (int i = 0; i < count; i++) {
		if (files[i]->d_name[0] != '.')
			json_object_object_add(group, files[i]->d_name,
					       number_of(dir, files[i]->d_name));
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	close(dir);
	return group;
}

static struct json_object *pair(const char *a, struct json_object *value_a,
				const char *b, struct json_object *value_b)
{
	struct json_object *both = json_object_new_object();

	json_object_object_add(both, a, value_a);
	json_object_object_add(both, b, value_b);
	return both;
}

static struct json_object *speed_and_width(double speed, unsigned int width)
{
	struct json_object *known = NULL;
	char text[16];

	if (speed > 0) {
		snprintf(text, sizeof(text), "%.3g", speed);
		known = json_object_new_double_s(speed, text);
	}
	return pair("gts", known, "width", json_object_new_int((int)width));
}

static struct json_object *link_of(const char *address)
{
	struct link link;

	if (!link_read(address, &link))
		return NULL;
	return pair("now", speed_and_width(link.speed, link.width),
		    "max", speed_and_width(link.speed_max, link.width_max));
}

static struct json_object *pci_of(int dir, const struct vtadev_card *card)
{
	struct json_object *pci;

	if (!card->pci[0])
		return NULL;
	pci = json_object_new_object();
	json_object_object_add(pci, "address", json_object_new_string(card->pci));
	json_object_object_add(pci, "vendor", text_of(dir, "device/vendor"));
	json_object_object_add(pci, "device", text_of(dir, "device/device"));
	json_object_object_add(pci, "link", link_of(card->pci));
	return pci;
}

struct json_object *gather(const struct vtadev_card *card)
{
	struct json_object *s;
	char path[64];
	int dir;

	snprintf(path, sizeof(path), "/sys/class/vta/vta%u", card->index);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	s = json_object_new_object();
	json_object_object_add(s, "index", json_object_new_int64(card->index));
	json_object_object_add(s, "node", json_object_new_string(card->node));
	json_object_object_add(s, "accessible",
			       json_object_new_boolean(!access(card->node, R_OK | W_OK)));
	json_object_object_add(s, "pci", pci_of(dir, card));
	json_object_object_add(s, "contract", text_of(dir, "contract"));
	json_object_object_add(s, "hw_ver", text_of(dir, "hw_ver"));
	json_object_object_add(s, "serial", text_of(dir, "serial"));
	json_object_object_add(s, "generation", number_of(dir, "generation"));
	json_object_object_add(s, "clock_khz", number_of(dir, "clock_khz"));
	json_object_object_add(s, "vectors", number_of(dir, "vectors"));
	json_object_object_add(s, "memory",
			       pair("size", number_of(dir, "mem_size"),
				    "free", number_of(dir, "mem_free")));
	json_object_object_add(s, "queues",
			       pair("total", number_of(dir, "queues"),
				    "used", number_of(dir, "queues_used")));
	json_object_object_add(s, "contexts",
			       pair("total", number_of(dir, "contexts"),
				    "used", number_of(dir, "contexts_used")));
	json_object_object_add(s, "config", numbers_of(dir, "config"));
	json_object_object_add(s, "counters", numbers_of(dir, "counters"));
	close(dir);
	return s;
}
