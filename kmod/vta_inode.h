/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_inode.h - an inode of its own for each open file
 */
#ifndef VTA_INODE_H
#define VTA_INODE_H

struct inode;

struct inode *vta_inode_new(void);
void vta_inode_put(struct inode *inode);

#endif /* VTA_INODE_H */
