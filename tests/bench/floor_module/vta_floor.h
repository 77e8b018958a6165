/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * vta_floor.h - what to ask of /dev/vta_floor
 */
#ifndef VTA_FLOOR_H
#define VTA_FLOOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VTA_FLOOR_LAUNCHES	64

/* The descriptor and the wait. */
#define VTA_FLOOR_SLEEP		0x1u	/* until the interrupt; else spin */
#define VTA_FLOOR_JOB		0x2u	/* RUN of @insns; else a NOP */

#define VTA_FLOOR_INSNS		2

/**
 * struct vta_floor_run - launch and wait, some times (VTA_FLOOR_IOCTL_RUN)
 * @launches: how often, 1 to VTA_FLOOR_LAUNCHES
 * @flags: VTA_FLOOR_*
 * @insns: an instruction stream
 * @ns: out: what each took, in ns
 * @slept: out: how often the caller gave up the processor for it
 * @job_ns: out: from the start to the end of the descriptor, by its stamp
 */
struct vta_floor_run {
	__u32 launches;
	__u32 flags;
	__u64 insns[2 * VTA_FLOOR_INSNS];
	__u64 ns[VTA_FLOOR_LAUNCHES];
	__u64 slept[VTA_FLOOR_LAUNCHES];
	__u64 job_ns[VTA_FLOOR_LAUNCHES];
};

#define VTA_FLOOR_IOCTL_RUN	_IOWR(0xe8, 0x00, struct vta_floor_run)

/*
 * Launch the last run's descriptor once, and sleep until the interrupt. Returns its time in ns by
 * its stamp.
 */
#define VTA_FLOOR_IOCTL_LAUNCH	_IO(0xe8, 0x01)

#endif /* VTA_FLOOR_H */
