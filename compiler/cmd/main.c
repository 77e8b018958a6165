// SPDX-License-Identifier: Apache-2.0
/* vtac - compile trained networks for VTA cards. A verb is a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "vtadev.h"

static const struct {
	const char *name;
	cmd_fn *main;
	const char *what;
} verbs[] = {
	{ "compile",	compile_main,	"compile a model into a program" },
	{ "report",	report_main,	"print what the compiler wrote into a program" },
	{ "passes",	passes_main,	"list the compiler's passes" },
	{ "tvm",	tvm_main,	"write C for a graph of TVM's graph executor" },
};

#define VERBS	(sizeof(verbs) / sizeof(*verbs))

static const char help_head[] =
	"Usage: vtac VERB [OPTION]... [ARGUMENT]...\n"
	"  or:  vtac VERB --help\n"
	"  or:  vtac --help | --version\n"
	"\n"
	"Compile trained networks (ONNX) into programs for VTA accelerator cards.\n"
	"\n"
	"Verbs:\n";

static const char help_tail[] =
	"\n"
	"Exit status:\n"
	"  0  done\n"
	"  1  an error of a file or memory\n"
	"  2  wrong usage\n"
	"  3  no card, or it cannot be opened\n"
	"  4  the model cannot be compiled: the message names the node and says why\n";

static int help(void)
{
	fputs(help_head, stdout);
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-8s  %s\n", verbs[i].name, verbs[i].what);
	return fputs(help_tail, stdout) < 0 ? CMD_ERROR : CMD_OK;
}

/* All there is to say, for the manual page. */
static int help_all(void)
{
	help();
	for (size_t i = 0; i < VERBS; i++) {
		char name[16], option[] = "--help";

		snprintf(name, sizeof(name), "%s", verbs[i].name);
		printf("\nvtac %s:\n", verbs[i].name);
		verbs[i].main(2, (char *[]){ name, option, NULL });
	}
	return CMD_OK;
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return cmd_usage("name a verb", "");
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return help();
	if (!strcmp(name, "--help-all"))
		return help_all();
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return printf("vtac %s\n", vtadev_version()) < 0 ? CMD_ERROR : CMD_OK;
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(name, verbs[i].name))
			return verbs[i].main(argc - 1, argv + 1);
	return cmd_usage(*name == '-' ? "no such option: " : "no such verb: ", name);
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv);

	if (fflush(stdout) || ferror(stdout))
		return cmd_fail(CMD_ERROR, "output", strerror(errno));
	return ret;
}
