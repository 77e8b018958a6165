/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * holders.h - open files of cards: their processes, resources and work
 */
#ifndef VTACTL_HOLDERS_H
#define VTACTL_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct holder - an open file of a card
 * @card: N of vtaN
 * @client: the file's number; no other has the same
 * @pid: a process that has it, that with the lowest number
 * @processes: how many have it
 * @uid: of that process
 * @user: its name, or the number
 * @command: name of the process
 * @queues: numbers of its queues, of which a card has at most 256, with spaces between them
 * @nr_queues: how many
 * @lost: why it lost the card, and the outcome; empty if it has not
 * @has_usage: the card counts the fields after @descriptors
 *
 * The others are bytes, and work since it was opened: docs/operating.md, fdinfo.
 */
struct holder {
	unsigned int card;
	uint64_t client;
	pid_t pid;
	unsigned int processes;
	uid_t uid;
	char user[33];
	char command[17];
	char queues[1024];
	char lost[32];
	uint64_t nr_queues;
	uint64_t host_bytes, card_bytes, pinned_bytes, imported_bytes;
	uint64_t descriptors;
	bool has_usage;
	uint64_t runs, copies, compute_ns, copy_ns;
};

/*
 * Finds all open files that this user may see: the user's own, or all for root. Sorted by the
 * file's number; the caller frees the array. Returns their number, or -ENOMEM.
 */
int holders_find(struct holder **holders);

#endif /* VTACTL_HOLDERS_H */
