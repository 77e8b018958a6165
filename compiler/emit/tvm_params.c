// SPDX-License-Identifier: Apache-2.0
/* Parameters as relay.save_param_dict() writes them. */
#include <stdlib.h>
#include <string.h>

#include "tvm.h"

#define LIST_MAGIC	0xf7e58d4f05049cb7ull
#define ARRAY_MAGIC	0xdd5e40f096b4a13full
#define PARAMS_MAX	100000u
#define NAME_MAX_BYTES	1000u

/* The rest of the file. */
struct reader {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static const uint8_t *take(struct reader *r, uint64_t bytes)
{
	const uint8_t *at = r->at;

	if (r->failed || bytes > r->left) {
		r->failed = true;
		return NULL;
	}
	r->at += bytes;
	r->left -= (size_t)bytes;
	return at;
}

/* Little-endian, of at most 8 bytes; 0 if it is not there. */
static uint64_t read_number(struct reader *r, unsigned int bytes)
{
	const uint8_t *p = take(r, bytes);
	uint64_t value = 0;

	for (unsigned int i = 0; p && i < bytes; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}

static int read_name(struct reader *r, struct tvm_param *p)
{
	uint64_t bytes = read_number(r, 8);
	const uint8_t *name = bytes <= NAME_MAX_BYTES ? take(r, bytes) : NULL;

	if (!name || memchr(name, 0, (size_t)bytes))
		return -1;
	p->name = strndup((const char *)name, (size_t)bytes);
	return p->name ? 0 : -1;
}

static int read_array(struct reader *r, struct tvm_param *p)
{
	if (read_number(r, 8) != ARRAY_MAGIC)
		return -1;
	read_number(r, 8);
	/* The device that it was on does not matter. */
	read_number(r, 8);
	p->rank = (uint32_t)read_number(r, 4);
	p->type.code = (uint8_t)read_number(r, 1);
	p->type.bits = (uint8_t)read_number(r, 1);
	p->type.lanes = (uint16_t)read_number(r, 2);
	if (p->rank > TVM_RANK_MAX)
		return -1;
	for (uint32_t i = 0; i < p->rank; i++)
		p->dims[i] = (int64_t)read_number(r, 8);
	p->bytes = read_number(r, 8);
	if (r->failed || p->bytes != tvm_bytes(p->type, p->rank, p->dims))
		return -1;
	p->data = take(r, p->bytes);
	return p->data ? 0 : -1;
}

int tvm_params_read(struct tvm_params *p, const uint8_t *data, size_t size,
		    struct vtac_error *error)
{
	struct reader r = { data, size, false };
	uint64_t count;

	*p = (struct tvm_params) { .params = NULL };
	if (read_number(&r, 8) != LIST_MAGIC)
		return tvm_fail(error, "The parameters are not what relay.save_param_dict() "
				"writes.");
	read_number(&r, 8);
	count = read_number(&r, 8);
	/* Each has a name of 8 bytes at least. */
	if (count > PARAMS_MAX || count > r.left / 8)
		return tvm_fail(error, "There are more than %u parameters, or they are cut off.",
				PARAMS_MAX);
	p->params = calloc((size_t)count + 1, sizeof(*p->params));
	if (!p->params)
		return tvm_fail(error, "Out of memory.");
	p->count = (uint32_t)count;
	for (uint32_t i = 0; i < p->count; i++)
		if (read_name(&r, &p->params[i]))
			return tvm_fail(error, "The name of parameter %u is cut off, or no "
					"name.", i);
	if (read_number(&r, 8) != count)
		return tvm_fail(error, "There are not as many parameters as names.");
	for (uint32_t i = 0; i < p->count; i++)
		if (read_array(&r, &p->params[i]))
			return tvm_fail(error, "Parameter %.100s is cut off, or no array.",
					p->params[i].name);
	return r.left ? tvm_fail(error, "The file continues after the parameters.") : 0;
}

void tvm_params_free(struct tvm_params *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->params[i].name);
	free(p->params);
}
