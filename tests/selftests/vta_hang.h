/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_hang.h - shared by vta_hang, vta_watch and vta_state: a card into which faults are
 * injected through the emulator's control socket, and the counters of recovery
 */
#ifndef VTA_HANG_H
#define VTA_HANG_H

#include "vta_emu.h"
#include "vta_harness.h"

/* Counters of recovery. */
struct steps {
	uint64_t aborts, soft, function, given_up, lost, storms, generation;
};

static inline struct steps steps_now(void)
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

/* Open files report a reset before it is complete. */
static inline struct steps steps_then(const struct steps *before, unsigned int resets)
{
	if (resets)
		SOON(card_attr("generation") != before->generation ||
		     card_attr("recovery/given_up") != before->given_up);
	return steps_now();
}

static inline void expect_steps(struct __test_metadata *_metadata, const struct steps *before,
				unsigned int aborts, unsigned int soft, unsigned int function,
				unsigned int given_up)
{
	struct steps now = steps_then(before, soft);

	EXPECT_EQ(before->aborts + aborts, now.aborts);
	EXPECT_EQ(before->soft + soft, now.soft);
	EXPECT_EQ(before->function + function, now.function);
	EXPECT_EQ(before->given_up + given_up, now.given_up);
}

/* Queues aborted, resets by the card's register, resets of the function, cards given up. */
#define EXPECT_STEPS(...)	expect_steps(_metadata, &self->before, __VA_ARGS__)

static inline bool given_up(void)
{
	char text[32];

	return !strcmp(card_text("state", text, sizeof(text)), "given up");
}

FIXTURE(hang) {
	int fd;
	struct queue q;
	struct mem mem;
	struct steps before;
};

static inline void hang_begin(struct __test_metadata *_metadata, struct _test_data_hang *self)
{
	ASSERT_EQ(0, emu_clear());
	/* Engines that have hung before count as new ones. */
	ASSERT_EQ(0, card_reset());
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "100"));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "1000"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "0"));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
	self->before = steps_now();
}

/* After every test the card works for a new open, and nothing is left in use. */
static inline void hang_end(struct __test_metadata *_metadata, struct _test_data_hang *self)
{
	EXPECT_EQ(0, emu_clear());
	munmap(self->mem.ptr, self->mem.size);
	queue_unmap(&self->q);
	close(self->fd);
	if (given_up()) {
		EXPECT_EQ(-ENODEV, card_open());
		EXPECT_EQ(0, card_reset());
	}
	ASSERT_EQ(0, card_try());
	EXPECT_TRUE(card_is_unused());
	file_write(PARAMETERS "max_job_ms", "1000");
	file_write(PARAMETERS "hang_ms", "10000");
	file_write(PARAMETERS "max_resets", "5");
	file_write(PARAMETERS "max_excess_irqs", "1000");
}

FIXTURE_SETUP(hang)
{
	hang_begin(_metadata, self);
}

FIXTURE_TEARDOWN(hang)
{
	hang_end(_metadata, self);
}

static inline uint32_t word(const struct mem *mem)
{
	return *(volatile uint32_t *)mem->ptr;
}

/* Hold the queue, which is no fault of the card's, and wait for it. */
static inline int hold(struct _test_data_hang *self, struct waiter *w)
{
	return waiter_start(w, &self->q, queue_hold(&self->q, &self->mem, UINT64_MAX), PATIENCE_MS);
}

/* The card was lost for this open file. */
static inline int lost(struct _test_data_hang *self)
{
	struct vta_info info;

	return card_poll(self->fd, 0) == (POLLERR | POLLHUP) ?
	       card_ioctl(self->fd, VTA_IOCTL_INFO, &info) : 0;
}

#endif /* VTA_HANG_H */
