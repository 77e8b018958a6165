/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a stream takes: docs/isa.md, section 9. */
#ifndef OPS_CYCLES_H
#define OPS_CYCLES_H

#include "ops_impl.h"

enum ops_module { OPS_LOAD, OPS_COMPUTE, OPS_STORE };

enum ops_token_queue {
	OPS_LOAD_TO_COMPUTE, OPS_COMPUTE_TO_LOAD, OPS_COMPUTE_TO_STORE, OPS_STORE_TO_COMPUTE,
	OPS_TOKEN_QUEUES,
};

/* Instruction @index of the stream; false if a token that it pops is not there. */
bool ops_time_insn(struct vtaops_time *t, enum ops_module module, uint64_t index, uint64_t cost,
		   unsigned int pops);
/* The instruction before pushes; false if there are too many tokens. */
bool ops_time_push(struct vtaops_time *t, unsigned int pushes);
/* When all modules have ended. */
uint64_t ops_time_end(const struct vtaops_time *t);

#endif /* OPS_CYCLES_H */
