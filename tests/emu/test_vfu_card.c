// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card behind the transport: configuration space, regions, guest memory
 * and interrupts, as a host sees them.
 */
#define _GNU_SOURCE 1	/* memfd_create */
#include <errno.h>
#include <linux/pci_regs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "vfu_client.h"
#include "vfu_fake.h"

#define RAM		0x40000000ull
#define RAM_SIZE	0x100000u
#define RW		(VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE)
#define EVENTFDS	(VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER)
#define SOON		2000	/* ms: it will come */
#define NEVER		50	/* ms: it will not */

static struct fake fake;
static struct vfc vfc, *const c = &vfc;

static int start(unsigned int msi, unsigned int msix)
{
	fake_init(&fake, msi, msix);
	fake_start(&fake);
	return vfc_connect(c, fake.path);
}

static int setup(void **state)
{
	(void)state;
	return start(4, 64);
}

static int setup_largest(void **state)
{
	(void)state;
	return start(PCI_MSI_MAX, PCI_MSIX_MAX);
}

static int setup_msi(void **state)
{
	(void)state;
	return start(8, 0);
}

static int setup_no_irq(void **state)
{
	(void)state;
	return start(0, 0);
}

static int teardown(void **state)
{
	(void)state;
	vfc_close(c);
	fake_stop(&fake);
	return 0;
}

static struct vfu_dma *dma(void)
{
	return vfu_get_dma(fake.srv);
}

/* Configuration space */

static void cfg_identity(void **state)
{
	(void)state;
	assert_int_equal(vfc_cfg_read16(c, PCI_VENDOR_ID), 0x1234);
	assert_int_equal(vfc_cfg_read16(c, PCI_DEVICE_ID), 0x5654);
	assert_int_equal(vfc_cfg_read32(c, PCI_CLASS_REVISION), 0x12000001);
	assert_int_equal(vfc_cfg_read16(c, PCI_SUBSYSTEM_VENDOR_ID), 0x1234);
	assert_int_equal(vfc_cfg_read16(c, PCI_SUBSYSTEM_ID), 0x0001);
	assert_int_equal(vfc_cfg_read8(c, PCI_HEADER_TYPE), 0);
	assert_int_equal(vfc_cfg_read8(c, PCI_INTERRUPT_PIN), 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_STATUS), PCI_STATUS_CAP_LIST);
}

static void cfg_capabilities(void **state)
{
	uint16_t pm = vfc_find_cap(c, PCI_CAP_ID_PM);
	uint16_t msi = vfc_find_cap(c, PCI_CAP_ID_MSI);
	uint16_t msix = vfc_find_cap(c, PCI_CAP_ID_MSIX);
	uint16_t exp = vfc_find_cap(c, PCI_CAP_ID_EXP);
	uint16_t dsn = vfc_find_ext_cap(c, PCI_EXT_CAP_ID_DSN);

	(void)state;
	assert_int_equal(pm, PCI_POS_PM);
	assert_int_equal(vfc_cfg_read16(c, pm + PCI_PM_PMC), 3);
	assert_int_equal(vfc_cfg_read16(c, pm + PCI_PM_CTRL),
			 PCI_PM_CTRL_NO_SOFT_RESET);
	assert_int_equal(vfc_cfg_read16(c, msi + PCI_MSI_FLAGS),
			 PCI_MSI_FLAGS_64BIT | 2 << 1);
	assert_int_equal(vfc_cfg_read16(c, msix + PCI_MSIX_FLAGS), 63);
	assert_int_equal(vfc_cfg_read32(c, msix + PCI_MSIX_TABLE), 0x8000);
	assert_int_equal(vfc_cfg_read32(c, msix + PCI_MSIX_PBA), 0xb000);
	assert_int_equal(vfc_cfg_read16(c, exp + PCI_EXP_FLAGS), 2);
	assert_true(vfc_cfg_read32(c, exp + PCI_EXP_DEVCAP) &
		    PCI_EXP_DEVCAP_FLR);
	assert_int_equal(vfc_cfg_read32(c, exp + PCI_EXP_LNKCAP) & 0x3ff, 0x83);
	assert_int_equal(vfc_cfg_read16(c, exp + PCI_EXP_LNKSTA) & 0x3ff, 0x83);
	assert_int_equal(vfc_find_ext_cap(c, PCI_EXT_CAP_ID_ERR), PCI_POS_AER);
	assert_int_equal(dsn, PCI_POS_DSN);
	assert_int_equal(vfc_cfg_read32(c, dsn + 4), (uint32_t)FAKE_SERIAL);
	assert_int_equal(vfc_cfg_read32(c, dsn + 8), FAKE_SERIAL >> 32);
}

