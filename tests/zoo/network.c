// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compile a network of the zoo, run it on the device soft, and compare its outputs.
 *
 *	network DIRECTORY cpu|card
 *
 * DIRECTORY is what export.py wrote: model.onnx, samples of each input, outputs for the last
 * sample. The other samples calibrate. Prints a line "KEY VALUE" for each figure, and "error TEXT"
 * if there is one. sqnr is of the output with the least, in dB against out.I.npy: 200 at most.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api/vtac.h"
#include "cmd/inputs.h"
#include "ir/interp.h"
#include "quant/quant.h"
#include "vtaprog.h"

#define SAMPLES_MAX	64

struct zoo {
	const char *dir;
	struct vtac_graph *g;
	struct vtac_npy in[SAMPLES_MAX];
	unsigned int samples, sample;
	void **computed;	/* outputs of the interpreter */
	struct vtac_error error;
};

static int fail(struct zoo *z, const char *what, const char *why)
{
	if (!z->error.text[0])
		snprintf(z->error.text, sizeof(z->error.text), "%s%s%.3000s", what,
			 why[0] ? ": " : "", why);
	return -1;
}

static int fail_graph(struct zoo *z)
{
	return fail(z, "vtac", z->g->error.text);
}

/* ---- samples ---- */

static int open_array(struct zoo *z, struct vtac_npy *npy, const char *kind, unsigned int i)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.%u.npy", z->dir, kind, i);
	return vtac_npy_open(npy, path, &z->error);
}

/* The number of @t among the inputs, which are in the file's order. */
static unsigned int place_of(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	unsigned int i = 0;

	while (strcmp(g->inputs[i]->name, t->name))
		i++;
	return i;
}

static int read_sample(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct zoo *z = priv;
	struct vtac_npy *npy = &z->in[place_of(z->g, t)];
	int64_t n = 1;

	for (int k = 1; k < npy->rank; k++)
		n *= npy->dims[k];
	if (n != vtac_elements(t))
		return fail(z, t->name, "its samples have another size");
	return vtac_npy_read(npy, i * n, n, values, &z->error);
}

static int open_samples(struct zoo *z)
{
	for (unsigned int i = 0; i < z->g->n_inputs; i++) {
		if (i == SAMPLES_MAX || open_array(z, &z->in[i], "in", i))
			return -1;
		z->samples = (unsigned int)z->in[i].dims[0];
	}
	return z->samples > 1 ? 0 : fail(z, z->dir, "it has no samples");
}

/* ---- the compiler ---- */

/* Layers and products of matrices; others have few. */
static double multiplications(const struct vtac_node *node)
{
	const struct vtac_tensor *a = node->n_in ? node->in[0] : NULL;

	switch (node->op) {
	case VTAC_CONV:
	case VTAC_GEMM:
		return vtac_work(node);
	case VTAC_CONV_TRANSPOSE:
		return (double)vtac_elements(a) * (double)vtac_elements(node->in[1]) /
		       (double)node->in[1]->dims[0];
	case VTAC_MATMUL:
		return (double)vtac_elements(node->out[0]) * (double)a->dims[a->rank - 1];
	case VTAC_RECURRENT:
		return (double)a->dims[0] * (double)a->dims[1] *
		       (double)(vtac_elements(node->in[1]) + vtac_elements(node->in[2]));
	default:
		return 0;
	}
}

