// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_lib - libvtadev from opening to the text of a fault: on a card, or on the device that
 * VTADEV_DEVICE names, where the tests of the kernel's part are skipped
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "vta_harness.h"
#include "vtadev.h"

#define SECOND	1000000000ll

/* Why tests whose subject is the driver's part are skipped; NULL: they are not. */
static const char *without_driver(void)
{
	return getenv("VTADEV_DEVICE") ? "a device in the process has no driver" : NULL;
}

FIXTURE(lib) {
	struct vtadev *dev;
	struct vtadev_queue *queue;
};

FIXTURE_SETUP(lib)
{
	ASSERT_EQ(0, vtadev_open(NULL, &self->dev));
	ASSERT_EQ(0, vtadev_queue_create(self->dev, NULL, &self->queue));
}

FIXTURE_TEARDOWN(lib)
{
	vtadev_queue_destroy(self->queue);
	vtadev_close(self->dev);
}

TEST_F(lib, opens_by_every_name)
{
	const struct vtadev_card *card = &vtadev_info(self->dev)->card;
	const char *const names[] = { "", "0", "vta0", "/dev/vta0", card->pci, card->pci + 5 };
	struct vtadev *dev;

	if (without_driver())
		SKIP(return, "%s", without_driver());
	EXPECT_EQ(0, strncmp(card->pci, "0000:", 5));
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, vtadev_open(names[i], &dev)) {
			TH_LOG("by the name '%s'", names[i]);
		}
		EXPECT_EQ(0, vtadev_info(dev)->card.index);
		EXPECT_STREQ("/dev/vta0", vtadev_info(dev)->card.node);
		EXPECT_EQ(vtadev_info(self->dev)->serial, vtadev_info(dev)->serial);
		vtadev_close(dev);
	}
	EXPECT_EQ(-ENOENT, vtadev_open("77", &dev));
	EXPECT_EQ(-ENOENT, vtadev_open("0000:7f:1f.7", &dev));
	EXPECT_EQ(-EINVAL, vtadev_open("nonsense", &dev));
	EXPECT_EQ(-ENOTTY, vtadev_open("/dev/null", &dev));
	EXPECT_EQ(-ENOENT, vtadev_open("/dev/no-such-node", &dev));
}

TEST_F(lib, lists_all_cards)
{
	struct vtadev_card *cards;
	int n, i;

	if (without_driver())
		SKIP(return, "%s", without_driver());
	n = vtadev_list(&cards);
	ASSERT_LT(0, n);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(i, cards[i].index);
		EXPECT_EQ(0, access(cards[i].node, R_OK | W_OK));
	}
	vtadev_list_free(cards);
}