static void cfg_without_interrupts(void **state)
{
	struct vfu_irq_info info;

	(void)state;
	assert_int_equal(vfc_find_cap(c, PCI_CAP_ID_MSI), 0);
	assert_int_equal(vfc_find_cap(c, PCI_CAP_ID_MSIX), 0);
	assert_int_not_equal(vfc_find_cap(c, PCI_CAP_ID_EXP), 0);
	assert_int_equal(vfc_irq_info(c, VFIO_PCI_MSIX_IRQ_INDEX, &info), 0);
	assert_int_equal(info.count, 0);
	/* Neither is there a table in BAR0: the device has it all. */
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	vfc_bar_write32(c, 0, 0x8000, 0x11223344);
	vfc_bar_write32(c, 0, 0xb000, 0x55667788);
	assert_int_equal(fake.bar0[0x8000], 0x44);
	assert_int_equal(fake.bar0[0xb000], 0x88);
}

/* Refused parameters: every limit, from both sides. */
static void cfg_parameters(void **state)
{
	static const struct {
		struct pci_params params;
		int want;
	} t[] = {
		{ { 65536, 65536, 0, 0, 0 }, 0 },
		{ { 4096, 4096, 32, 257, 0 }, 0 },
		{ { 1ull << 31, 1ull << 40, 1, 1, 0 }, 0 },
		{ { 2048, 65536, 0, 0, 0 }, -EINVAL },
		{ { 1ull << 32, 65536, 0, 0, 0 }, -EINVAL },
		{ { 3 * 4096, 65536, 0, 0, 0 }, -EINVAL },
		{ { 65536, 0, 0, 0, 0 }, -EINVAL },
		{ { 65536, 2048, 0, 0, 0 }, -EINVAL },
		{ { 65536, 65536, 3, 0, 0 }, -EINVAL },
		{ { 65536, 65536, 64, 0, 0 }, -EINVAL },
		{ { 65536, 65536, 0, 258, 0 }, -EINVAL },
	};
	struct pci_cfg *cfg;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		assert_int_equal(pci_cfg_new(&cfg, &t[i].params), t[i].want);
		if (!t[i].want)
			pci_cfg_free(cfg);
	}
}

