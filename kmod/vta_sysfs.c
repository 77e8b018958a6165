// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_sysfs.c - /sys/class/vta/vtaN: the card's properties and use
 *
 * Each file has one value. config/ has the names of TVM's vta_config.json. counters/ has those of
 * the card's debug counters (docs/hardware.md, section 12), and exists if the card has counters.
 */
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>
#include <linux/uidgid.h>

#include "vta_cardmem.h"
#include "vta_device.h"
#include "vta_drv.h"
#include "vta_history.h"
#include "vta_reset.h"
#include "vta_user.h"
#include "vta.h"

#define VTA_ATTR(_name, _format, ...)						\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	struct vta_device *vdev = to_vta_device(dev);				\
										\
	return sysfs_emit(buf, _format "\n", __VA_ARGS__);			\
}										\
static DEVICE_ATTR_RO(_name)

VTA_ATTR(contract, "%u.%u", VTA_CONTRACT_MAJOR(vdev->caps.contract),
	 VTA_CONTRACT_MINOR(vdev->caps.contract));
VTA_ATTR(hw_ver, "%u.%u.%u", vdev->caps.hw_ver >> 16 & 0xff, vdev->caps.hw_ver >> 8 & 0xff,
	 vdev->caps.hw_ver & 0xff);
VTA_ATTR(serial, "%016llx", vdev->caps.serial);
VTA_ATTR(clock_khz, "%u", vdev->caps.clock_khz);
/* Card memory: all of it, and the part that neither buffers nor dma-bufs use. */
VTA_ATTR(mem_size, "%llu", vdev->caps.mem_size);
VTA_ATTR(mem_free, "%llu", vta_cardmem_avail(vdev->cardmem));
/* Host memory in buffers, rings, status pages and dma-bufs. */
VTA_ATTR(host_bytes, "%lld", atomic64_read(&vdev->host_bytes));
/* Pinned memory of processes. */
VTA_ATTR(pinned_bytes, "%lld", atomic64_read(&vdev->pinned_bytes));
/* Host memory in the page tables of all contexts. */
VTA_ATTR(page_table_bytes, "%lld", atomic64_read(&vdev->table_bytes));
VTA_ATTR(queues, "%u", vdev->caps.queues);
VTA_ATTR(queues_used, "%d", atomic_read(&vdev->nr_queues));
VTA_ATTR(contexts, "%u", vdev->caps.contexts);
VTA_ATTR(contexts_used, "%u", READ_ONCE(vdev->nr_ctxs) + atomic_read(&vdev->nr_closing));
VTA_ATTR(vectors, "%u", vdev->nr_vectors);
VTA_ATTR(generation, "%u", READ_ONCE(vdev->generation));

/* Calls that were delayed because their user's queues fault too often. */
VTA_ATTR(throttled, "%d", atomic_read(&vdev->throttled));

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	static const char * const names[] = {
		[VTA_STATE_RESETTING] = "resetting",
		[VTA_STATE_LIVE] = "working",
		[VTA_STATE_PCI_OWNED] = "lent",
		[VTA_STATE_FUNCTION_RESET] = "resetting",
		[VTA_STATE_SUSPENDED] = "asleep",
		[VTA_STATE_GIVEN_UP] = "given up",
		[VTA_STATE_REMOVED] = "removed",
	};

	return sysfs_emit(buf, "%s\n", names[READ_ONCE(to_vta_device(dev)->state)]);
}
static DEVICE_ATTR_RO(state);

/* Resets the card, which revokes it from all users. */
static ssize_t reset_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	bool sure;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	ret = kstrtobool(buf, &sure);
	if (ret)
		return ret;
	if (!sure)
		return count;
	/* The PCI core may reset the card, or removal of the driver may wait for this call. */
	if (!device_trylock(dev->parent)) {
		msleep(20);
		return restart_syscall();
	}
	ret = vta_card_reset_now(to_vta_device(dev), VTA_CAUSE_ADMIN, "an administrator asked");
	device_unlock(dev->parent);
	return ret ? ret : count;
}
static DEVICE_ATTR_WO(reset);

/*
 * The driver core has a file of this name, too, but its write takes the device's lock: removal of
 * the driver holds that lock while it waits for the write.
 */
