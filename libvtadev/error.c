// SPDX-License-Identifier: Apache-2.0
/*
 * error.c - what an errno means here, and what to do about it
 */
#include <errno.h>
#include <string.h>

#include "vtadev.h"

const char *vtadev_strerror(int err)
{
	/* The least int has no positive counterpart; as unsigned it has. */
	unsigned int code = err < 0 ? -(unsigned int)err : (unsigned int)err;

	switch (code) {
	case 0:
		return "success";
	case EINVAL:
		return "malformed request: a size, flag, address or number is not allowed";
	case ENOENT:
		return "no such card, device or queue; vtactl list --all shows cards and devices";
	case EACCES:
	case EPERM:
		return "no permission: to use the card, ask for membership of the group that owns "
		       "its node; read-only memory cannot be written";
	case EFAULT:
		return "no memory at that address, or memory that cannot be pinned";
	case EBADF:
		return "that is not an open file descriptor";
	case ENOMEM:
		return "the host has not enough memory, or the limit of locked memory is "
		       "reached (ulimit -l)";
	case ENOSPC:
		return "the card's memory, contexts, queues or device addresses are spent: "
		       "free some, or let other users finish";
	case EDQUOT:
		return "this user has as much of the card as one user may: free some, or ask "
		       "for more (parameters of the vta module)";
	case EEXIST:
		return "the chosen device address overlaps another buffer";
	case ERANGE:
		return "the access reaches beyond the end of the buffer";
	case EAGAIN:
		return "the ring has no room now: wait for a descriptor, then submit again";
	case ETIMEDOUT:
		return "the time-out passed; the work continues";
	case ECANCELED:
		return "the wait was cancelled; the work continues";
	case EINTR:
		return "a signal interrupted the call: call again";
	case EIO:
		return "the queue has halted: ask for its fault, then recover it";
	case EPROTO:
		return "the card reports inconsistent data: the card, its firmware or its slot is "
		       "broken";
	case EOPNOTSUPP:
		return "this host or card cannot do that";
	case ENODEV:
		return "the card was reset, given up or removed: close it and open it again; "
		       "vtactl status shows whether it works";
	case ENOTTY:
		return "this file is not a VTA card";
	case ELIBACC:
		return "the plugin of that device is not installed: it is in the package "
		       "libvtadev-NAME, soft's in libvtadev-soft";
	case ELIBBAD:
		return "the plugin of that device cannot be loaded: it is damaged, or of another "
		       "release than this library";
	case EBUSY:
		return "the queue has not halted: there is nothing to recover from";
	case ECHILD:
		return "the card was opened by the parent process, before fork(): open it in this "
		       "one";
	case EMFILE:
	case ENFILE:
		return "too many files are open";
	default:	/* of open(2) and the like */
		return strerror((int)code);
	}
}
