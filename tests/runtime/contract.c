// SPDX-License-Identifier: GPL-2.0-only
/*
 * contract.c - the promises of vta/driver.h, on a card
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "rig.h"
#include "vta/driver_counters.h"

#define INTERLEAVED	12	/* runs of each thread or process */
#define THREADS		4

static struct vta_info info;

/* ---- Memory ---- */

TEST(memory_comes_before_the_device_and_goes_after_it)
{
	unsigned long contexts = card_value(0, "contexts_used");
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 1);
	rt_push_product(&q, &o.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_BACKWARD));
	VTADeviceFree(q.device);
	assert_int_equal(card_value(0, "contexts_used"), contexts + 1);
	assert_true(VTAMemGetPhyAddr(q.insns) == q.insns_addr);
	q.device = NULL;
	rt_close(&q);
	operands_free(&o);
	assert_int_equal(card_value(0, "contexts_used"), contexts);
}

TEST(the_device_may_come_first)
{
	VTADeviceHandle device = VTADeviceAlloc();
	void *mem;

	assert_non_null(device);
	mem = VTAMemAlloc(100, VTA_CACHED);
	assert_non_null(mem);
	VTAMemFree(mem);
	VTADeviceFree(device);
	VTADeviceFree(NULL);
	VTAMemFree(NULL);
	VTAProgram("no such file");
}

TEST(addresses_fit_and_are_aligned)
{
	enum { N = 24 };
	struct core core = core_of(&info);
	uint32_t largest = core.wgt_bytes > core.acc_bytes ? core.wgt_bytes : core.acc_bytes;
	char *mem[N];
	uint64_t addr[N], size[N];

	for (unsigned int i = 0; i < N; i++) {
		size[i] = i % 8 == 7 ? RT_BUFFER : 1 + i * 777;
		mem[i] = VTAMemAlloc(size[i], (int)(i & 1));
		assert_non_null(mem[i]);
		addr[i] = VTAMemGetPhyAddr(mem[i]);
		assert_true(addr[i]);
		assert_int_equal(addr[i] % largest, 0);
		assert_true(addr[i] + size[i] <= 1ull << 32);
		assert_int_equal(mem[i][0], 0);
		assert_int_equal(mem[i][size[i] - 1], 0);
		for (unsigned int j = 0; j < i; j++)
			assert_true(addr[j] + size[j] <= addr[i] || addr[i] + size[i] <= addr[j]);
	}
	for (unsigned int i = 0; i < N; i++) {
		assert_int_equal(VTAMemGetPhyAddr(mem[i] + size[i] / 2), addr[i] + size[i] / 2);
		assert_int_equal(VTAMemGetPhyAddr(mem[i] + size[i] - 1), addr[i] + size[i] - 1);
		VTAMemFree(mem[i]);
	}
}

TEST(copies_take_interior_pointers_and_any_size)
{
	const size_t size = VTA_MAX_XFER + 12345;
	char *mem = VTAMemAlloc(size, VTA_CACHED), *from = malloc(size), *to = calloc(1, size);

	assert_true(mem && from && to);
	for (size_t i = 0; i < size; i++)
		from[i] = (char)(i * 11 + (i >> 9));
	VTAMemCopyFromHost(mem, from, size);
	VTAMemCopyToHost(to, mem, size);
	assert_memory_equal(from, to, size);

	VTAMemCopyFromHost(mem + 1001, "xyz", 3);
	VTAMemCopyFromHost(mem + 2000, "w", 0);
	VTAMemCopyFromHost(NULL, NULL, 0);
	VTAMemCopyToHost(to, mem + 999, 7);
	assert_memory_equal(to + 2, "xyz", 3);
	assert_int_equal(to[0], from[999]);
	assert_int_equal(mem[2000], from[2000]);
	VTAMemFree(mem);
	free(from);
	free(to);
}

/* ---- Runs ---- */

TEST(pointers_are_seen_by_the_card_without_copies)
{
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 2);
	for (unsigned int i = 0; i < 5; i++) {
		o.inp[i] = (int8_t)(o.inp[i] + 1);
		o.wgt[3 * i] = (int8_t)i;
		rt_push_product(&q, &o.product, RT_FORWARD);
		assert_int_equal(rt_run(&q, RT_FOREVER), 0);
		assert_true(operands_check(&o, &q.core, RT_FORWARD));
	}
	operands_free(&o);
	rt_close(&q);
}

