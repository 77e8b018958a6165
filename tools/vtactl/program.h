/* SPDX-License-Identifier: GPL-2.0-only */
/* vtactl program: describe a program image, and run it. */
#ifndef VTACTL_PROGRAM_H
#define VTACTL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "boxes.h"
#include "vtadev.h"
#include "vtaimage.h"

struct iovec;
struct json_object;
struct labels;
struct vtadev_completion;
struct vtadev_pool;
struct vtaprog;

/* Of run --boxes. */
struct program_box {
	struct boxes_format format;
	float least;		/* score */
	const char *draw;	/* a PNG file, or NULL */
};

struct program_run {
	const char *path;	/* of the image */
	const char *cards;	/* "all", or names with commas between; NULL: the first */
	char **assigns;		/* NAME=FILE or @NUMBER=FILE: inputs, and outputs to be kept */
	int count;
	char **pictures;	/* files, for the input that has preprocessing */
	int picture_count;	/* one at most, but with @cards */
	const char *images;	/* a directory to evaluate the program with, or NULL */
	const char *labels;	/* a file, or NULL: the image's own; of @images: their classes */
	uint32_t threads;	/* of steps on the CPU; 0: all processors; 1: one */
	uint32_t variant;	/* of the image, if @variant_given; else the inputs' sizes decide */
	bool variant_given;
	uint32_t top;		/* classes to print, or 0 */
	const struct program_box *box;	/* print boxes instead of classes, or NULL */
	struct json_object *json;	/* gets what else is printed as text, or NULL */
};

/* Options of bench and profile; @run.json is unused, and outputs are not kept. */
struct program_measure {
	struct program_run run;
	const char *output;	/* of profile: the trace, or NULL */
	uint32_t in_flight;	/* runs on each card, at most; 0: 4 */
	uint32_t warmup;	/* runs */
	uint64_t count;		/* runs to measure; 0: for @seconds */
	double seconds;
	double min_rate;	/* images a second, or 0 */
	bool json;
};

/* Print the reason if they fail, and return the exit status. */
int program_info(const char *path, bool json);
int program_run(const struct program_run *run);
int program_bench(const struct program_measure *measure);
int program_profile(const struct program_measure *measure);
int program_run_pool(const struct program_run *run, const struct vtaimage *image);
int program_evaluate(const struct program_run *run, const struct vtaimage *image);

/* Open the image of a file. Returns its bytes, to be freed; NULL if it is no image. */
uint8_t *program_read(const char *path, struct vtaimage *image);

/* The same for @run, whose variant is chosen. */
uint8_t *program_read_for(const struct program_run *run, struct vtaimage *image);

/* The FILE of NAME=FILE, or @NUMBER=FILE, for a tensor of the image, or NULL. */
const char *program_file_of(const struct vtaimage *image, uint32_t tensor,
			    const struct program_run *run);

/* 0, or an exit status if a result at @path would replace a file that @run reads. */
int program_check_output(const struct vtaimage *image, const struct program_run *run,
			 const char *path);

/* Values of all inputs, for vtadev_bench.h. */
struct program_inputs {
	struct iovec *io;
	unsigned int count;
};

/* Loads the files and the picture of @run, or makes random values; returns an exit status. */
int program_load_inputs(const struct vtaimage *image, const struct program_run *run,
			struct program_inputs *inputs);
void program_free_inputs(struct program_inputs *inputs);

/* The names in @cards, with commas between; they become strings. Returns their number. */
unsigned int program_split_cards(char *cards, const char **names);

/* Loads the program on @cards, names with commas between, "all", or NULL for the first. */
int program_open_pool(const struct vtaimage *image, const char *cards, struct vtadev_pool **pool);

/* Prints why a request of a pool failed; @run names it. */
void program_print_failure(const char *run, const struct vtadev_completion *done);

/* Prints what each card of a pool has done, if there are several; or adds it to a JSON object. */
void program_print_cards(struct vtadev_pool *pool);
void program_add_cards(struct vtadev_pool *pool, struct json_object *to);

/* The name of the card that is used if none is given; @card has room for it. */
int program_first_card(struct vtadev_card *card, const char **name);

/* Converts a picture to plain values of an input, to be freed; NULL if it fails. */
void *program_picture(const struct vtaimage *image, const struct vtaimage_tensor *tensor,
		      const char *path);

/* Takes the labels of the run's file, or the image's; 0, or an exit status. labels_free() after. */
int program_labels(const struct vtaimage *image, const struct program_run *run,
		   struct labels *labels);

/* Adds run @number to @run->json, with its results under @key. */
void program_add_run(const struct program_run *run, size_t number, const char *key,
		     struct json_object *results);

/* Checks that the program has boxes, if @run asks for them; 0, or an exit status. */
int program_check_boxes(const struct vtaimage *image, const struct program_run *run);

/* Prints the boxes of a program that has run, and draws them; 0, or an exit status. */
int program_print_boxes(struct vtaprog *prog, const struct vtaimage *image,
			const struct program_run *run);

/* Prints the likeliest classes of run @number's output, as many as @run asks for. */
int program_print_top(const struct vtaimage *image, const struct vtaimage_tensor *tensor,
		      const void *values, const struct program_run *run, size_t number);

#endif /* VTACTL_PROGRAM_H */
