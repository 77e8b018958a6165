/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver_counters.h - counters of the process's card
 *
 * An extension of vta/driver.h by libvta_driver.
 */
#ifndef VTA_DRIVER_COUNTERS_H
#define VTA_DRIVER_COUNTERS_H

#include <vtadev.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * VTACounters() - read the debug counters of the process's card
 * @counters: out: all of them, as vtadev_counters() reads them
 *
 * A card counts for all its users together. A device in the process, such as
 * "soft", counts from its opening by the first call of vta/driver.h, and starts at 0 again after
 * the last handle and the last memory have been freed. Any thread may call this.
 *
 * Returns 0; -ECANCELED if the card cannot be opened, with the reason on stderr; or an
 * error of vtadev_counters().
 */
int VTACounters(struct vtadev_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_COUNTERS_H */
