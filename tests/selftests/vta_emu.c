// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/pci_regs.h>

#include "vta_emu.h"
#include "vta_selftest.h"

static unsigned int number;

void emu_choose(unsigned int card)
{
	number = card;
}

/* One request and its reply, a line. */
static int emu_ask(const char *request, char *reply, size_t size)
{
	char port[64];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(port, sizeof(port), "/dev/virtio-ports/vta-emu%u", number);
	fd = open(port, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dprintf(fd, "%s\n", request);
	do {
		n = read(fd, reply + len, size - 1 - len);
		if (n <= 0) {
			close(fd);
			return -EIO;
		}
		len += n;
		reply[len] = '\0';
	} while (!strchr(reply, '\n') && len < size - 1);
	close(fd);
	return strstr(reply, "\"ok\":true") || strstr(reply, "\"ok\": true") ? 0 : -EPROTO;
}

int emu_tell(const char *request)
{
	char reply[4096];

	return emu_ask(request, reply, sizeof(reply));
}

/* The number that follows @key, after @group, in the answer; UINT64_MAX if it is not there. */
static uint64_t emu_number(const char *request, const char *group, const char *key)
{
	char reply[4096], quoted[64];
	const char *at;

	if (emu_ask(request, reply, sizeof(reply)))
		return UINT64_MAX;
	snprintf(quoted, sizeof(quoted), "\"%s\":", group);
	at = strstr(reply, quoted);
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtoull(at + strlen(quoted), NULL, 10) : UINT64_MAX;
}

uint64_t emu_counter(const char *name)
{
	return emu_number("counters", name, name);
}

uint64_t emu_injected(const char *kind)
{
	return emu_number("injected", kind, "count");
}

int emu_inject(const char *kind)
{
	char request[128];

	snprintf(request, sizeof(request), "inject %s", kind);
	return emu_tell(request);
}

int emu_clear(void)
{
	return emu_inject("clear");
}

/* ---- QEMU's monitor ---- */

#define PORT	"/dev/virtio-ports/vm-monitor"

bool qemu_is_there(void)
{
	return !access(PORT, R_OK | W_OK);
}

/* The answer to the command with that number; greeting and events are passed over. */
static int answer(FILE *monitor, unsigned int number)
{
	char line[4096];

	while (fgets(line, sizeof(line), monitor)) {
		const char *id = strstr(line, "\"id\": ");

		if (!id || strtoul(id + 6, NULL, 10) != number)
			continue;
		return strstr(line, "\"return\": ") ? 0 : -EPROTO;
	}
	return -EIO;
}

static int order(FILE *monitor, const char *command, const char *arguments)
{
	static unsigned int number;

	fprintf(monitor, "{ \"execute\": \"%s\", \"arguments\": %s, \"id\": %u }\n", command,
		arguments, ++number);
	fflush(monitor);
	return answer(monitor, number);
}

int qemu_tell(const char *command, const char *arguments)
{
	int fd = open(PORT, O_RDWR | O_CLOEXEC);
	FILE *monitor;
	int err;

	if (fd < 0)
		return -errno;
	monitor = fdopen(fd, "r+");
	if (!monitor) {
		close(fd);
		return -ENOMEM;
	}
	/* A request before that, by any process, is refused. */
	order(monitor, "qmp_capabilities", "{}");
	err = order(monitor, command, arguments);
	fclose(monitor);
	return err;
}

/* ---- errors of the link ---- */

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
