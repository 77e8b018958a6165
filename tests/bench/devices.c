// SPDX-License-Identifier: GPL-2.0-only
/*
 * devices.c - ResNet-18's layers on the devices in the process, and how fast each is
 *
 * soft, and every OpenCL device that there is: TVM's default core, streams and tensors in
 * card memory, every output compared with the CPU's. Devices take turns, layer by layer.
 * What OpenCL says of a device is the limit beside it. It runs on the host.
 */
#define CL_TARGET_OPENCL_VERSION	120
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "resnet.h"

#define DEVICES_MAX	8
#define ROUNDS		3
#define MACS_PER_UOP	256.0

struct device {
	char name[64];
	char chip[64];
	double limit;			/* micro-ops a second; 0: not known */
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	struct machine machine;
	unsigned int rounds;
	double ns;			/* of the last run, the least of its rounds */
};

static uint64_t cycles_of(struct vtadev *dev)
{
	struct vtadev_counters counters;

	must(vtadev_counters(dev, &counters), "counters");
	return counters.compute_cycles;
}

static double run_once(struct device *d, uint32_t insn_addr, uint32_t insns)
{
	struct vta_desc desc = vtadev_desc_run(insn_addr, insns, 0);
	double before = now_ns();
	uint64_t seq;

	must(vtadev_submit(d->queue, &desc, 1, &seq), "submitting");
	must(vtadev_wait(d->queue, seq, -1), "waiting");
	return now_ns() - before;
}

static void run(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	struct device *d = m->model;
	uint64_t cycles;
	double ns;

	must(vtadev_buf_write(d->buf, 0, m->mem, m->used), "writing");
	for (unsigned int i = 0; i < d->rounds; i++) {
		cycles = cycles_of(d->dev);
		ns = run_once(d, insn_addr, insns);
		m->stats.cycles = cycles_of(d->dev) - cycles;
		d->ns = !i || ns < d->ns ? ns : d->ns;
	}
	must(vtadev_buf_read(d->buf, 0, m->mem, m->used), "reading");
}

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
	printf("%s: %s\n", d->name, d->chip);
	printf("  as OpenCL tells: %u units, %u MHz, %u lanes each, %.0f Muops/s at most\n", units,
	       mhz, lanes, d->limit / 1e6);
}

static void open_device(struct device *d, const char *name, unsigned int rounds)
{
	unsigned int platform, number;

	snprintf(d->name, sizeof(d->name), "%s", name);
	must(vtadev_open(name, &d->dev), name);
	must(vtadev_queue_create(d->dev, NULL, &d->queue), "a queue");
	must(vtadev_buf_alloc(d->dev, RESNET_MEMORY, VTADEV_CARD, &d->buf), "card memory");
	d->rounds = rounds;
	d->machine = (struct machine) {
		.core = emulated_core(&core_config_default),
		.mem = must_ptr(calloc(1, RESNET_MEMORY), "memory"),
		.base = vtadev_buf_addr(d->buf), .size = RESNET_MEMORY,
		.run = run, .model = d,
	};
	must(vtaops_core_init(&d->machine.core), "the core");
	if (sscanf(name, "opencl:%u.%u", &platform, &number) == 2)
		ask_opencl(d, platform, number);
}

static void close_device(struct device *d)
{
	vtadev_queue_destroy(d->queue);
	vtadev_buf_free(d->buf);
	vtadev_close(d->dev);
	free(d->machine.mem);
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

/* Micro-ops a second. */
static double one_layer(struct bench *bench, struct device *d, const struct resnet_layer *l,
			double soft)
{
	struct json_object *to;
	struct resnet_result r;
	double rate;

	d->machine.used = 0;
	resnet_run_on(&d->machine, l, 1, &r);
	must(r.exact ? 0 : -1, "a layer's output is not the CPU's");
	rate = (double)r.macs / MACS_PER_UOP / d->ns * 1e9;
	printf("%-6s %-12s %9.3f %9.1f %7.3f\n", l->name, d->name, d->ns / 1e6, rate / 1e6,
	       soft > 0 ? rate / soft : 1.0);
	to = json_sub(json_sub(bench->results, l->name), d->name);
	json_num(to, "ns", d->ns);
	json_num(to, "uops_per_s", rate);
	json_num(to, "to_soft", soft > 0 ? rate / soft : 1.0);
	fprintf(bench->dat, "%s %g\n", d->name, soft > 0 ? rate / soft : 1.0);
	return rate;
}

static void total(struct bench *bench, const struct device *d, double ns, double uops, double soft)
{
	struct json_object *to = json_sub(json_sub(bench->results, "all"), d->name);
	double rate = uops / ns * 1e9;

	printf("%-6s %-12s %9.3f %9.1f %7.3f", "all", d->name, ns / 1e6, rate / 1e6, soft / ns);
	if (d->limit > 0)
		printf("   %.3f of what OpenCL tells\n", rate / d->limit);
	else
		printf("\n");
	json_num(to, "ns", ns);
	json_num(to, "uops_per_s", rate);
	json_num(to, "to_soft", soft / ns);
	json_text(to, "chip", d->chip);
	json_num(to, "limit_uops_per_s", d->limit);
}

int main(int argc, char **argv)
{
	static struct device devices[DEVICES_MAX];
	double ns[DEVICES_MAX] = { 0 }, uops = 0, soft, rate;
	struct bench bench;
	unsigned int count;

	bench_begin(&bench, "devices", argc, argv);
	printf("\nlayers of ResNet-18 on devices in the process; outputs equal the CPU's\n");
	count = open_all(devices, bench_times(&bench, ROUNDS));
	printf("%-6s %-12s %9s %9s %7s\n", "layer", "device", "ms", "Muops/s", "to soft");
	for (unsigned int i = 0; i < (bench.quick ? 2 : RESNET_LAYERS); i++) {
		soft = 0;
		for (unsigned int d = 0; d < count; d++) {
			rate = one_layer(&bench, &devices[d], &resnet_layers[i], soft);
			soft = d ? soft : rate;
			uops += d ? 0 : rate * devices[d].ns / 1e9;
			ns[d] += devices[d].ns;
		}
	}
	for (unsigned int d = 0; d < count; d++) {
		total(&bench, &devices[d], ns[d], uops, ns[0]);
		close_device(&devices[d]);
	}
	bench_end(&bench);
	return 0;
}
