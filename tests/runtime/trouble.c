// SPDX-License-Identifier: GPL-2.0-only
/*
 * trouble.c - libvta_driver's errors on a card: bad calls, bad streams, limits, resets; and
 * asynchronous runs
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "rig.h"
#include "vta/driver_async.h"

static struct vta_info info;
static struct rt_queue q;
static struct operands o;

static int setup_queue(void **state)
{
	(void)state;
	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 1);
	return 0;
}

static int teardown_queue(void **state)
{
	(void)state;
	operands_free(&o);
	rt_close(&q);
	return 0;
}

#define HANDLE void *unused, setup_queue, teardown_queue

static void assert_works(enum rt_kernel kernel)
{
	rt_push_product(&q, &o.product, kernel);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, kernel));
}

/* ---- Children ---- */

/* Returns the exit status of a child that calls @function; killed after a while. */
static int in_child(void (*function)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		alarm(60);
		function();
		exit(0);	/* with destructors, as a program ends */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static VTADeviceHandle parents_device;
static void *parents_memory;

static void free_parents(void)
{
	VTADeviceFree(parents_device);
	VTAMemFree(parents_memory);
}

static void run_in_child(void)
{
	vta_phy_addr_t addr = VTAMemGetPhyAddr(parents_memory);

	if (VTADeviceRun(parents_device, addr, 1, RT_FOREVER) != 2 || VTADeviceAlloc() ||
	    VTAMemAlloc(64, VTA_CACHED))
		_exit(1);
}

TEST_F(HANDLE, child_frees_nothing_and_does_not_run)
{
	char *said;

	parents_device = VTADeviceAlloc();
	parents_memory = VTAMemAlloc(10000, VTA_CACHED);
	assert_non_null(parents_device);
	assert_non_null(parents_memory);
	assert_int_equal(in_child(free_parents), 0);
	catch_begin();
	assert_int_equal(in_child(run_in_child), 0);
	said = catch_end();
	assert_int_equal(times_in(said, "before fork()"), 3);
	free(said);
	memset(parents_memory, 1, 10000);
	assert_works(RT_FORWARD);
	VTAMemFree(parents_memory);
	VTADeviceFree(parents_device);
}

/* ---- Bad calls ---- */

TEST_F(HANDLE, bad_frees_are_reported_once)
{
	void *mem = VTAMemAlloc(10000, VTA_CACHED), *heap = malloc(16);

	catch_begin();
	VTAMemFree((char *)mem + 1);
	VTAMemFree((char *)mem + 1);
	assert_said_once(catch_end(), "VTAMemFree: ");
	VTAMemFree(mem);
	catch_begin();
	VTAMemFree(mem);
	VTAMemFree(mem);
	assert_said_once(catch_end(), "freed before");
	catch_begin();
	VTAMemFree(heap);
	VTAMemFree(heap);
	assert_said_once(catch_end(), "VTAMemFree: ");
	free(heap);
}

TEST_F(HANDLE, bad_handles_are_said_once)
{
	VTADeviceHandle device = VTADeviceAlloc();

	VTADeviceFree(device);
	catch_begin();
	VTADeviceFree(device);
	VTADeviceFree(device);
	assert_said_once(catch_end(), "VTADeviceFree: ");
	catch_begin();
	assert_int_equal(VTADeviceRun(device, q.insns_addr, 1, 1), 2);
	assert_int_equal(VTADeviceRun(device, q.insns_addr, 0, 1), 2);
	assert_said_once(catch_end(), "not a handle");
	catch_begin();
	assert_int_equal(VTADeviceRun(NULL, q.insns_addr, 1, 1), 2);
	assert_said_once(catch_end(), "not a handle");
	catch_begin();
	assert_int_equal(VTADeviceSync(device), 2);
	assert_said_once(catch_end(), "VTADeviceSync: ");
	catch_begin();
	assert_int_equal(VTADeviceSetAsync(device, 1), 2);
	assert_said_once(catch_end(), "VTADeviceSetAsync: ");
}

TEST_F(HANDLE, bad_copies_touch_nothing)
{
	char *mem = VTAMemAlloc(100, VTA_CACHED), host[200] = "untouched";

	catch_begin();
	VTAMemCopyFromHost(mem + 50, host, 51);
	VTAMemCopyFromHost(mem + 50, host, 51);
	assert_said_once(catch_end(), "reach beyond the 100 bytes");
	assert_int_equal(mem[50], 0);
	catch_begin();
	VTAMemCopyToHost(host, mem, SIZE_MAX);
	assert_said_once(catch_end(), "reach beyond");
	catch_begin();
	VTAMemCopyToHost(host, host + 100, 10);
	assert_said_once(catch_end(), "not in memory of VTAMemAlloc");
	catch_begin();
	VTAMemCopyToHost(NULL, mem, 10);
	assert_said_once(catch_end(), "NULL");
	catch_begin();
	VTAMemCopyFromHost(NULL, host, 10);
	assert_said_once(catch_end(), "VTAMemCopyFromHost: ");
	assert_string_equal(host, "untouched");
	VTAMemFree(mem);
}

/* Otherwise the run would compute with the old operand. */
TEST_F(HANDLE, a_failed_copy_fails_the_next_run)
{
	char host[200] = "";
	struct rt_queue other;

	assert_true(rt_open(&other, &info));
	catch_begin();
	VTAMemCopyFromHost(o.inp, host, SIZE_MAX);
	free(catch_end());
	catch_begin();
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "a copy to or from VTAMemAlloc's memory has failed");
	/* This holds for each handle: nothing shows whose operand it was. */
	rt_push_product(&other, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&other, RT_FOREVER), 2);
	/* Neither run has loaded its kernel. */
	q.cached[RT_FORWARD] = false;
	other.cached[RT_FORWARD] = false;
	assert_works(RT_FORWARD);
	rt_push_product(&other, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&other, RT_FOREVER), 0);
	assert_true(operands_check(&o, &other.core, RT_FORWARD));
	rt_close(&other);
}

