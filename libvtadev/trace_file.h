/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file.h - what is kept of a run, and its file for trace viewers
 */
#ifndef VTADEV_TRACE_FILE_H
#define VTADEV_TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vtadev.h"

#define TRACE_CHUNK	256

/* A descriptor, as the program submitted it. */
struct trace_event {
	struct vta_desc desc;
	uint64_t seq;
	bool completed;
	bool stamped;		/* the next three are known */
	uint64_t start, end;	/* card time, ns */
	uint64_t cycles;
};

struct trace_chunk {
	struct trace_chunk *next;
	unsigned int used;
	struct trace_event events[TRACE_CHUNK];
};

/* All that is known of one queue; it outlives the queue. */
struct trace_track {
	struct trace_track *next;
	pid_t pid;			/* of the process it belongs to */
	unsigned int number;		/* among this process's queues, from 0 */
	uint32_t handle;
	uint32_t clock_khz;
	struct vtadev_card card;
	struct trace_chunk *first, *last;
	uint64_t dropped;		/* descriptors and faults without room */
	struct vtadev_fault *faults;	/* each time it halted */
	unsigned int nr_faults;
	/* CLOCK_MONOTONIC less card time lies between these; INT64_MIN, _MAX. */
	int64_t offset_min, offset_max;
};

/*
 * Write the tracks of process @pid to @path, whatever was there. @untraced:
 * queues that could not be traced. Returns 0 or a negative errno.
 */
int trace_write(const char *path, pid_t pid, const struct trace_track *tracks,
		unsigned int untraced);

#endif /* VTADEV_TRACE_FILE_H */
