/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - the VTA core: configuration, scratchpads, instruction execution
 *
 * It reaches memory through struct core_mem_ops by device address, and is independent of
 * cards, queues and transports: programs can link it. Addresses and sizes are in bytes, times in
 * cycles of the core's clock (docs/isa.md, section 9). Different cores are independent of each
 * other. Functions of one core must not be called at the same time; which thread calls them does
 * not matter.
 */
#ifndef VTA_EMU_CORE_H
#define VTA_EMU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta.h"	/* enum vta_fault_reason, enum vta_access */

/**
 * struct core_config - a core's configuration, by the names of vta_config.json
 * @log_inp_width: log2 of the bits of an input value, and of an output value
 * @log_wgt_width: of a weight
 * @log_acc_width: of an accumulator
 * @log_batch: log2 of the rows of an input element
 * @log_block: log2 of its columns
 * @log_uop_buff_size: log2 of the bytes of the micro-ops' scratchpad
 * @log_inp_buff_size: of the inputs'
 * @log_wgt_buff_size: of the weights'
 * @log_acc_buff_size: of the accumulators'
 * @hw_ver: version, major << 16 | minor << 8 | patch
 * @log_tokens: log2 of the tokens that a token queue holds; 0: 16 (docs/isa.md, section 3)
 * @log_waiting: log2 of the fetched instructions that wait in all modules; 0: 16
 */
struct core_config {
	unsigned int log_inp_width;
	unsigned int log_wgt_width;
	unsigned int log_acc_width;
	unsigned int log_batch;
	unsigned int log_block;
	unsigned int log_uop_buff_size;
	unsigned int log_inp_buff_size;
	unsigned int log_wgt_buff_size;
	unsigned int log_acc_buff_size;
	unsigned int hw_ver;
	unsigned int log_tokens;
	unsigned int log_waiting;
};

/* TVM's default configuration. */
extern const struct core_config core_config_default;

/**
 * core_config_load() - read a configuration as TVM writes it, and check it
 * @cfg: out: the configuration
 * @path: a JSON file
 * @err: out on failure: a sentence that names the field at fault
 * @err_len: size of @err
 *
 * Thread-safe. Returns: 0, or -1 if the file cannot be read or is not valid
 */
int core_config_load(struct core_config *cfg, const char *path, char *err, size_t err_len);

/**
 * core_config_check() - check a configuration against docs/isa.md, section 1
 * @cfg: the configuration
 * @err: out on failure: a sentence that names the rule that is broken
 * @err_len: size of @err
 *
 * Thread-safe. Returns: 0, or -1 if no core can have the configuration
 */
int core_config_check(const struct core_config *cfg, char *err, size_t err_len);

/* The order in which the three modules take turns, within what tokens allow. */
enum core_order {
	CORE_ORDER_INORDER,	/* in the order of the stream */
	CORE_ORDER_GREEDY,	/* each module as far as it gets, load first */
	CORE_ORDER_RANDOM,	/* any module that can move, by the seed */
};

/**
 * struct core_mem_ops - the core's way to memory
 * @read: copy @len bytes from device address @addr; on failure return the reason, and set
 *        *@fault_addr to the first address that cannot be read
 * @write: the same in the other direction
 * @stop: return true to end the run; called between instructions and at least every few thousand
 *        micro-ops
 *
 * Called by the thread that is in core_run(), core_save() or core_restore(), with its @priv.
 */
struct core_mem_ops {
	enum vta_fault_reason (*read)(void *priv, uint32_t addr, void *buf, size_t len,
				      enum vta_access access, uint32_t *fault_addr);
	enum vta_fault_reason (*write)(void *priv, uint32_t addr, const void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr);
	bool (*stop)(void *priv);
};

/**
 * struct core_fault - the fault that ended a run (docs/hardware.md, section 8)
 * @reason: its reason
 * @access: purpose of the access that failed, or VTA_ACCESS_NONE
 * @addr: first address that could not be accessed, or 0
 * @insn_index: number of the instruction in the stream, from 0, or VTA_FAULT_NO_INSN
 * @insn: that instruction, low word first, or 0
 */
struct core_fault {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
};

