/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test.h - cmocka, with what it wants included before
 */
#ifndef TESTS_LIB_TEST_H
#define TESTS_LIB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif /* TESTS_LIB_TEST_H */
