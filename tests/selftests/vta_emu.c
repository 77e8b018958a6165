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

/* The number that follows @key, after @group, in the answer; UINT64_MAX if it is not there. */
static uint64_t emu_number(const char *request, const char *group, const char *key)
{
	char reply[4096], quoted[64];
	const char *at;

	if (emu_ask(request, reply, sizeof(reply)))
		return UINT64_MAX;
	snprintf(quoted, sizeof(quoted), "\"%s\":", group);
	at = strstr(reply, quoted);
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtoull(at + strlen(quoted), NULL, 10) : UINT64_MAX;
}

uint64_t emu_counter(const char *name)
{
	return emu_number("counters", name, name);
}

uint64_t emu_injected(const char *kind)
{
	return emu_number("injected", kind, "count");
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
