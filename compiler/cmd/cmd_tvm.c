// SPDX-License-Identifier: Apache-2.0
/* vtac tvm: what TVM's graph executor leaves, as C. */
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

int tvm_main(int argc, char **argv)
{
	const char *name = "model", *output = NULL;
	const struct cli_option options[] = {
		{ CLI_TEXT("output", &output) }, { CLI_TEXT("name", &name) }, { 0 },
	};
	struct vtac_error error = { "", false };
	struct vtac_tvm_files files;
	int ret = cli_options(help, options, CLI_ANY, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (!output)
		return cli_usage("name a directory: --output=DIRECTORY");
	if (argc < 2)
		return cli_usage("name a graph and its parameters");
	files = (struct vtac_tvm_files){
		.graph = argv[0], .params = argv[1],
		.sources = (const char *const *)argv + 2, .n_sources = (unsigned int)argc - 2,
	};
	return vtac_emit_tvm(&files, name, output, &error) ?
		cmd_fail(CMD_MODEL, NULL, error.text) : CMD_OK;
}
