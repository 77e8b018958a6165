// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_state - the driver touches a card that it has lent to the PCI core not at all,
 * resets it through the PCI core, and says truly why a card was reset
 *
 * Faults of the card are injected, as in vta_hang, so this runs on card 0 alone.
 */
#include <glob.h>
#include <linux/pci_regs.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include "vta_hang.h"

#define EVENTS	"/sys/kernel/tracing/events/vta/"

static int device_path(char *path, size_t size, const char *name)
{
	return snprintf(path, size, "/sys/class/vta/%s/device/%s", card_name(), name);
}

/* The text of a file, without its newline; empty if there is none. */
static void file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	close(fd);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static bool state_is(const char *state)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/class/vta/%s/state", card_name());
	file_text(path, text, sizeof(text));
	return !strcmp(text, state);
}

/* ---- Lent to the PCI core ---- */

static void *resets_function(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)card_reset_function();
}

/* All files that may read the card's registers. */
static void look_at_everything(void)
{
	char path[96], text[64];
	glob_t sensors = { 0 };
	size_t i;

	card_counter("mmio_reads");
	device_path(path, sizeof(path), "hwmon/hwmon*/*_input");
	if (!glob(path, 0, NULL, &sensors)) {
		for (i = 0; i < sensors.gl_pathc; i++)
			file_text(sensors.gl_pathv[i], text, sizeof(text));
		globfree(&sensors);
	}
}

/*
 * The reset may be over before all has been looked at: then it counts for nothing. The
 * emulated card counts while it is reset, from the moment at which that clears it.
 */
TEST_F(hang, card_under_function_reset_is_not_read)
{
	unsigned int tries, looks = 0;

	for (tries = 0; tries < 50 && looks < 3; tries++) {
		uint64_t before, after;
		pthread_t thread;
		void *ret;

		ASSERT_EQ(0, pthread_create(&thread, NULL, resets_function, NULL));
		while (!state_is("lent") && pthread_tryjoin_np(thread, &ret) == EBUSY)
			;
		before = emu_counter("mmio_reads");
		look_at_everything();
		after = emu_counter("mmio_reads");
		if (state_is("lent")) {
			looks++;
			/* Cleared in between: it had just been lent. */
			EXPECT_TRUE(after == before || after == 0);
		}
		pthread_join(thread, &ret);
	}
	EXPECT_LT(0, looks);
}

/* ---- Through the PCI core ---- */

static int reset_method(const char *method)
{
	char path[96];

	device_path(path, sizeof(path), "reset_method");
	return file_write(path, method);
}

/* What the administrator has ruled out is not done. */
TEST_F(hang, reset_methods_are_respected)
{
	struct waiter w;

	if (reset_method("default"))
		SKIP(return, "this kernel has no reset_method");
	ASSERT_EQ(0, reset_method("\n"));
	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 1);
	ASSERT_EQ(0, reset_method("default"));
}

/* The bus behind the port has this card alone. */
TEST_F(hang, bus_reset_helps)
{
	struct waiter w;

	if (reset_method("bus"))
		SKIP(return, "this kernel has no reset_method, or no bus reset for the card");
	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_FALSE(given_up());
	ASSERT_EQ(0, reset_method("default"));
}

static int config_byte(unsigned int at, int value)
{
	uint8_t byte = value;
	char path[96];
	int fd, ret;

	device_path(path, sizeof(path), "config");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (value < 0)
		ret = pread(fd, &byte, 1, at) == 1 ? byte : -errno;
	else
		ret = pwrite(fd, &byte, 1, at) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

/* Configuration that was changed since the driver was bound is there after a reset. */
TEST_F(hang, function_reset_keeps_what_was_configured)
{
	int before = config_byte(PCI_CACHE_LINE_SIZE, -1);
	struct waiter w;

	ASSERT_EQ(0, config_byte(PCI_CACHE_LINE_SIZE, 0x20));
	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, emu_inject("heartbeat"));
	ASSERT_EQ(0, hold(self, &w));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_EQ(0x20, config_byte(PCI_CACHE_LINE_SIZE, -1));
	EXPECT_EQ(0, config_byte(PCI_CACHE_LINE_SIZE, before));
}

/* ---- Why it was reset ---- */

