// SPDX-License-Identifier: Apache-2.0
/*
 * opencl.c - the device "opencl": the core of vta.cl on any OpenCL 1.2 device
 *
 * The device's own memory is one buffer, the arena, and a page table there leads the
 * kernels from device addresses to it. So what is in card memory is never copied for a
 * launch. The host's part of a run is kernels.c's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices/config.h"
#include "devices/kernels.h"
#include "cl.h"
#include "rack.h"
#include "vtadev_device.h"

#define ARENA_MAX	(UINT64_C(1) << 30)
#define PAGES_BYTES	((size_t)sizeof(uint32_t) << (32 - VTA_PAGE_LOG))
#define PLATFORMS_MAX	16
#define DEVICES_MAX	64
#define OPTIONS_MAX	1024
#define LOG_MAX		65536
/* Copies from here on have a queue of their own: small ones do not wait for them. */
#define BULK		65536u
/* Streams that a GPU executes side by side on each of its compute units. */
#define CORES_OF_UNIT	2u
#define CORES_MAX	256u
/* Part of the device's memory that cores may take. */
#define CORES_MEMORY	4

/* Queues of the OpenCL device: the kernels', and those of large and of small copies. */
enum { RUNS, BULKS, WORDS, QUEUES };

struct ocl {
	char *why;			/* for the sentence that open() writes; then NULL */
	size_t why_size;
	struct core_config config;
	cl_device_id id;
	cl_context context;
	cl_command_queue queues[QUEUES];
	struct rack rack;
};

struct core {
	struct kernels kernels;		/* of which this is the core */
	struct ocl *ocl;
	struct rack_core rack;
};

/* ---- Errors ---- */

static const char *error_text(cl_int err)
{
	switch (err) {
	case CL_DEVICE_NOT_AVAILABLE:
		return "the device is in use, or switched off";
	case CL_COMPILER_NOT_AVAILABLE:
		return "the OpenCL driver has no compiler";
	case CL_MEM_OBJECT_ALLOCATION_FAILURE:
	case CL_OUT_OF_RESOURCES:
		return "the device has too little memory or other resources, or has failed";
	case CL_OUT_OF_HOST_MEMORY:
		return "the host has too little memory";
	case CL_BUILD_PROGRAM_FAILURE:
		return "the OpenCL compiler refuses the program";
	case CL_INVALID_WORK_GROUP_SIZE:
		return "the device has not as many work-items in a group";
	default:
		return "the OpenCL driver reports an error";
	}
}

/* 0 if @err is; else -ENODEV: the device does not open, or it is lost. */
static int check_call(const struct ocl *ocl, const char *function, cl_int err)
{
	if (!err)
		return 0;
	if (ocl->why)
		snprintf(ocl->why, ocl->why_size, "%s: %s (%d)", function, error_text(err), err);
	else
		fprintf(stderr, "libvtadev-opencl: %s: %s (%d): the device is lost\n", function,
			error_text(err), err);
	return -ENODEV;
}

/* ---- Which device ---- */

/* Drivers read processors and devices there. pocl ends the process where they are missing. */
static bool has_sysfs(void)
{
	return !access("/sys/devices", F_OK);
}

static int read_devices(unsigned int platform, cl_device_id *ids)
{
	cl_uint platforms = 0, count = 0;
	cl_platform_id all[PLATFORMS_MAX];

	if (!has_sysfs() || clGetPlatformIDs(PLATFORMS_MAX, all, &platforms) ||
	    platform >= platforms || platform >= PLATFORMS_MAX)
		return -1;
	if (clGetDeviceIDs(all[platform], CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &count))
		return 0;
	return count < DEVICES_MAX ? (int)count : DEVICES_MAX;
}

/*
 * Get the platform's devices. Returns their number, or -1: there is no such platform. One thread at
 * a time: while pocl sets up its devices, it shows other threads none, or some without memory.
 */
static int devices(unsigned int platform, cl_device_id *ids)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	int n;

	pthread_mutex_lock(&one);
	n = read_devices(platform, ids);
	pthread_mutex_unlock(&one);
	return n;
}

static int ocl_list(unsigned int i, char *args, size_t size)
{
	cl_device_id ids[DEVICES_MAX];
	unsigned int platform;
	int n;

	for (platform = 0; (n = devices(platform, ids)) >= 0; platform++, i -= (unsigned int)n) {
		if (i < (unsigned int)n) {
			snprintf(args, size, "%u.%u", platform, i);
			return 0;
		}
	}
	return -ENOENT;
}

