// SPDX-License-Identifier: GPL-2.0-only
/*
 * KCOV (Documentation/dev-tools/kcov.rst): the first word of the area counts the
 * addresses that follow. Only the module under test is built to report them.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define WORDS	(64u << 10)

bool kcov_open(struct kcov *kcov)
{
	kcov->area = NULL;
	kcov->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov->fd < 0)
		return false;
	if (!ioctl(kcov->fd, KCOV_INIT_TRACE, (unsigned long)WORDS))
		kcov->area = mmap(NULL, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
				  MAP_SHARED, kcov->fd, 0);
	if (kcov->area && kcov->area != MAP_FAILED)
		return true;
	close(kcov->fd);
	kcov->area = NULL;
	return false;
}

void kcov_begin(struct kcov *kcov)
{
	if (!kcov->area)
		return;
	ioctl(kcov->fd, KCOV_ENABLE, (unsigned long)KCOV_TRACE_PC);
	__atomic_store_n(&kcov->area[0], 0, __ATOMIC_RELAXED);
}

void kcov_end(struct kcov *kcov)
{
	if (kcov->area)
		ioctl(kcov->fd, KCOV_DISABLE, 0ul);
}
