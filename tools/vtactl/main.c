// SPDX-License-Identifier: GPL-2.0-only
/*
 * vtactl - list VTA cards and tell their status
 *
 * But for running a program, cards are not opened: everything comes from sysfs
 * and the PCI configuration space, so no permission is needed and no context of
 * the card is used.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "status.h"
#include "trace.h"
#include "vtadev.h"

enum { OK = 0, ERROR = 1, USAGE = 2, NO_CARD = 3 };

static const char help[] =
	"usage: vtactl list [--json]           cards that the driver has\n"
	"       vtactl status [CARD] [--json]  what a card is and how it is used;\n"
	"                                      without CARD, all of them\n"
	"       vtactl trace ...               record a run; see vtactl trace --help\n"
	"       vtactl program info FILE [--json]\n"
	"                                      what a program image (.vtap) is and needs\n"
	"       vtactl program run FILE [--card CARD] NAME=FILE...\n"
	"                                      run it once; NAME is an input or an output,\n"
	"                                      FILE has its values, one byte each\n"
	"       vtactl --help | --version\n"
	"\n"
	"CARD is an index (0), a name (vta0), a node (/dev/vta0) or a PCI address\n"
	"(0000:01:00.0). But for running a program, no permission to open the card is\n"
	"needed; the link is shown to root only. JSON has null for what cannot be told; both commands print an\n"
	"array of cards.\n"
	"\n"
	"Exit status: 0 done, 1 an error, 2 wrong usage, 3 no card.\n";

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "vtactl: %s%s; try vtactl --help\n", what, word);
	return USAGE;
}

static int fail(const char *subject, const char *why)
{
	fprintf(stderr, "vtactl: %s%s%s\n", subject, *subject ? ": " : "", why);
	return ERROR;
}

/* There is none, or not that one; say what to do about it. */
static int no_card(const char *which)
{
	if (which)
		fprintf(stderr, "vtactl: there is no card %s; vtactl list shows all\n", which);
	else if (access("/sys/module/vta", F_OK))
		fprintf(stderr, "vtactl: no card: the driver is not loaded; as root: "
				"modprobe vta\n");
	else
		fprintf(stderr, "vtactl: no card: the driver is loaded but has found none; "
				"lspci -d 1234:5654 lists cards on the bus, dmesg says if the "
				"driver refused one\n");
	return NO_CARD;
}

/* On stderr, so that it is seen also when stdout goes to a program. */
static void say_access(const struct vtadev_card *card)
{
	struct group *group;
	struct stat st;

	if (!access(card->node, R_OK | W_OK))
		return;
	if (errno != EACCES) {
		fprintf(stderr, "vtactl: %s: %s; does udev run?\n", card->node,
			strerror(errno));
		return;
	}
	group = stat(card->node, &st) ? NULL : getgrgid(st.st_gid);
	if (group && (st.st_mode & 0060) == 0060)
		fprintf(stderr, "vtactl: you may not open %s: become a member of its group; "
				"as root: usermod -aG %s USER, then log in again\n",
			card->node, group->gr_name);
	else
		fprintf(stderr, "vtactl: you may not open %s: its mode and group are for an "
				"administrator to change, by a udev rule\n",
			card->node);
}

/* Print @array and free it. */
static int print_json(struct json_object *array)
{
	int ret = OK;

	if (puts(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY |
						JSON_C_TO_STRING_NOSLASHESCAPE)) < 0)
		ret = ERROR;
	json_object_put(array);
	return ret;
}

static struct json_object *json_of(const struct vtadev_card *card)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "index", json_object_new_int64(card->index));
	json_object_object_add(object, "node", json_object_new_string(card->node));
	json_object_object_add(object, "pci", card->pci[0] ?
			       json_object_new_string(card->pci) : NULL);
	return object;
}

static int list_cards(const struct vtadev_card *cards, size_t count, bool json)
{
	struct json_object *array;

	if (!json) {
		for (size_t i = 0; i < count; i++)
			printf("vta%u  %s  %s\n", cards[i].index, cards[i].node,
			       cards[i].pci[0] ? cards[i].pci : "-");
		return OK;
	}
	array = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_of(&cards[i]));
	return print_json(array);
}

static int status_cards(const struct vtadev_card *cards, size_t count, bool json)
{
	struct json_object *array = json_object_new_array();
	int ret = OK;

	for (size_t i = 0; i < count; i++) {
		struct json_object *status = status_gather(&cards[i]);

		if (!status) {
			ret = fail(cards[i].node, "the card was removed just now");
			continue;
		}
		json_object_array_add(array, status);
		say_access(&cards[i]);
	}
	if (json)
		return print_json(array) || ret;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		status_print(json_object_array_get_idx(array, i));
	json_object_put(array);
	return ret;
}

typedef int command_fn(const struct vtadev_card *cards, size_t count, bool json);

/* With every card. */
static int with_all(command_fn *command, bool json)
{
	struct vtadev_card *cards;
	int count, ret;

	count = vtadev_list(&cards);
	if (count < 0)
		return fail("", vtadev_strerror(count));
	ret = count ? command(cards, (size_t)count, json) : no_card(NULL);
	vtadev_list_free(cards);
	return ret;
}

/* With the one that @which names. */
static int with_one(command_fn *command, const char *which, bool json)
{
	struct vtadev_card card;
	int err;

	err = vtadev_find(which, &card);
	if (err == -ENOENT)
		return no_card(which);
	if (err == -EINVAL)
		return usage("not a name of a card: ", which);
	if (err)
		return fail(which, vtadev_strerror(err));
	return command(&card, 1, json);
}

static int program_command(const char *which, char **words, int count, bool json)
{
	if (count == 2 && !strcmp(words[0], "info"))
		return program_info(words[1], json);
	if (count >= 2 && !strcmp(words[0], "run"))
		return program_run(which, words[1], words + 2, count - 2);
	return usage("program info FILE, or program run FILE NAME=FILE...", "");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	const char *command, *which = NULL;
	bool json = false;
	int option, ret;

	/* It has options of its own, and a command that has others. */
	if (argc > 1 && !strcmp(argv[1], "trace"))
		return trace_main(argc - 1, argv + 1);
	while ((option = getopt_long(argc, argv, "c:hjV", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			which = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return OK;
		case 'j':
			json = true;
			break;
		case 'V':
			printf("vtactl %s\n", vtadev_version());
			return OK;
		default:
			return USAGE;	/* getopt has said why */
		}
	}
	argc -= optind;
	argv += optind;
	if (!argc)
		return usage("say what to do", "");
	command = argv[0];

	if (!strcmp(command, "list")) {
		if (argc > 1)
			return usage("too much: ", argv[1]);
		ret = with_all(list_cards, json);
	} else if (!strcmp(command, "status")) {
		if (argc > 2)
			return usage("too much: ", argv[2]);
		ret = argc == 2 ? with_one(status_cards, argv[1], json) :
				  with_all(status_cards, json);
	} else if (!strcmp(command, "program")) {
		ret = program_command(which, argv + 1, argc - 1, json);
	} else {
		return usage("no such command: ", command);
	}
	if (fflush(stdout) || ferror(stdout))
		return fail("output", strerror(errno));
	return ret;
}
