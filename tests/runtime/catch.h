/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * catch.h - what stderr says
 */
#ifndef TESTS_RUNTIME_CATCH_H
#define TESTS_RUNTIME_CATCH_H

/* The text on stderr since catch_begin(); the caller frees it. */
void catch_begin(void);
char *catch_end(void);
/* How often @what is in @text. */
unsigned int times_in(const char *text, const char *what);

#endif /* TESTS_RUNTIME_CATCH_H */
