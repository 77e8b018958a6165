// SPDX-License-Identifier: GPL-2.0-only
/*
 * model.c - real networks as the compiler makes them: cycles against the layers'
 * rooflines, bytes that cross PCIe for an image, doorbells, memory, time to compile
 *
 * Each model is compiled for TVM's default core, and for ones with blocks of 32 and 64, and
 * an image is run on the emulator's core: the cycles are those of the card's model. It runs
 * on the host, without card and VM. Models that are not in the cache are fetched; those
 * that cannot be are left out, with a line that names them. Architectures with random weights
 * follow, compiled alone (goals.c).
 *
 * Beside them: onnxruntime in float on one processor of this machine, if npm has it, and the
 * same layers one by one, as the drivers that come with TVM launch them (polling.c).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "goals.h"
#include "programs.h"
#include "api/vtac.h"
#include "api/inputs.h"

#define CARD_HZ		100e6
#define IMAGES		4
#define SLEEPS		200

struct model {
	const char *name;
	double least;		/* the target for its share of the rooflines; 0: none */
};

static const struct model models[] = {
	{ "mnist", 0 }, { "ppocr", 0.5 }, { "esrgan", 0 }, { "mobilenetv2", 0.6 },
	{ "resnet50", 0.8 },
};

static const struct {
	const char *name;
	struct core_config config;
} cores[] = {
	{ "16x16", { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 } },
	{ "32x32", { 3, 3, 5, 0, 5, 15, 16, 20, 18, 2, 0, 0 } },
	{ "64x64", { 3, 3, 5, 0, 6, 15, 17, 22, 19, 2, 0, 0 } },
};

static struct vtac_npy images;
static double sleep_s;		/* that a sleep of 1 us takes here */
static double ort_rate;		/* images a second by onnxruntime; 0: it cannot be had */

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct vtac_error error;
	int64_t size = vtac_elements(t);

	(void)priv;
	return vtac_npy_read(&images, i * size, size, values, &error);
}

static int input(void *priv, const struct vtac_tensor *t, void *data)
{
	return read_image(priv, 0, t, data);
}

/* Of all inputs and outputs. */
static uint64_t values(const struct vtac_graph *g)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < g->n_inputs; i++)
		sum += (uint64_t)vtac_elements(g->inputs[i]);
	for (unsigned int i = 0; i < g->n_outputs; i++)
		sum += (uint64_t)vtac_elements(g->outputs[i]);
	return sum;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must_lower(struct vtac_graph *g, const struct vtac_options *opt,
		       struct vtac_program *p)
{
	if (vtac_lower(g, opt, p)) {
		fprintf(stderr, "model: %s\n", g->error.text);
		exit(1);
	}
}

static struct vtac_graph *compile(const char *path, const struct vtac_options *opt,
				  struct vtac_program *p)
{
	struct vtac_graph *g = vtac_graph_new(0);

	must(g ? 0 : -1, "out of memory");
	if (vtac_read_onnx(g, path) || vtac_run_passes(g, opt, NULL)) {
		fprintf(stderr, "model: %s: %s\n", path, g->error.text);
		exit(1);
	}
	must_lower(g, opt, p);
	return g;
}

/* ---- what others do ---- */

/* The least that nanosleep() takes for 1 us: the kernel's slack included. */
static double least_sleep(void)
{
	const struct timespec moment = { .tv_nsec = 1000 };
	double least = 1e9;

	for (unsigned int i = 0; i < SLEEPS; i++) {
		double begin = now_ns(), took;

		nanosleep(&moment, NULL);
		took = now_ns() - begin;
		least = took < least ? took : least;
	}
	return least / 1e9;
}

/* Layers that are launched and waited for one by one, as TVM's runtime does. */
struct layers {
	unsigned int launches;
	uint64_t cycles;
	double seconds;
};

/*
 * The driver starts a layer, sleeps for 1 us, and reads a register until the layer is done:
 * a layer lasts as long as the sleep at least. Registers and system calls take no time here.
 */
