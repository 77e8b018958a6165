/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.h - the card in RTL, simulated for one shape
 *
 * A simulation is a shared object that card/rtl/card.sh builds, named by its shape; it exports
 * CARD_SIM_SYMBOL, a struct card_sim. It is in C++, as Verilator has it, and this header is what
 * both languages read. No function here is thread-safe.
 */
#ifndef VTA_RTL_SIM_H
#define VTA_RTL_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARD_SIM_VERSION	2
#define CARD_SIM_SYMBOL		"vta_card_sim"

/**
 * struct card_sim_host - what is around the card
 * @priv: the first argument of the functions
 * @now: card time, ns, not 0
 * @beat: HEARTBEAT, which moves by the host's time
 * @read: as in struct card_ops (model/card.h), like those below
 * @write: memory writes of any length
 * @read64: reads of 8 aligned bytes
 * @write64: writes of 8 aligned bytes
 * @irq: a message
 * @mem: the card's memory, or NULL
 * @clock_khz: CLOCK_KHZ
 * @hw_ver: HW_VER
 * @serial: SERIAL
 * @stalls: seed above 0: the bus answers late, in any order and in parts, by it; 0: in order
 */
struct card_sim_host {
	void *priv;
	uint64_t (*now)(void *priv);
	uint32_t (*beat)(void *priv);
	int (*read)(void *priv, uint64_t addr, void *buf, size_t len);
	int (*write)(void *priv, uint64_t addr, const void *buf, size_t len);
	int (*read64)(void *priv, uint64_t addr, uint64_t *val);
	int (*write64)(void *priv, uint64_t addr, uint64_t val);
	int (*irq)(void *priv, unsigned int vector);
	void *mem;
	uint32_t clock_khz;
	uint32_t hw_ver;
	uint64_t serial;
	uint32_t stalls;
};

/**
 * struct card_sim - the functions of a simulation
 * @version: CARD_SIM_VERSION
 * @make: power a card on, ready and with the bus off; NULL if memory is short
 * @end: free it
 * @tick: one clock
 * @quiet: true if clocks change nothing until another function is called
 * @set_bus: the card may use the bus, or may not
 * @reset: begin a Function Level Reset
 * @access: one access to the registers or doorbells, as card_access(); takes some clocks
 * @peek: read the register at @off without effects: it does not count, nor latch its other half
 */
struct card_sim {
	unsigned int version;
	void *(*make)(const struct card_sim_host *host);
	void (*end)(void *self);
	void (*tick)(void *self);
	bool (*quiet)(const void *self);
	void (*set_bus)(void *self, bool on);
	void (*reset)(void *self);
	void (*access)(void *self, unsigned int bar, uint64_t off, void *buf, size_t len,
		       bool write);
	uint32_t (*peek)(void *self, uint32_t off);
};

#endif
