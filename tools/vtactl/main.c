// SPDX-License-Identifier: GPL-2.0-only
/*
 * vtactl - administer VTA cards
 *
 * A verb is a file. Those that only look do not open the card: what they say comes
 * from sysfs, /proc and the PCI configuration space, so that they need no
 * permission and take no context of the card.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

struct verb {
	const char *name;
	ctl_verb_fn *main;
	const char *what;
};

static const struct verb verbs[] = {
	{ "list",	list_main,	"list the driver's cards" },
	{ "status",	status_main,	"show a card's properties, state and use" },
	{ "top",	top_main,	"show live what processes do with cards" },
	{ "monitor",	monitor_main,	"print faults, resets, added and removed cards" },
	{ "test",	test_main,	"test whether a card works" },
	{ "bench",	bench_main,	"measure launches, waits and copies" },
	{ "dump",	dump_main,	"make a bundle for a bug report" },
	{ "cdi",	cdi_main,	"give cards to containers" },
	{ "export",	export_main,	"print metrics for Prometheus" },
	{ "reset",	reset_main,	"reset a card, which revokes it from all users" },
	{ "trace",	trace_main,	"record the activity of driver and program" },
	{ "program",	program_main,	"inspect or run a program image (.vtap)" },
};

#define VERBS	(sizeof(verbs) / sizeof(*verbs))

static const char help_head[] =
	"Usage: vtactl VERB [OPTION]... [ARGUMENT]...\n"
	"  or:  vtactl VERB --help\n"
	"  or:  vtactl --help | --version\n"
	"\n"
	"Administer VTA accelerator cards.\n"
	"\n"
	"Verbs:\n";

static const char help_tail[] =
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

static int help(void)
{
	ctl_help(help_head);
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-8s  %s\n", verbs[i].name, verbs[i].what);
	return ctl_help(help_tail);
}

/* All help texts, for the manual page. */
static int help_all(void)
{
	help();
	for (size_t i = 0; i < VERBS; i++) {
		char name[16], option[] = "--help";

		snprintf(name, sizeof(name), "%s", verbs[i].name);
		printf("\nvtactl %s:\n", verbs[i].name);
		optind = 0;
		verbs[i].main(2, (char *[]){ name, option, NULL });
	}
	return CTL_OK;
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return ctl_usage("name a verb", "");
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return help();
	if (!strcmp(name, "--help-all"))
		return help_all();
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return printf("vtactl %s\n", vtadev_version()) < 0 ? CTL_ERROR : CTL_OK;
	for (size_t i = 0; i < VERBS; i++) {
		if (!strcmp(name, verbs[i].name)) {
			ctl_set_verb(name);
			return verbs[i].main(argc - 1, argv + 1);
		}
	}
	return ctl_usage(*name == '-' ? "no such option: " : "no such verb: ", name);
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv);

	if (fflush(stdout) || ferror(stdout))
		return ctl_fail("output", strerror(errno));
	return ret;
}