/**
 * struct core_stats - counts of a run, up to the fault if there was one
 * @cycles: cycles of the run, modules overlapping
 * @load_cycles: cycles that the load module was busy,
 * @compute_cycles: the compute module,
 * @store_cycles: and the store module
 * @insns: instructions executed
 * @gemm_uops: micro-ops executed by GEMM (without reset)
 * @alu_uops: micro-ops executed by ALU
 */
struct core_stats {
	uint64_t cycles;
	uint64_t load_cycles;
	uint64_t compute_cycles;
	uint64_t store_cycles;
	uint64_t insns;
	uint64_t gemm_uops;
	uint64_t alu_uops;
};

enum core_result {
	CORE_DONE,
	CORE_FAULT,	/* see struct core_fault */
	CORE_STOPPED,	/* stop() returned true */
};

struct core;

/**
 * core_kernel() - name the kernel that GEMM uses in cores of a configuration
 * @cfg: a configuration that core_config_check() accepts
 *
 * It is the best that this processor has. For tests, the environment variable VTA_CORE_GEMM may
 * name another one: "portable", "avx2", "avx-vnni", "avx512-vnni", "neon-dotprod". A block that
 * is too small for it is computed by "portable".
 *
 * Thread-safe. Returns: the name, or NULL if VTA_CORE_GEMM names a kernel that this build or
 * processor does not have
 */
const char *core_kernel(const struct core_config *cfg);

/**
 * core_new() - make a core with zeroed scratchpads
 * @cfg: a configuration that core_config_check() accepts; it is copied
 * @order: the order in which modules take turns
 * @seed: for CORE_ORDER_RANDOM; the same seed gives the same orders
 *
 * Returns: the core, for core_free(), or NULL if memory is short or core_kernel() returns NULL
 */
struct core *core_new(const struct core_config *cfg, enum core_order order, uint64_t seed);

/* Free a core; nothing for NULL. */
void core_free(struct core *core);

/* Zero all scratchpads, and take all tokens away. */
void core_clear(struct core *core);

/* The next run, and no other, begins with the tokens that the last one left. */
void core_keep_tokens(struct core *core);

/**
 * core_run() - run a stream of instructions
 * @core: the core
 * @ops: its way to memory
 * @priv: the argument of @ops
 * @insn_addr: device address of the stream, a multiple of 16
 * @insn_count: instructions of 16 bytes
 * @cycle_limit: fault CYCLES before the run takes more; 0: no limit
 * @stats: out: the run's counts
 * @fault: out with CORE_FAULT: the fault
 *
 * Scratchpads stay as the last run left them; tokens only with core_keep_tokens().
 *
 * Returns: CORE_DONE, CORE_FAULT, or CORE_STOPPED
 */
enum core_result core_run(struct core *core, const struct core_mem_ops *ops, void *priv,
			  uint32_t insn_addr, uint32_t insn_count, uint64_t cycle_limit,
			  struct core_stats *stats, struct core_fault *fault);

/* ---- The state between runs: scratchpads and tokens (core_state.c) ---- */

/* Bytes of memory that the state of a core takes. */
uint32_t core_state_size(const struct core_config *cfg);

/* Cycles of a save, and of a restore. */
uint64_t core_state_cycles(const struct core_config *cfg);

/**
 * core_save() - write the state to memory
 * @core: the core; its state stays
 * @ops: its way to memory; accesses are VTA_ACCESS_STATE
 * @priv: the argument of @ops
 * @addr: device address of core_state_size() bytes
 * @fault: out with CORE_FAULT: the fault
 *
 * Returns: CORE_DONE, CORE_FAULT, or CORE_STOPPED; then the memory's contents are undefined
 */
enum core_result core_save(struct core *core, const struct core_mem_ops *ops, void *priv,
			   uint32_t addr, struct core_fault *fault);

/**
 * core_restore() - read the state from memory
 * @core: the core
 * @ops: its way to memory; accesses are VTA_ACCESS_STATE
 * @priv: the argument of @ops
 * @addr: device address of core_state_size() bytes; whatever they are, the state is one that
 *        runs could have left
 * @fault: out with CORE_FAULT: the fault
 *
 * Returns: CORE_DONE, CORE_FAULT, or CORE_STOPPED; then the state is undefined until core_clear()
 */
enum core_result core_restore(struct core *core, const struct core_mem_ops *ops, void *priv,
			      uint32_t addr, struct core_fault *fault);

#endif /* VTA_EMU_CORE_H */
