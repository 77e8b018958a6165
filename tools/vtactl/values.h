/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * values.h - files of tensors: .npy arrays, or values with nothing else
 */
#ifndef VTACTL_VALUES_H
#define VTACTL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

/* Reads a file, to be freed; NULL with errno set. */
uint8_t *values_read_file(const char *path, size_t *size);

/* True if the name is that of an array of numpy. */
bool values_is_npy(const char *path);

/* "float32", "int8", ... */
const char *values_type_name(uint32_t type);

/* The number of values of a tensor, and their bytes in a file. */
uint64_t values_count(const struct vtaimage_tensor *t);
size_t values_bytes(const struct vtaimage_tensor *t);

/*
 * Loads the values in a file, to be freed; NULL if it fails, and prints the reason. A .npy file has
 * the tensor's type, and its shape but for dimensions of 1.
 */
void *values_load(const char *path, const struct vtaimage_tensor *t);
/* True if the file has values of the tensor, for one run or several; prints nothing. */
bool values_fit(const char *path, const struct vtaimage_tensor *t);
/* Stores the values of @count runs in a file, a .npy those of one; 0, or an exit status. */
int values_store(const char *path, const struct vtaimage_tensor *t, const void *values,
		 size_t count);

/* Value @i, dequantised. */
double values_at(const struct vtaimage_tensor *t, const void *values, size_t i);

#endif /* VTACTL_VALUES_H */
