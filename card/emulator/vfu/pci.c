// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration space as data: the build_ functions below lay out the reset
 * values and masks once, and a write is then the same few lines for every
 * register. Only fields with an effect are checked by name (pci_cfg_write).
 */
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>

#include "pci.h"

struct pci_cfg {
	uint8_t data[PCI_CFG_SIZE];
	uint8_t reset[PCI_CFG_SIZE];	/* values after reset */
	uint8_t wmask[PCI_CFG_SIZE];	/* bits that software writes */
	uint8_t w1c[PCI_CFG_SIZE];	/* bits that writing 1 clears */
	uint8_t sticky[PCI_CFG_SIZE];	/* bits that survive a reset */
	uint64_t bar_size[PCI_NUM_BARS];
	enum pci_absence absence;
	unsigned int msi;
	unsigned int msix;
	uint8_t *last_cap;		/* the pointer that the next capability fills */
};

/* State that a write can change and that the device or transport acts upon. */
struct pci_state {
	bool master;
	bool memory;
	unsigned int power;
	uint16_t msi_ctrl;
	uint16_t msix_ctrl;
};

/* Values that linux/pci_regs.h has no name for. */
#define EXP_DEVCAP_256B			0x1u	/* Max_Payload_Size Supported */
#define EXP_DEVCAP2_TIMEOUT_ABCD	0xfu	/* all completion timeout ranges */
#define EXP_LNKCAP_X8			(8u << 4) /* Maximum Link Width */
#define EXP_LNKCAP_ASPM_OPT		0x400000u /* ASPM Optionality Compliance */

/* The uncorrectable and correctable errors that the card could report. */
#define AER_UNCOR	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | \
			 PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | \
			 PCI_ERR_UNC_COMP_TIME | PCI_ERR_UNC_COMP_ABORT | \
			 PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_RX_OVER | \
			 PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_UNSUP | \
			 PCI_ERR_UNC_INTN)
#define AER_UNCOR_FATAL	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | \
			 PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | \
			 PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_INTN)
#define AER_COR		(PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP | \
			 PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | \
			 PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT | \
			 PCI_ERR_COR_INTERNAL)