static ssize_t coredump_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t count)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	vta_dump_state(to_vta_device(dev));
	return count;
}
static DEVICE_ATTR_WO(coredump);

/*
 * One line for each of the last faults; a line has several values because they belong together.
 * Only root may see the owner of a queue that has faulted, and the address.
 */
static ssize_t fault_log_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vta_text text = { .buf = buf, .size = PAGE_SIZE };

	vta_history_print_faults(to_vta_device(dev), true, &text);
	return text.len;
}
static DEVICE_ATTR_ADMIN_RO(fault_log);

static ssize_t reset_log_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vta_text text = { .buf = buf, .size = PAGE_SIZE };

	vta_history_print_resets(to_vta_device(dev), &text);
	return text.len;
}
static DEVICE_ATTR_RO(reset_log);

/* Reads as a line "USER WEIGHT" for each user whose weight is not 1; takes one line at a time. */
static ssize_t user_weights_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vta_text text = { .buf = buf, .size = PAGE_SIZE };

	vta_user_print_weights(to_vta_device(dev), &text);
	return text.len;
}

static ssize_t user_weights_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	struct vta_device *vdev = to_vta_device(dev);
	unsigned int weight, uid;
	struct vta_user *user;
	char end;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (sscanf(buf, "%u %u%c", &uid, &weight, &end) < 2 || !weight ||
	    weight > VTA_GROUP_WEIGHT_MAX || !uid_valid(KUIDT_INIT(uid)))
		return -EINVAL;
	/* Allocates memory that the caller is charged with, so before the lock. */
	user = vta_user_get_by_id(vdev, KUIDT_INIT(uid));
	if (IS_ERR(user))
		return PTR_ERR(user);
	vta_card_lock(vdev);
	vta_user_set_weight(vdev, user, weight);
	vta_card_unlock(vdev);
	vta_user_put(vdev, user);
	return count;
}
static DEVICE_ATTR_RW(user_weights);

static struct attribute *vta_attrs[] = {
	&dev_attr_contract.attr,
	&dev_attr_hw_ver.attr,
	&dev_attr_serial.attr,
	&dev_attr_clock_khz.attr,
	&dev_attr_mem_size.attr,
	&dev_attr_mem_free.attr,
	&dev_attr_host_bytes.attr,
	&dev_attr_pinned_bytes.attr,
	&dev_attr_page_table_bytes.attr,
	&dev_attr_queues.attr,
	&dev_attr_queues_used.attr,
	&dev_attr_contexts.attr,
	&dev_attr_contexts_used.attr,
	&dev_attr_vectors.attr,
	&dev_attr_generation.attr,
	&dev_attr_throttled.attr,
	&dev_attr_state.attr,
	&dev_attr_reset.attr,
	&dev_attr_coredump.attr,
	&dev_attr_fault_log.attr,
	&dev_attr_user_weights.attr,
	&dev_attr_reset_log.attr,
	NULL
};

static const struct attribute_group vta_group = {
	.attrs = vta_attrs,
};

/* Counts of recovery steps: docs/reliability.md. */
VTA_ATTR(queue_aborts, "%d", atomic_read(&vdev->steps[VTA_STEP_ABORT]));
VTA_ATTR(soft_resets, "%d", atomic_read(&vdev->steps[VTA_STEP_SOFT_RESET]));
VTA_ATTR(function_resets, "%d", atomic_read(&vdev->steps[VTA_STEP_FUNCTION_RESET]));
VTA_ATTR(given_up, "%d", atomic_read(&vdev->steps[VTA_STEP_GIVE_UP]));
VTA_ATTR(lost_interrupts, "%d", atomic_read(&vdev->lost_interrupts));
VTA_ATTR(interrupt_storms, "%d", atomic_read(&vdev->interrupt_storms));

static struct attribute *vta_recovery_attrs[] = {
	&dev_attr_queue_aborts.attr,
	&dev_attr_soft_resets.attr,
	&dev_attr_function_resets.attr,
	&dev_attr_given_up.attr,
	&dev_attr_lost_interrupts.attr,
	&dev_attr_interrupt_storms.attr,
	NULL
};

static const struct attribute_group vta_recovery_group = {
	.name = "recovery",
	.attrs = vta_recovery_attrs,
};

