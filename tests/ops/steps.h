/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of a program image on a machine without a card. */
#ifndef TESTS_OPS_STEPS_H
#define TESTS_OPS_STEPS_H

#include "machine.h"
#include "vtaimage.h"

struct steps {
	struct machine *machine;
	struct vtaimage image;
	uint32_t model, arena;		/* device addresses */
	uint8_t *host, *consts;		/* of the image's sizes, aligned */
};

/* Open @data, which stays, and place it. Ends the program if it is not valid. */
void steps_init(struct steps *s, struct machine *m, const void *data, size_t size);
/* Place an image that s->image has already. */
void steps_place(struct steps *s, struct machine *m);
void steps_fini(struct steps *s);

/* One run; or one step of it, but a RUN. */
void steps_run(struct steps *s);
void steps_do(struct steps *s, const struct vtaimage_step *step);

/* The host's memory of an input or output. */
void *steps_tensor(struct steps *s, const char *name);

#endif /* TESTS_OPS_STEPS_H */
