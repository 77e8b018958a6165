// SPDX-License-Identifier: GPL-2.0-only
/* isa_rtl.c - has the cases of tests/emu run on the core's RTL (isa_bench.h) */

#include "isa_bench.h"
#include "rtl.h"

static void __attribute__((constructor(2000))) choose_rtl(void)
{
	isa_model = rtl_model;
}
