// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's registers (docs/hardware.md, sections 1 to 6): values, access
 * rules, what is undefined; and the emulator around it.
 */
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "card_rig.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static void sleep_ms(unsigned int ms)
{
	nanosleep(&(struct timespec) { .tv_nsec = ms * 1000000l }, NULL);
}

/* ---- Identity ---- */

TEST_F(RIG, discovery)
{
	assert_int_equal(vfc_cfg_read32(&r->c, PCI_VENDOR_ID), 0x56541234);
	assert_int_equal(vfc_cfg_read32(&r->c, PCI_SUBSYSTEM_VENDOR_ID), 0x00011234);
	assert_int_equal(vfc_cfg_read32(&r->c, PCI_CLASS_REVISION), 0x12000001);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	assert_int_equal(rig_get(r, REG_CONTRACT), 0x00020001);
	assert_int_equal(rig_get64(r, REG_FEATURES_LO), REG_FEATURES_COUNTERS);
	assert_int_equal(rig_get(r, REG_QUEUES), 8);
	assert_int_equal(rig_get(r, REG_CONTEXTS), 8);
	assert_int_equal(rig_get64(r, REG_MEM_SIZE_LO), RIG_MEM_SIZE);
	assert_int_equal(rig_get(r, REG_DOORBELL_SHIFT), RIG_DB_SHIFT);
	assert_in_range(rig_get(r, REG_RING_ORDER_MAX), 1, VTA_RING_ORDER_LIMIT);
	assert_int_equal(rig_get(r, REG_CLOCK_KHZ), 100000);
	/* TVM's default configuration. */
	assert_int_equal(rig_get(r, REG_CONFIG0), 0x00040533);
	assert_int_equal(rig_get(r, REG_CONFIG1), 0x11120f0f);
	/* The scratchpads, and less than a page. Other cards need not keep state. */
	if (rig_is_emulator() || rig_get(r, REG_SAVE_SIZE))
		assert_int_equal(rig_get(r, REG_SAVE_SIZE), 0x71000);
	assert_int_equal(r->c.bar4_size, RIG_MEM_SIZE);
}

TEST(discovery_of_a_configured_card)
{
	static const char *const args[] = {
		"--queues", "3", "--contexts", "5", "--mem", "1M", "--serial",
		"0x1122334455667788", "--clock-khz", "250000", "--config",
		"tests/emu/configs/inp4_wgt4.json", "--msix", "2", "--log-tokens", "8",
		"--log-waiting", "9", NULL
	};
	struct vfu_region_info info;
	struct rig rig, *r = &rig;
	uint16_t dsn;

	/* Options of the emulator: another card has the shape and the parts that it has. */
	if (!rig_is_emulator())
		skip();
	rig_start(r, args);
	assert_int_equal(rig_get(r, REG_QUEUES), 3);
	assert_int_equal(rig_get(r, REG_CONTEXTS), 5);
	assert_int_equal(rig_get64(r, REG_MEM_SIZE_LO), 1u << 20);
	assert_int_equal(rig_get(r, REG_CLOCK_KHZ), 250000);
	assert_int_equal(rig_get(r, REG_CONFIG0) & 0xff, 0x22);
	assert_int_equal(rig_get(r, REG_CONFIG2), 0x0908);
	assert_true(rig_get64(r, REG_SERIAL_LO) == 0x1122334455667788);
	dsn = vfc_find_ext_cap(&r->c, PCI_EXT_CAP_ID_DSN);
	assert_true(dsn);
	assert_int_equal(vfc_cfg_read32(&r->c, dsn + 4), 0x55667788);
	assert_int_equal(vfc_cfg_read32(&r->c, dsn + 8), 0x11223344);
	/* Three doorbells in a power of two. */
	assert_int_equal(vfc_region_info(&r->c, VTA_BAR_DOORBELLS, &info, NULL), 0);
	assert_int_equal(info.size, 4u << RIG_DB_SHIFT);
	assert_int_equal(vfc_region_info(&r->c, VTA_BAR_REGS, &info, NULL), 0);
	assert_int_equal(info.size, VTA_REGS_SIZE);
	assert_int_equal(r->c.nr_irqs, 2);
	/* Queues and contexts that are not there. */
	rig_clear_counters(r);
	rig_set(r, REG_QUEUE_CONTEXT(3), 1);
	rig_set(r, REG_CONTEXT_ROOT_HI(5), 1);
	assert_int_equal(rig_get(r, REG_QUEUE_CONTEXT(3)), 0);
	assert_int_equal(rig_get(r, REG_CONTEXT_ROOT_HI(5)), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 4);
	rig_stop(r);
}

