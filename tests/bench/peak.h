/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * peak.h - how many multiplications a second a device can do, by kernels that do nothing else
 */
#ifndef TESTS_BENCH_PEAK_H
#define TESTS_BENCH_PEAK_H

#define CL_TARGET_OPENCL_VERSION	120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

struct peak {
	double int8, int32;	/* multiply-adds a second */
};

/* One thread of the host, which is what soft computes on. @ns: for how long to measure. */
struct peak peak_host(double ns);

/* All of an OpenCL device. */
struct peak peak_opencl(cl_device_id id, double ns);

#endif /* TESTS_BENCH_PEAK_H */
