/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracefs.h - record the driver's tracepoints, and merge them with the records of programs
 */
#ifndef VTACTL_TRACEFS_H
#define VTACTL_TRACEFS_H

#include <json-c/json.h>
#include <stdint.h>

/* Starts to record, in an instance of its own; 0, or a negative errno and in *what the step. */
int tracefs_start(const char **what);

/*
 * Stops, and adds the record to @events, as events of the Trace Event Format whose "ts" is
 * CLOCK_MONOTONIC in microseconds. Adds to *lost the events that did not fit into the kernel's
 * buffer or were not understood.
 */
void tracefs_stop(struct json_object *events, uint64_t *lost);

/*
 * Parses a line of the kernel's text; NULL if it is no event of the driver. Waits have a "ph" of B
 * or E.
 */
struct json_object *tracefs_parse(char *line);

/*
 * Makes one trace of @kernel, which it takes over, and of the files of programs in @dir. @kernel
 * lacks @lost events. Returns an object to be put.
 */
struct json_object *merge(struct json_object *kernel, uint64_t lost, const char *dir);

#endif /* VTACTL_TRACEFS_H */
