// SPDX-License-Identifier: Apache-2.0
/*
 * vta_simulator.cc - what TVM's Python asks the simulator of VTA for, from a card
 *
 * Compiled with TVM's VTA runtime into libvta_fsim (build-runtime does it). The names are
 * TVM's: vta.testing.simulator.enabled() looks for the first of them, clear_stats(),
 * stats() and debug_mode() call them.
 *
 * The figures are differences of the debug counters (docs/hardware.md, section 12) of the
 * card that the runtime uses, under the names of struct vtadev_counters; gemm_counter and
 * alu_counter have the simulator's names. A card of the kernel's counts for all its users
 * together: to count a program alone, let it be the card's only user. A card does not count
 * the simulator's bytes by kind of memory (inp_load_nbytes and so on).
 */
#include <tvm/runtime/logging.h>
#include <tvm/runtime/registry.h>
#include <vta/driver_counters.h>

#include <cstdint>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>

namespace {

const struct Counter {
	const char *name;	/* for Python */
	uint64_t vtadev_counters::*value;
} counters[] = {
	{ "gemm_counter", &vtadev_counters::gemm_uops },
	{ "alu_counter", &vtadev_counters::alu_uops },
	{ "runs", &vtadev_counters::runs },
	{ "insns", &vtadev_counters::insns },
	{ "compute_cycles", &vtadev_counters::compute_cycles },
	{ "dma_read_bytes", &vtadev_counters::dma_read_bytes },
	{ "dma_write_bytes", &vtadev_counters::dma_write_bytes },
	{ "mem_read_bytes", &vtadev_counters::mem_read_bytes },
	{ "mem_write_bytes", &vtadev_counters::mem_write_bytes },
};

std::mutex lock;		/* Protects: cleared */
struct vtadev_counters cleared;	/* as they were at profiler_clear */

struct vtadev_counters Read()
{
	struct vtadev_counters now;
	int err = VTACounters(&now);

	ICHECK_EQ(err, 0) << "no counters of the VTA card: " << vtadev_strerror(err);
	return now;
}

void Clear()
{
	std::lock_guard<std::mutex> guard(lock);

	cleared = Read();
}

/* A JSON object. A reset of the card sets its counters to 0: then they count from there. */
std::string Status()
{
	std::lock_guard<std::mutex> guard(lock);
	struct vtadev_counters now = Read();
	std::ostringstream out;

	for (size_t i = 0; i < std::size(counters); i++) {
		uint64_t value = now.*counters[i].value, &from = cleared.*counters[i].value;

		if (value < from)
			from = 0;
		out << (i ? ", \"" : "{\"") << counters[i].name << "\": " << value - from;
	}
	out << "}";
	return out.str();
}

/* The simulator's only flag has it execute nothing. */
void DebugMode(int64_t flags)
{
	ICHECK_EQ(flags, 0) << "a card executes what it is given: there is no debug mode " << flags;
}

TVM_REGISTER_GLOBAL("vta.simulator.profiler_clear").set_body_typed(Clear);
TVM_REGISTER_GLOBAL("vta.simulator.profiler_status").set_body_typed(Status);
TVM_REGISTER_GLOBAL("vta.simulator.profiler_debug_mode").set_body_typed(DebugMode);

}  // namespace
