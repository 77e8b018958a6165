// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of TVM's graph executor: the graph as JSON, a zero, the parameters. A file that both
 * readers take becomes C, or there is a reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emit/tvm.h"

/* Files are written to a directory of this process. */
static char *directory;

static void forget_directory(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		perror(directory);
}

static void make_directory(void)
{
	if (directory)
		return;
	directory = strdup("/tmp/fuzz-tvm-XXXXXX");
	if (!directory || !mkdtemp(directory))
		abort();
	atexit(forget_directory);
}

static int file_of(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("tvm", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void emit(const uint8_t *graph, size_t graph_size, const uint8_t *params,
		 size_t params_size)
{
	struct vtac_error error = { "", false };
	char paths[2][32];
	struct vtac_tvm_files files = { .graph = paths[0], .params = paths[1] };
	int fds[2] = { file_of(graph, graph_size, paths[0]),
		       file_of(params, params_size, paths[1]) };

	if (vtac_emit_tvm(&files, "fuzz", directory, &error) && !error.text[0])
		abort();
	close(fds[0]);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL, *params;
	struct vtac_error error = { "", false };
	struct tvm_params p;
	struct tvm_graph g;
	size_t graph_size, params_size;
	int bad;

	make_directory();
	graph_size = end ? (size_t)(end - data) : size;
	params = data + graph_size + (end ? 1 : 0);
	params_size = size - graph_size - (end ? 1 : 0);
	bad = tvm_graph_read(&g, (const char *)data, graph_size, &error);
	if (bad && !error.text[0])
		abort();
	error.text[0] = '\0';
	if (tvm_params_read(&p, params, params_size, &error)) {
		if (!error.text[0])
			abort();
		bad = 1;
	}
	tvm_graph_free(&g);
	tvm_params_free(&p);
	if (!bad)
		emit(data, graph_size, params, params_size);
	return 0;
}
