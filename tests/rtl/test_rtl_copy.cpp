// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_copy.cpp - random copies and fills on the copy engine and translation in RTL, against a
 * reference
 *
 * The reference walks the page tables for each byte's page and moves bytes one after the other, as
 * docs/hardware.md, 5 and 7, says. Memory, faults, finished rows and the number of translations are
 * equal. The bus answers late, in any order, in parts, and not at all where there is no memory; it
 * is turned off at times. The TLB is invalidated at any time, and copies are stopped.
 *
 * test_rtl_copy [OPERATIONS [SEED]]: prints a line for each seed, and the seed that fails.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vcopier.h"
#include "verilated.h"

#include "vta.h"
#include "vta_regs.h"

namespace {

constexpr uint64_t page_size = 4096, block_size = 2 << 20;
constexpr unsigned int contexts = 3;
constexpr size_t pages = 96;			/* of each pool of host memory */
constexpr uint64_t host_base = 0x7a5'1234'0000;	/* bus address of host memory */
constexpr uint64_t mem_size = 4 << 20;		/* of the card: LOG_MEM */
constexpr uint64_t clocks_most = 4'000'000;	/* an operation takes less */

/* Host memory: pages to read, pages to write, and page tables: 4 pages each for a first level. */
constexpr size_t read_page = 0, write_page = pages, table_page = 2 * pages;
constexpr size_t second_tables = 8;		/* of each context */
constexpr size_t host_pages = 256 + contexts * (4 + second_tables) + 4;

struct rng {
	uint64_t s;

	uint32_t next()
	{
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		return static_cast<uint32_t>(s >> 16);
	}
	uint32_t below(uint32_t n) { return next() % n; }
	bool one_in(uint32_t n) { return below(n) == 0; }
};

struct memory {
	std::vector<uint8_t> host, card;

