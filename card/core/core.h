/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - the VTA core: configuration, scratchpads, instruction execution
 *
 * Knows nothing of cards, queues or transports: memory is reached through
 * struct core_mem_ops by device address. One core runs one stream at a time;
 * its functions are called from one thread at a time.
 */
#ifndef VTA_EMU_CORE_H
#define VTA_EMU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta.h"	/* enum vta_fault_reason, enum vta_access */

/* A core's configuration, by the names of vta_config.json. */
struct core_config {
	unsigned int log_inp_width;	/* log2 of bits; OUT has INP's */
	unsigned int log_wgt_width;
	unsigned int log_acc_width;
	unsigned int log_batch;
	unsigned int log_block;
	unsigned int log_uop_buff_size;	/* log2 of bytes */
	unsigned int log_inp_buff_size;
	unsigned int log_wgt_buff_size;
	unsigned int log_acc_buff_size;
	unsigned int hw_ver;		/* major << 16 | minor << 8 | patch */
};

/* TVM's default configuration. */
extern const struct core_config core_config_default;

/*
 * Both return 0, or -1 with a sentence in @err that names the field at fault.
 * core_config_load() reads a JSON file as TVM writes it, by json-c, and also
 * validates.
 */
int core_config_load(struct core_config *cfg, const char *path, char *err, size_t err_len);
int core_config_check(const struct core_config *cfg, char *err, size_t err_len);

/* In which order the three modules take turns, within what tokens allow. */
enum core_order {
	CORE_ORDER_INORDER,	/* as the instructions stand in the stream */
	CORE_ORDER_GREEDY,	/* each module as far as it gets, load first */
	CORE_ORDER_RANDOM,	/* any module that can move, by the seed */
};

/*
 * The core's way to memory. @read and @write move @len bytes at device address
 * @addr; on failure they return the reason and set *@fault_addr to the first
 * address that could not be accessed. @stop is asked between instructions and
 * at least every few thousand micro-ops: true ends the run.
 */
struct core_mem_ops {
	enum vta_fault_reason (*read)(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr);
	enum vta_fault_reason (*write)(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr);
	bool (*stop)(void *priv);
};

struct core_fault {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
};

/* What one run did; counts up to the fault if there was one. */
struct core_stats {
	uint64_t cycles;	/* of the run, modules overlapping */
	uint64_t load_cycles;	/* each module's busy cycles */
	uint64_t compute_cycles;
	uint64_t store_cycles;
	uint64_t insns;		/* executed */
	uint64_t gemm_uops;	/* micro-ops executed by GEMM (without reset) */
	uint64_t alu_uops;	/* and by ALU */
};

enum core_result {
	CORE_DONE,
	CORE_FAULT,	/* see struct core_fault */
	CORE_STOPPED,	/* stop() said so */
};

struct core;

/* NULL when memory is short. @cfg must have passed core_config_check(). */
struct core *core_new(const struct core_config *cfg, enum core_order order, uint64_t seed);
void core_free(struct core *core);

/* Zero all scratchpads, and take all tokens away. */
void core_clear(struct core *core);

/* The next run, and no other, begins with the tokens that the last one left. */
void core_keep_tokens(struct core *core);

/*
 * Run @insn_count instructions at @insn_addr. @cycle_limit 0 means none; the
 * limit is reached when the run's modelled cycles exceed it. Unless they are kept,
 * tokens of before are gone.
 */
enum core_result core_run(struct core *core, const struct core_mem_ops *ops, void *priv,
			  uint32_t insn_addr, uint32_t insn_count, uint64_t cycle_limit,
			  struct core_stats *stats, struct core_fault *fault);

/* ---- The state between runs: scratchpads and tokens (core_state.c) ---- */

/* What it takes in memory, and the cycles that moving it takes. */
uint32_t core_state_size(const struct core_config *cfg);
uint64_t core_state_cycles(const struct core_config *cfg);

/*
 * Write the state to memory at @addr, or read it from there: whatever is there, the
 * state is one that runs could have left. Not CORE_DONE: it is undefined until
 * core_clear(). Accesses are VTA_ACCESS_STATE.
 */
enum core_result core_save(struct core *core, const struct core_mem_ops *ops, void *priv,
			   uint32_t addr, struct core_fault *fault);
enum core_result core_restore(struct core *core, const struct core_mem_ops *ops, void *priv,
			      uint32_t addr, struct core_fault *fault);

#endif /* VTA_EMU_CORE_H */
