// SPDX-License-Identifier: GPL-2.0-only
/*
 * catch.c - capture stderr
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "catch.h"

static int caught = -1, real_stderr = -1;

void catch_begin(void)
{
	fflush(stderr);
	caught = memfd_create("stderr", MFD_CLOEXEC);
	real_stderr = dup(STDERR_FILENO);
	assert_true(caught >= 0 && real_stderr >= 0);
	assert_true(dup2(caught, STDERR_FILENO) >= 0);
}

char *catch_end(void)
{
	off_t size;
	char *text;

	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	size = lseek(caught, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(pread(caught, text, (size_t)size, 0), size);
	close(caught);
	return text;
}

unsigned int times_in(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}
