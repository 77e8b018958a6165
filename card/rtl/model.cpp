// SPDX-License-Identifier: Apache-2.0
/*
 * model.cpp - the core's RTL, simulated by Verilator, as a model (core/core_model.h)
 *
 * Compiled once for each configuration, with its parameters as macros (card/rtl/model.sh). Memory
 * responds in the clock after a request, and as fast as the core takes its data. If VTA_RTL_STALLS
 * is a number above 0 when a command begins, memory refuses and delays at random, by that seed. A
 * command of more than VTA_RTL_CLOCKS clocks ends the process: the core hangs.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>

#include <unistd.h>

#include "Vvta_core.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include "core/core_model.h"

namespace {

/* Clocks between two calls of stop(), at most. */
constexpr uint64_t stop_clocks = 1024;
/* Clocks after a command in which a core that is tested has to be idle. */
constexpr unsigned int idle_clocks = 64;
constexpr size_t beat_bytes = 16;
constexpr size_t burst_bytes = 256;

/* vta_isa_pkg::COMMAND_* */
enum command { command_run, command_clear, command_save, command_restore };

/* One response, or 16 bytes of one. */
struct response {
	bool last;
	bool fault;
	uint8_t reason;
	uint32_t address;
	uint8_t data[beat_bytes];
};

class model {
public:
	model();
	~model();
	enum core_result execute(command kind, uint32_t address, uint32_t count, uint64_t limit,
				 bool keep, const struct core_mem_ops *ops, void *priv,
				 struct core_fault *fault);
	void read_stats(struct core_stats *stats) const;

	bool keep_tokens = false;
	uint64_t clocks = 0;

private:
	void tick();
	bool stall();
	void take_request();
	void give_response();

	VerilatedContext context;
	std::unique_ptr<Vvta_core> top;
	std::deque<response> responses;
	bool offered = false;	/* a response that the core has not taken stays */
	uint32_t stalls = 0;	/* state of the generator, or 0 for none */
	const struct core_mem_ops *ops = nullptr;
	void *priv = nullptr;
};

/* The core is wrong in a way that no result shows. */
[[noreturn]] void hang(const char *how)
{
	fprintf(stderr, "the core in RTL %s\n", how);
	abort();
}

/* Registers and scratchpads have random values at first, as after power-on. */
model::model()
{
	context.randReset(2);
	top = std::make_unique<Vvta_core>(&context);
	top->reset = 1;
	top->command = 0;
	top->stop = 0;
	tick();
	tick();
	top->reset = 0;
	top->eval();
	if (!top->command_ready)
		hang("is not ready after a reset");
	execute(command_clear, 0, 0, 0, false, nullptr, nullptr, nullptr);
	clocks = 0;
}

model::~model()
{
	top->final();
#if VM_COVERAGE
	static unsigned int number;
	const char *prefix = getenv("VTA_RTL_COVERAGE");

	if (prefix)
		context.coveragep()->write((std::string(prefix) + "-" + std::to_string(getpid()) +
					    "-" + std::to_string(number++) + ".dat").c_str());
#endif
}

/* Returns true in three of eight clocks, if memory stalls (xorshift32). */
bool model::stall()
{
	if (!stalls)
		return false;
	stalls ^= stalls << 13;
	stalls ^= stalls >> 17;
	stalls ^= stalls << 5;
	return (stalls & 7) < 3;
}

/* The request that the core makes in this clock. */
void model::take_request()
{
	auto access = static_cast<enum vta_access>(top->memory_request_access);
	uint32_t address = top->memory_request_address, fault_address = 0;
	size_t length = top->memory_request_length;
	uint8_t data[burst_bytes] = {};
	response r = {};

	if (!ops)
		hang("accesses memory without a command that does");
	if (top->memory_request_write) {
		memcpy(data, &top->memory_request_data, beat_bytes);
		r.reason = static_cast<uint8_t>(ops->write(priv, address, data, length, access,
							   &fault_address));
	} else {
		r.reason = static_cast<uint8_t>(ops->read(priv, address, data, length, access,
							  &fault_address));
	}
	r.last = r.fault = r.reason != VTA_FAULT_NONE;
	r.address = fault_address;
	if (r.fault || top->memory_request_write) {
		r.last = true;
		responses.push_back(r);
		return;
	}
	for (size_t at = 0; at < length; at += beat_bytes) {
		memcpy(r.data, data + at, beat_bytes);
		r.last = at + beat_bytes >= length;
		responses.push_back(r);
	}
}

void model::give_response()
{
	top->memory_response = !responses.empty() && (offered || !stall());
	if (!top->memory_response)
		return;

	const response &r = responses.front();

	top->memory_response_last = r.last;
	top->memory_response_fault = r.fault;
	top->memory_response_reason = r.reason;
	top->memory_response_address = r.address;
	memcpy(&top->memory_response_data, r.data, beat_bytes);
}

