// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_text.c - texts of errors and faults, and the bytes of descriptors
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../frame.h"
#include "vtadev.h"

TEST(every_documented_error_has_its_own_text)
{
	static const int errors[] = {
		EINVAL, ENOENT, EACCES, ENOMEM, ENOSPC, EEXIST, ERANGE, EAGAIN,
		ETIMEDOUT, EIO, EPROTO, EOPNOTSUPP, ENODEV, ENOTTY, EFAULT,
		EINTR, EBUSY, EMFILE, EDQUOT, EBADF, ECANCELED, ECHILD,
	};
	size_t count = sizeof(errors) / sizeof(*errors);

	for (size_t i = 0; i < count; i++) {
		const char *text = vtadev_strerror(-errors[i]);

		assert_string_not_equal(text, strerror(errors[i]));
		assert_string_equal(text, vtadev_strerror(errors[i]));
		assert_null(strchr(text, '\n'));
		assert_true(text[strlen(text) - 1] != '.');
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(text, vtadev_strerror(errors[j]));
	}
	assert_string_equal(vtadev_strerror(0), "success");
}

TEST(other_errors_have_the_system_s)
{
	assert_string_equal(vtadev_strerror(-EISDIR), strerror(EISDIR));
	assert_non_null(vtadev_strerror(INT_MIN));
	assert_non_null(vtadev_strerror(INT_MAX));
}

