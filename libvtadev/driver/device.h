/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - handles
 */
#ifndef DRIVER_DEVICE_H
#define DRIVER_DEVICE_H

/* Wait for all that asynchronous handles were given; their errors stay. */
void devices_drain(void);

#endif /* DRIVER_DEVICE_H */
