// SPDX-License-Identifier: GPL-2.0-only
/*
 * link.c - read the PCI Express link with libpci
 */
#include <pci/pci.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "gather.h"

/* The target of libpci's error callback, which must not return. */
static jmp_buf failed;

static PCI_NONRET void on_error(char *format, ...)
{
	(void)format;
	longjmp(failed, 1);
}

static void on_warning(char *format, ...)
{
	(void)format;
}

/* Codes of the link speed fields, in GT/s. */
static double speed_of(unsigned int code)
{
	static const double speeds[] = { 0, 2.5, 5, 8, 16, 32, 64 };

	return code < sizeof(speeds) / sizeof(*speeds) ? speeds[code] : 0;
}

static bool read_link(struct pci_access *access, const unsigned int at[4],
		      struct link *link)
{
	struct pci_cap *cap = NULL;
	struct pci_dev *dev;
	bool good = false;
	u32 most;
	u16 now;

	dev = pci_get_dev(access, (int)at[0], (int)at[1], (int)at[2], (int)at[3]);
	if (pci_fill_info(dev, PCI_FILL_CAPS) & PCI_FILL_CAPS)
		cap = pci_find_cap(dev, PCI_CAP_ID_EXP, PCI_CAP_NORMAL);
	if (cap) {
		most = pci_read_long(dev, (int)cap->addr + PCI_EXP_LNKCAP);
		now = pci_read_word(dev, (int)cap->addr + PCI_EXP_LNKSTA);
		link->speed = speed_of(now & PCI_EXP_LNKSTA_SPEED);
		link->width = (now & PCI_EXP_LNKSTA_WIDTH) >> 4;
		link->speed_max = speed_of(most & PCI_EXP_LNKCAP_SPEED);
		link->width_max = (most & PCI_EXP_LNKCAP_WIDTH) >> 4;
		good = most != 0xffffffff;	/* all ones: it went away */
	}
	pci_free_dev(dev);
	return good;
}

bool link_read(const char *address, struct link *link)
{
	struct pci_access *access;
	volatile bool good = false;
	unsigned int at[4];

	if (sscanf(address, "%x:%x:%x.%x", &at[0], &at[1], &at[2], &at[3]) != 4)
		return false;
	access = pci_alloc();
	access->method = PCI_ACCESS_SYS_BUS_PCI;
	access->error = on_error;
	access->warning = on_warning;
	/* After an error libpci is in no state to be cleaned up. */
	if (setjmp(failed))
		return false;
	pci_init(access);
	good = read_link(access, at, link);
	pci_cleanup(access);
	return good;
}

/* "8.0 GT/s PCIe", or "Unknown". */
static bool read_speed(int card, const char *file, double *speed)
{
	char text[FILES_LINE];

	if (!files_line(card, file, text))
		return false;
	*speed = atof(text);
	return true;
}

static bool read_width(int card, const char *file, unsigned int *width)
{
	uint64_t value;

	if (!files_number(card, file, &value))
		return false;
	*width = (unsigned int)value;
	return true;
}

bool link_read_sysfs(int card, struct link *link)
{
	return read_speed(card, "device/current_link_speed", &link->speed) &&
	       read_speed(card, "device/max_link_speed", &link->speed_max) &&
	       read_width(card, "device/current_link_width", &link->width) &&
	       read_width(card, "device/max_link_width", &link->width_max);
}
