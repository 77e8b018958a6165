/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracefs.h - the driver's tracepoints, recorded by an instance of our own
 */
#ifndef VTACTL_TRACEFS_H
#define VTACTL_TRACEFS_H

#include <json-c/json.h>
#include <stdint.h>

/*
 * Start to record. 0 or a negative errno; then *what says what could not be
 * done.
 */
int tracefs_start(const char **what);

/*
 * Stop, and add what was recorded to @events, as events of the Trace Event
 * Format whose "ts" is CLOCK_MONOTONIC in microseconds. Adds to *lost how many
 * the kernel had no room for, or that were not understood.
 */
void tracefs_stop(struct json_object *events, uint64_t *lost);

/*
 * One line of the kernel's text as an event; NULL if it is none of the driver's.
 * For waits: name and "ph" of B or E.
 */
struct json_object *tracefs_parse(char *line);

#endif /* VTACTL_TRACEFS_H */
