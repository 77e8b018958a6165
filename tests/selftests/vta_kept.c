// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_kept - queues that keep the core's state: scratchpads and tokens are as their last RUN left
 * them, whatever other queues, files and processes have run since (kmod/vta_queue.c)
 */
#include "vta_harness.h"
#include "vta_insn.h"

#define FAULTS	PARAMETERS "max_user_faults"
/* In a user's code buffer. */
#define DATA	1024
#define OUT	2048

/* A file with a queue that keeps, and a buffer for streams, what they load and store. */
struct user {
	int fd;
	struct queue q;
	struct mem mem;
	struct core core;
};

static int user_open(struct user *u)
{
	struct vta_queue_create create = { .ring_order = 6, .flags = VTA_QUEUE_KEEP };
	struct vta_info info;

	u->fd = card_open();
	if (u->fd < 0 || card_ioctl(u->fd, VTA_IOCTL_INFO, &info) ||
	    queue_open(u->fd, &u->q, &create) || mem_alloc(u->fd, &u->mem, 4096, VTA_BUF_HOST, 0))
		return -EINVAL;
	u->core = core_of(&info);
	return 0;
}

static bool card_keeps_state(void)
{
	struct vta_info info = { 0 };
	int fd = card_open();
	int ret = card_ioctl(fd, VTA_IOCTL_INFO, &info);

	close(fd);
	return ret || info.save_size;
}

static struct vta_desc keep(struct vta_desc desc)
{
	desc.op_flags |= htole32(VTA_DESC_KEEP);
	return desc;
}

static int run(struct user *u, struct queue *q, struct insn insn, bool kept)
{
	struct vta_desc desc = desc_run(u->mem.addr, 1, 0);

	*(struct insn *)u->mem.ptr = insn;
	return queue_do(q, kept ? keep(desc) : desc);
}

/* acc[0] = @value, all of it. */
static int load(struct user *u, struct queue *q, uint8_t value, bool kept)
{
	memset((uint8_t *)u->mem.ptr + DATA, value, u->core.acc_bytes);
	return run(u, q, insn_load(VTA_ISA_ACC_8BIT, 0, (u->mem.addr + DATA) / u->core.inp_bytes, 1,
				   1), kept);
}

/* The value of acc[0], or an error. */
static int value(struct user *u, struct queue *q, bool kept)
{
	uint8_t *out = (uint8_t *)u->mem.ptr + OUT;
	int ret;

	memset(out, 0xee, u->core.inp_bytes);
	ret = run(u, q, insn_store(VTA_ISA_OUT, 0, (u->mem.addr + OUT) / u->core.inp_bytes, 1, 1),
		  kept);
	return ret ? ret : out[0];
}

static int push(struct user *u)
{
	return run(u, &u->q, insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0),
		   true);
}

static int pop(struct user *u)
{
	return run(u, &u->q, insn_finish(VTA_ISA_POP_PREV), true);
}

FIXTURE(kept) {
	struct user a, b;
};

FIXTURE_SETUP(kept)
{
	ASSERT_EQ(0, file_write(FAULTS, "0"));
	ASSERT_EQ(0, user_open(&self->a));
	ASSERT_EQ(0, user_open(&self->b));
}

FIXTURE_TEARDOWN(kept)
{
	close(self->a.fd);
	close(self->b.fd);
	file_write(FAULTS, "100");
}

TEST_F(kept, state_outlives_the_runs_of_others)
{
	struct user *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, load(a, &a->q, 0x11, true));
	ASSERT_EQ(0, push(a));
	EXPECT_EQ(0, value(b, &b->q, true));
	ASSERT_EQ(0, load(b, &b->q, 0x22, true));
	for (unsigned int i = 0; i < 10; i++) {
		EXPECT_EQ(0x11, value(a, &a->q, true));
		EXPECT_EQ(0x22, value(b, &b->q, true));
	}
	EXPECT_EQ(0, pop(a));
	/* The other one's file never had a token. */
	EXPECT_EQ(-EIO, pop(b));
}

TEST_F(kept, each_queue_of_a_file_has_its_own)
{
	struct vta_queue_create create = { .ring_order = 6, .flags = VTA_QUEUE_KEEP };
	struct user *a = &self->a;
	struct queue other;

	ASSERT_EQ(0, queue_open(a->fd, &other, &create));
	ASSERT_EQ(0, load(a, &a->q, 0x11, true));
	EXPECT_EQ(0, value(a, &other, true));
	ASSERT_EQ(0, load(a, &other, 0x22, true));
	/* Nor is it that of the RUNs that keep nothing. */
	EXPECT_EQ(0, value(a, &a->q, false));
	EXPECT_EQ(0x11, value(a, &a->q, true));
	EXPECT_EQ(0x22, value(a, &other, true));
	ASSERT_EQ(0, queue_close(&other));
	EXPECT_EQ(0x11, value(a, &a->q, true));
}

/* In a child: overwrite what the core holds until a stop is asked for. */
static void disturb(void)
{
	struct user u;

	if (user_open(&u))
		_exit(1);
	for (;;) {
		if (load(&u, &u.q, 0x77, true) || value(&u, &u.q, true) != 0x77)
			_exit(2);
	}
}

