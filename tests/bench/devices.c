// SPDX-License-Identifier: GPL-2.0-only
/*
 * devices.c - the speed of all kinds of devices on ResNet-18's layers
 *
 * Runs soft and every OpenCL device in turns, layer by layer, on the host. The device's peak of
 * multiplications (peak.c) is the limit. Shows also the values that devices_card.c has measured in
 * the guest just before.
 */
#include <string.h>

#include "layers.h"
#include "peak.h"

#define DEVICES_MAX	8
#define ROUNDS		3
#define PEAK_NS		5e8		/* to measure for */
#define CARD		"emulated_card"

struct device {
	struct layers on;
	char chip[64];
	struct peak peak;
};

/* A row of the table. */
struct row {
	const char *device;
	double ns, executed_ns;
	double uops;
	double soft_ns;		/* what soft took */
};

/* Micro-ops a second, if each multiplication were one of bytes. */
static double limit_of(const struct device *d)
{
	return d->peak.int8 / MACS_PER_UOP;
}

static void measure_opencl(struct device *d, unsigned int platform, unsigned int number, double ns)
{
	cl_platform_id platforms[16];
	cl_device_id ids[64];

	must(clGetPlatformIDs(16, platforms, NULL), "clGetPlatformIDs");
	must(clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 64, ids, NULL),
	     "clGetDeviceIDs");
	clGetDeviceInfo(ids[number], CL_DEVICE_NAME, sizeof(d->chip) - 1, d->chip, NULL);
	d->peak = peak_opencl(ids[number], ns);
}

static void open_device(struct device *d, const char *name, const struct bench *bench)
{
	double ns = bench->quick ? 1 : PEAK_NS;
	unsigned int platform, number;

	layers_open(&d->on, name, bench_times(bench, ROUNDS));
	if (sscanf(name, "opencl:%u.%u", &platform, &number) == 2) {
		measure_opencl(d, platform, number, ns);
	} else {
		snprintf(d->chip, sizeof(d->chip), "one thread of the host");
		d->peak = peak_host(ns);
	}
	printf("%s: %s\n  at most %.1f G multiplications of 8 bits a second, %.1f G of 32 bits: "
	       "%.1f Muops/s\n", name, d->chip, d->peak.int8 / 1e9, d->peak.int32 / 1e9,
	       limit_of(d) / 1e6);
}

/* soft first: ratios are to it. */
static unsigned int open_all(struct device *devices, const struct bench *bench)
{
	struct vtadev_card *cards;
	int count = vtadev_list_all(&cards);
	unsigned int n = 1;

	must(count, "listing devices");
	open_device(&devices[0], "soft", bench);
	for (int i = 0; i < count && n < DEVICES_MAX; i++)
		if (!strncmp(cards[i].node, "opencl:", 7))
			open_device(&devices[n++], cards[i].node, bench);
	vtadev_list_free(cards);
	return n;
}

/* The results of the guest, or NULL if nothing was run there. */
static struct json_object *card_results(const struct bench *bench)
{
	struct json_object *results;
	char path[256];

	snprintf(path, sizeof(path), "%s/devices_card.json", bench->out);
	results = json_object_from_file(path);
	if (results)
		printf("the emulated card: in the VM, with driver and library there; not in turns "
		       "with the others,\n  but just before\n");
	else
		printf("the emulated card: not in this run, which has no VM\n");
	return results;
}

static double number(struct json_object *of, const char *name)
{
	struct json_object *value = NULL;

	must(json_object_object_get_ex(of, name, &value) ? 0 : -1, name);
	return json_object_get_double(value);
}

static struct json_object *report_results(const char *what, struct json_object *results,
					  const struct row *row)
{
	struct json_object *to = json_sub(results, row->device);
	double rate = row->uops / row->ns * 1e9;

	printf("%-6s %-14s %9.3f %9.3f %9.1f %7.3f\n", what, row->device, row->ns / 1e6,
	       row->executed_ns / 1e6, rate / 1e6, row->soft_ns / row->ns);
	fflush(stdout);
	json_num(to, "ns", row->ns);
	json_num(to, "executed_ns", row->executed_ns);
	json_num(to, "uops_per_s", rate);
	json_num(to, "to_soft", row->soft_ns / row->ns);
	return to;
}

/* One more line of the table, and into the sum of the device's. */
static void tell_layer(struct bench *bench, const char *layer, struct json_object *results,
		       const struct row *row, struct row *sum)
{
	report_results(layer, results, row);
	fprintf(bench->dat, "%s %g\n", row->device, row->soft_ns / row->ns);
	sum->device = row->device;
	sum->ns += row->ns;
	sum->executed_ns += row->executed_ns;
	sum->uops += row->uops;
	sum->soft_ns += row->soft_ns;
}

/* On all devices, and what the card took; @sums has a row for each, the card's last. */
static void one_layer(struct bench *bench, const struct resnet_layer *l, struct device *devices,
		      unsigned int count, struct json_object *card, struct row *sums)
{
	struct json_object *results = json_sub(bench->results, l->name), *took;
	struct row row = { 0 };

	for (unsigned int d = 0; d < count; d++) {
		struct layers *on = &devices[d].on;

		row.uops = layers_run(on, l);
		row.device = on->name;
		row.ns = on->ns;
		row.executed_ns = on->executed_ns;
		row.soft_ns = devices[0].on.ns;
		tell_layer(bench, l->name, results, &row, &sums[d]);
	}
	if (!card || !json_object_object_get_ex(card, l->name, &took))
		return;
	row.device = CARD;
	row.ns = number(took, "ns");
	row.executed_ns = number(took, "executed_ns");
	tell_layer(bench, l->name, results, &row, &sums[count]);
}

static void tell_sums(struct bench *bench, const struct device *devices, unsigned int count,
		      const struct row *sums)
{
	struct json_object *results = json_sub(bench->results, "all"), *to;

	for (unsigned int d = 0; d <= count && sums[d].device; d++) {
		double share;

		to = report_results("all", results, &sums[d]);
		if (d == count)
			break;
		share = sums[d].uops / sums[d].ns * 1e9 / limit_of(&devices[d]);
		json_text(to, "chip", devices[d].chip);
		json_num(to, "int8_per_s", devices[d].peak.int8);
		json_num(to, "int32_per_s", devices[d].peak.int32);
		json_num(to, "limit_uops_per_s", limit_of(&devices[d]));
		json_num(to, "to_limit", share);
		printf("%22s%.4f of what it can multiply\n", "", share);
	}
}

int main(int argc, char **argv)
{
	static struct device devices[DEVICES_MAX];
	struct row sums[DEVICES_MAX + 1] = { 0 };
	struct json_object *card;
	struct bench bench;
	unsigned int count;

	bench_begin(&bench, "devices", argc, argv);
	printf("\nlayers of ResNet-18; outputs equal the CPU's\n");
	count = open_all(devices, &bench);
	card = card_results(&bench);
	printf("%-6s %-14s %9s %9s %9s %7s\n", "layer", "device", "ms", "executed", "Muops/s",
	       "to soft");
	for (unsigned int i = 0; i < (bench.quick ? 2 : RESNET_LAYERS); i++)
		one_layer(&bench, &resnet_layers[i], devices, count, card, sums);
	tell_sums(&bench, devices, count, sums);
	for (unsigned int d = 0; d < count; d++)
		layers_close(&devices[d].on);
	json_object_put(card);
	bench_end(&bench);
	return 0;
}
