// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_hang - a card that does not keep its promises is found, and brought back by
 * the weakest means that works, or given up
 *
 * The card is told to misbehave through the emulator's control socket, so this
 * runs on card 0 alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include <kselftest_harness.h>

#include "vta_emu.h"
#include "vta_selftest.h"

#define PARAMETERS	"/sys/module/vta/parameters/"

/* What recovery has counted. */
struct steps {
	uint64_t aborts, soft, function, given_up, lost, storms, generation;
};

static struct steps steps_now(void)
{
	return (struct steps) {
		.aborts = card_attr("recovery/queue_aborts"),
		.soft = card_attr("recovery/soft_resets"),
		.function = card_attr("recovery/function_resets"),
		.given_up = card_attr("recovery/given_up"),
		.lost = card_attr("recovery/lost_interrupts"),
		.storms = card_attr("recovery/interrupt_storms"),
		.generation = card_attr("generation"),
	};
}

/* Who has the card hears of a reset before it is done. */
static struct steps steps_then(const struct steps *before, unsigned int resets)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	struct steps now = steps_now();

	while (resets && now.generation == before->generation &&
	       now.given_up == before->given_up && now_ns() < end) {
		sleep_ms(2);
		now = steps_now();
	}
	/* They were read one after the other, before it was done. */
	return steps_now();
}

#define EXPECT_STEPS(_aborts, _soft, _function, _given_up) do {			\
	struct steps now = steps_then(&self->before, _soft);			\
										\
	EXPECT_EQ(self->before.aborts + (_aborts), now.aborts);			\
	EXPECT_EQ(self->before.soft + (_soft), now.soft);			\
	EXPECT_EQ(self->before.function + (_function), now.function);		\
	EXPECT_EQ(self->before.given_up + (_given_up), now.given_up);		\
} while (0)

static bool given_up(void)
{
	char path[64], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/class/vta/%s/state", strrchr(card_node(), '/') + 1);
	fd = open(path, O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return !strcmp(text, "given up\n");
}

static int reset_card(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/vta/%s/reset", strrchr(card_node(), '/') + 1);
	return file_write(path, "1");
}

FIXTURE(hang) {
	int fd;
	struct queue q;
	struct mem mem;
	struct steps before;
};

FIXTURE_SETUP(hang)
{
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "100"));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "1000"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "0"));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
	self->before = steps_now();
}

/* Whatever it was, the card works for who opens it, and nobody is missed. */
FIXTURE_TEARDOWN(hang)
{
	struct usage usage;
	struct queue q;
	int fd;

	EXPECT_EQ(0, emu_clear());
	munmap(self->mem.ptr, self->mem.size);
	queue_unmap(&self->q);
	close(self->fd);
	if (given_up()) {
		EXPECT_EQ(-ENODEV, card_open());
		EXPECT_EQ(0, reset_card());
	}
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	queue_close(&q);
	close(fd);
	usage = card_usage();
	EXPECT_EQ(0, usage.queues);
	EXPECT_EQ(0, usage.contexts);
	EXPECT_EQ(card_attr("mem_size"), usage.mem_free);
	file_write(PARAMETERS "max_job_ms", "10000");
	file_write(PARAMETERS "hang_ms", "10000");
	file_write(PARAMETERS "max_resets", "5");
}

static uint32_t word(const struct mem *mem)
{
	return *(volatile uint32_t *)mem->ptr;
}

/* Waits for what does not come; the card is all right as far as that goes. */
static int hold(struct _test_data_hang *self, struct waiter *w)
{
	struct vta_desc desc = desc_wait(self->mem.addr, UINT64_MAX);

	queue_submit(&self->q, &desc, 1);
	return waiter_start(w, &self->q, 1, PATIENCE_MS);
}

/* The end of a life of the card for who has it open. */
static int lost(struct _test_data_hang *self)
{
	struct vta_info info;

	return card_poll(self->fd, 0) == (POLLERR | POLLHUP) ?
	       card_ioctl(self->fd, VTA_IOCTL_INFO, &info) : 0;
}

TEST_F(hang, heart_stands_still)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 0, 0);
	EXPECT_FALSE(given_up());
}

TEST_F(hang, nothing_but_ones)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("ones"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 1, 1);
}

TEST_F(hang, nothing_but_zeroes)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_STEPS(0, 1, 1, 1);
}

/* Memory is not given back because a bridge says zero. */
TEST_F(hang, zeroes_stop_no_queue)
{
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, queue_close(&self->q));
	/* Known before the reset is over, or has begun. */
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 1, 1);
	EXPECT_EQ(-ENODEV, lost(self));
}

TEST_F(hang, zeroes_let_no_memory_go)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, emu_inject("zeros"));
	EXPECT_EQ(-ENODEV, mem_free(&mem));
	EXPECT_STEPS(0, 1, 1, 1);
}

