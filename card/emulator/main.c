// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta-emu: the card (card.h) behind a PCI function (pci.h) on a vfio-user
 * socket (vfu.h). This file is the glue between them and knows all three.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "model/counters.h"
#include "cli.h"
#include "ctl.h"
#include "opt.h"
#include "vfu/vfu.h"

_Static_assert(VTA_REGS_SIZE == PCI_BAR0_SIZE && VTA_MSIX_TABLE == PCI_POS_MSIX_TABLE &&
	       VTA_MSIX_PBA == PCI_POS_MSIX_PBA, "the transport's BAR0 is the contract's");

struct emu {
	struct card *card;
	struct pci_cfg *pci;
	struct vfu *srv;
	struct vfu_dma *dma;
	struct ctl *ctl;
	bool left;			/* the last client has; what it left: */
	uint64_t counters[VTA_COUNTERS];
};

/* ---- The card's way to the host ---- */

static int host_read(void *priv, uint64_t addr, void *buf, size_t len)
{
	const struct emu *emu = priv;

	return vfu_dma_read(emu->dma, addr, buf, len);
}

static int host_write(void *priv, uint64_t addr, const void *buf, size_t len)
{
	const struct emu *emu = priv;

	return vfu_dma_write(emu->dma, addr, buf, len);
}

static int host_read64(void *priv, uint64_t addr, uint64_t *val)
{
	const struct emu *emu = priv;

	return vfu_dma_read64(emu->dma, addr, val);
}

static int host_write64(void *priv, uint64_t addr, uint64_t val)
{
	const struct emu *emu = priv;

	return vfu_dma_write64(emu->dma, addr, val);
}

static void host_begin(void *priv)
{
	const struct emu *emu = priv;

	vfu_dma_begin(emu->dma);
}

static void *host_at(void *priv, uint64_t addr, size_t *len, bool write, int *err)
{
	const struct emu *emu = priv;

	return vfu_dma_at(emu->dma, addr, len, write ? VFU_DMA_WRITE : VFU_DMA_READ, err);
}

static int host_end(void *priv)
{
	const struct emu *emu = priv;

	return vfu_dma_end(emu->dma);
}

static int host_irq(void *priv, unsigned int vector)
{
	const struct emu *emu = priv;
	enum vfu_irq_kind kind = vfu_irq_mode(emu->srv, NULL);
	int ret;

	if (kind == VFU_IRQ_NONE)
		return -EINVAL;
	ret = vfu_irq(emu->srv, kind, vector);
	/* One that the function keeps until it is unmasked has left the card. */
	return ret == -EAGAIN ? 0 : ret;
}

static const struct card_ops host_ops = {
	.read = host_read,
	.write = host_write,
	.read64 = host_read64,
	.write64 = host_write64,
	.begin = host_begin,
	.at = host_at,
	.end = host_end,
	.irq = host_irq,
};

/* ---- The host's way to the card ---- */

static int on_access(void *priv, unsigned int bar, uint64_t off, void *buf, size_t len,
		     bool write)
{
	const struct emu *emu = priv;

	card_access(emu->card, bar, off, buf, len, write);
	return 0;
}

static void follow_bus(const struct emu *emu)
{
	card_set_bus(emu->card, pci_may_dma(emu->pci));
}

static void on_reset(void *priv, enum vfu_reset why)
{
	const struct emu *emu = priv;

	log_debug("%s", why == VFU_RESET_FLR ? "function level reset" : "the machine was reset");
	follow_bus(emu);
	card_reset(emu->card);
}

static void on_bus_master(void *priv, bool on)
{
	const struct emu *emu = priv;

	follow_bus(emu);
	log_debug("bus mastering %s, %" PRIu64 " bytes written so far", on ? "on" : "off",
		  card_counter(emu->card, VTA_COUNTER_DMA_WRITE_BYTES));
}

static void on_power(void *priv, unsigned int state)
{
	(void)state;
	follow_bus(priv);
}

static void on_connected(void *priv)
{
	struct emu *emu = priv;

	log_info("a client has come");
	emu->left = false;
	follow_bus(emu);
}

/* The host is gone: the card stops what it was doing for it. That clears counters. */
static void on_disconnected(void *priv)
{
	struct emu *emu = priv;

	log_info("the client has gone, %" PRIu64 " bytes written so far",
		 card_counter(emu->card, VTA_COUNTER_DMA_WRITE_BYTES));
	card_set_bus(emu->card, false);
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		emu->counters[i] = card_counter(emu->card, i);
	emu->left = true;
	card_reset(emu->card);
}

