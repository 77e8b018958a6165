/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_inject.h - errors on the way to the card under test, reported by the port above it
 */
#ifndef VTA_INJECT_H
#define VTA_INJECT_H

#include <stdint.h>

/*
 * By the kernel's aer_inject: bits of the registers Uncorrectable and Correctable Error
 * Status. 0, or a negative errno.
 */
int bus_error(uint32_t uncorrectable, uint32_t correctable);

/* The part of the kernel that is missing for that, or NULL. */
const char *bus_error_needs(void);

#endif /* VTA_INJECT_H */
