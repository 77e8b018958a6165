// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

int prog_read(struct prog *prog, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, prog->ops, sizeof(prog->ops));
	close(fd);
	if (len < 0)
		return -errno;
	prog->len = (uint32_t)((size_t)len / sizeof(prog->ops[0]));
	return 0;
}

int prog_write(const struct prog *prog, const char *path)
{
	size_t size = prog->len * sizeof(prog->ops[0]);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = write(fd, prog->ops, size);
	close(fd);
	return len == (ssize_t)size ? 0 : -EIO;
}

uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint64_t *random, uint32_t n)
{
	return (uint32_t)((random_next(random) >> 32) % n);
}

static struct op random_op(uint64_t *random)
{
	uint64_t r = random_next(random);
	struct op op;

	memcpy(&op, &r, sizeof(r));
	op.e = random_next(random);
	/* Small numbers mean more than large ones. */
	if (r >> 63)
		op.e &= 0xff;
	if (r >> 62 & 1)
		op.d &= 0xff;
	/* Mostly the first objects, which are there. */
	if (r >> 61 & 1) {
		op.a &= 1;
		op.b &= 3;
	}
	return op;
}

static void insert(struct prog *prog, uint32_t at, const struct op *ops, uint32_t n)
{
	if (n > PROG_OPS - prog->len)
		n = PROG_OPS - prog->len;
	memmove(&prog->ops[at + n], &prog->ops[at], (prog->len - at) * sizeof(*ops));
	memcpy(&prog->ops[at], ops, n * sizeof(*ops));
	prog->len += n;
}

static void cut(struct prog *prog, uint32_t at, uint32_t n)
{
	if (n > prog->len - at)
		n = prog->len - at;
	memmove(&prog->ops[at], &prog->ops[at + n],
		(prog->len - at - n) * sizeof(prog->ops[0]));
	prog->len -= n;
}

static void change_one(struct op *op, uint64_t *random)
{
	uint8_t *bytes = (uint8_t *)op;
	uint32_t at = below(random, sizeof(*op));

	switch (below(random, 4)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		bytes[at] = (uint8_t)random_next(random);
		break;
	case 2:
		bytes[at] += (uint8_t)(below(random, 9) - 4);
		break;
	default:
		*op = random_op(random);
		break;
	}
}

/* Short ones are mostly opening and closing. */
void mutate(struct prog *prog, const struct prog *other, uint64_t *random)
{
	uint32_t times = 1 + below(random, 6), at, n;
	struct op op;

	while (times--) {
		at = below(random, prog->len + 1);
		switch (below(random, 8)) {
		case 0:
		case 1:
			op = random_op(random);
			insert(prog, at, &op, 1);
			break;
		case 2:
			cut(prog, at, 1 + below(random, 3));
			break;
		case 3:
			if (other->len) {
				uint32_t from = below(random, other->len);

				n = 1 + below(random, other->len - from);
				insert(prog, at, &other->ops[from], n);
			}
			break;
		case 4:
			if (at < prog->len) {
				op = prog->ops[at];
				insert(prog, at, &op, 1);
			}
			break;
		default:
			if (at < prog->len)
				change_one(&prog->ops[at], random);
			break;
		}
	}
	while (prog->len < PROG_OPS / 4) {
		op = random_op(random);
		insert(prog, below(random, prog->len + 1), &op, 1);
	}
}