TEST_F(lib, copies_to_the_card_and_back)
{
	struct vtadev_buf *src, *card, *dst;
	static uint8_t in[70000], out[70000];
	struct vta_desc descs[2];
	uint64_t seq;

	for (unsigned int i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 13 + (i >> 9));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, sizeof(in), VTADEV_HOST, &src));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, sizeof(in), VTADEV_CARD, &card));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, sizeof(in), VTADEV_HOST, &dst));
	ASSERT_EQ(0, vtadev_buf_write(src, 0, in, sizeof(in)));
	descs[0] = vtadev_desc_copy(vtadev_buf_addr(card), vtadev_buf_addr(src), sizeof(in));
	descs[1] = vtadev_desc_copy(vtadev_buf_addr(dst), vtadev_buf_addr(card), sizeof(in));
	ASSERT_EQ(0, vtadev_submit(self->queue, descs, 2, &seq));
	EXPECT_EQ(2, seq);
	EXPECT_EQ(0, vtadev_wait(self->queue, seq, 10 * SECOND));
	ASSERT_EQ(0, vtadev_buf_read(dst, 0, out, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	EXPECT_EQ(-ERANGE, vtadev_buf_read(dst, 1, out, sizeof(out)));
	vtadev_buf_free(src);
	vtadev_buf_free(card);
	vtadev_buf_free(dst);
}

TEST_F(lib, counters_show_the_cost_of_a_submit)
{
	struct vtadev_counters before, after;
	struct vta_desc descs[8];
	uint64_t seq;

	if (without_driver())
		SKIP(return, "%s", without_driver());
	for (unsigned int i = 0; i < 8; i++)
		descs[i] = vtadev_desc_nop();
	/* Not the first, which brings the mapping in. */
	ASSERT_EQ(0, vtadev_submit(self->queue, descs, 8, &seq));
	ASSERT_EQ(0, vtadev_wait(self->queue, seq, 10 * SECOND));
	ASSERT_EQ(0, vtadev_counters(self->dev, &before));
	ASSERT_EQ(0, vtadev_submit(self->queue, descs, 8, &seq));
	while (!vtadev_done(self->queue, seq))
		;
	ASSERT_EQ(0, vtadev_counters(self->dev, &after));
	EXPECT_EQ(before.mmio_writes + 1, after.mmio_writes);
	EXPECT_EQ(before.mmio_reads, after.mmio_reads);
	EXPECT_EQ(before.doorbells + 1, after.doorbells);
	EXPECT_EQ(before.arms, after.arms);
	EXPECT_EQ(before.interrupts, after.interrupts);
	EXPECT_EQ(before.descriptors + 8, after.descriptors);
}

/* In a mode in which any system call but read, write and exit kills. */
static void submit_strictly(void)
{
	struct vta_desc nop = vtadev_desc_nop();
	struct vtadev_queue *queue;
	struct vtadev *dev;
	uint64_t seq;
	int done = 1;

	if (vtadev_open(NULL, &dev) || vtadev_queue_create(dev, NULL, &queue) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(1);
	for (unsigned int i = 0; i < 1000 && done == 1; i++) {
		done = vtadev_submit(queue, &nop, 1, &seq);
		while (!done)
			done = vtadev_done(queue, seq);
	}
	syscall(SYS_exit, done == 1 ? 0 : 2);
}

TEST_F(lib, submit_makes_no_system_call)
{
	pid_t pid;

	if (without_driver())
		SKIP(return, "%s", without_driver());
	pid = fork();
	if (!pid)
		submit_strictly();
	EXPECT_EQ(0, child_end(pid));
}

TEST_F(lib, ring_full_is_eagain)
{
	struct vtadev_queue_opts opts = { .ring_entries = 4 };
	struct vta_desc descs[4];
	struct vtadev_queue *queue;
	struct vtadev_buf *word;
	uint64_t one = htole64(1), seq;

	ASSERT_EQ(0, vtadev_queue_create(self->dev, &opts, &queue));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, 8, VTADEV_HOST, &word));
	for (unsigned int i = 0; i < 4; i++)
		descs[i] = vtadev_desc_wait(vtadev_buf_addr(word), 1);
	EXPECT_EQ(0, vtadev_submit(queue, descs, 3, NULL));
	EXPECT_EQ(-EAGAIN, vtadev_submit(queue, descs, 2, NULL));
	EXPECT_EQ(0, vtadev_submit(queue, descs, 1, &seq));
	EXPECT_EQ(-EAGAIN, vtadev_submit(queue, descs, 1, NULL));
	EXPECT_EQ(-ETIMEDOUT, vtadev_wait(queue, seq, 1000000));
	EXPECT_EQ(0, vtadev_done(queue, seq));
	ASSERT_EQ(0, vtadev_buf_write(word, 0, &one, 8));
	vtadev_kick(queue);
	EXPECT_EQ(0, vtadev_sync(queue, 10 * SECOND));
	EXPECT_EQ(0, vtadev_submit(queue, descs, 4, NULL));
	EXPECT_EQ(0, vtadev_sync(queue, 10 * SECOND));
	vtadev_queue_destroy(queue);
	vtadev_buf_free(word);
}

TEST_F(lib, armed_queue_wakes_poll)
{
	struct pollfd pfd = { .fd = vtadev_fd(self->dev), .events = POLLIN };
	struct vtadev_buf *word;
	uint64_t one = htole64(1), seq;
	struct vta_desc desc;

	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, 8, VTADEV_HOST, &word));
	desc = vtadev_desc_wait(vtadev_buf_addr(word), 1);
	ASSERT_EQ(0, vtadev_submit(self->queue, &desc, 1, &seq));
	EXPECT_EQ(0, vtadev_arm(self->queue, seq));
	EXPECT_EQ(0, poll(&pfd, 1, 10));
	ASSERT_EQ(0, vtadev_buf_write(word, 0, &one, 8));
	vtadev_kick(self->queue);
	EXPECT_EQ(1, poll(&pfd, 1, 10000));
	EXPECT_EQ(POLLIN, pfd.revents);
	EXPECT_EQ(0, vtadev_wait(self->queue, seq, 0));
	EXPECT_EQ(1, vtadev_arm(self->queue, seq));
	vtadev_buf_free(word);
}

TEST_F(lib, fault_is_described_in_words)
{
	struct vta_desc desc = vtadev_desc_fill(0x40000000, 0, 4);
	char text[VTADEV_FAULT_TEXT_MAX];
	struct vtadev_fault fault;
	uint64_t seq;

	ASSERT_EQ(0, vtadev_submit(self->queue, &desc, 1, &seq));
	EXPECT_EQ(-EIO, vtadev_wait(self->queue, seq, 10 * SECOND));
	ASSERT_EQ(0, vtadev_fault(self->queue, &fault));
	EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
	EXPECT_EQ(VTA_ACCESS_COPY_DST, fault.access);
	EXPECT_EQ(0x40000000, fault.addr);
	EXPECT_EQ(1, fault.seq);
	EXPECT_LT(0, vtadev_fault_text(&fault, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "0x40000000"));
	EXPECT_EQ(-EIO, vtadev_submit(self->queue, &desc, 1, NULL));
}

