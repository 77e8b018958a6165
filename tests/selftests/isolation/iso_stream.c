// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_stream - instructions, micro-ops and descriptors that change while the card reads them
 * harm no other process
 */
#include "../vta_harness.h"
#include "wall.h"
#include "writer.h"

WALL_FIXTURE(stream)

/* An address of the attacker, of the victim, or of neither. */
static uint32_t any_address(struct writer *writer)
{
	static const uint32_t addrs[] = {
		OWN_RW, OWN_RW + OWN_SIZE - 16, OWN_RO, OWN_CODE, HOLE, VICTIM_HOST, VICTIM_CARD,
		VICTIM_PINNED, 0, 0xfffff000,
	};

	return addrs[writer_random(writer) % ARRAY_SIZE(addrs)];
}

static struct insn any_insn(struct writer *writer)
{
	struct core *c = &writer->w->core;
	uint64_t r = writer_random(writer);
	struct vta_isa_loop loops = {
		.uop_end = r >> 8 & 7, .iter_out = r >> 12 & 15, .iter_in = r >> 16 & 15,
		.dst_factor_out = r >> 20 & 15, .dst_factor_in = r >> 24 & 15, .reset = r >> 63,
	};
	unsigned int flags = (r >> 32 & 15) << 3;

	switch (r % 8) {
	case 0:
		return insn_move(VTA_ISA_LOAD | flags, VTA_ISA_UOP, 0, any_address(writer) / 4, 1,
				 64);
	case 1:
		return insn_load(VTA_ISA_ACC, r >> 40 & 63, any_address(writer) / c->acc_bytes,
				 1 + (r >> 50 & 3), 8);
	case 2:
		return insn_load(VTA_ISA_WGT, 0, any_address(writer) / c->wgt_bytes, 1, 4);
	case 3:
		return insn_store(VTA_ISA_OUT, r >> 40 & 63, any_address(writer) / c->inp_bytes, 1,
				  16);
	case 4:
		return insn_gemm(c, flags, &loops);
	case 5:
		return insn_alu(c, 0, r >> 40 & 7, (int16_t)(r >> 44), &loops);
	case 6:
		return (struct insn) { { writer_random(writer), writer_random(writer) } };
	default:
		return insn_load(VTA_ISA_INP, 0, OWN_RW / c->inp_bytes, 1, 8);
	}
}

/* In halves, so that the card may read a torn instruction. */
static void rewrite_insn(struct writer *writer)
{
	size_t at = writer_random(writer) % (writer->count / 2) * 2;
	struct insn insn = any_insn(writer);

	writer->words[at] = insn.word[0];
	writer->words[at + 1] = insn.word[1];
}

static void rewrite_word(struct writer *writer)
{
	writer->words[writer_random(writer) % writer->count] = writer_random(writer);
}

/* All but WAIT, which could wait for good; sizes that do not take long. */
static struct vta_desc any_desc(struct writer *writer)
{
	uint64_t r = writer_random(writer);
	struct vta_desc desc;

	switch (r % 7) {
	case 0:
		return desc_copy(any_address(writer), any_address(writer), r >> 8 & 0x1fff);
	case 1:
		return desc_copy2d(any_address(writer), (uint32_t)writer_random(writer), OWN_RW,
				   r >> 8 & 255, 16, r >> 16 & 15);
	case 2:
		return desc_fill(any_address(writer), (uint32_t)r, r >> 8 & 0x1fff);
	case 3:
		return desc_signal(any_address(writer) + (r >> 8 & 8), r);
	case 4:
		return desc_stamp(desc_op(VTA_OP_NOP), any_address(writer) + (r >> 8 & 8));
	case 5:
		return desc_run(any_address(writer), r >> 8 & 255, 5000);
	default:
		desc = desc_op(VTA_OP_NOP);
		desc.words[r >> 8 & 3] = r >> 60;
		return desc;
	}
}

