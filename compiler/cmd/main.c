// SPDX-License-Identifier: Apache-2.0
/* vtac - compile trained networks for VTA cards. A verb is a file. */
#include <malloc.h>

#include "cmd.h"
#include "vtadev.h"

static const struct cli_verb verbs[] = {
	{ "compile",	compile_main,	"compile a model into a program" },
	{ "report",	report_main,	"print what the compiler wrote into a program" },
	{ "passes",	passes_main,	"list the compiler's passes" },
	{ "tvm",	tvm_main,	"write C for a graph of TVM's graph executor" },
	{ 0 },
};

static const char help[] =
	"Usage: vtac VERB [OPTION]... [ARGUMENT]...\n"
	"  or:  vtac VERB --help\n"
	"  or:  vtac --help | --version\n"
	"\n"
	"Compile trained networks (ONNX) into programs for VTA accelerator cards.\n"
	"\n"
	"Verbs:\n";

static const char exit_status[] =
	"\n"
	"Exit status:\n"
	"  0  done\n"
	"  1  an error of a file or memory\n"
	"  2  wrong usage\n"
	"  3  no card, or it cannot be opened\n"
	"  4  the model cannot be compiled: the message names the node and says why\n";

int main(int argc, char **argv)
{
	const struct cli_program program = {
		.name = "vtac", .version = vtadev_version(), .help = help,
		.exit_status = exit_status, .verbs = verbs,
	};

	/*
	 * Calibration allocates and frees the same tensors for each image: keep their memory, as
	 * the kernel clears each page that it gives.
	 */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	return cli_main(&program, argc, argv);
}
