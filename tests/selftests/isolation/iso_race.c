// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_race - what changes while it is being read: streams, micro-ops and
 * descriptors under the card, arguments under the kernel
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <kselftest_harness.h>

#include "wall.h"

FIXTURE(race) {
	struct wall wall;
	struct holding before;
	struct usage usage;
};

FIXTURE_SETUP(race)
{
	ASSERT_EQ(0, wall_up(&self->wall));
	self->before = holding_of(self->wall.fd);
	self->usage = card_usage();
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_STREQ("intact", wall_down(&self->wall));
}

/* ---- a thread that writes ---- */

struct writer {
	pthread_t thread;
	void (*step)(struct writer *writer);
	struct wall *w;
	volatile uint64_t *words;
	size_t count;
	volatile uint32_t *word;	/* or one, */
	uint32_t mask;			/* and bits of it */
	uint64_t random;
	_Atomic uint64_t steps;
	uint64_t found;
	_Atomic bool stop;
};

static uint64_t next_random(struct writer *writer)
{
	writer->random ^= writer->random << 13;
	writer->random ^= writer->random >> 7;
	writer->random ^= writer->random << 17;
	return writer->random;
}

static void *writer_run(void *arg)
{
	struct writer *writer = arg;

	while (!writer->stop) {
		writer->step(writer);
		writer->steps++;
	}
	return NULL;
}

static unsigned long long seed(void)
{
	const char *seed = getenv("VTA_SEED");

	return seed ? strtoull(seed, NULL, 0) : 88172645463325252ull;
}

/* Returns when it writes. */
static int writer_start(struct writer *writer)
{
	int err;

	writer->random = seed() | 1;
	err = pthread_create(&writer->thread, NULL, writer_run, writer);
	while (!err && !writer->steps)
		sched_yield();
	return -err;
}

static uint64_t writer_stop(struct writer *writer)
{
	writer->stop = true;
	pthread_join(writer->thread, NULL);
	return writer->steps;
}

/* ---- under the card ---- */

/* Addresses worth aiming at. */
static uint32_t any_address(struct writer *writer)
{
	static const uint32_t addrs[] = {
		OWN_RW, OWN_RW + OWN_SIZE - 16, OWN_RO, OWN_CODE, HOLE, VICTIM_HOST, VICTIM_CARD,
		VICTIM_PINNED, 0, 0xfffff000,
	};

	return addrs[next_random(writer) % ARRAY_SIZE(addrs)];
}

static struct insn any_insn(struct writer *writer)
{
	struct core *c = &writer->w->core;
	uint64_t r = next_random(writer);
	struct loops loops = {
		.uop_end = r >> 8 & 7, .outer = r >> 12 & 15, .inner = r >> 16 & 15,
		.dst = { r >> 20 & 15, r >> 24 & 15 },
	};
	unsigned int tokens = r >> 32 & 15;

	switch (r % 8) {
	case 0:
		return insn_mem(OPCODE_LOAD, tokens, MEM_UOP, 0, any_address(writer) / 4, 1, 64);
	case 1:
		return insn_mem(OPCODE_LOAD, 0, MEM_ACC, r >> 40 & 63,
				any_address(writer) / c->acc_bytes, 1 + (r >> 50 & 3), 8);
	case 2:
		return insn_mem(OPCODE_LOAD, 0, MEM_WGT, 0,
				any_address(writer) / c->wgt_bytes, 1, 4);
	case 3:
		return insn_mem(OPCODE_STORE, 0, MEM_OUT, r >> 40 & 63,
				any_address(writer) / c->inp_bytes, 1, 16);
	case 4:
		return insn_gemm(c, tokens, r >> 63, &loops);
	case 5:
		return insn_alu(c, 0, r >> 40 & 7, (int16_t)(r >> 44), &loops);
	case 6:
		return (struct insn) { { next_random(writer), next_random(writer) } };
	default:
		return insn_mem(OPCODE_LOAD, 0, MEM_INP, 0, OWN_RW / c->inp_bytes, 1, 8);
	}
}

