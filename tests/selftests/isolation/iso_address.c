// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_address - everything that the card can be made to read, write, fetch or
 * wait for, aimed at memory that is not the attacker's
 */
#include "../vta_harness.h"
#include "wall.h"

/* The last page of device addresses. */
#define LAST	0xfffff000u

/* Kinds of accesses; others read, and are made by a descriptor itself. */
enum { WRITES = 1, IN_STREAM = 2, ONE_WORD = 4 };

/* A descriptor that accesses the page at @addr or, with two @pages, reaches into the next. */
typedef struct vta_desc (*aim_fn)(struct wall *w, uint64_t addr, unsigned int pages);

FIXTURE_VARIANT(address) {
	aim_fn aim;
	uint32_t access;
	uint32_t misaligned;	/* by how much it can be, or 0 */
	unsigned int kind;
};

WALL_FIXTURE(address)

/* ---- aims ---- */

static struct vta_desc aim_copy_src(struct wall *w, uint64_t addr, unsigned int pages)
{
	return desc_copy(w->rw.addr, addr, pages * 4096);
}

static struct vta_desc aim_copy_dst(struct wall *w, uint64_t addr, unsigned int pages)
{
	return desc_copy(addr, w->rw.addr, pages * 4096);
}

/* Two pages: row by row, the last one beyond. */
static struct vta_desc aim_fill(struct wall *w, uint64_t addr, unsigned int pages)
{
	(void)w;
	return pages > 1 ? desc_fill2d(addr, 2048, 0xdddddddd, 16, 3) :
			   desc_fill(addr, 0xdddddddd, 4096);
}

static struct vta_desc aim_signal(struct wall *w, uint64_t addr, unsigned int pages)
{
	(void)w;
	(void)pages;
	return desc_signal(addr, 0xdddddddddddddddd);
}

/* A WAIT that any value satisfies at once. */
static struct vta_desc aim_wait(struct wall *w, uint64_t addr, unsigned int pages)
{
	(void)w;
	(void)pages;
	return desc_wait(addr, 0);
}

/* 32 bytes, half of them in the second page. */
static struct vta_desc aim_stamp(struct wall *w, uint64_t addr, unsigned int pages)
{
	(void)w;
	return desc_stamp(desc_op(VTA_OP_NOP), pages > 1 ? addr + 4096 - 16 : addr);
}

/* Two pages: the last instruction of the first one, and one more. */
static struct vta_desc aim_insn(struct wall *w, uint64_t addr, unsigned int pages)
{
	(void)w;
	return pages > 1 ? desc_run(addr + 4096 - 16, 2, 0) : desc_run(addr, 256, 0);
}

/* A page is a row of elements of @bytes. */
static struct vta_desc stream(struct wall *w, unsigned int opcode, unsigned int type,
			      uint64_t addr, uint32_t bytes, unsigned int pages)
{
	return wall_stream(w, insn_move(opcode, type, 0, addr / bytes, pages, 4096 / bytes));
}

static struct vta_desc aim_uop(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_LOAD, VTA_ISA_UOP, addr, 4, pages);
}

static struct vta_desc aim_inp(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_LOAD, VTA_ISA_INP, addr, w->core.inp_bytes, pages);
}

static struct vta_desc aim_wgt(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_LOAD, VTA_ISA_WGT, addr, w->core.wgt_bytes, pages);
}

static struct vta_desc aim_acc(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_LOAD, VTA_ISA_ACC, addr, w->core.acc_bytes, pages);
}

static struct vta_desc aim_acc_8bit(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_LOAD, VTA_ISA_ACC_8BIT, addr, w->core.acc_bytes / 4, pages);
}

static struct vta_desc aim_store(struct wall *w, uint64_t addr, unsigned int pages)
{
	return stream(w, VTA_ISA_STORE, VTA_ISA_OUT, addr, w->core.inp_bytes, pages);
}

