/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verbs of the control socket: one line in, one JSON object out.
 */
#ifndef VTA_EMU_CTL_VERBS_H
#define VTA_EMU_CTL_VERBS_H

#include <json-c/json.h>

#include "model/card.h"
#include "vfu/vfu.h"

struct ctl_target {
	struct card *card;
	struct pci_cfg *pci;
	struct vfu *srv;
};

/* @line is modified. Never NULL but when memory is short; the caller's to put. */
struct json_object *ctl_answer(const struct ctl_target *target, char *line);
struct json_object *ctl_error(const char *text);

#endif
