// SPDX-License-Identifier: Apache-2.0
/*
 * The part of TVM's headers that functions of its C code generator include and call: the layouts of
 * its packed-function calls, and of DLPack, with memory from the caller.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tvm.h"

static const char runtime_api[] =
"/* Arguments and results of functions that TVM generates; made by vtac. */\n"
"#ifndef VTAC_C_RUNTIME_API_H\n"
"#define VTAC_C_RUNTIME_API_H\n"
"\n"
"#include <stddef.h>\n"
"#include <stdint.h>\n"
"\n"
"#ifdef __cplusplus\n"
"#define TVM_EXTERN_C extern \"C\"\n"
"extern \"C\" {\n"
"#else\n"
"#define TVM_EXTERN_C\n"
"#endif\n"
"\n"
"#define TVM_DLL\n"
"#define TVM_WEAK __attribute__((weak))\n"
"#define TVM_RUNTIME_ALLOC_ALIGNMENT_BYTES 64\n"
"\n"
"/* DLPack */\n"
"typedef struct {\n"
"\tint32_t device_type, device_id;\n"
"} DLDevice;\n"
"\n"
"typedef struct {\n"
"\tuint8_t code, bits;\n"
"\tuint16_t lanes;\n"
"} DLDataType;\n"
"\n"
"typedef struct {\n"
"\tvoid *data;\n"
"\tDLDevice device;\n"
"\tint32_t ndim;\n"
"\tDLDataType dtype;\n"
"\tint64_t *shape, *strides;\n"
"\tuint64_t byte_offset;\n"
"} DLTensor;\n"
"\n"
"enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 };\n"
"enum { kDLCPU = 1 };\n"
"\n"
"typedef DLDevice TVMDevice;\n"
"typedef void *TVMArrayHandle, *TVMFunctionHandle, *TVMModuleHandle;\n"
"\n"
"/* An argument, and its type */\n"
"typedef union {\n"
"\tint64_t v_int64;\n"
"\tdouble v_float64;\n"
"\tvoid *v_handle;\n"
"\tconst char *v_str;\n"
"\tDLDataType v_type;\n"
"\tDLDevice v_device;\n"
"} TVMValue;\n"
"\n"
"enum {\n"
"\tkTVMArgInt = 0, kTVMArgFloat = 2, kTVMOpaqueHandle = 3, kTVMNullptr = 4,\n"
"\tkTVMDLTensorHandle = 7, kTVMStr = 11, kTVMNDArrayHandle = 13,\n"
"};\n"
"\n"
"void TVMAPISetLastError(const char *why);\n"
"\n"
"#ifdef __cplusplus\n"
"}\n"
"#endif\n"
"\n"
"#endif\n";

static const char backend_api[] =
"/* Called by functions that TVM generates; made by vtac. */\n"
"#ifndef VTAC_C_BACKEND_API_H\n"
"#define VTAC_C_BACKEND_API_H\n"
"\n"
"#include \"tvm/runtime/c_runtime_api.h\"\n"
"\n"
"#ifdef __cplusplus\n"
"extern \"C\" {\n"
"#endif\n"
"\n"
"typedef int (*TVMBackendPackedCFunc)(TVMValue *args, int *type_codes, int num_args,\n"
"\t\t\t\t     TVMValue *out_ret_value, int *out_ret_tcode,\n"
"\t\t\t\t     void *resource_handle);\n"
"\n"
"/* Memory until it is freed, the last one first; NULL if there is no more. */\n"
"void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes,\n"
"\t\t\t       int dtype_code_hint, int dtype_bits_hint);\n"
"int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr);\n"
"\n"
"/* Tasks are done one after the other. */\n"
"typedef struct {\n"
"\tvoid *sync_handle;\n"
"\tint32_t num_task;\n"
"} TVMParallelGroupEnv;\n"
"typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv *penv, void *cdata);\n"
"int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void *cdata, int num_task);\n"
"int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv);\n"
"\n"
"#ifdef __cplusplus\n"
"}\n"
"#endif\n"
"\n"
"#endif\n";

static const char backend[] =
"/* Called by functions that TVM generates, without an operating system; made by vtac. */\n"
"#include \"tvm/runtime/c_backend_api.h\"\n"
"#include \"scratch.h\"\n"
"\n"
"/* A stack: functions free in the reverse order of allocating. */\n"
"static struct tvm_scratch scratch;\n"
"\n"
"void tvm_scratch_use(void *memory, uint64_t size)\n"
"{\n"
"\tscratch = (struct tvm_scratch) { memory, size, 0 };\n"
"}\n"
"\n"
"void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes,\n"
"\t\t\t       int dtype_code_hint, int dtype_bits_hint)\n"
"{\n"
"\tuint64_t at = scratch.used;\n"
"\n"
"\t(void)device_type;\n"
"\t(void)device_id;\n"
"\t(void)dtype_code_hint;\n"
"\t(void)dtype_bits_hint;\n"
"\tif (nbytes > scratch.size - at)\n"
"\t\treturn NULL;\n"
"\tnbytes = (nbytes + 63) & ~(uint64_t)63;\n"
"\tscratch.used = nbytes > scratch.size - at ? scratch.size : at + nbytes;\n"
"\treturn scratch.memory + at;\n"
"}\n"
"\n"
"int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr)\n"
"{\n"
"\t(void)device_type;\n"
"\t(void)device_id;\n"
"\tscratch.used = (uint64_t)((uint8_t *)ptr - scratch.memory);\n"
"\treturn 0;\n"
"}\n"
"\n"
"int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void *cdata, int num_task)\n"
"{\n"
"\tTVMParallelGroupEnv env = { NULL, 1 };\n"
"\n"
"\t(void)num_task;\n"
"\treturn flambda(0, &env, cdata);\n"
"}\n"
"\n"
"int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv)\n"
"{\n"
"\t(void)task_id;\n"
"\t(void)penv;\n"
"\treturn 0;\n"
"}\n"
"\n"
"void TVMAPISetLastError(const char *why)\n"
"{\n"
"\t(void)why;\n"
"}\n";

static const char scratch[] =
"/* Memory that the functions of one run share; made by vtac. */\n"
"#include <stdint.h>\n"
"\n"
"struct tvm_scratch {\n"
"\tuint8_t *memory;\n"
"\tuint64_t size, used;\n"
"};\n"
"\n"
"void tvm_scratch_use(void *memory, uint64_t size);\n";

static int put_file(struct vtac_emit_files *files, const char *name, const char *text)
{
	FILE *f = vtac_emit_open(files, name);

	if (!f)
		return -1;
	fputs(text, f);
	return 0;
}

int tvm_emit_api(struct vtac_emit_files *files)
{
	char path[4096];

	for (unsigned int i = 0; i < 3; i++) {
		static const char * const below[] = { "", "/tvm", "/tvm/runtime" };

		if ((size_t)snprintf(path, sizeof(path), "%s%s", files->dir, below[i]) >=
		    sizeof(path) || (mkdir(path, 0777) && errno != EEXIST))
			return tvm_fail(files->error, "%.200s%s: %s.", files->dir, below[i],
					strerror(errno));
	}
	return put_file(files, "tvm/runtime/c_runtime_api.h", runtime_api) ||
	       put_file(files, "tvm/runtime/c_backend_api.h", backend_api) ||
	       put_file(files, "scratch.h", scratch) || put_file(files, "backend.c", backend) ?
	       -1 : 0;
}