static int find_device(struct ocl *ocl, unsigned int platform, unsigned int number)
{
	cl_device_id ids[DEVICES_MAX];

	if ((int)number < devices(platform, ids)) {
		ocl->id = ids[number];
		return 0;
	}
	if (!has_sysfs())
		snprintf(ocl->why, ocl->why_size, "/sys is not mounted, which OpenCL's drivers "
			 "read; as root: mount -t sysfs none /sys");
	else if (devices(0, ids) < 0)
		snprintf(ocl->why, ocl->why_size, "there is no OpenCL driver: install one, such as "
			 "pocl-opencl-icd");
	else
		snprintf(ocl->why, ocl->why_size, "there is no OpenCL device %u.%u: vtactl list "
			 "--all names those that there are", platform, number);
	return -ENOENT;
}

/* ---- The device's life ---- */

/* The line of the compiler's log with the error. */
static int fail_build(const struct ocl *ocl, cl_int err)
{
	char *log = calloc(1, LOG_MAX), *line;

	check_call(ocl, "clBuildProgram", err);
	if (log && !clGetProgramBuildInfo(ocl->rack.program, ocl->id, CL_PROGRAM_BUILD_LOG,
					  LOG_MAX - 1, log, NULL) && *log) {
		line = strstr(log, "error");
		line = line ? line : log;
		line[strcspn(line, "\n")] = '\0';
		snprintf(ocl->why, ocl->why_size, "clBuildProgram: %s: %.100s", error_text(err),
			 line);
	}
	free(log);
	return -ELIBBAD;
}

/* NVIDIA's compiler: with 128 registers for a work-item, a compute unit has two groups of 256. */
static const char *crowd_options(const struct ocl *ocl)
{
	char extensions[4096] = "";

	clGetDeviceInfo(ocl->id, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, NULL);
	return strstr(extensions, "cl_nv_compiler_options") ?
	       " -DVTA_CROWD -cl-nv-maxrregcount=128" : "";
}

/* VTADEV_OPENCL_OPTIONS are more options for the compiler, such as -DVTA_TASK. */
static int build(struct ocl *ocl, bool gpu)
{
	const char *source = vta_cl, *more = secure_getenv("VTADEV_OPENCL_OPTIONS");
	char options[OPTIONS_MAX];
	cl_int err;
	int n;

	n = kernels_options(&ocl->config, options, sizeof(options));
	snprintf(options + n, sizeof(options) - (size_t)n, " -cl-std=CL1.2%s%s %s",
		 gpu ? " -DVTA_GPU" : "", crowd_options(ocl), more ? more : "");
	ocl->rack.program = clCreateProgramWithSource(ocl->context, 1, &source, NULL, &err);
	if (err)
		return check_call(ocl, "clCreateProgramWithSource", err);
	err = clBuildProgram(ocl->rack.program, 1, &ocl->id, options, NULL, NULL);
	return err ? fail_build(ocl, err) : 0;
}

static int make_memory(struct ocl *ocl, struct vta_info *info)
{
	cl_ulong most = 0, all = 0;
	const cl_uint none = 0;
	cl_int err;

	clGetDeviceInfo(ocl->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	clGetDeviceInfo(ocl->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL);
	most = most < all / 4 ? most : all / 4;
	most = (most < ARENA_MAX ? most : ARENA_MAX) / VTA_PAGE_SIZE * VTA_PAGE_SIZE;
	info->mem_size = most;
	ocl->rack.arena = clCreateBuffer(ocl->context, CL_MEM_READ_WRITE, (size_t)most, NULL, &err);
	if (!err)
		ocl->rack.pages = clCreateBuffer(ocl->context, CL_MEM_READ_ONLY, PAGES_BYTES, NULL,
						 &err);
	if (!err)
		err = clEnqueueFillBuffer(ocl->queues[RUNS], ocl->rack.pages, &none, sizeof(none),
					  0, PAGES_BYTES, 0, NULL, NULL);
	return check_call(ocl, "clCreateBuffer", err);
}

/* As many cores as the compute units keep busy and memory has room for. */
static unsigned int count_cores(const struct ocl *ocl, cl_uint units, bool gpu)
{
	cl_ulong all = 0, most = 0, each = 0, largest = 1, n = gpu ? units * CORES_OF_UNIT : units;

	clGetDeviceInfo(ocl->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL);
	clGetDeviceInfo(ocl->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	for (unsigned int i = 0; i < KERNELS_BUFFERS; i++) {
		each += ocl->rack.sizes[i];
		largest = largest > ocl->rack.sizes[i] ? largest : ocl->rack.sizes[i];
	}
	/* Slots come in powers of two: half of them may be unused. */
	n = n < all / CORES_MEMORY / 2 / each ? n : all / CORES_MEMORY / 2 / each;
	n = n < most / 2 / largest ? n : most / 2 / largest;
	n = n < CORES_MAX ? n : CORES_MAX;
	return n ? (unsigned int)n : 1;
}

/* Writes a line once, on a terminal: pocl takes several times as long as soft on a processor. */
static void suggest_soft(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told) && isatty(STDERR_FILENO))
		fputs("libvtadev-opencl: this OpenCL device is the processor: the device soft is "
		      "faster on it\n", stderr);
}

