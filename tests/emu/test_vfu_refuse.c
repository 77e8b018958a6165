// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that must be refused, each with its error (see vfu.h), after which
 * the server continues to serve.
 */
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "vfu_client.h"
#include "vfu_fake.h"

static int setup(void **state)
{
	(void)state;
	fake_serve(1, PCI_MSIX_MAX);
	return 0;
}

#define FAKE void *unused, setup, fake_close

/* A command with any payload and descriptors. */
struct bad {
	const char *what;
	uint16_t command;
	uint32_t words[10];
	size_t len;
	unsigned int nfds;
	int want;
};

static const struct bad bad_messages[] = {
	{ "unknown", 99, { 0 }, 0, 0, ENOSYS },
	{ "unknown 0", 0, { 0 }, 0, 0, ENOSYS },
	{ "dirty pages", 14, { 0 }, 0, 0, ENOSYS },
	{ "feature", VFU_DEVICE_FEATURE, { 0 }, 8, 0, EOPNOTSUPP },
	{ "dma read", VFU_DMA_READ_CMD, { 0 }, 16, 0, EOPNOTSUPP },
	{ "info short", VFU_DEVICE_GET_INFO, { 16 }, 12, 0, EINVAL },
	{ "info long", VFU_DEVICE_GET_INFO, { 16 }, 20, 0, EINVAL },
	{ "info argsz", VFU_DEVICE_GET_INFO, { 15 }, 16, 0, EINVAL },
	{ "info fd", VFU_DEVICE_GET_INFO, { 16 }, 16, 1, EINVAL },
	{ "region argsz", VFU_DEVICE_GET_REGION_INFO, { 31 }, 32, 0, EINVAL },
	{ "region index", VFU_DEVICE_GET_REGION_INFO, { 32, 0, 9 }, 32, 0,
	  EINVAL },
	{ "region index -1", VFU_DEVICE_GET_REGION_INFO, { 32, 0, ~0u }, 32, 0,
	  EINVAL },
	{ "io fds index", VFU_DEVICE_GET_REGION_IO_FDS, { 16, 0, 1 }, 16, 0,
	  EINVAL },
	{ "irq argsz", VFU_DEVICE_GET_IRQ_INFO, { 0 }, 16, 0, EINVAL },
	{ "reset payload", VFU_DEVICE_RESET, { 0 }, 4, 0, EINVAL },
	{ "reset fds", VFU_DEVICE_RESET, { 0 }, 0, 2, EINVAL },
	/* SET_IRQS: argsz, flags, index, start, count; 0x24 is EVENTFD */
	{ "irqs argsz", VFU_DEVICE_SET_IRQS, { 24, 0x24, 2, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs two data", VFU_DEVICE_SET_IRQS, { 20, 0x25, 2, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs no data", VFU_DEVICE_SET_IRQS, { 20, 0x20, 2, 0, 1 }, 20, 0,
	  EINVAL },
	{ "irqs two actions", VFU_DEVICE_SET_IRQS, { 20, 0x34, 2, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs flag", VFU_DEVICE_SET_IRQS, { 20, 0x64, 2, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs mask", VFU_DEVICE_SET_IRQS, { 20, 0x09, 2, 0, 1 }, 20, 0,
	  EOPNOTSUPP },
	{ "irqs index", VFU_DEVICE_SET_IRQS, { 20, 0x24, 3, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs intx", VFU_DEVICE_SET_IRQS, { 20, 0x24, 0, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs start", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 257, 1 }, 20, 1,
	  EINVAL },
	{ "irqs wrap", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, ~0u, 2 }, 20, 2,
	  EINVAL },
	{ "irqs few fds", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 0, 3 }, 20, 2,
	  EINVAL },
	{ "irqs many fds", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 0, 1 }, 20, 2,
	  EINVAL },
	{ "irqs 17 fds", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 0, 17 }, 20, 17,
	  EINVAL },
	{ "irqs 253 fds", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 0, 253 }, 20,
	  253, EINVAL },
	{ "irqs none fds", VFU_DEVICE_SET_IRQS, { 20, 0x21, 2, 0, 1 }, 20, 1,
	  EINVAL },
	{ "irqs none start", VFU_DEVICE_SET_IRQS, { 20, 0x21, 2, 1, 0 }, 20, 0,
	  EINVAL },
	{ "irqs bools", VFU_DEVICE_SET_IRQS, { 24, 0x22, 2, 0, 5 }, 24, 0,
	  EINVAL },
	{ "irqs not eventfd", VFU_DEVICE_SET_IRQS, { 20, 0x24, 2, 0, 1 }, 20, 1,
	  EINVAL },
	/* REGION_READ, WRITE: offset, offset, region, count, data */
	{ "read index", VFU_REGION_READ, { 0, 0, 9, 4 }, 16, 0, EINVAL },
	{ "read index -1", VFU_REGION_READ, { 0, 0, ~0u, 4 }, 16, 0, EINVAL },
	{ "read absent", VFU_REGION_READ, { 0, 0, 1, 4 }, 16, 0, EINVAL },
	{ "read none", VFU_REGION_READ, { 0, 0, 0, 0 }, 16, 0, EINVAL },
	{ "read end", VFU_REGION_READ, { 0xfffd, 0, 0, 4 }, 16, 0, EINVAL },
	{ "read beyond", VFU_REGION_READ, { 0x10001, 0, 0, 4 }, 16, 0, EINVAL },
	{ "read wrap", VFU_REGION_READ, { ~3u, ~0u, 0, 8 }, 16, 0, EINVAL },
	{ "read config", VFU_REGION_READ, { 4096, 0, 7, 1 }, 16, 0, EINVAL },
	{ "read large", VFU_REGION_READ, { 0, 0, 4, 1048577 }, 16, 0, EINVAL },
	{ "read short", VFU_REGION_READ, { 0, 0, 0, 4 }, 12, 0, EINVAL },
	{ "read long", VFU_REGION_READ, { 0, 0, 0, 4 }, 20, 0, EINVAL },
	{ "write count", VFU_REGION_WRITE, { 0, 0, 0, 8, 1 }, 20, 0, EINVAL },
	{ "write less", VFU_REGION_WRITE, { 0, 0, 0, 2, 1 }, 20, 0, EINVAL },
	{ "write wrap", VFU_REGION_WRITE, { ~0u, ~0u, 0, 4, 1 }, 20, 0,
	  EINVAL },
	{ "write fd", VFU_REGION_WRITE, { 0, 0, 0, 4, 1 }, 20, 1, EINVAL },
	/* WRITE_MULTI: wr_cnt, wr_cnt, then offset, offset, region, count */
	{ "multi short", VFU_REGION_WRITE_MULTI, { 2, 0 }, 32, 0, EINVAL },
	{ "multi count", VFU_REGION_WRITE_MULTI, { 1, 0, 0, 0, 0, 9 }, 32, 0,
	  EINVAL },
	{ "multi wrap", VFU_REGION_WRITE_MULTI, { 0xaaaaaaac, 0xaaaaaaaa }, 32,
	  0, EINVAL },
	/* DMA_MAP: argsz, flags, offset x2, address x2, size x2 */
	{ "map argsz", VFU_DMA_MAP, { 31, 3, 0, 0, 0, 0, 4096 }, 32, 0,
	  EINVAL },
	{ "map flags", VFU_DMA_MAP, { 32, 7, 0, 0, 0, 0, 4096 }, 32, 0,
	  EINVAL },
	{ "map no access", VFU_DMA_MAP, { 32, 0, 0, 0, 0, 0, 4096 }, 32, 0,
	  EINVAL },
	{ "map two fds", VFU_DMA_MAP, { 32, 3, 0, 0, 0, 0, 4096 }, 32, 2,
	  EINVAL },
	{ "map not a file", VFU_DMA_MAP, { 32, 3, 0, 0, 0, 0, 4096 }, 32, 1,
	  EINVAL },
	{ "unmap argsz", VFU_DMA_UNMAP, { 23, 0, 0, 0, 4096 }, 24, 0, EINVAL },
	{ "unmap flags", VFU_DMA_UNMAP, { 24, 1, 0, 0, 4096 }, 24, 0, EINVAL },
	{ "unmap none", VFU_DMA_UNMAP, { 24, 0, 0, 0, 0 }, 24, 0, EINVAL },
	{ "unmap all of some", VFU_DMA_UNMAP, { 24, 2, 0, 0, 4096 }, 24, 0,
	  EINVAL },
};

