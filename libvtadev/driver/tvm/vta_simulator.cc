// SPDX-License-Identifier: Apache-2.0
/*
 * vta_simulator.cc - what TVM's Python asks the simulator of VTA for, from a card
 *
 * Compiled with TVM's VTA runtime into libvta_fsim (build-runtime does it). The names are
 * TVM's: vta.testing.simulator.enabled() looks for the first of them, clear_stats(),
 * stats() and debug_mode() call them.
 *
 * The figures are differences of the card's debug counters (docs/hardware.md, section
 * 12), which count for all users of the card together: for one's own, be its only user. The
 * names are those of /sys/class/vta/vtaN/counters, and gemm_counter and alu_counter have
 * the simulator's names too. What the simulator tells of bytes by kind of memory
 * (inp_load_nbytes and so on) a card does not count.
 */
#include <tvm/runtime/logging.h>
#include <tvm/runtime/registry.h>
#include <vtadev.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>

namespace {

struct Counter {
	const char *name;	/* for Python */
	const char *file;	/* in sysfs */
};

const Counter counters[] = {
	{ "gemm_counter", "gemm_uops" },
	{ "alu_counter", "alu_uops" },
	{ "runs", "runs" },
	{ "insns", "insns" },
	{ "compute_cycles", "compute_cycles" },
	{ "dma_read_bytes", "dma_read_bytes" },
	{ "dma_write_bytes", "dma_write_bytes" },
	{ "mem_read_bytes", "mem_read_bytes" },
	{ "mem_write_bytes", "mem_write_bytes" },
};

std::mutex lock;			/* Protects: cleared */
uint64_t cleared[std::size(counters)];	/* where they were at profiler_clear */

/* The directory of the card that VTADeviceAlloc() takes. */
std::string CountersDir()
{
	struct vtadev_card card;
	int err = vtadev_find(std::getenv("VTADEV_DEVICE"), &card);

	ICHECK_EQ(err, 0) << "no VTA card: " << vtadev_strerror(err);
	return "/sys/class/vta/vta" + std::to_string(card.index) + "/counters/";
}

uint64_t Read(const std::string &path)
{
	std::ifstream file(path);
	uint64_t value = 0;

	ICHECK(file >> value) << path << ": cannot be read";
	return value;
}

void Clear()
{
	std::lock_guard<std::mutex> guard(lock);
	std::string dir = CountersDir();

	for (size_t i = 0; i < std::size(counters); i++)
		cleared[i] = Read(dir + counters[i].file);
}

/* A JSON object. A reset of the card sets its counters to 0: then they count from there. */
std::string Status()
{
	std::lock_guard<std::mutex> guard(lock);
	std::string dir = CountersDir();
	std::ostringstream out;

	for (size_t i = 0; i < std::size(counters); i++) {
		uint64_t now = Read(dir + counters[i].file);

		if (now < cleared[i])
			cleared[i] = 0;
		out << (i ? ", \"" : "{\"") << counters[i].name << "\": " << now - cleared[i];
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
