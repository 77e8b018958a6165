/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.h - devices other than the kernel's, by their names
 */
#ifndef VTADEV_PLUGIN_H
#define VTADEV_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "vtadev_device.h"

/*
 * Whether @which names a device of a plugin: NAME or NAME:ARGUMENTS, where NAME has a
 * plugin or is one of those that packages of this project have.
 */
bool plugin_is_name(const char *which);

/*
 * The plugin that @which names, loaded once and for good, and what stands behind the
 * colon. Returns 0, -EINVAL (it names none), -ELIBACC (its file is not there) or
 * -ELIBBAD (it cannot be loaded, or is of another version), with a sentence in @why.
 */
int plugin_load(const char *which, const struct vtadev_device_ops **ops, const char **args,
		char *why, size_t size);

/* Calls @each with the name of each plugin that is there, as long as it returns 0. */
int plugin_each(int (*each)(const char *name, void *priv), void *priv);

#endif /* VTADEV_PLUGIN_H */
