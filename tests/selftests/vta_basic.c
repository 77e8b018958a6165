// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_basic - a smoke test for every card, whatever its vectors, queues, contexts, memory and
 * core; the only test that runs on all of them
 */
#include "vta_harness.h"
#include "vta_insn.h"

FIXTURE(basic) {
	int fd;
	struct vta_info info;
	struct queue q;
};

FIXTURE_SETUP(basic)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &self->info));
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
}

FIXTURE_TEARDOWN(basic)
{
	queue_close(&self->q);
	close(self->fd);
}

TEST_F(basic, info_equals_sysfs)
{
	const struct vta_info *info = &self->info;

	EXPECT_EQ(2, VTA_CONTRACT_MAJOR(info->contract));
	EXPECT_EQ(VTA_ABI_VERSION, info->abi);
	EXPECT_EQ(info->mem_size, card_attr("mem_size"));
	EXPECT_EQ(info->mem_free, card_attr("mem_free"));
	EXPECT_EQ(info->serial, card_serial());
	EXPECT_EQ(info->queues, card_attr("queues"));
	EXPECT_EQ(info->contexts, card_attr("contexts"));
	EXPECT_EQ(info->clock_khz, card_attr("clock_khz"));
	EXPECT_EQ(info->vectors, card_attr("vectors"));
	EXPECT_EQ(info->log_inp_width, card_attr("config/LOG_INP_WIDTH"));
	EXPECT_EQ(info->log_wgt_width, card_attr("config/LOG_WGT_WIDTH"));
	EXPECT_EQ(info->log_acc_width, card_attr("config/LOG_ACC_WIDTH"));
	EXPECT_EQ(info->log_batch, card_attr("config/LOG_BATCH"));
	EXPECT_EQ(info->log_block, card_attr("config/LOG_BLOCK"));
	EXPECT_EQ(info->log_uop_buff_size, card_attr("config/LOG_UOP_BUFF_SIZE"));
	EXPECT_EQ(info->log_inp_buff_size, card_attr("config/LOG_INP_BUFF_SIZE"));
	EXPECT_EQ(info->log_wgt_buff_size, card_attr("config/LOG_WGT_BUFF_SIZE"));
	EXPECT_EQ(info->log_acc_buff_size, card_attr("config/LOG_ACC_BUFF_SIZE"));
	EXPECT_EQ(info->log_tokens, card_attr("config/LOG_TOKENS"));
	EXPECT_EQ(info->log_waiting, card_attr("config/LOG_WAITING"));
	EXPECT_EQ(1, card_attr("queues_used"));
	EXPECT_EQ(1, card_attr("contexts_used"));
}

TEST_F(basic, copies_to_the_card_and_back)
{
	const size_t len = 100000;
	struct mem src, card, dst;
	uint8_t *bytes;

	ASSERT_EQ(0, mem_alloc(self->fd, &src, len, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &card, len, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &dst, len, VTA_BUF_HOST, 0));
	bytes = src.ptr;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 167 + (i >> 8));

	ASSERT_EQ(0, queue_do(&self->q, desc_copy(card.addr, src.addr, len)));
	EXPECT_EQ(0, memcmp(src.ptr, card.ptr, len));
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(dst.addr, card.addr, len)));
	EXPECT_EQ(0, memcmp(src.ptr, dst.ptr, len));
}

TEST_F(basic, sleeping_wait_takes_one_arm_and_one_interrupt)
{
	uint64_t arms, interrupts, doorbells;
	struct waiter w;
	struct mem word;

	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	arms = card_counter("arms");
	interrupts = card_counter("interrupts");
	doorbells = card_counter("doorbells");

	queue_hold(&self->q, &word, 1);
	ASSERT_EQ(0, waiter_start(&w, &self->q, 1, PATIENCE_MS));
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	EXPECT_EQ(0, queue_seq(&self->q));
	EXPECT_EQ(interrupts, card_counter("interrupts"));

	queue_release(&self->q, &word, 1);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(1, w.done);
	EXPECT_EQ(arms + 1, card_counter("arms"));
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
	EXPECT_EQ(doorbells + 2, card_counter("doorbells"));
}

