// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_aer - errors of the link (PCI Express Advanced Error Reporting; kmod/vta_reset.c)
 *
 * The kernel's aer_inject makes the port above the card report them.
 */
#include <linux/pci_regs.h>

#include "vta_emu.h"
#include "vta_harness.h"

FIXTURE(aer) {
	const char *missing;	/* what the kernel does not have */
	int fd;
	struct queue q;
	struct mem mem;
	uint64_t generation;
};

FIXTURE_SETUP(aer)
{
	self->missing = bus_error_needs();
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 65536, VTA_BUF_CARD, 0));
	self->generation = card_attr("generation");
}

/* Older harnesses run a test even if its set-up skips it. */
FIXTURE_TEARDOWN(aer)
{
	emu_clear();
	close(self->fd);
}

static void let_go(struct _test_data_aer *self)
{
	munmap(self->mem.ptr, self->mem.size);
	queue_unmap(&self->q);
	close(self->fd);
	self->fd = -1;
}

TEST_F(aer, fatal_error_resets_the_card)
{
	struct mem word;
	struct waiter w;

	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	queue_hold(&self->q, &word, UINT64_MAX);
	ASSERT_EQ(0, waiter_start(&w, &self->q, 1, PATIENCE_MS));
	/* Not the first error of this link, nor reported alone. */
	for (unsigned int i = 0; i < 16; i++)
		ASSERT_EQ(0, bus_error(0, PCI_ERR_COR_RCVR));
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_DLP, 0));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, 0));
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 1, 0, NULL));
	*(volatile uint8_t *)self->mem.ptr = 1;
	queue_kick(&self->q);
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_BUS), card_lost(self->fd));
	EXPECT_EQ(self->generation + 1, card_attr("generation"));

	EXPECT_EQ(0, card_try());
	munmap(word.ptr, word.size);
	let_go(self);
	EXPECT_TRUE(card_is_unused());
}

/* The link has been reset, and no card answers. */
TEST_F(aer, card_that_does_not_return_is_given_up)
{
	uint64_t given_up = card_attr("recovery/given_up");

	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	ASSERT_EQ(0, emu_inject("ones"));
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_DLP, 0));
	while (card_attr("recovery/given_up") == given_up)
		sleep_ms(10);
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 1, 0, NULL));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, 0));
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_BUS), card_lost(self->fd));
	let_go(self);
	EXPECT_EQ(card_attr("mem_size"), card_usage().mem_free);

	/* Until an administrator resets it. */
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, card_reset());
	EXPECT_EQ(self->generation + 1, card_attr("generation"));
	EXPECT_EQ(0, card_try());
}

/* The link works, so files keep their resources. */
TEST_F(aer, nonfatal_error_has_no_effect)
{
	struct mem word;
	struct waiter w;

	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	ASSERT_EQ(0, mem_alloc(self->fd, &word, 4096, VTA_BUF_HOST, 0));
	queue_hold(&self->q, &word, 1);
	ASSERT_EQ(0, waiter_start(&w, &self->q, 1, PATIENCE_MS));
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_COMP_TIME, 0));
	sleep_ms(100);
	queue_release(&self->q, &word, 1);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	EXPECT_EQ(self->generation, card_attr("generation"));
	munmap(word.ptr, word.size);
}

/* The driver checks that the card still answers. */
TEST_F(aer, card_lost_by_a_nonfatal_error_is_reset)
{
	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	ASSERT_EQ(0, emu_inject("reg-magic=0 1"));
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_COMP_TIME, 0));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, PATIENCE_MS));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), card_lost(self->fd));
	EXPECT_EQ(0, card_try());
}

TEST_F(aer, corrected_errors_have_no_effect)
{
	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	ASSERT_EQ(0, bus_error(0, PCI_ERR_COR_RCVR));
	sleep_ms(100);
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(self->generation, card_attr("generation"));
}

TEST_HARNESS_MAIN
