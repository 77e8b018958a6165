/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * merge.h - one trace of what programs and the kernel recorded
 */
#ifndef VTACTL_MERGE_H
#define VTACTL_MERGE_H

#include <json-c/json.h>
#include <stdint.h>

/*
 * @kernel: events at CLOCK_MONOTONIC; taken over. @lost: as many of them are
 * missing. @dir: where the programs' files are. Returns an object to be put.
 */
struct json_object *merge(struct json_object *kernel, uint64_t lost, const char *dir);

#endif /* VTACTL_MERGE_H */
