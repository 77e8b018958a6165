// SPDX-License-Identifier: GPL-2.0-only
/*
 * odd.c - plugins that are not to be loaded: of another version, with another symbol
 */
#include "vtadev_device.h"

#ifdef ODD_VERSION
const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION + 1,
	.name = "newer",
};
#else
extern const int something_else;
const int something_else = 1;
#endif