/* An attribute whose function gets a number. */
#define VTA_NR_ATTR(_name, _show, _nr)							\
	(&((struct dev_ext_attribute) {							\
		__ATTR(_name, 0444, _show, NULL), (void *)(_nr)				\
	}).attr.attr)

static unsigned long vta_attr_nr(struct device_attribute *attr)
{
	return (unsigned long)container_of(attr, struct dev_ext_attribute, attr)->var;
}

/* Totals of all users, from memory; does not access the card. */
static ssize_t vta_usage_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vta_usage usage;

	vta_usage_of_card(to_vta_device(dev), &usage);
	return sysfs_emit(buf, "%llu\n", *(const u64 *)((const void *)&usage + vta_attr_nr(attr)));
}

static struct attribute *vta_usage_attrs[] = {
	VTA_NR_ATTR(descriptors, vta_usage_show, offsetof(struct vta_usage, descriptors)),
	VTA_NR_ATTR(cycles, vta_usage_show, offsetof(struct vta_usage, cycles)),
	VTA_NR_ATTR(runs, vta_usage_show, offsetof(struct vta_usage, runs)),
	VTA_NR_ATTR(copies, vta_usage_show, offsetof(struct vta_usage, copies)),
	VTA_NR_ATTR(run_ns, vta_usage_show, offsetof(struct vta_usage, run_ns)),
	VTA_NR_ATTR(copy_ns, vta_usage_show, offsetof(struct vta_usage, copy_ns)),
	NULL
};

static const struct attribute_group vta_usage_group = {
	.name = "usage",
	.attrs = vta_usage_attrs,
};

static ssize_t vta_config_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const void *caps = &to_vta_device(dev)->caps;

	return sysfs_emit(buf, "%d\n", *(const int *)(caps + vta_attr_nr(attr)));
}

#define VTA_CONFIG_ATTR(_NAME, _field, ...)						\
	VTA_NR_ATTR(_NAME, vta_config_show, offsetof(struct vta_caps, _field)),
#define VTA_CONFIG_FIELD_ATTR(_NAME, _field, ...)					\
	VTA_CONFIG_ATTR(_NAME, config._field)

static struct attribute *vta_config_attrs[] = {
	VTA_ISA_CONFIG(VTA_CONFIG_FIELD_ATTR)
	VTA_ISA_QUEUES(VTA_CONFIG_ATTR)
	NULL
};

static const struct attribute_group vta_config_group = {
	.name = "config",
	.attrs = vta_config_attrs,
};

/*
 * Enters the card because a counter is two registers. Any user may read a counter, so a suspended
 * card is not resumed.
 */
static ssize_t vta_counter_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vta_device *vdev = to_vta_device(dev);
	u64 val;
	int ret;

	ret = vta_card_enter_killable(vdev);
	if (ret)
		return ret;
	val = vta_read64(vdev, REG_COUNTER(vta_attr_nr(attr)));
	if (vdev->state == VTA_STATE_SUSPENDED)
		ret = -ENODATA;
	else if (val == U64_MAX && !vta_card_is_present(vdev))
		ret = -ENODEV;
	vta_card_leave(vdev);
	return ret ? ret : sysfs_emit(buf, "%llu\n", val);
}

#define VTA_COUNTER_ATTR(_NAME, _name)							\
	VTA_NR_ATTR(_name, vta_counter_show, VTA_COUNTER_##_NAME),

static struct attribute *vta_counter_attrs[] = {
	VTA_COUNTER_LIST(VTA_COUNTER_ATTR)
	NULL
};

static_assert(ARRAY_SIZE(vta_counter_attrs) == VTA_COUNTERS + 1);

static umode_t vta_counter_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	struct vta_device *vdev = to_vta_device(kobj_to_dev(kobj));

	if (!(vdev->caps.features & REG_FEATURES_COUNTERS))
		return 0;
	return n < VTA_COUNTERS_2_0 || VTA_CONTRACT_MINOR(vdev->caps.contract) >= 1 ?
	       attr->mode : 0;
}

static const struct attribute_group vta_counter_group = {
	.name = "counters",
	.is_visible = vta_counter_visible,
	.attrs = vta_counter_attrs,
};

const struct attribute_group *vta_groups[] = {
	&vta_group,
	&vta_config_group,
	&vta_recovery_group,
	&vta_usage_group,
	&vta_counter_group,
	NULL
};