/* A first board: neither card memory nor kept state. */
TEST(card_without_memory_and_kept_state)
{
	static const char *const args[] = { "--mem", "0", "--no-kept-state", NULL };
	struct vta_desc run = vtadev_desc_run(0x20000, 1, 0);
	struct vfu_region_info info;
	struct rig rig, *r = &rig;
	struct rig_queue q;

	/* Options of the emulator: another card has the shape and the parts that it has. */
	if (!rig_is_emulator())
		skip();
	rig_start(r, args);
	assert_int_equal(rig_get64(r, REG_MEM_SIZE_LO), 0);
	assert_int_equal(rig_get(r, REG_SAVE_SIZE), 0);
	assert_int_equal(vfc_region_info(&r->c, VTA_BAR_MEM, &info, NULL), 0);
	assert_int_equal(info.size, 0);
	assert_int_equal(vfc_cfg_read32(&r->c, PCI_BASE_ADDRESS_4), 0);
	assert_int_equal(vfc_cfg_read32(&r->c, PCI_BASE_ADDRESS_5), 0);
	/* Every entry with CARD is malformed. */
	rig_context(r, 0);
	rig_map_pages(r, 0, 0x20000, 2);
	rig_map(r, 0, 0x10000, 0, RIG_RW | RIG_CARD);
	rig_map_block(r, 0, 0x40000000, 0, RIG_RW | RIG_CARD);
	rig_queue(r, &q, 0, 0, 4);
	rig_set(r, REG_QUEUE_SAVE(0), 0x20000);
	rig_queue_start(&q, 0);
	rig_fails(&q, vtadev_desc_fill(0x10000, 0, 4), VTA_FAULT_ENTRY, VTA_ACCESS_COPY_DST,
		  0x10000);
	rig_queue_stop(&q, false);
	rig_queue_start(&q, 0);
	rig_fails(&q, vtadev_desc_copy(0x20000, 0x40000000, 4), VTA_FAULT_ENTRY,
		  VTA_ACCESS_COPY_SRC, 0x40000000);
	/* RUNs without KEEP work, as zeros are a LOAD of nothing; with KEEP, they are malformed. */
	rig_queue_stop(&q, false);
	rig_queue_start(&q, 0);
	rig_do(&q, run);
	vtadev_desc_keep(&run);
	rig_fails(&q, run, VTA_FAULT_DESC, VTA_ACCESS_NONE, 0);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)) & REG_QUEUE_STATE_KEPT, 0);
	/* Nothing can have been kept. */
	rig_queue_stop(&q, false);
	rig_clear_counters(r);
	rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ENABLE | REG_QUEUE_CTRL_KEPT);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_DISABLED);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 1);
	rig_stop(r);
}

/* ---- Every register ---- */

TEST(reads_sensors)
{
	struct rig r;

	/* Options of the emulator: another card has the shape and the parts that it has. */
	if (!rig_is_emulator())
		skip();
	rig_start(&r, (const char *const[]) { "--sensors", "318150,12500", NULL });
	assert_int_equal(rig_get64(&r, REG_FEATURES_LO),
			 REG_FEATURES_COUNTERS | REG_FEATURES_SENSORS);
	rig_clear_counters(&r);
	assert_int_equal(rig_get(&r, REG_TEMPERATURE), 318150);
	assert_int_equal(rig_get(&r, REG_POWER), 12500);
	rig_set(&r, REG_TEMPERATURE, 1);
	assert_int_equal(rig_get(&r, REG_TEMPERATURE), 318150);
	assert_int_equal(rig_counter(&r, VTA_COUNTER_BAD_ACCESSES), 0);
	rig_stop(&r);

	/* A card without has no such registers. */
	rig_start(&r, (const char *const[]) { NULL });
	rig_clear_counters(&r);
	assert_int_equal(rig_get(&r, REG_TEMPERATURE), 0);
	assert_int_equal(rig_get(&r, REG_POWER), 0);
	assert_int_equal(rig_counter(&r, VTA_COUNTER_BAD_ACCESSES), 2);
	rig_stop(&r);
}

