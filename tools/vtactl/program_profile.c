// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_profile.c - vtactl program profile: the time of each layer
 *
 * The card's streams are cut between layers: each is a RUN with a stamp. Runs of the program as it
 * is are measured besides: the difference is the cost of the profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "ctl.h"
#include "output.h"
#include "program.h"
#include "program_profile.h"
#include "progress.h"
#include "vtadev_bench.h"

#define RUN_NS		(600 * 1000000000ll)
#define RUNS_DEFAULT	15
#define TURNS		5

/* ---- Runs ---- */

struct job {
	const struct program_measure *m;
	struct vtadev *dev;
	struct program_inputs inputs;
	uint8_t *outputs;		/* of the program as it is */
	uint64_t done;			/* runs of both kinds */
	struct profile p;
	char name[16];			/* of a card that has a number */
};

/* A profiled program, or one that is not. */
static int load(struct job *j, bool profiled, struct vtadev_queue **queue, struct vtaprog **prog)
{
	const struct vtadev_queue_opts options = {
		.ring_entries = profiled ? vtadev_info(j->dev)->ring_entries_max :
				vtaprog_ring(j->dev, j->p.image),
		.flags = profiled && j->p.layers.cut_count ? VTADEV_QUEUE_KEEP : 0,
	};
	char why[VTAPROG_WHY_MAX];
	int err = vtadev_queue_create(j->dev, &options, queue);

	if (err)
		return ctl_error("making a queue", err);
	err = profiled ? vtaprog_profile(j->dev, *queue, j->p.image, j->p.layers.cuts,
					 j->p.layers.cut_count, prog, why) :
	      vtaprog_load(j->dev, *queue, j->p.image, prog, why);
	if (!err && !vtaprog_threads(*prog, j->m->run.threads))
		return CTL_OK;
	vtadev_queue_destroy(*queue);
	if (err)
		return ctl_refused(j->m->run.path, why, err);
	vtaprog_free(*prog);
	return ctl_error("--threads", -ENOMEM);
}

static void put_inputs(const struct job *j, struct vtaprog *prog)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_INPUT)
			vtaprog_put(prog, i, j->inputs.io[n++].iov_base);
}

static size_t output_bytes(const struct vtaprog *prog)
{
	size_t size = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_OUTPUT)
			size += vtaprog_bytes(vtaprog_tensor(prog, i));
	return size;
}

/* Gets the outputs of the last run, to be freed. */
static int get_outputs(const struct job *j, struct vtaprog *prog, uint8_t **outputs)
{
	uint8_t *to = calloc(1, output_bytes(prog) + 1);
	int err = 0;

	*outputs = to;
	for (uint32_t i = 0; to && i < vtaprog_tensors(prog) && !err; i++) {
		if (vtaprog_tensor(prog, i)->role != VTAIMAGE_OUTPUT)
			continue;
		err = vtaprog_get(prog, i, to);
		to += vtaprog_bytes(vtaprog_tensor(prog, i));
	}
	return to && !err ? CTL_OK : ctl_error(j->m->run.path, to ? err : -ENOMEM);
}

/* A stream that is cut computes the same. */
static int check_outputs(struct job *j, struct vtaprog *prog)
{
	uint8_t *outputs;
	int ret;

	if (!j->outputs)
		return get_outputs(j, prog, &j->outputs);
	ret = get_outputs(j, prog, &outputs);
	if (!ret && memcmp(outputs, j->outputs, output_bytes(prog)))
		ret = ctl_fail(j->m->run.path, "the outputs differ when streams are cut between "
			       "layers: the card computes wrongly");
	free(outputs);
	return ret;
}

/* Keeps the record of the run that has just ended. */
static int keep_rows(struct job *j, const struct vtaprog *prog, struct profile_row **rows)
{
	const struct vtaprog_span *spans;
	uint32_t count = vtaprog_spans(prog, &spans, &j->p.error_ns);

	*rows = calloc(count + 1, sizeof(**rows));
	if (!*rows)
		return ctl_error("the record of a run", -ENOMEM);
	for (uint32_t i = 0; i < count; i++)
		(*rows)[i].span = spans[i];
	j->p.count = count;
	return CTL_OK;
}