TEST_F(kept, state_outlives_another_process)
{
	struct user *a = &self->a;
	unsigned int i, wrong = 0;
	uint64_t before;
	int status;
	pid_t pid;

	before = card_counter("state_restores");
	pid = fork();
	if (!pid)
		disturb();
	/* Until the two have been in each other's way, and some more. */
	for (i = 0; i < 60 || card_counter("state_restores") < before + 20; i++) {
		ASSERT_EQ(0, load(a, &a->q, i, true));
		ASSERT_EQ(0, push(a));
		wrong += value(a, &a->q, true) != (int)(i & 0xff);
		wrong += pop(a) != 0;
	}
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* The queue of a process that was killed leaves nothing behind. */
	EXPECT_EQ(0, load(a, &a->q, 0x11, true));
	EXPECT_EQ(0x11, value(a, &a->q, true));
}

TEST_F(kept, fault_loses_the_state)
{
	struct user *a = &self->a;
	struct vta_queue_fault fault;

	ASSERT_EQ(0, load(a, &a->q, 0x11, true));
	ASSERT_EQ(0, push(a));
	ASSERT_EQ(-EIO, run(a, &a->q, (struct insn) { { 7, 0 } }, true));
	ASSERT_EQ(0, queue_fault(&a->q, &fault));
	EXPECT_EQ(VTA_FAULT_INSN, fault.reason);
	ASSERT_EQ(0, queue_recover(&a->q));
	EXPECT_EQ(0, value(a, &a->q, true));
	EXPECT_EQ(-EIO, pop(a));
	/* The other queue's is untouched by all that. */
	ASSERT_EQ(0, queue_recover(&a->q));
	ASSERT_EQ(0, load(a, &a->q, 0x33, true));
	EXPECT_EQ(0x33, value(a, &a->q, true));
}

TEST_F(kept, flag_is_for_runs_of_queues_that_keep)
{
	struct vta_queue_create unknown = { .ring_order = 6, .flags = VTA_QUEUE_KEEP << 1 };
	struct user *a = &self->a;
	struct vta_queue_fault fault;
	struct queue plain;

	ASSERT_EQ(0, queue_open(a->fd, &plain, NULL));
	EXPECT_EQ(-EIO, value(a, &plain, true));
	ASSERT_EQ(0, queue_fault(&plain, &fault));
	EXPECT_EQ(VTA_FAULT_DESC, fault.reason);
	/* It is a RUN's. */
	EXPECT_EQ(-EIO, queue_do(&a->q, keep(desc_op(VTA_OP_NOP))));
	EXPECT_EQ(-EINVAL, card_ioctl(a->fd, VTA_IOCTL_QUEUE_CREATE, &unknown));
}

TEST_F(kept, memory_of_the_state_is_counted_and_released)
{
	struct vta_queue_create create = { .ring_order = 6, .flags = VTA_QUEUE_KEEP };
	struct user *a = &self->a;
	struct usage before;
	struct vta_info info;
	struct queue plain, q;
	long bytes, with;

	ASSERT_EQ(0, card_ioctl(a->fd, VTA_IOCTL_INFO, &info));
	EXPECT_EQ(0, info.save_size % 4096);
	/* All four scratchpads. */
	EXPECT_LE((1u << info.log_uop_buff_size) + (1u << info.log_inp_buff_size) +
		  (1u << info.log_wgt_buff_size) + (1u << info.log_acc_buff_size),
		  info.save_size);
	bytes = ctx_number(a->fd, "vta-host-bytes");
	ASSERT_EQ(0, queue_open(a->fd, &plain, NULL));
	with = ctx_number(a->fd, "vta-host-bytes") - bytes;
	ASSERT_EQ(0, queue_close(&plain));
	before = card_usage();
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(0, queue_open(a->fd, &q, &create));
		EXPECT_EQ(bytes + with + info.save_size, ctx_number(a->fd, "vta-host-bytes"));
		ASSERT_EQ(0, load(a, &q, 0x11, true));
		ASSERT_EQ(0, queue_close(&q));
		EXPECT_EQ(bytes, ctx_number(a->fd, "vta-host-bytes"));
	}
	EXPECT_TRUE(usage_is(&before));
}

/* At any offset: of the memory near the ring, only the ring can be mapped. */
TEST_F(kept, memory_of_the_state_cannot_be_mapped)
{
	struct user *a = &self->a;
	unsigned int found = 0;
	uint64_t offset, from;
	void *ptr;

	from = a->q.create.ring_addr > 0x100000 ? a->q.create.ring_addr - 0x100000 : 0;
	for (offset = from; offset < from + 0x200000; offset += 4096) {
		ptr = mmap(NULL, 4096, PROT_READ, MAP_SHARED, a->fd, (off_t)offset);
		if (ptr == MAP_FAILED)
			continue;
		found++;
		EXPECT_TRUE(offset == a->q.create.ring_offset || offset == a->mem.offset);
		munmap(ptr, 4096);
	}
	EXPECT_LE(1, found);
}

int main(int argc, char **argv)
{
	if (!card_keeps_state())
		ksft_exit_skip("the card keeps no state\n");
	exit(harness_main(argc, argv));
}