static void cfg_bar_sizing(void **state)
{
	static const uint32_t want[PCI_NUM_BARS] = {
		~(PCI_BAR0_SIZE - 1), 0, ~(FAKE_BAR2_SIZE - 1), 0,
		~(FAKE_BAR4_SIZE - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64 |
		PCI_BASE_ADDRESS_MEM_PREFETCH, ~0u,
	};
	uint16_t off;
	int i;

	(void)state;
	for (i = 0; i < PCI_NUM_BARS; i++) {
		off = (uint16_t)(PCI_BASE_ADDRESS_0 + 4 * i);
		vfc_cfg_write32(c, off, ~0u);
		assert_int_equal(vfc_cfg_read32(c, off), want[i]);
	}
	vfc_cfg_write32(c, PCI_ROM_ADDRESS, ~0u);
	assert_int_equal(vfc_cfg_read32(c, PCI_ROM_ADDRESS), 0);
	vfc_cfg_write32(c, PCI_BASE_ADDRESS_4, 0xe0000000);
	vfc_cfg_write32(c, PCI_BASE_ADDRESS_5, 0x12);
	assert_true(pci_bar_addr(fake.pci, 4) == 0x12e0000000ull);
}

/* All ones to everything: only what is writable changes. */
static void cfg_masks(void **state)
{
	uint8_t before[PCI_CFG_SIZE], after[PCI_CFG_SIZE];
	uint16_t aer = PCI_POS_AER;

	(void)state;
	assert_int_equal(vfc_read(c, VFC_CONFIG, 0, before, PCI_CFG_SIZE), 0);
	vfc_cfg_write32(c, PCI_VENDOR_ID, ~0u);
	vfc_cfg_write32(c, PCI_COMMAND, ~0u);
	vfc_cfg_write32(c, aer + PCI_ERR_UNCOR_MASK, ~0u);
	vfc_cfg_write32(c, aer + PCI_ERR_UNCOR_STATUS, ~0u);
	vfc_cfg_write8(c, PCI_INTERRUPT_LINE, 0x5a);
	assert_int_equal(vfc_cfg_read32(c, PCI_VENDOR_ID), 0x56541234);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0x546);
	assert_int_equal(vfc_cfg_read16(c, PCI_STATUS), PCI_STATUS_CAP_LIST);
	assert_int_equal(vfc_cfg_read32(c, aer + PCI_ERR_UNCOR_STATUS), 0);
	assert_int_not_equal(vfc_cfg_read32(c, aer + PCI_ERR_UNCOR_MASK), ~0u);
	assert_int_equal(vfc_cfg_read8(c, PCI_INTERRUPT_LINE), 0x5a);
	/* The rest of the 4096 bytes is as it was. */
	assert_int_equal(vfc_read(c, VFC_CONFIG, 0, after, PCI_CFG_SIZE), 0);
	memcpy(after + PCI_COMMAND, before + PCI_COMMAND, 4);
	memcpy(after + aer + PCI_ERR_UNCOR_MASK,
	       before + aer + PCI_ERR_UNCOR_MASK, 4);
	after[PCI_INTERRUPT_LINE] = 0;
	assert_memory_equal(before, after, PCI_CFG_SIZE);
}

static void cfg_callbacks(void **state)
{
	const uint16_t pmcsr = PCI_POS_PM + PCI_PM_CTRL;

	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(fake.mems, 1);
	assert_int_equal(fake.masters, 0);
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_true(fake.mem && fake.master);
	assert_int_equal(fake.masters, 1);
	vfc_command(c, PCI_COMMAND_MASTER, 0);	/* no change, no call */
	assert_int_equal(fake.masters, 1);
	vfc_command(c, 0, PCI_COMMAND_MASTER);
	assert_int_equal(fake.masters, 2);
	assert_false(fake.master);

	vfc_cfg_write16(c, pmcsr, PCI_D3HOT);
	assert_int_equal(fake.powers, 1);
	assert_int_equal(fake.power, PCI_D3HOT);
	assert_int_equal(vfc_cfg_read16(c, pmcsr),
			 PCI_PM_CTRL_NO_SOFT_RESET | PCI_D3HOT);
	vfc_cfg_write16(c, pmcsr, 1);	/* D1 is not offered: stays */
	assert_int_equal(vfc_cfg_read16(c, pmcsr) & 3, PCI_D3HOT);
	vfc_cfg_write16(c, pmcsr, PCI_D0);
	vfc_cfg_write16(c, pmcsr, 2);
	assert_int_equal(vfc_cfg_read16(c, pmcsr) & 3, PCI_D0);
	assert_int_equal(fake.powers, 2);
	/* No_Soft_Reset: what was set up is still there. */
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), PCI_COMMAND_MEMORY);
	assert_int_equal(fake.resets[VFU_RESET_FLR], 0);
}

