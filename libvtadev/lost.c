// SPDX-License-Identifier: Apache-2.0
/*
 * lost.c - the reason why an open card was lost, as a record and as a sentence
 */
#include <errno.h>
#include <stdio.h>

#include "dev.h"
#include "vta_faults.h"

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

#define FATE(name, word, text) \
	[VTA_FATE_##name] = (text),
static const char *const fates[] = { VTA_FATES(FATE) };

#define CAUSE(name, word, text) \
	[VTA_CAUSE_##name] = (text),
static const char *const causes[] = { VTA_CAUSES(CAUSE) };

int vtadev_lost_text(const struct vtadev_lost *lost, char *text, size_t size)
{
	const char *cause = "the card was lost for a reason that this library does not know";
	const char *fate = fates[VTA_FATE_PENDING];

	if (lost->fate == VTA_FATE_NONE)
		return snprintf(text, size, "the card was not lost");
	if (lost->cause != VTA_CAUSE_NONE && lost->cause < sizeof(causes) / sizeof(*causes))
		cause = causes[lost->cause];
	if (lost->fate < sizeof(fates) / sizeof(*fates))
		fate = fates[lost->fate];
	return snprintf(text, size, "%s; %s", cause, fate);
}
