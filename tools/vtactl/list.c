// SPDX-License-Identifier: GPL-2.0-only
/*
 * list.c - vtactl list: the cards of the driver, and devices in the process
 */
#include <json-c/json.h>
#include <stdio.h>

#include "ctl.h"

static const char help[] =
	"Usage: vtactl list [--all] [--json]\n"
	"\n"
	"Prints a line for each card of the driver: name, node and PCI address; and for the\n"
	"device that VTADEV_DEVICE names, if it is one in the process.\n"
	"\n"
	"  -a, --all   also list the devices of plugins, by the names that open them, below a\n"
	"              header\n"
	"  -j, --json  print an array of objects: index, node, pci; a device has only node\n"
	"  -h, --help  print this text\n";

static struct json_object *json_of(const struct vtadev_card *card)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "index", ctl_is_device(card) ? NULL :
			       json_object_new_int64(card->index));
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

static int list_text(const struct vtadev_card *cards, size_t count, bool all)
{
	if (all)
		puts("card  node  PCI address");
	for (size_t i = 0; i < count; i++) {
		if (ctl_is_device(&cards[i]))
			printf("%s  -  -\n", cards[i].node);
		else
			printf("vta%u  %s  %s\n", cards[i].index, cards[i].node,
			       cards[i].pci[0] ? cards[i].pci : "-");
	}
	return CTL_OK;
}

/* No card is no failure here. */
static int list_all(struct vtadev_card **cards, size_t *count)
{
	int found = vtadev_list_all(cards);

	*count = found < 0 ? 0 : (size_t)found;
	return found < 0 ? ctl_error("", found) : CTL_OK;
}

int list_main(int argc, char **argv)
{
	bool all = false, json = false;
	const struct cli_option options[] = {
		{ CLI_FLAG("all", &all) }, { CLI_FLAG("json", &json) }, { 0 },
	};
	struct vtadev_card *cards;
	int ret = cli_options(help, options, 0, &argc, &argv);
	size_t count;

	if (ret != CLI_GO)
		return ret;
	ret = all ? list_all(&cards, &count) : ctl_cards_or_devices(NULL, &cards, &count);
	if (ret)
		return ret;
	ret = json ? list_json(cards, count) : list_text(cards, count, all);
	vtadev_list_free(cards);
	return ret;
}
