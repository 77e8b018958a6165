/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_kinds.h - pinned, exported and imported buffers; counts in /proc; child processes
 */
#ifndef VTA_KINDS_H
#define VTA_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta.h"

#define MIB		(1ull << 20)

/* For a child process: prints a condition that does not hold, and its place. */
#define HOLDS(what)	child_holds(what, #what, __FILE__, __LINE__)
/* The same; it ends the process, with 1. */
#define MUST(what)	do { if (!HOLDS(what)) _exit(1); } while (0)
bool child_holds(bool good, const char *what, const char *file, int line);

/* An unprivileged user without resources. */
#define NOBODY		65534

/* Buffers by their bare ioctls. */
int buf_pin(int fd, void *ptr, uint64_t size, uint32_t flags, struct vta_buf_pin *req);
int buf_export(int fd, uint32_t handle, uint32_t flags);
int buf_import(int fd, int dmabuf, uint32_t flags, struct vta_buf_import *req);
int buf_release(int fd, uint32_t handle);

/* A number of /proc/self/fdinfo; UINT64_MAX if it is not there. */
uint64_t ctx_number(int fd, const char *name);
/* A number of a file in /proc/self, often in kB. */
uint64_t proc_number(const char *file, const char *name);

/* Becomes @uid for good, without capabilities. */
int become(unsigned int uid);

/* Hands a descriptor to another process, and takes one. */
int fd_send(int sock, int fd);
int fd_receive(int sock);

#endif /* VTA_KINDS_H */