FIXTURE_VARIANT_ADD(address, copy_src) { aim_copy_src, VTA_ACCESS_COPY_SRC, 0, 0 };
FIXTURE_VARIANT_ADD(address, copy_dst) { aim_copy_dst, VTA_ACCESS_COPY_DST, 0, WRITES };
FIXTURE_VARIANT_ADD(address, fill) { aim_fill, VTA_ACCESS_COPY_DST, 0, WRITES };
FIXTURE_VARIANT_ADD(address, signal) { aim_signal, VTA_ACCESS_SIGNAL, 4, WRITES | ONE_WORD };
FIXTURE_VARIANT_ADD(address, wait) { aim_wait, VTA_ACCESS_WAIT, 1, ONE_WORD };
FIXTURE_VARIANT_ADD(address, stamp) { aim_stamp, VTA_ACCESS_STAMP, 4, WRITES };
FIXTURE_VARIANT_ADD(address, insn) { aim_insn, VTA_ACCESS_INSN, 8, 0 };
FIXTURE_VARIANT_ADD(address, uop) { aim_uop, VTA_ACCESS_UOP, 0, IN_STREAM };
FIXTURE_VARIANT_ADD(address, inp) { aim_inp, VTA_ACCESS_LOAD, 0, IN_STREAM };
FIXTURE_VARIANT_ADD(address, wgt) { aim_wgt, VTA_ACCESS_LOAD, 0, IN_STREAM };
FIXTURE_VARIANT_ADD(address, acc) { aim_acc, VTA_ACCESS_LOAD, 0, IN_STREAM };
FIXTURE_VARIANT_ADD(address, acc_8bit) { aim_acc_8bit, VTA_ACCESS_LOAD, 0, IN_STREAM };
FIXTURE_VARIANT_ADD(address, store) { aim_store, VTA_ACCESS_STORE, 0, WRITES | IN_STREAM };

/* ---- attacks ---- */

struct aimed {
	struct wall *w;
	aim_fn fn;
	uint32_t access;
	bool in_stream;
	unsigned int pages;
};

/* One shot, which must fault for @reason at @fault_addr, and a new queue. */
static const char *shoot(const struct aimed *a, uint64_t addr, uint32_t reason,
			 uint32_t fault_addr)
{
	/* A fetch that faults is the fault of the instruction that was not got. */
	const struct blame blame = {
		reason, a->access, fault_addr,
		a->in_stream || (a->access == VTA_ACCESS_INSN && reason == VTA_FAULT_PAGE),
	};
	const char *verdict = wall_attack(a->w->fd, &a->w->q, a->fn(a->w, addr, a->pages), &blame);

	return wall_new_queue(a->w) ? "no new queue" : verdict;
}

#define AIMED(_pages)								\
	(&(struct aimed) { &self->wall, variant->aim, variant->access,		\
			   variant->kind & IN_STREAM, _pages })

#define EXPECT_BLAMED(_addr, _reason, _fault_addr)				\
	EXPECT_STREQ("blamed", shoot(AIMED(1), _addr, VTA_FAULT_##_reason, _fault_addr))

/* Each access works with an address of the attacker's own that allows it. */
TEST_F(address, of_the_attacker_is_accessible_as_it_was_made)
{
	struct wall *w = &self->wall;
	uint32_t ring = w->q.create.ring_addr;

	EXPECT_EQ(0, queue_do(&w->q, variant->aim(w, OWN_RW, 1)));
	memset(w->ro.ptr, 0, OWN_SIZE);
	if (!(variant->kind & WRITES)) {
		EXPECT_EQ(0, queue_do(&w->q, variant->aim(w, OWN_RO, 1)));
		return;
	}
	EXPECT_BLAMED(OWN_RO, PERM, OWN_RO);
	EXPECT_BLAMED(OWN_RO + 8192, PERM, OWN_RO + 8192);
	/* The card's TLB knows it, but for reading. */
	ASSERT_EQ(0, queue_do(&w->q, desc_copy(OWN_RW, OWN_RO, OWN_SIZE)));
	EXPECT_BLAMED(OWN_RO, PERM, OWN_RO);
	EXPECT_EQ(0, nonzero_in(w->ro.ptr, OWN_SIZE));
	/* Its own ring is for reading, too. */
	ASSERT_EQ(ring, w->q.create.ring_addr);
	EXPECT_BLAMED(ring, PERM, ring);
}

TEST_F(address, without_memory_faults)
{
	static const uint32_t addrs[] = {
		HOLE, OWN_RW - 4096, OWN_RW + OWN_SIZE, 0x7ffff000, 0x80000000, LAST, 0, 2048,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(addrs); i++)
		EXPECT_BLAMED(addrs[i], PAGE, addrs[i]);
}

/* Every address that means something to the victim. */
TEST_F(address, of_the_victim_faults)
{
	const struct victim_view *view = self->wall.victim.view;
	const uint32_t addrs[] = {
		VICTIM_HOST, VICTIM_HOST + 4096, VICTIM_CARD, VICTIM_PINNED, view->ring_addr,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(addrs); i++) {
		uint32_t addr = addrs[i];

		/* Rings lie where the kernel likes, so the attacker's may lie there, too. */
		if (addr == self->wall.q.create.ring_addr)
			continue;
		EXPECT_BLAMED(addr, PAGE, addr);
	}
	EXPECT_EQ(0, secrets_in(self->wall.rw.ptr, OWN_SIZE));
}

/* The card has just used it. */
TEST_F(address, of_freed_memory_faults)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct wall *w = &self->wall;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct mem mem;

		ASSERT_EQ(0, mem_alloc(w->fd, &mem, OWN_SIZE, kinds[i], HOLE));
		ASSERT_EQ(0, queue_do(&w->q, desc_fill(mem.addr, 0, OWN_SIZE)));
		ASSERT_EQ(0, queue_do(&w->q, desc_copy(w->rw.addr, mem.addr, OWN_SIZE)));
		ASSERT_EQ(0, mem_free(&mem));
		EXPECT_BLAMED(HOLE, PAGE, HOLE);
		EXPECT_BLAMED(HOLE + OWN_SIZE - 4096, PAGE, HOLE + OWN_SIZE - 4096);
	}
}