/* Each way to lose a card has its own words; the errno is the same. */
TEST_F(lib, loss_is_described_in_words)
{
	char reset[VTADEV_LOST_TEXT_MAX], command[96];
	const char *name = strrchr(vtadev_info(self->dev)->card.node, '/') + 1;
	struct vtadev_lost lost;
	uint64_t bytes;

	if (without_driver())
		SKIP(return, "%s", without_driver());
	ASSERT_EQ(0, vtadev_lost(self->dev, &lost));
	EXPECT_EQ(VTA_FATE_NONE, lost.fate);
	snprintf(command, sizeof(command), "echo 1 >/sys/class/vta/%s/reset", name);
	ASSERT_EQ(0, system(command));
	EXPECT_EQ(-ENODEV, vtadev_mem_free(self->dev, &bytes));
	ASSERT_EQ(0, vtadev_lost(self->dev, &lost));
	EXPECT_EQ(VTA_FATE_RESET, lost.fate);
	EXPECT_EQ(VTA_CAUSE_ADMIN, lost.cause);
	vtadev_lost_text(&lost, reset, sizeof(reset));
	EXPECT_STREQ("an administrator asked for a reset of the card; it was reset: "
		     "close it and open it again",
		     reset);
}

TEST_F(lib, queue_recovers)
{
	struct vta_desc descs[3] = {
		vtadev_desc_nop(), vtadev_desc_fill(0x40000000, 0, 4), vtadev_desc_nop(),
	};
	struct vtadev_fault fault;
	uint64_t seq;

	EXPECT_EQ(-EBUSY, vtadev_recover(self->queue));
	ASSERT_EQ(0, vtadev_submit(self->queue, descs, 3, &seq));
	EXPECT_EQ(-EIO, vtadev_wait(self->queue, seq, 10 * SECOND));
	ASSERT_EQ(0, vtadev_recover(self->queue));
	EXPECT_EQ(2, vtadev_submitted(self->queue));
	EXPECT_EQ(0, vtadev_completed(self->queue, &seq));
	EXPECT_EQ(2, seq);
	ASSERT_EQ(0, vtadev_fault(self->queue, &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
	EXPECT_EQ(0, vtadev_submit(self->queue, descs, 1, &seq));
	EXPECT_EQ(3, seq);
	EXPECT_EQ(0, vtadev_wait(self->queue, seq, 10 * SECOND));
}

/* A token goes from one RUN to the next, in a queue that keeps and where it is asked for. */
TEST_F(lib, kept_runs_find_what_the_last_one_left)
{
	const struct vtadev_queue_opts opts = { .flags = VTADEV_QUEUE_KEEP };
	/* docs/isa.md: a LOAD of INP that moves nothing and pushes; FINISH, which pops. */
	static const uint64_t code[4] = { 0x140, 0, 0x0b, 0 };
	struct vtadev_queue *queues[2] = { self->queue };
	struct vta_desc descs[2];
	struct vtadev_buf *buf;

	if (!vtadev_info(self->dev)->save_size)
		SKIP(return, "the card keeps no state");
	EXPECT_LE(1u << 18, vtadev_info(self->dev)->save_size);
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, sizeof(code), VTADEV_HOST, &buf));
	ASSERT_EQ(0, vtadev_buf_write(buf, 0, code, sizeof(code)));
	ASSERT_EQ(0, vtadev_queue_create(self->dev, &opts, &queues[1]));
	for (unsigned int i = 0; i < 2; i++)
		descs[i] = vtadev_desc_run(vtadev_buf_addr(buf) + 16 * i, 1, 0);
	ASSERT_EQ(0, vtadev_submit(queues[1], descs, 2, NULL));
	EXPECT_EQ(-EIO, vtadev_sync(queues[1], 10 * SECOND));
	ASSERT_EQ(0, vtadev_recover(queues[1]));
	for (unsigned int i = 0; i < 2; i++)
		vtadev_desc_keep(&descs[i]);
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, vtadev_submit(queues[i], descs, 2, NULL));
		EXPECT_EQ(i ? 0 : -EIO, vtadev_sync(queues[i], 10 * SECOND));
	}
	vtadev_queue_destroy(queues[1]);
	vtadev_buf_free(buf);
}

TEST_F(lib, memory_is_spent_and_comes_back)
{
	uint64_t before, now;
	struct vtadev_buf *buf, *more;

	ASSERT_EQ(0, vtadev_mem_free(self->dev, &before));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, before, VTADEV_CARD, &buf));
	EXPECT_EQ(-ENOSPC, vtadev_buf_alloc(self->dev, 1, VTADEV_CARD, &more));
	EXPECT_EQ(0, vtadev_mem_free(self->dev, &now));
	EXPECT_EQ(0, now);
	vtadev_buf_free(buf);
	EXPECT_EQ(0, vtadev_mem_free(self->dev, &now));
	EXPECT_EQ(before, now);
}

TEST_HARNESS_MAIN
