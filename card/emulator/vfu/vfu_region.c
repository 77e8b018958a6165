// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses to the device's regions: which part of the card answers, whether it
 * answers at all, and what a write to config space sets in motion. This is the
 * one place where memory decoding, bus mastering and resets take effect.
 */
#include <errno.h>
#include <string.h>

#include "vfu_priv.h"

uint64_t vfu_region_size(const struct vfu *srv, uint32_t region)
{
	if (region == VFIO_PCI_CONFIG_REGION_INDEX)
		return PCI_CFG_SIZE;
	return pci_bar_size(srv->pci, region);
}

int vfu_region_check(const struct vfu *srv, uint32_t region, uint64_t offset,
		     uint64_t count)
{
	uint64_t size = vfu_region_size(srv, region);

	if (!count || count > VFU_MAX_XFER)
		return -EINVAL;
	if (offset > size || count > size - offset)
		return -EINVAL;
	return 0;
}

/*
 * Closes or opens the gates. Closing waits for the accesses in flight: when the
 * write is answered, the card has stopped.
 */
static void sync_gates(struct vfu *srv, unsigned int ev)
{
	if (ev & (PCI_EV_MASTER | PCI_EV_POWER))
		vfu_dma_enable(srv->dma, pci_may_dma(srv->pci));
	if (ev & (PCI_EV_MASTER | PCI_EV_POWER | PCI_EV_IRQ))
		vfu_irqs_sync(srv->irqs, srv->pci);
}

static void tell_reset(struct vfu *srv, enum vfu_reset why)
{
	vfu_irqs_reset(srv->irqs);
	if (srv->ops->reset)
		srv->ops->reset(srv->priv, why);
}

void vfu_device_reset(struct vfu *srv)
{
	sync_gates(srv, pci_cfg_reset(srv->pci));
	tell_reset(srv, VFU_RESET_CLIENT);
}

void vfu_set_absence(struct vfu *srv, enum pci_absence absence)
{
	bool was_decoding = pci_decodes(srv->pci);

	pci_cfg_set_absence(srv->pci, absence);
	sync_gates(srv, PCI_EV_MASTER | PCI_EV_POWER | PCI_EV_IRQ);
	if (pci_decodes(srv->pci) && !was_decoding)
		vfu_device_reset(srv);
	else if (srv->ops->bus_master)
		srv->ops->bus_master(srv->priv, pci_master(srv->pci));
}

static void config_write(struct vfu *srv, uint64_t offset, const void *buf,
			 size_t count)
{
	const struct vfu_device_ops *ops = srv->ops;
	unsigned int ev = pci_cfg_write(srv->pci, offset, buf, count);

	sync_gates(srv, ev);
	if (ev & PCI_EV_FLR) {
		tell_reset(srv, VFU_RESET_FLR);
		return;
	}
	if ((ev & PCI_EV_POWER) && ops->power)
		ops->power(srv->priv, pci_power(srv->pci));
	if ((ev & PCI_EV_MEMORY) && ops->mem_space)
		ops->mem_space(srv->priv, pci_mem_space(srv->pci));
	if ((ev & PCI_EV_MASTER) && ops->bus_master)
		ops->bus_master(srv->priv, pci_master(srv->pci));
}

/* Registers' sizes go in one access: another processor may read the same. */
static void copy_shared(void *dst, const void *src, size_t len)
{
	uintptr_t both = (uintptr_t)dst | (uintptr_t)src;

	if (len == 8 && both % 8 == 0)
		__atomic_store_n((uint64_t *)dst,
				 __atomic_load_n((const uint64_t *)src,
						 __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	else if (len == 4 && both % 4 == 0)
		__atomic_store_n((uint32_t *)dst,
				 __atomic_load_n((const uint32_t *)src,
						 __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	else
		memcpy(dst, src, len);
}

static void backing_access(const struct vfu_backing *bar, uint64_t offset,
			   void *buf, size_t count, bool write)
{
	uint8_t *mem = (uint8_t *)bar->ptr + offset;

	if (write)
		copy_shared(mem, buf, count);
	else
		copy_shared(buf, mem, count);
}

/* The parts of BAR0, in order; the two windows are the transport's. */
enum bar0_part { BAR0_DEVICE, BAR0_TABLE, BAR0_PBA };

static enum bar0_part bar0_part_at(const struct vfu *srv, uint64_t offset,
				   uint64_t *end)
{
	const uint64_t n = pci_msix_count(srv->pci);
	const uint64_t table_end = PCI_POS_MSIX_TABLE + n * PCI_MSIX_ENTRY;
	const uint64_t pba_end = PCI_POS_MSIX_PBA + (n + 63) / 64 * 8;

	if (offset < PCI_POS_MSIX_TABLE) {
		*end = n ? PCI_POS_MSIX_TABLE : PCI_BAR0_SIZE;
		return BAR0_DEVICE;
	}
	if (offset < table_end) {
		*end = table_end;
		return BAR0_TABLE;
	}
	if (offset < PCI_POS_MSIX_PBA) {
		*end = n ? PCI_POS_MSIX_PBA : PCI_BAR0_SIZE;
		return BAR0_DEVICE;
	}
	if (offset < pba_end) {
		*end = pba_end;
		return BAR0_PBA;
	}
	*end = PCI_BAR0_SIZE;
	return BAR0_DEVICE;
}

static int bar0_access(struct vfu *srv, uint64_t offset, uint8_t *buf,
		       size_t count, bool write)
{
	int ret = 0;

	while (count && !ret) {
		uint64_t end;
		enum bar0_part part = bar0_part_at(srv, offset, &end);
		size_t run = count < end - offset ? count : end - offset;

		switch (part) {
		case BAR0_TABLE:
			vfu_irqs_table(srv->irqs, offset - PCI_POS_MSIX_TABLE,
				       buf, run, write);
			break;
		case BAR0_PBA:
			if (!write)
				vfu_irqs_pba(srv->irqs,
					     offset - PCI_POS_MSIX_PBA, buf,
					     run);
			break;
		case BAR0_DEVICE:
			ret = srv->ops->access(srv->priv, 0, offset, buf, run,
					       write);
			break;
		}
		offset += run;
		buf += run;
		count -= run;
	}
	return ret;
}

int vfu_region_access(struct vfu *srv, uint32_t region, uint64_t offset,
		      void *buf, size_t count, bool write)
{
	if (region == VFIO_PCI_CONFIG_REGION_INDEX) {
		if (write)
			config_write(srv, offset, buf, count);
		else
			pci_cfg_read(srv->pci, offset, buf, count);
		return 0;
	}
	if (!pci_decodes(srv->pci)) {
		/* No device claims the request: master abort. */
		if (!write)
			memset(buf, 0xff, count);
		return 0;
	}
	if (srv->bar[region].ptr) {
		backing_access(&srv->bar[region], offset, buf, count, write);
		return 0;
	}
	if (region == 0)
		return bar0_access(srv, offset, buf, count, write);
	return srv->ops->access(srv->priv, region, offset, buf, count, write);
}
