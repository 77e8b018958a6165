/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the core of a device, by its arguments
 */
#ifndef VTA_DEVICES_CONFIG_H
#define VTA_DEVICES_CONFIG_H

#include <stddef.h>

#include "core/core.h"
#include "vta.h"

/*
 * The core of the file @path, a vta_config.json, with the depths of its queues if it has them; "":
 * TVM's default. Fills in what
 * the core decides of a device's @info, and its clock. 0, or -EINVAL and a sentence in @why.
 */
int config_open(const char *path, struct core_config *config, struct vta_info *info, char *why,
		size_t why_size);

/*
 * The number CORES of a file that config_open() has taken, 1 to @most; *@cores stays if there is
 * none. 0, or -EINVAL and a sentence in @why.
 */
int config_cores(const char *path, unsigned int most, uint16_t *cores, char *why, size_t why_size);

#endif /* VTA_DEVICES_CONFIG_H */