/* Programs may copy data before they open the first handle. */
TEST_F(HANDLE, a_failed_copy_before_the_handle_fails_its_run)
{
	VTADeviceFree(q.device);
	catch_begin();
	VTAMemCopyFromHost(o.inp, NULL, 10);
	free(catch_end());
	q.device = VTADeviceAlloc();
	assert_non_null(q.device);
	q.cached[RT_FORWARD] = false;
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	q.cached[RT_FORWARD] = false;
	assert_works(RT_FORWARD);
}

/* A faulted handle keeps its queue, even if no other queue is free. */
TEST_F(HANDLE, handles_have_queues_of_their_own)
{
	VTADeviceHandle handles[256];
	unsigned int n = 0;

	needs_card("files in sysfs");
	rt_push(&q, insn_finish(0));
	catch_begin();
	do
		handles[n] = VTADeviceAlloc();
	while (handles[n] && ++n < 256);
	assert_said_once(catch_end(), "VTADeviceAlloc: no queue for another handle");
	assert_int_equal(n + 1, card_value(0, "queues"));
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(VTADeviceRun(handles[i], q.insns_addr, 1, RT_FOREVER), 0);
	q.nr_insns = 0;

	catch_begin();
	rt_push(&q, (struct insn) { { 7, 0 } });
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_null(VTADeviceAlloc());
	free(catch_end());
	assert_works(RT_FORWARD);

	VTADeviceFree(handles[--n]);
	handles[n] = VTADeviceAlloc();
	assert_non_null(handles[n++]);
	while (n)
		VTADeviceFree(handles[--n]);
}

TEST_F(HANDLE, bad_addresses_are_0)
{
	char *mem = VTAMemAlloc(4096, VTA_CACHED);

	catch_begin();
	assert_int_equal(VTAMemGetPhyAddr(NULL), 0);
	assert_said_once(catch_end(), "VTAMemGetPhyAddr: ");
	catch_begin();
	assert_int_equal(VTAMemGetPhyAddr(&mem), 0);
	assert_int_equal(VTAMemGetPhyAddr(&mem), 0);
	assert_said_once(catch_end(), "VTAMemGetPhyAddr: ");
	VTAMemFree(mem);
}

TEST_F(HANDLE, sizes_from_nothing_to_too_much)
{
	void *nothing = VTAMemAlloc(0, VTA_CACHED), *more = VTAMemAlloc(0, VTA_CACHED);

	assert_true(nothing && more && nothing != more);
	assert_true(VTAMemGetPhyAddr(nothing) != VTAMemGetPhyAddr(more));
	VTAMemFree(nothing);
	VTAMemFree(more);
	catch_begin();
	assert_null(VTAMemAlloc(1ull << 32, VTA_CACHED));
	assert_null(VTAMemAlloc(1ull << 32, VTA_CACHED));
	assert_said_once(catch_end(), "VTAMemAlloc: 4294967296 bytes");
	catch_begin();
	assert_null(VTAMemAlloc(SIZE_MAX, VTA_CACHED));
	assert_said_once(catch_end(), "VTAMemAlloc: ");
}

