// SPDX-License-Identifier: Apache-2.0
/* Constants of a file: in its messages, or in a file beside it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx_impl.h"

enum {
	FLOAT = 1, UINT8 = 2, INT8 = 3, UINT16 = 4, INT16 = 5, INT32 = 6, INT64 = 7, BOOL = 9,
	FLOAT16 = 10, DOUBLE = 11, UINT32 = 12, UINT64 = 13, BFLOAT16 = 16,
};

const char *onnx_type_name(int64_t type)
{
	static const char *const names[] = {
		"no type", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
		"bool", "float16", "double", "uint32", "uint64", "complex64", "complex128",
		"bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
		"uint4", "int4", "float4e2m1",
	};

	return type >= 0 && type < (int64_t)(sizeof(names) / sizeof(names[0])) ? names[type] :
		"a type that is not known";
}

bool onnx_is_half(int32_t type)
{
	return type == FLOAT16 || type == BFLOAT16;
}

bool onnx_is_bfloat(int32_t type)
{
	return type == BFLOAT16;
}

int onnx_dtype(int32_t type)
{
	switch (type) {
	case FLOAT:
	case FLOAT16:
	case BFLOAT16:
	case DOUBLE:
		return VTAC_F32;
	case UINT8:
		return VTAC_U8;
	case INT8:
		return VTAC_I8;
	case INT16:
	case UINT16:
	case INT32:
		return VTAC_I32;
	case UINT32:
	case UINT64:
	case INT64:
		return VTAC_I64;
	case BOOL:
		return VTAC_BOOL;
	default:
		return -1;
	}
}

static size_t file_size_of(int32_t type)
{
	return onnx_is_half(type) || type == INT16 || type == UINT16 ? 2 : type == UINT32 ? 4 :
	       type == DOUBLE ? 8 : vtac_dtype_size(onnx_dtype(type));
}

/* ---- values to what they are kept as ---- */

static float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mant = h & 0x3ff, exp = (h >> 10) & 31;
	uint32_t bits;
	float f;

	if (exp == 0) {
		f = (float)mant / 16777216.0f;
		return sign ? -f : f;
	}
	bits = sign | (exp == 31 ? 0x7f800000 : (exp + 112) << 23) | mant << 13;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static float bfloat_to_float(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static void convert(void *dst, const uint8_t *src, int32_t type, uint64_t n)
{
	float *f = dst;

	if (type == FLOAT16) {
		for (uint64_t i = 0; i < n; i++)
			f[i] = half_to_float((uint16_t)(src[2 * i] | src[2 * i + 1] << 8));
	} else if (type == BFLOAT16) {
		for (uint64_t i = 0; i < n; i++)
			f[i] = bfloat_to_float((uint16_t)(src[2 * i] | src[2 * i + 1] << 8));
	} else if (type == DOUBLE) {
		for (uint64_t i = 0; i < n; i++) {
			double d;

			memcpy(&d, src + 8 * i, sizeof(d));
			f[i] = (float)d;
		}
	} else if (type == BOOL) {
		for (uint64_t i = 0; i < n; i++)
			((uint8_t *)dst)[i] = src[i] != 0;
	} else if (type == INT16 || type == UINT16) {
		for (uint64_t i = 0; i < n; i++) {
			uint16_t v = (uint16_t)(src[2 * i] | src[2 * i + 1] << 8);

			((int32_t *)dst)[i] = type == INT16 ? (int16_t)v : v;
		}
	} else if (type == UINT32) {
		for (uint64_t i = 0; i < n; i++) {
			uint32_t v;

			memcpy(&v, src + 4 * i, sizeof(v));
			((int64_t *)dst)[i] = v;
		}
	} else if (n) {
		memcpy(dst, src, n * file_size_of(type));
	}
}

static int fill_raw(struct vtac_graph *g, struct vtac_tensor *t, const uint8_t *data, uint64_t len,
		    int32_t type)
{
	uint64_t n = (uint64_t)vtac_elements(t), need = n * file_size_of(type);
	void *own;

	if (len != need)
		return vtac_fail(g, NULL,
				 "Constant %.120s has %llu bytes of data; its shape takes %llu.",
				 t->name, (unsigned long long)len,
				 (unsigned long long)need);
	own = vtac_alloc(g, n + 1, vtac_dtype_size(t->dtype));
	if (!own)
		return -1;
	convert(own, data, type, n);
	t->data = own;
	return 0;
}

/* ---- values in typed fields ---- */

static size_t field_count(const Onnx__TensorProto *p)
{
	switch (p->data_type) {
	case FLOAT:
		return p->n_float_data;
	case DOUBLE:
		return p->n_double_data;
	case INT64:
		return p->n_int64_data;
	case UINT32:
	case UINT64:
		return p->n_uint64_data;
	default:
		return p->n_int32_data;
	}
}

static void copy_fields(void *dst, const Onnx__TensorProto *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (p->data_type) {
		case FLOAT:
			((float *)dst)[i] = p->float_data[i];
			break;
		case DOUBLE:
			((float *)dst)[i] = (float)p->double_data[i];
			break;
		case FLOAT16:
			((float *)dst)[i] = half_to_float((uint16_t)p->int32_data[i]);
			break;
		case BFLOAT16:
			((float *)dst)[i] = bfloat_to_float((uint16_t)p->int32_data[i]);
			break;
		case INT64:
			((int64_t *)dst)[i] = p->int64_data[i];
			break;
		case UINT32:
		case UINT64:
			((int64_t *)dst)[i] = (int64_t)p->uint64_data[i];
			break;
		case INT32:
		case INT16:
		case UINT16:
			((int32_t *)dst)[i] = p->int32_data[i];
			break;
		case BOOL:
			((uint8_t *)dst)[i] = p->int32_data[i] != 0;
			break;
		default:
			((uint8_t *)dst)[i] = (uint8_t)p->int32_data[i];
		}
	}
}

