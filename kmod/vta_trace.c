// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_trace.c - the tracepoints' code, which vta_trace.h generates
 */
#define CREATE_TRACE_POINTS
#include "vta_trace.h"
