// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define LEVEL_WARNING	4

static int kmsg = -1;

void log_begin(void)
{
	if (kmsg < 0)
		kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kmsg, 0, SEEK_END);
}

/*
 * Messages of the driver, of PCI when a card is removed, of the rate limit, and of a guest's clock
 * on a busy host.
 */
static bool expected(const char *text)
{
	static const char *const begins[] = {
		"vta ", "vta: probe of ", "pci ", "pcieport ",
		"done.",	/* the rest of a line on freezing, if another came between */
		"hrtimer: interrupt took", "clocksource: ", "sched: RT throttling",
	};

	for (unsigned int i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return strstr(text, "callbacks suppressed");
}

/* "LEVEL,SEQUENCE,TIME,FLAGS;TEXT\n" and more lines */
const char *log_complaint(void)
{
	static char record[1024];
	ssize_t n;

	for (;;) {
		char *text, *end;

		n = read(kmsg, record, sizeof(record) - 1);
		if (n <= 0)
			return NULL;
		record[n] = '\0';
		text = strchr(record, ';');
		if (!text)
			continue;
		end = strchr(++text, '\n');
		if (end)
			*end = '\0';
		/* The facility is above the level; 0 is the kernel's. */
		if (atoi(record) <= LEVEL_WARNING && !expected(text))
			return text;
	}
}
