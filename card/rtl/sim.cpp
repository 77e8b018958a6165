// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim.cpp - the card in RTL, simulated by Verilator (see sim.h)
 *
 * The bus and the card's memory, clock by clock, for vta_card. A read is answered some clocks after it
 * was taken; with a seed for stalls, in any order, in parts and with pauses.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "Vvta_card.h"
#include "verilated.h"

#include "rtl/sim.h"
#include "vta_regs.h"

namespace {

constexpr unsigned int beat_bytes = 16;
/* Clocks until a read is answered, and between two reads of the host's time. */
constexpr unsigned int latency = 8, time_clocks = 16;
/* Clocks that an access to a register may take; the RTL is wrong if it takes more. */
constexpr unsigned int access_clocks = 1u << 22;

/* A read that has been taken: what is left of it. */
struct bus_read {
	uint32_t tag;
	uint64_t address, length;	/* as asked for */
	bool fetched, refused;
	unsigned int wait;
	std::vector<uint8_t> data;	/* from the 16 bytes of its first byte on */
	size_t at;
};

/* The transfers of a write, until its last. */
struct bus_write {
	uint64_t address, length;
	std::vector<uint8_t> data;
};

/* The operands of an access of 32 bits. */
struct operands {
	bool doorbell;
	uint32_t offset, value;
	bool write;
	bool bad;		/* no register has this width or alignment */
	bool first, second;	/* of an access of 64 bits */
	bool peek;		/* a read without effects */
};

class sim {
public:
	explicit sim(const card_sim_host *around);
	~sim();
	void tick();
	bool is_quiet() const;
	uint32_t access(const operands &what);

	VerilatedContext context;	/* of what follows it, which ends before it */
	std::unique_ptr<Vvta_card> top;
	bool bus = false;

private:
	bool stall();
	void set_time();
	void take(bool of_mem);
	void put(bool of_mem);
	void send(unsigned int vector);
	bool fetch(bus_read *r);
	bool answer_bus();
	bool answer_mem();

