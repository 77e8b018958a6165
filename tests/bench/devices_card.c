// SPDX-License-Identifier: GPL-2.0-only
/*
 * devices_card.c - ResNet-18's layers on the emulated card, for the part "devices"
 *
 * It runs in the guest before that part does on the host, which reads what it leaves.
 */
#include "layers.h"

#define ROUNDS	3

int main(int argc, char **argv)
{
	static struct layers card;
	struct bench bench;

	bench_begin(&bench, "devices_card", argc, argv);
	printf("\nlayers of ResNet-18 on an emulated card in real time; outputs equal the CPU's\n");
	printf("%-6s %9s %9s\n", "layer", "ms", "executed");
	layers_open(&card, "0", bench_times(&bench, ROUNDS));
	for (unsigned int i = 0; i < (bench.quick ? 2 : RESNET_LAYERS); i++) {
		struct json_object *to = json_sub(bench.results, resnet_layers[i].name);

		layers_run(&card, &resnet_layers[i]);
		printf("%-6s %9.3f %9.3f\n", resnet_layers[i].name, card.ns / 1e6,
		       card.executed_ns / 1e6);
		fflush(stdout);
		json_num(to, "ns", card.ns);
		json_num(to, "executed_ns", card.executed_ns);
	}
	layers_close(&card);
	bench_end(&bench);
	return 0;
}
