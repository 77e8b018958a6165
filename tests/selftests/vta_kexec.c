// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_kexec - start another kernel, or the machine anew, while the card works
 *
 *	vta_kexec KERNEL INITRD COMMAND-LINE
 *	vta_kexec
 *
 * Part of vta_kexec.sh, and of vta_reboot.sh. Does not return, if all is well; the
 * command line also gets vta_resets=N, what the card counted. The machine is rebooted while a
 * process holds its context of the card, and does not get a processor.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/reboot.h>

#include "vta_emu.h"
#include "vta_starving.h"

/* 32-bit programs have no such call, and get an error. */
#ifndef SYS_kexec_file_load
#define SYS_kexec_file_load	(-1)
#endif

#define COPIES	60

static int fail(const char *what, int err)
{
	printf("# %s: %s\n", what, strerror(-err));
	return 1;
}

/* A minute of copies from host memory to host memory. */
static int keep_busy(struct queue *q, struct mem *mem)
{
	int fd = card_open();
	int err = fd < 0 ? fd : queue_open(fd, q, NULL);

	err = err ? err : mem_alloc(fd, mem, 2 << 20, VTA_BUF_HOST, 0);
	if (err)
		return err;
	for (unsigned int i = 0; i < COPIES; i++)
		queue_put(q, desc_copy2d(mem->addr, 0, mem->addr + (1 << 20), 0, 1 << 20, 4095));
	return 0;
}

static int load_kernel(char **argv)
{
	int kernel = open(argv[1], O_RDONLY | O_CLOEXEC);
	int initrd = open(argv[2], O_RDONLY | O_CLOEXEC);
	char line[4096];
	int len;

	if (kernel < 0 || initrd < 0)
		return -errno;
	len = snprintf(line, sizeof(line), "%s vta_resets=%" PRIu64, argv[3],
		       card_counter("resets"));
	return syscall(SYS_kexec_file_load, kernel, initrd, (unsigned long)len + 1, line, 0UL) ?
	       -errno : 0;
}

/* Has a process starve, and this one go before the process that has processor 0. */
static int starve_a_process(void)
{
	const struct sched_param high = { .sched_priority = 2 };
	struct starving *s = starving_new();
	int err = emu_inject("stop-never");

	if (err || !s)
		return err ? err : -EPERM;
	if (!starving_start(s, INT_MAX))
		return -ETIME;
	return sched_setscheduler(0, SCHED_FIFO, &high) ? -errno : 0;
}

int main(int argc, char **argv)
{
	const bool reboot = argc == 1;
	uint64_t written;
	struct queue q;
	struct mem mem;
	int err;

	setbuf(stdout, NULL);
	if (!reboot && argc != 4)
		return fail("arguments", -EINVAL);
	err = reboot ? 0 : load_kernel(argv);
	if (err)
		return fail("the other kernel", err);
	err = keep_busy(&q, &mem);
	if (err)
		return fail("the card", err);
	written = card_counter("dma_write_bytes");
	if (card_counter_reaches("dma_write_bytes", written + 4096) < written + 4096)
		return fail("the card does not work", -EIO);
	sync();
	err = reboot ? starve_a_process() : 0;
	if (err)
		return fail("a process without a processor", err);
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		reboot ? LINUX_REBOOT_CMD_RESTART : LINUX_REBOOT_CMD_KEXEC, 0);
	return fail("the kernel's end", -errno);
}
