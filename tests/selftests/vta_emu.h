/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_emu.h - faults from outside of the guest: the emulated card's control socket, QEMU's monitor,
 * and errors of the link
 */
#ifndef VTA_EMU_H
#define VTA_EMU_H

#include <stdbool.h>
#include <stdint.h>

/* Selects the card of later calls, by its order on the bus; at first 0. */
void emu_choose(unsigned int card);

/*
 * Sends one request, as "inject heartbeat", to the card's emulator. 0, or a negative
 * errno: EPROTO if it refuses.
 */
int emu_tell(const char *request);

/* emu_tell("inject KIND"). */
int emu_inject(const char *kind);
/* Removes all injections. */
int emu_clear(void);

/* Number of times that a kind has happened since it was injected; UINT64_MAX if unknown. */
uint64_t emu_injected(const char *kind);

/* A debug counter of the card, without asking the driver; UINT64_MAX if there is none. */
uint64_t emu_counter(const char *name);

/* ---- QEMU's monitor, if tools/vm/vm runs it with --monitor ---- */

bool qemu_is_there(void);

/*
 * Has QEMU execute a command with its arguments, a JSON object. 0, or a negative errno:
 * EPROTO if it refuses.
 */
int qemu_tell(const char *command, const char *arguments);

/* ---- errors of the link, reported by the port above the card under test ---- */

/*
 * By the kernel's aer_inject: bits of the registers Uncorrectable and Correctable Error
 * Status. 0, or a negative errno.
 */
int bus_error(uint32_t uncorrectable, uint32_t correctable);

/* The part of the kernel that is missing for that, or NULL. */
const char *bus_error_needs(void);

#endif /* VTA_EMU_H */
