/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_harness.h - the limit of a test in the kernel's harness
 *
 * To be included behind kselftest_harness.h. The limit only ends a test that hangs. The harness
 * says 30 s, but on the kernel "debug", emulated on a busy machine, tests have taken 60 times as
 * long as elsewhere.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	900