/* Half an instruction at a time, so that the card may see it torn. */
static void rewrite_insn(struct writer *writer)
{
	size_t at = next_random(writer) % (writer->count / 2) * 2;
	struct insn insn = any_insn(writer);

	writer->words[at] = insn.word[0];
	writer->words[at + 1] = insn.word[1];
}

static void rewrite_word(struct writer *writer)
{
	writer->words[next_random(writer) % writer->count] = next_random(writer);
}

/* All but WAIT, which could wait for good; sizes that do not take long. */
static struct vta_desc any_desc(struct writer *writer)
{
	uint64_t r = next_random(writer);
	struct vta_desc desc;

	switch (r % 7) {
	case 0:
		return desc_copy(any_address(writer), any_address(writer), r >> 8 & 0x1fff);
	case 1:
		return desc_copy2d(any_address(writer), (uint32_t)next_random(writer), OWN_RW,
				   r >> 8 & 255, 16, r >> 16 & 15);
	case 2:
		return desc_fill(any_address(writer), (uint32_t)r, r >> 8 & 0x1fff);
	case 3:
		return desc_signal(any_address(writer) + (r >> 8 & 8), r);
	case 4:
		return desc_stamp(desc_op(VTA_OP_NOP), any_address(writer) + (r >> 8 & 8));
	case 5:
		return desc_run(any_address(writer), r >> 8 & 255, 5000);
	default:
		desc = desc_op(VTA_OP_NOP);
		desc.words[r >> 8 & 3] = r >> 60;
		return desc;
	}
}

