// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vta_emu.h"

#define PORT	"/dev/virtio-ports/vta-emu0"

int emu_tell(const char *request)
{
	char reply[4096];
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(PORT, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dprintf(fd, "%s\n", request);
	do {
		n = read(fd, reply + len, sizeof(reply) - 1 - len);
		if (n <= 0) {
			close(fd);
			return -EIO;
		}
		len += n;
		reply[len] = '\0';
	} while (!strchr(reply, '\n') && len < sizeof(reply) - 1);
	close(fd);
	return strstr(reply, "\"ok\":true") || strstr(reply, "\"ok\": true") ? 0 : -EPROTO;
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
