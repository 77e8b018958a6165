// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts: MSI-X and MSI through eventfds, none lost and none too many.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../frame.h"
#include "vfu_client.h"
#include "vfu_fake.h"

#define EVENTFDS	(VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER)
#define SOON		30000	/* ms: it will come */
#define NEVER		50	/* ms: it will not */

static struct vfc *const c = &client;

static int setup(void **state)
{
	(void)state;
	fake_open(4, 64);
	return 0;
}

static int setup_largest(void **state)
{
	(void)state;
	fake_open(PCI_MSI_MAX, PCI_MSIX_MAX);
	return 0;
}

static int setup_msi(void **state)
{
	(void)state;
	fake_open(8, 0);
	return 0;
}

#define FAKE void *unused, setup, fake_close
#define LARGEST void *unused, setup_largest, fake_close
#define MSI void *unused, setup_msi, fake_close

TEST_F(LARGEST, irq_every_vector)
{
	unsigned int i, count;

	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfu_irq_mode(fake.srv, &count), VFU_IRQ_NONE);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EPERM);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX,
				       PCI_MSIX_MAX), 0);
	assert_int_equal(vfu_irq_mode(fake.srv, &count), VFU_IRQ_MSIX);
	assert_int_equal(count, PCI_MSIX_MAX);
	for (i = 0; i < PCI_MSIX_MAX; i++) {
		assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, i), 0);
		assert_int_equal(vfc_irq_wait(c, i, SOON), 1);
	}
	for (i = 0; i < PCI_MSIX_MAX; i++)
		assert_int_equal(vfc_irq_wait(c, i, 0), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, i), -EINVAL);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSI, 0), -EPERM);
	vfc_irq_teardown(c);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EPERM);
}

/* A vector without an eventfd is pending, shows so, and is sent later. */
TEST_F(FAKE, irq_pending)
{
	const uint16_t ctl = PCI_POS_MSIX + PCI_MSIX_FLAGS;
	int fd;

	vfc_command(c, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 2), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 33), -EAGAIN);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 33), -EAGAIN);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA), 0);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA + 4), 1u << 1);
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->irq[33] = fd;
	c->nr_irqs = 34;
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 33,
				      1, &fd, 1), 0);
	assert_int_equal(vfc_irq_wait(c, 33, SOON), 1);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA + 4), 0);

	/* The same under the Function Mask. */
	vfc_cfg_write16(c, ctl, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 1), -EAGAIN);
	assert_int_equal(vfc_irq_wait(c, 1, NEVER), 0);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA), 1u << 1);
	vfc_cfg_write16(c, ctl, PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(vfc_irq_wait(c, 1, SOON), 1);

	/* Taking an eventfd away by an empty set; a reset forgets. */
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      1, NULL, 0), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EAGAIN);
	vfc_flr(c);
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA), 0);
}

TEST_F(FAKE, irq_gate)
{
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 1), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EPERM);
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_wait(c, 0, NEVER), 0);	/* dropped, not kept */
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_irq_wait(c, 0, SOON), 1);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D3HOT);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EPERM);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D0);
	vfc_flr(c);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EPERM);
	/* The eventfds are the client's and outlive an FLR. */
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	vfc_cfg_write16(c, PCI_POS_MSIX + PCI_MSIX_FLAGS,
			PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_irq_wait(c, 0, SOON), 1);
}

/* Without MSI-X, and with fewer messages granted than asked for. */
TEST_F(MSI, irq_msi)
{
	const uint16_t ctl = PCI_POS_MSI + PCI_MSI_FLAGS;
	unsigned int i, count;

	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSI_IRQ_INDEX, 8), 0);
	assert_int_equal(vfu_irq_mode(fake.srv, &count), VFU_IRQ_MSI);
	assert_int_equal(count, 8);
	for (i = 0; i < 8; i++) {
		assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSI, i), 0);
		assert_int_equal(vfc_irq_wait(c, i, SOON), 1);
	}
	vfc_cfg_write16(c, ctl, PCI_MSI_FLAGS_ENABLE | 1 << 4);
	assert_int_equal(vfu_irq_mode(fake.srv, &count), VFU_IRQ_MSI);
	assert_int_equal(count, 2);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSI, 2), -EINVAL);
	/* Granted more than exist: as many as exist. */
	vfc_cfg_write16(c, ctl, PCI_MSI_FLAGS_ENABLE | 7 << 4);
	vfu_irq_mode(fake.srv, &count);
	assert_int_equal(count, 8);
}

TEST_F(FAKE, irq_client_triggers)
{
	struct {
		struct vfu_irq_set set;
		uint8_t bools[4];
	} msg = {
		.set = { sizeof(msg), VFIO_IRQ_SET_DATA_BOOL |
			 VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX,
			 0, 4 },
		.bools = { 0, 1, 0, 1 },
	};

	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 4), 0);
	assert_int_equal(vfc_set_irqs(c, VFIO_IRQ_SET_DATA_NONE |
				      VFIO_IRQ_SET_ACTION_TRIGGER,
				      VFIO_PCI_MSIX_IRQ_INDEX, 0, 2, NULL, 0),
			 0);
	assert_int_equal(vfc_call(c, VFU_DEVICE_SET_IRQS, &msg, sizeof(msg),
				  NULL, 0, NULL, 0, NULL), 0);
	assert_int_equal(vfc_irq_wait(c, 0, SOON), 1);
	assert_int_equal(vfc_irq_wait(c, 1, SOON), 2);
	assert_int_equal(vfc_irq_wait(c, 2, 0), 0);
	assert_int_equal(vfc_irq_wait(c, 3, SOON), 1);
}

/*
 * A full, blocking eventfd stalls neither the server nor an engine. The client shares its flags,
 * and clears O_NONBLOCK after the server has it.
 */
TEST_F(FAKE, irq_never_blocks)
{
	const uint64_t full = 0xfffffffffffffffeull;
	int fd = eventfd(0, EFD_CLOEXEC);

	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 1), 0);
	assert_int_equal(write(fd, &full, sizeof(full)), sizeof(full));
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      1, &fd, 1), 0);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_set_irqs(c, VFIO_IRQ_SET_DATA_NONE |
				      VFIO_IRQ_SET_ACTION_TRIGGER,
				      VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, NULL, 0),
			 0);
	close(fd);
}

/* Among good eventfds one that is none: none of them is taken. */
TEST_F(FAKE, irq_all_or_none)
{
	int fds[2] = { eventfd(0, EFD_CLOEXEC), c->sock };

	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 2), 0);
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      2, fds, 2), -EINVAL);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_irq_wait(c, 0, SOON), 1);
	close(fds[0]);
}
