// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_unbind - unbinding, resets of the function and unloading under load (kmod/vta_drv.c,
 * kmod/vta_device.c)
 */
#include <glob.h>
#include <linux/pci_regs.h>

#include "vta_harness.h"
#include "vta_holder.h"

#define MODULE	"/lib/vta.ko"

/* Makes the node that this PCI function has now the one under test. */
static int find_node(const char *address)
{
	char pattern[128], node[32];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/vta/vta*", address);
	if (glob(pattern, 0, NULL, &found))
		return -ENOENT;
	snprintf(node, sizeof(node), "/dev/%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	card_use(node);
	return 0;
}

static int unbind(const char *address)
{
	return file_write(DRIVER "unbind", address);
}

static int bind(const char *address)
{
	int err = file_write(DRIVER "bind", address);

	return err ? err : find_node(address);
}

FIXTURE(unbind) {
	char address[32];
	char node[32];
	int fd;
	struct queue q;
	struct mem host, card;
};

/* Releases all references to the card, once. */
static void let_go(struct _test_data_unbind *self)
{
	if (self->fd < 0)
		return;
	queue_unmap(&self->q);
	munmap(self->host.ptr, self->host.size);
	munmap(self->card.ptr, self->card.size);
	close(self->fd);
	self->fd = -1;
}

FIXTURE_SETUP(unbind)
{
	ASSERT_EQ(0, card_pci_address(self->address, sizeof(self->address)));
	snprintf(self->node, sizeof(self->node), "%s", card_node());
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->host, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->card, 65536, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	*(volatile int *)self->host.ptr = 42;
	*(volatile int *)self->card.ptr = 42;
}

/* The card works after a new open, and no resource of the old one is missing. */
FIXTURE_TEARDOWN(unbind)
{
	let_go(self);
	/* While the old file was there, a new node had another number. */
	unbind(self->address);
	ASSERT_EQ(0, bind(self->address));
	EXPECT_STREQ(self->node, card_node());
	ASSERT_EQ(0, card_try());
	EXPECT_TRUE(card_is_unused());
}

TEST_F(unbind, every_call_is_enodev)
{
	struct vta_buf_alloc alloc = { .size = 4096 };
	struct vta_queue_create create = { 0 };
	struct vta_queue_fault fault;
	struct vta_info info;

	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->fd));
	ASSERT_EQ(0, unbind(self->address));
	EXPECT_EQ(-ENODEV, card_ioctl(self->fd, VTA_IOCTL_INFO, &info));
	EXPECT_EQ(-ENODEV, card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &alloc));
	EXPECT_EQ(-ENODEV, buf_release(self->fd, self->host.handle));
	EXPECT_EQ(-ENODEV, card_ioctl(self->fd, VTA_IOCTL_QUEUE_CREATE, &create));
	EXPECT_EQ(-ENODEV, queue_destroy(self->fd, self->q.id));
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 0, 0, NULL));
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 2, -1, NULL));
	EXPECT_EQ(-ENODEV, queue_fault(&self->q, &fault));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)self->host.offset));
	EXPECT_EQ(ENODEV, errno);
	/* One call still works, and returns the reason. */
	EXPECT_EQ(LOST(VTA_FATE_REMOVED, VTA_CAUSE_UNBOUND), card_lost(self->fd));
	/* Binding does not bring an old file back. */
	ASSERT_EQ(0, bind(self->address));
	EXPECT_EQ(-ENODEV, card_ioctl(self->fd, VTA_IOCTL_INFO, &info));
	EXPECT_EQ(LOST(VTA_FATE_REMOVED, VTA_CAUSE_UNBOUND), card_lost(self->fd));
}

TEST_F(unbind, removes_the_node_until_the_driver_is_bound)
{
	ASSERT_EQ(0, unbind(self->address));
	EXPECT_GT(0, card_open());
	EXPECT_EQ(-1, access(card_node(), F_OK));
	ASSERT_EQ(0, bind(self->address));
	EXPECT_EQ(0, access(card_node(), F_OK));
}

TEST_F(unbind, ends_a_wait_with_enodev)
{
	struct waiter w;

	queue_hold(&self->q, &self->host, UINT64_MAX);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 2, -1));
	ASSERT_EQ(0, unbind(self->address));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
}

