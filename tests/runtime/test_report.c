// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_report.c - libvta_driver's error messages and their rate limit, by a clock that the test
 * sets
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "catch.h"
#include "report.h"

static time_t now = 1000;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec) { .tv_sec = now };
	return 0;
}

/* Advance the clock beyond all limits of the last test. */
static int setup(void **state)
{
	(void)state;
	now += 1000;
	return 0;
}

#define CLOCK void *unused, setup, NULL

static void expect(const char *said)
{
	char *text = catch_end();

	assert_string_equal(text, said);
	free(text);
}

TEST_F(CLOCK, the_same_error_is_reported_once_a_minute)
{
	catch_begin();
	for (unsigned int i = 0; i < 5; i++)
		report("no card %d", 7);
	expect("vta_driver: no card 7\n");
	catch_begin();
	now += REPORT_AGAIN_S - 1;
	report("no card 7");
	expect("");
	catch_begin();
	now++;
	report("no card 7");
	report("no card 8");
	expect("vta_driver: no card 7 (and 5 times since this was said last)\n"
	       "vta_driver: no card 8\n");
}

/* The messages differ, as those of a program that is wrong in a loop. */
TEST_F(CLOCK, many_are_limited_and_counted)
{
	char *text;

	catch_begin();
	for (unsigned int i = 0; i < 1000; i++)
		report("bad address %u", i);
	text = catch_end();
	assert_int_equal(times_in(text, "bad address"), REPORT_MOST);
	assert_int_equal(times_in(text, "more messages are left out"), 1);
	free(text);

	/* After that, messages are printed again, with the number of those left out. */
	now += REPORT_SPAN_S;
	catch_begin();
	report("bad address 5000");
	text = catch_end();
	assert_string_equal(text, "vta_driver: 936 more messages were left out\n"
			    "vta_driver: bad address 5000\n");
	free(text);

	/* A message that was left out is no repetition. */
	catch_begin();
	report("bad address 999");
	expect("vta_driver: bad address 999\n");
}

TEST_F(CLOCK, it_is_never_silent_for_ever)
{
	unsigned int said = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		char *text;

		now++;
		catch_begin();
		report("error %u", i);
		text = catch_end();
		said += times_in(text, "error ");
		free(text);
	}
	assert_int_equal(said, 1000);
}

TEST_F(CLOCK, the_end_of_the_program_says_what_was_left_out)
{
	int status;
	char *text;
	pid_t pid;

	catch_begin();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (unsigned int i = 0; i < REPORT_MOST + 3; i++)
			report("the last %u", i);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	text = catch_end();
	assert_int_equal(times_in(text, "vta_driver: 3 more messages were left out\n"), 1);
	free(text);
}