/* ---- Bad streams ---- */

TEST_F(HANDLE, bad_places_of_streams)
{
	catch_begin();
	assert_int_equal(VTADeviceRun(q.device, 0, 1, RT_FOREVER), 2);
	assert_said_once(catch_end(), "not in memory");
	catch_begin();
	assert_int_equal(VTADeviceRun(q.device, q.insns_addr + 8, 1, RT_FOREVER), 2);
	assert_said_once(catch_end(), "multiple of 16");
	catch_begin();
	assert_int_equal(VTADeviceRun(q.device, q.insns_addr, RT_BUFFER / 16 + 1, RT_FOREVER), 2);
	assert_int_equal(VTADeviceRun(q.device, q.insns_addr, RT_BUFFER / 16 + 1, RT_FOREVER), 2);
	assert_said_once(catch_end(), "reach beyond");
	catch_begin();
	assert_int_equal(VTADeviceRun(q.device, q.insns_addr + 16, 0xffffffff, RT_FOREVER), 2);
	assert_said_once(catch_end(), "reach beyond");
	assert_int_equal(VTADeviceRun(q.device, 0, 0, 0), 0);
	assert_works(RT_BACKWARD);
}

TEST_F(HANDLE, faults_are_reported_and_the_handle_still_works)
{
	assert_works(RT_HALVES);
	catch_begin();
	rt_push(&q, insn_load(VTA_ISA_INP, 0, 0xf0000000u / q.core.inp_bytes, 1, 1));
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "which is not mapped");
	catch_begin();
	rt_push(&q, insn_move(VTA_ISA_LOAD | VTA_ISA_POP_NEXT, VTA_ISA_INP, 0, 0, 0, 0));
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "instructions wait: ");
	catch_begin();
	rt_push(&q, (struct insn) { { 7, 0 } });
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "illegal instruction");
	/* The faults have lost the core's state, so the kernel is loaded again. */
	assert_works(RT_HALVES);
	assert_int_equal(q.loads, 2);
}

/* The library inserts no instructions, so the reported index is the program's. */
TEST_F(HANDLE, faults_name_the_instruction_of_the_program)
{
	char index[32];

	assert_works(RT_HALVES);
	/* The stream uses micro-ops of the run before. */
	rt_push_product(&q, &o.product, RT_HALVES);
	snprintf(index, sizeof(index), "instruction %u (unknown)", q.nr_insns);
	rt_push(&q, (struct insn) { { 7, 0 } });
	catch_begin();
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), index);
}

/* Push a loop over one micro-op, of some ten thousand cycles. */
static void push_long(unsigned int outer)
{
	struct vta_isa_loop loops = {
		.reset = 1, .uop_bgn = 100, .uop_end = 101, .iter_out = outer, .iter_in = 10000,
	};

	rt_push(&q, insn_load(VTA_ISA_UOP, 100,
			      q.uops_addr / 4 + rt_push_uop(&q, uop(&q.core, 0, 0, 0)), 1, 1));
	rt_push(&q, insn_gemm(&q.core, 0, &loops));
}

TEST_F(HANDLE, wait_cycles_are_a_limit)
{
	push_long(1);
	assert_int_equal(rt_run(&q, 11000), 0);
	catch_begin();
	push_long(1);
	assert_int_equal(rt_run(&q, 9000), 1);
	assert_said_once(catch_end(), "cycle limit");
	assert_works(RT_FORWARD);
	catch_begin();
	push_long(1);
	assert_int_equal(rt_run(&q, 1), 1);
	free(catch_end());
	push_long(1);
	assert_int_equal(rt_run(&q, 1u << 31), 0);
	/* Programs written for a simulator give no limit. */
	push_long(1);
	assert_int_equal(rt_run(&q, 0), 0);
	assert_works(RT_FORWARD);
}

/* ---- Failed runs that the program catches ---- */

/* Keep what is queued after a failed run, FINISH included, as TVM's runtime does. */
static void keep_queue(uint32_t insns, uint32_t uops)
{
	q.nr_insns = insns;
	q.nr_uops = uops;
}

