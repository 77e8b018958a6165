// SPDX-License-Identifier: GPL-2.0-only
/*
 * export.c - vtactl export: metrics for Prometheus
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>

#include "ctl.h"
#include "gather.h"
#include "metrics.h"
#include "output.h"

static const char help[] =
	"Usage: vtactl export [--anonymous] [--output=FILE]\n"
	"\n"
	"Prints the state and load of cards, and the resources of their users, as metrics in\n"
	"Prometheus' text format, for the textfile collector of node_exporter. That collector\n"
	"reads files whose names end in .prom.\n"
	"\n"
	"  -a, --anonymous    leave out the metrics of users\n"
	"  -o, --output=FILE  replace FILE atomically; - is standard output\n"
	"  -h, --help         print this text\n"
	"\n"
	"export opens no card and wakes no card up. It is not an error if there is no card:\n"
	"vta_cards is 0 then. Metrics of other users' processes, and of the last faults, are\n"
	"printed for root only.\n";

/* All cards that are there; NULL, and prints why, if they cannot be listed. */
static struct json_object *gather_all(void)
{
	struct json_object *array, *status;
	struct vtadev_card *cards;
	int count = vtadev_list(&cards);

	if (count < 0) {
		ctl_not_listed(count);
		return NULL;
	}
	array = json_object_new_array();
	for (int i = 0; i < count; i++) {
		status = gather(&cards[i]);
		if (status)
			json_object_array_add(array, status);
	}
	vtadev_list_free(cards);
	return array;
}

static int export(FILE *file, bool anonymous)
{
	struct json_object *cards = gather_all();

	if (!cards)
		return CTL_ERROR;
	metrics_cards(file, cards);
	json_object_put(cards);
	return anonymous ? CTL_OK : metrics_users(file);
}

static int export_to(const char *path, bool anonymous)
{
	struct output out;
	int err = output_open_in_turn(&out, path, 0644), ret;

	if (err)
		return ctl_written(path, err);
	ret = export(out.file, anonymous);
	if (!ret)
		return ctl_written(path, output_close(&out));
	output_cancel(&out);
	return ret;
}

int export_main(int argc, char **argv)
{
	const char *path = NULL;
	bool anonymous = false;
	const struct cli_option options[] = {
		{ CLI_FLAG("anonymous", &anonymous) }, { CLI_TEXT("output", &path) }, { 0 },
	};
	int ret = cli_options(help, options, 0, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	return path ? export_to(path, anonymous) : export(stdout, anonymous);
}
