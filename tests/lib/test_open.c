// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_open.c - opening, a card's properties, its counters
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../frame.h"
#include "dev.h"
#include "fake.h"

TEST_F(FAKE, default_configuration)
{
	struct vtadev *dev = fake_open();
	const struct vtadev_info *info = vtadev_info(dev);
	uint64_t bytes = 0;

	assert_int_equal(info->contract_major, 1);
	assert_int_equal(info->contract_minor, 0);
	assert_int_equal(info->features, VTADEV_FEATURE_COUNTERS);
	assert_int_equal(info->mem_size, 64 << 20);
	assert_int_equal(info->ring_entries_max, 65536);
	assert_int_equal(info->hw_ver_minor, 1);
	assert_int_equal(info->hw_ver_patch, 2);
	assert_int_equal(info->batch, 1);
	assert_int_equal(info->block, 16);
	assert_int_equal(info->inp_bytes, 16);
	assert_int_equal(info->wgt_bytes, 256);
	assert_int_equal(info->acc_bytes, 64);
	assert_int_equal(info->out_bytes, 16);
	assert_int_equal(info->elem_bytes_max, 256);
	assert_int_equal(info->uop_depth, 8192);
	assert_int_equal(info->inp_depth, 2048);
	assert_int_equal(info->wgt_depth, 1024);
	assert_int_equal(info->acc_depth, 2048);
	assert_int_equal(info->log_acc_depth, 11);
	/* A driver before these fields has 0, which is 16. */
	assert_int_equal(info->log_tokens, 16);
	assert_int_equal(info->log_waiting, 9);
	assert_int_equal(vtadev_mem_free(dev, &bytes), 0);
	assert_int_equal(bytes, 63 << 20);

	/* sysfs knows no memfd */
	assert_int_equal(info->card.index, UINT_MAX);
	assert_string_equal(info->card.node, fake.path);
	assert_string_equal(info->card.pci, "");
	vtadev_close(dev);
}

TEST_F(FAKE, values_smaller_than_a_byte)
{
	const struct vtadev_info *info;
	struct vtadev *dev;

	fake.info.log_inp_width = 2;	/* int4 */
	fake.info.log_wgt_width = 1;	/* int2 */
	fake.info.log_batch = 1;
	fake.info.log_inp_buff_size = 14;
	fake.info.log_wgt_buff_size = 15;
	fake.info.log_acc_buff_size = 16;
	dev = fake_open();
	info = vtadev_info(dev);
	assert_int_equal(info->inp_bytes, 2 * 16 * 4 / 8);
	assert_int_equal(info->wgt_bytes, 16 * 16 * 2 / 8);
	assert_int_equal(info->acc_bytes, 2 * 16 * 4);
	assert_int_equal(info->out_bytes, info->inp_bytes);
	assert_int_equal(info->elem_bytes_max, 128);
	assert_int_equal(info->inp_depth, 16384 / 16);
	assert_int_equal(info->wgt_depth, 32768 / 64);
	assert_int_equal(info->acc_depth, 65536 / 128);
	vtadev_close(dev);
}

/* One register gone bad at a time. */
TEST_F(FAKE, configurations_that_cannot_be)
{
#define BAD(field, value) { offsetof(struct vta_info, field), value }
	static const struct {
		size_t offset;
		uint8_t value;
	} bad[] = {
		BAD(log_inp_width, 0), BAD(log_inp_width, 4), BAD(log_inp_width, 255),
		BAD(log_wgt_width, 0), BAD(log_wgt_width, 15),
		BAD(log_acc_width, 4), BAD(log_acc_width, 6),
		BAD(log_batch, 9), BAD(log_batch, 255),
		BAD(log_block, 0), BAD(log_block, 9),
		BAD(log_uop_buff_size, 0), BAD(log_uop_buff_size, 1),
		BAD(log_uop_buff_size, 16), BAD(log_uop_buff_size, 255),
		BAD(log_inp_buff_size, 0), BAD(log_inp_buff_size, 3),
		BAD(log_inp_buff_size, 255),
		BAD(log_wgt_buff_size, 7), BAD(log_wgt_buff_size, 19),
		BAD(log_wgt_buff_size, 255),
		BAD(log_acc_buff_size, 5), BAD(log_acc_buff_size, 18),
		BAD(log_acc_buff_size, 255),
		BAD(log_tokens, 2), BAD(log_tokens, 17), BAD(log_waiting, 255),
		BAD(ring_order_max, 17), BAD(ring_order_max, 255),
	};
	const struct vta_info good = fake.info;
	struct vtadev *dev = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		fake.info = good;
		((uint8_t *)&fake.info)[bad[i].offset] = bad[i].value;
		assert_int_equal(vtadev_open(fake.path, &dev), -EPROTO);
	}

	/* The factors of ALU do not fit its second word; micro-ops do. */
	fake.info = good;
	fake.info.log_wgt_buff_size = 15;
	fake.info.log_acc_buff_size = 18;
	assert_int_equal(vtadev_open(fake.path, &dev), -EPROTO);
	assert_null(dev);
}

TEST_F(FAKE, names_of_no_card)
{
	static const char *const bad[] = {
		"card", "vta", "vtax", "-1", "0x0", "1 ", " 1", "4294967295",
		"99999999999999999999", "vta0x",
	};
	struct vtadev_card card;
	struct vtadev *dev = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(vtadev_find(bad[i], &card), -EINVAL);
		assert_int_equal(vtadev_open(bad[i], &dev), -EINVAL);
	}
	assert_int_equal(vtadev_find("4294967294", &card), -ENOENT);
	assert_int_equal(vtadev_find("vta4294967294", &card), -ENOENT);
	assert_int_equal(vtadev_find("ffff:ff:1f.7", &card), -ENOENT);
	assert_int_equal(vtadev_find("/dev/null", &card), -ENOTTY);
	assert_int_equal(vtadev_find("/", &card), -ENOTTY);
	assert_int_equal(vtadev_find("/dev/no-such-node", &card), -ENOENT);
	assert_int_equal(vtadev_open("/dev/no-such-node", &dev), -ENOENT);
	assert_int_equal(vtadev_open("/", &dev), -EISDIR);
	assert_null(dev);
}