	memory() : host(host_pages * page_size), card(mem_size) {}
};

/* COPY, or FILL with the pattern in src. */
struct descriptor {
	bool fill;
	unsigned int context;
	uint32_t dst, src, width, rows, dst_pitch, src_pitch;
};

struct outcome {
	uint32_t reason, address, rows;
	bool at_source;
	uint64_t translations;
};

/* ---- The reference ------------------------------------------------------- */

constexpr size_t tables_of(unsigned int context)
{
	/* A first-level table is aligned to its 16 KiB. */
	return 256 - 64 + context * 4;
}

constexpr size_t second_of(unsigned int context, size_t n)
{
	return 256 + context * second_tables + n;
}

uint64_t bus_address(size_t page)
{
	return host_base + page * page_size;
}

bool on_bus(uint64_t address, uint64_t len)
{
	return address >= host_base && address - host_base + len <= host_pages * page_size;
}

uint64_t word_at(const memory &m, uint64_t address)
{
	uint64_t word;

	memcpy(&word, &m.host[address - host_base], sizeof(word));
	return word;
}

/* Finds the leaf entry of an address; returns a fault or 0. */
uint32_t translate(const memory &m, const bool *enabled, unsigned int context, uint64_t address,
		   bool write, uint64_t *leaf)
{
	uint64_t at = bus_address(tables_of(context)) + (address >> 21) * 8, entry;
	const uint64_t zero = 0xfff0000000000ff0, flags = VTA_PTE_WRITE | VTA_PTE_CARD;

	if (address >> 32 || address < page_size || !enabled[context])
		return VTA_FAULT_PAGE;
	entry = word_at(m, at);
	if (!(entry & VTA_PTE_VALID))
		return VTA_FAULT_PAGE;
	if (entry & zero)
		return VTA_FAULT_ENTRY;
	if (entry & VTA_PTE_BLOCK) {
		if (entry & (block_size - 1) & VTA_PTE_ADDR)
			return VTA_FAULT_ENTRY;
		if (entry & VTA_PTE_CARD && (entry & VTA_PTE_ADDR) + block_size > mem_size)
			return VTA_FAULT_ENTRY;
		*leaf = entry + (address & (block_size - page_size));
	} else {
		if (entry & flags)
			return VTA_FAULT_ENTRY;
		at = (entry & VTA_PTE_ADDR) + (address >> 12 & 511) * 8;
		if (!on_bus(at, 8))
			return VTA_FAULT_DMA;
		entry = word_at(m, at);
		if (!(entry & VTA_PTE_VALID))
			return VTA_FAULT_PAGE;
		if (entry & (zero | VTA_PTE_BLOCK))
			return VTA_FAULT_ENTRY;
		if (entry & VTA_PTE_CARD && (entry & VTA_PTE_ADDR) + page_size > mem_size)
			return VTA_FAULT_ENTRY;
		*leaf = entry;
	}
	return write && !(*leaf & VTA_PTE_WRITE) ? VTA_FAULT_PERM : 0;
}

/* The byte of a leaf, or nullptr where the bus has no memory. */
uint8_t *byte_of(memory &m, uint64_t leaf, uint64_t address)
{
	uint64_t at = (leaf & VTA_PTE_ADDR) | (address & (page_size - 1));

	if (leaf & VTA_PTE_CARD)
		return &m.card[at];
	return on_bus(at, 1) ? &m.host[at - host_base] : nullptr;
}

/*
 * Executes a descriptor. With @touched, it goes on after a fault, at the next byte, as a card may
 * have written behind one; each byte that it writes is 1 there.
 */
outcome execute(memory &m, const bool *enabled, const descriptor &d, memory *touched)
{
	outcome o = {};

	for (uint32_t r = 0; r < d.rows; r++) {
		uint64_t src = d.src + static_cast<uint64_t>(r) * d.src_pitch;
		uint64_t dst = d.dst + static_cast<uint64_t>(r) * d.dst_pitch;
		uint64_t src_leaf = 0, dst_leaf = 0;
		uint32_t src_fault = 0, dst_fault = 0;

		for (uint32_t i = 0; i < d.width; i++, src++, dst++) {
			const uint8_t *from = nullptr;
			uint8_t *to, pattern;

			if (!d.fill && (i == 0 || src % page_size == 0)) {
				src_fault = translate(m, enabled, d.context, src, false, &src_leaf);
				o.translations++;
			}
			if (i == 0 || dst % page_size == 0) {
				dst_fault = translate(m, enabled, d.context, dst, true, &dst_leaf);
				o.translations++;
			}
			if (!d.fill && !src_fault) {
				from = byte_of(m, src_leaf, src);
				if (!from)
					src_fault = VTA_FAULT_DMA;
			}
			if ((src_fault || dst_fault) && !touched) {
				o.at_source = src_fault;
				o.reason = src_fault ? src_fault : dst_fault;
				o.address = static_cast<uint32_t>(src_fault ? src : dst);
				return o;
			}
			if (src_fault || dst_fault)
				continue;
			to = byte_of(m, dst_leaf, dst);
			pattern = static_cast<uint8_t>(d.src >> (i % 4 * 8));
			if (!to)	/* a refused write counts as done */
				continue;
			*to = d.fill ? pattern : *from;
			if (touched)
				*byte_of(*touched, dst_leaf, dst) = 1;
		}
		o.rows++;
	}
	return o;
}

/* ---- The RTL ------------------------------------------------------------- */

[[noreturn]] void fail(const char *what)
{
	printf("# the RTL %s\n", what);
	throw what;
}

/* A read that the bus has taken and not answered, by what is left of it. */
struct pending {
	uint32_t tag;
	uint64_t address, end;	/* of 16 bytes */
	bool refused;
	uint32_t wait;
};

class rig {
public:
	rig(rng &random, memory &m);
	outcome run(const descriptor &d, bool disturb, bool stop);
	void set_root(unsigned int context, bool enable);
	void invalidate(unsigned int context);
	uint64_t clocks = 0;
	bool stopped = false;
	bool again = false;	/* the TLB was invalidated: translations are made again */

private:
	void tick();
	void take(bool card);
	bool answer(bool card);