/* Streams as long as a runtime's buffer, and longer: empty loads, and a product. */
TEST(streams_may_be_longer_than_the_largest_transfer)
{
	const struct insn nothing = insn_load(VTA_ISA_INP, 0, 0, 0, 0);
	const uint32_t longest = VTA_MAX_XFER / sizeof(nothing), more = 5000;
	struct insn *own;
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 7);
	while (q.nr_insns < longest - 64)
		rt_push(&q, nothing);
	rt_push_product(&q, &o.product, RT_FORWARD);
	while (q.nr_insns < longest - 1)
		rt_push(&q, nothing);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));

	/* The scratchpad still has the micro-ops of that run. */
	own = VTAMemAlloc((longest + more) * sizeof(*own), VTA_CACHED);
	assert_non_null(own);
	for (uint32_t i = 0; i < longest + more; i++)
		own[i] = nothing;
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_true(q.nr_insns < more);
	VTAMemCopyFromHost(own + longest, q.insns, q.nr_insns * sizeof(*own));
	assert_int_equal(VTADeviceRun(q.device, VTAMemGetPhyAddr(own), longest + more,
				      RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));
	VTAMemFree(own);
	operands_free(&o);
	rt_close(&q);
}

TEST(micro_ops_stay_cached_from_run_to_run)
{
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 3);
	for (unsigned int i = 0; i < 3 * RT_KERNELS; i++) {
		rt_push_product(&q, &o.product, i % RT_KERNELS);
		assert_int_equal(rt_run(&q, RT_FOREVER), 0);
		assert_true(operands_check(&o, &q.core, i % RT_KERNELS));
	}
	assert_int_equal(q.loads, RT_KERNELS);
	operands_free(&o);
	rt_close(&q);
}

/* All handles load their micro-ops to the same places. */
TEST(micro_ops_stay_cached_whichever_handle_ran)
{
	static const enum rt_kernel places[] = { RT_FORWARD, RT_BACKWARD, RT_HALVES };
	struct rt_queue q[2];
	struct operands o;

	assert_true(rt_open(&q[0], &info));
	assert_true(rt_open(&q[1], &info));
	operands_make(&o, &q[0].core, 4);
	rt_push_product(&q[0], &o.product, RT_BACKWARD);
	assert_int_equal(rt_run(&q[0], RT_FOREVER), 0);
	assert_true(operands_check(&o, &q[0].core, RT_BACKWARD));

	/* The other fills the scratchpad with micro-ops that give wrong results. */
	for (unsigned int i = 0; i < 1u << q[1].core.log.uop; i++)
		rt_push_uop(&q[1], uop(&q[1].core, i % RT_ROWS, 0, 0));
	rt_push(&q[1], insn_load(VTA_ISA_UOP, 0, q[1].uops_addr / 4, 1, 1u << q[1].core.log.uop));
	assert_int_equal(rt_run(&q[1], RT_FOREVER), 0);

	for (unsigned int i = 0; i < 3; i++) {
		rt_push_product(&q[0], &o.product, places[i]);
		assert_int_equal(rt_run(&q[0], RT_FOREVER), 0);
		assert_true(operands_check(&o, &q[0].core, places[i]));
	}
	assert_int_equal(q[0].loads, 3);
	operands_free(&o);
	rt_close(&q[0]);
	rt_close(&q[1]);
}

/* The stream uses a kernel, and then loads another to the same place; it runs twice. */
TEST(a_stream_finds_earlier_scratchpads)
{
	struct vta_isa_loop loops = { .reset = 1, .iter_out = 1, .iter_in = 1 };
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 5);
	loops.uop_bgn = rt_place(&q, RT_FORWARD);
	loops.uop_end = loops.uop_bgn + RT_ROWS;
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));

	rt_push_product(&q, &o.product, RT_FORWARD);
	for (unsigned int i = 0; i < RT_ROWS; i++)
		rt_push_uop(&q, uop(&q.core, i, RT_ROWS - 1 - i, 0));
	rt_push(&q, insn_load(VTA_ISA_UOP, loops.uop_bgn, q.uops_addr / 4, 1, RT_ROWS));
	rt_push(&q, insn_gemm(&q.core, 0, &loops));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));

	/* The second kernel is now in the first one's place. */
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_BACKWARD));
	operands_free(&o);
	rt_close(&q);
}

