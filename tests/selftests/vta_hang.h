/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_hang.h - shared by vta_hang and vta_watch: a card with injected faults
 * through the emulator's control socket, and what recovery has counted
 */
#ifndef VTA_HANG_H
#define VTA_HANG_H

#include "vta_emu.h"
#include "vta_harness.h"

#define PARAMETERS	"/sys/module/vta/parameters/"

/* What recovery has counted. */
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

static inline bool given_up(void)
{
	char path[64], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/class/vta/%s/state", card_name());
	fd = open(path, O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return !strcmp(text, "given up\n");
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
	/* That an engine has hung before is forgotten. */
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
FIXTURE_TEARDOWN(hang)
{
	struct usage usage;

	EXPECT_EQ(0, emu_clear());
	munmap(self->mem.ptr, self->mem.size);
	queue_unmap(&self->q);
	close(self->fd);
	if (given_up()) {
		EXPECT_EQ(-ENODEV, card_open());
		EXPECT_EQ(0, card_reset());
	}
	ASSERT_EQ(0, card_try());
	usage = card_usage();
	EXPECT_EQ(0, usage.queues);
	EXPECT_EQ(0, usage.contexts);
	EXPECT_EQ(card_attr("mem_size"), usage.mem_free);
	file_write(PARAMETERS "max_job_ms", "1000");
	file_write(PARAMETERS "hang_ms", "10000");
	file_write(PARAMETERS "max_resets", "5");
	file_write(PARAMETERS "max_excess_irqs", "1000");
}

static inline uint32_t word(const struct mem *mem)
{
	return *(volatile uint32_t *)mem->ptr;
}

/* Waits for what does not come; the card is all right as far as that goes. */
static inline int hold(struct _test_data_hang *self, struct waiter *w)
{
	struct vta_desc desc = desc_wait(self->mem.addr, UINT64_MAX);

	queue_submit(&self->q, &desc, 1);
	return waiter_start(w, &self->q, 1, PATIENCE_MS);
}

/* The card was lost for this open file. */
static inline int lost(struct _test_data_hang *self)
{
	struct vta_info info;

	return card_poll(self->fd, 0) == (POLLERR | POLLHUP) ?
	       card_ioctl(self->fd, VTA_IOCTL_INFO, &info) : 0;
}

#endif /* VTA_HANG_H */
