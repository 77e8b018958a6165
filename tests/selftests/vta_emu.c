// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vta_emu.h"

static unsigned int number;

void emu_choose(unsigned int card)
{
	number = card;
}

/* One request and its reply, a line. */
static int emu_ask(const char *request, char *reply, size_t size)
{
	char port[64];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(port, sizeof(port), "/dev/virtio-ports/vta-emu%u", number);
	fd = open(port, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dprintf(fd, "%s\n", request);
	do {
		n = read(fd, reply + len, size - 1 - len);
		if (n <= 0) {
			close(fd);
			return -EIO;
		}
		len += n;
		reply[len] = '\0';
	} while (!strchr(reply, '\n') && len < size - 1);
	close(fd);
	return strstr(reply, "\"ok\":true") || strstr(reply, "\"ok\": true") ? 0 : -EPROTO;
}

int emu_tell(const char *request)
{
	char reply[4096];

	return emu_ask(request, reply, sizeof(reply));
}

uint64_t emu_counter(const char *name)
{
	char reply[4096], key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	if (emu_ask("counters", reply, sizeof(reply)))
		return UINT64_MAX;
	at = strstr(reply, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : UINT64_MAX;
}

int emu_inject(const char *kind)
{
	char request[128];

	snprintf(request, sizeof(request), "inject %s", kind);
	return emu_tell(request);
}

int emu_clear(void)
{
	return emu_inject("clear");
}
