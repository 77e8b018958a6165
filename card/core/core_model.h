/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_model.h - a core that another program part simulates
 *
 * A model is a shared object for one configuration, such as a simulation of the core's RTL
 * (card/rtl). A struct core made with it works as any other: all functions of core.h go to the
 * model.
 */
#ifndef VTA_EMU_CORE_MODEL_H
#define VTA_EMU_CORE_MODEL_H

#include "core.h"

#define CORE_MODEL_VERSION	1
#define CORE_MODEL_SYMBOL	"vta_core_model"

/**
 * struct core_model - a model's functions, each as its namesake in core.h
 * @version: CORE_MODEL_VERSION
 * @config: the configuration that the model has; hw_ver is 0, since any will do
 * @make: make a core with zeroed scratchpads; NULL if memory is short
 * @end: free it
 * @clear: core_clear()
 * @keep_tokens: core_keep_tokens()
 * @run: core_run()
 * @save: core_save()
 * @restore: core_restore()
 * @clocks: clocks that all commands have taken since @make
 */
struct core_model {
	unsigned int version;
	struct core_config config;
	void *(*make)(void);
	void (*end)(void *self);
	void (*clear)(void *self);
	void (*keep_tokens)(void *self);
	enum core_result (*run)(void *self, const struct core_mem_ops *ops, void *priv,
				uint32_t insn_addr, uint32_t insn_count, uint64_t cycle_limit,
				struct core_stats *stats, struct core_fault *fault);
	enum core_result (*save)(void *self, const struct core_mem_ops *ops, void *priv,
				 uint32_t addr, struct core_fault *fault);
	enum core_result (*restore)(void *self, const struct core_mem_ops *ops, void *priv,
				    uint32_t addr, struct core_fault *fault);
	uint64_t (*clocks)(const void *self);
};

/**
 * core_model_load() - find the model of a configuration
 * @cfg: the configuration
 * @dir: directory of models; their names are core_model_name()
 * @err: out on failure: a sentence that says which file is missing or wrong
 * @err_len: size of @err
 *
 * Thread-safe. Returns: the model, which stays loaded, or NULL
 */
const struct core_model *core_model_load(const struct core_config *cfg, const char *dir,
					 char *err, size_t err_len);

/* Write the name of the file that has the model of @cfg: "core-3-3-0-4-15-15-18-17-16-16.so". */
void core_model_name(const struct core_config *cfg, char *name, size_t len);

/* Make a core of a model that core_model_load() has found for @cfg. As core_new(). */
struct core *core_new_model(const struct core_config *cfg, const struct core_model *model);

/* Clocks that a model's core has taken for its runs, saves and restores; 0 for a core in C. */
uint64_t core_clocks(const struct core *core);

#endif /* VTA_EMU_CORE_MODEL_H */
