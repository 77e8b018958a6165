// SPDX-License-Identifier: Apache-2.0
/*
 * core_model.c - finding and making cores that are models (see core_model.h)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_impl.h"

#define NAME_MAX_LEN	96
#define PATH_MAX_LEN	4096

#define fail(err, err_len, ...)	(snprintf(err, err_len, __VA_ARGS__), NULL)

void core_model_name(const struct core_config *cfg, char *name, size_t len)
{
	snprintf(name, len, "core-%u-%u-%u-%u-%u-%u-%u-%u-%u-%u.so", cfg->log_inp_width,
		 cfg->log_wgt_width, cfg->log_batch, cfg->log_block, cfg->log_uop_buff_size,
		 cfg->log_inp_buff_size, cfg->log_wgt_buff_size, cfg->log_acc_buff_size,
		 vta_isa_log_queue(cfg->log_tokens), vta_isa_log_queue(cfg->log_waiting));
}

static bool same_config(const struct core_config *a, const struct core_config *b)
{
	return a->log_inp_width == b->log_inp_width && a->log_wgt_width == b->log_wgt_width &&
	       a->log_acc_width == b->log_acc_width && a->log_batch == b->log_batch &&
	       a->log_block == b->log_block && a->log_uop_buff_size == b->log_uop_buff_size &&
	       a->log_inp_buff_size == b->log_inp_buff_size &&
	       a->log_wgt_buff_size == b->log_wgt_buff_size &&
	       a->log_acc_buff_size == b->log_acc_buff_size &&
	       vta_isa_log_queue(a->log_tokens) == vta_isa_log_queue(b->log_tokens) &&
	       vta_isa_log_queue(a->log_waiting) == vta_isa_log_queue(b->log_waiting);
}

const struct core_model *core_model_load(const struct core_config *cfg, const char *dir,
					 char *err, size_t err_len)
{
	const struct core_model *model;
	char name[NAME_MAX_LEN], path[PATH_MAX_LEN];
	void *object;

	core_model_name(cfg, name, sizeof(name));
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return fail(err, err_len, "the path of %s is too long", name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object)
		return fail(err, err_len, "no model of this configuration: %s", dlerror());
	model = dlsym(object, CORE_MODEL_SYMBOL);
	if (!model || model->version != CORE_MODEL_VERSION) {
		dlclose(object);
		return fail(err, err_len, "%s is not a model of version %d", path,
			    CORE_MODEL_VERSION);
	}
	if (!same_config(&model->config, cfg)) {
		dlclose(object);
		return fail(err, err_len, "%s has another configuration", path);
	}
	return model;
}

struct core *core_new_model(const struct core_config *cfg, const struct core_model *model)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->cfg = *cfg;
	core->model = model;
	core->self = model->make();
	if (!core->self) {
		free(core);
		return NULL;
	}
	return core;
}

uint64_t core_clocks(const struct core *core)
{
	return core->model ? core->model->clocks(core->self) : 0;
}