enum rule { RO, RW, W };

struct reg {
	const char *name;
	uint32_t off;
	enum rule rule;
	uint32_t reset;
	uint32_t mask;		/* bits that keep what is written */
};

#define ALL	0xffffffffu

static const struct reg regs[] = {
	{ "MAGIC", REG_MAGIC, RO, REG_MAGIC_VALUE, 0 },
	{ "CONTRACT", REG_CONTRACT, RO, 0x00020001, 0 },
	{ "FEATURES_LO", REG_FEATURES_LO, RO, 1, 0 },
	{ "FEATURES_HI", REG_FEATURES_HI, RO, 0, 0 },
	{ "QUEUES", REG_QUEUES, RO, 8, 0 },
	{ "CONTEXTS", REG_CONTEXTS, RO, 8, 0 },
	{ "MEM_SIZE_LO", REG_MEM_SIZE_LO, RO, RIG_MEM_SIZE, 0 },
	{ "MEM_SIZE_HI", REG_MEM_SIZE_HI, RO, 0, 0 },
	{ "DOORBELL_SHIFT", REG_DOORBELL_SHIFT, RO, RIG_DB_SHIFT, 0 },
	{ "CLOCK_KHZ", REG_CLOCK_KHZ, RO, 100000, 0 },
	{ "CONFIG0", REG_CONFIG0, RO, 0x00040533, 0 },
	{ "CONFIG1", REG_CONFIG1, RO, 0x11120f0f, 0 },
	{ "CONFIG2", REG_CONFIG2, RO, 0, 0 },
	{ "SERIAL_LO", REG_SERIAL_LO, RO, 1, 0 },
	{ "SERIAL_HI", REG_SERIAL_HI, RO, 0, 0 },
	{ "CONTROL", REG_CONTROL, RW, 0, REG_CONTROL_ENABLE },
	{ "STATUS", REG_STATUS, RO, REG_STATUS_READY, 0 },
	{ "EVENT", REG_EVENT, RO, 0, 0 },	/* RW1C, nothing set */
	{ "EVENT_ENABLE", REG_EVENT_ENABLE, RW, 0, REG_EVENT_ALL },
	{ "EVENT_VECTOR", REG_EVENT_VECTOR, RW, 0, ALL },
	{ "ENGINE_MOVES", REG_ENGINE_MOVES(1), RO, 0, 0 },
	{ "ENGINE_QUEUE", REG_ENGINE_QUEUE(1), RO, 0, 0 },
	{ "ENGINE_SEQ_LO", REG_ENGINE_SEQ_LO(1), RO, 0, 0 },
	{ "ENGINE_SEQ_HI", REG_ENGINE_SEQ_HI(1), RO, 0, 0 },
	{ "ENGINE_SINCE_LO", REG_ENGINE_SINCE_LO(1), RO, 0, 0 },
	{ "ENGINE_SINCE_HI", REG_ENGINE_SINCE_HI(1), RO, 0, 0 },
	{ "TLB_INVALIDATE", REG_TLB_INVALIDATE, RW, 0, 0x400000ff },
	{ "CONTEXT_ROOT_LO", REG_CONTEXT_ROOT_LO(7), RW, 0, 0xffffc000 },
	{ "CONTEXT_ROOT_HI", REG_CONTEXT_ROOT_HI(7), RW, 0, ALL },
	{ "CONTEXT_CTRL", REG_CONTEXT_CTRL(7), RW, 0, REG_CONTEXT_CTRL_ENABLE },
	/* ENABLE is refused as its context is not enabled. */
	{ "QUEUE_CTRL", REG_QUEUE_CTRL(7), RW, 0, REG_QUEUE_CTRL_PRIORITY },
	{ "QUEUE_STATE", REG_QUEUE_STATE(7), RO, 0, 0 },
	{ "QUEUE_CONTEXT", REG_QUEUE_CONTEXT(7), RW, 0, ALL },
	{ "QUEUE_RING_ORDER", REG_QUEUE_RING_ORDER(7), RW, 0, ALL },
	{ "QUEUE_RING_ADDR", REG_QUEUE_RING_ADDR(7), RW, 0, ALL },
	{ "QUEUE_VECTOR", REG_QUEUE_VECTOR(7), RW, 0, ALL },
	{ "QUEUE_STATUS_LO", REG_QUEUE_STATUS_LO(7), RW, 0, ALL },
	{ "QUEUE_STATUS_HI", REG_QUEUE_STATUS_HI(7), RW, 0, ALL },
	{ "QUEUE_CYCLES_LO", REG_QUEUE_CYCLES_LO(7), RW, 0, ALL },
	{ "QUEUE_CYCLES_HI", REG_QUEUE_CYCLES_HI(7), RW, 0, ALL },
	{ "QUEUE_START_LO", REG_QUEUE_START_LO(7), RW, 0, ALL },
	{ "QUEUE_START_HI", REG_QUEUE_START_HI(7), RW, 0, ALL },
	{ "QUEUE_ARM", REG_QUEUE_ARM(7), W, 0, 0 },
	{ "QUEUE_SEQ_LO", REG_QUEUE_SEQ_LO(7), RO, 0, 0 },
	{ "QUEUE_SEQ_HI", REG_QUEUE_SEQ_HI(7), RO, 0, 0 },
	{ "QUEUE_SUBMITTED", REG_QUEUE_SUBMITTED(7), RW, 0, ALL },
	{ "QUEUE_TIME_LIMIT_LO", REG_QUEUE_TIME_LIMIT_LO(7), RW, 0, ALL },
	{ "QUEUE_TIME_LIMIT_HI", REG_QUEUE_TIME_LIMIT_HI(7), RW, 0, ALL },
	{ "QUEUE_GROUP", REG_QUEUE_GROUP(7), RW, 0, ALL },
	{ "QUEUE_SAVE", REG_QUEUE_SAVE(7), RW, 0, ALL },
	{ "COUNTER_CTRL", REG_COUNTER_CTRL, W, 0, 0 },
};

