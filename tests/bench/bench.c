// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - what the benchmarks share
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"
#include "vta_regs.h"

#define CONTROL		"/dev/virtio-ports/vta-emu%u"
#define CARDS_MAX	7

static _Noreturn void die(const char *what, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

void must(int err, const char *what)
{
	if (err < 0)
		die(what, vtadev_strerror(err));
}

void *must_ptr(void *ptr, const char *what)
{
	if (!ptr || ptr == MAP_FAILED)
		die(what, strerror(errno));
	return ptr;
}

/* ---- A part and its results ---- */

static void tell_run(struct bench *bench, char **facts)
{
	struct json_object *run = json_sub(bench->results, "run");
	struct utsname name;
	char kernel[160];

	uname(&name);
	snprintf(kernel, sizeof(kernel), "%s %s", name.sysname, name.release);
	json_text(run, "kernel", kernel);
	printf("kernel   %s\n", kernel);
	for (; *facts; facts++) {
		char *value = strchr(*facts, '=');

		if (!value)
			continue;
		*value++ = '\0';
		json_text(run, *facts, value);
		printf("%-8s %s\n", *facts, value);
		if (!strcmp(*facts, "quick"))
			bench->quick = !strcmp(value, "yes");
		if (!strcmp(*facts, "slowness"))
			bench->slowness = atof(value);
	}
}

void bench_begin(struct bench *bench, const char *part, int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s OUT [NAME=VALUE]...\n", part);
		exit(2);
	}
	*bench = (struct bench) { .part = part, .out = argv[1], .slowness = 1 };
	bench->results = json_object_new_object();
	printf("==== %s\n", part);
	tell_run(bench, argv + 2);
	json_object_object_add(bench->results, "targets", json_object_new_array());
	bench->dat = must_ptr(open_memstream(&bench->dat_text, &bench->dat_size), "memory");
}

void bench_open(struct bench *bench)
{
	bench_open_card(bench, BENCH_CARD);
}

void bench_open_card(struct bench *bench, unsigned int n)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	char which[16];

	setrlimit(RLIMIT_MEMLOCK, &all);
	snprintf(which, sizeof(which), "%u", n);
	must(vtadev_open(which, &bench->dev), "opening the card");
	must(vtadev_queue_create(bench->dev, NULL, &bench->queue), "making a queue");
}

volatile uint32_t *bench_registers(const struct bench *bench)
{
	char path[128];
	void *regs;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0",
		 vtadev_info(bench->dev)->card.pci);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	must(fd < 0 ? -errno : 0, path);
	regs = must_ptr(mmap(NULL, VTA_REGS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
			"mapping registers");
	close(fd);
	return regs;
}

void bench_close(struct bench *bench)
{
	vtadev_queue_destroy(bench->queue);
	vtadev_close(bench->dev);
	bench->queue = NULL;
	bench->dev = NULL;
}

static void write_result(const struct bench *bench, const char *ending, const char *text)
{
	struct output out;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.%s", bench->out, bench->part, ending);
	must(output_open(&out, path, 0666), path);
	fputs(text, out.file);
	must(output_close(&out), path);
}

void bench_end(struct bench *bench)
{
	bench_close(bench);
	if (fclose(bench->dat))
		die("memory", strerror(errno));
	write_result(bench, "dat", bench->dat_text);
	free(bench->dat_text);
	write_result(bench, "json", json_object_to_json_string_ext(bench->results,
								   JSON_C_TO_STRING_PRETTY));
	json_object_put(bench->results);
	printf("\n");
	if (fflush(stdout) || ferror(stdout))
		die("standard output", "not all of it was written");
}

void bench_target(struct bench *bench, const char *what, double value, enum aim aim,
		  double limit)
{
	bool met = aim == AT_LEAST ? value >= limit : value <= limit;
	const char *name = aim == AT_LEAST ? "at_least" : "at_most";
	struct json_object *target = json_object_new_object(), *targets;

	json_text(target, "what", what);
	json_num(target, "value", value);
	json_num(target, name, limit);
	json_object_object_add(target, "met", json_object_new_boolean(met));
	json_object_object_get_ex(bench->results, "targets", &targets);
	json_object_array_add(targets, target);
	printf("%s %s: %.4g (%s %.4g)\n", met ? "met   " : "missed", what, value,
	       aim == AT_LEAST ? "at least" : "at most", limit);
	fflush(stdout);
}

/* ---- Time ---- */

double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sample(struct samples *samples, double ns)
{
	if (samples->count < SAMPLES_MAX)
		samples->ns[samples->count++] = ns;
}

struct times times_in(struct samples *samples)
{
	qsort(samples->ns, samples->count, sizeof(samples->ns[0]), by_value);
	return (struct times) { samples->ns[0], samples->ns[samples->count / 2] };
}

double quantile_of(struct samples *samples, double part)
{
	qsort(samples->ns, samples->count, sizeof(samples->ns[0]), by_value);
	return samples->ns[(unsigned int)(part * samples->count)];
}

/*
 * Student's t for 95 %, by the expansion in powers of 1 / @freedom (Abramowitz and Stegun, 26.7.5):
 * 1 % too small at 3 degrees of freedom.
 */