static void cfg_flr(void **state)
{
	const uint16_t devctl = PCI_POS_EXP + PCI_EXP_DEVCTL;
	const uint16_t mask = PCI_POS_AER + PCI_ERR_COR_MASK;

	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	vfc_cfg_write32(c, PCI_BASE_ADDRESS_0, 0xfe000000);
	vfc_cfg_write8(c, PCI_INTERRUPT_LINE, 9);
	vfc_cfg_write32(c, mask, 0);
	vfc_cfg_write16(c, devctl, PCI_EXP_DEVCTL_PAYLOAD_256B |
			PCI_EXP_DEVCTL_READRQ_1024B);
	vfc_cfg_write16(c, PCI_POS_MSIX + PCI_MSIX_FLAGS,
			PCI_MSIX_FLAGS_ENABLE);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D3HOT);
	vfc_flr(c);
	assert_int_equal(fake.resets[VFU_RESET_FLR], 1);
	assert_int_equal(fake.resets[VFU_RESET_CLIENT], 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0);
	assert_int_equal(vfc_cfg_read32(c, PCI_BASE_ADDRESS_0), 0);
	assert_int_equal(vfc_cfg_read8(c, PCI_INTERRUPT_LINE), 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_POS_MSIX + PCI_MSIX_FLAGS), 63);
	assert_int_equal(vfc_cfg_read16(c, PCI_POS_PM + PCI_PM_CTRL) & 3,
			 PCI_D0);
	/* Sticky: the error mask; kept for the link: the payload size. */
	assert_int_equal(vfc_cfg_read32(c, mask), 0);
	assert_int_equal(vfc_cfg_read16(c, devctl),
			 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
			 PCI_EXP_DEVCTL_READRQ_512B |
			 PCI_EXP_DEVCTL_PAYLOAD_256B);
	/* One write of the whole register block is one FLR. */
	vfc_cfg_write32(c, devctl, PCI_EXP_DEVCTL_BCR_FLR);
	assert_int_equal(fake.resets[VFU_RESET_FLR], 2);
	/* The low byte alone is none. */
	vfc_cfg_write8(c, devctl, 0xff);
	assert_int_equal(fake.resets[VFU_RESET_FLR], 2);
}

static void device_reset(void **state)
{
	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_ram(c, RAM, RAM_SIZE), 0);
	assert_int_equal(vfc_reset(c), 0);
	assert_int_equal(fake.resets[VFU_RESET_CLIENT], 1);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0);
	/* Guest memory is the client's to unmap, not a reset's. */
	assert_int_equal(vfu_dma_count(dma()), 1);
}

/* Regions */

static void bars(void **state)
{
	uint32_t val = 0;

	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	vfc_bar_write32(c, 0, 0x10, 0xcafef00d);
	assert_int_equal(vfc_bar_read32(c, 0, 0x10), 0xcafef00d);
	vfc_bar_write64(c, 0, 0x18, 0x1122334455667788ull);
	assert_int_equal(vfc_bar_read32(c, 0, 0x1c), 0x11223344);
	assert_int_equal(fake.bar0[0x18], 0x88);
	vfc_bar_write32(c, 2, 0x10000, 42);
	assert_int_equal(fake.doorbell_off, 0x10000);
	assert_int_equal(fake.doorbell_val, 42);

	/* BAR4 is one memory, by message and by mapping. */
	assert_int_equal(vfc_map_bar4(c), 0);
	vfc_bar_write32(c, 4, 0x1000, 0x600dcafe);
	memcpy(&val, c->bar4 + 0x1000, 4);
	assert_int_equal(val, 0x600dcafe);
	c->bar4[FAKE_BAR4_SIZE - 1] = 0x77;
	assert_int_equal(vfc_bar_read32(c, 4, FAKE_BAR4_SIZE - 4) >> 24, 0x77);
	assert_int_equal(fake.bar4[FAKE_BAR4_SIZE - 1], 0x77);
}

