// SPDX-License-Identifier: Apache-2.0
/*
 * lost.c - why an open card was lost, as a record and as a sentence
 */
#include <errno.h>
#include <stdio.h>

#include "dev.h"

/* Drivers with an older interface return ENODEV for this call, too. */
#define ABI_LOST	3

int vtadev_lost(struct vtadev *dev, struct vtadev_lost *lost)
{
	struct vta_lost req = { 0 };
	int err;

	if (dev->abi < ABI_LOST)
		return -EOPNOTSUPP;
	err = dev_ioctl(dev, VTA_IOCTL_LOST, &req);
	if (err)
		return err;
	*lost = (struct vtadev_lost){
		.fate = (enum vta_fate)req.fate,
		.cause = (enum vta_cause)req.cause,
	};
	return 0;
}

static const char *cause_text(enum vta_cause cause)
{
	switch (cause) {
	case VTA_CAUSE_NONE:
		break;
	case VTA_CAUSE_CARD:
		return "the card failed (the kernel log says how)";
	case VTA_CAUSE_ADMIN:
		return "an administrator asked for a reset of the card";
	case VTA_CAUSE_FUNCTION:
		return "the card's PCI function was reset, but not by its driver";
	case VTA_CAUSE_BUS:
		return "an error occurred on the card's bus";
	case VTA_CAUSE_SLEEP:
		return "the card failed when the machine went to sleep";
	case VTA_CAUSE_WAKE:
		return "the card did not wake up";
	case VTA_CAUSE_UNBOUND:
		return "the driver was unbound from the card";
	case VTA_CAUSE_UNPLUGGED:
		return "the card was pulled out, or lost power";
	case VTA_CAUSE_SHUTDOWN:
		return "the machine is shutting down";
	}
	return "the card was lost for a reason that this library does not know";
}

/* The state of the card, and what to do. */
static const char *fate_text(enum vta_fate fate)
{
	switch (fate) {
	case VTA_FATE_NONE:
	case VTA_FATE_PENDING:
		break;
	case VTA_FATE_RESET:
		return "it was reset: close it and open it again";
	case VTA_FATE_GIVEN_UP:
		return "it was given up: close it; vtactl reset, or power off and on, may help";
	case VTA_FATE_REMOVED:
		return "it was removed: close it, and open it when it is back";
	}
	return "it may come back: close it, and try again later to open it";
}

int vtadev_lost_text(const struct vtadev_lost *lost, char *text, size_t size)
{
	if (lost->fate == VTA_FATE_NONE)
		return snprintf(text, size, "the card was not lost");
	return snprintf(text, size, "%s; %s", cause_text(lost->cause), fate_text(lost->fate));
}
