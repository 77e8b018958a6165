// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_hwmon.c - temperature and power, for sensors(1)
 */
#include <linux/err.h>
#include <linux/hwmon.h>
#include <linux/units.h>

#include "vta_device.h"
#include "vta_drv.h"

#if IS_REACHABLE(CONFIG_HWMON)

static umode_t vta_hwmon_is_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				    int channel)
{
	return 0444;
}

/* Does not resume a suspended card, whose sensors have no data. */
static int vta_hwmon_read_register(struct vta_device *vdev, u32 reg, u32 *val)
{
	int ret = vta_card_enter_killable(vdev);

	if (ret)
		return ret;
	if (vdev->state == VTA_STATE_SUSPENDED)
		ret = -ENODATA;
	*val = vta_read(vdev, reg);
	if (!ret && *val == U32_MAX && !vta_card_is_present(vdev))
		ret = -ENODEV;
	vta_card_leave(vdev);
	if (ret)
		return ret;
	return *val ? 0 : -ENODATA;
}

static int vta_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr,
			  int channel, long *val)
{
	bool temp = type == hwmon_temp;
	u32 raw;
	int ret = vta_hwmon_read_register(dev_get_drvdata(dev), temp ? REG_TEMPERATURE : REG_POWER,
				     &raw);

	if (!ret)	/* millidegrees Celsius, or microwatts */
		*val = temp ? (long)raw + ABSOLUTE_ZERO_MILLICELSIUS : (long)raw * 1000;
	return ret;
}

static const struct hwmon_ops vta_hwmon_ops = {
	.is_visible = vta_hwmon_is_visible,
	.read = vta_hwmon_read,
};

static const struct hwmon_channel_info *vta_hwmon_channels[] = {
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT),
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT),
	NULL
};

static const struct hwmon_chip_info vta_hwmon_chip = {
	.ops = &vta_hwmon_ops,
	.info = vta_hwmon_channels,
};

void vta_hwmon_init(struct vta_device *vdev)
{
	struct device *hwmon;

	if (!(vdev->caps.features & REG_FEATURES_SENSORS))
		return;
	hwmon = hwmon_device_register_with_info(&vdev->pdev->dev, "vta", vdev, &vta_hwmon_chip,
						NULL);
	if (IS_ERR(hwmon))
		dev_warn(&vdev->dev, "cannot register sensors (%ld)\n", PTR_ERR(hwmon));
	else
		vdev->hwmon = hwmon;
}

void vta_hwmon_fini(struct vta_device *vdev)
{
	if (vdev->hwmon)
		hwmon_device_unregister(vdev->hwmon);
}

#endif /* CONFIG_HWMON */
