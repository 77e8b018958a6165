/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the host's part of a run of vta.cl's kernels, whatever launches them
 *
 * A device that executes vta.cl defines how bytes get to and from a core's buffers, and how
 * the kernels are launched. All else of a run is here: what of the state is whose, and the
 * instructions and rows that are in memory of the host's.
 */
#ifndef VTA_DEVICES_KERNELS_H
#define VTA_DEVICES_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "opencl/state.h"
#include "vtadev_device.h"

/* A core's buffers, by the names that they have as the kernels' arguments. */
enum kernels_buffer {
	KERNELS_STATE,
	KERNELS_UOP,
	KERNELS_INP,
	KERNELS_WGT,
	KERNELS_ACC,
	KERNELS_WAITING,
	KERNELS_TOKENS,
	KERNELS_CODE,
	KERNELS_BOUNCE,
	KERNELS_PLAN,
	KERNELS_BUFFERS,
};

/**
 * struct kernels_ops - how a device does it; each returns 0 or an error of its own
 * @put: copy @size bytes to the start of a buffer; they stay as they are until the next get()
 * @get: copy from the start of a buffer; they are there when it returns
 * @zero: clear the first @size bytes of a buffer
 * @step: launch the kernels on the core's state in its buffer until it asks for the host, or
 *        @memory->stop() returns true; *@state is a copy then
 *
 * Their effects happen in the order of the calls. @core is the argument of kernels_init().
 */
struct kernels_ops {
	int (*put)(void *core, enum kernels_buffer buffer, const void *from, size_t size);
	int (*get)(void *core, enum kernels_buffer buffer, void *to, size_t size);
	int (*zero)(void *core, enum kernels_buffer buffer, size_t size);
	int (*step)(void *core, const struct vtadev_device_memory *memory,
		    struct vta_state *state);
};

struct kernels {
	const struct kernels_ops *ops;
	void *core;
	size_t sizes[KERNELS_BUFFERS];	/* of buffers, in bytes */
	struct vta_state state;		/* at the last check */
	uint8_t *bounce;
	uint32_t code[VTA_CODE * 4];
};

/* vta.cl with all that it includes, as a string. */
extern const char vta_cl[];

/* The build options of vta.cl for a configuration; returns their length, as snprintf(). */
int kernels_options(const struct core_config *config, char *text, size_t size);

/* Bytes of each buffer of a core. */
void kernels_sizes(const struct core_config *config, size_t *sizes);

/* 0 or -ENOMEM. */
int kernels_init(struct kernels *k, const struct core_config *config,
		 const struct kernels_ops *ops, void *core);
void kernels_destroy(struct kernels *k);

/* Scratchpads of zeroes, once there are buffers. 0 or an error of @ops. */
int kernels_clear(const struct kernels *k);

/* As run() of struct vtadev_device_ops, but for the error, which is one of @ops. */
int kernels_run(struct kernels *k, const struct vtadev_device_run *run,
		struct vtadev_device_result *result);

#endif /* VTA_DEVICES_KERNELS_H */