	VerilatedContext context;
	std::unique_ptr<Vcopier> top;
	rng &random;
	memory &m;
	bool slow = false;
	uint64_t translations = 0;
	std::vector<pending> bus;
	std::deque<pending> card;	/* answers in order */
	bool offered = false;
	bool invalidating = false;
	struct {
		bool open;
		uint64_t address, at;
		uint32_t length;
	} writes[2] = {};
};

rig::rig(rng &random, memory &m) : random(random), m(m)
{
	context.randReset(2);
	context.randSeed(static_cast<int>(random.next() & 0x7fffffff));
	top = std::make_unique<Vcopier>(&context);
	top->start = top->stop = top->root_write = top->invalidate = 0;
	top->bus_on = 1;
	top->short_lines = random.one_in(2);
	top->reset = 1;
	tick();
	tick();
	top->reset = 0;
}

/* Takes a request in this clock, of the bus or of card memory. */
void rig::take(bool of_card)
{
	bool write = of_card ? top->mem_request_write : top->bus_request_write;
	bool last = of_card ? top->mem_request_last : top->bus_request_last;
	uint64_t address = of_card ? top->mem_request_address : top->bus_request_address;
	uint32_t length = of_card ? top->mem_request_length : top->bus_request_length;
	uint32_t tag = of_card ? top->mem_request_tag : top->bus_request_tag;
	const uint8_t *data = reinterpret_cast<const uint8_t *>(of_card ? &top->mem_request_data :
								&top->bus_request_data);
	uint64_t line = top->short_lines ? 128 : 256, end = address + length;
	bool there = of_card ? end <= mem_size : on_bus(address, length);

	if (!length || address / line != (end - 1) / line)
		fail("crosses a line");
	if (of_card && !there)
		fail("goes beyond card memory");
	if (!write) {
		pending p = { tag, address & ~15ull, (end + 15) & ~15ull, !there,
			      slow ? random.below(60) : 2 };

		for (const pending &other : bus)
			if (!of_card && other.tag == tag)
				fail("uses a tag twice");
		if (of_card)
			card.push_back(p);
		else
			bus.push_back(p);
		return;
	}

	auto &w = writes[of_card];

	if (!w.open) {
		w.open = true;
		w.address = address;
		w.length = length;
		w.at = address & ~15ull;
	}
	if (w.address != address || w.length != length)
		fail("changes a write");
	for (uint64_t n = 0; n < 16; n++, w.at++)
		if (there && w.at >= address && w.at < end)
			(of_card ? m.card[w.at] : m.host[w.at - host_base]) = data[n];
	if (last != (w.at >= end))
		fail("ends a write at the wrong place");
	w.open = !last;
}

/* Offers an answer in this clock: any of the bus, in parts of 64 bytes; the first of card memory. */
bool rig::answer(bool of_card)
{
	static const uint8_t nothing[16] = {};
	pending *p = nullptr;
	uint8_t *data = reinterpret_cast<uint8_t *>(of_card ? &top->mem_response_data :
						    &top->bus_response_data);

	if (of_card && !card.empty() && (offered || !slow || !random.one_in(4)))
		p = &card.front();
	else if (!of_card && !bus.empty() && !(slow && random.one_in(4)))
		p = &bus[slow ? random.below(static_cast<uint32_t>(bus.size())) : 0];
	if (!p || p->wait)
		return false;
	memcpy(data, p->refused ? nothing : of_card ? &m.card[p->address] :
	       &m.host[p->address - host_base], 16);
	if (of_card) {
		top->mem_response_tag = p->tag;
		return true;
	}
	top->bus_response_tag = p->tag;
	top->bus_response_fault = p->refused;
	p->address = p->refused ? p->end : p->address + 16;
	if (p->address >= p->end)
		bus.erase(bus.begin() + (p - bus.data()));
	return true;
}

void rig::tick()
{
	for (pending &p : bus)
		p.wait -= p.wait > 0;
	for (pending &p : card)
		p.wait -= p.wait > 0;
	top->bus_response_fault = 0;
	top->bus_response = answer(false);
	top->mem_response = answer(true);
	top->bus_request_ready = (top->bus_on || writes[0].open) && !(slow && random.one_in(3));
	top->mem_request_ready = (top->bus_on || writes[1].open) && !(slow && random.one_in(3));
	top->clk = 0;
	top->eval();
	if (!top->reset) {
		translations += top->count_walk + top->count_hit;
		offered = top->mem_response && !top->mem_response_ready;
		if (top->mem_response && top->mem_response_ready) {
			card.front().address += 16;
			if (card.front().address >= card.front().end)
				card.pop_front();
		}
		if (top->bus_request && top->bus_request_ready)
			take(false);
		if (top->mem_request && top->mem_request_ready)
			take(true);
	}
	top->clk = 1;
	top->eval();
	clocks++;
	/* What was translated before an invalidation is finished when it ends. */
	if (invalidating && !top->invalidating &&
	    (!bus.empty() || !card.empty() || writes[0].open || writes[1].open ||
	     top->bus_request || top->mem_request))
		fail("ends an invalidation early");
	invalidating = top->invalidating;
}

void rig::set_root(unsigned int n, bool enable)
{
	top->root_write = 1;
	top->root_context = n;
	top->root_enable = enable;
	top->root_address = bus_address(tables_of(n)) >> 14;
	tick();
	top->root_write = 0;
}

void rig::invalidate(unsigned int n)
{
	top->invalidate = 1;
	top->invalidate_all = random.one_in(4);
	top->invalidate_context = n;
	tick();
	top->invalidate = 0;
	for (uint64_t begin = clocks; top->invalidating; tick())
		if (clocks - begin > clocks_most)
			fail("does not end an invalidation");
}

outcome rig::run(const descriptor &d, bool disturb, bool stop)
{
	uint64_t begin = clocks, before = translations;
	uint64_t stop_at = stop ? random.below(600) : UINT64_MAX;
	outcome o = {};

	slow = disturb;
	top->start = 1;
	top->fill = d.fill;
	top->context_of = d.context;
	top->dst = d.dst;
	top->src = d.src;
	top->width = d.width;
	top->rows = d.rows;
	top->dst_pitch = d.dst_pitch;
	top->src_pitch = d.src_pitch;
	tick();
	top->start = 0;
	top->eval();
	stopped = again = false;
	while (!top->done) {
		if (disturb) {
			top->bus_on = top->bus_on ? !random.one_in(400) : random.one_in(40);
			top->invalidate = random.one_in(500);
			again |= top->invalidate;
			top->invalidate_all = random.one_in(2);
			top->invalidate_context = random.below(contexts);
		}
		if (clocks - begin >= stop_at)
			top->stop = stopped = true;
		tick();
		if (clocks - begin > clocks_most)
			fail("does not end a descriptor");
	}
	o.reason = top->fault ? top->fault_reason : 0;
	o.at_source = top->fault && top->fault_source;
	o.address = top->fault ? top->fault_address : 0;
	top->stop = top->invalidate = 0;
	top->bus_on = 1;
	tick();
	o.rows = top->finished_rows;
	for (begin = clocks; top->invalidating; tick())
		if (clocks - begin > clocks_most)
			fail("does not end an invalidation");
	if (!top->idle || top->busy || !bus.empty() || !card.empty())
		fail("is not idle at the end");
	o.translations = translations - before;
	return o;
}

/* ---- Random page tables and descriptors ---------------------------------- */

/*
 * Device addresses: 2 MiB each of some first-level indices, 0 from page 1 on. Sources are in the
 * first three; what they map is not written by any copy.
 */
constexpr uint32_t firsts[] = { 0, 1, 2, 3, 4, 2047 };
constexpr unsigned int source_firsts = 3;

uint64_t random_leaf(rng &r, bool source)
{
	uint64_t leaf = VTA_PTE_VALID;

	if (!r.one_in(12) && !source)
		leaf |= VTA_PTE_WRITE;
	if (r.one_in(3)) {	/* the first half of card memory is read, the other written */
		leaf |= VTA_PTE_CARD;
		leaf |= (source ? 0 : mem_size / 2) + r.below(mem_size / 2 / page_size) * page_size;
	} else {
		leaf |= bus_address((source ? read_page : write_page) + r.below(pages));
	}
	if (r.one_in(60))
		leaf = 0;
	if (r.one_in(60))
		leaf ^= 1ull << (r.one_in(2) ? 3 + r.below(9) : 52 + r.below(12));
	if (r.one_in(60))
		leaf = (leaf & ~VTA_PTE_ADDR) | (r.next() & VTA_PTE_ADDR);
	return leaf;
}

void put_word(memory &m, size_t page, size_t index, uint64_t word)
{
	memcpy(&m.host[page * page_size + index * 8], &word, sizeof(word));
}

void make_tables(memory &m, rng &r, unsigned int context)
{
	for (size_t n = 0; n < sizeof(firsts) / sizeof(*firsts); n++) {
		bool source = n < source_firsts;
		uint64_t entry = bus_address(second_of(context, n)) | VTA_PTE_VALID;
		bool mostly = r.one_in(3);	/* pages are mapped again */
		uint64_t leaf = random_leaf(r, source);

		for (size_t i = 0; i < 512; i++) {
			uint64_t next = random_leaf(r, source);

			/* The last entry again, of the same memory. */
			if (mostly && i % 16 && !r.one_in(8) &&
			    (next & VTA_PTE_CARD) == (leaf & VTA_PTE_CARD))
				next = leaf;
			put_word(m, second_of(context, n), i, next);
			leaf = next;
		}
		if (r.one_in(6))
			entry = (source ? 0 : mem_size / 2) | VTA_PTE_VALID | VTA_PTE_CARD |
				VTA_PTE_BLOCK | (source ? 0 : VTA_PTE_WRITE);
		if (r.one_in(40))
			entry ^= 1ull << r.below(21);
		if (r.one_in(40))
			entry ^= 1ull << (52 + r.below(12));
		if (r.one_in(40))
			entry = 0;
		put_word(m, tables_of(context), firsts[n], entry);
	}
}

uint32_t random_place(rng &r, bool source)
{
	size_t n = source ? r.below(source_firsts) :
		   source_firsts + r.below(sizeof(firsts) / sizeof(*firsts) - source_firsts);
	/* Mostly of a few pages, so that a translation is used again. */
	uint32_t at = firsts[n] << 21 | (r.below(r.one_in(3) ? 510 : 6) + 2) << 12;

	if (!r.one_in(3))
		at += r.below(page_size);
	if (r.one_in(8))	/* near the end of the 2 MiB */
		at = (firsts[n] << 21) + block_size - 1 - r.below(3000);
	return at;
}

descriptor random_descriptor(rng &r)
{
	descriptor d = {};

	d.fill = r.one_in(4);
	d.context = r.below(contexts);
	d.dst = random_place(r, false);
	d.src = d.fill ? r.next() : random_place(r, true);
	switch (r.below(4)) {
	case 0:
		d.width = r.below(40);
		d.rows = r.below(40);
		break;
	case 1:
		d.width = r.below(700);
		d.rows = r.below(12);
		break;
	case 2:
		d.width = r.below(20000);
		d.rows = 1 + r.below(2);
		break;
	default:
		d.width = r.below(300) * 16;
		d.rows = 1 + r.below(3);
	}
	d.dst_pitch = r.one_in(3) ? d.width : r.below(9000);
	d.src_pitch = r.one_in(3) ? d.width : r.below(9000);
	if (r.one_in(50))
		d.dst_pitch = r.next();
	if (r.one_in(50))
		d.src_pitch = r.next();
	/* The source stays in what is only read. */
	if (!d.fill && d.src + static_cast<uint64_t>(d.rows) * d.src_pitch + d.width >=
	    static_cast<uint64_t>(source_firsts) << 21 && d.src_pitch < 0x10000)
		d.rows = 1;
	return d;
}

/* Bytes that differ from what is expected are among those that a descriptor may have written. */
bool same(const std::vector<uint8_t> &seen, const std::vector<uint8_t> &expected,
	  const std::vector<uint8_t> &touched)
{
	if (seen == expected)
		return true;
	for (size_t n = 0; n < seen.size(); n++)
		if (seen[n] != expected[n] && !touched[n])
			return false;
	return true;
}

bool same(const memory &seen, const memory &expected, const memory &touched)
{
	return same(seen.host, expected.host, touched.host) &&
	       same(seen.card, expected.card, touched.card);
}

void print(const char *who, const outcome &o)
{
	printf("# %s: fault %" PRIu32 " at %s 0x%" PRIx32 ", %" PRIu32 " rows, %" PRIu64
	       " translations\n", who, o.reason, o.at_source ? "source" : "destination", o.address,
	       o.rows, o.translations);
}

bool check(const descriptor &d, const outcome &seen, const outcome &expected, bool again,
	   bool memory_same)
{
	bool ok = memory_same && seen.reason == expected.reason &&
		  seen.address == expected.address && seen.at_source == expected.at_source && seen.rows == expected.rows &&
		  (expected.reason || again || seen.translations == expected.translations);

	if (ok)
		return true;
	printf("# %s context %u dst 0x%" PRIx32 " src 0x%" PRIx32 " width %" PRIu32 " rows %" PRIu32
	       " pitches %" PRIu32 " %" PRIu32 "%s\n", d.fill ? "FILL" : "COPY", d.context, d.dst,
	       d.src, d.width, d.rows, d.dst_pitch, d.src_pitch, memory_same ? "" :
	       ": memory differs");
	print("the RTL", seen);
	print("expected", expected);
	return false;
}

/* Runs @count descriptors from a seed. */
bool run_seed(uint64_t seed, unsigned int count, uint64_t *bytes, uint64_t *clocks,
	      unsigned int *faults)
{
	rng r = { seed * 0x9e3779b97f4a7c15 + 1 };
	memory m;
	bool enabled[contexts];
	rig rtl(r, m);

	for (uint8_t &byte : m.host)
		byte = static_cast<uint8_t>(r.next());
	for (uint8_t &byte : m.card)
		byte = static_cast<uint8_t>(r.next());
	for (unsigned int n = 0; n < contexts; n++) {
		make_tables(m, r, n);
		enabled[n] = true;
		rtl.set_root(n, true);
	}
	descriptor d = random_descriptor(r);

	for (unsigned int n = 0; n < count; n++) {
		/* Now and then the last one again, so that what is kept of it shows. */
		if (!r.one_in(3))
			d = random_descriptor(r);
		bool stop = r.one_in(10), disturb = r.one_in(2);
		uint64_t begin = rtl.clocks;
		memory before = m, expected = m, other = m, touched;
		outcome want, seen;

		want = execute(expected, enabled, d, nullptr);
		execute(other, enabled, d, &touched);
		seen = rtl.run(d, disturb, stop);
		if (rtl.stopped) {
			if (!same(m, before, touched)) {
				printf("# a copy that was stopped wrote elsewhere\n");
				return false;
			}
		} else {
			/* Without a fault, nothing differs. */
			if (!check(d, seen, want, rtl.again, want.reason ?
				   same(m, expected, touched) :
				   m.host == expected.host && m.card == expected.card))
				return false;
			if (!want.reason && !disturb && d.width >= 4096) {
				*bytes += static_cast<uint64_t>(d.width) * d.rows;
				*clocks += rtl.clocks - begin;
			}
			*faults += want.reason != 0;
		}
		if (r.one_in(6)) {	/* other tables, and now and then a context that is off */
			unsigned int c = r.one_in(2) ? d.context : r.below(contexts);

			make_tables(m, r, c);
			enabled[c] = !r.one_in(8);
			rtl.set_root(c, enabled[c]);
			rtl.invalidate(c);
		}
	}
	return true;
}

unsigned int number(const char *text)
{
	return static_cast<unsigned int>(strtoul(text, nullptr, 0));
}

} /* namespace */

int main(int argc, char **argv)
{
	unsigned int count = number(argc > 1 ? argv[1] : "400");
	unsigned int first = number(argc > 2 ? argv[2] : "1");
	unsigned int seeds = argc > 2 ? 1 : 8, faults = 0, failed = 0;
	uint64_t bytes = 0, clocks = 0;

	for (unsigned int seed = first; seed < first + seeds; seed++) {
		bool ok = false;

		try {
			ok = run_seed(seed, count, &bytes, &clocks, &faults);
		} catch (const char *) {
		}
		printf("%sok %u - %u copies and fills, seed %u\n", ok ? "" : "not ",
		       seed - first + 1, count, seed);
		fflush(stdout);
		failed += !ok;
	}
	printf("# %u faults; %.2f bytes a clock in long rows\n", faults,
	       clocks ? static_cast<double>(bytes) / static_cast<double>(clocks) : 0.);
	return failed != 0;
}