struct timed {
	int64_t begin, end;
	struct profile_row *rows;
};

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	int64_t p = x->end - x->begin, q = y->end - y->begin;

	return (p > q) - (p < q);
}

/* Runs once for nothing, then @n times. A run may overwrite its inputs, so each gets them anew. */
static int run_all(struct job *j, struct vtaprog *prog, bool profiled, struct timed *timed,
		   uint64_t n)
{
	int ret = CTL_OK, err;

	put_inputs(j, prog);
	err = vtaprog_run(prog, RUN_NS);
	for (uint64_t i = 0; i < n && !err && !ret; i++) {
		put_inputs(j, prog);
		timed[i].begin = ctl_now_ns();
		err = vtaprog_run(prog, RUN_NS);
		timed[i].end = ctl_now_ns();
		if (!err && profiled)
			ret = keep_rows(j, prog, &timed[i].rows);
		j->done++;
		progress_show(profiled ? "profiling" : "measuring",
			      (double)j->done / (double)(2 * j->p.runs));
	}
	progress_clear();
	if (err) {
		char text[VTADEV_LOST_TEXT_MAX];

		return ctl_fail(j->m->run.path, ctl_why(j->dev, err, text));
	}
	return ret;
}

static int measure(struct job *j, bool profiled, struct timed *timed, uint64_t n)
{
	struct vtadev_queue *queue = NULL;
	struct vtaprog *prog = NULL;
	int ret = load(j, profiled, &queue, &prog);

	if (ret)
		return ret;
	ret = run_all(j, prog, profiled, timed, n);
	if (!ret)
		ret = check_outputs(j, prog);
	vtadev_queue_destroy(queue);
	vtaprog_free(prog);
	return ret;
}

/* Both kinds take turns, so that other load on the machine affects both. */
static int measure_turns(struct job *j, struct timed *plain, struct timed *profiled)
{
	uint64_t n = j->p.runs, from = 0, to;
	int ret = CTL_OK;

	for (uint64_t turn = 1; turn <= TURNS && !ret; turn++, from = to) {
		to = n / TURNS * turn + n % TURNS * turn / TURNS;
		if (to == from)
			continue;
		ret = measure(j, false, plain + from, to - from);
		if (!ret)
			ret = measure(j, true, profiled + from, to - from);
	}
	return ret;
}

static int measure_both(struct job *j)
{
	uint64_t n = j->m->count ? j->m->count : RUNS_DEFAULT;
	struct timed *plain = calloc(n, sizeof(*plain)), *profiled = calloc(n, sizeof(*profiled));
	int ret = CTL_ERROR;

	j->p.runs = n;
	if (plain && profiled)
		ret = measure_turns(j, plain, profiled);
	else
		ctl_error("runs", -ENOMEM);
	if (!ret && plain && profiled) {
		qsort(plain, n, sizeof(*plain), by_time);
		qsort(profiled, n, sizeof(*profiled), by_time);
		j->p.plain_ns = plain[n / 2].end - plain[n / 2].begin;
		j->p.begin = profiled[n / 2].begin;
		j->p.end = profiled[n / 2].end;
		j->p.rows = profiled[n / 2].rows;
		profiled[n / 2].rows = NULL;
	}
	for (uint64_t i = 0; profiled && i < n; i++)
		free(profiled[i].rows);
	free(profiled);
	free(plain);
	return ret;
}

/* ---- Names and work ---- */

static uint64_t bytes_of(const struct profile_row *row)
{
	if (row->step.kind == VTAIMAGE_CPU)
		return 0;
	if (row->step.kind != VTAIMAGE_RUN)
		return (uint64_t)row->step.bytes * (row->step.rows ? row->step.rows : 1);
	return row->layer ? row->layer->work.load_bytes + row->layer->work.store_bytes : 0;
}

