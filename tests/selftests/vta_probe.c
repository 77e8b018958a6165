// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_probe - a card with invalid registers is not bound: errno and the kernel's log give the
 * reason, and without the cause it works (kmod/vta_device.c, kmod/vta_drv.c)
 *
 * False registers are injected through the emulator's control socket, so this runs on
 * card 0 alone, which is to have vta-emu's default core.
 */
#include <sys/klog.h>

#include "vta_emu.h"
#include "vta_harness.h"

/* Of the core: batch 1, blocks of 16, 8 and 32 bits; then its scratchpads. */
#define CONFIG0	0x40533
#define CONFIG1	0x11120f0f

/* Number of times that the text is in the kernel's log. */
static unsigned int times_said(const char *what)
{
	static char log[1 << 20];
	int len = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1);
	unsigned int times = 0;
	const char *at = log;

	log[len > 0 ? len : 0] = '\0';
	while ((at = strstr(at, what))) {
		times++;
		at += strlen(what);
	}
	return times;
}

FIXTURE(probe) {
	char address[32];
};

FIXTURE_SETUP(probe)
{
	ASSERT_EQ(0, emu_clear());
	ASSERT_EQ(0, card_pci_address(self->address, sizeof(self->address)));
}

/* Afterwards the card works, and all of it is free. */
FIXTURE_TEARDOWN(probe)
{
	EXPECT_EQ(0, emu_clear());
	if (access(card_node(), F_OK))
		ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
	ASSERT_EQ(0, card_try());
	EXPECT_TRUE(card_is_unused());
}

struct lie {
	const char *kind;
	const char *said;
	int err;		/* PCI makes nothing of ENODEV but that */
};

static const struct lie lies[] = {
	{ "ones", "the card does not answer", -ENODEV },
	{ "reg-magic=0x12345678", "not a VTA card: magic number is 0x12345678", -ENODEV },
	{ "reg-contract=0x10000", "the card follows contract 1.0, this driver version 2", -ENODEV },
	{ "reg-status=0", "the card is not ready within 1000 ms", -ETIMEDOUT },
	{ "reg-status=0xffffffff", "the card is not ready within 1000 ms", -ENODEV },

	{ "reset-ignored", "the card cannot be reset (-5)", -EIO },
	{ "generation-same", "the card cannot be reset (-5)", -EIO },
	{ "reset-stuck", "the card cannot be reset (-110)", -ETIMEDOUT },
	{ "reg-generation=0xffffffff", "the card cannot be reset (-5)", -EIO },
	/* It is read twice before. */
	{ "reg-magic=0+2", "the card cannot be reset (-19)", -ENODEV },

	{ "reg-queues=0", "the card says QUEUES = 0, which must be 1 to 256", -ENODEV },
	{ "reg-queues=257", "the card says QUEUES = 257", -ENODEV },
	{ "reg-contexts=0", "the card says CONTEXTS = 0", -ENODEV },
	{ "reg-contexts=257", "the card says CONTEXTS = 257", -ENODEV },
	{ "reg-ring-order-max=0", "the card says RING_ORDER_MAX = 0", -ENODEV },
	{ "reg-ring-order-max=17", "the card says RING_ORDER_MAX = 17", -ENODEV },
	{ "reg-doorbell-shift=11", "the card says DOORBELL_SHIFT = 11", -ENODEV },
	{ "reg-doorbell-shift=21", "the card says DOORBELL_SHIFT = 21", -ENODEV },
	{ "reg-clock-khz=0", "the card says CLOCK_KHZ = 0", -ENODEV },
	{ "reg-save-size=0x8001000", "the card says SAVE_SIZE = 134221824", -ENODEV },
	{ "reg-save-size=0x1008", "the card says SAVE_SIZE modulo 4096 = 8, which must be 0 to 0",
	  -ENODEV },
	{ "reg-mem-size=4096", "the card says MEM_SIZE = 4096", -ENODEV },
	{ "reg-mem-size=0", "the card has 0 bytes of memory but BAR4 shows", -ENODEV },
	{ "reg-mem-size=0x100000", "the card has 1048576 bytes of memory but BAR4 shows", -ENODEV },
	{ "reg-doorbell-shift=20", "BAR2 has no room for 64 doorbells", -ENODEV },
	{ "reg-queues=256", "BAR2 has no room for 256 doorbells", -ENODEV },

	{ "reg-config0=0x40530", "the card says LOG_INP_WIDTH = 0, which must be 1 to 3", -ENODEV },
	{ "reg-config0=0x40543", "the card says LOG_WGT_WIDTH = 4", -ENODEV },
	{ "reg-config0=0x40433", "the card says LOG_ACC_WIDTH = 4", -ENODEV },
	{ "reg-config0=0x49533", "the card says LOG_BATCH = 9", -ENODEV },
	{ "reg-config0=0x533", "the card says LOG_BLOCK = 0", -ENODEV },
	{ "reg-config0=0x10531", "the card says LOG_INP_WIDTH + LOG_BATCH + LOG_BLOCK = 2",
	  -ENODEV },
	{ "reg-config1=0x11120f01", "the card says LOG_UOP_BUFF_SIZE = 1", -ENODEV },
	{ "reg-config1=0x1112030f", "the card says LOG_INP_BUFF_SIZE = 3", -ENODEV },
	{ "reg-config1=0x11070f0f", "the card says LOG_WGT_BUFF_SIZE = 7", -ENODEV },
	{ "reg-config1=0x05120f0f", "the card says LOG_ACC_BUFF_SIZE = 5", -ENODEV },
	{ "reg-config1=0x11122f0f", "the card says LOG_INP_BUFF_SIZE = 47", -ENODEV },
	{ "reg-config1=0x11190f0f", "the card says LOG_WGT_BUFF_SIZE = 25, which must be 0 to 24",
	  -ENODEV },
	{ "reg-config1=0x12120f0f", "the card says the width of word 1 of ALU", -ENODEV },
	{ "reg-config2=2", "the card says LOG_TOKENS = 2, which must be 3 to 16", -ENODEV },
	{ "reg-config2=0x1100", "the card says LOG_WAITING = 17", -ENODEV },
};

