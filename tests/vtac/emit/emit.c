// SPDX-License-Identifier: GPL-2.0-only
/*
 * emit.c - what vtac's command does with --emit c, for a program image that is there, and
 * with a graph of TVM's
 *
 *	emit FILE.vtap NAME DIR
 *	emit --tvm GRAPH.json PARAMS NAME DIR SOURCE...
 *
 * Exit status: 0, or 1 with a sentence on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"

static int give_up(const char *why)
{
	fprintf(stderr, "%s\n", why);
	return 1;
}

static int emit_image(char **argv)
{
	struct vtac_error error;
	struct vtaimage image;
	FILE *file = fopen(argv[1], "rbe");
	uint8_t *data;
	long size;
	int ret = 0;

	if (!file || fseek(file, 0, SEEK_END))
		return give_up(argv[1]);
	size = ftell(file);
	rewind(file);
	data = malloc((size_t)size);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size || fclose(file))
		return give_up(argv[1]);
	if (vtaimage_open(&image, data, (size_t)size))
		ret = give_up(image.why);
	else if (vtac_emit_c(&image, argv[2], argv[3], &error))
		ret = give_up(error.text);
	free(data);
	return ret;
}

int main(int argc, char **argv)
{
	struct vtac_error error;

	if (argc >= 6 && !strcmp(argv[1], "--tvm")) {
		const struct vtac_tvm_files files = {
			argv[2], argv[3], (const char *const *)argv + 6, (unsigned int)argc - 6 };

		return vtac_emit_tvm(&files, argv[4], argv[5], &error) ? give_up(error.text) : 0;
	}
	return argc == 4 ? emit_image(argv) : give_up("emit FILE.vtap NAME DIR");
}