static uint32_t get_le(const uint8_t *p, unsigned int bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static void put_le(uint8_t *p, unsigned int bytes, uint32_t v)
{
	for (; bytes--; v >>= 8)
		*p++ = (uint8_t)v;
}

static uint16_t get16(const struct pci_cfg *cfg, size_t off)
{
	return (uint16_t)get_le(cfg->data + off, 2);
}

/* Defines a register: its reset value and the bits that software may write. */
static void reg16(struct pci_cfg *cfg, size_t off, uint16_t val, uint16_t wmask)
{
	put_le(cfg->reset + off, 2, val);
	put_le(cfg->wmask + off, 2, wmask);
}

static void reg32(struct pci_cfg *cfg, size_t off, uint32_t val, uint32_t wmask)
{
	put_le(cfg->reset + off, 4, val);
	put_le(cfg->wmask + off, 4, wmask);
}

static void add_cap(struct pci_cfg *cfg, uint8_t pos, uint8_t id)
{
	*cfg->last_cap = pos;
	cfg->reset[pos + PCI_CAP_LIST_ID] = id;
	cfg->last_cap = &cfg->reset[pos + PCI_CAP_LIST_NEXT];
}

static void build_bar(struct pci_cfg *cfg, unsigned int bar, uint64_t size,
		      uint32_t flags)
{
	size_t off = PCI_BASE_ADDRESS_0 + 4 * bar;
	uint64_t mask = ~(size - 1) & PCI_BASE_ADDRESS_MEM_MASK;

	cfg->bar_size[bar] = size;
	reg32(cfg, off, flags, (uint32_t)mask);
	if (flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
		reg32(cfg, off + 4, 0, (uint32_t)(mask >> 32));
}

static void build_header(struct pci_cfg *cfg, const struct pci_params *params)
{
	const struct pci_id *id = &params->id;

	reg16(cfg, PCI_VENDOR_ID, id->vendor, 0);
	reg16(cfg, PCI_DEVICE_ID, id->device, 0);
	reg16(cfg, PCI_COMMAND, 0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
	      PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	reg16(cfg, PCI_STATUS, PCI_STATUS_CAP_LIST, 0);
	put_le(cfg->w1c + PCI_STATUS, 2,
	       PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT |
	       PCI_STATUS_REC_TARGET_ABORT | PCI_STATUS_REC_MASTER_ABORT |
	       PCI_STATUS_SIG_SYSTEM_ERROR | PCI_STATUS_DETECTED_PARITY);
	reg32(cfg, PCI_CLASS_REVISION, id->class_code << 8 | id->revision, 0);
	cfg->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
	cfg->wmask[PCI_INTERRUPT_LINE] = 0xff;	/* scratch: there is no INTx pin */
	reg16(cfg, PCI_SUBSYSTEM_VENDOR_ID, id->subvendor, 0);
	reg16(cfg, PCI_SUBSYSTEM_ID, id->subdevice, 0);

	build_bar(cfg, 0, PCI_BAR0_SIZE, 0);
	build_bar(cfg, 2, params->bar2_size, 0);
	if (params->bar4_size)
		build_bar(cfg, 4, params->bar4_size, PCI_BASE_ADDRESS_MEM_TYPE_64 |
			  PCI_BASE_ADDRESS_MEM_PREFETCH);
}

static void build_pm(struct pci_cfg *cfg)
{
	const uint8_t pos = PCI_POS_PM;

	add_cap(cfg, pos, PCI_CAP_ID_PM);
	reg16(cfg, pos + PCI_PM_PMC, 3, 0);	/* version 3, no D1, D2, PME */
	reg16(cfg, pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET,
	      PCI_PM_CTRL_STATE_MASK);
}

/* The Multiple Message Capable encoding of a power of two up to 32. */
static unsigned int msi_log2(unsigned int n)
{
	unsigned int log = 0;

	while (n >>= 1)
		log++;
	return log;
}

static void build_msi(struct pci_cfg *cfg, unsigned int n)
{
	const uint8_t pos = PCI_POS_MSI;

	if (!n)
		return;
	add_cap(cfg, pos, PCI_CAP_ID_MSI);
	reg16(cfg, pos + PCI_MSI_FLAGS,
	      (uint16_t)(PCI_MSI_FLAGS_64BIT | msi_log2(n) << 1),
	      PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	reg32(cfg, pos + PCI_MSI_ADDRESS_LO, 0, ~3u);
	reg32(cfg, pos + PCI_MSI_ADDRESS_HI, 0, ~0u);
	reg16(cfg, pos + PCI_MSI_DATA_64, 0, 0xffff);
}

static void build_msix(struct pci_cfg *cfg, unsigned int n)
{
	const uint8_t pos = PCI_POS_MSIX;

	if (!n)
		return;
	add_cap(cfg, pos, PCI_CAP_ID_MSIX);
	reg16(cfg, pos + PCI_MSIX_FLAGS, (uint16_t)(n - 1),
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	reg32(cfg, pos + PCI_MSIX_TABLE, PCI_POS_MSIX_TABLE, 0); /* BIR 0 */
	reg32(cfg, pos + PCI_MSIX_PBA, PCI_POS_MSIX_PBA, 0);
}

static void build_exp(struct pci_cfg *cfg)
{
	const uint8_t pos = PCI_POS_EXP;

	add_cap(cfg, pos, PCI_CAP_ID_EXP);
	reg16(cfg, pos + PCI_EXP_FLAGS, PCI_EXP_TYPE_ENDPOINT << 4 | 2, 0);
	reg32(cfg, pos + PCI_EXP_DEVCAP, EXP_DEVCAP_256B |
	      PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER |
	      PCI_EXP_DEVCAP_FLR, 0);
	reg16(cfg, pos + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN |
	      PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B,
	      PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE |
	      PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |
	      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD |
	      PCI_EXP_DEVCTL_EXT_TAG | PCI_EXP_DEVCTL_NOSNOOP_EN |
	      PCI_EXP_DEVCTL_READRQ);
	put_le(cfg->w1c + pos + PCI_EXP_DEVSTA, 2,
	       PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED |
	       PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD);
	/* A link of eight lanes at 8 GT/s, trained so. */
	reg32(cfg, pos + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB |
	      EXP_LNKCAP_X8 | EXP_LNKCAP_ASPM_OPT, 0);
	reg16(cfg, pos + PCI_EXP_LNKCTL, 0, PCI_EXP_LNKCTL_ASPMC |
	      PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
	reg16(cfg, pos + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB |
	      PCI_EXP_LNKSTA_NLW_X8 | PCI_EXP_LNKSTA_SLC, 0);
	reg32(cfg, pos + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS |
	      EXP_DEVCAP2_TIMEOUT_ABCD, 0);
	reg16(cfg, pos + PCI_EXP_DEVCTL2, 0, PCI_EXP_DEVCTL2_COMP_TIMEOUT |
	      PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	reg32(cfg, pos + PCI_EXP_LNKCAP2, PCI_EXP_LNKCAP2_SLS_2_5GB |
	      PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB, 0);
	reg16(cfg, pos + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS_8_0GT,
	      PCI_EXP_LNKCTL2_TLS);

	/* Section 6.6.2: FLR leaves the payload size and the link alone. */
	put_le(cfg->sticky + pos + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_PAYLOAD);
	put_le(cfg->sticky + pos + PCI_EXP_LNKCTL, 2, 0xffff);
	put_le(cfg->sticky + pos + PCI_EXP_LNKCTL2, 2, 0xffff);
}

static void build_ext_cap(struct pci_cfg *cfg, uint16_t pos, uint16_t id,
			  unsigned int version, uint16_t next)
{
	reg32(cfg, pos, id | version << 16 | (uint32_t)next << 20, 0);
}

static void build_aer(struct pci_cfg *cfg)
{
	const uint16_t pos = PCI_POS_AER;

	build_ext_cap(cfg, pos, PCI_EXT_CAP_ID_ERR, 2, PCI_POS_DSN);
	put_le(cfg->w1c + pos + PCI_ERR_UNCOR_STATUS, 4, AER_UNCOR);
	reg32(cfg, pos + PCI_ERR_UNCOR_MASK, PCI_ERR_UNC_INTN, AER_UNCOR);
	reg32(cfg, pos + PCI_ERR_UNCOR_SEVER, AER_UNCOR_FATAL, AER_UNCOR);
	put_le(cfg->w1c + pos + PCI_ERR_COR_STATUS, 4, AER_COR);
	reg32(cfg, pos + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT |
	      PCI_ERR_COR_INTERNAL, AER_COR);
	/* All of it is sticky: the log of an error outlives its repair. */
	memset(cfg->sticky + pos + PCI_ERR_UNCOR_STATUS, 0xff,
	       PCI_ERR_HEADER_LOG + 16 - PCI_ERR_UNCOR_STATUS);
}

static void build_dsn(struct pci_cfg *cfg, uint64_t serial)
{
	const uint16_t pos = PCI_POS_DSN;

	build_ext_cap(cfg, pos, PCI_EXT_CAP_ID_DSN, 1, 0);
	reg32(cfg, pos + 4, (uint32_t)serial, 0);
	reg32(cfg, pos + 8, (uint32_t)(serial >> 32), 0);
}

static bool power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

static bool params_valid(const struct pci_params *params)
{
	if (!power_of_two(params->bar2_size) || params->bar2_size < 4096 ||
	    params->bar2_size > 1ull << 31)
		return false;
	if (params->bar4_size && (!power_of_two(params->bar4_size) || params->bar4_size < 4096))
		return false;
	if (params->msi &&
	    (!power_of_two(params->msi) || params->msi > PCI_MSI_MAX))
		return false;
	return params->msix <= PCI_MSIX_MAX;
}

int pci_cfg_new(struct pci_cfg **out, const struct pci_params *params)
{
	struct pci_cfg *cfg;

	if (!params_valid(params))
		return -EINVAL;
	cfg = calloc(1, sizeof(*cfg));
	if (!cfg)
		return -ENOMEM;
	cfg->msi = params->msi;
	cfg->msix = params->msix;
	cfg->last_cap = &cfg->reset[PCI_CAPABILITY_LIST];

	build_header(cfg, params);
	build_pm(cfg);
	build_msi(cfg, params->msi);
	build_msix(cfg, params->msix);
	build_exp(cfg);
	build_aer(cfg);
	build_dsn(cfg, params->serial);
	memcpy(cfg->data, cfg->reset, sizeof(cfg->data));
	*out = cfg;
	return 0;
}

void pci_cfg_free(struct pci_cfg *cfg)
{
	free(cfg);
}

static struct pci_state state_of(const struct pci_cfg *cfg)
{
	return (struct pci_state) {
		.master = pci_master(cfg),
		.memory = pci_mem_space(cfg),
		.power = pci_power(cfg),
		.msi_ctrl = get16(cfg, PCI_POS_MSI + PCI_MSI_FLAGS),
		.msix_ctrl = get16(cfg, PCI_POS_MSIX + PCI_MSIX_FLAGS),
	};
}

static unsigned int changes(const struct pci_cfg *cfg,
			    const struct pci_state *old)
{
	struct pci_state now = state_of(cfg);
	unsigned int ev = 0;

	if (now.master != old->master)
		ev |= PCI_EV_MASTER;
	if (now.memory != old->memory)
		ev |= PCI_EV_MEMORY;
	if (now.power != old->power)
		ev |= PCI_EV_POWER;
	if (now.msi_ctrl != old->msi_ctrl || now.msix_ctrl != old->msix_ctrl)
		ev |= PCI_EV_IRQ;
	return ev;
}

static void set_power(struct pci_cfg *cfg, unsigned int power)
{
	uint8_t *ctrl = &cfg->data[PCI_POS_PM + PCI_PM_CTRL];

	*ctrl = (uint8_t)((*ctrl & ~PCI_PM_CTRL_STATE_MASK) | power);
}

void pci_cfg_read(const struct pci_cfg *cfg, size_t off, void *buf, size_t len)
{
	if (cfg->absence)
		memset(buf, 0xff, len);
	else
		memcpy(buf, cfg->data + off, len);
}

unsigned int pci_cfg_write(struct pci_cfg *cfg, size_t off, const void *buf,
			   size_t len)
{
	const size_t flr_byte = PCI_POS_EXP + PCI_EXP_DEVCTL + 1;
	const struct pci_state old = state_of(cfg);
	const uint8_t *src = buf;
	bool flr = false;
	size_t i;

	if (cfg->absence)
		return 0;
	for (i = 0; i < len; i++) {
		size_t at = off + i;
		uint8_t mask = cfg->wmask[at];

		cfg->data[at] = (uint8_t)((cfg->data[at] & ~mask) |
					  (src[i] & mask));
		cfg->data[at] &= (uint8_t)~(src[i] & cfg->w1c[at]);
		if (at == flr_byte)
			flr = src[i] & (PCI_EXP_DEVCTL_BCR_FLR >> 8);
	}

	/* A write of a state that is not offered changes nothing (5.3.1). */
	if (pci_power(cfg) != PCI_D0 && pci_power(cfg) != PCI_D3HOT)
		set_power(cfg, old.power);

	if (flr)
		pci_cfg_reset(cfg);
	return changes(cfg, &old) | (flr ? PCI_EV_FLR : 0);
}

unsigned int pci_cfg_reset(struct pci_cfg *cfg)
{
	const struct pci_state old = state_of(cfg);
	size_t i;

	for (i = 0; i < PCI_CFG_SIZE; i++)
		cfg->data[i] = (uint8_t)((cfg->data[i] & cfg->sticky[i]) |
					 (cfg->reset[i] & ~cfg->sticky[i]));
	return changes(cfg, &old);
}

uint64_t pci_bar_size(const struct pci_cfg *cfg, unsigned int bar)
{
	return bar < PCI_NUM_BARS ? cfg->bar_size[bar] : 0;
}

uint64_t pci_bar_addr(const struct pci_cfg *cfg, unsigned int bar)
{
	const uint8_t *reg = cfg->data + PCI_BASE_ADDRESS_0 + 4 * bar;
	uint64_t addr;

	if (!pci_bar_size(cfg, bar))
		return 0;
	addr = get_le(reg, 4);
	if (addr & PCI_BASE_ADDRESS_MEM_TYPE_64)
		addr |= (uint64_t)get_le(reg + 4, 4) << 32;
	return addr & PCI_BASE_ADDRESS_MEM_MASK;
}

unsigned int pci_power(const struct pci_cfg *cfg)
{
	return get16(cfg, PCI_POS_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK;
}

void pci_cfg_set_absence(struct pci_cfg *cfg, enum pci_absence absence)
{
	cfg->absence = absence;
}

bool pci_decodes(const struct pci_cfg *cfg)
{
	return pci_mem_space(cfg) && pci_power(cfg) == PCI_D0 && cfg->absence != PCI_ABSENT;
}

bool pci_mem_space(const struct pci_cfg *cfg)
{
	return get16(cfg, PCI_COMMAND) & PCI_COMMAND_MEMORY;
}

bool pci_master(const struct pci_cfg *cfg)
{
	return get16(cfg, PCI_COMMAND) & PCI_COMMAND_MASTER;
}

bool pci_may_dma(const struct pci_cfg *cfg)
{
	return pci_master(cfg) && pci_power(cfg) == PCI_D0 && cfg->absence != PCI_ABSENT;
}

unsigned int pci_msi_count(const struct pci_cfg *cfg)
{
	return cfg->msi;
}

unsigned int pci_msix_count(const struct pci_cfg *cfg)
{
	return cfg->msix;
}

unsigned int pci_msi_granted(const struct pci_cfg *cfg)
{
	uint16_t ctrl = get16(cfg, PCI_POS_MSI + PCI_MSI_FLAGS);
	unsigned int n;

	if (!cfg->msi || !(ctrl & PCI_MSI_FLAGS_ENABLE))
		return 0;
	n = 1u << ((ctrl & PCI_MSI_FLAGS_QSIZE) >> 4);
	return n < cfg->msi ? n : cfg->msi;
}

bool pci_msix_enabled(const struct pci_cfg *cfg)
{
	return cfg->msix && (get16(cfg, PCI_POS_MSIX + PCI_MSIX_FLAGS) &
			     PCI_MSIX_FLAGS_ENABLE);
}

bool pci_msix_masked(const struct pci_cfg *cfg)
{
	return cfg->msix && (get16(cfg, PCI_POS_MSIX + PCI_MSIX_FLAGS) &
			     PCI_MSIX_FLAGS_MASKALL);
}
