/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_emu.h - the emulated card's control socket, as the guest has it
 */
#ifndef VTA_EMU_H
#define VTA_EMU_H

#include <stdint.h>

/* Selects the card of later calls, by its order on the bus; at first 0. */
void emu_choose(unsigned int card);

/*
 * Sends one request, as "inject heartbeat", to the card's emulator. 0, or a negative
 * errno: EPROTO if it says no.
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

#endif /* VTA_EMU_H */