static void rewrite_desc(struct writer *writer)
{
	struct vta_desc desc = any_desc(writer);
	uint64_t words[sizeof(desc) / sizeof(uint64_t)];
	size_t at, i;

	at = next_random(writer) % (writer->count / ARRAY_SIZE(words)) * ARRAY_SIZE(words);
	memcpy(words, &desc, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		writer->words[at + i] = words[i];
}

/* A fault that a process can be blamed for, whose record makes sense. */
static bool blameable(const struct queue *q, uint64_t done)
{
	struct vta_queue_fault fault;

	if (queue_fault(q, &fault))
		return false;
	if (fault.seq != done + 1 || fault.queue != q->id || fault.access > VTA_ACCESS_STAMP)
		return false;
	switch (fault.reason) {
	case VTA_FAULT_PAGE:
	case VTA_FAULT_PERM:
		return fault.access != VTA_ACCESS_NONE;
	case VTA_FAULT_ALIGN:
		return fault.access != VTA_ACCESS_NONE && fault.addr % 16;
	case VTA_FAULT_DESC:
	case VTA_FAULT_INSN:
	case VTA_FAULT_BOUNDS:
	case VTA_FAULT_CYCLES:
	case VTA_FAULT_DEADLOCK:
		return fault.access == VTA_ACCESS_NONE && !fault.addr;
	default:
		return false;
	}
}

/* Either all is done or the queue halts, while @writer does what it does. */
static void run_under(struct __test_metadata *_metadata, struct writer *writer,
		      struct vta_desc (*desc)(struct writer *writer), unsigned int rounds)
{
	struct wall *w = writer->w;
	unsigned int i;

	ASSERT_EQ(0, writer_start(writer));
	while (rounds--) {
		uint64_t done;
		int ret;

		for (i = 0; desc && i < 8; i++)
			w->q.ring[(w->q.submitted + i) % w->q.entries] = desc(writer);
		w->q.submitted += 8;
		queue_kick(&w->q);
		ret = queue_wait(&w->q, w->q.submitted, PATIENCE_MS, &done);
		if (!ret)
			continue;
		ASSERT_EQ(-EIO, ret);
		ASSERT_TRUE(blameable(&w->q, done)) {
			TH_LOG("VTA_SEED=%#llx", seed());
		}
		/* The ring that it writes to stays where it is mapped. */
		if (writer->words == (uint64_t *)w->q.ring)
			break;
		ASSERT_EQ(0, wall_new_queue(w));
	}
	EXPECT_LT(0, writer_stop(writer));
	EXPECT_EQ(0, victim_progress(&w->victim, 1));
}

static struct vta_desc run_of_the_code(struct writer *writer)
{
	return desc_run(writer->w->code.addr, 8, 50000);
}

TEST_F(race, instructions)
{
	struct writer writer = {
		.step = rewrite_insn,
		.w = &self->wall,
		.words = self->wall.code.ptr,
		.count = 16,
	};

	run_under(_metadata, &writer, run_of_the_code, 60);
}

TEST_F(race, instructions_of_random_bits)
{
	struct writer writer = {
		.step = rewrite_word,
		.w = &self->wall,
		.words = self->wall.code.ptr,
		.count = 16,
	};

	run_under(_metadata, &writer, run_of_the_code, 60);
}

/* The stream stays; the micro-ops it loads again and again do not. */
TEST_F(race, micro_ops)
{
	struct loops loops = { .uop_end = 64, .outer = 4, .inner = 4 };
	struct wall *w = &self->wall;
	struct insn *code = w->code.ptr;
	struct writer writer = {
		.step = rewrite_word,
		.w = w,
		.words = w->rw.ptr,
		.count = 32,
	};
	unsigned int i;

	for (i = 0; i < 8; i += 2) {
		code[i] = insn_mem(OPCODE_LOAD, 0, MEM_UOP, 0, OWN_RW / 4, 1, 64);
		code[i + 1] = i % 4 ? insn_gemm(&w->core, 0, 0, &loops) :
				      insn_alu(&w->core, 0, ALU_ADD, 1, &loops);
	}
	run_under(_metadata, &writer, run_of_the_code, 60);
}

TEST_F(race, descriptors)
{
	struct wall *w = &self->wall;
	unsigned int round;

	memset(w->rw.ptr, 0, OWN_SIZE);
	for (round = 0; round < 30; round++) {
		struct writer writer = {
			.step = rewrite_desc,
			.w = w,
			.words = (uint64_t *)w->q.ring,
			.count = w->q.entries * 8,
		};

		run_under(_metadata, &writer, NULL, 8);
		ASSERT_EQ(0, wall_new_queue(w));
	}
}

/* ---- under the kernel ---- */

/* A word of an argument that goes from one value to another and back. */
static void flip(struct writer *writer)
{
	*writer->word ^= writer->mask;
}

/* @word goes from @a to @b and back, from now on. */
static int flip_start(struct writer *writer, uint32_t *word, uint32_t a, uint32_t b)
{
	*word = a;
	*writer = (struct writer) { .step = flip, .word = word, .mask = a ^ b };
	return writer_start(writer);
}

static int try_map(int fd, uint64_t offset, size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (ptr == MAP_FAILED)
		return -errno;
	munmap(ptr, size);
	return 0;
}

static bool same(const struct holding *a, const struct holding *b)
{
	return a->context == b->context && a->host_bytes == b->host_bytes &&
	       a->card_bytes == b->card_bytes && a->queues == b->queues;
}

#define EXPECT_NOTHING_TAKEN()							\
	do {									\
		struct holding _now = holding_of(self->wall.fd);		\
		struct usage _usage = card_usage();				\
										\
		EXPECT_TRUE(same(&self->before, &_now));			\
		EXPECT_TRUE(usage_equal(&self->usage, &_usage));		\
	} while (0)

enum { ROUNDS = 200 };

/* What is accounted is what can be mapped, whatever the size was seen to be. */
TEST_F(race, size_of_a_buffer)
{
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	unsigned int i;
	int fd = self->wall.fd;
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, flip_start(&writer, (uint32_t *)&arg->size, 4096, 65536));
	for (i = 0; i < ROUNDS; i++) {
		struct vta_buf_free req;
		uint64_t bytes;

		arg->addr = 0;
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg));
		bytes = holding_of(fd).host_bytes - self->before.host_bytes;
		ASSERT_TRUE(bytes == 4096 || bytes == 65536);
		ASSERT_EQ(0, try_map(fd, arg->mmap_offset, bytes));
		ASSERT_EQ(-EINVAL, try_map(fd, arg->mmap_offset, bytes + 4096));
		req = (struct vta_buf_free) { .handle = arg->handle };
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
	}
	writer_stop(&writer);
	EXPECT_NOTHING_TAKEN();
}