/* From the last page to what would be page 0. */
static void beyond_the_last_byte(struct __test_metadata *_metadata, struct wall *w,
				 const struct aimed *across)
{
	struct mem last;

	ASSERT_EQ(0, mem_alloc(w->fd, &last, 4096, VTA_BUF_HOST, LAST));
	memset(last.ptr, 0, 4096);	/* instructions that do nothing: x_size is 0 */
	if (across->access != VTA_ACCESS_INSN) {
		EXPECT_STREQ("blamed", shoot(across, LAST, VTA_FAULT_PAGE, 0));
		return;
	}
	/* The first instruction is executed, the second cannot be fetched. */
	EXPECT_EQ(-EIO, queue_do(&w->q, across->fn(w, LAST, across->pages)));
	EXPECT_EQ(1, le32toh(w->q.status->fault.insn_index));
	EXPECT_EQ(VTA_FAULT_PAGE, le32toh(w->q.status->fault.reason));
	EXPECT_EQ(0, le32toh(w->q.status->fault.addr));
	ASSERT_EQ(0, wall_new_queue(w));
}

/* Elements count up to 2^32, too; their bytes do not come round to low addresses. */
static void wraps_around(struct __test_metadata *_metadata, struct wall *w,
			 const struct aimed *aimed)
{
	static const uint32_t addrs[] = { OWN_RW, VICTIM_HOST, VICTIM_CARD };

	memset(w->rw.ptr, 0x77, OWN_SIZE);
	for (unsigned int i = 0; i < ARRAY_SIZE(addrs); i++)
		EXPECT_STREQ("blamed", shoot(aimed, (1ull << 32) + addrs[i], VTA_FAULT_PAGE,
					     addrs[i]));
	for (unsigned int i = 0; i < OWN_SIZE; i++)
		ASSERT_EQ(0x77, ((uint8_t *)w->rw.ptr)[i]);
}

/* Other errors that an address of that kind may cause, besides belonging to another process. */
TEST_F(address, misaligned_or_beyond_the_end_faults)
{
	static const uint32_t addrs[] = { OWN_RW, VICTIM_HOST, HOLE };
	uint32_t by = variant->misaligned;

	for (unsigned int i = 0; by && i < ARRAY_SIZE(addrs); i++)
		EXPECT_BLAMED(addrs[i] + by, ALIGN, addrs[i] + by);
	if (!(variant->kind & ONE_WORD))
		beyond_the_last_byte(_metadata, &self->wall, AIMED(2));
	if (variant->kind & IN_STREAM)
		wraps_around(_metadata, &self->wall, AIMED(1));
}

/* ---- pitches ---- */

WALL_FIXTURE(pitch)

/* The second row is where the sum of address and pitch wraps to. */
TEST_F(pitch, that_wraps_around_faults)
{
	static const struct {
		uint32_t dst_pitch, src_pitch, access;
	} rows[] = {
		{ 0, OWN_RW - OWN_RO, VTA_ACCESS_COPY_SRC },
		{ VICTIM_HOST - OWN_RW, 0, VTA_ACCESS_COPY_DST },
		{ 0, VICTIM_CARD - OWN_RO, VTA_ACCESS_COPY_SRC },
	};
	struct wall *w = &self->wall;

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t dst = OWN_RW + rows[i].dst_pitch, src = OWN_RO + rows[i].src_pitch;
		const struct blame blame = {
			VTA_FAULT_PAGE, rows[i].access,
			rows[i].access == VTA_ACCESS_COPY_SRC ? src : dst, false,
		};

		EXPECT_STREQ("blamed", wall_attack(w->fd, &w->q,
						   desc_copy2d(OWN_RW, rows[i].dst_pitch, OWN_RO,
							       rows[i].src_pitch, 64, 2), &blame));
		ASSERT_EQ(0, wall_new_queue(w));
	}
	EXPECT_EQ(0, secrets_in(w->rw.ptr, OWN_SIZE));
}

