// SPDX-License-Identifier: Apache-2.0
/*
 * counters.c - the call of vta/driver_counters.h
 */
#include "space.h"
#include "vta/driver_counters.h"

int VTACounters(struct vtadev_counters *counters)
{
	unsigned int generation;
	int err = space_hold();

	if (err)
		return err;
	err = vtadev_counters(space_enter(&generation), counters);
	space_leave();
	space_drop();
	return err;
}
