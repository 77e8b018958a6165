// SPDX-License-Identifier: GPL-2.0-only
/*
 * kept.c - the core's state is kept for each handle, as vta/driver.h promises: tokens, micro-ops
 * and tensors, while another handle or another process runs, and on cards that run the core's
 * modules in each of the three orders
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

/* Least numbers of a test with two processes: rounds, and switches between the two. */
#define ROUNDS		40
#define SWITCHES	40

static struct vta_info info;
static unsigned int card;

/* ---- A round: true if all results are right ---- */

/*
 * Run a dense layer as TVM compiles it: the next run begins by popping the last tokens of
 * this one, after VTADeviceRun().
 */
static bool token_round(struct rt_queue *q, struct operands *o, unsigned int i)
{
	if (i)
		rt_push_pops(q);
	rt_push_open_product(q, &o->product, i % RT_KERNELS);
	return !rt_run(q, RT_FOREVER) && operands_check(o, &q->core, i % RT_KERNELS);
}

static bool load(struct rt_queue *q, const struct operands *o)
{
	rt_push(q, insn_load(VTA_ISA_WGT, 0, o->product.wgt / q->core.wgt_bytes, 1, 1));
	rt_push(q, insn_load(VTA_ISA_INP, 0, o->product.inp / q->core.inp_bytes, 1, RT_ROWS));
	return !rt_run(q, RT_FOREVER);
}

static bool multiply(struct rt_queue *q, enum rt_kernel kernel)
{
	struct vta_isa_loop loops = {
		.uop_bgn = rt_place(q, kernel), .uop_end = rt_place(q, kernel) + RT_ROWS,
		.reset = 1, .iter_out = 1, .iter_in = 1,
	};

	rt_push(q, insn_gemm(&q->core, 0, &loops));
	loops.reset = 0;
	rt_push(q, insn_gemm(&q->core, 0, &loops));
	return !rt_run(q, RT_FOREVER);
}

static bool store(struct rt_queue *q, struct operands *o, enum rt_kernel kernel)
{
	rt_push(q, insn_store(VTA_ISA_OUT, 0, o->product.out / q->core.inp_bytes, 1, RT_ROWS));
	return !rt_run(q, RT_FOREVER) && operands_check(o, &q->core, kernel);
}

/* Divide one operator among runs, as TVM's runtime does when its buffers overflow (AutoSync). */
static bool split_round(struct rt_queue *q, struct operands *o, unsigned int i)
{
	enum rt_kernel kernel = i % RT_KERNELS;

	if (i < RT_KERNELS) {
		/* A product of its own loads the kernel. */
		rt_push_product(q, &o->product, kernel);
		if (rt_run(q, RT_FOREVER) || !operands_check(o, &q->core, kernel))
			return false;
	}
	o->inp[i % o->out_bytes]++;
	o->wgt[i]++;
	return load(q, o) && multiply(q, kernel) && store(q, o, kernel);
}

typedef bool (*round_fn)(struct rt_queue *q, struct operands *o, unsigned int i);

/* ---- Two processes ---- */

/* In a child, before the parent's first call: do rounds until the parent hangs up. */
static pid_t start_neighbour(round_fn round, int *hang_up)
{
	struct operands o;
	struct rt_queue q;
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid) {
		close(ends[0]);
		*hang_up = ends[1];
		return pid;
	}
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (!rt_open(&q, &info))
		_exit(1);
	operands_make(&o, &q.core, 40);
	for (unsigned int i = 0; read(ends[0], &byte, 1) < 0; i++)
		if (!round(&q, &o, i))
			_exit(2);
	operands_free(&o);
	rt_close(&q);
	_exit(0);
}

static void two_processes(round_fn round)
{
	unsigned long before = card_value(card, "counters/state_restores");
	struct operands o;
	struct rt_queue q;
	int hang_up, status;
	pid_t pid = start_neighbour(round, &hang_up);

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 50);
	for (unsigned int i = 0;
	     i < ROUNDS || card_value(card, "counters/state_restores") < before + SWITCHES; i++) {
		assert_true(round(&q, &o, i));
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	}
	operands_free(&o);
	rt_close(&q);
	close(hang_up);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void tokens_cross_the_runs_of_two_processes(void **state)
{
	(void)state;
	two_processes(token_round);
}

static void operators_in_many_runs_of_two_processes(void **state)
{
	(void)state;
	two_processes(split_round);
}

/* ---- One process ---- */