static double student_t(double freedom)
{
	const double z = 1.96, z3 = z * z * z, z5 = z3 * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

struct ratio ratio_in(const struct samples *samples)
{
	double n = samples->count, sum = 0, squares = 0, mean, wide;

	for (unsigned int i = 0; i < samples->count; i++)
		sum += log(samples->ns[i]);
	mean = sum / n;
	for (unsigned int i = 0; i < samples->count; i++)
		squares += (log(samples->ns[i]) - mean) * (log(samples->ns[i]) - mean);
	wide = n > 1 ? student_t(n - 1) * sqrt(squares / (n - 1) / n) : INFINITY;
	return (struct ratio) { exp(mean), exp(mean - wide), exp(mean + wide) };
}

struct times times_of(double (*fn)(void *arg), void *arg, unsigned int count)
{
	struct samples samples = { .count = 0 };

	for (unsigned int i = 0; i < count; i++)
		sample(&samples, fn(arg));
	return times_in(&samples);
}

/* ---- The emulator ---- */

static void read_line(int fd, char *line, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && !(len && line[len - 1] == '\n')) {
		ssize_t n = read(fd, line + len, size - 1 - len);

		if (n < 0 && errno != EINTR)
			die("control socket", strerror(errno));
		if (!n)
			die("control socket", "the emulator hung up");
		len += n > 0 ? (size_t)n : 0;
	}
	line[len] = '\0';
}

struct json_object *emulator_ask(unsigned int n, const char *request)
{
	static int fds[CARDS_MAX] = { -1, -1, -1, -1, -1, -1, -1 };
	struct json_object *answer, *ok;
	static char line[1 << 16];
	char path[64];

	snprintf(path, sizeof(path), CONTROL, n);
	if (n >= CARDS_MAX)
		die(path, "more cards than the bench knows");
	if (fds[n] < 0)
		fds[n] = open(path, O_RDWR | O_CLOEXEC);
	if (fds[n] < 0)
		die(path, strerror(errno));
	snprintf(line, sizeof(line), "%s\n", request);
	if (write(fds[n], line, strlen(line)) != (ssize_t)strlen(line))
		die(path, "cannot write a request");
	read_line(fds[n], line, sizeof(line));
	answer = json_tokener_parse(line);
	if (!json_object_object_get_ex(answer, "ok", &ok) || !json_object_get_boolean(ok))
		die(request, line);
	return answer;
}

static double count_of(struct json_object *counters, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(counters, name, &value))
		die(name, "the emulator has no such counter");
	return json_object_get_double(value);
}

struct counts counts_now(unsigned int n)
{
	struct json_object *answer = emulator_ask(n, "counters"), *counters;
	struct counts now;

	json_object_object_get_ex(answer, "counters", &counters);
	now = (struct counts) {
		.mmio_reads = count_of(counters, "mmio_reads"),
		.mmio_writes = count_of(counters, "mmio_writes"),
		.doorbells = count_of(counters, "doorbells"),
		.arms = count_of(counters, "arms"),
		.interrupts = count_of(counters, "interrupts"),
		.descriptors = count_of(counters, "descriptors"),
		.compute_cycles = count_of(counters, "compute_cycles"),
	};
	json_object_put(answer);
	return now;
}

struct counts counts_each(const struct counts *before, const struct counts *after,
			  double launches)
{
	return (struct counts) {
		.mmio_reads = (after->mmio_reads - before->mmio_reads) / launches,
		.mmio_writes = (after->mmio_writes - before->mmio_writes) / launches,
		.doorbells = (after->doorbells - before->doorbells) / launches,
		.arms = (after->arms - before->arms) / launches,
		.interrupts = (after->interrupts - before->interrupts) / launches,
		.descriptors = (after->descriptors - before->descriptors) / launches,
		.compute_cycles = (after->compute_cycles - before->compute_cycles) / launches,
	};
}

struct json_object *json_counts(const struct counts *counts)
{
	struct json_object *to = json_object_new_object();

	json_num(to, "mmio_reads", counts->mmio_reads);
	json_num(to, "mmio_writes", counts->mmio_writes);
	json_num(to, "doorbells", counts->doorbells);
	json_num(to, "arms", counts->arms);
	json_num(to, "interrupts", counts->interrupts);
	return to;
}

/* ---- The rest ---- */

/* A page gets memory when it is touched, and the kernel gives one after the other. */
static void touch_scattered(char *mem, size_t bytes)
{
	const size_t page = 4096, pages = bytes / page;

	for (size_t i = 0; i < pages; i++)
		memset(mem + i * 0x9e3779b1 % pages * page, 1, page);
}

char *touched(size_t bytes, enum pages pages)
{
	/* Of huge pages only whole ones at their places. */
	const size_t align = 2 * MIB;
	char *mem = must_ptr(mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap");
	char *start = mem + (align - (uintptr_t)mem % align) % align;

	if (start > mem)
		munmap(mem, (size_t)(start - mem));
	if (start + bytes < mem + bytes + align)
		munmap(start + bytes, (size_t)(mem + align - start));
	madvise(start, bytes, pages == HUGE_PAGES ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (pages == SCATTERED_PAGES)
		touch_scattered(start, bytes);
	memset(start, 1, bytes);
	return start;
}

struct json_object *json_times(struct times times)
{
	struct json_object *to = json_object_new_object();

	json_num(to, "least_ns", times.least);
	json_num(to, "median_ns", times.median);
	return to;
}

struct json_object *json_sub(struct json_object *to, const char *name)
{
	struct json_object *sub = json_object_new_object();

	json_object_object_add(to, name, sub);
	return sub;
}

void json_num(struct json_object *to, const char *name, double value)
{
	json_object_object_add(to, name, json_object_new_double(value));
}

void json_text(struct json_object *to, const char *name, const char *text)
{
	json_object_object_add(to, name, json_object_new_string(text));
}

const char *size_text(size_t bytes)
{
	static char text[4][24];
	static unsigned int next;
	char *to = text[next++ % 4];

	if (bytes >= MIB)
		snprintf(to, sizeof(text[0]), "%zu MiB", bytes / MIB);
	else if (bytes >= 1024)
		snprintf(to, sizeof(text[0]), "%zu KiB", bytes / 1024);
	else
		snprintf(to, sizeof(text[0]), "%zu B", bytes);
	return to;
}
