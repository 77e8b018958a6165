// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - what the benchmarks share
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define CONTROL	"/dev/virtio-ports/vta-emu0"

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

struct times times_of(double (*fn)(void *arg), void *arg, unsigned int count)
{
	struct samples samples = { .count = 0 };

	for (unsigned int i = 0; i < count; i++)
		sample(&samples, fn(arg));
	return times_in(&samples);
}

static size_t read_line(int fd, char *line, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && !(len && line[len - 1] == '\n')) {
		ssize_t n = read(fd, line + len, size - 1 - len);

		if (n < 0 && errno != EINTR)
			die(CONTROL, strerror(errno));
		if (!n)
			die(CONTROL, "the emulator hung up");
		len += n > 0 ? (size_t)n : 0;
	}
	line[len] = '\0';
	return len;
}

struct json_object *emulator_ask(const char *request)
{
	struct json_object *answer, *ok;
	static char line[1 << 16];
	static int fd = -1;

	if (fd < 0)
		fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(CONTROL, strerror(errno));
	snprintf(line, sizeof(line), "%s\n", request);
	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		die(CONTROL, "cannot write a request");
	read_line(fd, line, sizeof(line));
	answer = json_tokener_parse(line);
	if (!json_object_object_get_ex(answer, "ok", &ok) || !json_object_get_boolean(ok))
		die(request, line);
	return answer;
}

char *touched(size_t bytes, int huge)
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
	madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
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
