// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_gemm.c - each kernel of GEMM on the reference: all shapes and widths, sums that wrap
 *
 * With --list it prints the kernels that this processor has, and the others with a # before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa_bench.h"

#define LOG_UOPS	7
#define LOG_ROWS	7	/* of ACC and INP */
#define LOG_BLOCKS	4	/* of WGT */
#define KERNELS_MAX	8

static uint32_t random_below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

/* A configuration of that shape with the depths above. */
static struct core_config config_of(unsigned int log_batch, unsigned int log_block,
				    unsigned int log_inp, unsigned int log_wgt)
{
	unsigned int row = log_batch + log_block;

	return (struct core_config) {
		.log_inp_width = log_inp, .log_wgt_width = log_wgt, .log_acc_width = 5,
		.log_batch = log_batch, .log_block = log_block,
		.log_uop_buff_size = LOG_UOPS + 2,
		.log_inp_buff_size = LOG_ROWS + row + log_inp - 3,
		.log_wgt_buff_size = LOG_BLOCKS + 2 * log_block + log_wgt - 3,
		.log_acc_buff_size = LOG_ROWS + row + 2,
	};
}

/* The two benches that are compared. */
struct pair {
	struct bench *ref;
	struct bench *core;
};

static void set_both(const struct pair *p, enum insn_memory pad, uint32_t element, uint32_t n,
		     int32_t value)
{
	set_value(p->ref, pad, element, n, value);
	set_value(p->core, pad, element, n, value);
}

/* Values of @bits: the extreme ones often, as their sums show what saturates. */
static int32_t random_value(unsigned int bits)
{
	int32_t least = -(int32_t)(1u << (bits - 1));

	switch (random_below(4)) {
	case 0:
		return least;
	case 1:
		return -least - 1;
	default:
		return (int32_t)((uint32_t)rand() << 1 >> (32 - bits)) + least;
	}
}

static void fill(const struct pair *p, enum insn_memory pad, uint32_t elements, unsigned int bits)
{
	for (uint32_t i = 0; i < elements; i++)
		for (uint32_t n = 0; n < values_of(p->ref, pad); n++)
			set_both(p, pad, i, n, bits < 32 ? random_value(bits) :
				 (int32_t)(random_below(2) ? INT32_MAX - random_below(9) :
					   INT32_MIN + random_below(9)));
}

/*
 * Micro-ops at random, or in progressions with one block of weights each; or all with other weights
 * than the one before, and with one destination most of the time.
 */
static void set_uops(const struct pair *p, uint32_t dst, uint32_t src, uint32_t wgt)
{
	uint32_t by[2] = { 0 }, left = 0, at[3] = { 0 };
	bool once = wgt > 1 && random_below(2);

	for (uint32_t u = 0; u < 1u << LOG_UOPS; u++) {
		if (!left) {
			left = once || random_below(2) ? 1 : 1 + random_below(12);
			at[0] = once && random_below(4) ? at[0] : random_below(dst);
			at[1] = random_below(src);
			at[2] = once ? (at[2] + 1 + random_below(wgt - 1)) % wgt :
				       random_below(wgt);
			by[0] = once ? 0 : random_below(3);
			by[1] = random_below(3);
		}
		left--;
		at[0] = at[0] + by[0] < dst ? at[0] + by[0] : 0;
		at[1] = at[1] + by[1] < src ? at[1] + by[1] : 0;
		set_uop(p->ref, u, at[0], at[1], at[2]);
		set_uop(p->core, u, at[0], at[1], at[2]);
	}
}

/* A loop whose largest indices lie within the depths. */
static struct insn_loop random_loop(const struct pair *p)
{
	struct insn_loop loop = {
		.opcode = INSN_GEMM,
		.uop_bgn = random_below(8),
		.iter_out = 1 + random_below(6),
		.iter_in = 1 + random_below(6),
		.dst_out = random_below(8), .dst_in = random_below(3),
		.src_out = random_below(8), .src_in = random_below(3),
		.wgt_out = random_below(2), .wgt_in = random_below(2),
	};
	uint32_t dst = 1u << LOG_ROWS, src = 1u << LOG_ROWS, wgt = 1u << LOG_BLOCKS;