TEST_F(basic, fault_reaches_waiter_and_poll)
{
	struct vta_queue_fault fault;
	struct vta_desc descs[2];
	struct waiter w;
	struct mem word;

	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	EXPECT_EQ(0, card_poll(self->fd, 0));

	descs[0] = desc_wait(word.addr, 1);
	descs[1] = desc_fill(0, 0, 4);
	queue_submit(&self->q, descs, 2);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 2, PATIENCE_MS));
	queue_release(&self->q, &word, 1);

	EXPECT_EQ(-EIO, waiter_join(&w));
	EXPECT_EQ(1, w.done);
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
	EXPECT_EQ(VTA_ACCESS_COPY_DST, fault.access);
	EXPECT_EQ(2, fault.seq);
}

TEST_F(basic, all_queues_work_and_one_more_is_enospc)
{
	unsigned int n = self->info.queues, i;
	struct vta_queue_create create = { .ring_order = 1 };
	struct waiter *waiters = calloc(n, sizeof(*waiters));
	struct queue *queues = calloc(n, sizeof(*queues));
	struct queue extra;
	struct mem word;
	uint64_t arms;

	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	queues[0] = self->q;
	for (i = 1; i < n; i++)
		ASSERT_EQ(0, queue_open(self->fd, &queues[i], &create));
	EXPECT_EQ(-ENOSPC, queue_open(self->fd, &extra, &create));
	EXPECT_EQ(n, card_attr("queues_used"));

	/* All sleep at once, also on shared vectors. */
	arms = card_counter("arms");
	for (i = 0; i < n; i++) {
		queue_hold(&queues[i], &word, 1);
		ASSERT_EQ(0, waiter_start(&waiters[i], &queues[i], 1, PATIENCE_MS));
	}
	EXPECT_EQ(arms + n, card_counter_reaches("arms", arms + n));
	*(volatile uint64_t *)word.ptr = htole64(1);
	for (i = n; i-- > 0;)
		queue_kick(&queues[i]);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, waiter_join(&waiters[i]));

	for (i = 1; i < n; i++)
		EXPECT_EQ(0, queue_close(&queues[i]));
	EXPECT_EQ(1, card_attr("queues_used"));
}

/* ---- out = clip((bias + inp x wgt^T) >> 2), rows of one batch each ---- */

enum { ROWS = 3, COLS = 4, INNER = 2, SHIFT = 2, CLIP = 90 };

/* Arbitrary numbers, in the order of memory. */
static int8_t number(unsigned int i)
{
	return (int8_t)((i * 7919 + 13) % 251 - 125) / 8;
}

static unsigned int gemm_stream(const struct core *c, struct insn *insn, uint32_t inp,
				uint32_t wgt, uint32_t bias, uint32_t uops, uint32_t out)
{
	/* For each row and column of elements, the sum over INNER micro-ops. */
	struct vta_isa_loop gemm = {
		.uop_end = INNER, .iter_out = ROWS, .iter_in = COLS,
		.dst_factor_out = COLS, .dst_factor_in = 1, .src_factor_out = INNER,
		.wgt_factor_in = INNER,
	};
	/* Micro-op 0 again: it names accumulator 0. */
	struct vta_isa_loop alu = {
		.uop_end = 1, .iter_out = ROWS, .iter_in = COLS,
		.dst_factor_out = COLS, .dst_factor_in = 1,
	};
	unsigned int n = 0;

	insn[n++] = insn_load(VTA_ISA_UOP, 0, uops / 4, 1, INNER);
	insn[n++] = insn_load(VTA_ISA_ACC, 0, bias / c->acc_bytes, 1, ROWS * COLS);
	insn[n++] = insn_load(VTA_ISA_INP, 0, inp / c->inp_bytes, ROWS, INNER);
	insn[n++] = insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_WGT, 0, wgt / c->wgt_bytes,
			      1, COLS * INNER);
	insn[n++] = insn_gemm(c, VTA_ISA_POP_PREV, &gemm);
	insn[n++] = insn_alu(c, 0, VTA_ISA_SHR, SHIFT, &alu);
	insn[n++] = insn_alu(c, 0, VTA_ISA_MIN, CLIP, &alu);
	insn[n++] = insn_alu(c, VTA_ISA_PUSH_NEXT, VTA_ISA_MAX, -CLIP, &alu);
	insn[n++] = insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV, VTA_ISA_OUT, 0,
			      out / c->inp_bytes, ROWS, COLS);
	insn[n++] = insn_finish(VTA_ISA_POP_NEXT);
	return n;
}