/* Run 1 pushes, run 2 is a FINISH that pops. TVM's functional simulator returns 0, 0. */
static void a_token_is_there_for_the_next_run(void **state)
{
	struct rt_queue q[2];

	(void)state;
	assert_true(rt_open(&q[0], &info));
	assert_true(rt_open(&q[1], &info));
	rt_push(&q[0], insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	assert_int_equal(rt_run(&q[0], RT_FOREVER), 0);
	/* The other handle does not get the token. */
	catch_begin();
	rt_push(&q[1], insn_finish(VTA_ISA_POP_PREV));
	assert_int_equal(rt_run(&q[1], RT_FOREVER), 2);
	free(catch_end());
	rt_push(&q[0], insn_finish(VTA_ISA_POP_PREV));
	assert_int_equal(rt_run(&q[0], RT_FOREVER), 0);
	/* There is no second token. */
	catch_begin();
	rt_push(&q[0], insn_finish(VTA_ISA_POP_PREV));
	assert_int_equal(rt_run(&q[0], RT_FOREVER), 2);
	free(catch_end());
	rt_close(&q[0]);
	rt_close(&q[1]);
}

/* This holds after a fault, and after a time-out. */
static void tokens_are_dropped_with_a_run_that_fails(void **state)
{
	struct vta_isa_loop loops = { .reset = 1, .uop_end = 1, .iter_out = 1, .iter_in = 10000 };
	struct rt_queue q;

	(void)state;
	assert_true(rt_open(&q, &info));
	catch_begin();
	for (int timeout = 0; timeout < 2; timeout++) {
		rt_push(&q, insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
		assert_int_equal(rt_run(&q, RT_FOREVER), 0);
		rt_push(&q, timeout ? insn_gemm(&q.core, 0, &loops) : (struct insn) { { 7 } });
		assert_int_equal(rt_run(&q, 5000), timeout ? 1 : 2);
		rt_push(&q, insn_finish(VTA_ISA_POP_PREV));
		assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	}
	free(catch_end());
	rt_close(&q);
}

/* Two handles run in turn, each in the middle of an operator of its own. */
static void operators_in_many_runs_of_two_handles(void **state)
{
	struct operands o[2];
	struct rt_queue q[2];

	(void)state;
	for (unsigned int h = 0; h < 2; h++) {
		assert_true(rt_open(&q[h], &info));
		operands_make(&o[h], &q[h].core, 60 + h);
		for (unsigned int i = 0; i < RT_KERNELS; i++)
			assert_true(split_round(&q[h], &o[h], i));
	}
	for (unsigned int i = 0; i < 3 * RT_KERNELS; i++) {
		enum rt_kernel kernel = i % RT_KERNELS;

		assert_true(load(&q[0], &o[0]) && load(&q[1], &o[1]));
		assert_true(multiply(&q[0], kernel) && multiply(&q[1], kernel));
		assert_true(store(&q[0], &o[0], kernel) && store(&q[1], &o[1], kernel));
	}
	for (unsigned int h = 0; h < 2; h++) {
		operands_free(&o[h]);
		rt_close(&q[h]);
	}
}

/* ---- All cards ---- */

static int choose(void **state)
{
	char name[8];

	card = *(const unsigned int *)*state;
	info = rt_info(card);
	if (on_device())	/* the same for each */
		return 0;
	snprintf(name, sizeof(name), "%u", card);
	return setenv("VTADEV_DEVICE", name, 1);
}

int main(void)
{
	/* run.sh: random, in order, greedy; the second card's core has another shape. */
	static const unsigned int cards[] = { 0, 2, 3 };
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} all[] = {
		{ "a_token_is_there_for_the_next_run", a_token_is_there_for_the_next_run },
		{ "tokens_are_dropped_with_a_run_that_fails",
		  tokens_are_dropped_with_a_run_that_fails },
		{ "operators_in_many_runs_of_two_handles", operators_in_many_runs_of_two_handles },
		{ "tokens_cross_the_runs_of_two_processes",
		  tokens_cross_the_runs_of_two_processes },
		{ "operators_in_many_runs_of_two_processes",
		  operators_in_many_runs_of_two_processes },
	};
	enum { CARDS = sizeof(cards) / sizeof(*cards), ALL = sizeof(all) / sizeof(*all) };
	struct CMUnitTest tests[CARDS * ALL];

	for (unsigned int i = 0; i < CARDS * ALL; i++)
		tests[i] = (struct CMUnitTest) {
			.name = all[i % ALL].name,
			.test_func = all[i % ALL].run,
			.setup_func = choose,
			.initial_state = (void *)&cards[i / ALL],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
