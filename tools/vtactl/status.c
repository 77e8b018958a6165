// SPDX-License-Identifier: GPL-2.0-only
/*
 * status.c - vtactl status: what a card is and how it is used
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>

#include "ctl.h"
#include "gather.h"

static const char help[] =
	"Usage: vtactl status [--json] [CARD]\n"
	"\n"
	"What a card is and how it is used; without CARD, all of them.\n"
	"\n"
	"  -j, --json  an array of cards; null is for what cannot be told\n"
	"  -h, --help  this text\n"
	"\n"
	"The card is not opened: no permission is needed and no context of it is used. The\n"
	"link is shown to root only.\n";

static int show(const struct vtadev_card *cards, size_t count, bool json)
{
	struct json_object *array = json_object_new_array();
	int ret = CTL_OK;

	for (size_t i = 0; i < count; i++) {
		struct json_object *status = gather(&cards[i]);

		if (!status) {
			ret = ctl_fail(cards[i].node, "the card was removed just now");
			continue;
		}
		json_object_array_add(array, status);
		ctl_say_access(&cards[i]);
	}
	if (json)
		return ctl_print_json(array, false) ? CTL_ERROR : ret;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		gather_print(json_object_array_get_idx(array, i));
	json_object_put(array);
	return ret;
}

int status_main(int argc, char **argv)
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
	if (argc - optind > 1)
		return ctl_usage("too much: ", argv[optind + 1]);
	ret = ctl_cards(argv[optind], &cards, &count);
	if (ret)
		return ret;
	ret = show(cards, count, json);
	vtadev_list_free(cards);
	return ret;
}