static struct layers one_by_one(struct vtac_graph *g, struct vtac_options opt)
{
	struct layers l = { 0 };
	struct vtac_program p;

	opt.one_by_one = true;
	must_lower(g, &opt, &p);
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		double took = (double)node->cycles / CARD_HZ;

		/* Another name for the same memory is nothing to launch. */
		if (node->device != VTAC_CARD || !node->cycles)
			continue;
		l.launches++;
		l.cycles += node->cycles;
		l.seconds += took > sleep_s ? took : sleep_s;
	}
	vtac_program_free(&p);
	return l;
}

/* Fetched, unless the run is a quick one. */
static bool have_onnxruntime(const struct bench *bench, const char *cache)
{
	char text[600];

	snprintf(text, sizeof(text), "%s/ort/node_modules/onnxruntime-node", cache);
	if (!access(text, R_OK))
		return true;
	return !bench->quick && !system("tests/vtac/models/fetch onnxruntime >&2");
}

/* Images a second in float, on one processor; 0 if it does not run here. */
static double onnxruntime(const struct bench *bench, const char *name, const char *cache)
{
	char text[2000], line[200] = "";
	double ms = 0;
	FILE *f;

	if (!have_onnxruntime(bench, cache))
		return 0;
	snprintf(text, sizeof(text),
		 "node tests/vtac/models/ort.js '%s/ort' '%s/%s.onnx' '%s/%s-calib.npy' /dev/null %d",
		 cache, cache, name, cache, name, IMAGES);
	f = popen(text, "r");
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "images, ");

		if (at)
			ms = strtod(at + strlen("images, "), NULL);
	}
	if (f)
		pclose(f);
	return ms > 0 ? 1000 / ms : 0;
}

/* ---- ours ---- */

static double one_core(struct bench *bench, const struct model *m, unsigned int which,
		       const char *path, struct json_object *results)
{
	const struct vtac_images calibrate = { .count = IMAGES, .read = read_image };
	struct vtac_shape_option shape = { .rank = 4 };
	struct vtac_options opt = {
		.core = native_core(&cores[which].config), .no_prune = true,
		.images = &calibrate, .shapes = &shape, .n_shapes = 1 };
	const struct vtac_interp io = { .input = input };
	double begin = seconds(), took, share;
	uint64_t least = 0, ends;
	struct vtac_program p;
	struct json_object *to;
	struct vtac_graph *g;
	struct layers l;
	struct native n;

	memcpy(shape.dims, images.dims, sizeof(shape.dims));
	shape.dims[0] = 1;
	g = compile(path, &opt, &p);
	took = seconds() - begin;
	must(native_init(&n, &p, &cores[which].config, CORE_ORDER_INORDER, 0), "out of memory");
	if (native_run(&n, &io)) {
		fprintf(stderr, "model: %s: %s\n", m->name, n.why);
		exit(1);
	}
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->device == VTAC_CARD && g->nodes[i]->cycles)
			least += model_roofline(g->nodes[i], &opt.core);
	l = one_by_one(g, opt);
	ends = values(g);
	share = (double)least / (double)n.cycles;
	printf("%-12s %-6s %10llu %6.3f %9.1f %6u %9.2f %6.2f %8.1f %6u %9.1f", m->name,
	       cores[which].name, (unsigned long long)n.cycles, share, CARD_HZ / (double)n.cycles,
	       n.doorbells, (double)n.copied / (double)ends,
	       (double)p.card_bytes / (double)p.card_bound, took, l.launches, 1 / l.seconds);
	if (ort_rate > 0)
		printf(" %9.1f\n", ort_rate);
	else
		printf(" %9s\n", "-");
	fprintf(bench->dat, "%s,%s %g\n", m->name, cores[which].name, share);
	to = json_sub(results, cores[which].name);
	json_num(to, "cycles", (double)n.cycles);
	json_num(to, "sum_of_rooflines", (double)least);
	json_num(to, "share_of_roofline", share);
	json_num(to, "images_per_second_at_100_MHz", CARD_HZ / (double)n.cycles);
	json_num(to, "doorbells_per_image", n.doorbells);
	json_num(to, "bytes_over_pcie", (double)n.copied);
	json_num(to, "bytes_over_pcie_per_value", (double)n.copied / (double)ends);
	json_num(to, "arena_over_lower_bound", (double)p.card_bytes / (double)p.card_bound);
	json_num(to, "compile_seconds_of_processor", took);
	json_num(to, "one_by_one_launches", l.launches);
	json_num(to, "one_by_one_cycles", (double)l.cycles);
	json_num(to, "one_by_one_images_per_second", 1 / l.seconds);
	if (!which && p.n_streams == 1)
		bench_target(bench, "bytes over PCIe for a value", (double)n.copied / (double)ends,
			     AT_MOST, 1);
	native_fini(&n);
	vtac_program_free(&p);
	vtac_graph_free(g);
	return share;
}