static void check_reg(struct rig *r, const struct reg *reg, uint32_t write)
{
	uint32_t want = (reg->rule == RW ? write & reg->mask : reg->reset), got;

	/* RESET and COUNTER_CTRL would do more than this test is about. */
	if (reg->off == REG_CONTROL)
		write &= ~REG_CONTROL_RESET;
	rig_set(r, reg->off, write);
	if (reg->off == REG_TLB_INVALIDATE)
		rig_await(r, reg->off, REG_TLB_INVALIDATE_BUSY, 0);
	got = rig_get(r, reg->off);
	if (got != want)
		fail_msg("%s: wrote %#x, read %#x, not %#x", reg->name, write, got, want);
}

TEST_F(RIG, reset_values)
{
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
		uint32_t got = rig_get(r, regs[i].off);

		if (got != regs[i].reset)
			fail_msg("%s: %#x after reset, not %#x", regs[i].name, got, regs[i].reset);
	}
}

TEST_F(RIG, access_rules)
{
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
		check_reg(r, &regs[i], 0xa5a5a5a4);
		check_reg(r, &regs[i], 0x5a5a5a58);
		check_reg(r, &regs[i], 0);
	}
	/* None of these is a bad access. */
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 0);
	rig_set(r, REG_QUEUE_CTRL(7), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_CTRL(7)), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 1);
}

TEST_F(RIG, soft_reset_values)
{
	uint32_t generation = rig_get(r, REG_GENERATION);

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		if (regs[i].off != REG_CONTROL)
			rig_set(r, regs[i].off, 0x5a5a5a59);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET | REG_CONTROL_ENABLE);
	rig_ready(r);
	assert_int_equal(rig_get(r, REG_GENERATION), generation + 1);
	reset_values(r);
}

static bool is_defined(uint32_t off)
{
	uint32_t card[] = { 0x10c, 0x118, 0x124, 0x140 };

	if (off < 0x48 || (off >= 0x100 && off <= card[1]) || (off & ~4u) == 0x120 ||
	    off == card[3])
		return true;
	if (off >= REG_ENGINE(0) && off < REG_ENGINE(VTA_NR_ENGINES))
		return off % 32 < 0x18;
	if (off >= REG_GROUP_WEIGHT(0) && off < REG_GROUP_WEIGHT(8))
		return true;
	if (off >= REG_CONTEXT(0) && off < REG_CONTEXT(8))
		return off % 16 != 12;
	if (off >= REG_QUEUE(0) && off < REG_QUEUE(8))
		return off % 128 < 0x50;
	return false;
}

