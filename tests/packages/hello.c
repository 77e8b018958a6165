// SPDX-License-Identifier: GPL-2.0-only
/* A program made with the installed headers and library. */
#include <stdio.h>
#include <vtadev.h>

int main(void)
{
	puts(vtadev_version());
	return 0;
}