/* One kind of memory or the other, and from there it is returned. */
TEST_F(race, kind_of_a_buffer)
{
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;
	unsigned int i;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, flip_start(&writer, &arg->flags, VTA_BUF_HOST, VTA_BUF_CARD));
	for (i = 0; i < ROUNDS; i++) {
		struct vta_buf_free req;
		struct holding now;

		arg->addr = 0;
		arg->size = 8192;
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg));
		now = holding_of(fd);
		ASSERT_EQ(8192, now.host_bytes + now.card_bytes - self->before.host_bytes -
				self->before.card_bytes);
		ASSERT_EQ(self->usage.mem_free - (now.card_bytes - self->before.card_bytes),
			  card_usage().mem_free);
		req = (struct vta_buf_free) { .handle = arg->handle };
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
	}
	writer_stop(&writer);
	EXPECT_NOTHING_TAKEN();
}

/* An address that is right when it is looked at must be so when it is used. */
TEST_F(race, address_of_a_buffer)
{
	static const uint32_t wrong[] = { HOLE + 1, 0, OWN_RW, OWN_RO - 4096 };
	struct vta_buf_alloc *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;
	unsigned int i, k;

	ASSERT_NE(NULL, arg);
	for (k = 0; k < ARRAY_SIZE(wrong); k++) {
		memset(arg, 0, sizeof(*arg));
		ASSERT_EQ(0, flip_start(&writer, (uint32_t *)&arg->addr, HOLE, wrong[k]));
		for (i = 0; i < ROUNDS / 2; i++) {
			struct vta_buf_free req = { .handle = HOLE >> VTA_PAGE_SHIFT };
			int ret;

			arg->size = 8192;
			arg->flags = VTA_BUF_FIXED;
			ret = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, arg);
			if (ret) {
				ASSERT_TRUE(ret == -EINVAL || ret == -EEXIST);
				continue;
			}
			if (card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req)) {
				req.handle = wrong[k] >> VTA_PAGE_SHIFT;
				ASSERT_EQ(OWN_RO - 4096, wrong[k]);
				ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
			}
		}
		writer_stop(&writer);
		EXPECT_NOTHING_TAKEN();
	}
}

/* The card's ring is as long as the memory that there is for it. */
TEST_F(race, length_of_a_ring)
{
	struct vta_queue_create *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;
	unsigned int i;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, flip_start(&writer, &arg->ring_order, 6, 8));
	for (i = 0; i < ROUNDS / 4; i++) {
		struct queue q = { .fd = fd };
		uint64_t bytes;

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, arg));
		q.id = arg->queue;
		/* Less the status page. */
		bytes = holding_of(fd).host_bytes - self->before.host_bytes - 4096;
		ASSERT_TRUE(bytes == 64 << 6 || bytes == 64 << 8);
		ASSERT_EQ(0, try_map(fd, arg->ring_offset, bytes));
		ASSERT_EQ(-EINVAL, try_map(fd, arg->ring_offset, bytes + 4096));

		/* All zero: NOPs. As many as there are, and then one too many. */
		q.page = arg->doorbell_size;
		q.doorbell = mmap(NULL, q.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				  (off_t)arg->doorbell_offset);
		ASSERT_NE(MAP_FAILED, (void *)q.doorbell);
		queue_ring(&q, (uint32_t)(bytes / 64));
		ASSERT_EQ(0, queue_wait(&q, bytes / 64, PATIENCE_MS, NULL));
		queue_ring(&q, (uint32_t)(2 * bytes / 64 + 1));
		ASSERT_EQ(-EIO, queue_wait(&q, bytes / 64 + 1, PATIENCE_MS, NULL));
		munmap((void *)q.doorbell, q.page);
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY,
					&(struct vta_queue_destroy) { .queue = q.id }));
	}
	writer_stop(&writer);
	EXPECT_NOTHING_TAKEN();
}