TEST_F(unbind, poll_returns_err_and_hup)
{
	EXPECT_EQ(0, card_poll(self->fd, 0));
	ASSERT_EQ(0, unbind(self->address));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, PATIENCE_MS));
}

static void *unbind_later(void *arg)
{
	sleep_ms(100);
	unbind(arg);
	return NULL;
}

TEST_F(unbind, wakes_poll)
{
	pthread_t thread;

	pthread_create(&thread, NULL, unbind_later, self->address);
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, PATIENCE_MS));
	pthread_join(thread, NULL);
}

/* Used before or not. */
TEST_F(unbind, mappings_can_still_be_read_and_written)
{
	volatile uint8_t *host = self->host.ptr, *card = self->card.ptr;
	struct vta_desc nop = desc_op(VTA_OP_NOP);

	ASSERT_EQ(0, unbind(self->address));
	for (unsigned int i = 0; i < 65536; i += 4096) {
		(void)host[i];
		(void)card[i];
		host[i] = 1;
		card[i] = 2;
	}
	queue_put(&self->q, nop);
	/* The writes above do not show in pages that are read-only. */
	EXPECT_EQ(0, queue_seq(&self->q));
	EXPECT_EQ(VTA_QUEUE_DISABLED, le32toh(self->q.status->status.state));
	(void)*self->q.doorbell;

	/* Nor do they reach the card when it works for others. */
	ASSERT_EQ(0, bind(self->address));
	queue_put(&self->q, nop);
	host[0] = 3;
	card[0] = 4;
}

TEST_F(unbind, old_mappings_show_no_memory_of_the_next_user)
{
	struct mem mem[2];
	int fd;

	ASSERT_EQ(0, unbind(self->address));
	ASSERT_EQ(0, bind(self->address));
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mem_alloc(fd, &mem[0], 65536, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, mem_alloc(fd, &mem[1], 65536, VTA_BUF_HOST, 0));
	memset(mem[0].ptr, 0x5a, mem[0].size);
	memset(mem[1].ptr, 0x5a, mem[1].size);
	EXPECT_NE(0x5a, *(volatile uint8_t *)self->card.ptr);
	EXPECT_NE(0x5a, *(volatile uint8_t *)self->host.ptr);
	*(volatile uint8_t *)self->card.ptr = 1;
	EXPECT_EQ(0x5a, *(volatile uint8_t *)mem[0].ptr);
	ASSERT_EQ(0, mem_free(&mem[0]));
	ASSERT_EQ(0, mem_free(&mem[1]));
	close(fd);
}

TEST_F(unbind, end_of_an_old_file_does_nothing_to_the_bound_card)
{
	struct queue q;
	struct mem mem;
	int fd;

	ASSERT_EQ(0, unbind(self->address));
	ASSERT_EQ(0, bind(self->address));
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_CARD, 0));
	EXPECT_EQ(0, queue_do(&q, desc_fill(mem.addr, 7, 4096)));
	/* The end of the old one does nothing to the new. */
	let_go(self);
	EXPECT_EQ(0, queue_do(&q, desc_fill(mem.addr, 8, 4096)));
	EXPECT_EQ(8, *(volatile uint32_t *)mem.ptr);
	mem_free(&mem);
	queue_close(&q);
	close(fd);
}

TEST_F(unbind, works_twenty_times_under_load)
{
	pid_t pids[4];

	let_go(self);
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = worker_start();
		ASSERT_LT(0, pids[i]);
	}
	for (unsigned int i = 0; i < 20; i++) {
		sleep_ms(20 + 7 * (i % 5));
		EXPECT_EQ(0, unbind(self->address));
		EXPECT_EQ(0, bind(self->address));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(0, child_kill(pids[i]));
	EXPECT_EQ(0, card_usage().contexts);
}

/* ---- the card is reset from outside ---- */

TEST_F(unbind, function_level_reset_is_enodev_for_open_files)
{
	uint64_t generation = card_attr("generation");
	struct waiter w;

	queue_hold(&self->q, &self->host, UINT64_MAX);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 2, -1));
	ASSERT_EQ(0, card_reset_function());
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 0, 0, NULL));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->fd, 0));
	*(volatile uint8_t *)self->card.ptr = 1;
	queue_kick(&self->q);
	EXPECT_LT(generation, card_attr("generation"));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_FUNCTION), card_lost(self->fd));
}

