/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: requests of one line, answered each by one line of JSON,
 * {"ok": true, ...} or {"ok": false, "error": "..."}. It lives in the server's
 * thread (vfu_run) and never stops an engine.
 */
#ifndef VTA_EMU_CTL_H
#define VTA_EMU_CTL_H

#include <json-c/json.h>

#include "model/card.h"
#include "vfu/vfu.h"

struct ctl;

/*
 * Binds and listens at @path (mode 0600; a stale socket is replaced) and adds
 * itself to @srv. 0 or a negative errno, -EADDRINUSE when another process listens there or when
 * the file there is no socket.
 */
int ctl_new(struct ctl **out, const char *path, struct vfu *srv, struct card *card,
	    struct pci_cfg *pci);
/* Before vfu_free(), not from within vfu_run(). */
void ctl_free(struct ctl *ctl);

/* ---- Verbs (ctl_verbs.c) ---- */

struct ctl_target {
	struct card *card;
	struct pci_cfg *pci;
	struct vfu *srv;
};

/* @line is modified. Never NULL but when memory is short; the caller's to put. */
struct json_object *ctl_answer(const struct ctl_target *target, char *line);
struct json_object *ctl_error(const char *text);

#endif
