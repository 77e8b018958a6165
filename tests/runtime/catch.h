/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * catch.h - what stderr says
 */
#ifndef TESTS_RUNTIME_CATCH_H
#define TESTS_RUNTIME_CATCH_H

/* What stderr says from catch_begin() on; the text is the caller's to free. */
void catch_begin(void);
char *catch_end(void);
/* How often @what is in @text. */
unsigned int times_in(const char *text, const char *what);

#endif /* TESTS_RUNTIME_CATCH_H */
