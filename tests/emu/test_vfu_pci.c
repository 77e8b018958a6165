// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration space and BARs, as a host sees them.
 */
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "vfu_client.h"
#include "vfu_fake.h"

static struct vfc *const c = &client;

static int setup(void **state)
{
	(void)state;
	fake_open(4, 64);
	return 0;
}

static int setup_no_irq(void **state)
{
	(void)state;
	fake_open(0, 0);
	return 0;
}

#define FAKE void *unused, setup, fake_close
#define NO_IRQ void *unused, setup_no_irq, fake_close

/* Configuration space */

TEST_F(FAKE, cfg_identity)
{
	assert_int_equal(vfc_cfg_read16(c, PCI_VENDOR_ID), FAKE_VENDOR);
	assert_int_equal(vfc_cfg_read16(c, PCI_DEVICE_ID), FAKE_DEVICE);
	assert_int_equal(vfc_cfg_read32(c, PCI_CLASS_REVISION),
			 FAKE_CLASS << 8 | FAKE_REVISION);
	assert_int_equal(vfc_cfg_read16(c, PCI_SUBSYSTEM_VENDOR_ID), FAKE_SUBVENDOR);
	assert_int_equal(vfc_cfg_read16(c, PCI_SUBSYSTEM_ID), FAKE_SUBDEVICE);
	assert_int_equal(vfc_cfg_read8(c, PCI_HEADER_TYPE), 0);
	assert_int_equal(vfc_cfg_read8(c, PCI_INTERRUPT_PIN), 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0);
	assert_int_equal(vfc_cfg_read16(c, PCI_STATUS), PCI_STATUS_CAP_LIST);
}

TEST_F(FAKE, cfg_capabilities)
{
	uint16_t pm = vfc_find_cap(c, PCI_CAP_ID_PM);
	uint16_t msi = vfc_find_cap(c, PCI_CAP_ID_MSI);
	uint16_t msix = vfc_find_cap(c, PCI_CAP_ID_MSIX);
	uint16_t exp = vfc_find_cap(c, PCI_CAP_ID_EXP);
	uint16_t dsn = vfc_find_ext_cap(c, PCI_EXT_CAP_ID_DSN);

	assert_int_equal(pm, PCI_POS_PM);
	assert_int_equal(vfc_cfg_read16(c, pm + PCI_PM_PMC), 3);
	assert_int_equal(vfc_cfg_read16(c, pm + PCI_PM_CTRL),
			 PCI_PM_CTRL_NO_SOFT_RESET);
	assert_int_equal(vfc_cfg_read16(c, msi + PCI_MSI_FLAGS),
			 PCI_MSI_FLAGS_64BIT | 2 << 1);
	assert_int_equal(vfc_cfg_read16(c, msix + PCI_MSIX_FLAGS), 63);
	assert_int_equal(vfc_cfg_read32(c, msix + PCI_MSIX_TABLE), PCI_POS_MSIX_TABLE);
	assert_int_equal(vfc_cfg_read32(c, msix + PCI_MSIX_PBA), PCI_POS_MSIX_PBA);
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

TEST_F(NO_IRQ, cfg_without_interrupts)
{
	struct vfu_irq_info info;

	assert_int_equal(vfc_find_cap(c, PCI_CAP_ID_MSI), 0);
	assert_int_equal(vfc_find_cap(c, PCI_CAP_ID_MSIX), 0);
	assert_int_not_equal(vfc_find_cap(c, PCI_CAP_ID_EXP), 0);
	assert_int_equal(vfc_irq_info(c, VFIO_PCI_MSIX_IRQ_INDEX, &info), 0);
	assert_int_equal(info.count, 0);
	/* Neither is there a table in BAR0: the device has it all. */
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	vfc_bar_write32(c, 0, PCI_POS_MSIX_TABLE, 0x11223344);
	vfc_bar_write32(c, 0, PCI_POS_MSIX_PBA, 0x55667788);
	assert_int_equal(fake.bar0[PCI_POS_MSIX_TABLE], 0x44);
	assert_int_equal(fake.bar0[PCI_POS_MSIX_PBA], 0x88);
}

/* Refused parameters: every limit, from both sides. */
TEST(cfg_parameters)
{
	static const struct {
		struct pci_params params;
		int want;
	} t[] = {
		{ { { 0 }, 65536, 65536, 0, 0, 0 }, 0 },
		{ { { 0 }, 4096, 4096, 32, 257, 0 }, 0 },
		{ { { 0 }, 1ull << 31, 1ull << 40, 1, 1, 0 }, 0 },
		{ { { 0 }, 2048, 65536, 0, 0, 0 }, -EINVAL },
		{ { { 0 }, 1ull << 32, 65536, 0, 0, 0 }, -EINVAL },
		{ { { 0 }, 3 * 4096, 65536, 0, 0, 0 }, -EINVAL },
		{ { { 0 }, 65536, 0, 0, 0, 0 }, 0 },
		{ { { 0 }, 65536, 2048, 0, 0, 0 }, -EINVAL },
		{ { { 0 }, 65536, 65536, 3, 0, 0 }, -EINVAL },
		{ { { 0 }, 65536, 65536, 64, 0, 0 }, -EINVAL },
		{ { { 0 }, 65536, 65536, 0, 258, 0 }, -EINVAL },
	};
	struct pci_cfg *cfg;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		assert_int_equal(pci_cfg_new(&cfg, &t[i].params), t[i].want);
		if (!t[i].want)
			pci_cfg_free(cfg);
	}
}

