/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * card_prog.h - short instruction streams for the default configuration, put
 * into memory that the card has mapped
 */
#ifndef TESTS_EMU_CARD_PROG_H
#define TESTS_EMU_CARD_PROG_H

#include "insn.h"

struct prog {
	struct insn *at;	/* the stream in guest memory */
	uint32_t count;
};

/* Bytes of an element, and words of an ACC element. */
#define PROG_UOP_BYTES	4
#define PROG_ACC_BYTES	64
#define PROG_OUT_BYTES	16
#define PROG_ACC_DEPTH	2048

static inline struct prog prog_at(void *memory)
{
	return (struct prog) { .at = memory };
}

void prog_add(struct prog *p, struct insn insn);
/* n elements from or to device address va, which is a multiple of an element. */
void prog_load(struct prog *p, enum insn_memory memory, uint32_t sram, uint32_t va, uint32_t n,
	       unsigned int flags);
void prog_store(struct prog *p, uint32_t sram, uint32_t va, uint32_t n, unsigned int flags);
/* acc[0] += imm, by micro-op 0 as it is: zero if nothing has been loaded. */
void prog_add_imm(struct prog *p, int16_t imm, unsigned int flags);
/* Keeps the compute module busy for hours. */
void prog_busy(struct prog *p);
void prog_finish(struct prog *p, unsigned int flags);

#endif