TEST_F(RIG, undefined_offsets)
{
	unsigned int count = 0;

	/* Without the MSI-X table and pending bits, and the counters. */
	for (uint32_t off = 0; off < VTA_REGS_SIZE; off += 4) {
		if (is_defined(off) || (off >= VTA_MSIX_TABLE && off < REG_COUNTER_CTRL + 0x1000))
			continue;
		rig_set(r, off, 0xffffffff);
		if (rig_get(r, off))
			fail_msg("offset %#x is %#x", off, rig_get(r, off));
		count += 2;
		/* All of them would take long: every one near registers, some beyond. */
		if (off >= 0x240 && off % 0x400 == 0x80)
			off += 0x300;
	}
	assert_true(count > 200);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), count);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_READS), count / 2);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_WRITES), count / 2);
	/* Those among the counters are not counted. */
	rig_set(r, REG_COUNTER_CTRL + 4, 1);
	assert_int_equal(rig_get(r, REG_COUNTER_CTRL + 4), 0);
	assert_int_equal(rig_get(r, REG_COUNTER(VTA_COUNTERS)), 0);
	assert_int_equal(rig_get(r, REG_COUNTER_CTRL + 0xffc), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), count);
}

TEST_F(RIG, widths)
{
	static const struct { uint32_t off; size_t len; } bad[] = {
		{ REG_MAGIC, 1 }, { REG_MAGIC, 2 }, { REG_MAGIC, 3 }, { REG_MAGIC + 1, 4 },
		{ REG_MAGIC + 2, 4 }, { REG_CONTRACT, 8 }, { REG_MAGIC + 1, 8 }, { REG_MAGIC, 16 },
		{ REG_MAGIC, 5 }, { REG_MAGIC, 4096 },
	};
	uint8_t buf[4096], zero[4096] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(buf, 0xff, sizeof(buf));
		assert_int_equal(vfc_read(&r->c, VTA_BAR_REGS, bad[i].off, buf, bad[i].len), 0);
		assert_memory_equal(buf, zero, bad[i].len);
	}
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), ARRAY_SIZE(bad));
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_READS), ARRAY_SIZE(bad));

	memset(buf, 0xff, sizeof(buf));
	rig_clear_counters(r);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(vfc_write(&r->c, VTA_BAR_REGS,
					   REG_EVENT_ENABLE + bad[i].off, buf, bad[i].len), 0);
	assert_int_equal(rig_get(r, REG_EVENT_ENABLE), 0);
	assert_int_equal(rig_get(r, REG_EVENT_VECTOR), REG_EVENT_VECTOR & 7 ? 0 : 0xffffffff);
}

TEST_F(RIG, wide_accesses)
{
	uint64_t val;

	val = vfc_bar_read64(&r->c, VTA_BAR_REGS, REG_MAGIC);
	assert_true(val == (0x00020001ull << 32 | REG_MAGIC_VALUE));
	vfc_bar_write64(&r->c, VTA_BAR_REGS, REG_CONTEXT_ROOT_LO(2), 0x123456789abcdef0);
	assert_true(rig_get64(r, REG_CONTEXT_ROOT_LO(2)) == 0x123456789abcc000);
	/* The lower half first: ROOT_HI of an enabled context is not written. */
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_READS), 3);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_WRITES), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 0);
	/* One half is defined: it counts as one access, and a bad one. */
	vfc_bar_write64(&r->c, VTA_BAR_REGS, REG_CONTEXT_CTRL(2), 0xffffffff00000001);
	val = vfc_bar_read64(&r->c, VTA_BAR_REGS, REG_CONTEXT_CTRL(2));
	assert_true(val == REG_CONTEXT_CTRL_ENABLE);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 2);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_READS), 4);
	rig_set64(r, REG_CONTEXT_ROOT_LO(2), 0);
	assert_true(rig_get64(r, REG_CONTEXT_ROOT_LO(2)) == 0x123456789abcc000);
	rig_set(r, REG_CONTEXT_CTRL(2), 0);
	rig_set64(r, REG_CONTEXT_ROOT_LO(2), 0);
	assert_true(rig_get64(r, REG_CONTEXT_ROOT_LO(2)) == 0);
}

/* ---- Time ---- */

