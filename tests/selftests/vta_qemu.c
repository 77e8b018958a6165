// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vta_qemu.h"

#define PORT	"/dev/virtio-ports/vm-monitor"

bool qemu_is_there(void)
{
	return !access(PORT, R_OK | W_OK);
}

/* The answer to the command with that number; greeting and events are passed over. */
static int answer(FILE *monitor, unsigned int number)
{
	char line[4096];

	while (fgets(line, sizeof(line), monitor)) {
		const char *id = strstr(line, "\"id\": ");

		if (!id || strtoul(id + 6, NULL, 10) != number)
			continue;
		return strstr(line, "\"return\": ") ? 0 : -EPROTO;
	}
	return -EIO;
}

static int order(FILE *monitor, const char *command, const char *arguments)
{
	static unsigned int number;

	fprintf(monitor, "{ \"execute\": \"%s\", \"arguments\": %s, \"id\": %u }\n", command,
		arguments, ++number);
	fflush(monitor);
	return answer(monitor, number);
}

int qemu_tell(const char *command, const char *arguments)
{
	int fd = open(PORT, O_RDWR | O_CLOEXEC);
	FILE *monitor;
	int err;

	if (fd < 0)
		return -errno;
	monitor = fdopen(fd, "r+");
	if (!monitor) {
		close(fd);
		return -ENOMEM;
	}
	/* A request before that, by any process, is refused. */
	order(monitor, "qmp_capabilities", "{}");
	err = order(monitor, command, arguments);
	fclose(monitor);
	return err;
}
