// SPDX-License-Identifier: GPL-2.0-only
/*
 * programs.cc - TVM's VTA runtime on a card: the calls of compiled programs, and of TVM's Python
 *
 * Built against the runtime as it is, and against one whose buffers are so small that it
 * has to synchronise in the middle of an operator. Prints TAP.
 */
#include <tvm/runtime/c_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "ops.hh"
#include "runtime.h"

static const uint32_t kForever = 1u << 31;	/* as TVM has it */
static const unsigned int kRepeats = 4;

/* ---- Operators ---- */

static bool DenseOnce()
{
	Dense dense(1, 4, 3, 5);

	dense.Push();
	Sync(LastPop::BEFORE, kForever);
	return dense.Check();
}

static bool ConvOnce()
{
	Conv2d conv(2, 2, 2, 6);

	conv.Push();
	Sync(LastPop::BEFORE, kForever);
	return conv.Check();
}

/* The second run begins by popping the first one's last token. */
static bool TokensCrossRuns()
{
	Dense dense(3, 4, 2, 3);
	Conv2d conv(4, 1, 2, 5);
	bool right = true;

	for (unsigned int i = 0; i < kRepeats; i++) {
		dense.Push();
		Sync(LastPop::BEHIND, kForever);
		right &= dense.Check();
		conv.Push();
		Sync(LastPop::BEHIND, kForever);
		right &= conv.Check();
	}
	/* Pop the last token, too. */
	dense.Push();
	Sync(LastPop::BEFORE, kForever);
	return right && dense.Check();
}

/* The operator has more instructions than the small buffer holds. */
static bool LongOperators()
{
	Dense dense(5, 6, 8, 20);
	Conv2d conv(6, 6, 6, 6);
	bool right = true;

	for (unsigned int i = 0; i < kRepeats; i++) {
		dense.Push();
		Sync(LastPop::BEFORE, kForever);
		right &= dense.Check();
		conv.Push();
		Sync(LastPop::BEFORE, kForever);
		right &= conv.Check();
	}
	return right;
}

/* ---- Errors ---- */

/* The runtime throws, keeps its queue, and appends the next calls. */
static bool AFailedRunIsCaught()
{
	Dense first(7, 4, 3, 4), second(8, 3, 2, 4);
	bool thrown = false;

	first.Push();
	try {
		Sync(LastPop::BEFORE, 1);
	} catch (const std::exception &) {
		thrown = true;
	}
	second.Push();
	Sync(LastPop::BEFORE, kForever);
	return thrown && first.Check() && second.Check();
}

/* ---- Calls of TVM's Python ---- */

static TVMFunctionHandle Function(const char *name)
{
	TVMFunctionHandle function = nullptr;

	if (TVMFuncGetGlobal(name, &function) || !function)
		printf("# %s is not there\n", name);
	return function;
}

/* Copy to and from memory of the device ext_dev, through TVM's arrays. */
static bool ArraysAreCopied()
{
	const int64_t shape[] = { 1000 };
	char in[1000], out[1000] = "";
	TVMArrayHandle array = nullptr;
	bool right;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = static_cast<char>(i * 7);
	if (TVMArrayAlloc(shape, 1, kDLInt, 8, 1, kDLExtDev, 0, &array)) {
		printf("# %s\n", TVMGetLastError());
		return false;
	}
	right = !TVMArrayCopyFromBytes(array, in, sizeof(in)) &&
		!TVMArrayCopyToBytes(array, out, sizeof(out)) && !memcmp(in, out, sizeof(in));
	TVMArrayFree(array);
	return right;
}

static std::string Stats()
{
	TVMFunctionHandle status = Function("vta.simulator.profiler_status");
	TVMValue value, result = {};
	int type, code = 0;

	if (!status || TVMFuncCall(status, &value, &type, 0, &result, &code) || code != kTVMStr) {
		printf("# %s\n", TVMGetLastError());
		return "";
	}
	return result.v_str;
}

static uint64_t Stat(const std::string &stats, const char *name)
{
	size_t at = stats.find(std::string("\"") + name + "\": ");

	return at == std::string::npos ? UINT64_MAX :
	       strtoull(stats.c_str() + at + strlen(name) + 4, nullptr, 10);
}

/* Count this program's work: no other may use the card. */
static bool PythonGetsStatistics()
{
	TVMFunctionHandle clear = Function("vta.simulator.profiler_clear");
	Dense dense(9, 4, 3, 5);
	TVMValue value, result;
	std::string stats;
	int type, code;

	if (!clear || TVMFuncCall(clear, &value, &type, 0, &result, &code))
		return false;
	dense.Push();
	Sync(LastPop::BEFORE, kForever);
	stats = Stats();
	printf("# %s\n", stats.c_str());
	return Stat(stats, "gemm_counter") == dense.GemmOps() &&
	       Stat(stats, "alu_counter") == 3ull * dense.m * dense.n &&
	       Stat(stats, "runs") >= 1 && Stat(stats, "runs") < 100 &&
	       !TVMFuncCall(clear, &value, &type, 0, &result, &code) &&
	       Stat(Stats(), "gemm_counter") == 0 && dense.Check();
}

static bool DebugModesAreRefused()
{
	TVMFunctionHandle mode = Function("vta.simulator.profiler_debug_mode");
	TVMValue value, result;
	int type = kTVMArgInt, code;

	value.v_int64 = 0;
	if (!mode || TVMFuncCall(mode, &value, &type, 1, &result, &code))
		return false;
	value.v_int64 = 1;
	return TVMFuncCall(mode, &value, &type, 1, &result, &code) &&
	       strstr(TVMGetLastError(), "no debug mode 1");
}

/* ---- The program ---- */

/* Flags: the test can run on TVM's simulator, on a card that others use. */
enum { SIMULATOR = 1, SHARED = 2 };

static const struct Test {
	const char *name;
	bool (*run)();
	unsigned int where;
} tests[] = {
	{ "dense", DenseOnce, SIMULATOR | SHARED },
	{ "conv2d", ConvOnce, SIMULATOR | SHARED },
	{ "long_operators", LongOperators, SIMULATOR | SHARED },
	{ "tokens_cross_runs", TokensCrossRuns, SIMULATOR | SHARED },
	{ "a_failed_run_is_caught", AFailedRunIsCaught, SHARED },
	{ "arrays_are_copied", ArraysAreCopied, SIMULATOR | SHARED },
	{ "python_gets_statistics", PythonGetsStatistics, 0 },
	{ "debug_modes_are_refused", DebugModesAreRefused, 0 },
};

/* Run a test and drop the runtime's queue, so that the next test does not get its rest. */
static bool Run(const Test &test)
{
	bool right = false;

	try {
		right = test.run();
	} catch (const std::exception &error) {
		std::string text = error.what();

		printf("# %s: %s\n", test.name, text.substr(0, text.find('\n')).c_str());
	}
	VTARuntimeShutdown();
	return right;
}

/* programs [simulator|shared]: run the tests that can run there; without an argument all. */
int main(int argc, char **argv)
{
	unsigned int n = 0, failed = 0, where = 0;

	if (argc > 1)
		where = strcmp(argv[1], "simulator") ? SHARED : SIMULATOR;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const auto &test : tests) {
		bool right;

		if ((test.where & where) != where)
			continue;
		right = Run(test);
		failed += !right;
		printf("%s %u %s\n", right ? "ok" : "not ok", ++n, test.name);
	}
	printf("1..%u\n", n);
	return failed ? 1 : 0;
}