TEST_F(probe, card_with_invalid_registers_is_not_bound)
{
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	for (unsigned int i = 0; i < ARRAY_SIZE(lies); i++) {
		const struct lie *lie = &lies[i];
		unsigned int before = times_said(lie->said);

		ASSERT_EQ(0, emu_inject(lie->kind));
		/* Older kernels report the same whatever a probe came to. */
		EXPECT_EQ(kernel_is_before(5, 14) ? -ENODEV : lie->err,
			  file_write(DRIVER "bind", self->address)) {
			TH_LOG("%s", lie->kind);
		}
		EXPECT_EQ(before + 1, times_said(lie->said)) {
			TH_LOG("%s", lie->kind);
		}
		EXPECT_NE(0, access(card_node(), F_OK));
		ASSERT_EQ(0, emu_clear());
	}
}

/* The same injection with the card's true values is accepted. */
TEST_F(probe, unchanged_registers_are_accepted)
{
	char kinds[2][32];

	snprintf(kinds[0], sizeof(kinds[0]), "reg-config0=%#x", CONFIG0);
	snprintf(kinds[1], sizeof(kinds[1]), "reg-config1=%#x", CONFIG1);
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, emu_inject(kinds[0]));
	ASSERT_EQ(0, emu_inject(kinds[1]));
	EXPECT_EQ(0, file_write(DRIVER "bind", self->address));
	EXPECT_EQ(4, card_attr("config/LOG_BLOCK"));
	EXPECT_EQ(17, card_attr("config/LOG_ACC_BUFF_SIZE"));
}

/* Only MAGIC, STATUS, STATE and TIME say by all ones that no card answers. */
TEST_F(probe, other_registers_may_be_all_ones)
{
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, emu_inject("reg-clock-khz=0xffffffff"));
	ASSERT_EQ(0, emu_inject("reg-serial=0xffffffff"));
	/* Before the reset. */
	ASSERT_EQ(0, emu_inject("reg-generation=0xffffffff 1"));
	EXPECT_EQ(0, file_write(DRIVER "bind", self->address));
	EXPECT_EQ(UINT32_MAX, card_attr("clock_khz"));
}

/* A card of 2.0 has no CONFIG2, and queues of 65,536. */
TEST_F(probe, card_of_an_older_minor_version_has_the_deepest_queues)
{
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, emu_inject("reg-config2=0x0908"));
	ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
	EXPECT_EQ(8, card_attr("config/LOG_TOKENS"));
	EXPECT_EQ(9, card_attr("config/LOG_WAITING"));
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, emu_inject("reg-contract=0x20000"));
	ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
	EXPECT_EQ(16, card_attr("config/LOG_TOKENS"));
	EXPECT_EQ(16, card_attr("config/LOG_WAITING"));
}

/* Features are optional. */
TEST_F(probe, card_without_features_works)
{
	struct queue q;
	int fd;

	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, emu_inject("reg-features=0"));
	ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(UINT64_MAX, card_counter("descriptors"));
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, card_attr("usage/descriptors"));
	EXPECT_EQ(1, ctx_number(fd, "vta-descriptors"));
	EXPECT_EQ(0, ctx_number(fd, "vta-runs"));
	/* The driver logs the lost card. */
	EXPECT_EQ(0, card_reset_function());
	queue_unmap(&q);
	close(fd);
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
	EXPECT_NE(UINT64_MAX, card_counter("descriptors"));
}

/* It cannot be stopped, so its bus mastering is disabled. */
TEST_F(probe, card_that_does_not_answer_can_be_unbound)
{
	static const char said[] = "gone, or cannot be reset (-19)";
	unsigned int before = times_said(said);

	ASSERT_EQ(0, emu_inject("ones"));
	ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
	EXPECT_EQ(before + 1, times_said(said));
}

/* Another function is named as a card: the host's bridge has no memory. */
TEST_F(probe, other_functions_are_refused)
{
	static const char bridge[] = "/sys/bus/pci/devices/0000:00:00.0/driver_override";
	static const char said[] = "BAR0 has no address: not a VTA card";
	unsigned int before = times_said(said);

	ASSERT_EQ(0, file_write(bridge, "vta"));
	EXPECT_EQ(-ENODEV, file_write(DRIVER "bind", "0000:00:00.0"));
	EXPECT_EQ(before + 1, times_said(said));
	EXPECT_EQ(0, file_write(bridge, "\n"));
}

TEST_HARNESS_MAIN
