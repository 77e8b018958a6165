/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - from what the kernel tells of a card to what programs need
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