static void bars_closed(void **state)
{
	unsigned int accesses;
	uint8_t buf[3];

	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	vfc_bar_write32(c, 0, 0x10, 1);
	vfc_bar_write32(c, 4, 0x10, 1);
	accesses = fake.accesses;

	vfc_command(c, 0, PCI_COMMAND_MEMORY);
	assert_int_equal(vfc_bar_read32(c, 0, 0x10), ~0u);
	assert_int_equal(vfc_bar_read32(c, 2, 0), ~0u);
	assert_int_equal(vfc_bar_read32(c, 4, 0x10), ~0u);
	vfc_bar_write32(c, 0, 0x10, 2);
	vfc_bar_write32(c, 4, 0x10, 2);
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D3HOT);
	vfc_bar_write32(c, 0, 0x10, 3);
	assert_int_equal(vfc_read(c, VFC_BAR(0), 1, buf, 3), 0);
	assert_memory_equal(buf, "\xff\xff\xff", 3);
	assert_int_equal(fake.accesses, accesses);

	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D0);
	assert_int_equal(vfc_bar_read32(c, 0, 0x10), 1);
	assert_int_equal(vfc_bar_read32(c, 4, 0x10), 1);
}

/* One access across the device's part, the table and the device's again. */
static void bar0_msix_window(void **state)
{
	const size_t len = 64 * PCI_VTA_MSIX_ENTRY + 32;
	uint8_t out[64 * PCI_VTA_MSIX_ENTRY + 32], in[sizeof(out)];

	(void)state;
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	/* All entries are masked after reset. */
	assert_int_equal(vfc_bar_read32(c, 0, 0x8000 + 12), 1);
	assert_int_equal(vfc_bar_read32(c, 0, 0x8000 + 63 * 16 + 12), 1);
	memset(out, 0xa5, len);
	memset(in, 0, len);
	assert_int_equal(vfc_write(c, VFC_BAR(0), 0x8000 - 16, out, len), 0);
	assert_int_equal(vfc_read(c, VFC_BAR(0), 0x8000 - 16, in, len), 0);
	assert_memory_equal(in, out, len);
	assert_int_equal(fake.accesses, 4);
	assert_int_equal(fake.bar0[0x7fff], 0xa5);
	assert_int_equal(fake.bar0[0x8000], 0);
	assert_int_equal(fake.bar0[0x8400], 0xa5);
	vfc_flr(c);
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_bar_read32(c, 0, 0x8000), 0);
	assert_int_equal(vfc_bar_read32(c, 0, 0x8000 + 12), 1);
	/* The pending bits cannot be written. */
	vfc_bar_write32(c, 0, 0xb000, ~0u);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb000), 0);
}

/* Guest memory */

static void open_ram(void)
{
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_ram(c, RAM, RAM_SIZE), 0);
}

static void dma_access(void **state)
{
	uint8_t buf[10000], back[10000];
	uint64_t val;
	size_t i;

	(void)state;
	open_ram();
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 7);
	assert_int_equal(vfu_dma_write(dma(), RAM + 123, buf, sizeof(buf)), 0);
	assert_memory_equal(vfc_ptr(c, RAM + 123, sizeof(buf)), buf,
			    sizeof(buf));
	assert_int_equal(vfu_dma_read(dma(), RAM + 123, back, sizeof(back)), 0);
	assert_memory_equal(back, buf, sizeof(buf));

	assert_int_equal(vfu_dma_write64(dma(), RAM + 8, 0x0807060504030201),
			 0);
	assert_memory_equal(vfc_ptr(c, RAM + 8, 8),
			    "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	assert_int_equal(vfu_dma_read64(dma(), RAM + 8, &val), 0);
	assert_true(val == 0x0807060504030201);
	assert_int_equal(vfu_dma_write64(dma(), RAM + 4, 1), -EINVAL);
	assert_int_equal(vfu_dma_faults(dma()), 0);
}