/* The same by plain loops: element (row, col), value (b, o). */
static int8_t gemm_value(const struct core *c, const int8_t *inp, const int8_t *wgt,
			 const int32_t *bias, unsigned int row, unsigned int col,
			 unsigned int b, unsigned int o)
{
	int32_t sum = bias[((row * COLS + col) * c->batch + b) * c->block + o];

	for (unsigned int k = 0; k < INNER; k++)
		for (unsigned int i = 0; i < c->block; i++)
			sum += inp[((row * INNER + k) * c->batch + b) * c->block + i] *
			       wgt[((col * INNER + k) * c->block + o) * c->block + i];
	sum >>= SHIFT;
	if (sum > CLIP)
		sum = CLIP;
	return (int8_t)(sum < -CLIP ? -CLIP : sum);
}

TEST_F(basic, gemm_equals_plain_loops)
{
	struct core c = core_of(&self->info);
	struct mem inp, wgt, bias, uops, code, out;
	unsigned int i, k, row, col, b, o, n;
	unsigned int wrong = 0, at = 0;
	uint32_t *words;

	if (self->info.log_inp_width != 3 || self->info.log_wgt_width != 3)
		SKIP(return, "the core's values are not int8");

	ASSERT_EQ(0, mem_alloc(self->fd, &inp, ROWS * INNER * c.inp_bytes, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &wgt, COLS * INNER * c.wgt_bytes, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &bias, ROWS * COLS * c.acc_bytes, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &out, ROWS * COLS * c.inp_bytes, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &uops, 4096, VTA_BUF_HOST | VTA_BUF_READONLY, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &code, 4096, VTA_BUF_HOST | VTA_BUF_READONLY, 0));

	for (i = 0; i < ROWS * INNER * c.inp_bytes; i++)
		((int8_t *)inp.ptr)[i] = number(i);
	for (i = 0; i < COLS * INNER * c.wgt_bytes; i++)
		((int8_t *)wgt.ptr)[i] = number(i + 1000);
	for (i = 0; i < ROWS * COLS * c.acc_bytes / 4; i++)
		((int32_t *)bias.ptr)[i] = number(i + 77) * 3;
	words = uops.ptr;
	for (k = 0; k < INNER; k++)
		words[k] = uop(&c, 0, k, k);
	n = gemm_stream(&c, code.ptr, inp.addr, wgt.addr, bias.addr, uops.addr, out.addr);
	ASSERT_EQ(0, queue_do(&self->q, desc_run(code.addr, n, 0)));

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < COLS; col++)
			for (b = 0; b < c.batch; b++)
				for (o = 0; o < c.block; o++, at++)
					wrong += ((int8_t *)out.ptr)[at] !=
						 gemm_value(&c, inp.ptr, wgt.ptr, bias.ptr,
							    row, col, b, o);
	EXPECT_EQ(0, wrong);
	EXPECT_LT(0, le64toh(self->q.status->status.cycles));
}

TEST_HARNESS_MAIN
