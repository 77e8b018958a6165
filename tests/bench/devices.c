// SPDX-License-Identifier: GPL-2.0-only
/*
 * devices.c - ResNet-18's layers on all kinds of devices, and how fast each is
 *
 * soft, and every OpenCL device that there is, in turns, layer by layer. What OpenCL says of
 * a device is the limit beside it. It runs on the host; beside these it shows what
 * devices_card.c has measured in the guest just before.
 */
#define CL_TARGET_OPENCL_VERSION	120
#include <CL/cl.h>
#include <string.h>

#include "layers.h"

#define DEVICES_MAX	8
#define ROUNDS		3
#define CARD		"emulated_card"

struct device {
	struct layers on;
	char chip[64];
	double limit;		/* micro-ops a second; 0: not known */
};

/* A row of the table. */
struct row {
	const char *device;
	double ns, executed_ns;
	double uops;
	double soft_ns;		/* what soft took */
};

/* One multiplication of 32 bits in each lane that OpenCL tells of, each cycle. */
static void ask_opencl(struct device *d, unsigned int platform, unsigned int number)
{
	cl_uint units = 0, mhz = 0, lanes = 0;
	cl_platform_id platforms[8];
	cl_device_id ids[16];

	if (clGetPlatformIDs(8, platforms, NULL) ||
	    clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 16, ids, NULL))
		return;
	clGetDeviceInfo(ids[number], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	clGetDeviceInfo(ids[number], CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(mhz), &mhz, NULL);
	clGetDeviceInfo(ids[number], CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof(lanes), &lanes,
			NULL);
	clGetDeviceInfo(ids[number], CL_DEVICE_NAME, sizeof(d->chip) - 1, d->chip, NULL);
	d->limit = (double)units * mhz * 1e6 * lanes / MACS_PER_UOP;
	printf("%s: %s\n", d->on.name, d->chip);
	printf("  as OpenCL tells: %u units, %u MHz, %u lanes each, %.0f Muops/s at most\n", units,
	       mhz, lanes, d->limit / 1e6);
}

static void open_device(struct device *d, const char *name, unsigned int rounds)
{
	unsigned int platform, number;

	layers_open(&d->on, name, rounds);
	if (sscanf(name, "opencl:%u.%u", &platform, &number) == 2)
		ask_opencl(d, platform, number);
}

/* soft first: ratios are to it. */
static unsigned int open_all(struct device *devices, unsigned int rounds)
{
	struct vtadev_card *cards;
	int count = vtadev_list_all(&cards);
	unsigned int n = 1;

	must(count, "listing devices");
	open_device(&devices[0], "soft", rounds);
	for (int i = 0; i < count && n < DEVICES_MAX; i++)
		if (!strncmp(cards[i].node, "opencl:", 7))
			open_device(&devices[n++], cards[i].node, rounds);
	vtadev_list_free(cards);
	return n;
}

/* What the guest has measured; NULL: nothing was run there. */
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

static struct json_object *tell(const char *what, struct json_object *results,
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
	tell(layer, results, row);
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
		double limit = d < count ? devices[d].limit : 0;

		to = tell("all", results, &sums[d]);
		if (d == count)
			break;
		json_text(to, "chip", devices[d].chip);
		json_num(to, "limit_uops_per_s", limit);
		if (limit > 0)
			printf("%22s%.3f of what OpenCL tells\n", "",
			       sums[d].uops / sums[d].ns * 1e9 / limit);
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
	count = open_all(devices, bench_times(&bench, ROUNDS));
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