/* Lengths that no ring has are never taken. */
TEST_F(race, length_that_is_none)
{
	struct vta_queue_create *arg = aligned_alloc(4096, 4096);
	int fd = self->wall.fd;
	struct writer writer;
	unsigned int i;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, flip_start(&writer, &arg->ring_order, 2, 0xffffffc2));
	for (i = 0; i < ROUNDS; i++) {
		int ret = card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, arg);

		if (!ret) {
			ASSERT_EQ(8192, holding_of(fd).host_bytes - self->before.host_bytes);
			ret = card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY,
					 &(struct vta_queue_destroy) { .queue = arg->queue });
			ASSERT_EQ(0, ret);
		} else {
			ASSERT_EQ(-EINVAL, ret);
		}
	}
	writer_stop(&writer);
	EXPECT_NOTHING_TAKEN();
}

/* ---- two at once ---- */

/* The same call from several threads, as long as it says to go on. */
struct contender {
	pthread_t thread;
	pthread_barrier_t *barrier;
	unsigned long cmd;
	void *arg;
	int fd, ret;
};

static void *contend(void *arg)
{
	struct contender *c = arg;

	pthread_barrier_wait(c->barrier);
	c->ret = card_ioctl(c->fd, c->cmd, c->arg);
	return NULL;
}

/* How many of three succeeded; the others must have got ENOENT. */
static int contend_for(int fd, unsigned long cmd, void *arg)
{
	struct contender c[3];
	pthread_barrier_t barrier;
	int won = 0;
	unsigned int i;

	pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(c));
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		c[i] = (struct contender) {
			.barrier = &barrier, .cmd = cmd, .arg = arg, .fd = fd,
		};
		if (pthread_create(&c[i].thread, NULL, contend, &c[i]))
			return -1;
	}
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		pthread_join(c[i].thread, NULL);
		won += c[i].ret == -ENOENT ? 0 : c[i].ret ? 100 : 1;
	}
	pthread_barrier_destroy(&barrier);
	return won;
}

TEST_F(race, freed_twice)
{
	int fd = self->wall.fd;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct vta_buf_alloc alloc = {
			.size = 8192, .flags = i & 1 ? VTA_BUF_CARD : VTA_BUF_HOST,
		};
		struct vta_buf_free req = { 0 };

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
		req.handle = alloc.handle;
		ASSERT_EQ(1, contend_for(fd, VTA_IOCTL_BUF_FREE, &req));
	}
	EXPECT_NOTHING_TAKEN();
}

TEST_F(race, destroyed_twice)
{
	int fd = self->wall.fd;
	unsigned int i;

	for (i = 0; i < 30; i++) {
		struct vta_queue_create create = { .ring_order = 2 };
		struct vta_queue_destroy req = { 0 };

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &create));
		req.queue = create.queue;
		ASSERT_EQ(1, contend_for(fd, VTA_IOCTL_QUEUE_DESTROY, &req));
	}
	EXPECT_NOTHING_TAKEN();
}

/* A buffer that is freed while others map it, read it and let go of it. */
static void map_and_read(struct writer *writer)
{
	struct wall *w = writer->w;
	const volatile uint64_t *ptr;
	unsigned int i;

	ptr = mmap(NULL, 65536, PROT_READ, MAP_SHARED, w->fd, HOLE);
	if ((void *)ptr == MAP_FAILED)
		return;
	for (i = 0; i < 65536 / 8; i += 512)
		writer->found += secrets_in((void *)&ptr[i], sizeof(*ptr));
	munmap((void *)ptr, 65536);
}

TEST_F(race, mapped_while_it_is_freed)
{
	struct writer writer = { .step = map_and_read, .w = &self->wall };
	int fd = self->wall.fd;
	unsigned int i;

	ASSERT_EQ(0, writer_start(&writer));
	for (i = 0; i < 100; i++) {
		struct vta_buf_alloc alloc = {
			.size = 65536, .addr = HOLE,
			.flags = VTA_BUF_FIXED | (i & 1 ? VTA_BUF_CARD : VTA_BUF_HOST),
		};
		struct vta_buf_free req = { .handle = HOLE >> VTA_PAGE_SHIFT };

		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
		ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
		if (i % 10 == 0)
			ASSERT_EQ(0, victim_order(&self->wall.victim,
						  i % 20 ? VICTIM_DROP : VICTIM_HOARD));
	}
	EXPECT_LT(0, writer_stop(&writer));
	EXPECT_EQ(0, writer.found);
	EXPECT_NOTHING_TAKEN();
}

TEST_HARNESS_MAIN