TEST_F(FAKE, refuse_malformed)
{
	unsigned int before = fake_fds();
	int fds[253], pipe_fd[2];
	struct vfc c;
	size_t i;

	assert_int_equal(pipe(pipe_fd), 0);
	for (i = 0; i < 253; i++)
		fds[i] = pipe_fd[1];
	assert_int_equal(vfc_connect(&c, fake.path), 0);
	fake.accesses = 0;
	for (i = 0; i < sizeof(bad_messages) / sizeof(*bad_messages); i++) {
		const struct bad *b = &bad_messages[i];
		int ret = vfc_call(&c, b->command, b->words, b->len, fds,
				   b->nfds, NULL, 0, NULL);

		if (ret != -b->want)
			fail_msg("%s: %d, want %d", b->what, ret, -b->want);
		/* Each on its own: nothing of it lingers. */
		assert_int_equal(vfc_cfg_read16(&c, PCI_VENDOR_ID), FAKE_VENDOR);
	}
	assert_int_equal(fake.accesses, 0);
	assert_int_equal(vfu_dma_count(vfu_get_dma(fake.srv)), 0);
	/* An error is worth a line, a flood is not. */
	assert_true(fake.log_lines <= 32);
	vfc_close(&c);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	assert_int_equal(fake_fds(), before);
}

TEST_F(FAKE, lose_framing)
{
	static const struct vfu_hdr hdrs[] = {
		{ .command = VFU_DEVICE_RESET, .size = 15 },
		{ .command = VFU_DEVICE_RESET, .size = 0 },
		{ .command = VFU_DEVICE_RESET, .size = 16, .flags = 1 },
		{ .command = VFU_DEVICE_RESET, .size = 16, .flags = 0xf },
	};
	struct vfu_hdr big = { .command = VFU_REGION_WRITE,
			       .size = VFU_MSG_MAX + 1 };
	struct vfc c;
	size_t i;

	for (i = 0; i < sizeof(hdrs) / sizeof(*hdrs); i++) {
		assert_int_equal(vfc_connect(&c, fake.path), 0);
		assert_int_equal(vfc_send_raw(&c, &hdrs[i], sizeof(hdrs[i]),
					      NULL, 0), 0);
		assert_true(vfc_hung_up(&c));
		vfc_close(&c);
	}
	assert_int_equal(vfc_connect(&c, fake.path), 0);
	assert_int_equal(vfc_send_raw(&c, &big, sizeof(big), NULL, 0), 0);
	assert_int_equal(vfc_recv_raw(&c, &big, NULL, 0, NULL), 0);
	assert_int_equal(big.flags, VFU_F_REPLY | VFU_F_ERROR);
	assert_int_equal(big.error, EMSGSIZE);
	assert_true(vfc_hung_up(&c));
	vfc_close(&c);
	fake_alive();
}
