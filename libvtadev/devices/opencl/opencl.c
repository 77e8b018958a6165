// SPDX-License-Identifier: GPL-2.0-only
/*
 * opencl.c - the device "opencl": the core of vta.cl on any OpenCL 1.2 device
 *
 * A context's VTADEV_CARD memory is one buffer of the OpenCL device, the arena, and a page
 * table there leads the kernels from device addresses to it. Other memory is the host's:
 * the kernels stop at an instruction that moves it, and the host does, by read() and
 * write() of the run. So what is in the arena is never copied for a launch.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/config.h"
#include "opencl.h"
#include "vtadev_device.h"

#define ARENA_MAX	(1ull << 30)
#define PAGE		(1u << VTA_PAGE_LOG)
#define ENTRIES		(1u << (32 - VTA_PAGE_LOG))
/* Copies from here on have a queue of their own: small ones do not wait for them. */
#define BULK		65536u

/* ---- The device ---- */

static int ocl_list(unsigned int i, char *args, size_t size)
{
	unsigned int platform, device;

	if (!program_nth(i, &platform, &device))
		return -ENOENT;
	snprintf(args, size, "%u.%u", platform, device);
	return 0;
}

static void ocl_close(void *device)
{
	struct ocl *ocl = device;

	for (unsigned int i = 0; i < QUEUES; i++)
		if (ocl->queues[i])
			clReleaseCommandQueue(ocl->queues[i]);
	if (ocl->arena)
		clReleaseMemObject(ocl->arena);
	if (ocl->pages)
		clReleaseMemObject(ocl->pages);
	if (ocl->program)
		clReleaseProgram(ocl->program);
	if (ocl->context)
		clReleaseContext(ocl->context);
	free(ocl->used);
	free(ocl->table);
	free(ocl);
}

/* How much memory a context has, and how many work-items a wide loop. */
static void size_up(struct ocl *ocl, cl_device_id id)
{
	cl_ulong most = 0, all = 0;
	cl_device_type type = 0;
	cl_uint units = 1;

	clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL);
	clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	most = most < all / 4 ? most : all / 4;
	ocl->arena_pages = (size_t)((most < ARENA_MAX ? most : ARENA_MAX) / PAGE);
	ocl->wide_items = type & CL_DEVICE_TYPE_GPU ? (size_t)units * 1024 : units * 8;
}

static int make_memory(struct ocl *ocl, const struct why *why)
{
	const cl_uint none = 0;
	cl_int err;

	ocl->used = calloc(ocl->arena_pages, 1);
	ocl->table = calloc(ENTRIES, sizeof(*ocl->table));
	if (!ocl->used || !ocl->table)
		return -ENOMEM;
	ocl->pages = clCreateBuffer(ocl->context, CL_MEM_READ_ONLY, ENTRIES * sizeof(*ocl->table),
				    NULL, &err);
	if (err)
		return program_fail(why, "clCreateBuffer", err);
	err = clEnqueueFillBuffer(ocl->queues[RUNS], ocl->pages, &none, sizeof(none), 0,
				  ENTRIES * sizeof(*ocl->table), 0, NULL, NULL);
	return err ? program_fail(why, "clEnqueueFillBuffer", err) : 0;
}

static int make_device(struct ocl *ocl, cl_device_id id, const struct why *why)
{
	cl_int err;

	size_up(ocl, id);
	ocl->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
	if (err)
		return program_fail(why, "clCreateContext", err);
	for (unsigned int i = 0; i < QUEUES; i++) {
		ocl->queues[i] = clCreateCommandQueue(ocl->context, id, 0, &err);
		if (err)
			return program_fail(why, "clCreateCommandQueue", err);
	}
	err = make_memory(ocl, why);
	return err ? err : program_build(ocl->context, id, &ocl->config, &ocl->program, why);
}

/* "[PLATFORM.DEVICE][:]" and the path of a vta_config.json, if there is one. */
static int ocl_open(const char *args, struct vta_info *info, void **device, char *why,
		    size_t why_size)
{
	const struct why sentence = { why, why_size };
	unsigned int platform = 0, number = 0;
	struct ocl *ocl = calloc(1, sizeof(*ocl));
	cl_device_id id;
	int used = 0, err;

	if (!ocl)
		return -ENOMEM;
	if (sscanf(args, "%4u.%4u%n", &platform, &number, &used) != 2 ||
	    (args[used] && args[used] != ':')) {
		platform = 0;
		number = 0;
		used = 0;
	}
	args += used + (used && args[used] == ':');
	err = program_find(platform, number, &id, &sentence);
	if (!err)
		err = config_open(args, &ocl->config, info, why, why_size);
	if (!err)
		err = make_device(ocl, id, &sentence);
	if (err) {
		ocl_close(ocl);
		return err;
	}
	info->mem_size = (uint64_t)ocl->arena_pages * PAGE;
	*device = ocl;
	return 0;
}

/* ---- Memory ---- */

static size_t arena_at(const struct ocl *ocl, uint32_t addr)
{
	return ((size_t)(ocl->table[addr / PAGE] >> VTA_ENTRY_SHIFT) << VTA_PAGE_LOG) | addr % PAGE;
}

