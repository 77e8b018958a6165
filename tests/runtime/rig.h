/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rig.h - helpers of the tests of libvta_driver on a card
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

/* Return true if VTADEV_DEVICE named a device in the process at the start. */
bool on_device(void);
/* Skip the test on such a device: it needs @what, which only the kernel has. */
void needs_card(const char *what);
/* Skip the test on a device whose library does not survive fork(). */
void needs_fork(void);

/* Read a number from a card's file in sysfs. */
unsigned long card_value(unsigned int card, const char *name);
/* Reset the first card's function through sysfs. */
void card_reset(void);
/* Bind or unbind the driver: @what is the file in sysfs. */
void driver_write(const char *what, const char *pci);

/* Check that stderr had one line in all, with @cause in it. Frees @text. */
void assert_said_once(char *text, const char *cause);

/* Operands and result of one product, with a pattern that depends on @seed. */
struct operands {
	int8_t *inp, *wgt, *out;	/* VTAMemAlloc() */
	struct rt_product product;
	int8_t *expected;
	size_t out_bytes;
};

void operands_make(struct operands *o, const struct core *core, unsigned int seed);
void operands_free(struct operands *o);
/* Compare out with the CPU's product by @kernel, and clear it. */
bool operands_check(struct operands *o, const struct core *core, enum rt_kernel kernel);

#endif /* TESTS_RUNTIME_RIG_H */