TEST(scratchpads_are_kept_between_runs)
{
	struct vta_isa_loop loops = { .reset = 1, .iter_out = 1, .iter_in = 1 };
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 6);
	loops.uop_bgn = rt_place(&q, RT_FORWARD);
	loops.uop_end = loops.uop_bgn + RT_ROWS;
	/* One run loads ... */
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));
	/* ... one computes again from INP and WGT ... */
	rt_push(&q, insn_gemm(&q.core, 0, &loops));
	loops.reset = 0;
	rt_push(&q, insn_gemm(&q.core, 0, &loops));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	/* ... and one stores ACC. */
	rt_push(&q, insn_store(VTA_ISA_OUT, 0, o.product.out / q.core.inp_bytes, 1, RT_ROWS));
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	assert_true(operands_check(&o, &q.core, RT_FORWARD));
	operands_free(&o);
	rt_close(&q);
}

/* ---- Threads and processes ---- */

struct shared {
	struct operands o[THREADS];
	unsigned int index;
	bool right;
};

/* Compute on the thread's own queue, with operands of another thread. */
static void *compute(void *arg)
{
	struct shared *s = arg;
	struct rt_queue *q = rt_thread_queue(&info);

	s->right = q;
	for (unsigned int i = 0; s->right && i < INTERLEAVED; i++) {
		enum rt_kernel kernel = (s->index + i) % RT_KERNELS;

		rt_push_product(q, &s->o[s->index].product, kernel);
		s->right = !rt_run(q, RT_FOREVER) &&
			   operands_check(&s->o[s->index], &q->core, kernel);
	}
	s->right = s->right && q->loads == RT_KERNELS;
	rt_thread_close();
	return NULL;
}

TEST(threads_have_handles_of_their_own_in_one_space)
{
	struct core core = core_of(&info);
	struct shared s[THREADS];
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		operands_make(&s[0].o[i], &core, 10 + i);
		s[i].index = i;
	}
	for (unsigned int i = 1; i < THREADS; i++)
		memcpy(s[i].o, s[0].o, sizeof(s[0].o));
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compute, &s[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(s[i].right);
		operands_free(&s[0].o[i]);
	}
}

static void *compute_on(void *arg)
{
	struct rt_queue *q = arg;
	bool right = true;
	struct operands o;

	operands_make(&o, &q->core, 30);
	for (unsigned int i = 0; right && i < INTERLEAVED; i++) {
		struct insn finish = insn_finish(0);
		vta_phy_addr_t addr;
		struct insn *stream = VTAMemAlloc(sizeof(finish), VTA_CACHED);

		addr = VTAMemGetPhyAddr(stream);
		VTAMemCopyFromHost(stream, &finish, sizeof(finish));
		right = VTADeviceRun(q->device, addr, 1, RT_FOREVER) == 0;
		VTAMemFree(stream);
	}
	operands_free(&o);
	return right ? q : NULL;
}

TEST(one_handle_may_be_used_by_several_threads)
{
	pthread_t threads[THREADS];
	struct rt_queue q;
	void *right;

	assert_true(rt_open(&q, &info));
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compute_on, &q), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &right);
		assert_ptr_equal(right, &q);
	}
	rt_close(&q);
}

/* In a process of its own: run a cached kernel for each command. */
static int neighbour(int commands, int answers)
{
	struct operands o;
	struct rt_queue q;
	char kernel, right = 1;

	if (!rt_open(&q, &info))
		return 1;
	operands_make(&o, &q.core, 40);
	while (read(commands, &kernel, 1) == 1) {
		rt_push_product(&q, &o.product, kernel);
		right = !rt_run(&q, RT_FOREVER) && operands_check(&o, &q.core, kernel);
		if (write(answers, &right, 1) != 1)
			return 1;
	}
	operands_free(&o);
	rt_close(&q);
	return 0;
}

