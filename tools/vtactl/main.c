// SPDX-License-Identifier: GPL-2.0-only
/*
 * vtactl - administer VTA cards
 *
 * A verb is a file. Verbs that only read do not open the card: they use sysfs, /proc and the PCI
 * configuration space, so that they need no permission and take no context of the card.
 */
#include "ctl.h"

static const struct cli_verb verbs[] = {
	{ "list",	list_main,	"list the driver's cards" },
	{ "status",	status_main,	"show a card's properties, state and use" },
	{ "top",	top_main,	"show live what processes do with cards" },
	{ "monitor",	monitor_main,	"print faults, resets, added and removed cards" },
	{ "test",	test_main,	"test whether a card works" },
	{ "doctor",	doctor_main,	"check this machine's installation" },
	{ "bench",	bench_main,	"measure launches, waits and copies" },
	{ "dump",	dump_main,	"make a bundle for a bug report" },
	{ "cdi",	cdi_main,	"give cards to containers" },
	{ "export",	export_main,	"print metrics for Prometheus" },
	{ "reset",	reset_main,	"reset a card, which revokes it from all users" },
	{ "trace",	trace_main,	"record the activity of driver and program" },
	{ "program",	program_main,	"inspect, run, measure or profile an image (.vtap)" },
	{ 0 },
};

static const char help[] =
	"Usage: vtactl VERB [OPTION]... [ARGUMENT]...\n"
	"  or:  vtactl VERB --help\n"
	"  or:  vtactl --help | --version\n"
	"\n"
	"Administer VTA accelerator cards.\n"
	"\n"
	"Verbs:\n";

static const char exit_status[] =
	"\n"
	"CARD is an index (0), a name (vta0), a node (/dev/vta0), a link to a node, or a PCI\n"
	"address (0000:01:00.0).\n"
	"\n"
	"Exit status:\n"
	"  0  done\n"
	"  1  an error: the message says which\n"
	"  2  wrong usage\n"
	"  3  no card, or not the one named\n"
	"  4  no permission\n"
	"  5  the card fails, or was given up (resets did not help, or were too many)\n"
	"  6  the card is in use\n"
	"trace returns the status of the command that it runs.\n";

int main(int argc, char **argv)
{
	const struct cli_program program = {
		.name = "vtactl", .version = vtadev_version(), .help = help,
		.exit_status = exit_status, .verbs = verbs,
	};

	return cli_main(&program, argc, argv);
}