/* D0 or D3hot by the power management capability, behind the kernel's back. */
static int set_power_state(const char *address, uint8_t state)
{
	uint8_t config[256], at;
	char path[128];
	int fd, ret = -ENOENT;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", address);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (pread(fd, config, sizeof(config), 0) != sizeof(config)) {
		close(fd);
		return -EIO;
	}
	for (at = config[PCI_CAPABILITY_LIST]; at >= 64; at = config[at + PCI_CAP_LIST_NEXT]) {
		if (config[at] == PCI_CAP_ID_PM)
			ret = pwrite(fd, &state, 1, at + PCI_PM_CTRL) == 1 ? 0 : -errno;
	}
	close(fd);
	return ret;
}

/* A card that could not be reset had lost bus mastering. */
TEST_F(unbind, function_level_reset_helps_a_card_given_up)
{
	/* Without POLLPRI, as its queue may be seen halted before. */
	struct pollfd given_up = { .fd = self->fd };
	struct queue q;

	ASSERT_EQ(0, set_power_state(self->address, 3));
	EXPECT_EQ(-ENODEV, queue_open(self->fd, &q, NULL));
	ASSERT_EQ(1, poll(&given_up, 1, PATIENCE_MS));
	EXPECT_EQ(POLLERR | POLLHUP, given_up.revents);
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
	ASSERT_EQ(0, set_power_state(self->address, 0));
	ASSERT_EQ(0, card_reset_function());
	ASSERT_EQ(0, card_try());
	/* The old file has lost its card for good, and keeps the reason. */
	EXPECT_EQ(-ENODEV, queue_wait(&self->q, 0, 0, NULL));
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_CARD), card_lost(self->fd));
}

/* ---- the module ---- */

static int remove_module(void)
{
	return syscall(SYS_delete_module, "vta", O_NONBLOCK) ? -errno : 0;
}

static int insert_module(const char *address)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	int err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;

	close(fd);
	return err ? err : find_node(address);
}

TEST_F(unbind, module_in_use_cannot_be_removed)
{
	EXPECT_EQ(-EAGAIN, remove_module());
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	/* An old file of an unbound card needs the module's code, too. */
	ASSERT_EQ(0, unbind(self->address));
	EXPECT_EQ(-EAGAIN, remove_module());
	/* And so does a mapping. */
	close(self->fd);
	EXPECT_EQ(-EAGAIN, remove_module());
	let_go(self);
	EXPECT_EQ(0, remove_module());
	ASSERT_EQ(0, insert_module(self->address));
}

TEST_F(unbind, module_can_be_unloaded_and_loaded_again)
{
	let_go(self);
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(0, remove_module());
		EXPECT_EQ(-1, access("/sys/class/vta", F_OK));
		ASSERT_EQ(0, insert_module(self->address));
	}
	/* The cards are numbered by their places on the bus, whatever they were before. */
	snprintf(self->node, sizeof(self->node), "%s", card_node());
}

/* ---- the function is removed from the bus and found again ---- */

static int unplug(const char *address)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", address);
	return file_write(path, "1");
}

static int plug(const char *address)
{
	int err = file_write("/sys/bus/pci/rescan", "1");

	return err ? err : SOON(!find_node(address)) ? 0 : -ENOENT;
}

/* Every kind of resource is in use. The cards may have other numbers afterwards. */
TEST_F(unbind, removed_function_works_when_it_is_found_again)
{
	struct holder h;

	let_go(self);
	ASSERT_EQ(0, holder_begin(&h));
	ASSERT_EQ(0, unplug(self->address));
	EXPECT_STREQ("", holder_loses(&h));
	EXPECT_EQ(LOST(VTA_FATE_REMOVED, VTA_CAUSE_UNBOUND), card_lost(h.fd));
	ASSERT_EQ(0, plug(self->address));
	EXPECT_NE(0, card_usage().mem_free);
	EXPECT_STREQ("", holder_ends(&h));
}

TEST_HARNESS_MAIN