static void on_log(void *priv, const char *line)
{
	(void)priv;
	log_warn("%s", line);
}

static const struct vfu_device_ops device_ops = {
	.access = on_access,
	.reset = on_reset,
	.bus_master = on_bus_master,
	.power = on_power,
	.connected = on_connected,
	.disconnected = on_disconnected,
	.log = on_log,
};

/* ---- The program ---- */

/* Only changed while the signals are blocked. */
static struct vfu *volatile running;

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	vfu_stop(running);
	errno = saved;
}

/*
 * SIGTERM and SIGINT end vfu_run and arrive nowhere else: they are blocked
 * while there is no server, and in the card's threads.
 */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(how, &set, NULL);
}

static int catch_signals(void)
{
	const struct sigaction stop = { .sa_handler = on_signal };

	block_signals(SIG_BLOCK);
	if (sigaction(SIGTERM, &stop, NULL) || sigaction(SIGINT, &stop, NULL) ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	return 0;
}

static int serve_client(struct vfu *srv)
{
	int ret;

	running = srv;
	block_signals(SIG_UNBLOCK);
	ret = vfu_run(srv);
	block_signals(SIG_BLOCK);
	return ret;
}

static uint64_t doorbells_size(unsigned int queues)
{
	uint64_t size = 1ull << CARD_DOORBELL_SHIFT;

	while (size < (uint64_t)queues << CARD_DOORBELL_SHIFT)
		size *= 2;
	return size;
}

static int serve_pci(struct emu *emu, const struct options *opt)
{
	const struct pci_params params = {
		.id = {
			.vendor = VTA_PCI_VENDOR,
			.device = VTA_PCI_DEVICE,
			.subvendor = VTA_PCI_VENDOR,
			.subdevice = VTA_PCI_SUBDEVICE,
			.class_code = VTA_PCI_CLASS,
			.revision = VTA_PCI_REVISION,
		},
		.bar2_size = doorbells_size(opt->card.queues),
		.bar4_size = opt->card.mem_size,
		.msi = opt->msi,
		.msix = opt->msix,
		.serial = opt->card.serial,
	};
	struct vfu_config config = {
		.path = opt->socket,
		.once = !opt->stay,
		.ops = &device_ops,
		.priv = emu,
	};
	int ret;

	ret = pci_cfg_new(&emu->pci, &params);
	if (ret)
		return ret;
	config.pci = emu->pci;
	for (unsigned int i = 0; i < PCI_NUM_BARS; i++)
		config.bar[i].fd = -1;
	config.bar[VTA_BAR_MEM].ptr = card_mem(emu->card);
	config.bar[VTA_BAR_MEM].fd = card_mem_fd(emu->card);
	ret = vfu_new(&emu->srv, &config);
	if (!ret)
		emu->dma = vfu_get_dma(emu->srv);
	return ret;
}

static int report_failure(const char *what, int err)
{
	log_error("%s: %s", what, strerror(-err));
	return 1;
}

static void print_counters(const struct emu *emu)
{
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		printf("%s %" PRIu64 "\n", counter_name(i),
		       emu->left ? emu->counters[i] : card_counter(emu->card, i));
}

static int run_emulator(struct emu *emu, const struct options *opt)
{
	int ret;

	ret = catch_signals();
	if (ret)
		return report_failure("cannot catch signals", ret);
	ret = card_new(&emu->card, &opt->card, &host_ops, emu);
	if (ret)
		return report_failure("cannot make the card", ret);
	ret = serve_pci(emu, opt);
	if (ret)
		return report_failure(opt->socket, ret);
	if (opt->control) {
		ret = ctl_new(&emu->ctl, opt->control, emu->srv, emu->card, emu->pci);
		if (ret)
			return report_failure(opt->control, ret);
	}
	ret = serve_client(emu->srv);
	if (ret)
		return report_failure(opt->socket, ret);
	if (opt->counters)
		print_counters(emu);
	return 0;
}

/* Returns the exit status. */
static int run(int argc, char **argv)
{
	struct options opt;
	struct emu emu = { 0 };
	int status = opt_parse(&opt, argc, argv);

	if (status != CLI_GO)
		return status;
	log_set_level(opt.log_level);
	status = run_emulator(&emu, &opt);

	/* The client's end concerns the card; the card's threads use the server's DMA map. */
	ctl_free(emu.ctl);
	if (emu.srv)
		vfu_hangup(emu.srv);
	card_free(emu.card);
	vfu_free(emu.srv);
	pci_cfg_free(emu.pci);
	return status;
}

int main(int argc, char **argv)
{
	cli_begin("vta-emu");
	return cli_end(run(argc, argv));
}