static void name_row(struct profile *p, struct profile_row *row)
{
	vtaimage_step(p->image, row->span.step, &row->step);
	row->name = program_step_name(&p->layers, row->span.step);
	row->op = program_step_op(&p->layers, row->span.step);
	if (row->step.kind == VTAIMAGE_RUN)
		row->layer = program_layer_at(&p->layers, row->step.stream, row->span.insn);
	if (row->layer) {
		row->name = row->layer->name;
		row->op = row->layer->op;
	}
	if (!*row->name)
		row->name = row->step.kind == VTAIMAGE_CPU ?
			    vtacpu_kernel_name(row->step.kernel) : profile_device(row);
	row->bytes = bytes_of(row);
}

const char *profile_device(const struct profile_row *row)
{
	switch (row->step.kind) {
	case VTAIMAGE_CPU:
		return "CPU";
	case VTAIMAGE_RUN:
		return "card";
	default:
		return "copy";
	}
}

/* ---- Printing ---- */

static double us(int64_t ns)
{
	return (double)ns / 1e3;
}

#define NAME_CHARS	28

/* The end of a name that is too long says more than its beginning. */
static void print_name(const char *name)
{
	size_t len = strlen(name);

	if (len <= NAME_CHARS)
		printf("%-*s", NAME_CHARS, name);
	else
		printf("..%s", name + len - (NAME_CHARS - 2));
}

static void print_row(const struct profile *p, const struct profile_row *row)
{
	int64_t ns = row->span.end - row->span.begin, total = p->end - p->begin;
	const struct program_layer *layer = row->layer;
	uint64_t least;

	print_name(row->name);
	printf(" %-4s %10.1f %10.1f %5.1f", profile_device(row),
	       us(row->span.begin - p->begin), us(ns),
	       total > 0 ? 100.0 * (double)ns / (double)total : 0);
	if (row->step.kind == VTAIMAGE_CPU) {
		putchar('\n');
		return;
	}
	printf(" %10" PRIu64, row->span.cycles);
	if (layer && layer->counted) {
		const char *limit = vtaops_limit(&layer->work, &least);

		printf(" %10" PRIu64 " %10" PRIu64 " %-8s %5.1f\n", layer->work.cycles, row->bytes,
		       limit, layer->work.cycles ?
		       100.0 * (double)least / (double)layer->work.cycles : 0);
		return;
	}
	printf(" %10s %10" PRIu64 "\n", "", row->bytes);
}

static double cost(const struct profile *p)
{
	return p->plain_ns > 0 ? 100.0 * (double)(p->end - p->begin - p->plain_ns) /
	       (double)p->plain_ns : 0;
}

static void print_text(const struct profile *p)
{
	printf("%s on %s, median of %" PRIu64 " runs: %.1f us, without the profile %.1f us: "
	       "it costs %.1f %%\n", p->image->name, p->card, p->runs, us(p->end - p->begin),
	       us(p->plain_ns), cost(p));
	printf("%-*s %-4s %10s %10s %5s %10s %10s %10s %-8s %5s\n", NAME_CHARS, "layer", "on",
	       "begin us", "time us", "%", "cycles", "formula", "bytes", "limit", "roof%");
	for (uint32_t i = 0; i < p->count; i++)
		print_row(p, &p->rows[i]);
	printf("cycles: by the card's stamps; formula: docs/isa.md, section 9; bytes: that the "
	       "card moves;\nroof%%: of the formula's cycles, those that the arithmetic or the bytes "
	       "need, whichever is more\n");
}

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_uint64(value));
}

static void add_us(struct json_object *to, const char *name, int64_t ns)
{
	char text[48];

	snprintf(text, sizeof(text), "%.3f", us(ns));
	json_object_object_add(to, name, json_object_new_double_s(us(ns), text));
}

static struct json_object *work_json(const struct vtaops_work *work)
{
	struct json_object *to = json_object_new_object();
	uint64_t least;