/* Run what is queued, which fails with @expected, and keep it. */
static void run_fails(uint32_t wait_cycles, int expected)
{
	uint32_t insns = q.nr_insns + 1, uops = q.nr_uops;

	catch_begin();
	assert_int_equal(rt_run(&q, wait_cycles), expected);
	free(catch_end());
	keep_queue(insns, uops);
}

/* Append another product: old ... FINISH new ... FINISH. Both must be computed. */
static void appended_run_computes_all(void)
{
	struct operands more;

	operands_make(&more, &q.core, 9);
	memset(o.out, 0, o.out_bytes);
	rt_push_product(&q, &more.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));
	assert_true(operands_check(&more, &q.core, RT_BACKWARD));
	operands_free(&more);
}

TEST_F(HANDLE, what_is_appended_after_a_time_out_is_run)
{
	rt_push_product(&q, &o.product, RT_FORWARD);
	push_long(1);
	run_fails(9000, 1);
	appended_run_computes_all();
}

TEST_F(HANDLE, what_is_appended_after_a_fault_is_run)
{
	rt_push(&q, insn_load(VTA_ISA_INP, 0, 0xf0000000u / q.core.inp_bytes, 1, 1));
	rt_push_product(&q, &o.product, RT_FORWARD);
	run_fails(RT_FOREVER, 2);
	/* The program corrects its mistake. */
	q.insns[0] = insn_load(VTA_ISA_INP, 0, 0, 0, 0);
	appended_run_computes_all();
}

/* ---- Resets ---- */

/* The core's state does not: that is reported once, before a run computes without it. */
TEST_F(HANDLE, memory_survives_a_reset)
{
	unsigned long generation;

	needs_card("resets");
	generation = card_value(0, "generation");
	assert_works(RT_BACKWARD);
	strcpy((char *)q.uops + 70000, "kept");
	card_reset();
	assert_true(card_value(0, "generation") > generation);
	catch_begin();
	rt_push_product(&q, &o.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "reset");
	assert_int_equal(o.out[0], 0);
	assert_works(RT_BACKWARD);
	assert_int_equal(q.loads, 2);
	assert_int_equal(VTAMemGetPhyAddr(q.insns), q.insns_addr);
	assert_string_equal((char *)q.uops + 70000, "kept");
}

/* A handle without state in the core has nothing to lose. */
TEST_F(HANDLE, a_new_handle_is_not_affected_by_a_reset)
{
	needs_card("resets");
	card_reset();
	assert_works(RT_BACKWARD);
	assert_int_equal(q.loads, 1);
	card_reset();
	VTAMemFree(VTAMemAlloc(10, VTA_CACHED));
	catch_begin();
	rt_push_product(&q, &o.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	free(catch_end());
	assert_works(RT_BACKWARD);
	assert_int_equal(card_value(0, "contexts_used"), 1);
}

/* Before other tests of runs that a reset hits: the sentence comes once a minute. */
TEST_F(HANDLE, a_run_that_a_reset_hits_fails)
{
	needs_card("resets");
	assert_int_equal(VTADeviceSetAsync(q.device, 1), 0);
	/* This takes the card seconds even if it is fast. */
	push_long(16000);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	catch_begin();
	card_reset();
	assert_int_equal(VTADeviceSync(q.device), 2);
	assert_said_once(catch_end(), "reset");
	assert_int_equal(VTADeviceSetAsync(q.device, 0), 0);
	assert_works(RT_FORWARD);
}

TEST_F(HANDLE, what_is_appended_after_a_reset_is_run)
{
	uint32_t insns, uops;

	needs_card("resets");
	assert_int_equal(VTADeviceSetAsync(q.device, 1), 0);
	rt_push_product(&q, &o.product, RT_FORWARD);
	push_long(16000);
	insns = q.nr_insns + 1;
	uops = q.nr_uops;
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	catch_begin();
	card_reset();
	assert_int_equal(VTADeviceSync(q.device), 2);
	free(catch_end());
	assert_int_equal(VTADeviceSetAsync(q.device, 0), 0);
	keep_queue(insns, uops);
	/* Replace the loop before FINISH, which takes seconds. */
	q.insns[insns - 2] = insn_load(VTA_ISA_INP, 0, 0, 0, 0);
	appended_run_computes_all();
}

TEST_F(HANDLE, too_much_to_keep_is_reported)
{
	enum { N = 300 };
	void *mem[N];

	needs_card("resets");
	for (unsigned int i = 0; i < N; i++) {
		mem[i] = VTAMemAlloc(4096, VTA_CACHED);
		assert_non_null(mem[i]);
	}
	assert_works(RT_FORWARD);
	card_reset();
	catch_begin();
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "too many pieces");
	/* The memory can still be written. */
	memset(mem[N - 1], 1, 4096);
	for (unsigned int i = 0; i < N; i++)
		VTAMemFree(mem[i]);
	assert_works(RT_FORWARD);
}