/* Why the card was reset as the N-th before now. */
static void reset_why(unsigned int n, char *why, size_t size)
{
	char path[64], lines[16][256];
	unsigned int count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/vta/%s/reset_log", card_name());
	file = fopen(path, "re");
	while (file && fgets(lines[count % 16], sizeof(lines[0]), file))
		count++;
	if (file)
		fclose(file);
	why[0] = '\0';
	if (count > n) {
		const char *at = strstr(lines[(count - 1 - n) % 16], "why=");

		snprintf(why, size, "%.*s", (int)strcspn(at + 4, "\n"), at + 4);
	}
}

/* Each of two resets, one amid the other, has its own reason. */
TEST_F(hang, administrator_amid_another_reset)
{
	char why[64];

	ASSERT_EQ(0, emu_inject("reset-slow=1500 1"));
	ASSERT_EQ(0, emu_inject("fatal"));
	while (!state_is("resetting"))
		sleep_ms(1);
	ASSERT_EQ(0, card_reset());
	EXPECT_EQ(self->before.generation + 2, steps_now().generation);
	reset_why(1, why, sizeof(why));
	EXPECT_STREQ("reported a fatal error", why);
	reset_why(0, why, sizeof(why));
	EXPECT_STREQ("an administrator asked", why);
}

/* ---- Asked for while the card falls asleep ---- */

static cpu_set_t one_processor(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

/* The card's own interrupt, and so the work that its handler queues. */
static int event_interrupt_goes_to(const char *mask)
{
	char path[96];
	glob_t found;
	int err;

	snprintf(path, sizeof(path), "/proc/irq/*/%s-card", card_name());
	if (glob(path, 0, NULL, &found))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/../smp_affinity", found.gl_pathv[0]);
	globfree(&found);
	err = file_write(path, mask);
	return err;
}

static volatile bool busy;

/* Keeps the work from processor 0, but not the interrupt and its thread. */
static void *keeps_processor_0(void *arg)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	const cpu_set_t set = one_processor(0);

	(void)arg;
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest))
		abort();
	busy = true;
	while (busy)
		;
	return NULL;
}

static bool reset_is_pending(int fd)
{
	struct vta_lost lost = { 0 };

	return !card_ioctl(fd, VTA_IOCTL_LOST, &lost) && lost.fate == VTA_FATE_PENDING;
}

static int opens_the_card(void *arg)
{
	(void)arg;
	alarm(PATIENCE_MS / 1000);
	return card_try() ? 1 : 0;
}

/* By the time its work runs the card sleeps, and is reset when it wakes up. */
TEST(reset_is_asked_for_while_the_card_falls_asleep)
{
	uint64_t resets = card_attr("recovery/soft_resets");
	char control[96], status[96], text[32];
	const cpu_set_t rest = one_processor(1);
	pthread_t thread;
	int fd;

	if (get_nprocs() < 2)
		SKIP(return, "this machine has one processor");
	device_path(control, sizeof(control), "power/control");
	device_path(status, sizeof(status), "power/runtime_status");
	ASSERT_EQ(0, card_reset());
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_interrupt_goes_to("1"));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(rest), &rest));
	ASSERT_EQ(0, file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, keeps_processor_0, NULL));
	while (!busy)
		sleep_ms(1);
	/* The card is all right, but one read of its events. */
	ASSERT_EQ(0, emu_inject("reg-event=0xffffffff 1"));
	ASSERT_EQ(0, emu_inject("irq-spurious=0 1"));
	while (!reset_is_pending(fd))
		sleep_ms(1);
	close(fd);
	ASSERT_EQ(0, file_write(control, "auto"));
	do {
		sleep_ms(10);
		file_text(status, text, sizeof(text));
	} while (strcmp(text, "suspended"));
	busy = false;
	pthread_join(thread, NULL);
	sleep_ms(100);	/* the work has run */
	EXPECT_EQ(0, in_child(opens_the_card, NULL));
	EXPECT_EQ(resets + 2, card_attr("recovery/soft_resets"));
	ASSERT_EQ(0, file_write(control, "on"));
	ASSERT_EQ(0, card_reset());
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	event_interrupt_goes_to("3");
}

/* What traces hold must be of use when the module is gone: text, and no pointer to it. */
TEST(trace_of_a_lost_card_holds_the_reason)
{
	char line[256] = "";
	FILE *file = fopen(EVENTS "vta_reset_request/format", "re");
	bool text = false;

	if (!file)
		SKIP(return, "this kernel has no tracing");
	while (fgets(line, sizeof(line), file))
		text |= !!strstr(line, "char[] why");
	fclose(file);
	EXPECT_TRUE(text);
}

TEST_HARNESS_MAIN
