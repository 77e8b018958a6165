// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_floor.c - the least that a launch can cost on this host
 *
 * Programs one queue of a card with nothing around it: no users, no checks, no
 * locks, no recovery. /dev/vta_floor launches a descriptor and waits for it, by
 * polling the status page or by the interrupt, and reports how long each took inside
 * the kernel. For the bench alone: the process that opens it owns the card. It binds to cards
 * that it is forced upon (driver_override), one at a time.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vta.h"
#include "vta_floor.h"
#include "vta_regs.h"

#define FLOOR_RING_ORDER	6
/* Device addresses. */
#define FLOOR_RING_ADDR		0x1000u
#define FLOOR_DATA_ADDR		0x2000u
#define FLOOR_TIMEOUT_MS	10000

/* A page that the card sees. */
struct floor_data {
	__le64 insns[2 * VTA_FLOOR_INSNS];
	struct vta_stamp stamp;
};

struct floor {
	struct miscdevice misc;
	struct mutex lock;		/* Protects: the queue */
	void __iomem *regs;
	void __iomem *doorbell;
	__le64 *l1;			/* context 0's, and its one second-level table behind */
	dma_addr_t l1_bus;
	struct vta_desc *ring;		/* of queue 0 */
	dma_addr_t ring_bus;
	struct floor_data *data;
	dma_addr_t data_bus;
	struct vta_status_page *page;
	dma_addr_t page_bus;
	struct vta_desc desc;		/* of the last run */
	u64 submitted;			/* descriptors so far */
	struct completion done;		/* the interrupt has come */
};

static irqreturn_t floor_irq(int irq, void *data)
{
	struct floor *floor = data;

	complete(&floor->done);
	return IRQ_HANDLED;
}

static u64 floor_seq(const struct floor *floor)
{
	return le64_to_cpu(READ_ONCE(floor->page->status.seq));
}

static struct vta_desc floor_desc(struct floor *floor, const struct vta_floor_run *run)
{
	struct vta_desc desc = {
		.op_flags = cpu_to_le32(VTA_OP_NOP | VTA_DESC_STAMP),
		.stamp_addr = cpu_to_le32(FLOOR_DATA_ADDR + offsetof(struct floor_data, stamp)),
	};
	unsigned int i;

	if (run->flags & VTA_FLOOR_JOB) {
		for (i = 0; i < ARRAY_SIZE(run->insns); i++)
			floor->data->insns[i] = cpu_to_le64(run->insns[i]);
		desc.op_flags = cpu_to_le32(VTA_OP_RUN | VTA_DESC_STAMP);
		desc.run.insn_addr = cpu_to_le32(FLOOR_DATA_ADDR);
		desc.run.insn_count = cpu_to_le32(VTA_FLOOR_INSNS);
	}
	return desc;
}

static void floor_submit(struct floor *floor, const struct vta_desc *desc)
{
	floor->ring[floor->submitted++ % BIT(FLOOR_RING_ORDER)] = *desc;
	/* writel() orders the descriptor before the doorbell. */
	writel(lower_32_bits(floor->submitted), floor->doorbell);
}

static int floor_spin(struct floor *floor)
{
	ktime_t end = ktime_add_ms(ktime_get(), FLOOR_TIMEOUT_MS);
	unsigned int looks = 0;

	while (floor_seq(floor) < floor->submitted) {
		cpu_relax();
		if (!(++looks % 1024) && ktime_after(ktime_get(), end))
			return -ETIMEDOUT;
	}
	return 0;
}

