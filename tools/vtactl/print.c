// SPDX-License-Identifier: GPL-2.0-only
/*
 * print.c - print a card's status as text
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "bar.h"
#include "gather.h"

#define UNKNOWN	"unknown"
/* Lines of a list in the short form, of a card that has all else: 24 lines are a screen. */
#define HOLDERS_MAX	4
#define EVENTS_MAX	1

static struct json_object *get(struct json_object *parent, const char *name)
{
	struct json_object *value = NULL;

	if (parent)
		json_object_object_get_ex(parent, name, &value);
	return value;
}

/* Strings and numbers as text; strings of json-c live as long as @parent. */
static const char *text(struct json_object *parent, const char *name)
{
	struct json_object *value = get(parent, name);

	return value ? json_object_get_string(value) : UNKNOWN;
}

/* Bytes in the largest binary unit that leaves a whole number; of many digits, to a tenth. */
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
	if (bytes < 10000 || unit == 4)
		printf("%" PRIu64 " %s", bytes, units[unit]);
	else if (bytes < 10000 * 1024ull || unit == 3)
		printf("%.1f %s", (double)bytes / 1024, units[unit + 1]);
	else
		printf("%.1f %s", (double)bytes / (1 << 20), units[unit + 2]);
}

static void print_link(struct json_object *link)
{
	struct json_object *now = get(link, "now");
	struct json_object *max = get(link, "max");

	if (!link) {
		printf("  link        " UNKNOWN "\n");
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

/* On one line if they fit. */
static void print_queues(struct json_object *queues)
{
	size_t count = json_object_array_length(queues);

	if (!count)
		return;
	printf(", queue%s", count > 1 ? "s" : "");
	for (size_t i = 0; i < count; i++)
		printf(" %s", json_object_get_string(json_object_array_get_idx(queues, i)));
}

static void print_holders(struct json_object *s, size_t most)
{
	struct json_object *holders = get(s, "holders");
	struct json_object *used = get(get(s, "contexts"), "used");
	size_t count = holders ? json_object_array_length(holders) : 0;

	for (size_t i = 0; i < count && i < most; i++) {
		struct json_object *h = json_object_array_get_idx(holders, i);

		printf("    %s[%s] of %s: ", text(h, "command"), text(h, "pid"), text(h, "user"));
		print_bytes(get(h, "card_bytes"));
		printf(" of the card, ");
		print_bytes(get(h, "host_bytes"));
		printf(" of the host");
		print_queues(get(h, "queues"));
		if (get(h, "lost"))
			printf(", has lost the card (%s)", text(h, "lost"));
		printf("\n");
	}
	if (count > most)
		printf("    and %zu more\n", count - most);
	/* Other users', or kept by mappings alone. */
	if (used && json_object_get_uint64(used) > count)
		printf("    %" PRIu64 " that you may not see or that have no descriptor\n",
		       json_object_get_uint64(used) - count);
}

/* Signs of a bar. */
#define BAR	16u

static void print_share(const char *name, struct json_object *share)
{
	double value = share ? json_object_get_double(share) : 0;
	char bar[BAR_MAX];

	if (share)
		printf(" %s %s%s%s %.0f %%", name, colour_begin(COLOUR_GREEN),
		       bar_text(value, BAR, bar), colour_end(COLOUR_GREEN), 100 * value);
	else
		printf(" %s " UNKNOWN, name);
}

static void print_utilisation(struct json_object *utilisation)
{
	if (!utilisation)
		return;
	printf("  busy       ");
	print_share("compute", get(utilisation, "compute"));
	print_share("copy", get(utilisation, "copy"));
	printf(" over %s s\n", text(utilisation, "seconds"));
}

/* A bar of the memory in use, if it is known. */
static void print_use(struct json_object *memory)
{
	struct json_object *size = get(memory, "size"), *free = get(memory, "free");
	uint64_t all = size ? json_object_get_uint64(size) : 0;
	uint64_t unused = free ? json_object_get_uint64(free) : 0;
	enum colour colour;
	char bar[BAR_MAX];
	double share;

	if (!all || !free || unused > all)
		return;
	share = (double)(all - unused) / (double)all;
	colour = colour_of_use(share);
	printf("%s%s%s ", colour_begin(colour), bar_text(share, BAR, bar), colour_end(colour));
}

static void print_state(const char *state)
{
	enum colour colour = !strcmp(state, "working") ? COLOUR_GREEN :
			     !strcmp(state, "given up") ? COLOUR_RED :
			     !strcmp(state, "asleep") || !strcmp(state, UNKNOWN) ? COLOUR_NONE :
			     COLOUR_YELLOW;

	printf("  state       %s%s%s\n", colour_begin(colour), state, colour_end(colour));
}

static void print_heading(const char *title, size_t count, size_t most)
{
	printf("  %s", title);
	if (count > most)
		printf(", %zu of %zu", most, count);
	printf("%s\n", count ? "" : ": none");
}

/* The last @most, of which the newest is last. */
static void print_faults(struct json_object *faults, size_t most)
{
	size_t count = faults ? json_object_array_length(faults) : 0;

	if (!faults)
		printf("  last faults: for root to see\n");
	else
		print_heading("last faults", count, most);
	for (size_t i = count > most ? count - most : 0; i < count; i++) {
		struct json_object *f = json_object_array_get_idx(faults, i);

		printf("    at %s s queue %s of %s[%s]: %s, %s at %s, descriptor %s\n",
		       text(f, "time"), text(f, "queue"), text(f, "comm"), text(f, "pid"),
		       text(f, "reason"), text(f, "access"), text(f, "addr"), text(f, "seq"));
	}
}

static void print_resets(struct json_object *resets, size_t most)
{
	size_t count = resets ? json_object_array_length(resets) : 0;

	print_heading("last resets", count, most);
	for (size_t i = count > most ? count - most : 0; i < count; i++) {
		struct json_object *r = json_object_array_get_idx(resets, i);

		printf("    at %s s %s: %s\n", text(r, "time"), text(r, "result"), text(r, "why"));
	}
}

/* Prints only values that are not as usual. */
static void print_tvm(struct json_object *tvm)
{
	if (tvm && !json_object_get_boolean(tvm))
		printf("  TVM         cannot use this core: "
		       "its headers lay out GEMM and ALU otherwise (docs/isa.md, section 10)\n");
}

/* Prints what does not change while the driver has the card. */
static void print_properties(struct json_object *s)
{
	printf("  contract    %s\n", text(s, "contract"));
	printf("  serial      %s\n", text(s, "serial"));
	printf("  generation  %s\n", text(s, "generation"));
	printf("  vectors     %s\n", text(s, "vectors"));
	print_group("configuration", get(s, "config"));
}

/* A device has no users, no link and no history: it is a program's own. */
static void print_device(struct json_object *s, bool all)
{
	struct json_object *memory = get(s, "memory");

	printf("%s\n  state       in the process of a program that opens it\n", text(s, "node"));
	printf("  core        version %s at %s kHz\n", text(s, "hw_ver"), text(s, "clock_khz"));
	printf("  memory      ");
	print_use(memory);
	print_bytes(get(memory, "free"));
	printf(" free of ");
	print_bytes(get(memory, "size"));
	printf("\n  queues      %s\n  contexts    %s\n", text(get(s, "queues"), "total"),
	       text(get(s, "contexts"), "total"));
	print_tvm(get(s, "tvm"));
	if (all) {
		printf("  contract    %s\n", text(s, "contract"));
		printf("  serial      %s\n", text(s, "serial"));
		print_group("configuration", get(s, "config"));
	}
}

void gather_print(struct json_object *s, bool all)
{
	struct json_object *memory = get(s, "memory");
	struct json_object *queues = get(s, "queues");
	struct json_object *contexts = get(s, "contexts");

	if (!get(s, "index")) {
		print_device(s, all);
		return;
	}
	printf("vta%s\n", text(s, "index"));
	printf("  node        %s%s\n", text(s, "node"),
	       json_object_get_boolean(get(s, "accessible")) ?
	       "" : " (not for you to open)");
	print_pci(get(s, "pci"));
	printf("  core        version %s at %s kHz\n", text(s, "hw_ver"),
	       text(s, "clock_khz"));
	print_state(text(s, "state"));
	if (get(s, "temperature"))
		printf("  temperature %s C\n", text(s, "temperature"));
	if (get(s, "power"))
		printf("  power       %s W\n", text(s, "power"));
	printf("  memory      ");
	print_use(memory);
	print_bytes(get(memory, "free"));
	printf(" free of ");
	print_bytes(get(memory, "size"));
	printf("; of the host ");
	print_bytes(get(memory, "host"));
	printf(", pinned ");
	print_bytes(get(memory, "pinned"));
	printf("\n");
	print_utilisation(get(s, "utilisation"));
	printf("  queues      %s used of %s\n", text(queues, "used"),
	       text(queues, "total"));
	printf("  contexts    %s used of %s\n", text(contexts, "used"),
	       text(contexts, "total"));
	print_holders(s, all ? SIZE_MAX : HOLDERS_MAX);
	print_tvm(get(s, "tvm"));
	if (all) {
		print_properties(s);
		print_group("usage", get(s, "usage"));
		print_group("recovery", get(s, "recovery"));
		print_group("counters", get(s, "counters"));
	}
	print_faults(get(s, "faults"), all ? SIZE_MAX : EVENTS_MAX);
	print_resets(get(s, "resets"), all ? SIZE_MAX : EVENTS_MAX);
}
