// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiler with several threads (compiler/quant/lanes.c): the program is the same bytes for any
 * number, images are read in the caller's thread, and the first image that fails is named. Also
 * under ThreadSanitizer.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "api/libvtac.h"

enum { CHANNELS = 32, SIZE = 10, IMAGES = 13 };

static const unsigned int counts[] = { 1, 2, 5, 16 };
static struct vtaops_core core;

struct calls {
	pthread_t caller;
	unsigned int bad;		/* number of the first image that is not finite */
	unsigned int missing;		/* call that cannot read its image; 0: none */
	unsigned int reads;		/* calls */
	unsigned int end;		/* reports until the compilation is to end; 0: never */
	unsigned int reports;
	enum vtac_net_bits bits;	/* of results */
	int elsewhere;			/* calls in another thread */
};

static struct vtac_tensor *weights(struct vtac_net *net, int64_t out, int64_t in, int64_t k)
{
	const int64_t dims[] = { out, in, k, k };
	size_t n = (size_t)(out * in * k * k);
	float *w = malloc(n * sizeof(*w));
	struct vtac_tensor *t;

	assert_non_null(w);
	for (size_t i = 0; i < n; i++)
		w[i] = (float)((int)(i * 37 % 101) - 50) / 400;
	t = vtac_net_const(net, VTACPU_F32, 4, dims, w);
	free(w);
	return t;
}

/* Convolutions whose weights are rounded together, and a residual. */
static struct vtac_net *make_net(void)
{
	static const int64_t shape[] = { 1, CHANNELS, SIZE, SIZE };
	const struct vtac_net_window same = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 } };
	const struct vtac_net_window one = { .stride = { 1, 1 } };
	struct vtac_net *net = vtac_net_new();
	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_F32, 4, shape), *y, *z;

	y = vtac_net_conv2d(net, "a", x, weights(net, CHANNELS, CHANNELS, 3), NULL, &same);
	y = vtac_net_clip(net, "relu", y, 0, INFINITY);
	z = vtac_net_conv2d(net, "b", y, weights(net, CHANNELS, CHANNELS, 1), NULL, &one);
	y = vtac_net_binary(net, "sum", VTAC_NET_ADD, y, z);
	y = vtac_net_conv2d(net, "c", y, weights(net, 2 * CHANNELS, CHANNELS, 3), NULL, &same);
	assert_int_equal(vtac_net_output(net, y, "y"), 0);
	return net;
}

static int read_image(void *priv, unsigned int i, const char *input, float *values, size_t count)
{
	struct calls *calls = priv;

	(void)input;
	calls->elsewhere += !pthread_equal(pthread_self(), calls->caller);
	for (size_t k = 0; k < count; k++)
		values[k] = (float)((k * 31 + i * 7 + k / 17 * i) % 100) / 50 - 1;
	if (i >= calls->bad)
		values[count / 2] = NAN;
	return ++calls->reads == calls->missing;
}

static int report(void *priv, const char *what, uint64_t done, uint64_t total)
{
	struct calls *calls = priv;

	(void)what;
	if (total && done > total)
		fail_msg("%s: %llu of %llu", what, (unsigned long long)done,
			 (unsigned long long)total);
	calls->elsewhere += !pthread_equal(pthread_self(), calls->caller);
	return ++calls->reports >= calls->end && calls->end;
}

/* Compiles it by so many threads; the error stays in @why. */
static int compile(struct calls *calls, unsigned int threads, uint8_t **image, size_t *size,
		   char *why)
{
	const struct vtac_net_precision bits = { .bits = calls->bits };
	const struct vtac_net_options how = {
		.core = &core, .name = "net", .no_prune = 1, .images = IMAGES, .image = read_image,
		.progress = report, .priv = calls, .threads = threads,
		.precisions = &bits, .n_precisions = 1,
	};
	struct vtac_net *net = make_net();
	int err;

	calls->caller = pthread_self();
	calls->reports = 0;
	calls->reads = 0;
	err = vtac_net_compile(net, &how, image, size);
	snprintf(why, 400, "%s", vtac_net_error(net));
	vtac_net_free(net);
	return err;
}

static void check_bytes(enum vtac_net_bits bits)
{
	struct calls calls = { .bad = IMAGES, .bits = bits };
	uint8_t *first, *image;
	size_t first_size, size;
	char why[400];

	if (compile(&calls, 1, &first, &first_size, why))
		fail_msg("%s", why);
	for (unsigned int i = 1; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (compile(&calls, counts[i], &image, &size, why))
			fail_msg("%u threads: %s", counts[i], why);
		assert_int_equal(size, first_size);
		assert_memory_equal(image, first, size);
		free(image);
	}
	free(first);
	assert_true(calls.reports > IMAGES);
	assert_int_equal(calls.elsewhere, 0);
}

TEST(bytes_are_the_same)
{
	check_bytes(VTAC_NET_8_BITS);
	check_bytes(VTAC_NET_16_BITS);
}

/* Compiling fails with the same sentence, which has @text, for any number of threads. */
static void fails_alike(struct calls calls, const char *text)
{
	char why[400], first[400];
	uint8_t *image;
	size_t size;

	if (!compile(&calls, 1, &image, &size, first))
		fail_msg("%s: it is compiled, by report %u", text, calls.end);
	if (!strstr(first, text))
		fail_msg("\"%s\" does not say \"%s\"", first, text);
	for (unsigned int i = 1; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_int_equal(compile(&calls, counts[i], &image, &size, why), -1);
		assert_string_equal(why, first);
	}
	assert_int_equal(calls.elsewhere, 0);
}

/* All later ones are bad, too; or they cannot be read while earlier ones are under way. */
TEST(first_bad_image_is_named)
{
	fails_alike((struct calls) { .bad = 5 }, "calibration image 5.");
	fails_alike((struct calls) { .bad = IMAGES - 1 }, "calibration image 12.");
	for (unsigned int i = IMAGES + 1; i < 3 * IMAGES; i += 11)
		fails_alike((struct calls) { .bad = IMAGES, .missing = i }, "cannot be read.");
}

TEST(caller_ends_it)
{
	struct calls calls = { .bad = IMAGES, .end = 1 };

	for (; calls.end < 30; calls.end += 9)
		fails_alike(calls, "The caller ended the compilation.");
}

TEST(too_many_are_refused)
{
	struct calls calls = { .bad = IMAGES };
	uint8_t *image;
	size_t size;
	char why[400];

	assert_int_equal(compile(&calls, VTAC_NET_THREADS_MAX + 1, &image, &size, why), -1);
	assert_non_null(strstr(why, "65 threads are too many: 64 are the most."));
	assert_int_equal(calls.reports, 0);
}

static int setup(void **state)
{
	(void)state;
	core = (struct vtaops_core) {
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_block = 4,
		.log_uop_buff_size = 15, .log_inp_buff_size = 15, .log_wgt_buff_size = 18,
		.log_acc_buff_size = 17,
	};
	return vtaops_core_init(&core);
}

GROUP(setup, NULL);
