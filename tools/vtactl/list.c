// SPDX-License-Identifier: GPL-2.0-only
/*
 * list.c - vtactl list: which cards the driver has
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>

#include "ctl.h"

static const char help[] =
	"Usage: vtactl list [--json]\n"
	"\n"
	"Each card that the driver has: its name, its node, its PCI address.\n"
	"\n"
	"  -j, --json  an array of objects: index, node, pci\n"
	"  -h, --help  this text\n";

static struct json_object *json_of(const struct vtadev_card *card)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "index", json_object_new_int64(card->index));
	json_object_object_add(object, "node", json_object_new_string(card->node));
	json_object_object_add(object, "pci", card->pci[0] ?
			       json_object_new_string(card->pci) : NULL);
	return object;
}

static int list_json(const struct vtadev_card *cards, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_of(&cards[i]));
	return ctl_print_json(array, false);
}

static int list_text(const struct vtadev_card *cards, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("vta%u  %s  %s\n", cards[i].index, cards[i].node,
		       cards[i].pci[0] ? cards[i].pci : "-");
	return CTL_OK;
}

int list_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	struct vtadev_card *cards;
	bool json = false;
	int option, ret;
	size_t count;

	while ((option = getopt_long(argc, argv, "hj", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			return ctl_help(help);
		case 'j':
			json = true;
			break;
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	if (optind < argc)
		return ctl_usage("too much: ", argv[optind]);
	ret = ctl_cards(NULL, &cards, &count);
	if (ret)
		return ret;
	ret = json ? list_json(cards, count) : list_text(cards, count);
	vtadev_list_free(cards);
	return ret;
}
