// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_arbiter.cpp - random scheduling by vta_arbiter in RTL, against the arbiter in C
 *
 * tests/emu/test_arbiter.c compares the latter with the steps of docs/hardware.md, 6. Each chosen
 * queue is the same; credits show in the choices that follow. A choice takes a bounded number of
 * clocks, whatever the groups owe.
 *
 * test_rtl_arbiter [STEPS [SEED]]
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "Vvta_arbiter.h"
#include "verilated.h"

#define _Static_assert static_assert
extern "C" {
#include "model/arbiter.h"
}

namespace {

constexpr unsigned int queues = 40, groups = 12;	/* as the model is built */
constexpr uint64_t quantum = VTA_GROUP_QUANTUM_NS;
/* Of a choice: a division for each group, three passes, a search of all queues. */
constexpr uint64_t clocks_most = 20 * groups + 2 * 3 * groups + 2 * queues + 20;

/* vta_card_pkg::ARBITER_* */
enum kind { kind_offer, kind_withdraw, kind_weight, kind_charge, kind_idle, kind_choose };

struct rng {
	uint64_t s;

	uint32_t below(uint32_t n)
	{
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		return static_cast<uint32_t>(s >> 16) % n;
	}
	bool one_in(uint32_t n) { return below(n) == 0; }
};

class rig {
public:
	explicit rig(rng &random);
	/* Returns the chosen queue; -1 for none, or for another request. */
	int ask(kind k, unsigned int queue, unsigned int group, uint64_t value);
	unsigned int priority[queues] = {};
	uint64_t most = 0;	/* clocks of a choice */

private:
	void tick();
	void wait_ready();

	VerilatedContext context;
	std::unique_ptr<Vvta_arbiter> top;
	uint64_t clocks = 0;
};

rig::rig(rng &random)
{
	context.randReset(2);
	context.randSeed(static_cast<int>(random.below(INT32_MAX)));
	top = std::make_unique<Vvta_arbiter>(&context);
	top->request = 0;
	top->reset = 1;
	tick();
	top->reset = 0;
	wait_ready();
}

void rig::tick()
{
	unsigned int looked = top->look_queue;

	top->clk = 0;
	top->eval();
	looked = top->look_queue;
	top->clk = 1;
	top->eval();
	top->look_priority = looked < queues ? priority[looked] : 0;
	top->eval();
	clocks++;
}

void rig::wait_ready()
{
	uint64_t begin = clocks;

	while (!top->request_ready) {
		tick();
		if (clocks - begin > 2 * clocks_most)
			throw "does not end";
	}
}

int rig::ask(kind k, unsigned int queue, unsigned int group, uint64_t value)
{
	uint64_t begin = clocks;
	int chosen = -1;
	bool answered = false;

	top->request = 1;
	top->request_kind = k;
	top->request_queue = queue;
	top->request_group = group;
	top->request_value = value;
	top->eval();
	tick();
	top->request = 0;
	top->eval();
	while (!top->request_ready) {
		if (top->chosen) {
			answered = true;
			chosen = top->chosen_none ? -1 : static_cast<int>(top->chosen_queue);
		}
		tick();
		if (clocks - begin > 2 * clocks_most)
			throw "does not end";
	}
	if (answered != (k == kind_choose))
		throw "answers what is no choice, or no choice";
	if (k == kind_choose && clocks - begin > most)
		most = clocks - begin;
	return chosen;
}

unsigned int priority_of(const void *priv, unsigned int queue)
{
	return static_cast<const unsigned int *>(priv)[queue];
}

/* One step: something becomes ready or no longer, time passes, or a queue is chosen. */
bool step(rng &r, rig &rtl, arbiter &c, unsigned int *group_of, bool *ready)
{
	unsigned int q = r.below(queues), g = r.below(groups);
	uint64_t ns = 0;
	int expected = -1, seen;

	switch (r.below(8)) {
	case 0:
	case 1:
		if (ready[q])
			return true;
		group_of[q] = g;
		ready[q] = true;
		arbiter_add(&c, g, q);
		rtl.ask(kind_offer, q, g, 0);
		return true;
	case 2:
		if (!r.one_in(4))
			return true;
		if (ready[q])
			arbiter_del(&c, group_of[q], q);
		ready[q] = false;
		rtl.ask(kind_withdraw, q, 0, 0);
		return true;
	case 3:
		rtl.priority[q] = r.below(4);
		if (!r.one_in(20))
			return true;
		ns = r.one_in(4) ? 1 : 1 + r.below(255);
		arbiter_set_weight(&c, g, static_cast<unsigned int>(ns));
		rtl.ask(kind_weight, 0, g, ns);
		return true;
	case 4:
		if (c.count && queue_set_empty(&c.ready)) {
			ns = r.one_in(3) ? r.below(3) * quantum :
			     r.below(1u << 31) * uint64_t{ 64 };
			arbiter_idle(&c, ns);
			rtl.ask(kind_idle, 0, 0, ns / quantum);
		}
		return true;
	default:
		break;
	}
	g = static_cast<unsigned int>(arbiter_choose(&c));
	if (g < groups)
		expected = static_cast<int>(arbiter_take(&c, g, priority_of, rtl.priority));
	seen = rtl.ask(kind_choose, 0, 0, 0);
	if (seen != expected) {
		printf("# chose queue %d instead of %d\n", seen, expected);
		return false;
	}
	if (seen < 0)
		return true;
	ready[seen] = false;
	switch (r.below(4)) {
	case 0:
		ns = r.below(1000);
		break;
	case 1:
		ns = r.below(4 * quantum);
		break;
	case 2:
		ns = r.below(INT32_MAX);
		break;
	default:
		ns = r.one_in(8) ? ~uint64_t{ 0 } >> r.below(32) : quantum;
	}
	arbiter_charge(&c, group_of[seen], ns);
	rtl.ask(kind_charge, 0, group_of[seen], ns);
	return true;
}

bool run_seed(uint64_t seed, unsigned int steps, uint64_t *most)
{
	rng r = { seed * 0x9e3779b97f4a7c15 + 1 };
	unsigned int group_of[queues] = {};
	bool ready[queues] = {};
	rig rtl(r);
	arbiter c;

	arbiter_reset(&c, groups);
	for (unsigned int n = 0; n < steps; n++)
		if (!step(r, rtl, c, group_of, ready)) {
			printf("# step %u\n", n);
			return false;
		}
	*most = rtl.most > *most ? rtl.most : *most;
	return true;
}

unsigned int number(const char *text)
{
	return static_cast<unsigned int>(strtoul(text, nullptr, 0));
}

} /* namespace */

int main(int argc, char **argv)
{
	unsigned int steps = number(argc > 1 ? argv[1] : "20000");
	unsigned int first = number(argc > 2 ? argv[2] : "1");
	unsigned int seeds = argc > 2 ? 1 : 4, failed = 0;
	uint64_t most = 0;

	for (unsigned int seed = first; seed < first + seeds; seed++) {
		bool ok = false;

		try {
			ok = run_seed(seed, steps, &most);
		} catch (const char *what) {
			printf("# the RTL %s\n", what);
		}
		printf("%sok %u - %u steps of scheduling, seed %u\n", ok ? "" : "not ",
		       seed - first + 1, steps, seed);
		failed += !ok;
	}
	printf("%sok %u - a choice takes at most %" PRIu64 " clocks: %" PRIu64 "\n",
	       most && most <= clocks_most ? "" : "not ", seeds + 1, clocks_most, most);
	return failed || most > clocks_most;
}
