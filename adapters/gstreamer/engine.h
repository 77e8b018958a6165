/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - a program on a pool of cards, for frames of a video
 *
 * One thread at a time may use an engine. Files and outputs are not trusted.
 */
#ifndef VTAINFER_ENGINE_H
#define VTAINFER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "boxes.h"

#define ENGINE_WHY_MAX	512

struct engine;

/*
 * @model: a .vtap file that says how a picture becomes its input
 * @cards: names with commas between, as for vtadev_open(); NULL: all cards, or the device that
 *         VTADEV_DEVICE names
 * @format: of boxes, as for boxes_format_read(); NULL: left, top, right, bottom in pixels
 */
struct engine_options {
	const char *model, *cards, *format;
};

/* engine_open() - load a program; returns NULL and the reason if it cannot be used */
struct engine *engine_open(const struct engine_options *options, char why[ENGINE_WHY_MAX]);

/* engine_close() - unload it; NULL is allowed */
void engine_close(struct engine *engine);

/*
 * engine_run() - find what is on a frame
 * @frame: the frame; not changed
 * @least: findings of smaller scores are left out
 * @boxes: out: findings, the highest score first; valid until the next call. A classifier has
 *         one: the most likely class, with the whole frame as its box
 *
 * Waits until a card has run the program, also while cards are lost and come back (10 s). Returns
 * the number of findings, or -1 and the reason.
 */
int engine_run(struct engine *engine, const struct picture *frame, float least,
	       const struct box **boxes, char why[ENGINE_WHY_MAX]);

/* engine_label() - the name of a class, or "class N"; valid until the next call */
const char *engine_label(struct engine *engine, uint32_t class);

#endif /* VTAINFER_ENGINE_H */
