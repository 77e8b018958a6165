/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver_async.h - runs that the program does not wait for
 *
 * An extension of vta/driver.h by libvta_driver. A handle is synchronous until
 * VTADeviceSetAsync() makes it asynchronous; nothing changes for programs that do not call this
 * function.
 *
 * An asynchronous VTADeviceRun() hands the stream to the card and returns 0.
 * Streams of one handle run in the order of the calls, one after the other. The
 * stream and what it uses must stay as they are until VTADeviceSync().
 *
 * A stream that fails, or takes more than its cycles, ends the sequence: those
 * after it, up to the next VTADeviceSync(), are not run. That call tells, once.
 *
 * Copies and frees of memory (VTAMemCopyFromHost(), VTAMemCopyToHost(),
 * VTAMemFree()) wait for all that any handle was given before, so that programs
 * which use them alone need no other synchronisation. The CPU's own accesses
 * through the pointers do not wait: they belong after VTADeviceSync().
 */
#ifndef VTA_DRIVER_ASYNC_H
#define VTA_DRIVER_ASYNC_H

#include "driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Make VTADeviceRun() asynchronous (@async not 0), or synchronous again.
 * Synchronises in both cases, and returns what VTADeviceSync() would.
 */
int VTADeviceSetAsync(VTADeviceHandle handle, int async);

/*
 * Wait for all streams that @handle was given. Returns 0 if all are done since
 * the last call, else what VTADeviceRun() would have returned for the first that
 * is not.
 */
int VTADeviceSync(VTADeviceHandle handle);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_ASYNC_H */
