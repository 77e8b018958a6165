// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_drv.c - the module and the PCI driver: probe and remove of cards
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "vta_device.h"
#include "vta_drv.h"
#include "vta_event.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_mem.h"
#include "vta_pm.h"
#include "vta_reset.h"
#include "vta_watch.h"

/* Sequence numbers and page-table entries are 64-bit words, each accessed at once. */
#ifndef CONFIG_64BIT
#error "VTA cards need a 64-bit host"
#endif

static dev_t vta_devt;

static struct class vta_class = {
	.name = "vta",
	.dev_groups = vta_groups,
};

/* Checks the BARs of every card, and maps the registers; vta_device_map() claims the others. */
static int vta_map_regs(struct vta_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;

	if (!vta_device_has_bar(vdev, VTA_BAR_REGS) || !vta_device_has_bar(vdev, VTA_BAR_DOORBELLS))
		return -ENODEV;
	if (pci_resource_len(pdev, VTA_BAR_REGS) < VTA_REGS_SIZE) {
		dev_err(&pdev->dev, "BAR%d is too small: not a VTA card\n", VTA_BAR_REGS);
		return -ENODEV;
	}

	vdev->regs = devm_ioremap_resource(&pdev->dev, &pdev->resource[VTA_BAR_REGS]);
	return PTR_ERR_OR_ZERO(vdev->regs);
}

/*
 * Undoes probe from vta_irq_init() on, even if probe has failed. Interrupts queue works, so they
 * are freed first; works that are still queued find VTA_STATE_REMOVED.
 */
static void vta_stop_card(struct vta_device *vdev)
{
	vta_card_retire(vdev, VTA_CAUSE_UNBOUND);
	/* Works and other threads that free memory still unmap it from the card. */
	wait_var_event(&vdev->nr_revoking, !atomic_read(&vdev->nr_revoking));
	wait_var_event(&vdev->nr_lost, !atomic_read(&vdev->nr_lost));
	wait_var_event(&vdev->nr_closing, !atomic_read(&vdev->nr_closing));
	wait_var_event(&vdev->nr_dma, !atomic_read(&vdev->nr_dma));
	vta_irq_fini(vdev);
	vta_watch_stop(vdev);
	cancel_delayed_work_sync(&vdev->reset_work);
}

static int vta_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vta_device *vdev;
	int ret;

	vdev = vta_device_create(pdev, vta_devt);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	vdev->dev.class = &vta_class;
	vta_history_init(vdev);
	INIT_DELAYED_WORK(&vdev->watch.work, vta_watch_work);
	INIT_DELAYED_WORK(&vdev->reset_work, vta_reset_work);

	ret = pcim_enable_device(pdev);
	if (ret) {
		dev_err(&pdev->dev, "cannot enable the PCI function (%d)\n", ret);
		goto err_put;
	}
	/* Bus mastering may be on already: no DMA before the card has been reset. */
	pci_clear_master(pdev);

	/* Page-table entries hold 52 bits. */
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(52));
	if (ret) {
		dev_err(&pdev->dev, "this host cannot give the card 64-bit DMA (%d)\n", ret);
		goto err_put;
	}
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);

	ret = vta_map_regs(vdev);
	if (ret)
		goto err_put;
	ret = vta_device_identify(vdev);
	if (ret)
		goto err_put;
	ret = vta_device_map(vdev);
	if (ret)
		goto err_put;

	/* A card that reports a fatal error at once is reset after probe. */
	vta_card_lock(vdev);
	pci_set_drvdata(pdev, vdev);
	ret = vta_irq_init(vdev);
	if (!ret)
		ret = vta_card_save_config(vdev);
	if (!ret) {
		pci_set_master(pdev);
		vta_card_start(vdev);
		vta_card_set_state(vdev, VTA_STATE_LIVE);
	}
	vta_card_unlock(vdev);
	if (ret)
		goto err_stop;

	cdev_init(&vdev->cdev, &vta_fops);
	vdev->cdev.owner = THIS_MODULE;
	ret = cdev_device_add(&vdev->cdev, &vdev->dev);
	if (ret) {
		dev_err(&pdev->dev, "cannot register %s (%d)\n", dev_name(&vdev->dev), ret);
		goto err_stop;
	}
	vta_hwmon_init(vdev);
	dev_info(&vdev->dev, "%llu MiB, %u queues, %u contexts, %u interrupt vectors at %s\n",
		 vdev->caps.mem_size >> 20, vdev->caps.queues, vdev->caps.contexts,
		 vdev->nr_vectors, pci_name(pdev));
	vta_pm_begin(vdev);
	return 0;

err_stop:
	vta_history_close(vdev);
	vta_stop_card(vdev);
err_put:
	put_device(&vdev->dev);
	return ret;
}

static void vta_remove(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	vta_hwmon_fini(vdev);
	vta_pm_end(vdev);
	vta_history_close(vdev);
	cdev_device_del(&vdev->cdev, &vdev->dev);
	vta_stop_card(vdev);
	put_device(&vdev->dev);
}

static const struct pci_device_id vta_ids[] = {
	{ PCI_DEVICE(VTA_PCI_VENDOR, VTA_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vta_ids);

static struct pci_driver vta_driver = {
	.name = "vta",
	.id_table = vta_ids,
	.probe = vta_probe,
	.remove = vta_remove,
	.shutdown = vta_pm_shutdown,
	.err_handler = &vta_reset_handlers,
	.driver.pm = &vta_pm_ops,
};

static int __init vta_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&vta_devt, 0, VTA_MINORS, "vta");
	if (ret)
		return ret;
	ret = vta_event_init();
	if (ret)
		goto err_region;
	ret = vta_import_init();
	if (ret)
		goto err_event;
	ret = class_register(&vta_class);
	if (ret)
		goto err_import;
	ret = pci_register_driver(&vta_driver);
	if (ret)
		goto err_class;
	return 0;

err_class:
	class_unregister(&vta_class);
err_import:
	vta_import_exit();
err_event:
	vta_event_exit();
err_region:
	unregister_chrdev_region(vta_devt, VTA_MINORS);
	return ret;
}
module_init(vta_init);

static void __exit vta_exit(void)
{
	pci_unregister_driver(&vta_driver);
	class_unregister(&vta_class);
	vta_import_exit();
	vta_event_exit();
	unregister_chrdev_region(vta_devt, VTA_MINORS);
}
module_exit(vta_exit);

MODULE_DESCRIPTION("VTA tensor accelerator on PCI Express");
MODULE_AUTHOR("The vta-pcie authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(VTA_VERSION);