TEST_F(FAKE, version_is_that_of_the_header)
{
	assert_string_equal(vtadev_version(), VTADEV_VERSION);
}

/* ---- Counters: a directory in place of the card's in sysfs ---- */

static const char *const counter_names[] = {
	"mmio_reads", "mmio_writes", "bad_accesses", "doorbells", "arms",
	"interrupts", "dma_read_bytes", "dma_write_bytes", "mem_read_bytes",
	"mem_write_bytes", "page_walks", "tlb_hits", "tlb_invalidations",
	"descriptors", "runs", "copies", "fills", "copy_bytes", "insns",
	"compute_cycles", "copy_cycles", "gemm_uops", "alu_uops",
	"context_switches", "faults", "resets", "state_saves", "state_restores",
	"state_cycles",
};

#define COUNTERS	(sizeof(counter_names) / sizeof(*counter_names))

static void write_counter(int dir, const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "counters/%s", name);
	fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void remove_counter(int dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "counters/%s", name);
	assert_int_equal(unlinkat(dir, path, 0), 0);
}

TEST_F(FAKE, counters)
{
	static const char *const garbage[] = {
		"", "\n", "-1\n", "x", "1 2\n", "18446744073709551616\n", "7\n\n",
	};
	char path[] = "/tmp/vtadev-test-XXXXXX";
	struct vtadev *dev = fake_open();
	struct vtadev_counters values;
	uint64_t one = 5;
	char text[32];

	assert_int_equal(vtadev_counters(dev, &values), -EOPNOTSUPP);
	assert_int_equal(vtadev_counter(dev, "arms", &one), -EOPNOTSUPP);
	assert_int_equal(one, 5);

	assert_non_null(mkdtemp(path));
	dev->sysfs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dev->sysfs >= 0);
	assert_int_equal(vtadev_counters(dev, &values), -ENODEV);
	assert_int_equal(mkdirat(dev->sysfs, "counters", 0700), 0);
	for (size_t i = 0; i < COUNTERS; i++) {
		snprintf(text, sizeof(text), "%zu\n", 1000 + i);
		write_counter(dev->sysfs, counter_names[i], text);
	}
	assert_int_equal(vtadev_counters(dev, &values), 0);
	for (size_t i = 0; i < COUNTERS; i++) {
		assert_int_equal(((uint64_t *)&values)[i], 1000 + i);
		assert_int_equal(vtadev_counter(dev, counter_names[i], &one), 0);
		assert_int_equal(one, 1000 + i);
	}
	/* As on a card of contract 2.0, and of 2.1. */
	assert_int_equal(vtadev_counter(dev, "compute_clocks", &one), -EOPNOTSUPP);
	write_counter(dev->sysfs, "compute_clocks", "77\n");
	assert_int_equal(vtadev_counter(dev, "compute_clocks", &one), 0);
	assert_int_equal(one, 77);
	remove_counter(dev->sysfs, "compute_clocks");
	assert_int_equal(vtadev_counter(dev, "", &one), -ENOENT);
	assert_int_equal(vtadev_counter(dev, "card_clocks", &one), -ENOENT);
	assert_int_equal(values.interrupts, 1005);
	assert_int_equal(values.faults, 1024);

	write_counter(dev->sysfs, "arms", "18446744073709551615\n");
	assert_int_equal(vtadev_counters(dev, &values), 0);
	assert_true(values.arms == UINT64_MAX);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		write_counter(dev->sysfs, "arms", garbage[i]);
		assert_int_equal(vtadev_counters(dev, &values), -EPROTO);
	}
	assert_true(values.arms == UINT64_MAX);		/* left alone */

	for (size_t i = 0; i < COUNTERS; i++)
		remove_counter(dev->sysfs, counter_names[i]);
	assert_int_equal(vtadev_counters(dev, &values), -ENODEV);
	assert_int_equal(unlinkat(dev->sysfs, "counters", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(path), 0);
	vtadev_close(dev);

	fake.info.features = 0;
	dev = fake_open();
	assert_int_equal(vtadev_counters(dev, &values), -EOPNOTSUPP);
	vtadev_close(dev);
}

TEST_F(FAKE, loss_is_reported)
{
	struct vtadev *dev = fake_open();
	struct vtadev_lost lost;

	fake.fail = ENODEV;
	fake.lost = (struct vta_lost){ .fate = VTA_FATE_RESET, .cause = VTA_CAUSE_BUS };
	assert_int_equal(vtadev_lost(dev, &lost), 0);
	assert_int_equal(lost.fate, VTA_FATE_RESET);
	assert_int_equal(lost.cause, VTA_CAUSE_BUS);
	vtadev_close(dev);
}

/* They fail with ENODEV as all calls, which must not be taken for an answer. */
TEST_F(FAKE, older_drivers_report_no_loss)
{
	struct vtadev_lost lost;
	struct vtadev *dev;

	fake.info.abi = 2;
	dev = fake_open();
	fake.calls = 0;
	assert_int_equal(vtadev_lost(dev, &lost), -EOPNOTSUPP);
	assert_int_equal(fake.calls, 0);
	vtadev_close(dev);
}