#define THREADS	3
#define RESETS	4

static atomic_bool stop;

/*
 * Compute while the card is reset: runs give right results or fail. After the last reset all
 * are right, except the first one if no run has reported that reset.
 */
static void *compute_on(void *arg)
{
	struct operands own;
	struct rt_queue *mine = rt_thread_queue(&info);
	unsigned int done = 0;
	bool last = false, told = false;
	int ret;

	(void)arg;
	if (!mine)
		return "no queue";
	operands_make(&own, &mine->core, 5);
	while (!last || done < 20) {
		enum rt_kernel kernel = done % RT_KERNELS;

		last = stop;
		rt_push_product(mine, &own.product, kernel);
		ret = rt_run(mine, RT_FOREVER);
		if (ret && (ret != 2 || told))
			return "a run failed that no reset hit";
		told = last;
		if (!ret && !operands_check(&own, &mine->core, kernel))
			return "a wrong result";
		done += !ret;
	}
	operands_free(&own);
	rt_thread_close();
	return NULL;
}

TEST_F(HANDLE, threads_survive_resets)
{
	pthread_t threads[THREADS];
	const char *complaint[THREADS];
	void *result;
	char *said;

	needs_card("resets");
	catch_begin();
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compute_on, NULL), 0);
	for (unsigned int i = 0; i < RESETS; i++) {
		usleep(100000);
		card_reset();
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		complaint[i] = result;
	}
	said = catch_end();
	for (unsigned int i = 0; i < THREADS; i++)
		if (complaint[i])
			fail_msg("thread %u: %s; stderr: %s", i, complaint[i], said);
	free(said);
	assert_works(RT_BACKWARD);
}

/* ---- Asynchronous runs ---- */

/* A stream that computes out[0] = out[0] * 3 + add, at the start of a buffer of its own. */
struct step {
	struct insn *insns;
	uint32_t *uop;
	vta_phy_addr_t addr;
	uint32_t count;
};

static void step_make(struct step *s, vta_phy_addr_t value, int add)
{
	struct vta_isa_loop loops = { .uop_bgn = 0, .uop_end = 1, .iter_out = 1, .iter_in = 1 };
	const struct core *core = &q.core;

	s->insns = VTAMemAlloc(4096, VTA_CACHED);
	assert_non_null(s->insns);
	s->addr = VTAMemGetPhyAddr(s->insns);
	s->uop = (uint32_t *)((char *)s->insns + 2048);
	*s->uop = uop(core, 0, 0, 0);
	s->insns[0] = insn_load(VTA_ISA_UOP, 0, (s->addr + 2048) / 4, 1, 1);
	s->insns[1] = insn_load(VTA_ISA_ACC_8BIT, 0, value / core->inp_bytes, 1, 1);
	s->insns[2] = insn_alu(core, 0, VTA_ISA_MUL, 3, &loops);
	s->insns[3] = insn_alu(core, VTA_ISA_PUSH_NEXT, VTA_ISA_ADD, add, &loops);
	s->insns[4] = insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV, VTA_ISA_OUT, 0,
				value / core->inp_bytes, 1, 1);
	s->insns[5] = insn_finish(0);
	s->count = 6;
}

static int step_run(const struct step *s)
{
	return VTADeviceRun(q.device, s->addr, s->count, RT_FOREVER);
}

#define STEPS	700	/* more than a ring holds */

