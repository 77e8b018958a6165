// SPDX-License-Identifier: GPL-2.0-only
/*
 * why.c - opens a device; if that fails, prints why
 */
#include <stdio.h>

#include "vtadev.h"

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : NULL;
	char text[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err = vtadev_open(which, &dev);

	if (!err) {
		vtadev_close(dev);
		return 0;
	}
	vtadev_open_text(which, text, sizeof(text));
	printf("%s\n", text);
	return 1;
}