TEST_F(RIG, time_continues)
{
	uint64_t a = rig_get64(r, REG_TIME_LO), b;
	uint32_t beat = rig_get(r, REG_HEARTBEAT);

	sleep_ms(20);
	b = rig_get64(r, REG_TIME_LO);
	assert_in_range(b - a, 20000000, 20000000000);
	assert_true(rig_get(r, REG_HEARTBEAT) - beat >= 2);
	/* TIME is writable nowhere. */
	rig_set64(r, REG_TIME_LO, 0);
	assert_true(rig_get64(r, REG_TIME_LO) > b);
}

TEST_F(RIG, time_latches)
{
	uint64_t wide = vfc_bar_read64(&r->c, VTA_BAR_REGS, REG_TIME_LO);
	uint64_t later = rig_get64(r, REG_TIME_LO);

	assert_true(later > wide);
	assert_in_range(later - wide, 1, 20000000000);
}

/* The high half stays with the low half that was read. */
TEST_F(RIG, seq_latches)
{
	struct rig_queue q;

	rig_context(r, 1);
	rig_queue(r, &q, 3, 1, 4);
	rig_queue_start(&q, 0x4ffffffff);
	assert_int_equal(rig_get(r, REG_QUEUE_SEQ_LO(3)), 0xffffffff);
	rig_do(&q, vtadev_desc_nop());
	assert_int_equal(rig_get(r, REG_QUEUE_SEQ_HI(3)), 4);
	assert_int_equal(rig_get(r, REG_QUEUE_SEQ_HI(3)), 5);
	assert_true(rig_get64(r, REG_QUEUE_SEQ_LO(3)) == 0x500000000);
}

/* ---- Doorbells' BAR ---- */

TEST_F(RIG, doorbell_accesses)
{
	uint64_t wide = ~0ull;
	struct rig_queue q;

	rig_context(r, 0);
	rig_queue(r, &q, 2, 0, 4);
	rig_queue_start(&q, 0);
	rig_put(&q, vtadev_desc_nop());
	rig_clear_counters(r);
	/* A queue that is not active: it is not lost, and not bad. */
	rig_doorbell(r, 3, 1);
	assert_int_equal(rig_get(r, REG_QUEUE_SUBMITTED(3)), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 0);
	rig_clear_counters(r);
	/* A read, other offsets, other widths. */
	assert_int_equal(vfc_bar_read32(&r->c, VTA_BAR_DOORBELLS, 2u << RIG_DB_SHIFT), 0);
	vfc_bar_write32(&r->c, VTA_BAR_DOORBELLS, (2u << RIG_DB_SHIFT) + 4, 1);
	vfc_bar_write64(&r->c, VTA_BAR_DOORBELLS, 2u << RIG_DB_SHIFT, 1);
	assert_int_equal(vfc_write(&r->c, VTA_BAR_DOORBELLS, 2u << RIG_DB_SHIFT, &wide, 1), 0);
	assert_int_equal(vfc_write(&r->c, VTA_BAR_DOORBELLS, 2u << RIG_DB_SHIFT, &wide, 2), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_READS), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_MMIO_WRITES), 4);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 5);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 0);
	assert_int_equal(rig_state(&q), VTA_QUEUE_ACTIVE);
	assert_int_equal(rig_seq(&q), 0);
	rig_submit(&q);
	rig_wait_seq(&q, 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), 5);
}

/* ---- Queue settings ---- */

TEST_F(RIG, settings_are_kept_while_active)
{
	static const uint32_t offs[] = {
		REG_QUEUE_CONTEXT(1), REG_QUEUE_RING_ORDER(1), REG_QUEUE_RING_ADDR(1),
		REG_QUEUE_VECTOR(1), REG_QUEUE_STATUS_LO(1), REG_QUEUE_STATUS_HI(1),
		REG_QUEUE_CYCLES_LO(1), REG_QUEUE_CYCLES_HI(1), REG_QUEUE_START_LO(1),
		REG_QUEUE_START_HI(1),
	};
	struct rig_queue q;

	rig_context(r, 0);
	rig_queue(r, &q, 1, 0, 4);
	rig_queue_start(&q, 7);
	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		uint32_t was = rig_get(r, offs[i]);

		rig_set(r, offs[i], ~was);
		assert_int_equal(rig_get(r, offs[i]), was);
	}
	/* PRIORITY is not one of them; writing ENABLE again changes nothing. */
	rig_set(r, REG_QUEUE_CTRL(1), 0x300 | REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_CTRL(1)), 0x301);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(1)), VTA_QUEUE_ACTIVE);
	rig_do(&q, vtadev_desc_nop());
	rig_queue_stop(&q, false);
	assert_int_equal(rig_get(r, REG_QUEUE_CTRL(1)), 0);
	rig_set(r, REG_QUEUE_VECTOR(1), 5);
	assert_int_equal(rig_get(r, REG_QUEUE_VECTOR(1)), 5);
}

