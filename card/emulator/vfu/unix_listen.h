/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unix sockets to listen on
 */
#ifndef VTA_EMU_UNIX_LISTEN_H
#define VTA_EMU_UNIX_LISTEN_H

/*
 * A non-blocking unix stream socket (mode 0600) that listens at @path. A socket there without a
 * listener is replaced, anything else is not. Returns the descriptor, -ENAMETOOLONG, -EADDRINUSE,
 * or another negative errno.
 */
int unix_listen(const char *path, int backlog);

#endif