static void dma_refused(void **state)
{
	uint64_t val = 7;
	uint8_t buf[32];

	(void)state;
	open_ram();
	assert_int_equal(vfu_dma_read(dma(), RAM - 1, buf, 1), -EFAULT);
	assert_int_equal(vfu_dma_read(dma(), RAM + RAM_SIZE, buf, 1), -EFAULT);
	/* Half in, half out: nothing is written. */
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(vfu_dma_write(dma(), RAM + RAM_SIZE - 16, buf, 32),
			 -EFAULT);
	assert_int_equal(*(uint8_t *)vfc_ptr(c, RAM + RAM_SIZE - 16, 1), 0);
	assert_int_equal(vfu_dma_read(dma(), ~0ull - 7, buf, 32), -EFAULT);
	assert_int_equal(vfu_dma_read64(dma(), 0, &val), -EFAULT);
	assert_int_equal(val, 7);

	/* Read only, and known but not shared. */
	assert_int_equal(vfc_dma_map(c, 0x1000, 4096, VFIO_DMA_MAP_FLAG_READ,
				     c->ram_fd, 0), 0);
	assert_int_equal(vfc_dma_map(c, 0x2000, 4096, RW, -1, 0), 0);
	assert_int_equal(vfu_dma_read(dma(), 0x1000, buf, 16), 0);
	assert_int_equal(vfu_dma_write(dma(), 0x1000, buf, 16), -EACCES);
	assert_int_equal(vfu_dma_read(dma(), 0x2000, buf, 16), -EFAULT);
	assert_int_equal(vfu_dma_faults(dma()), 7);
}

static void dma_gate(void **state)
{
	uint64_t val;

	(void)state;
	open_ram();
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_command(c, 0, PCI_COMMAND_MASTER);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D3HOT);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D0);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_flr(c);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
}

/* Pages of a file in any order, as a guest's IOMMU maps them. */
static void dma_scattered(void **state)
{
	uint8_t buf[3 * 4096];
	size_t run = sizeof(buf);
	uint8_t *ptr;
	int i, err;

	(void)state;
	open_ram();
	for (i = 0; i < 3; i++) {
		assert_int_equal(vfc_dma_map(c, 0x10000 + i * 0x1000ull, 4096,
					     RW, c->ram_fd,
					     (2 - i) * 0x1000ull), 0);
		memset(c->ram + i * 4096, 'a' + i, 4096);
	}
	assert_int_equal(vfu_dma_read(dma(), 0x10000, buf, sizeof(buf)), 0);
	assert_int_equal(buf[0], 'c');
	assert_int_equal(buf[4096], 'b');
	assert_int_equal(buf[3 * 4096 - 1], 'a');
	vfu_dma_begin(dma());
	ptr = vfu_dma_at(dma(), 0x10ff0, &run, VFU_DMA_READ, &err);
	assert_non_null(ptr);
	assert_int_equal(run, 16);
	assert_int_equal(*ptr, 'c');
	assert_null(vfu_dma_at(dma(), 0x13000, &run, VFU_DMA_READ, &err));
	assert_int_equal(err, -EFAULT);
	vfu_dma_end(dma());

	/* One unmap over all of them, and holes besides. */
	assert_int_equal(vfc_dma_unmap(c, 0x8000, 0x10000, 0), 0);
	assert_int_equal(vfu_dma_count(dma()), 1);
	assert_int_equal(vfu_dma_read(dma(), 0x11000, buf, 1), -EFAULT);
}

