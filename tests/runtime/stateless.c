// SPDX-License-Identifier: GPL-2.0-only
/*
 * stateless.c - libvta_driver on a card that keeps no state, by the rule of vta/driver.h: tokens
 * cross runs, micro-ops and tensors stay, there is one handle, and a run that another program has
 * disturbed does not return 0
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

#define ROUNDS	20

static struct vta_info info;

static int setup(void **state)
{
	(void)state;
	info = rt_info(0);
	return 0;
}

/* As TVM compiles a dense layer: the next run begins by popping the last tokens of this one. */
static bool token_round(struct rt_queue *q, struct operands *o, unsigned int i, bool popping)
{
	if (popping)
		rt_push_pops(q);
	rt_push_open_product(q, &o->product, i % RT_KERNELS);
	return !rt_run(q, RT_FOREVER) && operands_check(o, &q->core, i % RT_KERNELS);
}

static void tokens_cross_runs(void **state)
{
	struct operands o;
	struct rt_queue q;

	(void)state;
	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 3);
	for (unsigned int i = 0; i < ROUNDS; i++)
		assert_true(token_round(&q, &o, i, i));
	/* Kernels stay in the scratchpad. */
	assert_int_equal(q.loads, RT_KERNELS);
	operands_free(&o);
	rt_close(&q);
}

static void tokens_of_all_queues_cross_runs(void **state)
{
	struct rt_queue q;

	(void)state;
	assert_true(rt_open(&q, &info));
	for (unsigned int i = 0; i < 3; i++)
		rt_push(&q, insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	rt_push(&q, insn_finish(VTA_ISA_PUSH_PREV | VTA_ISA_PUSH_NEXT));
	rt_push(&q, insn_finish(VTA_ISA_PUSH_NEXT));
	rt_push(&q, insn_move(VTA_ISA_STORE | VTA_ISA_PUSH_PREV, VTA_ISA_OUT, 0, 0, 0, 0));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	/* A run that touches none of them. */
	rt_push(&q, insn_finish(0));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	for (unsigned int i = 0; i < 3; i++)
		rt_push(&q, insn_finish(VTA_ISA_POP_PREV));
	rt_push(&q, insn_finish(VTA_ISA_POP_NEXT));
	rt_push(&q, insn_move(VTA_ISA_LOAD | VTA_ISA_POP_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	for (unsigned int i = 0; i < 2; i++)
		rt_push(&q, insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV, VTA_ISA_OUT, 0, 0, 0, 0));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	/* No more of them. */
	catch_begin();
	rt_push(&q, insn_finish(VTA_ISA_POP_PREV));
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "instructions wait: ");
	rt_close(&q);
}

/* The index in the report is the program's, with instructions in front of its stream. */
static void faults_name_the_instruction_of_the_program(void **state)
{
	struct rt_queue q;

	(void)state;
	assert_true(rt_open(&q, &info));
	for (unsigned int i = 0; i < 5; i++)
		rt_push(&q, insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	catch_begin();
	rt_push(&q, insn_finish(VTA_ISA_POP_PREV));
	rt_push(&q, insn_finish(0));
	rt_push(&q, (struct insn) { { 7, 0 } });
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "instruction 2");
	rt_close(&q);
}

static void a_process_has_one_handle(void **state)
{
	VTADeviceHandle first, second;

	(void)state;
	first = VTADeviceAlloc();
	assert_non_null(first);
	catch_begin();
	second = VTADeviceAlloc();
	assert_said_once(catch_end(), "room for one handle");
	assert_null(second);
	VTADeviceFree(first);
	first = VTADeviceAlloc();
	assert_non_null(first);
	VTADeviceFree(first);
}

/* In a child, before the parent's first call: one product, for each byte that the parent sends. */
static pid_t start_neighbour(int *send, int *receive)
{
	struct operands o;
	struct rt_queue q;
	int to[2], from[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid) {
		close(to[0]);
		close(from[1]);
		*send = to[1];
		*receive = from[0];
		return pid;
	}
	close(to[1]);
	close(from[0]);
	if (!rt_open(&q, &info))
		_exit(1);
	operands_make(&o, &q.core, 40);
	while (read(to[0], &byte, 1) == 1) {
		rt_push_product(&q, &o.product, RT_FORWARD);
		byte = (char)rt_run(&q, RT_FOREVER);
		if (write(from[1], &byte, 1) != 1)
			_exit(2);
	}
	_exit(0);
}

/* Another program between two runs: the second fails, and the next works again. */
static void a_disturbed_run_fails(void **state)
{
	int send, receive, status;
	struct operands o;
	struct rt_queue q;
	pid_t pid;
	char byte;

	(void)state;
	pid = start_neighbour(&send, &receive);
	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 50);
	for (unsigned int i = 0; i < 4; i++) {
		assert_true(token_round(&q, &o, 0, false));
		assert_true(token_round(&q, &o, 1, true));
		assert_int_equal(write(send, "", 1), 1);
		assert_int_equal(read(receive, &byte, 1), 1);
		catch_begin();
		rt_push_pops(&q);
		rt_push_open_product(&q, &o.product, RT_FORWARD);
		assert_int_equal(rt_run(&q, RT_FOREVER), 2);
		status = !i;
		if (status)
			assert_said_once(catch_end(), "another program has used the card");
		else
			free(catch_end());
		/* Its results may be wrong. */
		operands_check(&o, &q.core, RT_FORWARD);
	}
	operands_free(&o);
	rt_close(&q);
	close(send);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disturbed_run_fails),
		cmocka_unit_test(tokens_cross_runs),
		cmocka_unit_test(tokens_of_all_queues_cross_runs),
		cmocka_unit_test(faults_name_the_instruction_of_the_program),
		cmocka_unit_test(a_process_has_one_handle),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
