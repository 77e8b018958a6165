// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket: its clients, and their lines in and out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "model/log.h"
#include "vfu/unix_listen.h"

#define CLIENTS		16
#define LINE_MAX_LEN	1024
/* A client that has asked nothing for so many seconds gives its place to another. */
#define IDLE_S		5

/*
 * A client is answered one line at a time: while an answer is on its way out,
 * nothing more is read, so that what it can make us keep is bounded.
 */
struct client {
	struct ctl *ctl;
	int fd;			/* -1: free */
	time_t last;		/* of its requests, CLOCK_MONOTONIC in seconds */
	bool skipping;		/* the rest of a line that was too long */
	size_t in_len;
	char in[LINE_MAX_LEN];
	char *out;		/* NULL: none */
	size_t out_len;
	size_t out_pos;
};

struct ctl {
	struct vfu *srv;
	struct ctl_target target;
	struct unix_socket listener;
	bool refusing;		/* the last client could not be accepted */
	struct client clients[CLIENTS];
};

static void client_drop(struct client *client)
{
	struct ctl *ctl = client->ctl;

	vfu_del_fd(ctl->srv, client->fd);
	close(client->fd);
	free(client->out);
	*client = (struct client) { .ctl = ctl, .fd = -1 };
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Writes what it can: 1 when all is out, 0 when some is left, -1 to drop. */
static int client_flush(struct client *client)
{
	while (client->out_pos < client->out_len) {
		ssize_t n = send(client->fd, client->out + client->out_pos,
				 client->out_len - client->out_pos, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		client->out_pos += (size_t)n;
	}
	free(client->out);
	client->out = NULL;
	return 1;
}

static int client_reply(struct client *client, struct json_object *reply)
{
	const char *text = json_object_to_json_string_ext(reply, JSON_C_TO_STRING_PLAIN);
	int len = text ? asprintf(&client->out, "%s\n", text) : -1;

	json_object_put(reply);
	if (len < 0) {
		client->out = NULL;
		return -1;
	}
	client->out_len = (size_t)len;
	client->out_pos = 0;
	return client_flush(client);
}

/* Answers the lines that are there, until an answer does not go out. */
static int client_answer(struct client *client)
{
	int ret = 1;

	while (ret > 0 && client->in_len) {
		const char *end = memchr(client->in, '\n', client->in_len);
		size_t len = end ? (size_t)(end - client->in) + 1 : client->in_len;
		char line[LINE_MAX_LEN];

		if (!end && !client->skipping && len < sizeof(client->in))
			break;	/* the rest is to come */
		memcpy(line, client->in, len);
		line[len - 1] = '\0';
		client->in_len -= len;
		memmove(client->in, client->in + len, client->in_len);
		if (!client->skipping)
			ret = client_reply(client, end ?
					   ctl_answer(&client->ctl->target, line) :
					   ctl_error("the line is too long"));
		client->skipping = !end;
	}
	return ret;
}

/* 1, or -1 when nothing more will come. */
static int client_read(struct client *client)
{
	ssize_t n = recv(client->fd, client->in + client->in_len,
			 sizeof(client->in) - client->in_len, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -1;
	if (!n)
		return -1;
	client->in_len += (size_t)n;
	return 1;
}

static void client_event(void *arg, int fd, short revents)
{
	struct client *client = arg;
	struct ctl *ctl = client->ctl;
	short events;
	int ret = 1;

	client->last = now();
	if (client->out)
		ret = client_flush(client);
	else if (revents & (POLLIN | POLLHUP | POLLERR))
		ret = client_read(client);
	if (ret > 0)
		ret = client_answer(client);
	if (ret < 0) {
		client_drop(client);
		return;
	}
	events = client->out ? POLLOUT : POLLIN;
	vfu_del_fd(ctl->srv, fd);
	if (vfu_add_fd(ctl->srv, fd, events, client_event, client))
		client_drop(client);
}

/* A free place, or that of the client which has been idle for longest; NULL: all are at work. */
static struct client *make_place(struct ctl *ctl)
{
	struct client *oldest = &ctl->clients[0];

	for (unsigned int i = 0; i < CLIENTS; i++) {
		if (ctl->clients[i].fd < 0)
			return &ctl->clients[i];
		if (ctl->clients[i].last < oldest->last)
			oldest = &ctl->clients[i];
	}
	if (now() - oldest->last < IDLE_S)
		return NULL;
	client_drop(oldest);
	return oldest;
}

static void ctl_accept(void *arg, int listen_fd, short revents)
{
	struct ctl *ctl = arg;
	struct client *client = make_place(ctl);
	int fd;

	(void)revents;
	if (!client) {
		vfu_rest_fd(ctl->srv, listen_fd);
		return;
	}
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		if (!ctl->refusing)
			log_warn("control socket: %s", strerror(errno));
		ctl->refusing = true;
		vfu_rest_fd(ctl->srv, listen_fd);
		return;
	}
	ctl->refusing = false;
	client->fd = fd;
	client->last = now();
	if (vfu_add_fd(ctl->srv, fd, POLLIN, client_event, client)) {
		client->fd = -1;
		close(fd);
	}
}

int ctl_new(struct ctl **out, const char *path, struct vfu *srv, struct card *card,
	    struct pci_cfg *pci)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int ret;

	if (!ctl)
		return -ENOMEM;
	ctl->srv = srv;
	ctl->target = (struct ctl_target) { card, pci, srv };
	for (unsigned int i = 0; i < CLIENTS; i++)
		ctl->clients[i] = (struct client) { .ctl = ctl, .fd = -1 };
	ret = unix_listen(&ctl->listener, path, CLIENTS);
	if (!ret)
		ret = vfu_add_fd(srv, ctl->listener.fd, POLLIN, ctl_accept, ctl);
	if (ret) {
		unix_close(&ctl->listener);
		free(ctl);
		return ret;
	}
	*out = ctl;
	return 0;
}

void ctl_free(struct ctl *ctl)
{
	if (!ctl)
		return;
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (ctl->clients[i].fd >= 0)
			client_drop(&ctl->clients[i]);
	vfu_del_fd(ctl->srv, ctl->listener.fd);
	unix_close(&ctl->listener);
	free(ctl);
}