static void print_figures(const struct zoo *z, const struct vtac_program *p)
{
	double all = 0, card = 0;
	unsigned int nodes = 0, on_card = 0;
	struct rusage used;

	for (unsigned int i = 0; i < z->g->n_nodes; i++) {
		const struct vtac_node *node = z->g->nodes[i];
		double work = multiplications(node);

		nodes += node->op != VTAC_COPY;
		on_card += node->device == VTAC_CARD && node->op != VTAC_COPY;
		all += work;
		card += node->device == VTAC_CARD ? work : 0;
	}
	getrusage(RUSAGE_SELF, &used);
	printf("nodes %u\non_card %u\nmultiplications %.0f\nshare %.4f\nregions %u\ncycles %llu\n",
	       nodes, on_card, all, all > 0 ? card / all : 0, p->n_streams,
	       (unsigned long long)p->cycles);
	printf("weight_bytes %llu\nseconds %.2f\nmemory %ld\n",
	       (unsigned long long)(p->consts.bytes + p->model.bytes),
	       (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
	       (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6,
	       used.ru_maxrss);
}

static int compile(struct zoo *z, bool card, const struct vtaops_core *core,
		   struct vtac_program *p, uint8_t **image, size_t *size)
{
	struct vtac_images images = { .read = read_sample, .priv = z, .error = &z->error };
	struct vtac_options opt = { .core = *core, .no_card = !card, .images = &images };
	const struct vtac_image_options named = { .name = "zoo" };
	char path[4096];

	snprintf(path, sizeof(path), "%s/model.onnx", z->dir);
	if (vtac_read_onnx(z->g, path))
		return fail_graph(z);
	if (open_samples(z))
		return -1;
	images.count = z->samples - 1;
	if (vtac_compile(z->g, &opt, p))
		return fail_graph(z);
	if (vtac_image(p, &named, image, size))
		return fail_graph(z);
	print_figures(z, p);
	printf("bytes %zu\n", *size);
	return 0;
}

/* ---- the interpreter ---- */

static int give(void *priv, const struct vtac_tensor *t, void *data)
{
	struct zoo *z = priv;
	const struct vtac_images images = { .count = z->samples, .read = read_sample, .priv = z };

	return vtac_read_image(z->g, &images, z->sample, t, data);
}

static void keep(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct zoo *z = priv;

	for (unsigned int i = 0; i < z->g->n_outputs; i++)
		if (z->g->outputs[i] == t) {
			free(z->computed[i]);
			z->computed[i] = malloc((size_t)vtac_bytes(t) + 1);
			memcpy(z->computed[i], data, (size_t)vtac_bytes(t));
		}
}

static int interpret(struct zoo *z)
{
	const struct vtac_interp io = { .input = give, .tensor = keep, .priv = z };

	z->computed = calloc(z->g->n_outputs + 1, sizeof(*z->computed));
	return vtac_interp_float(z->g, &io) ? fail_graph(z) : 0;
}

/* ---- the device ---- */

static double ratio(double signal, double noise)
{
	if (signal <= 0)
		return noise > 0 ? 0 : 200;
	return noise > signal / 1e20 ? 10 * log10(signal / noise) : 200;
}

static float number(uint32_t type, const void *data, int64_t i)
{
	switch (type) {
	case VTACPU_F32:
		return ((const float *)data)[i];
	case VTACPU_I32:
		return (float)((const int32_t *)data)[i];
	case VTACPU_I64:
		return (float)((const int64_t *)data)[i];
	case VTACPU_I8:
		return ((const int8_t *)data)[i];
	default:
		return ((const uint8_t *)data)[i];
	}
}

/* The SQNR of output @i, of @have values, in dB; NAN after an error. */
static double compare(struct zoo *z, unsigned int i, const struct vtaimage_tensor *t,
		      int64_t have, const void *data)
{
	double signal = 0, noise = 0;
	struct vtac_npy npy;
	int64_t n = 1;
	float *want;

	if (open_array(z, &npy, "out", i))
		return NAN;
	for (int k = 0; k < npy.rank; k++)
		n *= npy.dims[k];
	want = malloc((size_t)n * sizeof(*want) + 1);
	if (n != have)
		fail(z, t->name, "the output has another size");
	else if (!vtac_npy_read(&npy, 0, n, want, &z->error))
		for (int64_t k = 0; k < n; k++) {
			double off = (double)number(t->type, data, k) - (double)want[k];

			signal += (double)want[k] * (double)want[k];
			noise += isnan(off) ? INFINITY : off * off;
		}
	free(want);
	vtac_npy_close(&npy);
	return z->error.text[0] ? NAN : ratio(signal, noise);
}

static int put_inputs(struct zoo *z, struct vtaprog *prog)
{
	unsigned int input = 0;
	int err = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog) && !err; i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
		void *data;

		if (t->role != VTAIMAGE_INPUT)
			continue;
		data = malloc(vtaprog_bytes(t) + 1);
		err = give(z, z->g->inputs[input++], data) || vtaprog_put(prog, i, data);
		free(data);
	}
	return err ? fail(z, "inputs", "") : 0;
}