TEST_F(hang, gives_up_by_itself)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("fatal"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* It would go on for ever. */
TEST_F(hang, too_many_resets)
{
	unsigned int i;
	int fd;

	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "3"));
	/* By hand, it starts to count anew. */
	ASSERT_EQ(0, reset_card());
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, emu_inject("fatal"));
		while (card_attr("generation") != self->before.generation + 1 + i)
			sleep_ms(2);
		fd = card_open();
		EXPECT_LE(0, fd);
		close(fd);
	}
	EXPECT_FALSE(given_up());
	ASSERT_EQ(0, emu_inject("fatal"));
	while (!given_up())
		sleep_ms(2);
	EXPECT_STEPS(0, 4, 0, 1);
	EXPECT_EQ(-ENODEV, card_open());
}

static int copies_meanwhile(void *arg)
{
	struct waiter w;
	struct queue q;
	int fd = card_open();

	(void)arg;
	if (fd < 0 || queue_open(fd, &q, NULL))
		return 1;
	for (int i = 0; i < 40; i++) {
		if (queue_do(&q, desc_op(VTA_OP_NOP)))
			return 2;
		sleep_ms(50);
	}
	/* Waiting for what was never submitted is no hang. */
	if (waiter_start(&w, &q, 41, 3000) || waiter_join(&w) != -ETIMEDOUT)
		return 3;
	return queue_do(&q, desc_op(VTA_OP_NOP)) ? 4 : 0;
}

TEST_F(hang, engine_hangs)
{
	struct vta_desc fill = desc_fill(self->mem.addr, 7, 4);
	struct vta_queue_fault fault;
	int status;
	pid_t pid;

	ASSERT_EQ(0, emu_inject("hang-copy"));
	pid = fork();
	if (!pid)
		_exit(copies_meanwhile(NULL));
	EXPECT_EQ(-EIO, queue_do(&self->q, fill));
	EXPECT_EQ(POLLPRI, card_poll(self->fd, PATIENCE_MS));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_HANG, fault.reason);
	EXPECT_EQ(1, fault.seq);
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, queue_do(&self->q, fill));
	EXPECT_EQ(7, word(&self->mem));
	/* Nobody else has noticed. */
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_STEPS(1, 0, 0, 0);
}

TEST_F(hang, engine_hangs_again)
{
	ASSERT_EQ(0, emu_inject("hang-copy"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_STEPS(1, 1, 0, 0);
	EXPECT_FALSE(given_up());
}

TEST_F(hang, queue_does_not_stop)
{
	ASSERT_EQ(0, emu_inject("hang-copy"));
	ASSERT_EQ(0, emu_inject("stop-never"));
	/* The abort is of no use, and says so before the reset does. */
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_STEPS(1, 1, 0, 0);
}

TEST_F(hang, everything_hangs)
{
	ASSERT_EQ(0, emu_inject("hang-all"));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_fill(self->mem.addr, 7, 4)));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_STEPS(0, 1, 0, 0);
}

TEST_F(hang, function_reset_helps)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_FALSE(given_up());
}

TEST_F(hang, no_reset_helps)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("flr-stuck"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 1);
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	/* An administrator who tries too early is told so. */
	EXPECT_GT(0, reset_card());
	EXPECT_TRUE(given_up());
}

TEST_F(hang, records_are_not_written)
{
	ASSERT_EQ(0, emu_inject("status-lost"));
	EXPECT_EQ(-ENODEV, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_STEPS(0, 1, 0, 0);
}

/* Who waits hears of it late, but does. */
TEST_F(hang, interrupt_is_lost)
{
	struct waiter w;

	ASSERT_EQ(0, emu_inject("irq-lost"));
	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(100);
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(self->before.lost + 1, steps_now().lost);
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, interrupts_without_end)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, emu_inject("irq-storm"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	ASSERT_EQ(0, emu_clear());
	while (card_attr("generation") == self->before.generation)
		sleep_ms(2);
	EXPECT_LE(self->before.storms + 1, steps_now().storms);
}

/*
 * Who waits for what the card says is done does not wait for the card: it may not
 * have written yet what shows the lie. Until then, this is too far ahead.
 */
static int halts(const struct queue *q)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	int err;

	do {
		sleep_ms(2);
		err = queue_wait(q, 1ull << 41, 0, NULL);
	} while (err == -EINVAL && now_ns() < end);
	return err;
}

static const char * const lies[] = { "seq-back 1", "state-wild 1", "seq-jump 1" };