static void dma_map_refused(void **state)
{
	static const struct {
		uint64_t iova, size, offset;
		int want;
	} t[] = {
		{ RAM, 4096, 0, -EEXIST },
		{ RAM + RAM_SIZE - 4096, 4096, 0, -EEXIST },
		{ RAM - 4096, 8192, 0, -EEXIST },
		{ RAM + 4096, 4096, 0, -EEXIST },
		{ RAM - 4096, RAM_SIZE, 0, -EEXIST },
		{ 0, 0, 0, -EINVAL },
		{ 0, 100, 0, -EINVAL },
		{ 100, 4096, 0, -EINVAL },
		{ 0, 4096, 8, -EINVAL },
		{ ~0xfffull, 8192, 0, -EINVAL },
		{ 0x1000, ~0xfffull, 0, -EEXIST },
		{ 0, RAM_SIZE + 4096, 0, -EINVAL },
		{ 0, 4096, RAM_SIZE, -EINVAL },
		{ 0, 4096, ~0xfffull, -EINVAL },
		{ 0, 8192, ~0xfffull, -EINVAL },
		{ RAM - 4096, 4096, 0, 0 },
		{ RAM + RAM_SIZE, 4096, RAM_SIZE - 4096, 0 },
		{ ~0xfffull, 4096, 0, 0 },
	};
	size_t i;

	(void)state;
	open_ram();
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		int ret = vfc_dma_map(c, t[i].iova, t[i].size, RW, c->ram_fd,
				      t[i].offset);

		if (ret != t[i].want)
			fail_msg("map %zu: %d, want %d", i, ret, t[i].want);
	}
	assert_int_equal(vfu_dma_count(dma()), 4);
}

static void dma_unmap(void **state)
{
	(void)state;
	/* What never was mapped is unmapped without complaint. */
	assert_int_equal(vfc_dma_unmap(c, 0x5000, 0x1000, 0), 0);
	assert_int_equal(vfc_dma_unmap(c, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	open_ram();
	/* Bounds within a range would leave half of it. */
	assert_int_equal(vfc_dma_unmap(c, RAM, 4096, 0), -EINVAL);
	assert_int_equal(vfc_dma_unmap(c, RAM + 4096, RAM_SIZE, 0), -EINVAL);
	assert_int_equal(vfc_dma_unmap(c, RAM, ~0ull - 1, 0), -EINVAL);
	assert_int_equal(vfu_dma_count(dma()), 1);
	assert_int_equal(vfc_dma_unmap(c, RAM, RAM_SIZE, 0), 0);
	assert_int_equal(vfu_dma_count(dma()), 0);
	assert_int_equal(vfc_dma_map(c, RAM, RAM_SIZE, RW, c->ram_fd, 0), 0);
	assert_int_equal(vfc_dma_unmap(c, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(vfu_dma_count(dma()), 0);
}

struct engine {
	pthread_t thread;
	atomic_bool stop;
	unsigned long done;
	unsigned long refused;
};

static void *engine_main(void *arg)
{
	struct engine *e = arg;
	uint64_t n = 0;

	while (!atomic_load(&e->stop)) {
		if (vfu_dma_write64(dma(), RAM, ++n))
			e->refused++;
		else
			e->done++;
	}
	return NULL;
}

/* When an unmap is answered, no store through the old mapping follows. */
static void dma_unmap_is_a_fence(void **state)
{
	struct engine e[2] = { 0 };
	uint64_t *word;
	int i, k;

	(void)state;
	open_ram();
	word = vfc_ptr(c, RAM, 8);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&e[i].thread, NULL, engine_main,
						&e[i]), 0);
	for (i = 0; i < 200; i++) {
		assert_int_equal(vfc_dma_unmap(c, RAM, RAM_SIZE, 0), 0);
		__atomic_store_n(word, ~0ull, __ATOMIC_SEQ_CST);
		for (k = 0; k < 100; k++)
			sched_yield();
		assert_true(__atomic_load_n(word, __ATOMIC_SEQ_CST) == ~0ull);
		assert_int_equal(vfc_dma_map(c, RAM, RAM_SIZE, RW, c->ram_fd,
					     0), 0);
		/* The same for the gate. */
		vfc_command(c, 0, PCI_COMMAND_MASTER);
		__atomic_store_n(word, ~0ull, __ATOMIC_SEQ_CST);
		sched_yield();
		assert_true(__atomic_load_n(word, __ATOMIC_SEQ_CST) == ~0ull);
		vfc_command(c, PCI_COMMAND_MASTER, 0);
	}
	for (i = 0; i < 2; i++) {
		atomic_store(&e[i].stop, true);
		pthread_join(e[i].thread, NULL);
		assert_true(e[i].done && e[i].refused);
	}
	assert_int_equal(vfu_dma_faults(dma()), e[0].refused + e[1].refused);
}

/* Interrupts */

static void irq_every_vector(void **state)
{
	unsigned int i, count;

	(void)state;
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
static void irq_pending(void **state)
{
	const uint16_t ctl = PCI_POS_MSIX + PCI_MSIX_FLAGS;
	int fd;

	(void)state;
	vfc_command(c, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 2), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 33), -EAGAIN);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 33), -EAGAIN);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb000), 0);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb004), 1u << 1);
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->irq[33] = fd;
	c->nr_irqs = 34;
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 33,
				      1, &fd, 1), 0);
	assert_int_equal(vfc_irq_wait(c, 33, SOON), 1);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb004), 0);

	/* The same under the Function Mask. */
	vfc_cfg_write16(c, ctl, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 1), -EAGAIN);
	assert_int_equal(vfc_irq_wait(c, 1, NEVER), 0);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb000), 1u << 1);
	vfc_cfg_write16(c, ctl, PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(vfc_irq_wait(c, 1, SOON), 1);

	/* Taking an eventfd away by an empty set; a reset forgets. */
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      1, NULL, 0), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), -EAGAIN);
	vfc_flr(c);
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_bar_read32(c, 0, 0xb000), 0);
}

