// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make bad program images of a good one:
 *
 *	broken IMAGE DIR
 *
 * version.vtap, checksum.vtap and reach.vtap are to be refused; deadlock.vtap has
 * nothing wrong that can be seen, but its first instruction waits for ever.
 */
#include <stdio.h>
#include <stdlib.h>

#include "image.h"

static uint8_t *image;
static size_t size;
static const char *dir;

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void write_image(const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.vtap", dir, name);
	file = fopen(path, "wbe");
	if (!file || fwrite(image, 1, size, file) != size || fclose(file))
		give_up(path);
}

static void write_with_checksum(const char *name)
{
	put32(image + AT_CRC, image_crc(image, size));
	write_image(name);
}

/* Return the first entry of a part. */
static uint8_t *part(enum image_part part)
{
	return image + get32(image + AT_PARTS + 8 * part);
}

int main(int argc, char **argv)
{
	FILE *file = argc == 3 ? fopen(argv[1], "rbe") : NULL;
	uint8_t *model, *insn;
	uint64_t word;

	if (!file || fseek(file, 0, SEEK_END))
		give_up("broken IMAGE DIR");
	size = (size_t)ftell(file);
	rewind(file);
	image = malloc(size);
	dir = argv[2];
	if (!image || fread(image, 1, size, file) != size || fclose(file))
		give_up(argv[1]);

	image[size - 1] ^= 1;
	write_image("checksum");
	image[size - 1] ^= 1;

	put32(image + AT_VERSION, IMAGE_VERSION + 1);
	write_with_checksum("version");
	put32(image + AT_VERSION, IMAGE_VERSION);

	/* The first instruction that has a relocation reaches far beyond its segment. */
	model = part(PART_MODEL);
	insn = model + (size_t)(get32(part(PART_RELOCS)) & RELOC_INSN) * INSN_BYTES;
	word = get64(insn);
	put64(insn, word | DRAM_MASK);
	write_with_checksum("reach");
	put64(insn, word);

	insn = model + get32(part(PART_STREAMS) + STREAM_INSN);
	put64(insn, get64(insn) | VTA_ISA_POP_NEXT);
	write_with_checksum("deadlock");
	free(image);
	return 0;
}
