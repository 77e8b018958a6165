// SPDX-License-Identifier: Apache-2.0
/* vtac report: what the compiler wrote into a program about itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"

static const char help[] =
	"Usage: vtac report [OPTION]... PROGRAM.vtap\n"
	"\n"
	"Print the compiler's report, which the program contains: which nodes run on the card and\n"
	"which on the CPU, and why; cycles; memory; the accuracy if it was measured.\n"
	"\n"
	"  -j, --json             print JSON\n"
	"  -h, --help             print this text\n";

#define FILE_MAX	(UINT64_C(3) << 30)

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *data = NULL;
	struct stat st;

	if (!f)
		return NULL;
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
		errno = EINVAL;
	else
		data = malloc((size_t)st.st_size + 1);
	if (data)
		*size = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	return data;
}

static int print(const char *path, bool json)
{
	struct vtaimage_chars text;
	struct vtaimage image;
	size_t size = 0;
	void *data = read_file(path, &size);
	int ret = CMD_OK;

	if (!data)
		return cmd_fail(CMD_ERROR, path, strerror(errno));
	if (vtaimage_open(&image, data, size)) {
		ret = cmd_fail(CMD_ERROR, path, image.why);
	} else {
		text = image.text[json ? VTAIMAGE_REPORT_JSON : VTAIMAGE_REPORT];
		if (!text.text)
			ret = cmd_fail(CMD_ERROR, path, "no report in it: it was not made by vtac");
		else
			fwrite(text.text, 1, text.bytes, stdout);
	}
	free(data);
	return ret;
}

int report_main(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = { { CLI_FLAG("json", &json) }, { 0 } };
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	return argc ? print(argv[0], json) : cli_usage("name a program");
}