TEST_F(FAKE, cfg_bar_sizing)
{
	static const uint32_t want[PCI_NUM_BARS] = {
		~(PCI_BAR0_SIZE - 1), 0, ~(FAKE_BAR2_SIZE - 1), 0,
		~(FAKE_BAR4_SIZE - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64 |
		PCI_BASE_ADDRESS_MEM_PREFETCH, ~0u,
	};
	uint16_t off;
	int i;

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
TEST_F(FAKE, cfg_masks)
{
	uint8_t before[PCI_CFG_SIZE], after[PCI_CFG_SIZE];
	uint16_t aer = PCI_POS_AER;

	assert_int_equal(vfc_read(c, VFC_CONFIG, 0, before, PCI_CFG_SIZE), 0);
	vfc_cfg_write32(c, PCI_VENDOR_ID, ~0u);
	vfc_cfg_write32(c, PCI_COMMAND, ~0u);
	vfc_cfg_write32(c, aer + PCI_ERR_UNCOR_MASK, ~0u);
	vfc_cfg_write32(c, aer + PCI_ERR_UNCOR_STATUS, ~0u);
	vfc_cfg_write8(c, PCI_INTERRUPT_LINE, 0x5a);
	assert_int_equal(vfc_cfg_read32(c, PCI_VENDOR_ID),
			 (uint32_t)FAKE_DEVICE << 16 | FAKE_VENDOR);
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

TEST_F(FAKE, cfg_callbacks)
{
	const uint16_t pmcsr = PCI_POS_PM + PCI_PM_CTRL;

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

TEST_F(FAKE, cfg_flr)
{
	const uint16_t devctl = PCI_POS_EXP + PCI_EXP_DEVCTL;
	const uint16_t mask = PCI_POS_AER + PCI_ERR_COR_MASK;

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

TEST_F(FAKE, device_reset)
{
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_ram(c, 0x40000000, 65536), 0);
	assert_int_equal(vfc_reset(c), 0);
	assert_int_equal(fake.resets[VFU_RESET_CLIENT], 1);
	assert_int_equal(vfc_cfg_read16(c, PCI_COMMAND), 0);
	/* Only the client unmaps guest memory; a reset does not. */
	assert_int_equal(vfu_dma_count(vfu_get_dma(fake.srv)), 1);
}

/* Regions */

TEST_F(FAKE, bars)
{
	uint32_t val = 0;

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

TEST_F(FAKE, bars_closed)
{
	unsigned int accesses;
	uint8_t buf[3];

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
TEST_F(FAKE, bar0_msix_window)
{
	const size_t len = 64 * PCI_MSIX_ENTRY + 32;
	uint8_t out[64 * PCI_MSIX_ENTRY + 32], in[sizeof(out)];

	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	/* All entries are masked after reset. */
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_TABLE + 12), 1);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_TABLE + 63 * 16 + 12), 1);
	memset(out, 0xa5, len);
	memset(in, 0, len);
	assert_int_equal(vfc_write(c, VFC_BAR(0), PCI_POS_MSIX_TABLE - 16, out, len), 0);
	assert_int_equal(vfc_read(c, VFC_BAR(0), PCI_POS_MSIX_TABLE - 16, in, len), 0);
	assert_memory_equal(in, out, len);
	assert_int_equal(fake.accesses, 4);
	assert_int_equal(fake.bar0[PCI_POS_MSIX_TABLE - 1], 0xa5);
	assert_int_equal(fake.bar0[PCI_POS_MSIX_TABLE], 0);
	assert_int_equal(fake.bar0[PCI_POS_MSIX_TABLE + 64 * PCI_MSIX_ENTRY], 0xa5);
	vfc_flr(c);
	vfc_command(c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_TABLE), 0);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_TABLE + 12), 1);
	/* The pending bits cannot be written. */
	vfc_bar_write32(c, 0, PCI_POS_MSIX_PBA, ~0u);
	assert_int_equal(vfc_bar_read32(c, 0, PCI_POS_MSIX_PBA), 0);
}