TEST_F(HANDLE, asynchronous_runs_keep_their_order)
{
	struct step steps[2];
	int8_t expected = 1, got;

	step_make(&steps[0], o.product.out, 5);
	step_make(&steps[1], o.product.out, -7);
	assert_int_equal(VTADeviceSetAsync(q.device, 1), 0);
	o.out[0] = 1;
	for (unsigned int i = 0; i < STEPS; i++) {
		unsigned int which = i * i % 7 & 1;

		assert_int_equal(step_run(&steps[which]), 0);
		expected = (int8_t)(expected * 3 + (which ? -7 : 5));
	}
	assert_int_equal(VTADeviceSync(q.device), 0);
	assert_int_equal(o.out[0], expected);

	/* Copies and frees wait for the runs. */
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(step_run(&steps[0]), 0);
		expected = (int8_t)(expected * 3 + 5);
	}
	VTAMemCopyToHost(&got, o.out, 1);
	assert_int_equal(got, expected);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(step_run(&steps[1]), 0);
		expected = (int8_t)(expected * 3 - 7);
	}
	VTAMemFree(steps[1].insns);
	assert_int_equal(VTADeviceSetAsync(q.device, 0), 0);
	assert_int_equal(o.out[0], expected);
	assert_int_equal(step_run(&steps[0]), 0);
	assert_int_equal(o.out[0], (int8_t)(expected * 3 + 5));
	VTAMemFree(steps[0].insns);
}

/* All runs need micro-ops that an earlier one loaded. */
TEST_F(HANDLE, asynchronous_runs_get_their_micro_ops)
{
	struct step step;
	int8_t expected = 1;

	step_make(&step, o.product.out, 5);
	o.out[0] = 1;
	assert_int_equal(step_run(&step), 0);
	step.insns[0] = step.insns[1];
	assert_int_equal(VTADeviceSetAsync(q.device, 1), 0);
	for (unsigned int i = 0; i < 50; i++)
		assert_int_equal(step_run(&step), 0);
	assert_int_equal(VTADeviceSync(q.device), 0);
	for (unsigned int i = 0; i < 51; i++)
		expected = (int8_t)(expected * 3 + 5);
	assert_int_equal(o.out[0], expected);
	assert_int_equal(VTADeviceSetAsync(q.device, 0), 0);
	VTAMemFree(step.insns);
}

TEST_F(HANDLE, asynchronous_errors_come_with_the_synchronisation)
{
	struct step good, bad;
	int8_t at_failure;

	step_make(&good, o.product.out, 1);
	step_make(&bad, o.product.out, 1);
	bad.insns[1] = (struct insn) { { 5, 0 } };
	assert_int_equal(VTADeviceSetAsync(q.device, 1), 0);
	o.out[0] = 1;
	catch_begin();
	assert_int_equal(step_run(&good), 0);
	assert_int_equal(step_run(&bad), 0);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(step_run(&good), 0);
	assert_int_equal(VTADeviceSync(q.device), 2);
	assert_said_once(catch_end(), "illegal instruction");
	assert_int_equal(o.out[0], 4);
	assert_int_equal(VTADeviceSync(q.device), 0);

	/* A copy waits, and leaves the error to VTADeviceSync(). */
	catch_begin();
	assert_int_equal(VTADeviceRun(q.device, good.addr, good.count, 3), 0);
	VTAMemCopyToHost(&at_failure, o.out, 1);
	assert_int_equal(at_failure, 4);
	assert_int_equal(step_run(&good), 0);
	assert_int_equal(VTADeviceSync(q.device), 1);
	assert_said_once(catch_end(), "cycle limit");
	assert_int_equal(o.out[0], 4);

	assert_int_equal(step_run(&good), 0);
	assert_int_equal(VTADeviceSetAsync(q.device, 0), 0);
	assert_int_equal(o.out[0], 13);
	VTAMemFree(good.insns);
	VTAMemFree(bad.insns);
}

/*
 * An administrator may unbind it, or it may be pulled and put back. The last
 * test: it comes back as another than the first.
 */
TEST_F(HANDLE, a_card_that_goes_may_come_back)
{
	char path[PATH_MAX];
	const char *pci;

	needs_card("driver to be unbound");
	assert_non_null(realpath("/sys/class/vta/vta0/device", path));
	pci = strrchr(path, '/') + 1;
	assert_works(RT_BACKWARD);
	driver_write("unbind", pci);
	catch_begin();
	rt_push_product(&q, &o.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 2);
	assert_said_once(catch_end(), "VTADeviceRun: ");
	VTAMemCopyFromHost(o.inp, "still there", 11);
	driver_write("bind", pci);
	assert_works(RT_BACKWARD);
	assert_int_equal(q.loads, 2);
}

static int setup(void **state)
{
	(void)state;
	info = rt_info(0);
	return 0;
}

GROUP(setup, NULL);
