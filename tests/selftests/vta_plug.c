// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_plug - hot plug by the machine, under load: with notice, as by the button at the slot, and
 * without (kmod/vta_drv.c)
 */
#include <linux/pci_regs.h>

#include "vta_harness.h"
#include "vta_holder.h"
#include "vta_emu.h"

#define CARD	"{ \"id\": \"card0\" }"
#define PLUG	"{ \"driver\": \"vfio-user-pci\", \"id\": \"card0\", \"bus\": \"port0\", " \
		"\"socket\": { \"type\": \"unix\", \"path\": \"card0.sock\" } }"
/* The node may have another number each time. */
#define SERIAL	"1"
#define WORKERS	2

/* No power, and no light. */
#define SLOT_OFF	(PCI_EXP_SLTCTL_PWR_OFF | PCI_EXP_SLTCTL_PIC)

FIXTURE(plug) {
	char port[128];		/* above the card: its directory in sysfs */
	char card[192];
	struct holder h;
	pid_t workers[WORKERS];
};

static bool soon(bool (*is_so)(const void *arg), const void *arg)
{
	int64_t end = now_ns() + 2 * PATIENCE_MS * 1000000ll;

	while (!is_so(arg) && now_ns() < end)
		sleep_ms(10);
	return is_so(arg);
}

/* Reads or writes the register Slot Control of a port. */
static int slot_control(const char *port, uint16_t *value, bool write)
{
	uint8_t config[256], at;
	uint16_t word = htole16(*value);
	char path[160];
	int fd, ret = -ENOENT;

	snprintf(path, sizeof(path), "%s/config", port);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, config, sizeof(config), 0) != sizeof(config)) {
		close(fd);
		return -EIO;
	}
	for (at = config[PCI_CAPABILITY_LIST]; at >= 64; at = config[at + PCI_CAP_LIST_NEXT]) {
		if (config[at] != PCI_CAP_ID_EXP)
			continue;
		at += PCI_EXP_SLTCTL;
		ret = write ? pwrite(fd, &word, 2, at) : pread(fd, &word, 2, at);
		ret = ret == 2 ? 0 : -EIO;
		*value = le16toh(word);
		break;
	}
	close(fd);
	return ret;
}

static bool is_off(const void *port)
{
	uint16_t control = 0;

	return !slot_control(port, &control, false) && (control & SLOT_OFF) == SLOT_OFF;
}

static bool is_away(const void *path)
{
	return access(path, F_OK);
}

/* QEMU refuses the card while the old one has its name. */
static bool is_plugged(const void *arg)
{
	static bool done;

	(void)arg;
	done = done || !qemu_tell("device_add", PLUG);
	return done;
}

/* The card, under any name, works when it is opened. */
static bool is_back(const void *arg)
{
	(void)arg;
	return !card_choose(SERIAL) && !card_try();
}

static bool is_unused(const void *arg)
{
	struct usage now = card_usage();

	(void)arg;
	return !now.queues && !now.contexts && now.mem_free == card_attr("mem_size");
}

FIXTURE_SETUP(plug)
{
	char address[32], path[64];

	if (!qemu_is_there())
		return;
	ASSERT_EQ(0, card_choose(SERIAL));
	ASSERT_EQ(0, card_pci_address(address, sizeof(address)));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/..", address);
	ASSERT_NE(NULL, realpath(path, self->port));
	snprintf(self->card, sizeof(self->card), "%s/%s", self->port, address);
	for (unsigned int i = 0; i < WORKERS; i++) {
		self->workers[i] = worker_start();
		ASSERT_LT(0, self->workers[i]);
	}
	ASSERT_EQ(0, holder_begin(&self->h));
}

FIXTURE_TEARDOWN(plug)
{
}

/* The card is put back while the old file is open, and works. */
static void put_back(struct __test_metadata *_metadata, struct _test_data_plug *self)
{
	EXPECT_STREQ("", holder_loses(&self->h));
	ASSERT_TRUE(soon(is_off, self->port));
	ASSERT_TRUE(soon(is_plugged, NULL));
	ASSERT_TRUE(soon(is_back, NULL));
	EXPECT_STREQ("", holder_ends(&self->h));
	for (unsigned int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, child_kill(self->workers[i]));
	EXPECT_TRUE(soon(is_unused, NULL));
}

/* The kernel is asked, ends all use of the card, and switches the slot off. */
TEST_F(plug, card_unplugged_with_notice_works_when_it_is_back)
{
	if (!qemu_is_there())
		SKIP(return, "no monitor of the machine: tools/vm/vm run --monitor");
	ASSERT_EQ(0, qemu_tell("device_del", CARD));
	ASSERT_TRUE(soon(is_away, self->card));
	EXPECT_EQ(LOST(VTA_FATE_REMOVED, VTA_CAUSE_UNBOUND), card_lost(self->h.fd));
	put_back(_metadata, self);
}

/*
 * The machine takes the card out when the slot's power goes off. The port does so behind
 * the kernel's back, and has its power back before it may report: the kernel only sees a link that
 * is down and a function that does not answer, as when a card is pulled.
 */
static int pull(const char *port)
{
	uint16_t control;
	int err;

	err = slot_control(port, &control, false);
	control = (control | SLOT_OFF) & ~PCI_EXP_SLTCTL_HPIE;
	err = err ? err : slot_control(port, &control, true);
	control = (control & ~SLOT_OFF) | PCI_EXP_SLTCTL_PWR_IND_ON | PCI_EXP_SLTCTL_HPIE;
	return err ? err : slot_control(port, &control, true);
}

TEST_F(plug, card_pulled_out_works_when_it_is_back)
{
	if (!qemu_is_there())
		SKIP(return, "no monitor of the machine: tools/vm/vm run --monitor");
	ASSERT_EQ(0, pull(self->port));
	ASSERT_TRUE(soon(is_away, self->card));
	EXPECT_EQ(LOST(VTA_FATE_REMOVED, VTA_CAUSE_UNPLUGGED), card_lost(self->h.fd));
	put_back(_metadata, self);
}

TEST_HARNESS_MAIN
