// SPDX-License-Identifier: GPL-2.0-only
/*
 * conv.c - how near to the roofline the operators bring ResNet-18's layers
 *
 * On TVM's default core, cycles by the card's model, every output compared with
 * the CPU's. The same numbers in each run and on each machine. It runs on the host,
 * without card and VM.
 */
#include <ctype.h>
#include <inttypes.h>

#include "bench.h"
#include "resnet.h"

static double one_layer(struct bench *bench, const struct resnet_layer *l)
{
	struct resnet_result r;
	struct json_object *to;
	char shape[40], name[8] = "";

	resnet_run(l, &core_config_default, 1, &r);
	must(r.exact ? 0 : -1, "a layer's output is not the CPU's");
	snprintf(shape, sizeof(shape), "%ux%ux%u -> %u, %ux%u / %u", l->size, l->size, l->in,
		 l->units, l->k, l->k, l->stride);
	printf("%-6s %-26s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %6.3f %6zu %6zu\n", l->name,
	       shape, r.cycles, r.compute, r.memory, r.ratio, r.insns, r.uops);
	fprintf(bench->dat, "%s %g\n", l->name, r.ratio);
	for (size_t i = 0; l->name[i] && i + 1 < sizeof(name); i++)
		name[i] = (char)tolower(l->name[i]);
	to = json_sub(bench->results, name);
	json_text(to, "shape", shape);
	json_text(to, "bound", r.compute > r.memory ? "compute" : "memory");
	json_num(to, "macs", (double)r.macs);
	json_num(to, "cycles", (double)r.cycles);
	json_num(to, "compute_bound_cycles", (double)r.compute);
	json_num(to, "memory_bound_cycles", (double)r.memory);
	json_num(to, "share_of_roofline", r.ratio);
	json_num(to, "gemm_uops", (double)r.gemm_uops);
	json_num(to, "alu_uops", (double)r.alu_uops);
	json_num(to, "stream_instructions", (double)r.insns);
	json_num(to, "stream_uops", (double)r.uops);
	return r.ratio;
}

int main(int argc, char **argv)
{
	double share[RESNET_LAYERS];
	struct bench bench;
	char what[64];

	bench_begin(&bench, "conv", argc, argv);
	printf("\nlayers of ResNet-18, cycles by the card's model; outputs equal the CPU's\n");
	printf("%-6s %-26s %9s %9s %9s %6s %6s %6s\n", "layer", "shape, kernel / stride",
	       "cycles", "compute", "memory", "share", "insns", "uops");
	for (unsigned int i = 0; i < RESNET_LAYERS; i++)
		share[i] = one_layer(&bench, &resnet_layers[i]);
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		if (resnet_layers[i].k > 3)
			continue;
		snprintf(what, sizeof(what), "share of the roofline, %s", resnet_layers[i].name);
		bench_target(&bench, what, share[i], AT_LEAST,
			     resnet_layers[i].k == 3 ? 0.7 : 0.65);
	}
	bench_end(&bench);
	return 0;
}
