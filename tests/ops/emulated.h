/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine of the emulator's core, without card and VM. */
#ifndef TESTS_OPS_EMULATED_H
#define TESTS_OPS_EMULATED_H

#include "core/core.h"
#include "machine.h"

/* The logarithms, for vtaops_core_init() to check. */
struct vtaops_core emulated_core(const struct core_config *cfg);
void emulated_init(struct machine *m, const struct core_config *cfg, uint32_t size,
		   enum core_order order, uint64_t seed);
/* Run a stream that may fault: 0, or -1 with the fault in @fault; with a cycle limit. */
int emulated_try(struct machine *m, uint32_t insn_addr, uint32_t insns, uint64_t cycles,
		 struct core_fault *fault);
void emulated_fini(struct machine *m);

#endif /* TESTS_OPS_EMULATED_H */
