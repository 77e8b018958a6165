// SPDX-License-Identifier: Apache-2.0
/*
 * soft.c - the device "soft": the emulated card's core, in the program's process
 *
 * The core is the emulated card's, compiled into this plugin: the same bits, the same
 * faults, the same cycles. It is GPL-2.0-only, and so is the plugin.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/config.h"
#include "core/core.h"
#include "vtadev_device.h"

/* The emulated card's default. */
#define MEM_SIZE	(1ull << 30)
#define CORES_MAX	256u
/* The argument that says how many cores. */
#define CORES_ARG	"cores="


/* The core asks through these; the run is its priv. */
static enum vta_fault_reason soft_read(void *priv, uint32_t addr, void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	const struct vtadev_device_memory *memory = priv;

	(void)access;
	return memory->read(memory->space, addr, buf, len, fault_addr);
}

static enum vta_fault_reason soft_write(void *priv, uint32_t addr, const void *buf, size_t len,
					enum vta_access access, uint32_t *fault_addr)
{
	const struct vtadev_device_memory *memory = priv;

	(void)access;
	return memory->write(memory->space, addr, buf, len, fault_addr);
}

static bool soft_stop(void *priv)
{
	const struct vtadev_device_memory *memory = priv;

	return memory->stop(memory->space);
}

static const struct core_mem_ops mem_ops = {
	.read = soft_read,
	.write = soft_write,
	.stop = soft_stop,
};

static int soft_list(unsigned int i, char *args, size_t size)
{
	if (i)
		return -ENOENT;
	if (size)
		*args = '\0';
	return 0;
}

static unsigned int count_processors(void)
{
	cpu_set_t set;

	/* More processors than a set has room for: as many as there can be cores. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return CORES_MAX;
	return CPU_COUNT(&set) < (int)CORES_MAX ? (unsigned int)CPU_COUNT(&set) : CORES_MAX;
}

/* "cores=N", alone or before ":"; sets *@args to what follows. No "cores=" is 0. */
static int take_cores(const char **args, uint16_t *cores, char *why, size_t why_size)
{
	const char *text = *args;
	unsigned long n;
	char *end;

	*cores = 0;
	if (strncmp(text, CORES_ARG, strlen(CORES_ARG)) != 0)
		return 0;
	text += strlen(CORES_ARG);
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || (*end && *end != ':') || !n || n > CORES_MAX) {
		snprintf(why, why_size, "%.40s: there can be 1 to %u cores", *args, CORES_MAX);
		return -EINVAL;
	}
	*cores = (uint16_t)n;
	*args = end + (*end == ':');
	return 0;
}

/* "[cores=N][:]" and the path of a vta_config.json; none is TVM's default configuration. */
static int soft_open(const char *args, struct vta_info *info, void **device, char *why,
		     size_t why_size)
{
	struct core_config *config = malloc(sizeof(*config));
	int err;

	if (!config)
		return -ENOMEM;
	err = take_cores(&args, &info->cores, why, why_size);
	if (!err)
		err = config_open(args, config, info, why, why_size);
	if (!err && !info->cores) {
		info->cores = (uint16_t)count_processors();
		err = config_cores(args, CORES_MAX, &info->cores, why, why_size);
	}
	if (!err && !core_kernel(config)) {
		snprintf(why, why_size,
			 "VTA_CORE_GEMM names a kernel that this processor does not have: unset it");
		err = -EINVAL;
	}
	if (err) {
		free(config);
		return err;
	}
	info->mem_size = MEM_SIZE;
	*device = config;
	return 0;
}

static void soft_close(void *device)
{
	free(device);
}

static int soft_core_new(void *device, void **core)
{
	*core = core_new(device, CORE_ORDER_INORDER, 0);
	return *core ? 0 : -ENOMEM;
}

static void soft_core_free(void *device, void *core)
{
	(void)device;
	core_free(core);
}

static void tell_fault(const struct core_fault *fault, struct vtadev_device_result *result)
{
	result->reason = fault->reason;
	result->access = fault->access;
	result->addr = fault->addr;
	result->insn_index = fault->insn_index;
	memcpy(result->insn, fault->insn, sizeof(result->insn));
}

static int soft_run(void *device, void *core, const struct vtadev_device_run *run,
		    struct vtadev_device_result *result)
{
	struct core_stats stats = { 0 };
	struct core_fault fault = { 0 };

	(void)device;
	if (run->flags & VTADEV_DEVICE_RUN_CLEAR)
		core_clear(core);
	if (run->flags & VTADEV_DEVICE_RUN_TOKENS)
		core_keep_tokens(core);
	if (core_run(core, &mem_ops, (void *)run->memory, run->insn_addr, run->insn_count,
		     run->cycle_limit, &stats, &fault) == CORE_FAULT)
		tell_fault(&fault, result);
	result->cycles = stats.cycles;
	result->insns = stats.insns;
	result->gemm_uops = stats.gemm_uops;
	result->alu_uops = stats.alu_uops;
	return 0;
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "soft",
	.about = "the emulated card's core, in software",
	.list = soft_list,
	.open = soft_open,
	.close = soft_close,
	.core_new = soft_core_new,
	.core_free = soft_core_free,
	.run = soft_run,
};
