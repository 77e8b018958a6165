// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vta_selftest.h"
#include "vta_kinds.h"

bool child_holds(bool good, const char *what, const char *file, int line)
{
	if (!good) {
		printf("# %s:%d: does not hold: %s\n", file, line, what);
		fflush(stdout);
	}
	return good;
}

int buf_pin(int fd, void *ptr, uint64_t size, uint32_t flags, struct vta_buf_pin *req)
{
	*req = (struct vta_buf_pin) {
		.user_addr = (uintptr_t)ptr, .size = size, .flags = flags,
	};
	return card_ioctl(fd, VTA_IOCTL_BUF_PIN, req);
}

int buf_export(int fd, uint32_t handle, uint32_t flags)
{
	struct vta_buf_export req = { .handle = handle, .flags = flags, .fd = -1 };
	int err = card_ioctl(fd, VTA_IOCTL_BUF_EXPORT, &req);

	return err ? err : req.fd;
}

int buf_import(int fd, int dmabuf, uint32_t flags, struct vta_buf_import *req)
{
	*req = (struct vta_buf_import) { .fd = dmabuf, .flags = flags };
	return card_ioctl(fd, VTA_IOCTL_BUF_IMPORT, req);
}

int buf_release(int fd, uint32_t handle)
{
	struct vta_buf_free req = { .handle = handle };

	return card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req);
}

/* The number after "NAME:" in a file. */
static uint64_t number_in(const char *path, const char *name)
{
	size_t len = strlen(name);
	FILE *file = fopen(path, "re");
	uint64_t number = UINT64_MAX;
	char line[256];

	if (!file)
		return number;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ':')
			number = strtoull(line + len + 1, NULL, 10);
	fclose(file);
	return number;
}

uint64_t ctx_number(int fd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return number_in(path, name);
}

uint64_t proc_number(const char *file, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/%s", file);
	return number_in(path, name);
}

int become(unsigned int uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid) ||
	    prctl(PR_SET_DUMPABLE, 1))	/* or /proc/self would be root's */
		return -errno;
	return 0;
}

union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

int fd_send(int sock, int fd)
{
	union fd_message control = {};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int fd_receive(int sock)
{
	union fd_message control = {};
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	if (control.header.cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}
