/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - handles
 */
#ifndef DRIVER_DEVICE_H
#define DRIVER_DEVICE_H

/* Wait for all that asynchronous handles were given; their errors stay. */
void devices_drain(void);

/*
 * A copy was not made: the next run of each handle fails, and does not compute with
 * what is there instead. If there is no handle, that of the next one does.
 */
void devices_copy_failed(void);

#endif /* DRIVER_DEVICE_H */