/* The values of output @i that are in use: all, or so many rows as data decides. -1: an error. */
static int64_t count_values(struct zoo *z, struct vtaprog *prog, uint32_t i)
{
	const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
	int64_t rows, n = 1;
	uint32_t dim = 0;

	for (uint32_t k = 1; k < t->rank; k++)
		n *= t->dims[k];
	rows = vtaprog_size(prog, i, &dim);
	if (rows == -ENODATA)
		return t->rank ? n * t->dims[0] : n;
	if (rows < 0 || dim)
		return fail(z, t->name, "no rows whose number data decides");
	return n * rows;
}

static int compare_outputs(struct zoo *z, struct vtaprog *prog)
{
	unsigned int output = 0, differ = 0;
	double least = 200;

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++) {
		const struct vtaimage_tensor *t = vtaprog_tensor(prog, i);
		double sqnr;
		int64_t n;
		void *data;

		if (t->role != VTAIMAGE_OUTPUT)
			continue;
		data = malloc(vtaprog_bytes(t) + 1);
		n = vtaprog_get(prog, i, data) ? fail(z, t->name, "the output cannot be read") :
			count_values(z, prog, i);
		sqnr = n < 0 ? NAN : compare(z, output, t, n, data);
		n *= (int64_t)vtac_dtype_size(z->g->outputs[output]->dtype);
		differ += n > 0 && memcmp(data, z->computed[output], (size_t)n) != 0;
		free(data);
		if (isnan(sqnr))
			return -1;
		least = fmin(least, sqnr);
		output++;
	}
	printf("sqnr %.1f\ndiffer %u\n", least, differ);
	return output + z->g->n_sizes == z->g->n_outputs ? 0 :
	       fail(z, "the program", "an output is missing");
}

static int run(struct zoo *z, struct vtadev *dev, const uint8_t *data, size_t size)
{
	struct vtadev_queue_opts opts = { 0 };
	struct vtadev_queue *queue = NULL;
	struct vtaprog *prog = NULL;
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaimage image;
	int err;

	if (vtaimage_open(&image, data, size))
		return fail(z, "the program", image.why);
	opts.ring_entries = vtaprog_ring(dev, &image);
	err = vtadev_queue_create(dev, &opts, &queue);
	if (err)
		return fail(z, "queue", vtadev_strerror(err));
	err = vtaprog_load(dev, queue, &image, &prog, why);
	if (err)
		fail(z, "load", why[0] ? why : vtadev_strerror(err));
	if (!err)
		err = put_inputs(z, prog);
	if (!err) {
		err = vtaprog_run(prog, -1);
		if (err)
			fail(z, "run", vtadev_strerror(err));
	}
	if (!err)
		err = compare_outputs(z, prog);
	vtaprog_free(prog);
	vtadev_queue_destroy(queue);
	return err;
}

static int work(struct zoo *z, bool card)
{
	struct vtac_program p;
	struct vtaops_core core;
	struct vtadev *dev;
	uint8_t *image = NULL;
	size_t size = 0;
	int err = vtadev_open("soft", &dev);

	if (err)
		return fail(z, "soft", vtadev_strerror(err));
	vtaprog_core(dev, &core);
	err = compile(z, card, &core, &p, &image, &size);
	if (!err) {
		z->sample = z->samples - 1;
		err = interpret(z) || run(z, dev, image, size) ? -1 : 0;
		vtac_program_free(&p);
	}
	free(image);
	vtadev_close(dev);
	return err;
}

int main(int argc, char **argv)
{
	struct zoo z = { 0 };

	if (argc != 3)
		return 2;
	z.dir = argv[1];
	z.g = vtac_graph_new(0);
	if (!z.g)
		return 1;
	if (!work(&z, !strcmp(argv[2], "card")))
		return 0;
	for (char *end = strchr(z.error.text, '\n'); end; end = strchr(end, '\n'))
		*end = ' ';
	printf("error %s\n", z.error.text);
	return 1;
}
