/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver_counters.h - the counters of the card that handles run on
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
 * A card of the kernel's counts for all its users together. A device in the process, such as
 * "soft", counts from the first call of vta/driver.h that opened it, and from 0 again once
 * the last handle and the last memory have been freed.
 *
 * Returns 0; -ECANCELED if the card cannot be opened, for which stderr has the reason; or an
 * error of vtadev_counters().
 */
int VTACounters(struct vtadev_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_COUNTERS_H */
