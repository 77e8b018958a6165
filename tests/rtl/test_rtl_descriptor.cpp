// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_rtl_descriptor.cpp - random descriptors through the check in RTL and that of the contract
 *
 * Most have one thing wrong or none, with sizes near the limits.
 *
 * test_rtl_descriptor [DESCRIPTORS [SEED]]
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "Vvta_descriptor.h"
#include "verilated.h"

#include "vta_desc.h"

namespace {

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

vta_desc random_descriptor(rng &r)
{
	unsigned int op = r.one_in(30) ? r.below(256) : r.below(6);
	const struct vta_desc_rule *rule = vta_desc_rule(static_cast<vta_op>(op));
	uint32_t all[16] = { op }, *words = all + 4;
	vta_desc d;

	if (r.one_in(3)) {
		all[0] |= VTA_DESC_STAMP;
		all[1] = r.next() & -8u;
	}
	if (rule && rule->unit == VTA_UNIT_COMPUTE && r.one_in(3))
		all[0] |= VTA_DESC_KEEP;
	for (unsigned int i = 0; i < VTA_DESC_WORDS; i++)
		if (rule && rule->words >> i & 1 && !r.one_in(4))
			words[i] = r.one_in(3) ? r.next() : r.below(100);
	if (rule)
		words[0] &= -static_cast<uint32_t>(rule->align);
	if (rule && rule->unit == VTA_UNIT_COPY && r.one_in(2)) {
		/* As many bytes as are allowed, or one row more or less. */
		unsigned int log = r.below(33);

		words[2] = log < 32 ? 1u << log : UINT32_MAX;
		words[3] = (log ? 1u << (32 - log) : UINT32_MAX) + r.below(3) - 1;
	}
	if (r.one_in(4))
		all[r.below(16)] ^= 1u << r.below(32);
	memcpy(&d, all, sizeof(d));
	return d;
}

bool check(Vvta_descriptor &top, rng &r)
{
	vta_desc d = random_descriptor(r);
	bool keeps = r.one_in(2);
	uint64_t least = vta_desc_copy_cycles(&d);
	uint64_t limit = r.one_in(2) ? 0 : r.one_in(3) ? r.next() : least + r.below(3) - 1;
	vta_desc_error want = vta_desc_check(&d, limit, keeps);
	bool same;

	memcpy(&top.descriptor, &d, sizeof(d));
	top.limit = limit;
	top.keeps = keeps;
	top.start = 1;
	for (int n = 0; n == 0 || (n < 8 && !top.done); n++) {
		top.clk = 0;
		top.eval();
		top.clk = 1;
		top.eval();
		top.start = 0;
	}
	same = top.done && top.reason == static_cast<unsigned int>(want.reason) &&
	       top.access == static_cast<unsigned int>(want.access) && top.address == want.addr;
	if (!want.reason)
		same &= top.unit == static_cast<unsigned int>(vta_desc_unit(&d));
	if (!want.reason && vta_desc_unit(&d) == VTA_UNIT_COPY)
		same &= top.copy_cycles == least;
	if (same)
		return true;
	printf("# reason %u access %u address 0x%" PRIx32 " unit %u, not reason %d access %d "
	       "address 0x%" PRIx32 ", with limit %" PRIu64 " of\n#", top.reason, top.access,
	       top.address, top.unit, want.reason, want.access, want.addr, limit);
	for (unsigned int i = 0; i < 16; i++)
		printf(" %" PRIx32, static_cast<uint32_t>(top.descriptor[i]));
	printf("\n");
	return false;
}

} /* namespace */

int main(int argc, char **argv)
{
	auto count = static_cast<unsigned int>(strtoul(argc > 1 ? argv[1] : "200000", nullptr, 0));
	rng r = { (argc > 2 ? strtoull(argv[2], nullptr, 0) : 1) * 0x9e3779b97f4a7c15 + 1 };
	VerilatedContext context;
	auto top = std::make_unique<Vvta_descriptor>(&context);
	unsigned int n = 0;

	top->reset = 0;
	while (n < count && check(*top, r))
		n++;
	printf("%sok 1 - %u descriptors are checked as the contract says\n",
	       n < count ? "not " : "", n);
	return n < count;
}
