// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compile a network of the zoo, run it on the device soft, and compare its outputs.
 *
 *	network DIRECTORY cpu|card
 *
 * DIRECTORY is what export.py wrote: model.onnx, samples of each input, outputs for the last
 * sample. The other samples calibrate. Prints a line "KEY VALUE" for each figure, and "error TEXT"
 * if there is one. sqnr is of the output with the least, in dB against out.I.npy: 200 at most.
 * run_seconds is of a program without the card.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "api/vtac.h"
#include "api/inputs.h"
#include "crew.h"
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
	case VTAC_GEMM_ROUNDED:
		return (double)vtac_elements(node->out[0]) * (double)a->dims[a->rank - 1];
	case VTAC_RECURRENT:
		return (double)a->dims[0] * (double)a->dims[1] *
		       (double)((node->in[1] ? vtac_elements(node->in[1]) : 0) +
				vtac_elements(node->in[2]));
	default:
		return 0;
	}
}

/* The most that was used, in KiB; that of getrusage() includes the process before exec(). */
static long memory_used(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmHWM: %ld", &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib;
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
	       memory_used());
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

/* An output, and what ONNX Runtime has computed for it. */
struct result {
	const struct vtaimage_tensor *t;
	uint8_t *data;
	float *want;
	int64_t n, rows;	/* values in use; rows of them, if data decides how many */
};

static int read_wanted(struct zoo *z, unsigned int i, struct result *r)
{
	struct vtac_npy npy;
	int64_t n = 1;

	if (open_array(z, &npy, "out", i))
		return -1;
	for (int k = 0; k < npy.rank; k++)
		n *= npy.dims[k];
	r->want = malloc((size_t)n * sizeof(*r->want) + 1);
	if (n != r->n)
		fail(z, r->t->name, "the output has another size");
	else
		vtac_npy_read(&npy, 0, n, r->want, &z->error);
	vtac_npy_close(&npy);
	return z->error.text[0] ? -1 : 0;
}

/* ---- rows: objects that were found, by falling scores ---- */

/* Differences of scores by rounding alone. */
#define SCORE_RELATIVE	0.0001
#define SCORE_ABSOLUTE	0.000001

static bool is_near(double a, double b)
{
	return fabs(a - b) <= SCORE_RELATIVE * (fabs(a) + fabs(b)) + SCORE_ABSOLUTE;
}

/*
 * Is row @i wanted as row @k? Then all its values are there, and the scores, one for each row, say
 * so little about the order of the two that rounding decides it.
 */
static bool is_row(const struct result *r, unsigned int n, int64_t i, int64_t k)
{
	for (; n--; r++) {
		int64_t size = r->n / r->rows;

		for (int64_t v = 0; v < size; v++)
			if (!is_near(number(r->t->type, r->data, i * size + v),
				     r->want[k * size + v]))
				return false;
		if (size == 1 && r->t->type == VTACPU_F32 && !is_near(r->want[i], r->want[k]))
			return false;
	}
	return true;
}

/* The row that each row of @n outputs is wanted as; its own if there is none like it. */
static int64_t *match_rows(const struct result *r, unsigned int n)
{
	int64_t rows = r->rows, *as = calloc((size_t)rows + 1, sizeof(*as));
	bool *taken = calloc((size_t)rows + 1, sizeof(*taken));

	for (int64_t i = 0; i < rows; i++) {
		as[i] = -1;
		for (int64_t far = 0; far < rows && as[i] < 0; far++)
			for (int side = -1; side <= 1 && as[i] < 0; side += 2) {
				int64_t k = i + side * far;

				if (k >= 0 && k < rows && !taken[k] && is_row(r, n, i, k))
					as[i] = k;
			}
		if (as[i] >= 0)
			taken[as[i]] = true;
	}
	for (int64_t i = 0, k = 0; i < rows; i++)
		if (as[i] < 0) {
			while (taken[k])
				k++;
			taken[k] = true;
			as[i] = k;
		}
	free(taken);
	return as;
}