static void irq_gate(void **state)
{
	(void)state;
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
static void irq_msi(void **state)
{
	const uint16_t ctl = PCI_POS_MSI + PCI_MSI_FLAGS;
	unsigned int i, count;

	(void)state;
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

static void irq_client_triggers(void **state)
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

	(void)state;
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

/* A full, blocking eventfd stalls neither the server nor an engine. */
static void irq_never_blocks(void **state)
{
	const uint64_t full = 0xfffffffffffffffeull;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 1), 0);
	assert_int_equal(write(fd, &full, sizeof(full)), sizeof(full));
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      1, &fd, 1), 0);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_set_irqs(c, VFIO_IRQ_SET_DATA_NONE |
				      VFIO_IRQ_SET_ACTION_TRIGGER,
				      VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, NULL, 0),
			 0);
	close(fd);
}

/* Among good eventfds one that is none: none of them is taken. */
static void irq_all_or_none(void **state)
{
	int fds[2] = { eventfd(0, EFD_CLOEXEC), c->sock };

	(void)state;
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_irq_setup(c, VFIO_PCI_MSIX_IRQ_INDEX, 2), 0);
	assert_int_equal(vfc_set_irqs(c, EVENTFDS, VFIO_PCI_MSIX_IRQ_INDEX, 0,
				      2, fds, 2), -EINVAL);
	assert_int_equal(vfu_irq(fake.srv, VFU_IRQ_MSIX, 0), 0);
	assert_int_equal(vfc_irq_wait(c, 0, SOON), 1);
	close(fds[0]);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define TEST_WITH(fn, how) cmocka_unit_test_setup_teardown(fn, how, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cfg_identity),
		TEST(cfg_capabilities),
		TEST_WITH(cfg_without_interrupts, setup_no_irq),
		cmocka_unit_test(cfg_parameters),
		TEST(cfg_bar_sizing),
		TEST(cfg_masks),
		TEST(cfg_callbacks),
		TEST(cfg_flr),
		TEST(device_reset),
		TEST(bars),
		TEST(bars_closed),
		TEST(bar0_msix_window),
		TEST(dma_access),
		TEST(dma_refused),
		TEST(dma_gate),
		TEST(dma_scattered),
		TEST(dma_map_refused),
		TEST(dma_unmap),
		TEST(dma_unmap_is_a_fence),
		TEST_WITH(irq_every_vector, setup_largest),
		TEST(irq_pending),
		TEST(irq_gate),
		TEST_WITH(irq_msi, setup_msi),
		TEST(irq_client_triggers),
		TEST(irq_never_blocks),
		TEST(irq_all_or_none),
	};

	return cmocka_run_group_tests_name("vfu_card", tests, NULL, NULL);
}
