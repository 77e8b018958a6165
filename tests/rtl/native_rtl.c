// SPDX-License-Identifier: GPL-2.0-only
/* native_rtl.c - has the compiler's programs of tests/vtac/programs run on the core's RTL */

#include "programs.h"
#include "rtl.h"

static void __attribute__((constructor(2000))) choose_rtl(void)
{
	native_model = rtl_model;
}