/* Row after row, until the first that is not the attacker's. */
TEST_F(pitch, that_leaves_the_buffer_faults)
{
	const struct blame blame = {
		VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST, OWN_RW + OWN_SIZE, false,
	};
	struct wall *w = &self->wall;

	EXPECT_STREQ("blamed", wall_attack(w->fd, &w->q, desc_fill2d(OWN_RW, 4096, 0x11111111, 8,
								     1 << 20), &blame));
}

/* ---- ring pointers ---- */

WALL_FIXTURE(ring)

/* Fields that the kernel returns are ignored in the request. */
TEST_F(ring, place_cannot_be_chosen)
{
	struct vta_queue_create create = {
		.ring_order = 6,
		.queue = self->wall.victim.view->queue,
		.ring_addr = VICTIM_HOST,
		.ring_offset = self->wall.victim.view->ring_offset,
		.status_offset = self->wall.victim.view->status_offset,
		.doorbell_offset = self->wall.victim.view->doorbell_offset,
		.doorbell_size = 1 << 20,
	};
	struct queue q;

	ASSERT_EQ(0, queue_open(self->wall.fd, &q, &create));
	EXPECT_NE(VICTIM_HOST, q.create.ring_addr);
	EXPECT_NE(self->wall.victim.view->queue, q.create.queue);
	EXPECT_NE(self->wall.victim.view->status_offset, q.create.status_offset);
	EXPECT_NE(self->wall.victim.view->doorbell_offset, q.create.doorbell_offset);
	EXPECT_EQ(sysconf(_SC_PAGESIZE), q.create.doorbell_size);
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
}

TEST_F(ring, cannot_be_freed_or_covered)
{
	const struct vta_queue_create *create = &self->wall.q.create;
	struct vta_buf_alloc alloc = {
		.size = 4096,
		.addr = create->ring_addr,
		.flags = VTA_BUF_FIXED,
	};
	int fd = self->wall.fd;

	EXPECT_EQ(-EEXIST, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
	EXPECT_EQ(-ENOENT, buf_release(fd, (uint32_t)(create->ring_offset >> 12)));
	EXPECT_EQ(-ENOENT, buf_release(fd, (uint32_t)(create->status_offset >> 12)));
	EXPECT_EQ(-ENOENT, buf_release(fd, (uint32_t)(create->doorbell_offset >> 12)));
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

/* Numbers that are too large for the ring. */
TEST_F(ring, doorbell_beyond_its_end_is_a_fault)
{
	static const uint32_t beyond[] = { 65, 66, 128, 0x7fffffff, 0x80000000, 0xffffffff };
	struct wall *w = &self->wall;
	struct vta_queue_fault fault;

	for (unsigned int i = 0; i < ARRAY_SIZE(beyond); i++) {
		ASSERT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
		queue_ring(&w->q, 1 + beyond[i]);
		EXPECT_EQ(-EIO, queue_wait(&w->q, 2, PATIENCE_MS, NULL));
		ASSERT_EQ(0, queue_fault(&w->q, &fault));
		EXPECT_EQ(VTA_FAULT_DOORBELL, fault.reason);
		EXPECT_EQ(VTA_ACCESS_NONE, fault.access);
		EXPECT_EQ(2, fault.seq);
		EXPECT_EQ(1, queue_seq(&w->q));
		ASSERT_EQ(0, wall_new_queue(w));
	}
}

/* The rest of its page is readable, too. */
TEST_F(ring, of_one_descriptor_has_no_second)
{
	struct vta_queue_create create = { .ring_order = 0 };
	struct wall *w = &self->wall;
	struct queue q;

	ASSERT_EQ(0, queue_open(w->fd, &q, &create));
	for (unsigned int i = 1; i < 64; i++)
		q.ring[i] = desc_fill(VICTIM_HOST, 0, 4096);
	for (unsigned int i = 0; i < 64; i++)
		EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(64, queue_seq(&q));
}

TEST_HARNESS_MAIN
