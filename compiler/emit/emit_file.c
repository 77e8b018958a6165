// SPDX-License-Identifier: Apache-2.0
/* Writing C: files, names and bytes. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "emit.h"

static bool is_taken(const char *name, const struct vtac_c_name *taken, unsigned int n)
{
	while (n--)
		if (!strcmp(taken[n].text, name))
			return true;
	return false;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct vtac_c_name vtac_c_name(const char *text, const struct vtac_c_name *taken, unsigned int n)
{
	unsigned int at = 0, number = 2;
	char base[VTAC_C_NAME_MAX - 12];
	struct vtac_c_name out;

	if (!is_letter(*text))
		base[at++] = 'x';
	for (; *text && at + 1 < sizeof(base); text++)
		base[at++] = is_letter(*text) || (*text >= '0' && *text <= '9') ? *text : '_';
	base[at] = '\0';
	snprintf(out.text, sizeof(out.text), "%s", base);
	while (is_taken(out.text, taken, n))
		snprintf(out.text, sizeof(out.text), "%s_%u", base, number++);
	return out;
}

FILE *vtac_emit_open(const char *dir, const char *file, struct vtac_error *error)
{
	char path[4096];
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		errno = ENAMETOOLONG;
	else if (!mkdir(dir, 0777) || errno == EEXIST)
		f = fopen(path, "we");
	if (!f)
		snprintf(error->text, sizeof(error->text), "%.200s/%s: %s.", dir, file,
			 strerror(errno));
	return f;
}

int vtac_emit_close(FILE *f, const char *dir, const char *file, struct vtac_error *error)
{
	bool failed = ferror(f);

	if (!fclose(f) && !failed)
		return 0;
	snprintf(error->text, sizeof(error->text), "%.200s/%s: it cannot be written.", dir, file);
	return -1;
}

/* A string, which compilers read a hundred times faster than a list of numbers. */
void vtac_emit_bytes(FILE *f, const char *name, const uint8_t *data, size_t size)
{
	fprintf(f, "const uint8_t %s[%zu] __attribute__((aligned(64))) =", name, size ? size : 1);
	for (size_t i = 0; i < size; i++) {
		if (i % 32 == 0)
			fputs(i ? "\"\n\t\"" : "\n\t\"", f);
		fputc('\\', f);
		for (unsigned int shift = 6; ; shift -= 3) {
			fputc('0' + (data[i] >> shift & 7), f);
			if (!shift)
				break;
		}
	}
	fputs(size ? "\";\n" : " { 0 };\n", f);
}
