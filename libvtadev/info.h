/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - derive the properties that programs need from those that the kernel reports
 */
#ifndef VTADEV_INFO_H
#define VTADEV_INFO_H

struct vta_info;
struct vtadev_info;

/*
 * Fill in everything but @info->card. Returns -EPROTO if the configuration is
 * not a valid one (docs/isa.md): a card with registers gone bad.
 */
int info_derive(const struct vta_info *raw, struct vtadev_info *info);

#endif /* VTADEV_INFO_H */