/* In the cache, or fetched into it; a quick run fetches nothing. */
static bool have(const struct bench *bench, const char *name, const char *cache)
{
	char text[600];

	snprintf(text, sizeof(text), "%s/%s-held.done", cache, name);
	if (!access(text, R_OK))
		return true;
	snprintf(text, sizeof(text), "tests/vtac/models/fetch %s >&2", name);
	return !bench->quick && !system(text);
}

static void one_model(struct bench *bench, const struct model *m, const char *cache)
{
	struct json_object *results;
	struct vtac_error error;
	char path[600], what[80];

	if (!have(bench, m->name, cache)) {
		printf("%-12s SKIP: not in %s\n", m->name, cache);
		json_object_object_add(json_sub(bench->results, m->name), "left_out",
				       json_object_new_string("the model was not fetched"));
		return;
	}
	snprintf(path, sizeof(path), "%s/%s-calib.npy", cache, m->name);
	if (vtac_npy_open(&images, path, &error)) {
		fprintf(stderr, "model: %s\n", error.text);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s.onnx", cache, m->name);
	results = json_sub(bench->results, m->name);
	ort_rate = onnxruntime(bench, m->name, cache);
	if (ort_rate > 0)
		json_num(results, "onnxruntime_images_per_second", ort_rate);
	for (unsigned int i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		double share = one_core(bench, m, i, path, results);

		snprintf(what, sizeof(what), "share of the rooflines, %s", m->name);
		if (m->least > 0 && !i)
			bench_target(bench, what, share, AT_LEAST, m->least);
	}
	vtac_npy_close(&images);
}

int main(int argc, char **argv)
{
	const char *cache = getenv("VTA_CACHE"), *home = getenv("XDG_CACHE_HOME");
	struct vtaops_core core;
	struct bench bench;
	char path[500];

	if (cache)
		snprintf(path, sizeof(path), "%s/models", cache);
	else if (home)
		snprintf(path, sizeof(path), "%s/vta-pcie/models", home);
	else
		snprintf(path, sizeof(path), "%s/.cache/vta-pcie/models", getenv("HOME"));
	bench_begin(&bench, "model", argc, argv);
	printf("\nreal networks, an image each; cycles by the card's model, 100 MHz\n");
	sleep_s = least_sleep();
	json_num(bench.results, "sleep_of_1_us_takes_us", sleep_s * 1e6);
	printf("%-12s %-6s %10s %6s %9s %6s %9s %6s %8s %6s %9s %9s\n", "model", "core", "cycles",
	       "share", "images/s", "bells", "bytes/val", "arena", "compile", "layers", "1 by 1/s",
	       "onnxrt/s");
	for (unsigned int i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (!bench.quick || i < 1)
			one_model(&bench, &models[i], path);
	core = native_core(&cores[0].config);
	model_goals(&bench, &core);
	bench_end(&bench);
	return 0;
}