/* The card clears its scratchpads each time another process's turn comes. */
TEST(micro_ops_stay_cached_whichever_process_ran)
{
	int commands[2], answers[2], status;
	struct operands o;
	struct rt_queue q;
	char right;
	pid_t pid;

	needs_fork();
	assert_int_equal(pipe(commands), 0);
	assert_int_equal(pipe(answers), 0);
	pid = fork();
	if (!pid) {
		close(commands[1]);
		_exit(neighbour(commands[0], answers[1]));
	}
	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 50);
	for (unsigned int i = 0; i < INTERLEAVED; i++) {
		char other = (char)(i / 3 % RT_KERNELS);

		rt_push_product(&q, &o.product, i % RT_KERNELS);
		assert_int_equal(rt_run(&q, RT_FOREVER), 0);
		assert_true(operands_check(&o, &q.core, i % RT_KERNELS));
		assert_int_equal(write(commands[1], &other, 1), 1);
		assert_int_equal(read(answers[0], &right, 1), 1);
		assert_true(right);
	}
	assert_int_equal(q.loads, RT_KERNELS);
	operands_free(&o);
	rt_close(&q);
	close(commands[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- Choosing a card ---- */

/*
 * In a child: open the card @name. Returns 0 if @card got a context, 1 if another did, and 2
 * if there is no such card, which is reported once, with the name.
 */
static int opens(const char *name, unsigned int card)
{
	unsigned long before = card_value(card, "contexts_used");
	void *mem;
	char *text;

	setenv("VTADEV_DEVICE", name, 1);
	catch_begin();
	mem = VTAMemAlloc(1, VTA_CACHED);
	VTADeviceAlloc();
	text = catch_end();
	if (!mem)
		return times_in(text, "\n") == 1 && times_in(text, name) == 1 ? 2 : 3;
	return card_value(card, "contexts_used") == before + 1 ? 0 : 1;
}

static int in_child(const char *name, unsigned int card)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(opens(name, card));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* In a child: check that all addresses are multiples of the card's largest element. */
static int aligned_on(const char *name, unsigned int card)
{
	struct vta_info other = rt_info(card);
	struct core core = core_of(&other);
	pid_t pid = fork();
	int status;

	if (!pid) {
		bool good = true;

		setenv("VTADEV_DEVICE", name, 1);
		for (size_t size = 1; good && size < 100000; size *= 3) {
			vta_phy_addr_t addr = VTAMemGetPhyAddr(VTAMemAlloc(size, VTA_CACHED));

			good = addr && addr % core.wgt_bytes == 0 && addr % core.acc_bytes == 0;
		}
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The second card's elements are larger than a page. */
TEST(addresses_fit_every_configuration)
{
	struct vta_info other;

	needs_card("second card beside it");
	other = rt_info(1);
	assert_int_equal(core_of(&other).wgt_bytes, 16384);
	assert_int_equal(aligned_on("0", 0), 0);
	assert_int_equal(aligned_on("1", 1), 0);
}

TEST(the_environment_names_the_card)
{
	needs_card("number");
	assert_int_equal(in_child("", 0), 0);
	assert_int_equal(in_child("0", 0), 0);
	assert_int_equal(in_child("vta1", 1), 0);
	assert_int_equal(in_child("/dev/vta1", 1), 0);
	assert_int_equal(in_child("0", 1), 1);
	assert_int_equal(in_child("vta7", 0), 2);
	assert_int_equal(in_child("nonsense", 0), 2);
	assert_int_equal(in_child("/dev/null", 0), 2);
}

/* ---- Counters ---- */

static struct vtadev_counters counters(void)
{
	struct vtadev_counters now;

	assert_int_equal(VTACounters(&now), 0);
	return now;
}

/* A device in the process starts anew when nothing holds it; a card continues to count. */
TEST(counters_are_those_of_the_card_that_runs)
{
	struct vtadev_counters before, one, three;
	struct operands o;
	struct rt_queue q;

	assert_true(rt_open(&q, &info));
	operands_make(&o, &q.core, 3);
	before = counters();
	rt_push_product(&q, &o.product, RT_FORWARD);
	assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	one = counters();
	assert_int_equal(one.runs, before.runs + 1);
	assert_true(one.gemm_uops > before.gemm_uops);
	for (unsigned int i = 0; i < 2; i++) {
		rt_push_product(&q, &o.product, RT_FORWARD);
		assert_int_equal(rt_run(&q, RT_FOREVER), 0);
	}
	three = counters();
	assert_int_equal(three.runs, before.runs + 3);
	assert_int_equal(three.gemm_uops - before.gemm_uops,
			 3 * (one.gemm_uops - before.gemm_uops));
	operands_free(&o);
	rt_close(&q);
	assert_int_equal(counters().gemm_uops, on_device() ? 0 : three.gemm_uops);
}

static int setup(void **state)
{
	(void)state;
	info = rt_info(0);
	return 0;
}

GROUP(setup, NULL);
