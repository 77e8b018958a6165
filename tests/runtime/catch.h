/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * catch.h - capture stderr
 */
#ifndef TESTS_RUNTIME_CATCH_H
#define TESTS_RUNTIME_CATCH_H

/* Return the text written to stderr since catch_begin(); the caller frees it. */
void catch_begin(void);
char *catch_end(void);
/* Count the occurrences of @what in @text. */
unsigned int times_in(const char *text, const char *what);

#endif /* TESTS_RUNTIME_CATCH_H */