/* The SQNR in dB. @as: the row that each row is wanted as, or NULL */
static double compare(const struct result *r, const int64_t *as)
{
	int64_t size = r->rows > 0 ? r->n / r->rows : r->n;
	double signal = 0, noise = 0;

	for (int64_t k = 0; k < r->n; k++) {
		double want = r->want[as ? as[k / size] * size + k % size : k];
		double off = (double)number(r->t->type, r->data, k) - want;

		signal += want * want;
		noise += isnan(off) ? INFINITY : off * off;
	}
	return ratio(signal, noise);
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

/* Counts the values of output @i that are in use: all, or so many rows as data decides. */
static int count_values(struct zoo *z, struct vtaprog *prog, uint32_t i, struct result *r)
{
	int64_t n = 1, rows;
	uint32_t dim = 0;

	for (uint32_t k = 1; k < r->t->rank; k++)
		n *= r->t->dims[k];
	rows = vtaprog_size(prog, i, &dim);
	if (rows == -ENODATA) {
		r->n = n * r->t->dims[0];
		return 0;
	}
	if (rows < 0 || dim)
		return fail(z, r->t->name, "no rows whose number data decides");
	r->n = n * rows;
	r->rows = rows;
	return 0;
}

/* Output @i of the program, the file's @output. */
static int read_result(struct zoo *z, struct vtaprog *prog, uint32_t i, unsigned int output,
		       struct result *r)
{
	r->t = vtaprog_tensor(prog, i);
	r->data = malloc(vtaprog_bytes(r->t) + 1);
	if (vtaprog_get(prog, i, r->data))
		return fail(z, r->t->name, "the output cannot be read");
	return count_values(z, prog, i, r) || read_wanted(z, output, r) ? -1 : 0;
}

/* Have all of @n outputs the same number of rows, which data decides? */
static bool have_rows(const struct result *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (r[i].rows < 1 || r[i].rows != r->rows)
			return false;
	return n > 0;
}

static void print_comparison(struct zoo *z, const struct result *r, unsigned int n)
{
	int64_t *as = have_rows(r, n) ? match_rows(r, n) : NULL;
	unsigned int differ = 0;
	double least = 200;

	for (unsigned int i = 0; i < n; i++) {
		int64_t bytes = r[i].n * (int64_t)vtac_dtype_size(z->g->outputs[i]->dtype);

		differ += bytes > 0 && memcmp(r[i].data, z->computed[i], (size_t)bytes) != 0;
		least = fmin(least, compare(&r[i], as));
	}
	free(as);
	printf("sqnr %.1f\ndiffer %u\n", least, differ);
}

static int compare_outputs(struct zoo *z, struct vtaprog *prog)
{
	struct result *results = calloc(vtaprog_tensors(prog) + 1, sizeof(*results));
	unsigned int n = 0;
	int err = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog) && !err; i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_OUTPUT) {
			err = read_result(z, prog, i, n, &results[n]);
			n++;
		}
	if (!err)
		print_comparison(z, results, n);
	for (unsigned int i = 0; i < n; i++) {
		free(results[i].data);
		free(results[i].want);
	}
	free(results);
	if (err)
		return -1;
	return n + z->g->n_sizes == z->g->n_outputs ? 0 :
	       fail(z, "the program", "an output is missing");
}

/* The least processor time of the runs of a second, 3 at least, by one thread. */
static int time_runs(struct zoo *z, struct vtaprog *prog)
{
	double least = INFINITY, all = 0;
	struct timespec begin, end;

	for (unsigned int runs = 0; runs < 3 || all < 1; runs++) {
		double seconds;

		if (put_inputs(z, prog))
			return -1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
		if (vtaprog_run(prog, -1))
			return fail(z, "run", "");
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
		seconds = (double)(end.tv_sec - begin.tv_sec) +
			  (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
		least = fmin(least, seconds);
		all += seconds;
	}
	printf("run_seconds %.6f\n", least);
	return 0;
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
	if (!err && !image.stream_count)
		err = time_runs(z, prog);
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
	if (!z.g || crew_new(crew_processors(), &z.g->crew))
		return 1;
	if (!work(&z, !strcmp(argv[2], "card")))
		return 0;
	for (char *end = strchr(z.error.text, '\n'); end; end = strchr(end, '\n'))
		*end = ' ';
	printf("error %s\n", z.error.text);
	return 1;
}
