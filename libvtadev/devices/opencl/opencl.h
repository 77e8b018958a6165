/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * opencl.h - what the files of the device "opencl" share
 *
 *   opencl.c    the device: its memory, copies, its table
 *   run.c       its cores, and the runs of streams on them
 *   program.c   which OpenCL device is meant; vta.cl built for it, or found in the cache
 */
#ifndef VTA_OPENCL_H
#define VTA_OPENCL_H

#define CL_TARGET_OPENCL_VERSION	120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

#include "core.h"
#include "state.h"
#include "vtadev_device.h"

/* Queues of the OpenCL device: the kernels', and those of large and of small copies. */
enum { RUNS, BULKS, WORDS, QUEUES };

struct ocl {
	struct core_config config;
	cl_context context;
	cl_program program;
	cl_command_queue queues[QUEUES];
	_Atomic(cl_mem) arena;		/* made when the first buffer in it is; else NULL */
	cl_mem pages;
	size_t arena_pages;
	uint8_t *used;			/* of each page of the arena */
	uint32_t *table;		/* what @pages is, or is to be */
	size_t wide_items;		/* work-items for a loop of many micro-ops */
};

/* run.c: functions of struct vtadev_device_ops */
int run_core_new(void *device, void **core);
void run_core_free(void *device, void *core);
int run_stream(void *device, void *core, const struct vtadev_device_run *run,
	       struct vtadev_device_result *result);

/* A place for why something failed, as a sentence. */
struct why {
	char *text;
	size_t size;
};

/* "FUNCTION: what the error means", in @why. -ENODEV. */
int program_fail(const struct why *why, const char *function, cl_int err);
/* 0 if @err is; else -ENODEV, and where the program's messages go, why the device is lost. */
int program_lose(const char *function, cl_int err);

/* The platform's and the device's number of OpenCL device @i of all; false if there is none. */
bool program_nth(unsigned int i, unsigned int *platform, unsigned int *device);
/* 0, or a negative errno and @why. */
int program_find(unsigned int platform, unsigned int device, cl_device_id *id,
		 const struct why *why);
/* vta.cl for a device and a configuration. The same. */
int program_build(cl_context context, cl_device_id id, const struct core_config *config,
		  cl_program *program, const struct why *why);

#endif /* VTA_OPENCL_H */
