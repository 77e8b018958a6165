// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/pci_regs.h>

#include "vta_inject.h"
#include "vta_selftest.h"

#define NODE	"/dev/aer_inject"

/* Of drivers/pci/pcie/aer_inject.c. */
struct aer_error_inj {
	uint8_t bus, dev, fn;
	uint32_t uncor_status;
	uint32_t cor_status;
	uint32_t header_log[4];
	uint32_t domain;
};

int bus_error(uint32_t uncorrectable, uint32_t correctable)
{
	struct aer_error_inj error = { .uncor_status = uncorrectable, .cor_status = correctable };
	unsigned int domain, bus, dev, fn;
	char address[32];
	int fd, err;

	if (card_pci_address(address, sizeof(address)) ||
	    sscanf(address, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4)
		return -ENOENT;
	error.domain = domain;
	error.bus = bus;
	error.dev = dev;
	error.fn = fn;
	fd = open(NODE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/*
	 * -EBUSY: the port's interrupt for the one before is on its way still, and finds
	 * this one too; written again, it would be another.
	 */
	err = write(fd, &error, sizeof(error)) == sizeof(error) || errno == EBUSY ? 0 : -errno;
	close(fd);
	return err;
}

const char *bus_error_needs(void)
{
	if (access(NODE, W_OK))
		return "aer_inject";
	return bus_error(0, PCI_ERR_COR_RCVR) == -EPROTONOSUPPORT ?
	       "extended configuration space" : NULL;
}