static void rewrite_desc(struct writer *writer)
{
	struct vta_desc desc = any_desc(writer);
	uint64_t words[sizeof(desc) / sizeof(uint64_t)];
	size_t at, i;

	at = writer_random(writer) % (writer->count / ARRAY_SIZE(words)) * ARRAY_SIZE(words);
	memcpy(words, &desc, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		writer->words[at + i] = words[i];
}

/* The fault is one that a process can cause, and its record is consistent. */
static bool blameable(const struct queue *q, uint64_t done)
{
	struct vta_queue_fault fault;

	if (queue_fault(q, &fault))
		return false;
	if (fault.seq != done + 1 || fault.queue != q->id || fault.access > VTA_ACCESS_STATE)
		return false;
	switch (fault.reason) {
	case VTA_FAULT_PAGE:
	case VTA_FAULT_PERM:
		return fault.access != VTA_ACCESS_NONE;
	case VTA_FAULT_ALIGN:
		return fault.access != VTA_ACCESS_NONE && fault.addr % 16;
	case VTA_FAULT_DESC:
	case VTA_FAULT_INSN:
	case VTA_FAULT_BOUNDS:
	case VTA_FAULT_CYCLES:
	case VTA_FAULT_DEADLOCK:
		return fault.access == VTA_ACCESS_NONE && !fault.addr;
	default:
		return false;
	}
}

/* While @writer writes, all descriptors complete or the queue halts. */
static void run_under(struct __test_metadata *_metadata, struct writer *writer,
		      struct vta_desc (*desc)(struct writer *writer), unsigned int rounds)
{
	struct wall *w = writer->w;

	ASSERT_EQ(0, writer_start(writer));
	while (rounds--) {
		uint64_t done;
		int ret;

		for (unsigned int i = 0; desc && i < 8; i++)
			w->q.ring[(w->q.submitted + i) % w->q.entries] = desc(writer);
		w->q.submitted += 8;
		queue_kick(&w->q);
		ret = queue_wait(&w->q, w->q.submitted, PATIENCE_MS, &done);
		if (!ret)
			continue;
		ASSERT_EQ(-EIO, ret);
		ASSERT_TRUE(blameable(&w->q, done)) {
			TH_LOG("VTA_SEED=%#llx", writer_seed());
		}
		/* The ring that it writes to stays where it is mapped. */
		if (writer->words == (uint64_t *)w->q.ring)
			break;
		ASSERT_EQ(0, wall_new_queue(w));
	}
	EXPECT_LT(0, writer_stop(writer));
	EXPECT_EQ(0, victim_progress(&w->victim, 1));
}

static struct vta_desc run_of_the_code(struct writer *writer)
{
	return desc_run(writer->w->code.addr, 8, 50000);
}

TEST_F(stream, of_changing_instructions)
{
	struct writer writer = {
		.step = rewrite_insn, .w = &self->wall, .words = self->wall.code.ptr, .count = 16,
	};

	run_under(_metadata, &writer, run_of_the_code, 60);
}

TEST_F(stream, of_random_bits)
{
	struct writer writer = {
		.step = rewrite_word, .w = &self->wall, .words = self->wall.code.ptr, .count = 16,
	};

	run_under(_metadata, &writer, run_of_the_code, 60);
}

/* The stream stays; the micro-ops it loads again and again do not. */
TEST_F(stream, of_changing_micro_ops)
{
	struct vta_isa_loop loops = { .uop_end = 64, .iter_out = 4, .iter_in = 4 };
	struct wall *w = &self->wall;
	struct insn *code = w->code.ptr;
	struct writer writer = {
		.step = rewrite_word, .w = w, .words = w->rw.ptr, .count = 32,
	};

	for (unsigned int i = 0; i < 8; i += 2) {
		code[i] = insn_load(VTA_ISA_UOP, 0, OWN_RW / 4, 1, 64);
		code[i + 1] = i % 4 ? insn_gemm(&w->core, 0, &loops) :
				      insn_alu(&w->core, 0, VTA_ISA_ADD, 1, &loops);
	}
	run_under(_metadata, &writer, run_of_the_code, 60);
}

TEST_F(stream, in_changing_descriptors)
{
	struct wall *w = &self->wall;

	memset(w->rw.ptr, 0, OWN_SIZE);
	for (unsigned int round = 0; round < 30; round++) {
		struct writer writer = {
			.step = rewrite_desc, .w = w,
			.words = (uint64_t *)w->q.ring, .count = w->q.entries * 8,
		};

		run_under(_metadata, &writer, NULL, 8);
		ASSERT_EQ(0, wall_new_queue(w));
	}
}

TEST_HARNESS_MAIN
