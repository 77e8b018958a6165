// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page walks, the TLB, and accesses by pieces of a page (docs/hardware.md, section 5).
 */
#include <errno.h>
#include <string.h>

#include "mmu.h"
#include "stream_copy.h"
#include "vta.h"

/*
 * The bits that must be zero in an entry of either level. The TLB keeps its tag
 * there: the context, and the bits of the page number beyond its index.
 */
#define TAG_CONTEXT_SHIFT	4
#define TAG_CONTEXT		0x0000000000000ff0ull
#define TAG_PAGE_SHIFT		52
#define TAG_PAGE		0xfff0000000000000ull
#define TAG			(TAG_CONTEXT | TAG_PAGE)
#define MUST_BE_ZERO		TAG

_Static_assert(VTA_CONTEXTS_MAX <= 256, "a context fits its tag");
_Static_assert(MMU_TLB_TABLES >= VTA_L1_ENTRIES, "an L1 index needs no tag");

int mmu_init(struct mmu *mmu, struct bus *bus, struct counters *counters,
	     void *mem, uint64_t mem_size)
{
	pthread_rwlockattr_t attr;
	int ret;

	mmu->bus = bus;
	mmu->counters = counters;
	mmu->mem = mem;
	mmu->mem_size = mem_size;

	/* Busy engines must not keep an invalidation waiting. */
	ret = pthread_rwlockattr_init(&attr);
	if (ret)
		return -ret;
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	ret = pthread_rwlock_init(&mmu->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return -ret;
}

void mmu_destroy(struct mmu *mmu)
{
	pthread_rwlock_destroy(&mmu->lock);
}

void mmu_set_root(struct mmu *mmu, unsigned int context, uint64_t root)
{
	atomic_store(&mmu->root[context], root | 1);
}

void mmu_clear_root(struct mmu *mmu, unsigned int context)
{
	atomic_store(&mmu->root[context], 0);
}

/* ---- TLB ---- */

static uint64_t context_tag(unsigned int context)
{
	return (uint64_t)context << TAG_CONTEXT_SHIFT;
}

/* Keeps the contexts' pages, which tend to lie alike, out of each other's way. */
static unsigned int spread_context(unsigned int context)
{
	return context * 0x9e5u;
}

static _Atomic uint64_t *page_slot(struct mmu *mmu, unsigned int context, uint64_t addr,
				   uint64_t *tag)
{
	uint64_t vpn = addr >> VTA_L2_SHIFT;

	*tag = context_tag(context) | vpn / MMU_TLB_PAGES << TAG_PAGE_SHIFT;
	return &mmu->pages[(vpn ^ spread_context(context)) % MMU_TLB_PAGES];
}

static _Atomic uint64_t *table_slot(struct mmu *mmu, unsigned int context, uint64_t addr,
				    uint64_t *tag)
{
	*tag = context_tag(context);
	return &mmu->tables[(addr >> VTA_L1_SHIFT ^ spread_context(context)) % MMU_TLB_TABLES];
}

/* The entry in the slot if it is the tag's, else 0. */
static uint64_t slot_get(const _Atomic uint64_t *slot, uint64_t tag)
{
	uint64_t entry = atomic_load_explicit(slot, memory_order_relaxed);

	return entry & VTA_PTE_VALID && (entry & TAG) == tag ? entry & ~TAG : 0;
}

static void slot_put(_Atomic uint64_t *slot, uint64_t tag, uint64_t entry)
{
	atomic_store_explicit(slot, entry | tag, memory_order_relaxed);
}

static void slots_drop(_Atomic uint64_t *slots, unsigned int count, uint64_t mask, uint64_t tag)
{
	for (unsigned int i = 0; i < count; i++)
		if ((atomic_load_explicit(&slots[i], memory_order_relaxed) & mask) == tag)
			atomic_store_explicit(&slots[i], 0, memory_order_relaxed);
}

static void tlb_drop(struct mmu *mmu, uint64_t mask, uint64_t tag)
{
	pthread_rwlock_wrlock(&mmu->lock);
	slots_drop(mmu->pages, MMU_TLB_PAGES, mask, tag);
	slots_drop(mmu->tables, MMU_TLB_TABLES, mask, tag);
	mmu->generation++;
	pthread_rwlock_unlock(&mmu->lock);
}

void mmu_invalidate(struct mmu *mmu, unsigned int context)
{
	tlb_drop(mmu, TAG_CONTEXT, context_tag(context));
}

void mmu_invalidate_all(struct mmu *mmu)
{
	tlb_drop(mmu, 0, 0);
}

/* ---- Translation, with the TLB lock held shared ---- */

static bool in_card_mem(const struct mmu *mmu, uint64_t addr, uint64_t size)
{
	return addr < mmu->mem_size && size <= mmu->mem_size - addr;
}

static int check_table_entry(const struct mmu *mmu, uint64_t entry)
{
	if (!(entry & VTA_PTE_VALID))
		return VTA_FAULT_PAGE;
	if (entry & MUST_BE_ZERO)
		return VTA_FAULT_ENTRY;
	if (!(entry & VTA_PTE_BLOCK))
		return entry & (VTA_PTE_WRITE | VTA_PTE_CARD) ? VTA_FAULT_ENTRY : 0;
	if (entry & VTA_PTE_ADDR & ~VTA_PTE_BLOCK_ADDR)
		return VTA_FAULT_ENTRY;
	if (entry & VTA_PTE_CARD && !in_card_mem(mmu, entry & VTA_PTE_ADDR, 1u << VTA_L1_SHIFT))
		return VTA_FAULT_ENTRY;
	return 0;
}

static int check_page_entry(const struct mmu *mmu, uint64_t entry)
{
	if (!(entry & VTA_PTE_VALID))
		return VTA_FAULT_PAGE;
	if (entry & (MUST_BE_ZERO | VTA_PTE_BLOCK))
		return VTA_FAULT_ENTRY;
	if (entry & VTA_PTE_CARD && !in_card_mem(mmu, entry & VTA_PTE_ADDR, VTA_PAGE_SIZE))
		return VTA_FAULT_ENTRY;
	return 0;
}

static int read_entry(struct mmu *mmu, uint64_t table, unsigned int index, uint64_t *entry)
{
	int ret = bus_read64(mmu->bus, table + index * sizeof(*entry), entry);

	return ret && ret != -EPERM ? VTA_FAULT_DMA : ret;
}

static int walk_table(struct mmu *mmu, unsigned int context, uint64_t addr, uint64_t *entry,
		      bool *walked)
{
	uint64_t tag, root;
	_Atomic uint64_t *slot = table_slot(mmu, context, addr, &tag);
	int ret;

	*entry = slot_get(slot, tag);
	if (*entry)
		return 0;
	root = atomic_load(&mmu->root[context]);
	if (!root)
		return VTA_FAULT_PAGE;
	*walked = true;
	ret = read_entry(mmu, root & ~1ull, addr >> VTA_L1_SHIFT, entry);
	if (ret)
		return ret;
	ret = check_table_entry(mmu, *entry);
	if (!ret)
		slot_put(slot, tag, *entry);
	return ret;
}

static uint64_t block_leaf(uint64_t entry, uint64_t addr)
{
	return entry | (addr & VTA_PTE_ADDR & ~VTA_PTE_BLOCK_ADDR);
}

/* The leaf entry of the page at addr if the TLB has it, else 0. */
static uint64_t tlb_leaf(struct mmu *mmu, unsigned int context, uint64_t addr)
{
	uint64_t tag, entry;
	const _Atomic uint64_t *slot = page_slot(mmu, context, addr, &tag);

	entry = slot_get(slot, tag);
	if (entry)
		return entry;
	slot = table_slot(mmu, context, addr, &tag);
	entry = slot_get(slot, tag);
	return entry & VTA_PTE_BLOCK ? block_leaf(entry, addr) : 0;
}

static int walk_context(struct mmu *mmu, unsigned int context, uint64_t addr, uint64_t *leaf,
			bool *walked)
{
	uint64_t tag, entry;
	_Atomic uint64_t *slot = page_slot(mmu, context, addr, &tag);
	int ret;

	*leaf = tlb_leaf(mmu, context, addr);
	if (*leaf)
		return 0;
	ret = walk_table(mmu, context, addr, &entry, walked);
	if (ret)
		return ret;
	if (entry & VTA_PTE_BLOCK) {
		*leaf = block_leaf(entry, addr);
		return 0;
	}
	*walked = true;
	ret = read_entry(mmu, entry & VTA_PTE_ADDR,
			 addr >> VTA_L2_SHIFT & (VTA_L2_ENTRIES - 1), leaf);
	if (ret)
		return ret;
	ret = check_page_entry(mmu, *leaf);
	if (!ret)
		slot_put(slot, tag, *leaf);
	return ret;
}

/* Returns 0 and the leaf entry of the page at addr, a fault, or -EPERM. */
static int translate_address(const struct mmu_port *port, uint64_t addr, bool write, uint64_t *leaf)
{
	struct mmu *mmu = port->mmu;
	bool walked = false;
	int ret;

	if (addr >> 32 || addr < VTA_PAGE_SIZE)
		return VTA_FAULT_PAGE;
	ret = walk_context(mmu, port->context, addr, leaf, &walked);
	if (ret == -EPERM)
		return ret;
	if (walked)
		counter_add(mmu->counters, VTA_COUNTER_PAGE_WALKS, 1);
	else if (!ret)
		counter_add(mmu->counters, VTA_COUNTER_TLB_HITS, 1);
	if (!ret && write && !(*leaf & VTA_PTE_WRITE))
		return VTA_FAULT_PERM;
	return ret;
}

/* ---- Accesses within a page, with the TLB lock held shared ---- */

static size_t left_in_page(uint64_t addr, size_t len)
{
	size_t left = VTA_PAGE_SIZE - (addr & (VTA_PAGE_SIZE - 1));

	return len < left ? len : left;
}

static uint64_t leaf_addr(uint64_t leaf, uint64_t addr)
{
	return (leaf & VTA_PTE_ADDR) | (addr & (VTA_PAGE_SIZE - 1));
}

static int dma_result(int ret)
{
	return ret && ret != -EPERM ? VTA_FAULT_DMA : ret;
}

static int leaf_read(struct mmu *mmu, uint64_t leaf, uint64_t addr, void *buf, size_t len)
{
	if (!(leaf & VTA_PTE_CARD))
		return dma_result(bus_read(mmu->bus, leaf_addr(leaf, addr), buf, len));
	memcpy(buf, mmu->mem + leaf_addr(leaf, addr), len);
	counter_add(mmu->counters, VTA_COUNTER_MEM_READ_BYTES, len);
	return 0;
}

static int leaf_write(struct mmu *mmu, uint64_t leaf, uint64_t addr, const void *buf, size_t len)
{
	if (!(leaf & VTA_PTE_CARD))
		return dma_result(bus_write(mmu->bus, leaf_addr(leaf, addr), buf, len));
	memcpy(mmu->mem + leaf_addr(leaf, addr), buf, len);
	counter_add(mmu->counters, VTA_COUNTER_MEM_WRITE_BYTES, len);
	return 0;
}

/*
 * Runs one step of an access with the TLB lock held, again after the bus was
 * off within a step. The step sets *fault_addr.
 */
typedef int (*step_fn)(const struct mmu_port *port, void *arg);

static int do_step(const struct mmu_port *port, step_fn fn, void *arg)
{
	struct mmu *mmu = port->mmu;
	unsigned int refused = 0;

	for (;;) {
		unsigned int epoch;
		int ret;

		if (!bus_wait(mmu->bus, port->give_up, refused))
			return MMU_GIVEN_UP;
		epoch = bus_epoch(mmu->bus);
		if (!bus_epoch_on(epoch))
			continue;
		pthread_rwlock_rdlock(&mmu->lock);
		ret = fn(port, arg);
		pthread_rwlock_unlock(&mmu->lock);
		if (ret != -EPERM)
			return ret;
		refused = epoch;
	}
}

struct io {
	uint64_t addr;
	uint8_t *in;		/* one of the two */
	const uint8_t *out;
	size_t len;
};

static int io_step(const struct mmu_port *port, void *arg)
{
	struct io *io = arg;
	size_t n = left_in_page(io->addr, io->len);
	uint64_t leaf;
	int ret;

	ret = translate_address(port, io->addr, !io->in, &leaf);
	if (!ret)
		ret = io->in ? leaf_read(port->mmu, leaf, io->addr, io->in, n) :
			       leaf_write(port->mmu, leaf, io->addr, io->out, n);
	if (ret)
		return ret;
	io->addr += n;
	io->len -= n;
	if (io->in)
		io->in += n;
	else
		io->out += n;
	return 0;
}

static int do_io(const struct mmu_port *port, struct io *io, uint32_t *fault_addr)
{
	while (io->len) {
		int ret = do_step(port, io_step, io);

		if (ret) {
			*fault_addr = (uint32_t)io->addr;
			return ret;
		}
	}
	return 0;
}

int mmu_read(const struct mmu_port *port, uint64_t addr, void *buf, size_t len,
	     uint32_t *fault_addr)
{
	struct io io = { .addr = addr, .in = buf, .len = len };

	return do_io(port, &io, fault_addr);
}

int mmu_write(const struct mmu_port *port, uint64_t addr, const void *buf, size_t len,
	      uint32_t *fault_addr)
{
	struct io io = { .addr = addr, .out = buf, .len = len };

	return do_io(port, &io, fault_addr);
}

struct word {
	uint64_t addr;
	uint64_t val;
};

static _Atomic uint64_t *mem_word(struct mmu *mmu, uint64_t leaf, uint64_t addr)
{
	return (_Atomic uint64_t *)(void *)(mmu->mem + leaf_addr(leaf, addr));
}

static int read64_step(const struct mmu_port *port, void *arg)
{
	struct mmu *mmu = port->mmu;
	struct word *word = arg;
	uint64_t leaf;
	int ret;

	ret = translate_address(port, word->addr, false, &leaf);
	if (ret)
		return ret;
	if (!(leaf & VTA_PTE_CARD))
		return dma_result(bus_read64(mmu->bus, leaf_addr(leaf, word->addr), &word->val));
	word->val = atomic_load_explicit(mem_word(mmu, leaf, word->addr), memory_order_acquire);
	counter_add(mmu->counters, VTA_COUNTER_MEM_READ_BYTES, sizeof(word->val));
	return 0;
}

static int write64_step(const struct mmu_port *port, void *arg)
{
	struct mmu *mmu = port->mmu;
	const struct word *word = arg;
	uint64_t leaf;
	int ret;

	ret = translate_address(port, word->addr, true, &leaf);
	if (ret)
		return ret;
	if (!(leaf & VTA_PTE_CARD))
		return dma_result(bus_write64(mmu->bus, leaf_addr(leaf, word->addr), word->val));
	atomic_store_explicit(mem_word(mmu, leaf, word->addr), word->val, memory_order_release);
	counter_add(mmu->counters, VTA_COUNTER_MEM_WRITE_BYTES, sizeof(word->val));
	return 0;
}

int mmu_read64(const struct mmu_port *port, uint64_t addr, uint64_t *val, uint32_t *fault_addr)
{
	struct word word = { .addr = addr };
	int ret = do_step(port, read64_step, &word);

	*fault_addr = (uint32_t)addr;
	*val = word.val;
	return ret;
}

int mmu_write64(const struct mmu_port *port, uint64_t addr, uint64_t val, uint32_t *fault_addr)
{
	struct word word = { .addr = addr, .val = val };
	int ret = do_step(port, write64_step, &word);

	*fault_addr = (uint32_t)addr;
	return ret;
}

/* ---- Rows ---- */

/* Bytes moved in one step; an invalidation waits for that long. */
#define MOVE_MAX	(1u << 20)

/*
 * Extends the run as far as @end while the pages follow each other, and
 * are in the TLB: what has to be walked for is translated when its turn comes.
 */
static void row_extend(const struct mmu_port *port, struct mmu_row *row, uint64_t end)
{
	const uint64_t flags = ~VTA_PTE_ADDR;

	while (row->run + row->run_len < end) {
		uint64_t addr = row->run + row->run_len, len = VTA_PAGE_SIZE;
		uint64_t leaf = addr >> 32 ? 0 : tlb_leaf(port->mmu, port->context, addr);

		if ((leaf & flags) != (row->leaf & flags) ||
		    (leaf & VTA_PTE_ADDR) != (row->leaf & VTA_PTE_ADDR) + row->run_len)
			break;
		if (leaf & VTA_PTE_BLOCK) {	/* its other pages as well */
			len = (1u << VTA_L1_SHIFT) - (addr & ((1u << VTA_L1_SHIFT) - 1));
			if (len > end - addr)
				len = (end - addr + VTA_PAGE_SIZE - 1) & -(uint64_t)VTA_PAGE_SIZE;
		}
		row->run_len += len;
		row->hits += len / VTA_PAGE_SIZE;
	}
}

static void row_begin(const struct mmu_port *port, struct mmu_row *row, uint64_t leaf,
		      size_t len)
{
	row->run = row->addr & -(uint64_t)VTA_PAGE_SIZE;
	row->run_len = VTA_PAGE_SIZE;
	row->leaf = leaf;
	row->generation = port->mmu->generation;
	row_extend(port, row, row->addr + len);
}

static size_t left_in_run(const struct mmu_row *row, size_t len)
{
	size_t left = row->run + row->run_len - row->addr;

	return len < left ? len : left;
}

/*
 * Puts the row into a run if the TLB is enough for that; *len becomes what is
 * left of the run, if that is less.
 */
static bool row_hit(const struct mmu_port *port, struct mmu_row *row, bool write, size_t *len)
{
	struct mmu *mmu = port->mmu;
	uint64_t leaf;

	if (row->addr - row->run >= row->run_len || row->generation != mmu->generation) {
		row->run_len = 0;
		leaf = row->addr >> 32 ? 0 : tlb_leaf(mmu, port->context, row->addr);
		if (!leaf || (write && !(leaf & VTA_PTE_WRITE)))
			return false;
		row->hits++;
		row_begin(port, row, leaf, *len);
	}
	*len = left_in_run(row, *len);
	return true;
}

/* The same, with a walk or a fault if need be. */
static int row_translate(const struct mmu_port *port, struct mmu_row *row, bool write,
			 size_t *len)
{
	uint64_t leaf;
	int ret;

	if (row_hit(port, row, write, len))
		return 0;
	ret = translate_address(port, row->addr, write, &leaf);
	if (ret)
		return ret;
	row_begin(port, row, leaf, *len);
	*len = left_in_run(row, *len);
	return 0;
}

/* The row's memory, with the bus begun; *len becomes what can be accessed there. */
static void *row_at(struct mmu *mmu, const struct mmu_row *row, bool write, size_t *len, int *ret)
{
	uint64_t addr = (row->leaf & VTA_PTE_ADDR) + (row->addr - row->run);
	void *ptr;

	*ret = 0;
	if (row->leaf & VTA_PTE_CARD)
		return mmu->mem + addr;
	ptr = bus_at(mmu->bus, addr, len, write, ret);
	*ret = dma_result(*ret);
	return ptr;
}

static void row_moved(struct mmu_row *row, size_t len)
{
	row->addr += len;
	if (row->leaf & VTA_PTE_CARD)
		row->card_bytes += len;
	else
		row->host_bytes += len;
}

static void count_event(struct mmu *mmu, enum vta_counter counter, uint64_t *n)
{
	if (*n)
		counter_add(mmu->counters, counter, *n);
	*n = 0;
}

/* Counting takes as long as copying half a page, so it is done once a step. */
static void row_count(struct mmu *mmu, struct mmu_row *row, bool write)
{
	count_event(mmu, VTA_COUNTER_TLB_HITS, &row->hits);
	count_event(mmu, write ? VTA_COUNTER_DMA_WRITE_BYTES : VTA_COUNTER_DMA_READ_BYTES,
		    &row->host_bytes);
	count_event(mmu, write ? VTA_COUNTER_MEM_WRITE_BYTES : VTA_COUNTER_MEM_READ_BYTES,
		    &row->card_bytes);
}

struct move {
	struct mmu_row *dst;
	struct mmu_row *src;	/* NULL: */
	const void *data;	/* as much as can move */
	size_t len;		/* at most */
	size_t done;
	bool at_src;
	struct mmu_piece *piece;	/* not moved, but reported */
};

/* Moves @len bytes, or less, between rows that are in runs as long. */
static int move_run(struct mmu *mmu, struct move *move, size_t len)
{
	const void *src = (const char *)move->data + move->done;
	void *dst;
	int ret;

	if (move->src) {
		move->at_src = true;
		src = row_at(mmu, move->src, false, &len, &ret);
		if (ret)
			return ret;
		move->at_src = false;
	}
	dst = row_at(mmu, move->dst, true, &len, &ret);
	if (ret)
		return ret;
	/* They may overlap, whatever their device addresses are. */
	if (move->piece)
		*move->piece = (struct mmu_piece) { dst, src, len };
	else if (move->dst->stream)
		stream_copy(dst, src, len);
	else
		memmove(dst, src, len);
	if (move->src)
		row_moved(move->src, len);
	row_moved(move->dst, len);
	move->done += len;
	return 0;
}

/* Continues from run to run while the TLB translates: no walks with the bus begun. */
static int move_begun(const struct mmu_port *port, struct move *move, size_t len)
{
	int ret;

	do {
		ret = move_run(port->mmu, move, len);
		len = move->len - move->done;
	} while (!ret && len && !move->piece &&
		 (!move->src || row_hit(port, move->src, false, &len)) &&
		 row_hit(port, move->dst, true, &len));
	/* A fault is found again when its row is moved. */
	return move->done ? 0 : ret;
}

static int move_translated(const struct mmu_port *port, void *arg)
{
	struct move *move = arg;
	size_t len = move->len;
	int ret, missing;

	if (move->src) {
		move->at_src = true;
		ret = row_translate(port, move->src, false, &len);
		if (ret)
			return ret;
		move->at_src = false;
	}
	ret = row_translate(port, move->dst, true, &len);
	if (ret)
		return ret;
	bus_begin(port->mmu->bus);
	ret = move_begun(port, move, len);
	if (move->dst->stream)
		stream_copy_end();
	missing = bus_end(port->mmu->bus);
	return missing ? dma_result(missing) : ret;
}

static int move_step(const struct mmu_port *port, void *arg)
{
	struct move *move = arg;
	int ret = move_translated(port, move);

	if (move->src)
		row_count(port->mmu, move->src, false);
	row_count(port->mmu, move->dst, true);
	return ret;
}

int mmu_copy_step(const struct mmu_port *port, struct mmu_row *dst, struct mmu_row *src,
		  size_t len, size_t *done, bool *at_src, uint32_t *fault_addr)
{
	struct move move = { .dst = dst, .src = src, .len = len < MOVE_MAX ? len : MOVE_MAX };
	int ret = do_step(port, move_step, &move);

	*at_src = move.at_src;
	*fault_addr = (uint32_t)(move.at_src ? src->addr : dst->addr);
	*done = move.done;
	return ret;
}

int mmu_piece(const struct mmu_port *port, struct mmu_row *dst, struct mmu_row *src,
	      size_t len, struct mmu_piece *piece)
{
	struct move move = { .dst = dst, .src = src, .len = len, .piece = piece };

	return do_step(port, move_translated, &move);
}

int mmu_fill_step(const struct mmu_port *port, struct mmu_row *dst, const void *data,
		  size_t len, size_t *done, uint32_t *fault_addr)
{
	struct move move = { .dst = dst, .data = data, .len = left_in_page(0, len) };
	int ret = do_step(port, move_step, &move);

	*fault_addr = (uint32_t)dst->addr;
	*done = move.done;
	return ret;
}