	card_sim_host host;
	uint64_t clocks = 0;
	uint32_t stalls;
	std::vector<bus_read> reads;
	std::deque<bus_read> mem_reads;
	struct bus_write host_write, mem_write;
	bool write_waits = false;	/* a write was refused as the bus had gone off */
	bool mem_offered = false;
	unsigned int message = 0;
	bool message_waits = false;	/* the bus had gone off */
};

/* Registers have random values at first, as after power-on. */
sim::sim(const card_sim_host *around) : host(*around), stalls(around->stalls)
{
	context.randReset(2);
	top = std::make_unique<Vvta_card>(&context);
	top->clock_khz = host.clock_khz;
	top->hardware_version = host.hw_ver;
	top->serial = host.serial;
	top->short_lines = 0;
	top->function_reset = 0;
	top->access = 0;
	top->power_on = 1;
	tick();
	tick();
	top->power_on = 0;
	while (!top->ready)
		tick();
}

sim::~sim()
{
	top->final();
}

void sim::set_time()
{
	top->now = host.now(host.priv);
	top->heartbeat = host.beat(host.priv);
}

/* In three of eight clocks, if the bus is to be slow (xorshift32). */
bool sim::stall()
{
	if (!stalls)
		return false;
	stalls ^= stalls << 13;
	stalls ^= stalls >> 17;
	stalls ^= stalls << 5;
	return (stalls & 7) < 3;
}

/*
 * Reads what was asked for; false if the bus is off now. A reset does not wait for it: the read is
 * then answered as if it had been refused, and dropped.
 */
bool sim::fetch(bus_read *r)
{
	size_t lead = r->address % beat_bytes;
	int ret;

	r->data.assign((lead + r->length + beat_bytes - 1) / beat_bytes * beat_bytes, 0);
	if (r->length == sizeof(uint64_t) && !(r->address % sizeof(uint64_t))) {
		uint64_t word = 0;

		ret = host.read64(host.priv, r->address, &word);
		memcpy(r->data.data() + lead, &word, sizeof(word));
	} else {
		ret = host.read(host.priv, r->address, r->data.data() + lead, r->length);
	}
	if (ret == -EPERM && top->ready)
		return false;
	r->fetched = true;
	r->refused = ret != 0;
	return true;
}

void sim::put(bool of_mem)
{
	struct bus_write &w = of_mem ? mem_write : host_write;
	const uint8_t *from = w.data.data() + w.address % beat_bytes;
	int ret = 0;

	if (of_mem) {
		memcpy(static_cast<char *>(host.mem) + w.address, from, w.length);
	} else if (w.length == sizeof(uint64_t) && !(w.address % sizeof(uint64_t))) {
		uint64_t word;

		memcpy(&word, from, sizeof(word));
		ret = host.write64(host.priv, w.address, word);
	} else {
		ret = host.write(host.priv, w.address, from, w.length);
	}
	/* Another refusal is the host's: the card does not learn of it. */
	write_waits = !of_mem && ret == -EPERM && top->ready;
	if (!write_waits)
		w.data.clear();
}

void sim::send(unsigned int vector)
{
	int ret = host.irq(host.priv, vector);

	message = vector;
	message_waits = ret == -EPERM && top->ready;
	top->message_refused = ret && ret != -EPERM;
}

/* Takes the request of this clock. */
void sim::take(bool of_mem)
{
	bool is_write = of_mem ? top->mem_request_write : top->bus_request_write;
	bool last = of_mem ? top->mem_request_last : top->bus_request_last;
	uint64_t address = of_mem ? top->mem_request_address : top->bus_request_address;
	uint32_t length = of_mem ? top->mem_request_length : top->bus_request_length;
	uint32_t tag = of_mem ? top->mem_request_tag : top->bus_request_tag;
	const uint8_t *data = reinterpret_cast<const uint8_t *>(of_mem ? &top->mem_request_data :
								&top->bus_request_data);

	if (!is_write) {
		bus_read r = { tag, address, length, false, false, latency, {}, 0 };

		if (stalls)
			r.wait = stalls % 61;
		if (of_mem) {
			size_t lead = address % beat_bytes;

			r.data.assign((lead + length + beat_bytes - 1) / beat_bytes * beat_bytes, 0);
			memcpy(r.data.data() + lead, static_cast<char *>(host.mem) + address, length);
			r.fetched = true;
			mem_reads.push_back(r);
		} else {
			reads.push_back(r);
		}
		return;
	}

	struct bus_write &w = of_mem ? mem_write : host_write;

	if (w.data.empty()) {
		w.address = address;
		w.length = length;
	}
	w.data.insert(w.data.end(), data, data + beat_bytes);
	if (last)
		put(of_mem);
}

bool sim::answer_bus()
{
	bus_read *r = nullptr;

	if (reads.empty() || stall())
		return false;
	r = &reads[stalls ? stalls % reads.size() : 0];
	if (r->wait || (!r->fetched && !fetch(r)))
		return false;
	top->bus_response_tag = r->tag;
	top->bus_response_fault = r->refused;
	memcpy(&top->bus_response_data, r->data.data() + r->at, beat_bytes);
	r->at += beat_bytes;
	top->bus_response_last = r->refused || r->at >= r->data.size();
	if (top->bus_response_last)
		reads.erase(reads.begin() + (r - reads.data()));
	return true;
}

bool sim::answer_mem()
{
	if (mem_reads.empty() || mem_reads.front().wait || (!mem_offered && stall()))
		return false;

	bus_read &r = mem_reads.front();

	top->mem_response_tag = r.tag;
	memcpy(&top->mem_response_data, r.data.data() + r.at, beat_bytes);
	top->mem_response_last = r.at + beat_bytes >= r.data.size();
	return true;
}

void sim::tick()
{
	if (clocks++ % time_clocks == 0)
		set_time();
	for (bus_read &r : reads)
		r.wait -= r.wait > 0;
	for (bus_read &r : mem_reads)
		r.wait -= r.wait > 0;
	if (write_waits && (bus || !top->ready))
		put(false);
	top->bus_on = bus;
	top->bus_response_last = top->bus_response_fault = 0;
	top->bus_response = answer_bus();
	top->mem_response = answer_mem();
	top->bus_request_ready = !write_waits && (bus || !host_write.data.empty()) && !stall();
	top->mem_request_ready = (bus || !mem_write.data.empty()) && !stall();
	if (message_waits && bus)
		send(message);
	top->message_ready = bus && !message_waits;
	top->clk = 0;
	top->eval();
	mem_offered = top->mem_response && !top->mem_response_ready;
	if (top->mem_response && top->mem_response_ready) {
		mem_reads.front().at += beat_bytes;
		if (mem_reads.front().at >= mem_reads.front().data.size())
			mem_reads.pop_front();
	}
	if (!top->power_on) {
		if (top->bus_request && top->bus_request_ready)
			take(false);
		if (top->mem_request && top->mem_request_ready)
			take(true);
		if (top->message && top->message_ready)
			send(top->message_vector);
	}
	top->clk = 1;
	top->eval();
}

/* Nothing happens until the host does something. */
bool sim::is_quiet() const
{
	return top->quiet && reads.empty() && mem_reads.empty() && !write_waits && !(message_waits && bus);
}

uint32_t sim::access(const operands &what)
{
	unsigned int n = 0;
	uint32_t value;

	top->access = 1;
	top->access_write = what.write;
	top->access_doorbell = what.doorbell;
	top->access_bad = what.bad;
	top->access_first = what.first;
	top->access_second = what.second;
	top->access_peek = what.peek;
	top->access_offset = what.offset;
	top->access_data = what.value;
	set_time();
	top->eval();
	do {
		tick();
		top->access = 0;
		top->eval();
		if (n++ > access_clocks) {
			fprintf(stderr, "the card in RTL does not answer an access\n");
			abort();
		}
	} while (!top->access_done);
	value = top->access_value;
	tick();
	return value;
}

sim *self_of(void *self)
{
	return static_cast<sim *>(self);
}

void *make(const struct card_sim_host *host)
{
	return new (std::nothrow) sim(host);
}

void end(void *self)
{
	delete self_of(self);
}

void tick(void *self)
{
	self_of(self)->tick();
}

bool quiet(const void *self)
{
	return static_cast<const sim *>(self)->is_quiet();
}

void set_bus(void *self, bool on)
{
	self_of(self)->bus = on;
}

void reset(void *self)
{
	sim *s = self_of(self);

	s->top->function_reset = 1;
	s->tick();
	s->top->function_reset = 0;
	s->top->eval();
}

void access(void *self, unsigned int bar, uint64_t off, void *buf, size_t len, bool write)
{
	bool word = len == 4 && off % 4 == 0;
	bool pair = len == 8 && off % 8 == 0 && bar == VTA_BAR_REGS;
	uint32_t value[2] = { 0, 0 };
	operands what = {};

	if (write && (word || pair))
		memcpy(value, buf, len);
	what.doorbell = bar == VTA_BAR_DOORBELLS;
	what.offset = static_cast<uint32_t>(off);
	what.value = value[0];
	what.write = write;
	what.bad = !word && !pair;
	what.first = pair;
	value[0] = self_of(self)->access(what);
	if (pair) {
		what.offset += 4;
		what.value = value[1];
		what.first = false;
		what.second = true;
		value[1] = self_of(self)->access(what);
	}
	if (!write) {
		memset(buf, 0, len);
		memcpy(buf, value, word ? 4 : pair ? 8 : 0);
	}
}

uint32_t peek(void *self, uint32_t off)
{
	operands what = {};

	what.offset = off;
	what.peek = true;
	return self_of(self)->access(what);
}

} /* namespace */

extern "C" __attribute__((visibility("default"))) const struct card_sim vta_card_sim = {
	CARD_SIM_VERSION, make, end, tick, quiet, set_bus, reset, access, peek,
};
