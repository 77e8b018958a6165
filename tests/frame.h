/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * frame.h - tests that register themselves, and the main() that runs them by cmocka
 *
 * TEST(name) { ... } is a test, TEST_F(FIXTURE, name) { ... } one with a set-up and a tear-down.
 * A fixture is a macro of three: the tests' argument, which the set-up leaves in *state, and the
 * two functions, or NULL:
 *
 *	#define RIG struct rig *r, rig_setup, rig_teardown
 *
 * GROUP(setup, teardown); runs these before the first test and after the last one. Tests run in
 * the order of the file. A pattern as the program's argument selects tests by their names; !PATTERN
 * selects the others.
 */
#ifndef TESTS_FRAME_H
#define TESTS_FRAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct CMUnitTest frame_tests[64];
static size_t frame_count;
static CMFixtureFunction frame_setup, frame_teardown;

#define GROUP(setup, teardown) \
	static CMFixtureFunction frame_setup = (setup), frame_teardown = (teardown)

#define TEST(test)		FRAME_TEST(test, void *unused, NULL, NULL)
#define TEST_F(fixture, test)	FRAME_TEST(test, fixture)
#define FRAME_TEST(...)		FRAME_REGISTER(__VA_ARGS__)

/* A constructor's priority is its place in the file. */
#define FRAME_REGISTER(test, argument, setup, teardown) \
	static void test(argument); \
	static void frame_run_##test(void **frame_state) \
	{ \
		test(*frame_state); \
	} \
	static void __attribute__((constructor(1000 + __COUNTER__))) frame_add_##test(void) \
	{ \
		assert_in_range(frame_count, 0, sizeof(frame_tests) / sizeof(*frame_tests) - 1); \
		frame_tests[frame_count++] = (struct CMUnitTest){ \
			#test, frame_run_##test, setup, teardown, NULL \
		}; \
	} \
	static void test(argument __attribute__((unused)))

/* Runs the tests whose names match @pattern, or all. */
static int frame_run(const char *pattern)
{
	if (pattern && *pattern == '!')
		cmocka_set_skip_filter(pattern + 1);
	else if (pattern)
		cmocka_set_test_filter(pattern);
	return _cmocka_run_group_tests("tests", frame_tests, frame_count, frame_setup,
				       frame_teardown);
}

/* A test that takes arguments of its own defines FRAME_NO_MAIN. */
#ifndef FRAME_NO_MAIN
int main(int argc, char **argv)
{
	return frame_run(argc > 1 ? argv[1] : NULL);
}
#endif

#endif /* TESTS_FRAME_H */
