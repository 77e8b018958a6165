/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The card's PCI Express configuration space: 4096 bytes of little-endian
 * registers with a write mask, a write-1-to-clear mask and a sticky mask per
 * byte, and the few bits that do something when written.
 *
 * This model makes no calls. A write returns its effects as PCI_EV_ flags; the transport (vfu.c)
 * closes or opens the DMA and interrupt gates first and notifies the device afterwards. Not locked:
 * one thread (the server's) owns it.
 *
 * Section names below are those of the PCI Express Base Specification.
 */
#ifndef VTA_EMU_PCI_H
#define VTA_EMU_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_CFG_SIZE		4096
#define PCI_NUM_BARS		6

/* Offsets of the capabilities; an absent one is left out of the chain. */
#define PCI_POS_PM		0x40
#define PCI_POS_MSI		0x50
#define PCI_POS_MSIX		0x60
#define PCI_POS_EXP		0x70
#define PCI_POS_AER		0x100
#define PCI_POS_DSN		0x150

/* The MSI-X table and pending-bit array lie in BAR0. */
#define PCI_POS_MSIX_TABLE	0x4000
#define PCI_POS_MSIX_PBA	0x6000
#define PCI_MSIX_ENTRY		16
#define PCI_MSIX_MAX		257
#define PCI_MSI_MAX		32

#define PCI_BAR0_SIZE		0x10000

/* Power states as PMCSR encodes them; D1 and D2 are not offered. */
#define PCI_D0			0
#define PCI_D3HOT		3

struct pci_id {
	uint16_t vendor, device, subvendor, subdevice;
	uint32_t class_code;	/* 24 bits: base class, sub-class, interface */
	uint8_t revision;
};

struct pci_params {
	struct pci_id id;
	uint64_t bar2_size;	/* bytes, a power of two, 4 KiB to 2 GiB */
	uint64_t bar4_size;	/* bytes, a power of two, at least 4 KiB */
	unsigned int msi;	/* messages: 0 (no capability), 1, 2, 4 .. 32 */
	unsigned int msix;	/* vectors: 0 (no capability) .. 257 */
	uint64_t serial;	/* Device Serial Number */
};

/* Effects of one write. */
#define PCI_EV_FLR		0x01u	/* a Function Level Reset was asked for, and done here */
#define PCI_EV_MASTER		0x02u	/* Bus Master Enable changed */
#define PCI_EV_MEMORY		0x04u	/* Memory Space Enable changed */
#define PCI_EV_POWER		0x08u	/* the power state changed */
#define PCI_EV_IRQ		0x10u	/* MSI or MSI-X control changed */

struct pci_cfg;

/* Returns 0, -EINVAL for impossible parameters, or -ENOMEM. */
int pci_cfg_new(struct pci_cfg **out, const struct pci_params *params);
void pci_cfg_free(struct pci_cfg *cfg);

/*
 * Any alignment and length; the caller has checked off + len <= PCI_CFG_SIZE.
 * A write applies the bytes in ascending order as one transaction and returns
 * PCI_EV_ flags.
 */
void pci_cfg_read(const struct pci_cfg *cfg, size_t off, void *buf, size_t len);
unsigned int pci_cfg_write(struct pci_cfg *cfg, size_t off, const void *buf,
			   size_t len);

/*
 * Function Level Reset (section 6.6.2): every register to its reset value but
 * the sticky ones and the link's. Returns the PCI_EV_ flags of what changed
 * (never PCI_EV_FLR).
 */
unsigned int pci_cfg_reset(struct pci_cfg *cfg);

/* For tests: what of the card does not answer. It keeps what it has. */
enum pci_absence {
	PCI_PRESENT,
	PCI_NO_CONFIG,		/* config space: ones; writes are lost */
	PCI_ABSENT,		/* nothing of it, and it asks for nothing */
};

void pci_cfg_set_absence(struct pci_cfg *cfg, enum pci_absence absence);

/* Bytes of a BAR, 0 for one that does not exist (and for the high half). */
uint64_t pci_bar_size(const struct pci_cfg *cfg, unsigned int bar);
/* The bus address programmed into a BAR. */
uint64_t pci_bar_addr(const struct pci_cfg *cfg, unsigned int bar);

unsigned int pci_power(const struct pci_cfg *cfg);
/* Memory BARs answer: Memory Space Enable is set and the card is in D0. */
bool pci_decodes(const struct pci_cfg *cfg);
/* Memory Space Enable and Bus Master Enable alone. */
bool pci_mem_space(const struct pci_cfg *cfg);
bool pci_master(const struct pci_cfg *cfg);
/* The card may issue requests: Bus Master Enable is set and it is in D0. */
bool pci_may_dma(const struct pci_cfg *cfg);

/* Messages or vectors the capability offers; 0 without the capability. */
unsigned int pci_msi_count(const struct pci_cfg *cfg);
unsigned int pci_msix_count(const struct pci_cfg *cfg);
/* Messages the host granted (Multiple Message Enable), 0 while MSI is off. */
unsigned int pci_msi_granted(const struct pci_cfg *cfg);
bool pci_msix_enabled(const struct pci_cfg *cfg);
bool pci_msix_masked(const struct pci_cfg *cfg);	/* Function Mask */

#endif
