// SPDX-License-Identifier: GPL-2.0-only
/*
 * The integers of a normalisation against floats: with the form and output stage that the compiler
 * chooses, a result is at most 0.6 steps from the exact one of the same input, so hardly more than
 * by its own rounding, however far the deviations of positions are apart.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "vtaops.h"

#define POSITIONS	512
#define CHANNELS_MAX	3000
#define STEPS_MOST	0.6

static uint64_t state = 1;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 33) / 2147483648.0;
}

static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

struct layer {
	struct vtaops_norm_form form;
	double scale[CHANNELS_MAX], bias[CHANNELS_MAX], step;	/* of the output */
	int places, shift;
};

/* The integer of @x's channel @c, and the exact result in steps. */
static void compare(const struct layer *l, const int *x, double *worst)
{
	uint32_t n = l->form.c;
	double mean, variance = 0;
	int32_t sum = 0, squares = 0, factor, offset;

	for (uint32_t c = 0; c < n; c++) {
		sum += x[c];
		squares += x[c] * x[c];
	}
	mean = l->form.rms ? l->form.zero : (double)sum / n;
	for (uint32_t c = 0; c < n; c++)
		variance += (x[c] - mean) * (x[c] - mean) / n;
	variance += l->form.epsilon / (n * exp2(vtaops_norm_places(n)));
	vtaops_norm_factors(&l->form, sum, squares, &factor, &offset);
	for (uint32_t c = 0; c < n; c++) {
		double unit = exp2(l->shift), exact;
		int32_t mul = (int32_t)rint(l->scale[c] / l->step * exp2(l->shift - l->places));
		int32_t add = (int32_t)floor(l->bias[c] / l->step * unit + unit / 2);
		int32_t acc = vtaops_norm_value(&l->form, x[c], factor, offset), y;
		int64_t wide = (int64_t)acc * mul + add;

		assert_true(wide == (int32_t)wide);
		y = (int32_t)wide >> l->shift;
		exact = ((variance > 0 ? (x[c] - mean) / sqrt(variance) : 0) * l->scale[c] +
			 l->bias[c]) / l->step;
		*worst = fmax(*worst, fabs(fmin(fmax(y, -127), 127) -
					   fmin(fmax(exact, -127), 127)));
	}
}

static void make_layer(struct layer *l, uint32_t n, int rms)
{
	double most = 0, reach = fmin(sqrt(n), 4.5);

	*l = (struct layer) { .form = { .c = n, .rms = rms, .zero = rms ? 9 : 0,
					.epsilon = (uint32_t)(uniform() * 40) } };
	for (uint32_t c = 0; c < n; c++) {
		l->scale[c] = 1 + normal() / 8;
		l->bias[c] = normal() / 8;
		most = fmax(most, reach * fabs(l->scale[c]) + fabs(l->bias[c]));
	}
	l->step = most / 127;
	while (exp2(VTAOPS_NORM_PLACES - (int)l->form.shift) * (sqrt(n) * 1.01 + 0.1) > 32768)
		l->form.shift++;
	l->places = VTAOPS_NORM_PLACES - (int)l->form.shift;
	l->shift = 30;
	while (most / l->step * exp2(l->shift - l->places) > 32766 ||
	       exp2(l->shift) * (most / l->step + 1) > exp2(30))
		l->shift--;
}

static void test_steps(void **unused)
{
	static const uint32_t counts[] = { 1, 2, 16, 33, 96, 192, 768, CHANNELS_MAX };
	static int x[CHANNELS_MAX];
	static struct layer l;

	(void)unused;
	for (unsigned int k = 0; k < 2 * sizeof(counts) / sizeof(counts[0]); k++) {
		uint32_t n = counts[k / 2];

		for (int apart = 1; apart <= 8; apart *= 2) {
			double worst = 0;

			make_layer(&l, n, k & 1);
			for (int p = 0; p < POSITIONS; p++) {
				double by = 28 / exp2(uniform() * log2(apart));
				double off = (normal() / 2) * by;

				for (uint32_t c = 0; c < n; c++)
					x[c] = (int)fmin(fmax(rint(normal() * by + off), -128),
							 127);
				compare(&l, x, &worst);
			}
			print_message("# %u channels%s, deviations up to %d apart: %.3f steps\n", n,
				      l.form.rms ? ", rms" : "", apart, worst);
			assert_true(worst <= STEPS_MOST);
		}
	}
}

/* All extremes stay within 32 bits, and constant positions are 0. */
static void test_extremes(void **unused)
{
	static const uint32_t counts[] = { 1, 2, 3, 100, 1000, VTAOPS_NORM_MAX };

	(void)unused;
	for (unsigned int k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		for (int rms = 0; rms < 2; rms++) {
			uint32_t n = counts[k], high = n / 2;
			struct vtaops_norm_form f = { .c = n, .rms = rms, .shift = 8 };
			int32_t factor, offset, a, b;
			double exact;

			for (int v = -128; v < 128; v++) {
				vtaops_norm_factors(&f, (int32_t)n * v, (int32_t)n * v * v, &factor,
						    &offset);
				a = vtaops_norm_value(&f, v, factor, offset);
				if (!rms || !v)
					assert_true(abs(a) <= 1);
				else
					assert_true(abs(abs(a) - 1024) <= 4);
			}
			vtaops_norm_factors(&f, (int32_t)high * 127 - (int32_t)(n - high) * 128,
					    (int32_t)high * 127 * 127 +
					    (int32_t)(n - high) * 128 * 128, &factor, &offset);
			a = vtaops_norm_value(&f, 127, factor, offset);
			b = vtaops_norm_value(&f, -128, factor, offset);
			exact = high ? rms ? 1024 : sqrt((double)(n - high) / high) * 1024 : 0;
			if (high)
				assert_true(fabs(a - exact) <= 8 && b < 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps), cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
