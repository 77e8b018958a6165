/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_emu.h - the emulated card's control socket, as the guest has it
 */
#ifndef VTA_EMU_H
#define VTA_EMU_H

#include <stdint.h>

/* Which card is meant from now on, in the order of the bus; at first it is 0. */
void emu_choose(unsigned int card);

/*
 * Sends one request, as "inject heartbeat", to the card's emulator. 0, or a negative
 * errno: EPROTO if it says no.
 */
int emu_tell(const char *request);

/* emu_tell("inject KIND"). */
int emu_inject(const char *kind);
/* The card is as the contract has it again. */
int emu_clear(void);

/* How often a kind has happened since it was injected; UINT64_MAX if it is not known. */
uint64_t emu_injected(const char *kind);

/* A debug counter of the card, without asking the driver; UINT64_MAX if there is none. */
uint64_t emu_counter(const char *name);

#endif /* VTA_EMU_H */
