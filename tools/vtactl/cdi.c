// SPDX-License-Identifier: GPL-2.0-only
/*
 * cdi.c - vtactl cdi: cards for containers
 *
 * Writes a specification of the Container Device Interface: docs/containers.md.
 */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"
#include "output.h"

/* Older runtimes (podman 4.3) refuse later versions. The first that has additionalGids is 0.7.0. */
#define CDI_VERSION		"0.5.0"
#define CDI_VERSION_GROUPS	"0.7.0"
#define CDI_KIND	"vta.example/card"
/* The mode of a node in the container: owner and group, as in the udev rules. */
#define NODE_MODE	0660

static const char help[] =
	"Usage: vtactl cdi [--groups] [--kind=VENDOR/CLASS] [--mount=FILE]... [--output=FILE]\n"
	"\n"
	"Prints a file for the Container Device Interface (CDI), which defines a device for each\n"
	"card, with the card's name, and a device \"all\". Container runtimes read such files in\n"
	"/etc/cdi and /run/cdi.\n"
	"\n"
	"  -g, --groups             make containers' first processes members of the nodes' group\n"
	"                           (CDI " CDI_VERSION_GROUPS "; not for user namespaces)\n"
	"  -k, --kind=VENDOR/CLASS  first part of the devices' names (" CDI_KIND ")\n"
	"  -m, --mount=FILE         also mount FILE of the host in containers with a card, at the\n"
	"                           same path and read-only: the library, a program\n"
	"  -o, --output=FILE        replace FILE atomically; if there is no card, remove it;\n"
	"                           - is standard output\n"
	"  -h, --help               print this text\n";

/* ---- Names: section "Kind" of the specification ---- */

/* Letters, digits and @marks; a letter first, a letter or digit last. */
static bool is_word(const char *text, size_t len, const char *marks)
{
	if (!len || !isalpha((unsigned char)text[0]) || !isalnum((unsigned char)text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(marks, text[i]))
			return false;
	return true;
}

static bool is_kind(const char *kind)
{
	const char *slash = strchr(kind, '/');

	return slash && is_word(kind, (size_t)(slash - kind), "_-.") &&
	       is_word(slash + 1, strlen(slash + 1), "_-");
}

/* ---- The specification ---- */

/* The group of the host's node; 0, root's, gives a container nothing. */
static gid_t group_of(const struct vtadev_card *card)
{
	struct stat st;

	return stat(card->node, &st) ? 0 : st.st_gid;
}

/* The runtime takes number and type from the host's node. */
static struct json_object *node_of(const struct vtadev_card *card)
{
	struct json_object *node = json_object_new_object();
	gid_t group = group_of(card);

	json_object_object_add(node, "path", json_object_new_string(card->node));
	json_object_object_add(node, "permissions", json_object_new_string("rw"));
	json_object_object_add(node, "fileMode", json_object_new_int(NODE_MODE));
	if (group)
		json_object_object_add(node, "gid", json_object_new_int64(group));
	return node;
}

/* The groups of @cards, each once; NULL if there is none. */
static struct json_object *groups_of(const struct vtadev_card *cards, size_t count)
{
	struct json_object *groups = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		gid_t group = group_of(&cards[i]);
		bool have = !group;

		for (size_t k = 0; k < json_object_array_length(groups); k++) {
			struct json_object *other = json_object_array_get_idx(groups, k);

			have |= json_object_get_int64(other) == group;
		}
		if (!have)
			json_object_array_add(groups, json_object_new_int64(group));
	}
	if (json_object_array_length(groups))
		return groups;
	json_object_put(groups);
	return NULL;
}

/* Parts of the specification that do not depend on cards. */
struct choice {
	const char *kind;
	struct json_object *mounts;
	bool groups;
};

static struct json_object *device_of(const char *name, const struct choice *choice,
				     const struct vtadev_card *cards, size_t count)
{
	struct json_object *groups = choice->groups ? groups_of(cards, count) : NULL;
	struct json_object *device = json_object_new_object();
	struct json_object *edits = json_object_new_object();
	struct json_object *nodes = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(nodes, node_of(&cards[i]));
	json_object_object_add(edits, "deviceNodes", nodes);
	if (groups)
		json_object_object_add(edits, "additionalGids", groups);
	json_object_object_add(device, "name", json_object_new_string(name));
	json_object_object_add(device, "containerEdits", edits);
	return device;
}

