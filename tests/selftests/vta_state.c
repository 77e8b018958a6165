// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_state - a card that the PCI core owns is not accessed, is reset through the PCI core, and
 * the log has the true reason of each reset (kmod/vta_reset.c, kmod/vta_history.c)
 *
 * Faults of the card are injected, as in vta_hang, so this runs on card 0 alone.
 */
#include <glob.h>
#include <linux/pci_regs.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include "vta_hang.h"

#define EVENTS	"/sys/kernel/tracing/events/vta/"

static bool text_is(const char *name, const char *want)
{
	char text[32];

	return !strcmp(card_text(name, text, sizeof(text)), want);
}

/* ---- Owned by the PCI core ---- */

static void *resets_function(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)card_reset_function();
}

/* All files that may read the card's registers. */
static void read_all_files(void)
{
	glob_t sensors = { 0 };
	char text[64];

	card_counter("mmio_reads");
	glob(card_path("device/hwmon/hwmon*/*_input"), 0, NULL, &sensors);
	for (size_t i = 0; i < sensors.gl_pathc; i++) {
		int fd = open(sensors.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (read(fd, text, sizeof(text)) < 0)
			text[0] = '\0';
		close(fd);
	}
	globfree(&sensors);
}

/*
 * A reset that ends before all files have been read does not count. The emulated card counts
 * accesses while it is reset, from the moment at which the reset clears the counters.
 */
TEST_F(hang, card_under_function_reset_is_not_read)
{
	unsigned int tries, checked = 0;

	for (tries = 0; tries < 50 && checked < 3; tries++) {
		uint64_t before, after;
		pthread_t thread;
		void *ret;

		ASSERT_EQ(0, pthread_create(&thread, NULL, resets_function, NULL));
		while (!text_is("state", "lent") && pthread_tryjoin_np(thread, &ret) == EBUSY)
			;
		before = emu_counter("mmio_reads");
		read_all_files();
		after = emu_counter("mmio_reads");
		if (text_is("state", "lent")) {
			checked++;
			/* The counters may have been cleared in between. */
			EXPECT_TRUE(after == before || after == 0);
		}
		pthread_join(thread, &ret);
	}
	EXPECT_LT(0, checked);
}

/* ---- Through the PCI core ---- */

static int set_reset_method(const char *method)
{
	return file_write(card_path("device/reset_method"), method);
}

/* Have the reset by the register fail. The result of a wait. */
static int fail_soft_reset(struct _test_data_hang *self)
{
	struct waiter w;

	if (emu_inject("reset-ignored") || emu_inject("heartbeat") || hold(self, &w))
		return -EPROTO;
	return waiter_join(&w);
}

/* The administrator has ruled out all methods. */
TEST_F(hang, reset_methods_are_respected)
{
	if (set_reset_method("default"))
		SKIP(return, "this kernel has no reset_method");
	ASSERT_EQ(0, set_reset_method("\n"));
	EXPECT_EQ(-ENODEV, fail_soft_reset(self));
	EXPECT_STEPS(0, 1, 1, 1);
	ASSERT_EQ(0, set_reset_method("default"));
}

/* The bus behind the port has this card alone. */
TEST_F(hang, bus_reset_helps)
{
	if (set_reset_method("bus"))
		SKIP(return, "this kernel has no reset_method, or no bus reset for the card");
	EXPECT_EQ(-ENODEV, fail_soft_reset(self));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_FALSE(given_up());
	ASSERT_EQ(0, set_reset_method("default"));
}

static int config_byte(unsigned int at, int value)
{
	uint8_t byte = value;
	int fd = open(card_path("device/config"), O_RDWR | O_CLOEXEC);
	int ret;

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

	ASSERT_EQ(0, config_byte(PCI_CACHE_LINE_SIZE, 0x20));
	EXPECT_EQ(-ENODEV, fail_soft_reset(self));
	EXPECT_STEPS(0, 1, 1, 0);
	EXPECT_EQ(0x20, config_byte(PCI_CACHE_LINE_SIZE, -1));
	EXPECT_EQ(0, config_byte(PCI_CACHE_LINE_SIZE, before));
}

/* ---- Reasons of resets ---- */

/* The reason of the last reset, or of the @n-th before. */
static void reset_why(unsigned int n, char *why, size_t size)
{
	char lines[16][256];
	unsigned int count = 0;
	FILE *file = fopen(card_path("reset_log"), "re");

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

TEST_F(hang, reset_requested_during_a_reset_has_its_own_reason)
{
	char why[64];

	ASSERT_EQ(0, emu_inject("reset-slow=1500 1"));
	ASSERT_EQ(0, emu_inject("fatal"));
	ASSERT_TRUE(SOON(text_is("state", "resetting")));
	ASSERT_EQ(0, card_reset());
	EXPECT_EQ(self->before.generation + 2, steps_now().generation);
	reset_why(1, why, sizeof(why));
	EXPECT_STREQ("reported a fatal error", why);
	reset_why(0, why, sizeof(why));
	EXPECT_STREQ("an administrator asked", why);
}

/* ---- Requested while the card suspends ---- */

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

	snprintf(path, sizeof(path), "/proc/irq/*/%s-card", card_name());
	if (glob(path, 0, NULL, &found))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/../smp_affinity", found.gl_pathv[0]);
	globfree(&found);
	return file_write(path, mask);
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

/* When the work runs, the card has been suspended; it is reset when it resumes. */
TEST(reset_requested_while_the_card_suspends_is_done_on_resume)
{
	uint64_t resets = card_attr("recovery/soft_resets");
	const cpu_set_t first = one_processor(0), rest = one_processor(1);
	pthread_t thread;
	int fd;

	if (get_nprocs() < 2)
		SKIP(return, "this machine has one processor");
	ASSERT_EQ(0, card_reset());
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_interrupt_goes_to("1"));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(rest), &rest));
	ASSERT_EQ(0, file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, keeps_processor_0, NULL));
	ASSERT_TRUE(SOON(busy));
	/* One read of the card's events is wrong. */
	ASSERT_EQ(0, emu_inject("reg-event=0xffffffff 1"));
	ASSERT_EQ(0, emu_inject("irq-spurious=0 1"));
	ASSERT_TRUE(SOON(reset_is_pending(fd)));
	close(fd);
	ASSERT_EQ(0, file_write(card_path("device/power/control"), "auto"));
	ASSERT_TRUE(SOON(text_is("device/power/runtime_status", "suspended")));
	busy = false;
	pthread_join(thread, NULL);
	/* The work has waited for processor 0 for longer than this thread. */
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(first), &first));
	sleep_ms(100);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(rest), &rest));
	EXPECT_EQ(0, in_child(opens_the_card, NULL));
	EXPECT_EQ(resets + 2, card_attr("recovery/soft_resets"));
	ASSERT_EQ(0, file_write(card_path("device/power/control"), "on"));
	ASSERT_EQ(0, card_reset());
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	event_interrupt_goes_to("3");
}

/* A trace outlives the module, so it must hold the text and no pointer to it. */
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
