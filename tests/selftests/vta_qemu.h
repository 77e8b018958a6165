/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_qemu.h - the machine's monitor, as the guest has it (tools/vm/vm run --monitor)
 */
#ifndef VTA_QEMU_H
#define VTA_QEMU_H

#include <stdbool.h>

bool qemu_is_there(void);

/*
 * Has QEMU execute a command with its arguments, a JSON object. 0, or a negative errno:
 * EPROTO if it says no.
 */
int qemu_tell(const char *command, const char *arguments);

#endif /* VTA_QEMU_H */
