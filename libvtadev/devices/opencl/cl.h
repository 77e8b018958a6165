/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl.h - OpenCL's header, of the version that the device uses
 */
#ifndef VTA_DEVICES_OPENCL_CL_H
#define VTA_DEVICES_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION	120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#endif /* VTA_DEVICES_OPENCL_CL_H */