/* The first of @n free pages; arena_pages if there are none. */
static size_t find_free(const struct ocl *ocl, size_t n)
{
	size_t found = 0;

	for (size_t at = 0; at < ocl->arena_pages; at++) {
		found = ocl->used[at] ? 0 : found + 1;
		if (found == n)
			return at + 1 - n;
	}
	return ocl->arena_pages;
}

/* What the table says of some pages is the kernels' when this returns: between two of them. */
static int put_entries(struct ocl *ocl, uint32_t addr, size_t n)
{
	size_t first = addr / PAGE, size = sizeof(*ocl->table);

	return program_lose("clEnqueueWriteBuffer",
		    clEnqueueWriteBuffer(ocl->queues[RUNS], ocl->pages, CL_TRUE, first * size,
					 n * size, &ocl->table[first], 0, NULL, NULL));
}

static cl_int make_arena(struct ocl *ocl)
{
	cl_int err;

	ocl->arena = clCreateBuffer(ocl->context, CL_MEM_READ_WRITE, ocl->arena_pages * PAGE, NULL,
				    &err);
	return err;
}

static int ocl_alloc(void *device, uint32_t addr, size_t size, uint32_t flags)
{
	struct ocl *ocl = device;
	size_t n = size / PAGE, first = find_free(ocl, n);
	uint32_t allowed = VTA_ENTRY_READ | (flags & VTA_BUF_READONLY ? 0 : VTA_ENTRY_WRITE);
	const cl_uint none = 0;
	cl_int err;

	if (first == ocl->arena_pages || (!ocl->arena && make_arena(ocl)))
		return -ENOSPC;
	err = clEnqueueFillBuffer(ocl->queues[RUNS], ocl->arena, &none, sizeof(none), first * PAGE,
				  size, 0, NULL, NULL);
	if (err)
		return program_lose("clEnqueueFillBuffer", err);
	memset(ocl->used + first, 1, n);
	for (size_t i = 0; i < n; i++)
		ocl->table[addr / PAGE + i] = (uint32_t)(first + i) << VTA_ENTRY_SHIFT | allowed;
	return put_entries(ocl, addr, n);
}

static void ocl_free(void *device, uint32_t addr, size_t size)
{
	struct ocl *ocl = device;
	size_t n = size / PAGE;

	memset(ocl->used + arena_at(ocl, addr) / PAGE, 0, n);
	memset(&ocl->table[addr / PAGE], 0, n * sizeof(*ocl->table));
	put_entries(ocl, addr, n);
}

/* Rows from place to place of the arena. */
static cl_int copy_inside(struct ocl *ocl, cl_command_queue queue,
			  const struct vtadev_device_rows *rows)
{
	size_t from = arena_at(ocl, rows->src.addr), to = arena_at(ocl, rows->dst.addr);
	cl_int err = 0;

	for (size_t i = 0; i < rows->rows && !err; i++)
		err = clEnqueueCopyBuffer(queue, ocl->arena, ocl->arena,
					  from + i * rows->src.pitch, to + i * rows->dst.pitch,
					  rows->width, 0, NULL, NULL);
	return err;
}

static cl_int start_copy(struct ocl *ocl, cl_command_queue queue,
			 const struct vtadev_device_rows *rows)
{
	const size_t none[3] = { 0 }, region[3] = { rows->width, rows->rows, 1 };
	const struct vtadev_device_side *dst = &rows->dst, *src = &rows->src;
	size_t dst_pitch = rows->rows > 1 ? dst->pitch : rows->width;
	size_t src_pitch = rows->rows > 1 ? src->pitch : rows->width;
	size_t at[3] = { 0 };

	if (dst->ptr) {
		at[0] = arena_at(ocl, src->addr);
		return clEnqueueReadBufferRect(queue, ocl->arena, CL_FALSE, at, none, region,
					       src_pitch, 0, dst_pitch, 0, dst->ptr, 0, NULL,
					       NULL);
	}
	if (!src->ptr)
		return copy_inside(ocl, queue, rows);
	at[0] = arena_at(ocl, dst->addr);
	return clEnqueueWriteBufferRect(queue, ocl->arena, CL_FALSE, at, none, region, dst_pitch,
					0, src_pitch, 0, src->ptr, 0, NULL, NULL);
}

/* The event is the copy's own: the queue is other threads', too. */
static int ocl_copy(void *device, const struct vtadev_device_rows *rows)
{
	struct ocl *ocl = device;
	cl_command_queue queue = ocl->queues[rows->width * rows->rows < BULK ? WORDS : BULKS];
	cl_event done;
	cl_int err;

	err = start_copy(ocl, queue, rows);
	if (!err)
		err = clEnqueueMarkerWithWaitList(queue, 0, NULL, &done);
	if (!err) {
		err = clWaitForEvents(1, &done);
		clReleaseEvent(done);
	}
	return program_lose("copy", err);
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "opencl",
	.about = "a VTA core on any OpenCL 1.2 device",
	.list = ocl_list,
	.open = ocl_open,
	.close = ocl_close,
	.core_new = run_core_new,
	.core_free = run_core_free,
	.run = run_stream,
	.alloc = ocl_alloc,
	.free = ocl_free,
	.copy = ocl_copy,
};
