/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rig.h - what the tests of libvta_driver on a card share
 */
#ifndef TESTS_RUNTIME_RIG_H
#define TESTS_RUNTIME_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catch.h"
#include "runtime.h"

/* Whether VTADEV_DEVICE said at the start that this runs on a device in the process. */
bool on_device(void);
/* Skips the test there, and says what it needs that only the kernel has. */
void needs_card(const char *what);
/* Skips the test on a device whose library does not survive fork(). */
void needs_fork(void);

/* A file of a card in sysfs, as a number. */
unsigned long card_value(unsigned int card, const char *name);
/* A function level reset of the first card, as an administrator asks for it. */
void card_reset(void);
/* Bind the driver to a card, or unbind it. */
void driver_write(const char *what, const char *pci);

/* Operands and result of one product, with a pattern that depends on @seed. */
struct operands {
	int8_t *inp, *wgt, *out;	/* VTAMemAlloc() */
	struct rt_product product;
	int8_t *expected;
	size_t out_bytes;
};

void operands_make(struct operands *o, const struct core *core, unsigned int seed);
void operands_free(struct operands *o);
/* Whether out is what @kernel makes of inp and wgt; then out is cleared. */
bool operands_check(struct operands *o, const struct core *core, enum rt_kernel kernel);

#endif /* TESTS_RUNTIME_RIG_H */
