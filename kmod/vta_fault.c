// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fault.c - words for the codes of faults
 */
#include <linux/kernel.h>

#include "vta_faults.h"
#include "vta_queue.h"

#define VTA_FAULT_WORD(_NAME, _word, _text) \
	[VTA_FAULT_##_NAME] = { _word, _text },
#define VTA_DRIVER_FAULT_WORD(_NAME, _word, _text) \
	[VTA_FAULT_##_NAME - VTA_FAULT_CARD] = { _word, _text },
#define VTA_ACCESS_WORD(_NAME, _word, _text) \
	[VTA_ACCESS_##_NAME] = { _word, _text },

const struct vta_fault_word *vta_fault_reason(u32 reason)
{
	static const struct vta_fault_word card[] = { VTA_CARD_FAULTS(VTA_FAULT_WORD) };
	static const struct vta_fault_word driver[] = { VTA_DRIVER_FAULTS(VTA_DRIVER_FAULT_WORD) };

	if (reason < ARRAY_SIZE(card))
		return &card[reason];
	reason -= VTA_FAULT_CARD;
	return &driver[reason < ARRAY_SIZE(driver) ? reason : 0];
}

const struct vta_fault_word *vta_fault_access(u32 access)
{
	static const struct vta_fault_word accesses[] = { VTA_ACCESSES(VTA_ACCESS_WORD) };

	return &accesses[access];
}