static int fill_fields(struct vtac_graph *g, struct vtac_tensor *t, const Onnx__TensorProto *p)
{
	uint64_t n = (uint64_t)vtac_elements(t);
	void *own;

	if (field_count(p) != n)
		return vtac_fail(g, NULL, "Constant %.120s has %zu values; its shape takes %llu.",
				 t->name, field_count(p), (unsigned long long)n);
	own = vtac_alloc(g, n + 1, vtac_dtype_size(t->dtype));
	if (!own)
		return -1;
	copy_fields(own, p, n);
	t->data = own;
	return 0;
}

/* ---- external data ---- */

struct external {
	const char *location;
	uint64_t offset, length;
	bool has_length;
};

static bool parse_number(const char *text, uint64_t *v)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*v = strtoull(text, &end, 10);
	return !errno && !*end;
}

static int parse_external(struct vtac_graph *g, const struct vtac_tensor *t,
			  const Onnx__TensorProto *p, struct external *e)
{
	bool good = true;

	*e = (struct external){ 0 };
	for (size_t i = 0; i < p->n_external_data; i++) {
		const Onnx__StringStringEntryProto *entry = p->external_data[i];

		if (!entry->key || !entry->value)
			continue;
		if (!strcmp(entry->key, "location")) {
			e->location = entry->value;
		} else if (!strcmp(entry->key, "offset")) {
			good = good && parse_number(entry->value, &e->offset);
		} else if (!strcmp(entry->key, "length")) {
			good = good && parse_number(entry->value, &e->length);
			e->has_length = true;
		}
	}
	if (!good || !e->location || !e->location[0])
		return vtac_fail(g, NULL,
				 "Constant %.120s: the place of its external data is damaged.",
				 t->name);
	return 0;
}

/* The file that is open, wherever links led: is it below @dir? */
static bool is_below(int fd, const char *dir)
{
	char link[64], path[PATH_MAX];
	size_t len = strlen(dir);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = 0;
	return !strcmp(dir, "/") || (!strncmp(path, dir, len) && path[len] == '/');
}

static int open_external(struct onnx_reader *r, const struct vtac_tensor *t, const char *location)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!location || location[0] == '/' || !r->dir[0] ||
	    snprintf(path, sizeof(path), "%s/%s", r->dir, location) >= (int)sizeof(path))
		return vtac_fail(r->g, NULL,
				 "Constant %.120s: its data must be in a file below the model's "
				 "directory.",
				 t->name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return vtac_fail(r->g, NULL, "Constant %.80s: its data file %.120s: %s.", t->name,
				 location, strerror(errno));
	if (!is_below(fd, r->dir) || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return vtac_fail(r->g, NULL,
				 "Constant %.80s: %.120s is not below the model's directory.",
				 t->name, location);
	}
	return fd;
}

static bool read_all(int fd, uint8_t *data, uint64_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pread(fd, data, len < (1u << 30) ? len : 1u << 30, (off_t)offset);

		if (n <= 0)
			return false;
		data += n;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return true;
}

static int fill_external(struct onnx_reader *r, struct vtac_tensor *t, const Onnx__TensorProto *p)
{
	uint64_t need = (uint64_t)vtac_elements(t) * file_size_of(p->data_type);
	struct external e;
	uint8_t *data;
	int fd, err;

	if (parse_external(r->g, t, p, &e))
		return -1;
	if ((e.has_length && e.length != need) || e.offset > INT64_MAX - need)
		return vtac_fail(r->g, NULL,
				 "Constant %.120s has %llu bytes of data; its shape takes %llu.",
				 t->name, (unsigned long long)e.length, (unsigned long long)need);
	fd = open_external(r, t, e.location);
	if (fd < 0)
		return -1;
	data = vtac_alloc(r->g, need + 1, 1);
	err = !data || !read_all(fd, data, need, e.offset);
	close(fd);
	if (err)
		return vtac_fail(r->g, NULL,
				 "Constant %.80s: %.120s ends before its data.", t->name,
				 e.location);
	/* Kept as they are in the file */
	if (file_size_of(p->data_type) == vtac_dtype_size(t->dtype) && p->data_type != BOOL) {
		t->data = data;
		return 0;
	}
	return fill_raw(r->g, t, data, need, p->data_type);
}

int onnx_tensor_fill(struct onnx_reader *r, struct vtac_tensor *t, const Onnx__TensorProto *p)
{
	int dtype = onnx_dtype(p->data_type);
	int rank = p->n_dims > VTAC_RANK_MAX ? VTAC_RANK_MAX + 1 : (int)p->n_dims;

	if (dtype < 0 || p->segment)
		return vtac_fail(r->g, NULL,
				 "Constant %.120s is of %s, which is not supported.", t->name,
				 p->segment ? "a segment" : onnx_type_name(p->data_type));
	t->dtype = (enum vtac_dtype)dtype;
	if (vtac_set_shape(r->g, NULL, t, rank, p->dims))
		return -1;
	if (p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
		return fill_external(r, t, p);
	if (p->has_raw_data)
		return fill_raw(r->g, t, p->raw_data.data, p->raw_data.len, p->data_type);
	return fill_fields(r->g, t, p);
}
