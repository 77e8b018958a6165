// SPDX-License-Identifier: Apache-2.0
/* vtac tvm: what TVM's graph executor leaves, as C. */
#include <getopt.h>
#include <stdio.h>

#include "cmd.h"
#include "emit/emit.h"

static const char help[] =
	"Usage: vtac tvm [OPTION]... -o DIRECTORY GRAPH.json PARAMS FUNCTIONS.c...\n"
	"\n"
	"Write C that runs a graph of TVM's graph executor. The arguments are the graph's JSON\n"
	"file, the parameters that relay.save_param_dict() wrote, and the functions' sources.\n"
	"\n"
	"  -o, --output=DIRECTORY  write to DIRECTORY\n"
	"  -n, --name=NAME         prefix of the functions' names (model)\n"
	"  -h, --help              print this text\n";

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "name", required_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int tvm_main(int argc, char **argv)
{
	const char *name = "model", *output = NULL;
	struct vtac_error error = { "", false };
	struct vtac_tvm_files files;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:n:h", options, NULL)) >= 0) {
		switch (option) {
		case 'h':
			return fputs(help, stdout) < 0 ? CMD_ERROR : CMD_OK;
		case 'o':
			output = optarg;
			break;
		case 'n':
			name = optarg;
			break;
		default:
			return cmd_usage("wrong option: ", argv[optind - 1]);
		}
	}
	if (!output)
		return cmd_usage("name a directory: --output=DIRECTORY", "");
	if (argc - optind < 2)
		return cmd_usage("name a graph and its parameters", "");
	files = (struct vtac_tvm_files){
		.graph = argv[optind], .params = argv[optind + 1],
		.sources = (const char *const *)argv + optind + 2,
		.n_sources = (unsigned int)(argc - optind - 2),
	};
	return vtac_emit_tvm(&files, name, output, &error) ?
		cmd_fail(CMD_MODEL, NULL, error.text) : CMD_OK;
}