TEST_F(RIG, start_is_refused)
{
	static const struct { uint32_t off, val; } bad[] = {
		{ REG_QUEUE_CONTEXT(0), 8 }, { REG_QUEUE_CONTEXT(0), 0xffffffff },
		{ REG_QUEUE_CONTEXT(0), 3 },	/* not enabled */
		{ REG_QUEUE_RING_ORDER(0), VTA_RING_ORDER_LIMIT + 1 },
		{ REG_QUEUE_RING_ORDER(0), 0xffffffff },
		{ REG_QUEUE_RING_ADDR(0), RIG_RING(0) + 64 },
		{ REG_QUEUE_STATUS_LO(0), 64 },
	};
	struct rig_queue q;

	rig_context(r, 0);
	rig_queue(r, &q, 0, 0, 4);
	rig_clear_counters(r);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint32_t was = rig_get(r, bad[i].off);

		rig_set(r, bad[i].off, bad[i].val);
		rig_set(r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ENABLE);
		assert_int_equal(rig_get(r, REG_QUEUE_CTRL(0)), 0);
		assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), VTA_QUEUE_DISABLED);
		assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), i + 1);
		assert_int_equal(q.page->status.state, 0);
		rig_set(r, bad[i].off, was);
	}
	rig_queue_start(&q, 0);
	rig_do(&q, vtadev_desc_nop());
}

/* ---- The emulator ---- */

TEST_F(RIG, bar4_is_card_memory)
{
	struct rig_queue q;
	uint8_t *page;

	rig_context(r, 0);
	rig_queue(r, &q, 0, 0, 4);
	page = rig_map_pages(r, 0, 0x10000, 1);
	rig_map(r, 0, 0x20000, RIG_MEM_SIZE - 4096, RIG_RW | RIG_CARD);
	rig_queue_start(&q, 0);
	memset(page, 0x5a, 4096);
	rig_do(&q, vtadev_desc_copy(0x20000, 0x10000, 4096));
	assert_memory_equal(r->c.bar4 + RIG_MEM_SIZE - 4096, page, 4096);
	memset(r->c.bar4 + RIG_MEM_SIZE - 4096, 0xa5, 4096);
	rig_do(&q, vtadev_desc_copy(0x10000, 0x20000, 4096));
	assert_memory_equal(r->c.bar4 + RIG_MEM_SIZE - 4096, page, 4096);
	assert_int_equal(page[4095], 0xa5);
	/* The same memory by messages. */
	assert_int_equal(vfc_bar_read32(&r->c, VTA_BAR_MEM, RIG_MEM_SIZE - 4), 0xa5a5a5a5);
}

TEST_F(RIG, idle_takes_no_cpu)
{
	struct rig_queue q;

	rig_is_idle(r, 500);
	/* With a queue that waits and one that has nothing to do. */
	rig_context(r, 0);
	rig_queue(r, &q, 1, 0, 4);
	rig_queue_start(&q, 0);
	rig_queue(r, &q, 0, 0, 4);
	rig_map_pages(r, 0, 0x10000, 1);
	rig_queue_start(&q, 0);
	rig_do(&q, vtadev_desc_fill(0x10000, 0, 4096));
	rig_put(&q, vtadev_desc_wait(0x10000, 1));
	rig_submit(&q);
	rig_is_idle(r, 1000);
	/* And waiters for them. */
	rig_set(r, REG_QUEUE_ARM(0), (uint32_t)rig_seq(&q) + 2);
	rig_set(r, REG_QUEUE_ARM(1), 1);
	rig_is_idle(r, 500);
	rig_set(r, REG_QUEUE_CTRL(0), 0);
}

