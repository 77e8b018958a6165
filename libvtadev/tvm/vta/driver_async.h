/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta/driver_async.h - asynchronous runs
 *
 * An extension of vta/driver.h by libvta_driver. A handle is synchronous until
 * VTADeviceSetAsync() makes it asynchronous; nothing changes for programs that do not call this
 * function.
 *
 * An asynchronous VTADeviceRun() submits the stream to the card and returns 0.
 * Streams of one handle run in the order of the calls, one after the other. The
 * program must not change a stream and its data until VTADeviceSync().
 *
 * After a stream that failed or reached its cycle limit, the later streams up to the next
 * VTADeviceSync() are not executed. That call returns the error, once.
 *
 * Copies and frees of memory (VTAMemCopyFromHost(), VTAMemCopyToHost(),
 * VTAMemFree()) wait for all streams that were submitted before, of all handles: programs that
 * access memory only with these calls need no other synchronisation. The CPU's own accesses
 * through pointers do not wait: call VTADeviceSync() before them.
 *
 * THREADS. As vta/driver.h.
 */
#ifndef VTA_DRIVER_ASYNC_H
#define VTA_DRIVER_ASYNC_H

#include "driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Make VTADeviceRun() of @handle asynchronous (@async not 0), or synchronous again (0).
 * Synchronises first in both cases, and returns as VTADeviceSync().
 */
int VTADeviceSetAsync(VTADeviceHandle handle, int async);

/*
 * Wait for all streams that were submitted with @handle. Returns 0 if all since
 * the last call are done, else the result of the first stream that failed, as VTADeviceRun()
 * returns it: 1 or 2.
 */
int VTADeviceSync(VTADeviceHandle handle);

#ifdef __cplusplus
}
#endif

#endif /* VTA_DRIVER_ASYNC_H */
