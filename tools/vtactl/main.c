// SPDX-License-Identifier: GPL-2.0-only
/*
 * vtactl - look after VTA cards
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
	{ "list",	list_main,	"cards that the driver has" },
	{ "status",	status_main,	"what a card is and how it is used" },
	{ "top",	top_main,	"what processes do with cards, live" },
	{ "monitor",	monitor_main,	"follow faults, resets, cards that come and go" },
	{ "test",	test_main,	"find out whether a card works" },
	{ "bench",	bench_main,	"measure launches, waits and copies" },
	{ "dump",	dump_main,	"make a bundle for a bug report" },
	{ "cdi",	cdi_main,	"cards for containers" },
	{ "export",	export_main,	"metrics for Prometheus" },
	{ "reset",	reset_main,	"take a card from everybody and start it anew" },
	{ "trace",	trace_main,	"record what the driver and a program do" },
	{ "program",	program_main,	"look into a program image (.vtap), and run it" },
};

#define VERBS	(sizeof(verbs) / sizeof(*verbs))

static const char help_head[] =
	"Usage: vtactl VERB [OPTION]... [ARGUMENT]...\n"
	"  or:  vtactl VERB --help\n"
	"  or:  vtactl --help | --version\n"
	"\n"
	"Look after VTA accelerator cards.\n"
	"\n"
	"Verbs:\n";

static const char help_tail[] =
	"\n"
	"CARD, where a verb takes one, is an index (0), a name (vta0), a node (/dev/vta0) or a\n"
	"PCI address (0000:01:00.0).\n"
	"\n"
	"Exit status:\n"
	"  0  done\n"
	"  1  an error\n"
	"  2  wrong usage\n"
	"  3  no card\n"
	"  4  no permission\n"
	"  5  the card fails, or was given up\n"
	"  6  somebody uses the card\n"
	"trace has that of the command that it runs.\n";

static int help(void)
{
	ctl_help(help_head);
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-8s  %s\n", verbs[i].name, verbs[i].what);
	return ctl_help(help_tail);
}

/* All there is to say, for the manual page. */
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
		return ctl_usage("say what to do", "");
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
