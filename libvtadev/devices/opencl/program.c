// SPDX-License-Identifier: GPL-2.0-only
/*
 * program.c - which OpenCL device is meant, and vta.cl built for it
 *
 * What the compiler made is kept in $XDG_CACHE_HOME/vtadev, a file for each source, set of
 * options, device and driver: their hash is its name. A file that is not whole, or that
 * the driver does not take, is made anew. VTADEV_OPENCL_OPTIONS are more options for the
 * compiler, such as -DVTA_TASK.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl.h"
#include "vta.h"

#define PLATFORMS_MAX	16u
#define DEVICES_MAX	64u
#define BINARY_MAX	((size_t)64 << 20)
#define OPTIONS_MAX	1024
#define LOG_MAX		65536
/* What the loader says without a driver: CL_PLATFORM_NOT_FOUND_KHR of cl_khr_icd. */
#define NO_PLATFORM	(-1001)

/* The build says where vta.cl is with what it includes; an analyser need not know. */
#ifndef VTA_CL
#define VTA_CL "/dev/null"
#endif

/* That file, as a string. */
__asm__(".section .rodata\n"
	".global vta_cl\n.hidden vta_cl\n"
	"vta_cl: .incbin \"" VTA_CL "\"\n"
	".byte 0\n"
	".previous\n");
extern const char vta_cl[];

/* In front of a cached program. */
struct header {
	uint64_t key;		/* of what it was made of */
	uint64_t sum;		/* of the bytes behind */
	uint64_t size;		/* their number */
};

static const char *error_text(cl_int err)
{
	switch (err) {
	case CL_DEVICE_NOT_FOUND:
		return "there is no such device";
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
	case CL_INVALID_BUFFER_SIZE:
		return "the device has no buffers of that size";
	case NO_PLATFORM:
		return "there is no OpenCL driver: install one, such as pocl-opencl-icd";
	default:
		return "the OpenCL driver reports an error";
	}
}

int program_fail(const struct why *why, const char *function, cl_int err)
{
	snprintf(why->text, why->size, "%s: %s (%d)", function, error_text(err), err);
	return -ENODEV;
}

int program_lose(const char *function, cl_int err)
{
	if (!err)
		return 0;
	fprintf(stderr, "libvtadev-opencl: %s: %s (%d): the device is lost\n", function,
		error_text(err), err);
	return -ENODEV;
}

/* ---- Devices ---- */

static cl_uint platforms(cl_platform_id *ids, cl_int *err)
{
	cl_uint count = 0;

	*err = clGetPlatformIDs(PLATFORMS_MAX, ids, &count);
	return *err ? 0 : count < PLATFORMS_MAX ? count : PLATFORMS_MAX;
}

static cl_uint devices(cl_platform_id platform, cl_device_id *ids)
{
	cl_uint count = 0;

	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &count))
		return 0;
	return count < DEVICES_MAX ? count : DEVICES_MAX;
}

bool program_nth(unsigned int i, unsigned int *platform, unsigned int *device)
{
	cl_platform_id all[PLATFORMS_MAX];
	cl_device_id some[DEVICES_MAX];
	cl_uint count, n;
	cl_int err;

	count = platforms(all, &err);
	for (*platform = 0; *platform < count; ++*platform, i -= n) {
		n = devices(all[*platform], some);
		*device = i;
		if (i < n)
			return true;
	}
	return false;
}

int program_find(unsigned int platform, unsigned int device, cl_device_id *id,
		 const struct why *why)
{
	cl_platform_id all[PLATFORMS_MAX];
	cl_device_id some[DEVICES_MAX];
	cl_uint count, n = 0;
	cl_int err;

	count = platforms(all, &err);
	if (err || !count) {
		program_fail(why, "clGetPlatformIDs", err ? err : NO_PLATFORM);
		return -ENOENT;
	}
	if (platform < count)
		n = devices(all[platform], some);
	if (device < n) {
		*id = some[device];
		return 0;
	}
	snprintf(why->text, why->size, "there is no OpenCL device %u.%u: vtactl list --all names "
		 "those that there are", platform, device);
	return -ENOENT;
}

/* ---- The cache ---- */

/* FNV-1a. */
static uint64_t hash(uint64_t h, const void *bytes, size_t len)
{
	for (const unsigned char *p = bytes; len; len--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t key_of(cl_device_id id, const char *options)
{
	static const cl_device_info infos[] = {
		CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
	};
	uint64_t h = hash(UINT64_C(0xcbf29ce484222325), vta_cl, strlen(vta_cl));
	char text[1024];
	size_t size;

	h = hash(h, options, strlen(options) + 1);
	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		size = 0;
		if (!clGetDeviceInfo(id, infos[i], sizeof(text), text, &size))
			h = hash(h, text, size);
	}
	return h;
}

/* The file for a key, in a directory that is made if it is not there; false: no cache. */
static bool cache_path(uint64_t key, char *path, size_t size)
{
	const char *dir = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int len;

	if (dir && *dir == '/')
		len = snprintf(path, size, "%s", dir);
	else if (home && *home == '/')
		len = snprintf(path, size, "%s/.cache", home);
	else
		return false;
	if (len < 0 || (size_t)len + 64 > size)
		return false;
	mkdir(path, 0700);
	len += snprintf(path + len, size - (size_t)len, "/vtadev");
	mkdir(path, 0700);
	snprintf(path + len, size - (size_t)len, "/opencl-%016llx", (unsigned long long)key);
	return true;
}

/* The program's bytes behind a header that fits them; NULL if there is no such file. */
static unsigned char *cache_read(const char *path, uint64_t key, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned char *bytes = NULL;
	struct header header;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 0022) && read(fd, &header, sizeof(header)) == sizeof(header) &&
	    header.key == key && header.size && header.size < BINARY_MAX) {
		*size = header.size;
		bytes = malloc(*size);
		if (bytes && (read(fd, bytes, *size) != (ssize_t)*size ||
			      hash(key, bytes, *size) != header.sum)) {
			free(bytes);
			bytes = NULL;
		}
	}
	close(fd);
	return bytes;
}