	json_object_object_add(to, "limit", json_object_new_string(vtaops_limit(work, &least)));
	add_number(to, "cycles", work->cycles);
	add_number(to, "least_cycles", least);
	add_number(to, "gemm_uops", work->gemm_uops);
	add_number(to, "alu_cycles", work->alu_cycles);
	add_number(to, "load_bytes", work->load_bytes);
	add_number(to, "store_bytes", work->store_bytes);
	return to;
}

static struct json_object *row_json(const struct profile *p, const struct profile_row *row)
{
	struct json_object *to = json_object_new_object();

	json_object_object_add(to, "name", json_object_new_string(row->name));
	json_object_object_add(to, "operator", json_object_new_string(row->op));
	json_object_object_add(to, "device", json_object_new_string(profile_device(row)));
	add_us(to, "begin_us", row->span.begin - p->begin);
	add_us(to, "time_us", row->span.end - row->span.begin);
	if (row->step.kind == VTAIMAGE_CPU)
		return to;
	add_number(to, "cycles", row->span.cycles);
	add_number(to, "bytes", row->bytes);
	json_object_object_add(to, "formula", row->layer && row->layer->counted ?
			       work_json(&row->layer->work) : NULL);
	return to;
}

static int print_json(const struct profile *p)
{
	struct json_object *to = json_object_new_object(), *rows = json_object_new_array();

	json_object_object_add(to, "program", json_object_new_string(p->image->name));
	json_object_object_add(to, "card", json_object_new_string(p->card));
	add_number(to, "clock_khz", p->clock_khz);
	add_number(to, "runs", p->runs);
	add_us(to, "run_us", p->end - p->begin);
	add_us(to, "plain_run_us", p->plain_ns);
	add_us(to, "clock_error_us", p->error_ns);
	for (uint32_t i = 0; i < p->count; i++)
		json_object_array_add(rows, row_json(p, &p->rows[i]));
	json_object_object_add(to, "layers", rows);
	return ctl_print_json(to, false);
}

/* ---- The word ---- */

static int report(struct job *j, struct output *trace)
{
	const struct program_measure *m = j->m;
	struct profile *p = &j->p;
	int ret;

	for (uint32_t i = 0; i < p->count; i++)
		name_row(p, &p->rows[i]);
	if (m->output) {
		profile_write_trace(p, trace->file);
		ret = ctl_written(m->output, output_close(trace));
		if (ret || output_is_stdout(m->output))
			return ret;
	}
	if (m->json)
		return print_json(p);
	print_text(p);
	return CTL_OK;
}

static int profile_on(struct job *j, struct output *trace)
{
	const struct vtadev_info *info = vtadev_info(j->dev);
	int ret;

	snprintf(j->name, sizeof(j->name), "vta%u", info->card.index);
	j->p.card = info->card.index == UINT_MAX ? info->card.node : j->name;
	j->p.clock_khz = info->clock_khz;
	ret = measure_both(j);
	if (!ret)
		ret = report(j, trace);
	else if (j->m->output)
		output_cancel(trace);
	free(j->p.rows);
	return ret;
}

static int open_and_profile(struct job *j)
{
	struct output trace = {};
	int ret, err = 0;

	ret = ctl_open(NULL, &j->dev);
	if (ret)
		return ret;
	/* Before minutes of work. */
	if (j->m->output)
		err = output_open(&trace, j->m->output, 0666);
	ret = err ? ctl_written(j->m->output, err) : profile_on(j, &trace);
	vtadev_close(j->dev);
	return ret;
}

int program_profile(const struct program_measure *m)
{
	struct vtaimage image;
	struct job j = { .m = m, .p.image = &image };
	uint8_t *data = program_read_for(&m->run, &image);
	int ret;

	if (!data)
		return CTL_ERROR;
	ret = m->output ? program_check_output(&image, &m->run, m->output) : 0;
	if (!ret)
		ret = program_load_inputs(&image, &m->run, &j.inputs);
	if (!ret)
		ret = program_find_layers(&image, &j.p.layers);
	if (!ret)
		ret = open_and_profile(&j);
	program_free_layers(&j.p.layers);
	program_free_inputs(&j.inputs);
	free(j.outputs);
	free(data);
	return ret;
}