	loop.uop_end = loop.uop_bgn + 1 + random_below(random_below(2) ? 30 : 110);
	if (!random_below(3)) {
		loop.iter_out = 1;
		loop.iter_in = 1;
	}
	if (!random_below(4)) {	/* rows in a row, longer than a part of the loops */
		loop = (struct insn_loop) {
			.opcode = INSN_GEMM, .uop_end = 2, .iter_out = 300, .iter_in = 2,
			.dst_in = 1, .src_in = 1,
		};
	}
	dst -= (loop.iter_out - 1) * loop.dst_out + (loop.iter_in - 1) * loop.dst_in;
	src -= (loop.iter_out - 1) * loop.src_out + (loop.iter_in - 1) * loop.src_in;
	wgt -= (loop.iter_out - 1) * loop.wgt_out + (loop.iter_in - 1) * loop.wgt_in;
	set_uops(p, dst, src, wgt);
	return loop;
}

static void assert_same_acc(const struct pair *p)
{
	for (uint32_t i = 0; i < 1u << LOG_ROWS; i++)
		for (uint32_t n = 0; n < values_of(p->ref, INSN_ACC); n++)
			assert_int_equal(get_value(p->core, INSN_ACC, i, n),
					 get_value(p->ref, INSN_ACC, i, n));
}

static void compare(const struct core_gemm *kernel, const struct core_config *cfg)
{
	struct pair p = { bench_new(cfg, ON_REF), bench_new(cfg, ON_INORDER) };

	p.core->core->gemm = kernel;
	fill(&p, INSN_INP, 1u << LOG_ROWS, 1u << cfg->log_inp_width);
	fill(&p, INSN_WGT, 1u << LOG_BLOCKS, 1u << cfg->log_wgt_width);
	fill(&p, INSN_ACC, 1u << LOG_ROWS, 32);
	for (int n = 0; n < 6; n++) {
		struct insn_loop loop = random_loop(&p);

		add_loop(p.ref, loop);
		run_done(p.ref);
		add_loop(p.core, loop);
		run_done(p.core);
		assert_same_acc(&p);
	}
	bench_free(p.core);
	bench_free(p.ref);
}

static void kernel_equals_reference(void **state)
{
	const struct core_gemm *kernel = *state;
	unsigned int log_batch, log_block, log_inp, log_wgt, shapes = 0;
	char why[128];

	if (kernel->supported && !kernel->supported()) {
		print_message("%s: this processor does not have it\n", kernel->name);
		skip();
	}
	srand(1);
	for (log_block = 1; log_block <= 6; log_block++)
		for (log_batch = 0; log_batch <= 2; log_batch++)
			for (log_inp = 1; log_inp <= 3; log_inp++)
				for (log_wgt = 1; log_wgt <= 3; log_wgt++) {
					struct core_config cfg = config_of(log_batch, log_block,
									   log_inp, log_wgt);

					if (1u << log_block < kernel->block ||
					    core_config_check(&cfg, why, sizeof(why)))
						continue;
					compare(kernel, &cfg);
					shapes++;
				}
	assert_in_range(shapes, 27, 162);
}

static int list_kernels(void)
{
	for (const struct core_gemm *const *k = core_gemms; *k; k++)
		printf("%s%s\n", (*k)->supported && !(*k)->supported() ? "#" : "", (*k)->name);
	return 0;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[KERNELS_MAX];
	size_t n;

	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list_kernels();
	for (n = 0; core_gemms[n]; n++) {
		assert_true(n < KERNELS_MAX);
		tests[n] = (struct CMUnitTest) {
			.name = core_gemms[n]->name,
			.test_func = kernel_equals_reference,
			.initial_state = (void *)core_gemms[n],
		};
	}
	return _cmocka_run_group_tests("GEMM's kernels", tests, n, NULL, NULL);
}
