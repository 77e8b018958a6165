// SPDX-License-Identifier: Apache-2.0
/* Writing C: files, names and bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emit.h"
#include "output.h"

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

struct vtac_emit_file {
	struct vtac_emit_file *next;
	struct output output;
	char name[32];
};

static int fail(struct vtac_emit_files *files, const char *name, int err)
{
	snprintf(files->error->text, sizeof(files->error->text), "%.200s/%s: %s.", files->dir,
		 name, strerror(-err));
	return -1;
}

FILE *vtac_emit_open(struct vtac_emit_files *files, const char *name)
{
	struct vtac_emit_file *file = malloc(sizeof(*file));
	char path[4096];
	int err = file ? 0 : -ENOMEM;

	if (!err && (size_t)snprintf(path, sizeof(path), "%s/%s", files->dir, name) >= sizeof(path))
		err = -ENAMETOOLONG;
	if (!err && mkdir(files->dir, 0777) && errno != EEXIST)
		err = -errno;
	if (!err)
		err = output_open(&file->output, path, 0666);
	if (err) {
		free(file);
		fail(files, name, err);
		return NULL;
	}
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->next = files->first;
	files->first = file;
	return file->output.file;
}

int vtac_emit_end(struct vtac_emit_files *files, int ret)
{
	int err;

	for (struct vtac_emit_file *f = files->first; f && !ret; f = f->next) {
		fflush(f->output.file);
		if (f->output.err)
			ret = fail(files, f->name, f->output.err);
	}
	while (files->first) {
		struct vtac_emit_file *f = files->first;

		if (ret)
			output_cancel(&f->output);
		err = ret ? 0 : output_close(&f->output);
		if (err)
			ret = fail(files, f->name, err);
		files->first = f->next;
		free(f);
	}
	return ret;
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