static int make_device(struct ocl *ocl, struct vta_info *info)
{
	struct rack *rack = &ocl->rack;
	cl_device_type type = 0;
	cl_uint units = 1;
	bool gpu;
	cl_int err;
	int ret;

	ocl->context = clCreateContext(NULL, 1, &ocl->id, NULL, NULL, &err);
	for (unsigned int i = 0; i < QUEUES && !err; i++)
		ocl->queues[i] = clCreateCommandQueue(ocl->context, ocl->id, 0, &err);
	if (err)
		return check_call(ocl, "clCreateContext", err);
	clGetDeviceInfo(ocl->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	clGetDeviceInfo(ocl->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	gpu = type & CL_DEVICE_TYPE_GPU;
	if (type & CL_DEVICE_TYPE_CPU)
		suggest_soft();
	rack->context = ocl->context;
	rack->queue = ocl->queues[RUNS];
	rack->units = units;
	rack->wide_items = gpu ? (size_t)units * 1024 : units * 8;
	kernels_sizes(&ocl->config, rack->sizes);
	info->cores = (uint16_t)count_cores(ocl, units, gpu);
	ret = make_memory(ocl, info);
	if (!ret)
		ret = build(ocl, gpu);
	return ret ? ret : check_call(ocl, "clCreateKernel", rack_init(rack));
}

static void ocl_close(void *device)
{
	struct ocl *ocl = device;

	rack_destroy(&ocl->rack);
	for (unsigned int i = 0; i < QUEUES; i++)
		if (ocl->queues[i])
			clReleaseCommandQueue(ocl->queues[i]);
	if (ocl->rack.arena)
		clReleaseMemObject(ocl->rack.arena);
	if (ocl->rack.pages)
		clReleaseMemObject(ocl->rack.pages);
	if (ocl->rack.program)
		clReleaseProgram(ocl->rack.program);
	if (ocl->context)
		clReleaseContext(ocl->context);
	free(ocl);
}

/* "[PLATFORM.DEVICE][:]" and the path of a vta_config.json, if there is one. */
static int ocl_open(const char *args, struct vta_info *info, void **device, char *why,
		    size_t why_size)
{
	unsigned int platform = 0, number = 0;
	struct ocl *ocl = calloc(1, sizeof(*ocl));
	int used = 0, err;

	if (!ocl)
		return -ENOMEM;
	ocl->why = why;
	ocl->why_size = why_size;
	rack_prepare(&ocl->rack);
	if (sscanf(args, "%4u.%4u%n", &platform, &number, &used) != 2 ||
	    (args[used] && args[used] != ':')) {
		platform = 0;
		number = 0;
		used = 0;
	}
	args += used + (used && args[used] == ':');
	err = find_device(ocl, platform, number);
	if (!err)
		err = config_open(args, &ocl->config, info, why, why_size);
	if (!err)
		err = make_device(ocl, info);
	if (err) {
		ocl_close(ocl);
		return err;
	}
	ocl->why = NULL;
	*device = ocl;
	return 0;
}

/* ---- Memory ---- */

static int ocl_clear(void *device, uint64_t offset, size_t size)
{
	const struct ocl *ocl = device;
	const cl_uint none = 0;

	return check_call(ocl, "clEnqueueFillBuffer",
			  clEnqueueFillBuffer(ocl->queues[RUNS], ocl->rack.arena, &none,
					      sizeof(none), (size_t)offset, size, 0, NULL, NULL));
}

/* The kernels have the entries when this returns: between two of them. */
static int ocl_map(void *device, uint32_t first, size_t count, const uint32_t *entries)
{
	const struct ocl *ocl = device;
	cl_event done;
	cl_int err;

	err = clEnqueueWriteBuffer(ocl->queues[RUNS], ocl->rack.pages, CL_FALSE,
				   first * sizeof(*entries), count * sizeof(*entries), entries, 0,
				   NULL, &done);
	return check_call(ocl, "clEnqueueWriteBuffer",
			  err ? err : rack_wait(ocl->queues[RUNS], done));
}

/* Rows from place to place of the arena: one command would need the same pitch for both. */
static cl_int copy_inside(const struct ocl *ocl, cl_command_queue queue,
			  const struct vtadev_device_rows *r, cl_event *done)
{
	cl_int err = 0;

	for (size_t i = 0; i < r->rows && !err; i++)
		err = clEnqueueCopyBuffer(queue, ocl->rack.arena, ocl->rack.arena,
					  (size_t)r->src.offset + i * r->src.pitch,
					  (size_t)r->dst.offset + i * r->dst.pitch, r->width, 0,
					  NULL, i + 1 < r->rows ? NULL : done);
	return err;
}

static int ocl_copy(void *device, const struct vtadev_device_rows *r)
{
	const struct ocl *ocl = device;
	cl_command_queue queue = ocl->queues[r->width * r->rows < BULK ? WORDS : BULKS];
	const size_t none[3] = { 0 }, region[3] = { r->width, r->rows, 1 };
	const size_t to[3] = { (size_t)r->dst.offset }, from[3] = { (size_t)r->src.offset };
	cl_event done = NULL;	/* of no rows: there is none */
	cl_int err;

	if (r->dst.ptr)
		err = clEnqueueReadBufferRect(queue, ocl->rack.arena, CL_FALSE, from, none, region,
					      r->src.pitch, 0, r->dst.pitch, 0, r->dst.ptr, 0,
					      NULL, &done);
	else if (r->src.ptr)
		err = clEnqueueWriteBufferRect(queue, ocl->rack.arena, CL_FALSE, to, none, region,
					       r->dst.pitch, 0, r->src.pitch, 0, r->src.ptr, 0,
					       NULL, &done);
	else
		err = copy_inside(ocl, queue, r, &done);
	return check_call(ocl, "copy", err || !done ? err : rack_wait(queue, done));
}

/* ---- Cores ---- */

static int put_buffer(void *ptr, enum kernels_buffer buffer, const void *from, size_t size)
{
	struct core *core = ptr;

	return rack_put(&core->ocl->rack, &core->rack, buffer, from, size);
}

static int get_buffer(void *ptr, enum kernels_buffer buffer, void *to, size_t size)
{
	struct core *core = ptr;

	return rack_get(&core->ocl->rack, &core->rack, buffer, to, size);
}

static int zero(void *ptr, enum kernels_buffer buffer, size_t size)
{
	struct core *core = ptr;

	return rack_zero(&core->ocl->rack, &core->rack, buffer, size);
}

static int step(void *ptr, const struct vtadev_device_memory *memory, struct vta_state *state)
{
	struct core *core = ptr;

	return rack_step(&core->ocl->rack, &core->rack, memory, state);
}

static const struct kernels_ops kernels_ops = {
	.put = put_buffer, .get = get_buffer, .zero = zero, .step = step,
};

static void ocl_core_free(void *device, void *ptr)
{
	struct ocl *ocl = device;
	struct core *core = ptr;

	rack_leave(&ocl->rack, &core->rack);
	kernels_destroy(&core->kernels);
	free(core);
}

/* A slot of the rack, or -ENOMEM if the device has no memory for more: it goes on without it. */
static int enter_rack(struct ocl *ocl, struct rack_core *core)
{
	cl_int err = rack_enter(&ocl->rack, core);
	size_t bytes = 0;

	if (err != CL_MEM_OBJECT_ALLOCATION_FAILURE && err != CL_OUT_OF_RESOURCES &&
	    err != CL_OUT_OF_HOST_MEMORY)
		return check_call(ocl, "core", err);
	for (unsigned int i = 0; i < KERNELS_BUFFERS; i++)
		bytes += ocl->rack.sizes[i];
	fprintf(stderr, "libvtadev-opencl: no memory for over %u cores of %zu bytes: %s (%d)\n",
		ocl->rack.room, bytes, error_text(err), err);
	return -ENOMEM;
}

static int ocl_core_new(void *device, void **out)
{
	struct core *core = calloc(1, sizeof(*core));
	struct ocl *ocl = device;
	int err;

	if (!core)
		return -ENOMEM;
	core->ocl = ocl;
	err = kernels_init(&core->kernels, &ocl->config, &kernels_ops, core);
	if (!err)
		err = enter_rack(ocl, &core->rack);
	if (err) {
		kernels_destroy(&core->kernels);
		free(core);
		return err;
	}
	err = check_call(ocl, "core", kernels_clear(&core->kernels));
	if (err) {
		ocl_core_free(device, core);
		return err;
	}
	*out = core;
	return 0;
}

static int ocl_run(void *device, void *ptr, const struct vtadev_device_run *run,
		   struct vtadev_device_result *result)
{
	struct core *core = ptr;

	return check_call(device, "run", kernels_run(&core->kernels, run, result));
}

const struct vtadev_device_ops vtadev_device_plugin = {
	.version = VTADEV_DEVICE_VERSION,
	.name = "opencl",
	.about = "a VTA core on any OpenCL 1.2 device",
	.list = ocl_list,
	.open = ocl_open,
	.close = ocl_close,
	.core_new = ocl_core_new,
	.core_free = ocl_core_free,
	.run = ocl_run,
	.clear = ocl_clear,
	.map = ocl_map,
	.copy = ocl_copy,
};