void model::tick()
{
	give_response();
	top->memory_request_ready = !stall();
	top->clk = 0;
	top->eval();
	offered = top->memory_response && !top->memory_response_ready;
	if (top->memory_response && top->memory_response_ready)
		responses.pop_front();
	if (top->memory_request && top->memory_request_ready && !top->reset)
		take_request();
	top->clk = 1;
	top->eval();
}

enum core_result model::execute(command kind, uint32_t address, uint32_t count, uint64_t limit,
				bool keep, const struct core_mem_ops *mem, void *mem_priv,
				struct core_fault *fault)
{
	const char *seed = getenv("VTA_RTL_STALLS"), *most = getenv("VTA_RTL_CLOCKS");
	uint64_t clocks_most = most ? strtoull(most, nullptr, 0) : UINT64_MAX;
	uint64_t begin = clocks, insns = 0;
	bool stopped = false;

	stalls = seed ? static_cast<uint32_t>(strtoul(seed, nullptr, 0)) : 0;

	ops = mem;
	priv = mem_priv;
	top->command = 1;
	top->command_kind = kind;
	top->command_address = address;
	top->command_count = count;
	top->command_limit = limit;
	top->command_keep = keep;
	tick();
	top->command = 0;
	while (!top->done) {
		/* Asked at first, after each instruction, and from time to time. */
		if (ops && !stopped &&
		    ((clocks - begin) % stop_clocks == 0 || top->insns != insns)) {
			insns = top->insns;
			stopped = ops->stop(priv);
			top->stop = stopped;
		}
		tick();
		clocks++;
		if (clocks - begin > clocks_most)
			hang("takes more than VTA_RTL_CLOCKS");
	}
	top->stop = 0;
	ops = nullptr;
	for (unsigned int n = 0; n < (stalls ? idle_clocks : 1); n++)
		tick();

	/* A run that ends in the clock of the stop is done, or has faulted. */
	if (top->stopped)
		return CORE_STOPPED;
	if (!top->faulted)
		return CORE_DONE;
	fault->reason = static_cast<enum vta_fault_reason>(top->fault_reason);
	fault->access = static_cast<enum vta_access>(top->fault_access);
	fault->addr = top->fault_address;
	fault->insn_index = top->fault_index;
	memcpy(fault->insn, &top->fault_insn, sizeof(fault->insn));
	return CORE_FAULT;
}

void model::read_stats(struct core_stats *stats) const
{
	stats->cycles = top->cycles;
	stats->load_cycles = top->load_cycles;
	stats->compute_cycles = top->compute_cycles;
	stats->store_cycles = top->store_cycles;
	stats->insns = top->insns;
	stats->gemm_uops = top->gemm_uops;
	stats->alu_uops = top->alu_uops;
}

model *of(void *self)
{
	return static_cast<model *>(self);
}

void *make()
{
	return new (std::nothrow) model;
}

void end(void *self)
{
	delete of(self);
}

void clear(void *self)
{
	of(self)->execute(command_clear, 0, 0, 0, false, nullptr, nullptr, nullptr);
}

void keep_tokens(void *self)
{
	of(self)->keep_tokens = true;
}

enum core_result run(void *self, const struct core_mem_ops *ops, void *priv, uint32_t insn_addr,
		     uint32_t insn_count, uint64_t cycle_limit, struct core_stats *stats,
		     struct core_fault *fault)
{
	bool keep = of(self)->keep_tokens;
	enum core_result result;

	of(self)->keep_tokens = false;
	memset(fault, 0, sizeof(*fault));
	result = of(self)->execute(command_run, insn_addr, insn_count, cycle_limit, keep, ops,
				   priv, fault);
	of(self)->read_stats(stats);
	return result;
}

enum core_result move_state(void *self, command kind, const struct core_mem_ops *ops, void *priv,
			    uint32_t addr, struct core_fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	fault->insn_index = VTA_FAULT_NO_INSN;
	return of(self)->execute(kind, addr, 0, 0, false, ops, priv, fault);
}

enum core_result save(void *self, const struct core_mem_ops *ops, void *priv, uint32_t addr,
		      struct core_fault *fault)
{
	return move_state(self, command_save, ops, priv, addr, fault);
}

enum core_result restore(void *self, const struct core_mem_ops *ops, void *priv, uint32_t addr,
			 struct core_fault *fault)
{
	return move_state(self, command_restore, ops, priv, addr, fault);
}

uint64_t clocks_of(const void *self)
{
	return static_cast<const model *>(self)->clocks;
}

} /* namespace */

extern "C" __attribute__((visibility("default"))) const struct core_model vta_core_model = {
	CORE_MODEL_VERSION,
	{ LOG_INP_WIDTH, LOG_WGT_WIDTH, LOG_ACC_WIDTH, LOG_BATCH, LOG_BLOCK, LOG_UOP_BUFF_SIZE,
	  LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE, LOG_ACC_BUFF_SIZE, 0, LOG_TOKENS, LOG_WAITING },
	make, end, clear, keep_tokens, run, save, restore, clocks_of,
};
