// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_cards - two cards in one machine, /dev/vta0 and /dev/vta1 (kmod/vta_drv.c)
 */
#include "vta_harness.h"

FIXTURE(cards) {
	int fd[2];
	struct vta_info info[2];
	struct queue q[2];
	struct mem mem[2];
};

FIXTURE_SETUP(cards)
{
	for (unsigned int i = 0; i < 2; i++) {
		card_select(i);
		self->fd[i] = card_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, card_ioctl(self->fd[i], VTA_IOCTL_INFO, &self->info[i]));
		ASSERT_EQ(0, queue_open(self->fd[i], &self->q[i], NULL));
		ASSERT_EQ(0, mem_alloc(self->fd[i], &self->mem[i], 65536, VTA_BUF_CARD,
				       0x10000000));
	}
}

FIXTURE_TEARDOWN(cards)
{
	close(self->fd[0]);
	close(self->fd[1]);
}

TEST_F(cards, have_their_own_serial_numbers_and_addresses)
{
	char address[2][32];

	EXPECT_NE(self->info[0].serial, self->info[1].serial);
	for (unsigned int i = 0; i < 2; i++) {
		card_select(i);
		EXPECT_EQ(self->info[i].serial, card_serial());
		EXPECT_EQ(0, card_pci_address(address[i], sizeof(address[i])));
	}
	EXPECT_STRNE(address[0], address[1]);
}

static void *fill(void *arg)
{
	struct queue *q = arg;

	for (unsigned int i = 1; i <= 200; i++)
		if (queue_do(q, desc_fill(0x10000000, i * 0x01010101u, 65536)))
			return arg;
	return NULL;
}

TEST_F(cards, work_at_the_same_time)
{
	pthread_t threads[2];
	void *failed;

	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, fill, &self->q[i]));
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		EXPECT_EQ(NULL, failed);
		EXPECT_EQ(200, *(volatile uint8_t *)self->mem[i].ptr);
	}
}

TEST_F(cards, fault_of_one_is_not_the_others)
{
	struct vta_queue_fault fault;

	EXPECT_EQ(-EIO, queue_do(&self->q[0], desc_fill(0, 0, 1)));
	EXPECT_EQ(0, queue_do(&self->q[1], desc_fill(self->mem[1].addr, 3, 4)));
	ASSERT_EQ(0, queue_fault(&self->q[1], &fault));
	EXPECT_EQ(VTA_FAULT_NONE, fault.reason);
}

TEST_F(cards, unbound_one_leaves_the_other)
{
	char address[32];

	card_select(1);
	ASSERT_EQ(0, card_pci_address(address, sizeof(address)));
	ASSERT_EQ(0, file_write(DRIVER "unbind", address));
	EXPECT_EQ(-ENODEV, queue_wait(&self->q[1], 0, 0, NULL));
	EXPECT_EQ(0, queue_do(&self->q[0], desc_fill(self->mem[0].addr, 4, 4)));
	EXPECT_EQ(4, *(volatile uint32_t *)self->mem[0].ptr);
	/* The last reference to the old one frees its number. */
	queue_unmap(&self->q[1]);
	munmap(self->mem[1].ptr, self->mem[1].size);
	close(self->fd[1]);
	ASSERT_EQ(0, file_write(DRIVER "bind", address));
	self->fd[1] = card_open();
	EXPECT_LE(0, self->fd[1]);
}

int main(int argc, char **argv)
{
	if (access("/dev/vta1", F_OK))
		ksft_exit_skip("there is only one card\n");
	return test_harness_run(argc, argv);
}