static int floor_sleep(struct floor *floor)
{
	reinit_completion(&floor->done);
	writel(lower_32_bits(floor->submitted), floor->regs + REG_QUEUE_ARM(0));
	if (!wait_for_completion_timeout(&floor->done, msecs_to_jiffies(FLOOR_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return floor_seq(floor) < floor->submitted ? -EIO : 0;
}

static u64 floor_stamped(const struct floor *floor)
{
	return le64_to_cpu(floor->data->stamp.end) - le64_to_cpu(floor->data->stamp.start);
}

/* One launch, for a program that sleeps by a system call. */
static long floor_launch(struct floor *floor)
{
	long ret;

	mutex_lock(&floor->lock);
	floor_submit(floor, &floor->desc);
	ret = floor_sleep(floor);
	if (!ret)
		ret = min_t(u64, floor_stamped(floor), INT_MAX);
	mutex_unlock(&floor->lock);
	return ret;
}

static long floor_run(struct floor *floor, unsigned long arg)
{
	struct vta_floor_run *run;
	unsigned int i;
	int ret = 0;

	run = memdup_user((void __user *)arg, sizeof(*run));
	if (IS_ERR(run))
		return PTR_ERR(run);
	if (!run->launches || run->launches > VTA_FLOOR_LAUNCHES ||
	    run->flags & ~(VTA_FLOOR_SLEEP | VTA_FLOOR_JOB)) {
		kfree(run);
		return -EINVAL;
	}

	mutex_lock(&floor->lock);
	floor->desc = floor_desc(floor, run);
	for (i = 0; i < run->launches && !ret; i++) {
		unsigned long slept = current->nvcsw;
		u64 start = ktime_get_ns();

		floor_submit(floor, &floor->desc);
		ret = run->flags & VTA_FLOOR_SLEEP ? floor_sleep(floor) : floor_spin(floor);
		run->ns[i] = ktime_get_ns() - start;
		run->slept[i] = current->nvcsw - slept;
		run->job_ns[i] = floor_stamped(floor);
	}
	mutex_unlock(&floor->lock);
	if (!ret && copy_to_user((void __user *)arg, run, sizeof(*run)))
		ret = -EFAULT;
	kfree(run);
	return ret;
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct floor *floor = container_of(file->private_data, struct floor, misc);

	switch (cmd) {
	case VTA_FLOOR_IOCTL_RUN:
		return floor_run(floor, arg);
	case VTA_FLOOR_IOCTL_LAUNCH:
		return floor_launch(floor);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations floor_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = floor_ioctl,
};

static int floor_alloc(struct floor *floor, struct device *dev)
{
	const size_t l1_bytes = VTA_L1_ENTRIES * sizeof(__le64);
	__le64 *l2;

	/* Coherent memory is aligned to its size, so the table's doubled. */
	floor->l1 = dmam_alloc_coherent(dev, 2 * l1_bytes, &floor->l1_bus, GFP_KERNEL);
	floor->ring = dmam_alloc_coherent(dev, VTA_PAGE_SIZE, &floor->ring_bus, GFP_KERNEL);
	floor->page = dmam_alloc_coherent(dev, VTA_PAGE_SIZE, &floor->page_bus, GFP_KERNEL);
	floor->data = dmam_alloc_coherent(dev, VTA_PAGE_SIZE, &floor->data_bus, GFP_KERNEL);
	if (!floor->l1 || !floor->ring || !floor->page || !floor->data)
		return -ENOMEM;
	l2 = floor->l1 + VTA_L1_ENTRIES;
	floor->l1[0] = cpu_to_le64((floor->l1_bus + l1_bytes) | VTA_PTE_VALID);
	l2[FLOOR_RING_ADDR >> VTA_L2_SHIFT] = cpu_to_le64(floor->ring_bus | VTA_PTE_VALID);
	l2[FLOOR_DATA_ADDR >> VTA_L2_SHIFT] = cpu_to_le64(floor->data_bus | VTA_PTE_VALID |
							  VTA_PTE_WRITE);
	return 0;
}

static int floor_reset(struct floor *floor)
{
	u32 status;

	writel(REG_CONTROL_RESET, floor->regs + REG_CONTROL);
	return readl_poll_timeout(floor->regs + REG_STATUS, status, status & REG_STATUS_READY,
				  100, 10 * VTA_READY_MS * 1000);
}

static void floor_write64(struct floor *floor, unsigned int reg, u64 val)
{
	writel(lower_32_bits(val), floor->regs + reg);
	writel(upper_32_bits(val), floor->regs + reg + 4);
}

static int floor_start(struct floor *floor)
{
	u32 state;

	floor_write64(floor, REG_CONTEXT_ROOT_LO(0), floor->l1_bus);
	writel(REG_CONTEXT_CTRL_ENABLE, floor->regs + REG_CONTEXT_CTRL(0));
	writel(REG_CONTROL_ENABLE, floor->regs + REG_CONTROL);
	writel(FLOOR_RING_ORDER, floor->regs + REG_QUEUE_RING_ORDER(0));
	writel(FLOOR_RING_ADDR, floor->regs + REG_QUEUE_RING_ADDR(0));
	floor_write64(floor, REG_QUEUE_STATUS_LO(0), floor->page_bus);
	writel(REG_QUEUE_CTRL_ENABLE, floor->regs + REG_QUEUE_CTRL(0));
	return readl_poll_timeout(floor->regs + REG_QUEUE_STATE(0), state,
				  state == VTA_QUEUE_ACTIVE, 100, 10 * VTA_READY_MS * 1000);
}

static void floor_free_vectors(void *data)
{
	pci_free_irq_vectors(data);
}

static int floor_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct floor *floor;
	u32 shift;
	int ret;

	floor = devm_kzalloc(&pdev->dev, sizeof(*floor), GFP_KERNEL);
	if (!floor)
		return -ENOMEM;
	mutex_init(&floor->lock);
	init_completion(&floor->done);
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(52));
	if (ret)
		return ret;
	ret = pcim_iomap_regions(pdev, BIT(VTA_BAR_REGS) | BIT(VTA_BAR_DOORBELLS), "vta_floor");
	if (ret)
		return ret;
	floor->regs = pcim_iomap_table(pdev)[VTA_BAR_REGS];
	floor->doorbell = pcim_iomap_table(pdev)[VTA_BAR_DOORBELLS];
	shift = readl(floor->regs + REG_DOORBELL_SHIFT);
	if (readl(floor->regs + REG_MAGIC) != REG_MAGIC_VALUE || shift < VTA_DOORBELL_SHIFT_MIN)
		return -ENODEV;
	ret = floor_alloc(floor, &pdev->dev);
	if (ret)
		return ret;

	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (ret < 0)
		return ret;
	ret = devm_add_action_or_reset(&pdev->dev, floor_free_vectors, pdev);
	if (ret)
		return ret;
	ret = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, 0), floor_irq, 0, "vta_floor",
			       floor);
	if (ret)
		return ret;

	ret = floor_reset(floor);
	if (ret)
		return ret;
	pci_set_master(pdev);
	ret = floor_start(floor);
	if (ret)
		goto err_stop;
	floor->misc.minor = MISC_DYNAMIC_MINOR;
	floor->misc.name = "vta_floor";
	floor->misc.fops = &floor_fops;
	floor->misc.mode = 0600;
	ret = misc_register(&floor->misc);
	if (ret)
		goto err_stop;
	pci_set_drvdata(pdev, floor);
	return 0;

err_stop:
	pci_clear_master(pdev);
	floor_reset(floor);
	return ret;
}

/* The bench has closed the file, and there is no other reference. */
static void floor_remove(struct pci_dev *pdev)
{
	struct floor *floor = pci_get_drvdata(pdev);

	misc_deregister(&floor->misc);
	floor_reset(floor);
	pci_clear_master(pdev);
}

/* It takes no card by itself. */
static const struct pci_device_id floor_ids[] = {
	{ }
};

static struct pci_driver floor_driver = {
	.name = "vta_floor",
	.id_table = floor_ids,
	.probe = floor_probe,
	.remove = floor_remove,
};
module_pci_driver(floor_driver);

MODULE_DESCRIPTION("The least that a launch on a VTA card can cost (for benchmarks)");
MODULE_AUTHOR("The vta-pcie authors");
MODULE_LICENSE("GPL");
