// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of the vfio-user protocol, as a client without scruples would have it.
 *
 * The input is a sequence of messages: a byte of flags (how many descriptors, of
 * which kind, whether the header is put right), two of length, and as many bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/vfu/vfu_priv.h"

#define BAR4_SIZE	0x100000u
#define MEMORY_SIZE	0x10000u

#define FDS_MASK	0x07
#define FDS_EVENT	0x08
#define AS_IT_IS	0x10

static uint8_t registers[PCI_BAR0_SIZE];
static int memory_fd = -1;

static int do_access(void *priv, unsigned int bar, uint64_t off, void *buf, size_t len,
		     bool write)
{
	(void)priv;
	if (bar)
		memset(buf, 0, write ? 0 : len);
	else if (write)
		memcpy(registers + off, buf, len);
	else
		memcpy(buf, registers + off, len);
	return 0;
}

static void log_nothing(void *priv, const char *line)
{
	(void)priv;
	(void)line;
}

/* The card's own accesses to what the client maps as memory. */
static void use_memory(struct vfu *srv)
{
	struct vfu_dma *dma = vfu_get_dma(srv);
	static const uint64_t addresses[] = { 0, 0x1000, 0xfff8, 0x100000000 };
	uint64_t word = 0;
	unsigned int i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		vfu_dma_read(dma, addresses[i], &word, sizeof(word));
		vfu_dma_write(dma, addresses[i], &word, sizeof(word));
	}
	vfu_irq(srv, VFU_IRQ_MSIX, 0);
	vfu_irq(srv, VFU_IRQ_MSI, 0);
}

static int make_fd(uint8_t flags)
{
	if (flags & FDS_EVENT)
		return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fcntl(memory_fd, F_DUPFD_CLOEXEC, 0);
}

/* Returns whether the connection continues. */
static bool send_one(struct vfu *srv, uint8_t flags, const uint8_t *data, size_t len)
{
	uint8_t *message = malloc(len ? len : 1);	/* its end is guarded */
	struct vfu_reply reply;
	int fds[FDS_MASK];
	unsigned int nfds = flags & FDS_MASK, i;
	struct vfu_hdr hdr;
	bool open;

	memcpy(message, data, len);
	if (!(flags & AS_IT_IS) && len >= sizeof(hdr)) {
		memcpy(&hdr, message, sizeof(hdr));
		hdr.command %= VFU_NUM_COMMANDS;
		hdr.size = (uint32_t)len;
		hdr.flags &= VFU_F_NO_REPLY;
		memcpy(message, &hdr, sizeof(hdr));
	}
	for (i = 0; i < nfds; i++)
		fds[i] = make_fd(flags);
	open = !vfu_handle(srv, message, len, fds, nfds, &reply);
	free(message);
	if (reply.len && reply.len < sizeof(hdr))
		abort();
	return open;
}

/* One server for all: what a client leaves behind is part of what is tested. */
static struct vfu *setup(void)
{
	static const struct vfu_device_ops ops = { .access = do_access, .log = log_nothing };
	const struct pci_params params = {
		.bar2_size = 4 * 65536, .bar4_size = BAR4_SIZE, .msi = 4, .msix = 8,
	};
	struct vfu_config config = { .ops = &ops };
	int bar4_fd = memfd_create("card", MFD_CLOEXEC);
	struct vfu *srv;

	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	if (bar4_fd < 0 || memory_fd < 0 || ftruncate(bar4_fd, BAR4_SIZE) ||
	    ftruncate(memory_fd, MEMORY_SIZE) || pci_cfg_new(&config.pci, &params))
		abort();
	config.bar[4] = (struct vfu_backing){
		.ptr = mmap(NULL, BAR4_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, bar4_fd, 0),
		.fd = bar4_fd,
	};
	if (config.bar[4].ptr == MAP_FAILED || vfu_new(&srv, &config))
		abort();
	return srv;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t hello[20] = { [2] = VFU_VERSION };
	static struct vfu *srv;
	bool open = true;

	if (!srv)
		srv = setup();
	if (!size)
		return 0;
	vfu_device_reset(srv);
	/* Most clients begin as they should. */
	if (*data & 1)
		open = send_one(srv, 0, hello, sizeof(hello));
	for (data++, size--; open && size >= 3;) {
		size_t len = data[1] | (size_t)data[2] << 8;

		if (len > size - 3)
			len = size - 3;
		open = send_one(srv, data[0], data + 3, len);
		data += 3 + len;
		size -= 3 + len;
		use_memory(srv);
	}
	vfu_hangup(srv);
	use_memory(srv);
	return 0;
}