TEST_F(RIG, control_socket)
{
	static char answer[1 << 16];
	struct rig_queue q;
	char line[2048];

	/* The emulator's requests are no part of docs/hardware.md. */
	if (!rig_is_emulator())
		skip();
	rig_context(r, 2);
	rig_queue(r, &q, 5, 2, 4);
	rig_queue_start(&q, 10);
	rig_do(&q, vtadev_desc_nop());
	rig_control(r, "counters\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"ok\":true"));
	assert_non_null(strstr(answer, "\"descriptors\":1,"));
	rig_control(r, "state\r\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"queue\":5,\"state\":\"active\""));
	assert_non_null(strstr(answer, "\"seq\":11,"));
	assert_non_null(strstr(answer, "\"contexts\":[{\"context\":2,"));
	assert_non_null(strstr(answer, "\"may_dma\":true"));
	/* Several in one go, with bad ones among them. */
	rig_control(r, "clear\n\nbogus\nclear now\ncounters\nnot ended", answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"descriptors\":0,"));
	assert_non_null(strstr(answer, "{\"ok\":true}\n{\"ok\":false"));
	assert_int_equal(rig_counter(r, VTA_COUNTER_DESCRIPTORS), 0);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	rig_control(r, line, answer, sizeof(answer));
	assert_non_null(strstr(answer, "too long"));
	rig_control(r, "help\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "counters"));
	rig_control(r, "memcpy 4096\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "{\"ok\":true,\"least_ns\":"));
	assert_non_null(strstr(answer, "\"median_ns\":"));
	rig_control(r, "memcpy\nmemcpy 0\nmemcpy -1\nmemcpy 67108865\nmemcpy 1 1\nmemcpy x\n",
		    answer, sizeof(answer));
	assert_null(strstr(answer, "true"));
	/* Two pages that do not follow each other; in another context there is nothing. */
	rig_map_pages(r, 2, 0x200000, 1);
	rig_pages(r, 1);
	rig_map_pages(r, 2, 0x201000, 1);
	rig_map_pages(r, 2, 0x400000, 2);
	rig_control(r, "memcpy-of 2,400000,200000,8192\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "{\"ok\":true,\"least_ns\":"));
	assert_non_null(strstr(answer, "\"pieces\":2}"));
	/* Memory that overlaps, as a COPY's may. */
	rig_control(r, "memcpy-of 2,200010,200000,2048\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "{\"ok\":true,\"least_ns\":"));
	rig_control(r, "memcpy-of 2,400000,200000,8193\nmemcpy-of 3,400000,200000,8192\n"
		    "memcpy-of 256,400000,200000,4096\nmemcpy-of 2,400000,200000,0\n"
		    "memcpy-of 2,400000,200000,67108865\nmemcpy-of 2,400000,200000\n"
		    "memcpy-of 2,400000,200000,4096,\nmemcpy-of x\n", answer, sizeof(answer));
	assert_null(strstr(answer, "true"));
}

static int run_status(const char *args)
{
	const char *path = getenv("VTA_EMU");
	char cmd[512];
	int ret;

	snprintf(cmd, sizeof(cmd), "%s %s >/dev/null 2>&1", path ? path : "build/asan/vta-emu",
		 args);
	ret = system(cmd);
	return WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
}

TEST(bad_options)
{
	static const char *const bad[] = {
		"", "--socket", "--socket x --queues 0", "--socket x --queues 257",
		"--socket x --queues 1x", "--socket x --queues ''", "--socket x --queues -1",
		"--socket x --contexts 0", "--socket x --mem 3M", "--socket x --mem 512K",
		"--socket x --mem 1X", "--socket x --mem 99999999999999999999",
		"--socket x --mem 16777216T", "--socket x --msix 258", "--socket x --msi 3",
		"--socket x --msi 64", "--socket x --msi 0 --msix 0", "--socket x --order fast",
		"--socket x --clock-khz 0", "--socket x --log-level loud", "--socket x stray",
		"--socket x --config /nonexistent", "--socket x --config /dev/null", "--bogus",
		"--socket x --seed 0x1ffffffffffffffff", "--socket x --sensors 300000",
		"--socket x --sensors 0,1", "--socket x --sensors 1,0x100000000",
		"--socket x --sensors 1,2,3", "--socket x --sensors ,1",
		"--socket x --log-tokens 2", "--socket x --log-waiting 17",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (run_status(bad[i]) != 2)
			fail_msg("'%s' ends with %d", bad[i], run_status(bad[i]));
	assert_int_equal(run_status("--help"), 0);
	assert_int_equal(run_status("--version"), 0);
	/* Not an option's fault. */
	assert_int_equal(run_status("--socket /nonexistent/socket"), 1);
}
