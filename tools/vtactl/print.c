// SPDX-License-Identifier: GPL-2.0-only
/*
 * print.c - a card's status for people
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "gather.h"

#define UNKNOWN	"unknown"

static struct json_object *get(struct json_object *parent, const char *name)
{
	struct json_object *value = NULL;

	if (parent)
		json_object_object_get_ex(parent, name, &value);
	return value;
}

/* Strings and numbers as text; what json-c returns lives as long as @parent. */
static const char *text(struct json_object *parent, const char *name)
{
	struct json_object *value = get(parent, name);

	return value ? json_object_get_string(value) : UNKNOWN;
}

/* Bytes in the largest binary unit that leaves a whole number. */
static void print_bytes(struct json_object *value)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;
	uint64_t bytes;

	if (!value) {
		printf(UNKNOWN);
		return;
	}
	bytes = json_object_get_uint64(value);
	while (bytes && bytes % 1024 == 0 && unit < 4) {
		bytes /= 1024;
		unit++;
	}
	printf("%" PRIu64 " %s", bytes, units[unit]);
}

static void print_link(struct json_object *link)
{
	struct json_object *now = get(link, "now");
	struct json_object *max = get(link, "max");

	if (!link) {
		printf("  link        " UNKNOWN " (only root may read it)\n");
		return;
	}
	printf("  link        %s GT/s x%s of at most %s GT/s x%s\n",
	       text(now, "gts"), text(now, "width"),
	       text(max, "gts"), text(max, "width"));
}

static void print_pci(struct json_object *pci)
{
	if (!pci)
		return;
	printf("  PCI         %s, vendor %s, device %s\n", text(pci, "address"),
	       text(pci, "vendor"), text(pci, "device"));
	print_link(get(pci, "link"));
}

static void print_group(const char *title, struct json_object *group)
{
	if (!group)
		return;
	printf("  %s\n", title);
	json_object_object_foreach(group, name, value) {
		printf("    %-20s %s\n", name,
		       value ? json_object_get_string(value) : UNKNOWN);
	}
}

void gather_print(struct json_object *s)
{
	struct json_object *memory = get(s, "memory");
	struct json_object *queues = get(s, "queues");
	struct json_object *contexts = get(s, "contexts");

	printf("vta%s\n", text(s, "index"));
	printf("  node        %s%s\n", text(s, "node"),
	       json_object_get_boolean(get(s, "accessible")) ?
	       "" : " (not for you to open)");
	print_pci(get(s, "pci"));
	printf("  contract    %s\n", text(s, "contract"));
	printf("  core        version %s at %s kHz\n", text(s, "hw_ver"),
	       text(s, "clock_khz"));
	printf("  serial      %s\n", text(s, "serial"));
	printf("  generation  %s\n", text(s, "generation"));
	printf("  vectors     %s\n", text(s, "vectors"));
	printf("  memory      ");
	print_bytes(get(memory, "free"));
	printf(" free of ");
	print_bytes(get(memory, "size"));
	printf("\n  queues      %s used of %s\n", text(queues, "used"),
	       text(queues, "total"));
	printf("  contexts    %s used of %s\n", text(contexts, "used"),
	       text(contexts, "total"));
	print_group("configuration", get(s, "config"));
	print_group("counters", get(s, "counters"));
}