/* It is the queue's owner who is told, and the others who are not. */
TEST_F(hang, records_that_cannot_be)
{
	struct vta_queue_fault fault;
	struct queue other;
	unsigned int i;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(0, emu_inject(lies[i]));
		/* A jump ahead shows as such only when the number goes back again. */
		if (queue_do(&self->q, desc_op(VTA_OP_NOP)) == 0)
			queue_do(&self->q, desc_op(VTA_OP_NOP));
		ASSERT_EQ(-EIO, halts(&self->q)) {
			TH_LOG("%s", lies[i]);
		}
		ASSERT_EQ(0, queue_fault(&self->q, &fault));
		EXPECT_EQ(VTA_FAULT_CARD, fault.reason);
		EXPECT_EQ(0, queue_do(&other, desc_op(VTA_OP_NOP)));
		ASSERT_EQ(0, queue_recover(&self->q));
		EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	}
	queue_unmap(&other);
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, fault_record_that_cannot_be)
{
	struct vta_queue_fault fault;

	ASSERT_EQ(0, emu_inject("record-wild"));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill(0x40000000, 0, 4)));
	ASSERT_EQ(0, queue_fault(&self->q, &fault));
	EXPECT_EQ(VTA_FAULT_CARD, fault.reason);
	EXPECT_EQ(1, fault.seq);
	EXPECT_EQ(0, fault.addr);
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, queue_recover(&self->q));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
}

/* The watchdog has an end, and reads nothing of an idle card. */
TEST_F(hang, nobody_waits)
{
	struct waiter w;
	uint64_t reads;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(1500);
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
	ASSERT_EQ(0, waiter_join(&w));
	/* One more look may be to come. */
	sleep_ms(2100);
	reads = card_counter("mmio_reads");
	sleep_ms(2500);
	EXPECT_EQ(reads, card_counter("mmio_reads"));
	EXPECT_STEPS(0, 0, 0, 0);
}

/* A queue that is held by its owner is no hang. */
static void *end_queue(void *arg)
{
	struct queue *q = arg;
	struct vta_queue_destroy req = { .queue = q->id };

	return (void *)(intptr_t)card_ioctl(q->fd, VTA_IOCTL_QUEUE_DESTROY, &req);
}

/* While another thread ends a queue, which takes a second, others can be waited for. */
TEST_F(hang, queue_ends_slowly)
{
	struct queue other;
	unsigned int waits = 0, polls = 0;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	ASSERT_EQ(0, emu_inject("hang-copy"));
	ASSERT_EQ(0, emu_inject("stop-never"));
	other.ring[0] = desc_fill(self->mem.addr, 7, 4);
	queue_ring(&other, 1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, end_queue, &other));
	sleep_ms(100);
	while (pthread_tryjoin_np(thread, &ret) == EBUSY) {
		if (queue_wait(&self->q, 1, 1, NULL) == -ETIMEDOUT)
			waits++;
		if (!card_poll(self->fd, 1))
			polls++;
	}
	EXPECT_EQ(-ENODEV, (int)(intptr_t)ret);
	EXPECT_LE(2, waits);
	EXPECT_LE(2, polls);
	queue_unmap(&other);
	EXPECT_STEPS(0, 1, 0, 0);
}

TEST_F(hang, queue_is_held)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	sleep_ms(5000);
	*(volatile uint64_t *)self->mem.ptr = UINT64_MAX;
	queue_kick(&self->q);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_STEPS(0, 0, 0, 0);
}

TEST_F(hang, reset_by_an_administrator)
{
	struct waiter w;

	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, reset_card());
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_ADMIN), card_lost(self->fd));
	EXPECT_EQ(self->before.generation + 1, steps_now().generation);
	EXPECT_STEPS(0, 1, 0, 0);
}

TEST_F(hang, reset_by_vtactl)
{
	struct vta_info old, new;
	struct waiter w;
	char who[96];
	int fd;

	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_INFO, &old));
	EXPECT_EQ(self->before.generation, old.generation);
	/* Not from under others, unless that is meant. */
	snprintf(who, sizeof(who), "vtactl reset 0 2>&1 | grep -q 'process %d (vta_hang) of'",
		 getpid());
	EXPECT_EQ(0, system(who));
	EXPECT_EQ(6, WEXITSTATUS(system("vtactl reset 0 2>/dev/null")));
	EXPECT_EQ(self->before.generation, steps_now().generation);
	ASSERT_EQ(0, hold(self, &w));
	ASSERT_EQ(0, system("vtactl reset --force 0"));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, lost(self));
	EXPECT_STEPS(0, 1, 0, 0);
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_INFO, &new));
	EXPECT_EQ(old.generation + 1, new.generation);
	close(fd);
}

static int reset_as_nobody(void *arg)
{
	(void)arg;
	if (setresuid(1000, 1000, 1000))
		return 1;
	if (WEXITSTATUS(system("vtactl reset --force 0 2>/dev/null")) != 4)
		return 3;
	return reset_card() == -EACCES ? 0 : 2;
}

TEST_F(hang, reset_by_nobody)
{
	EXPECT_EQ(0, in_child(reset_as_nobody, NULL));
	EXPECT_EQ(self->before.generation, steps_now().generation);
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