TEST(fault_texts)
{
#define IN_STREAM(index, word) .insn_index = (index), .insn = { word }
#define NO_STREAM .insn_index = VTA_FAULT_NO_INSN
	static const struct {
		struct vtadev_fault fault;
		const char *text;
	} cases[] = {
		{ { .reason = VTA_FAULT_NONE, .queue = 2 },
		  "queue 2 has not halted" },
		{ { .reason = VTA_FAULT_PAGE, .access = VTA_ACCESS_LOAD, .queue = 2, .seq = 17,
		    .addr = 0x12345000, IN_STREAM(42, 0xfffffff8) },
		  "queue 2, descriptor 17, instruction 42 (LOAD): loading from device address 0x12345000, "
		  "which is not mapped" },
		{ { .reason = VTA_FAULT_PERM, .access = VTA_ACCESS_STORE, .queue = 1, .seq = 1,
		    .addr = 0x1000, IN_STREAM(0, 1) },
		  "queue 1, descriptor 1, instruction 0 (STORE): storing to device address 0x00001000, "
		  "which is read-only for the card" },
		{ { .reason = VTA_FAULT_ENTRY, .access = VTA_ACCESS_COPY_SRC, .queue = 1,
		    .seq = 1ull << 40, .addr = 0xffffffff, NO_STREAM },
		  "queue 1, descriptor 1099511627776: copying from device address 0xffffffff, "
		  "whose page-table entry is malformed" },
		{ { .reason = VTA_FAULT_DMA, .access = VTA_ACCESS_RING, .queue = 1, .seq = 3,
		    .addr = 0x2000, NO_STREAM },
		  "queue 1, descriptor 3: fetching the descriptor from device address 0x00002000, "
		  "which the host refused" },
		{ { .reason = VTA_FAULT_DESC, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1, descriptor 3: "
		  "malformed descriptor: unknown operation, or a reserved field is not 0" },
		{ { .reason = VTA_FAULT_ALIGN, .access = VTA_ACCESS_SIGNAL, .queue = 1, .seq = 3,
		    .addr = 0x2001, NO_STREAM },
		  "queue 1, descriptor 3: signalling to device address 0x00002001, "
		  "which is misaligned" },
		{ { .reason = VTA_FAULT_INSN, .queue = 1, .seq = 3, IN_STREAM(9, 7) },
		  "queue 1, descriptor 3, instruction 9 (unknown): "
		  "illegal instruction or operand" },
		{ { .reason = VTA_FAULT_BOUNDS, .queue = 1, .seq = 3, IN_STREAM(9, 2) },
		  "queue 1, descriptor 3, instruction 9 (GEMM): "
		  "an index is outside of its scratchpad" },
		{ { .reason = VTA_FAULT_CYCLES, .queue = 1, .seq = 3, IN_STREAM(9, 4) },
		  "queue 1, descriptor 3, instruction 9 (ALU): the cycle limit was reached" },
		{ { .reason = VTA_FAULT_DEADLOCK, .queue = 1, .seq = 3, IN_STREAM(9, 3) },
		  "queue 1, descriptor 3, instruction 9 (FINISH): "
		  "deadlock: an instruction waits for a dependency token that never comes" },
		{ { .reason = VTA_FAULT_DOORBELL, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1: more descriptors were submitted than the ring holds" },
		{ { .reason = VTA_FAULT_TIME, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1, descriptor 3: the time limit was reached" },
		{ { .reason = VTA_FAULT_HANG, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1, descriptor 3: the card hung on this descriptor, which was aborted" },
		{ { .reason = VTA_FAULT_SLEEP, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1, descriptor 3: it did not end before the machine went to sleep, "
		  "and was aborted" },
		{ { .reason = VTA_FAULT_DMA, .access = VTA_ACCESS_STATE, .queue = 1, .seq = 3,
		    .addr = 0x4000, NO_STREAM },
		  "queue 1: moving the core's state from or to device address 0x00004000, "
		  "which the host refused" },
		/* fetching failed: what is in insn is no instruction */
		{ { .reason = VTA_FAULT_PAGE, .access = VTA_ACCESS_INSN, .queue = 1, .seq = 3,
		    .addr = 0x3000, IN_STREAM(4, 0) },
		  "queue 1, descriptor 3, instruction 4: fetching instructions from device address 0x00003000, "
		  "which is not mapped" },
		/* a card that lies */
		{ { .reason = (enum vta_fault_reason)4000000000u, .queue = 1, .seq = 3, NO_STREAM },
		  "queue 1, descriptor 3: unknown reason 4000000000" },
		{ { .reason = VTA_FAULT_PAGE, .access = (enum vta_access)77, .queue = 1, .seq = 3,
		    .addr = 0x3000, NO_STREAM },
		  "queue 1, descriptor 3: unknown access to device address 0x00003000, "
		  "which is not mapped" },
	};
	char text[VTADEV_FAULT_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int len = vtadev_fault_text(&cases[i].fault, text, sizeof(text));

		assert_string_equal(text, cases[i].text);
		assert_int_equal(len, strlen(text));
	}
}

/* All pairs, with the longest numbers: nothing is cut off, no text is missing. */
TEST(every_fault_fits)
{
	char text[VTADEV_FAULT_TEXT_MAX];

	for (unsigned int reason = 1; reason <= VTA_FAULT_TIME; reason++) {
		for (unsigned int access = 0; access <= VTA_ACCESS_STATE; access++) {
			struct vtadev_fault fault = {
				.reason = reason, .access = access,
				.seq = UINT64_MAX, .addr = UINT32_MAX,
				.insn_index = UINT32_MAX - 1,
				.insn = { 7 }, .queue = UINT32_MAX,
			};

			assert_true(vtadev_fault_text(&fault, text, sizeof(text)) <
				    (int)sizeof(text));
			assert_null(strstr(text, "unknown reason"));
			assert_null(strstr(text, "unknown access"));
		}
	}
}

static const char *lost_text(unsigned int fate, unsigned int cause, char *text)
{
	struct vtadev_lost lost = { .fate = fate, .cause = cause };

	assert_true(vtadev_lost_text(&lost, text, VTADEV_LOST_TEXT_MAX) < VTADEV_LOST_TEXT_MAX);
	return text;
}

/* It reports what happened, and what to do: no two are the same. */
TEST(every_loss_has_its_own_text)
{
	char text[VTADEV_LOST_TEXT_MAX], other[VTADEV_LOST_TEXT_MAX];
	unsigned int fate, cause, before;

	for (fate = VTA_FATE_PENDING; fate <= VTA_FATE_REMOVED; fate++) {
		for (cause = VTA_CAUSE_CARD; cause <= VTA_CAUSE_SHUTDOWN; cause++) {
			lost_text(fate, cause, text);
			assert_null(strstr(text, "does not know"));
			assert_null(strchr(text, '\n'));
			assert_true(text[strlen(text) - 1] != '.');
			/* The part before is the cause, and the same for each fate. */
			lost_text(VTA_FATE_RESET, cause, other);
			assert_memory_equal(text, other, strcspn(other, ";") + 2);
			for (before = VTA_CAUSE_CARD; before < cause; before++)
				assert_string_not_equal(text, lost_text(fate, before, other));
			for (before = VTA_FATE_PENDING; before < fate; before++)
				assert_string_not_equal(text, lost_text(before, cause, other));
		}
	}
	assert_string_equal(lost_text(VTA_FATE_NONE, VTA_CAUSE_NONE, text),
			    "the card was not lost");
	/* A driver that knows more. */
	assert_non_null(strstr(lost_text(VTA_FATE_RESET, 77, text), "library does not know"));
	assert_non_null(strstr(lost_text(77, VTA_CAUSE_ADMIN, text), "try again later to open it"));
}

TEST(short_buffers_are_cut_off)
{
	struct vtadev_fault fault = { .reason = VTA_FAULT_NONE, .queue = 5 };
	char text[8];

	memset(text, 'x', sizeof(text));
	assert_int_equal(vtadev_fault_text(&fault, text, 7), 22);
	assert_string_equal(text, "queue ");
	assert_int_equal(text[7], 'x');
	assert_int_equal(vtadev_fault_text(&fault, NULL, 0), 22);
}

static void assert_desc(struct vta_desc d, const uint32_t words[16])
{
	uint32_t got[16];

	memcpy(got, &d, sizeof(got));
	for (int i = 0; i < 16; i++)
		assert_int_equal(le32toh(got[i]), words[i]);
}

#define WORDS(...) ((const uint32_t[16]) { __VA_ARGS__ })

/* The layout of docs/hardware.md, section 7, word by word. */
TEST(descriptors)
{
	struct vta_desc d;

	assert_desc(vtadev_desc_nop(), WORDS(0));
	assert_desc(vtadev_desc_run(0x10, 7, 0x500000006),
		    WORDS(1, 0, 0, 0, 0x10, 7, 6, 5));
	assert_desc(vtadev_desc_copy(0x10, 0x20, 30),
		    WORDS(2, 0, 0, 0, 0x10, 0x20, 30, 1, 0, 0));
	assert_desc(vtadev_desc_copy2d(0x10, 11, 0x20, 22, 3, 4),
		    WORDS(2, 0, 0, 0, 0x10, 0x20, 3, 4, 11, 22));
	assert_desc(vtadev_desc_fill(0x10, 0xabcdef01, 30),
		    WORDS(3, 0, 0, 0, 0x10, 0xabcdef01, 30, 1, 0));
	assert_desc(vtadev_desc_fill2d(0x10, 11, 0xabcdef01, 3, 4),
		    WORDS(3, 0, 0, 0, 0x10, 0xabcdef01, 3, 4, 11));
	assert_desc(vtadev_desc_signal(0x18, 0x500000006),
		    WORDS(4, 0, 0, 0, 0x18, 0, 6, 5));
	assert_desc(vtadev_desc_wait(0x18, 0x500000006),
		    WORDS(5, 0, 0, 0, 0x18, 0, 6, 5));
	d = vtadev_desc_run(0x10, 7, 0);
	vtadev_desc_stamp(&d, 0x40);
	assert_desc(d, WORDS(0x101, 0x40, 0, 0, 0x10, 7));
}
