// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_bus - two cards on one bus share its errors and resets, and nothing else (kmod/vta_reset.c)
 */
#include <linux/pci_regs.h>

#include "vta_emu.h"
#include "vta_harness.h"

#define CARDS	2

struct side {
	int fd;
	struct queue q;
	struct mem word;
	struct waiter waiter;
	uint64_t generation;
};

FIXTURE(bus) {
	struct side side[CARDS];
	char port[128];		/* above both: its directory in sysfs */
};

/* By their serial numbers; the first is on the bus before the second. */
static void choose(unsigned int n)
{
	card_choose(n ? "2" : "1");
}

FIXTURE_SETUP(bus)
{
	char address[32], path[64];

	for (unsigned int n = 0; n < CARDS; n++) {
		struct side *side = &self->side[n];

		choose(n);
		side->generation = card_attr("generation");
		side->fd = card_open();
		ASSERT_LE(0, side->fd);
		ASSERT_EQ(0, queue_open(side->fd, &side->q, NULL));
		ASSERT_EQ(0, mem_alloc(side->fd, &side->word, 4096, VTA_BUF_HOST, 0));
		queue_hold(&side->q, &side->word, UINT64_MAX);
		ASSERT_EQ(0, waiter_start(&side->waiter, &side->q, 1, PATIENCE_MS));
	}
	ASSERT_EQ(0, card_pci_address(address, sizeof(address)));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/..", address);
	ASSERT_NE(NULL, realpath(path, self->port));
}

FIXTURE_TEARDOWN(bus)
{
	EXPECT_EQ(0, emu_clear());
	for (unsigned int n = 0; n < CARDS; n++) {
		struct side *side = &self->side[n];

		munmap(side->word.ptr, side->word.size);
		queue_unmap(&side->q);
		close(side->fd);
		choose(n);
		EXPECT_TRUE(card_is_unused());
	}
}

/* The open file has lost the card, and reports the cause. Returns LOST(). */
static int loses(struct side *side)
{
	int err = waiter_join(&side->waiter);

	if (err != -ENODEV || card_poll(side->fd, 0) != (POLLERR | POLLHUP))
		return err;
	queue_release(&side->q, &side->word, UINT64_MAX);
	return card_lost(side->fd);
}

/* The waiter keeps waiting, until its descriptor completes. */
static int notices_nothing(struct side *side)
{
	queue_release(&side->q, &side->word, UINT64_MAX);
	return waiter_join(&side->waiter);
}

static int works(unsigned int n)
{
	choose(n);
	return card_try();
}

static uint64_t generation(unsigned int n)
{
	choose(n);
	return card_attr("generation");
}

static int reset_function(unsigned int n)
{
	choose(n);
	return card_reset_function();
}

TEST_F(bus, reset_of_one_card_spares_the_others)
{
	ASSERT_EQ(0, reset_function(1));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_FUNCTION), loses(&self->side[1]));
	EXPECT_EQ(0, works(1));
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->side[0].fd));
	EXPECT_EQ(0, notices_nothing(&self->side[0]));
	EXPECT_EQ(self->side[0].generation, generation(0));
}

/* An error that one of them reports, or the port, is an error of the bus. */
TEST_F(bus, error_affects_all_cards_of_the_bus)
{
	const char *missing = bus_error_needs();

	if (missing)
		SKIP(return, "this kernel has no %s", missing);
	choose(0);
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_DLP, 0));
	for (unsigned int n = 0; n < CARDS; n++) {
		EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_BUS), loses(&self->side[n]));
		EXPECT_EQ(self->side[n].generation + 1, generation(n));
		EXPECT_EQ(0, works(n));
	}
}

static int reset_card(unsigned int n)
{
	choose(n);
	return card_reset();
}

TEST_F(bus, card_that_does_not_return_spares_the_other)
{
	const char *missing = bus_error_needs();

	if (missing)
		SKIP(return, "this kernel has no %s", missing);
	choose(0);
	ASSERT_EQ(0, emu_inject("ones"));
	ASSERT_EQ(0, bus_error(PCI_ERR_UNC_DLP, 0));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_BUS), loses(&self->side[1]));
	EXPECT_EQ(0, works(1));
	/* The watchdog may have detected it first. */
	EXPECT_EQ(VTA_FATE_GIVEN_UP, loses(&self->side[0]) >> 8);
	EXPECT_EQ(-ENODEV, works(0));
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, reset_card(0));
	EXPECT_EQ(0, works(0));
}

/* By the PCI core, which notifies both drivers before and after. */
TEST_F(bus, reset_affects_all_cards_of_the_bus)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/reset_subordinate", self->port);
	if (access(path, W_OK))
		SKIP(return, "this kernel resets no bus for an administrator");
	ASSERT_EQ(0, file_write(path, "1"));
	for (unsigned int n = 0; n < CARDS; n++) {
		EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_FUNCTION), loses(&self->side[n]));
		EXPECT_EQ(self->side[n].generation + 1, generation(n));
		EXPECT_EQ(0, works(n));
	}
}

/* By the port's register, as debuggers do; no driver is informed. */
static int reset_unannounced(const char *port)
{
	uint16_t control, reset;
	char path[160];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/config", port);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &control, 2, PCI_BRIDGE_CONTROL) != 2)
		err = -EIO;
	reset = control | htole16(PCI_BRIDGE_CTL_BUS_RESET);
	if (!err && pwrite(fd, &reset, 2, PCI_BRIDGE_CONTROL) != 2)
		err = -EIO;
	sleep_ms(2);
	if (!err && pwrite(fd, &control, 2, PCI_BRIDGE_CONTROL) != 2)
		err = -EIO;
	close(fd);
	return err;
}

/* The cards have also lost their addresses: a reset of the function brings them back. */
TEST_F(bus, unannounced_reset_of_the_bus_is_recovered)
{
	ASSERT_EQ(0, reset_unannounced(self->port));
	for (unsigned int n = 0; n < CARDS; n++) {
		EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_CARD), loses(&self->side[n]));
		EXPECT_EQ(0, works(n));
	}
}

TEST_HARNESS_MAIN
