/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * labels.h - the names of a network's classes
 */
#ifndef VTACTL_LABELS_H
#define VTACTL_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

struct labels {
	char **name;		/* [count], "" for one that is not named */
	size_t count;
};

/*
 * Loads a file with a line for each class; or JSON, an array of names, or an object from numbers to
 * names or to arrays that end in one. 0, or an exit status.
 */
int labels_load(struct labels *l, const char *path);
/* Takes names from a text with a line for each; none if it is NULL. */
int labels_from_text(struct labels *l, const char *text, size_t bytes);
void labels_free(struct labels *l);

/* The name of class @i, or NULL if it has none. */
const char *labels_name(const struct labels *l, size_t i);
/* Prints the name, or "class" and the number. */
void labels_print_word(const struct labels *l, size_t i);
/* The same, and ends the line. */
void labels_print_name(const struct labels *l, size_t i);

/* Prints the @top greatest values with their names, the greatest first. */
void labels_print(const struct labels *l, const struct vtaimage_tensor *t, const void *values,
		  uint32_t top);

struct json_object;
/* The same as an array of objects: class, name, value. */
struct json_object *labels_json(const struct labels *l, const struct vtaimage_tensor *t,
				const void *values, uint32_t top);

#endif /* VTACTL_LABELS_H */