static struct json_object *mount_of(const char *path)
{
	static const char *const options[] = { "ro", "nosuid", "nodev", "bind" };
	struct json_object *mount = json_object_new_object();
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		json_object_array_add(array, json_object_new_string(options[i]));
	json_object_object_add(mount, "hostPath", json_object_new_string(path));
	json_object_object_add(mount, "containerPath", json_object_new_string(path));
	json_object_object_add(mount, "options", array);
	return mount;
}

static struct json_object *specification(const struct choice *choice,
					 const struct vtadev_card *cards, size_t count)
{
	struct json_object *spec = json_object_new_object();
	struct json_object *devices = json_object_new_array();
	const char *version;
	char name[32];

	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "vta%u", cards[i].index);
		json_object_array_add(devices, device_of(name, choice, &cards[i], 1));
	}
	json_object_array_add(devices, device_of("all", choice, cards, count));
	version = choice->groups ? CDI_VERSION_GROUPS : CDI_VERSION;
	json_object_object_add(spec, "cdiVersion", json_object_new_string(version));
	json_object_object_add(spec, "kind", json_object_new_string(choice->kind));
	json_object_object_add(spec, "devices", devices);
	if (json_object_array_length(choice->mounts)) {
		struct json_object *edits = json_object_new_object();

		json_object_object_add(edits, "mounts", json_object_get(choice->mounts));
		json_object_object_add(spec, "containerEdits", edits);
	}
	return spec;
}

/* ---- The verb ---- */

static int print_specification(const struct choice *choice)
{
	struct vtadev_card *cards;
	size_t count;
	int ret = ctl_cards(NULL, &cards, &count);

	if (ret)
		return ret;
	ret = ctl_print_json(specification(choice, cards, count), false);
	vtadev_list_free(cards);
	return ret;
}

/* Runtimes refuse a specification without devices. */
static int write_specification(const char *path, const struct choice *choice)
{
	struct json_object *spec;
	struct vtadev_card *cards;
	struct output out;
	int count, err;

	err = output_open_in_turn(&out, path, 0644);
	if (err)
		return ctl_written(path, err);
	count = vtadev_list(&cards);
	if (count < 0) {
		output_cancel(&out);
		return ctl_not_listed(count);
	}
	if (!count) {
		vtadev_list_free(cards);
		return ctl_written(path, output_remove(&out));
	}
	spec = specification(choice, cards, (size_t)count);
	fprintf(out.file, "%s\n",
		json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PRETTY |
					       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(spec);
	vtadev_list_free(cards);
	return ctl_written(path, output_close(&out));
}

/* A container without the file would not start. */
static int add_mount(const struct cli_option *option, char *path)
{
	if (*path != '/')
		return cli_usage("not an absolute path: %s", path);
	if (access(path, F_OK))
		return ctl_fail(path, strerror(errno));
	json_object_array_add(option->to, mount_of(path));
	return CTL_OK;
}

static int run(int argc, char **argv, struct choice *choice)
{
	const char *path = NULL;
	const struct cli_option options[] = {
		{ CLI_FLAG("groups", &choice->groups) },
		{ CLI_TEXT("kind", &choice->kind) },
		{ .name = "mount", .set = add_mount, .to = choice->mounts },
		{ CLI_TEXT("output", &path) },
		{ 0 },
	};
	int ret = cli_options(help, options, 0, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (!is_kind(choice->kind))
		return cli_usage("not VENDOR/CLASS, as " CDI_KIND ": %s", choice->kind);
	return path ? write_specification(path, choice) : print_specification(choice);
}

int cdi_main(int argc, char **argv)
{
	struct choice choice = { .kind = CDI_KIND, .mounts = json_object_new_array() };
	int ret = run(argc, argv, &choice);

	json_object_put(choice.mounts);
	return ret;
}