/* A file of its own that becomes the cache's when it is whole. */
static void cache_write(const char *path, uint64_t key, const unsigned char *bytes, size_t size)
{
	const struct header header = { key, hash(key, bytes, size), size };
	char new[4096];
	bool good;
	int fd;

	if (snprintf(new, sizeof(new), "%s.XXXXXX", path) >= (int)sizeof(new))
		return;
	fd = mkostemp(new, O_CLOEXEC);
	if (fd < 0)
		return;
	good = write(fd, &header, sizeof(header)) == sizeof(header) &&
	       write(fd, bytes, size) == (ssize_t)size;
	good = !close(fd) && good;
	if (!good || rename(new, path))
		unlink(new);
}

static void keep(cl_program program, const char *path, uint64_t key)
{
	unsigned char *bytes;
	size_t size = 0;

	/* One device, so one binary. */
	if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) ||
	    !size || size >= BINARY_MAX)
		return;
	bytes = malloc(size);
	if (!bytes)
		return;
	if (!clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL))
		cache_write(path, key, bytes, size);
	free(bytes);
}

/* ---- Building ---- */

static void options_for(cl_device_id id, const struct core_config *c, char *text, size_t size)
{
	const char *more = secure_getenv("VTADEV_OPENCL_OPTIONS");
	cl_device_type type = 0;

	clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	snprintf(text, size, "-cl-std=CL1.2 -DLOG_INP_WIDTH=%u -DLOG_WGT_WIDTH=%u -DLOG_BATCH=%u "
		 "-DLOG_BLOCK=%u -DLOG_UOP_BUFF=%u -DLOG_INP_BUFF=%u -DLOG_WGT_BUFF=%u "
		 "-DLOG_ACC_BUFF=%u -DFAULT_INSN=%d -DFAULT_BOUNDS=%d -DFAULT_CYCLES=%d "
		 "-DFAULT_DEADLOCK=%d%s %s",
		 c->log_inp_width, c->log_wgt_width, c->log_batch, c->log_block,
		 c->log_uop_buff_size, c->log_inp_buff_size, c->log_wgt_buff_size,
		 c->log_acc_buff_size, VTA_FAULT_INSN, VTA_FAULT_BOUNDS, VTA_FAULT_CYCLES,
		 VTA_FAULT_DEADLOCK, type & CL_DEVICE_TYPE_GPU ? " -DVTA_GPU" : "",
		 more ? more : "");
}

/* The line of the compiler's log that says what is wrong. */
static int fail_build(cl_program *program, cl_device_id id, cl_int err, const struct why *why)
{
	char *log = calloc(1, LOG_MAX), *line;

	program_fail(why, "clBuildProgram", err);
	if (log && !clGetProgramBuildInfo(*program, id, CL_PROGRAM_BUILD_LOG, LOG_MAX - 1, log,
					  NULL) && *log) {
		line = strstr(log, "error");
		line = line ? line : log;
		line[strcspn(line, "\n")] = '\0';
		snprintf(why->text, why->size, "clBuildProgram: %s: %.100s", error_text(err),
			 line);
	}
	free(log);
	clReleaseProgram(*program);
	*program = NULL;
	return -ELIBBAD;
}

/* NULL: the cache has none that the driver takes. */
static cl_program from_cache(cl_context context, cl_device_id id, const char *path, uint64_t key,
			     const char *options)
{
	cl_program program = NULL;
	unsigned char *bytes;
	cl_int err, status;
	size_t size = 0;

	bytes = cache_read(path, key, &size);
	if (!bytes)
		return NULL;
	program = clCreateProgramWithBinary(context, 1, &id, &size,
					    (const unsigned char **)&bytes, &status, &err);
	free(bytes);
	if (err)
		return NULL;
	if (!clBuildProgram(program, 1, &id, options, NULL, NULL))
		return program;
	clReleaseProgram(program);
	return NULL;
}

int program_build(cl_context context, cl_device_id id, const struct core_config *config,
		  cl_program *program, const struct why *why)
{
	const char *source = vta_cl;
	char options[OPTIONS_MAX], path[4000];
	uint64_t key;
	bool cached;
	cl_int err;

	options_for(id, config, options, sizeof(options));
	key = key_of(id, options);
	cached = cache_path(key, path, sizeof(path));
	*program = cached ? from_cache(context, id, path, key, options) : NULL;
	if (*program)
		return 0;
	*program = clCreateProgramWithSource(context, 1, &source, NULL, &err);
	if (err)
		return program_fail(why, "clCreateProgramWithSource", err);
	err = clBuildProgram(*program, 1, &id, options, NULL, NULL);
	if (err)
		return fail_build(program, id, err, why);
	if (cached)
		keep(*program, path, key);
	return 0;
}
