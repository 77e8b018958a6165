// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server's life: its socket, its loop, and the one message and one reply
 * that can be under way. Nothing here blocks but poll(): a client that sends half a message, or
 * does not read its replies, delays no other client.
 */
#define _GNU_SOURCE 1	/* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "vfu_priv.h"

#define MAX_AREAS	64
/* A client's mistakes are worth that many lines and no more. */
#define MAX_LOG_LINES	32
/* A client negotiates within this time. */
#define HELLO_MS	10000
/* Time until the server tries again to accept a client. */
#define REST_MS		100

/* The fixed entries of the poll array. */
enum { POLL_WAKE, POLL_SOCKET, POLL_FIXED };

void vfu_log(struct vfu *srv, const char *line)
{
	if (srv->log_lines >= MAX_LOG_LINES)
		return;
	if (++srv->log_lines == MAX_LOG_LINES)
		line = "too many errors from this client: no more are logged";
	if (srv->ops->log)
		srv->ops->log(srv->priv, line);
	else
		fprintf(stderr, "vfio-user: %s\n", line);
}

/* Creation */

static bool areas_valid(const struct vfu_backing *bar, uint64_t size)
{
	unsigned int i;

	if (bar->nr_areas > MAX_AREAS || (bar->nr_areas && !bar->areas))
		return false;
	for (i = 0; i < bar->nr_areas; i++) {
		const struct vfu_area *a = &bar->areas[i];

		if (!a->size || (a->offset | a->size) % VFU_DMA_PAGE ||
		    a->offset > size || a->size > size - a->offset)
			return false;
	}
	return true;
}

static bool config_valid(const struct vfu_config *config)
{
	unsigned int i;

	if (!config->pci || !config->ops || !config->ops->access)
		return false;
	for (i = 0; i < PCI_NUM_BARS; i++) {
		const struct vfu_backing *bar = &config->bar[i];
		uint64_t size = pci_bar_size(config->pci, i);

		if (!bar->ptr)
			continue;
		/* BAR0 holds the MSI-X windows: it is always trapped. */
		if (i == 0 || !size || bar->fd < 0 || !areas_valid(bar, size))
			return false;
	}
	return true;
}

int vfu_new(struct vfu **out, const struct vfu_config *config)
{
	struct vfu *srv;
	int ret;

	if (!config_valid(config))
		return -EINVAL;
	srv = calloc(1, sizeof(*srv));
	if (!srv)
		return -ENOMEM;
	srv->ops = config->ops;
	srv->priv = config->priv;
	srv->pci = config->pci;
	memcpy(srv->bar, config->bar, sizeof(srv->bar));
	srv->once = config->once;
	srv->listener.fd = -1;
	srv->client_fd = -1;
	srv->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	srv->dma = vfu_dma_new();
	srv->irqs = vfu_irqs_new();
	srv->in.buf = malloc(VFU_MSG_MAX);
	srv->reply = malloc(VFU_MSG_MAX);

	ret = -ENOMEM;
	if (srv->wake_fd < 0 || !srv->dma || !srv->irqs || !srv->in.buf ||
	    !srv->reply)
		goto fail;
	vfu_dma_enable(srv->dma, pci_may_dma(srv->pci));
	vfu_irqs_sync(srv->irqs, srv->pci);
	if (config->path) {
		ret = unix_listen(&srv->listener, config->path, 1);
		if (ret)
			goto fail;
	}
	*out = srv;
	return 0;

fail:
	vfu_free(srv);
	return ret;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void vfu_free(struct vfu *srv)
{
	if (!srv)
		return;
	if (srv->client_fd >= 0 || srv->negotiated)
		vfu_hangup(srv);
	unix_close(&srv->listener);
	close_fd(&srv->wake_fd);
	vfu_irqs_free(srv->irqs);
	vfu_dma_free(srv->dma);
	free(srv->in.buf);
	free(srv->reply);
	free(srv->watches);
	free(srv->polls);
	free(srv);
}

struct vfu_dma *vfu_get_dma(struct vfu *srv)
{
	return srv->dma;
}

enum vfu_irq_kind vfu_irq_mode(struct vfu *srv, unsigned int *count)
{
	return vfu_irqs_mode(srv->irqs, count);
}

int vfu_irq(struct vfu *srv, enum vfu_irq_kind kind, unsigned int vector)
{
	return vfu_irqs_raise(srv->irqs, kind, vector);
}

/* The session */

static void drop_input(struct vfu *srv)
{
	while (srv->in.nfds)
		close(srv->in.fds[--srv->in.nfds]);
	srv->in.len = 0;
}

void vfu_hangup(struct vfu *srv)
{
	bool was_client = srv->negotiated;

	close_fd(&srv->client_fd);
	drop_input(srv);
	memset(&srv->out, 0, sizeof(srv->out));
	vfu_dma_unmap_all(srv->dma);
	vfu_irqs_close(srv->irqs);
	srv->negotiated = false;
	srv->can_pass_fd = false;
	srv->log_lines = 0;
	if (!was_client)
		return;
	if (srv->ops->disconnected)
		srv->ops->disconnected(srv->priv);
	if (srv->once)
		vfu_stop(srv);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void accept_client(struct vfu *srv)
{
	int fd = accept4(srv->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		srv->client_fd = fd;
		srv->hello_until = now_ms() + HELLO_MS;
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		/* There may be descriptors again; trying at once would spin. */
		if (!srv->refusing)
			vfu_log(srv, "a client cannot be accepted (see ulimit -n)");
		srv->refusing = true;
		srv->resting = true;
		return;
	}
	srv->refusing = false;
}

/* Sends what the socket takes; hangs up when the client is gone. */
static void send_some(struct vfu *srv)
{
	struct vfu_output *out = &srv->out;
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} ctl;

	while (out->sent < out->reply.len) {
		struct iovec iov = {
			.iov_base = (uint8_t *)out->reply.data + out->sent,
			.iov_len = out->reply.len - out->sent,
		};
		struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		if (out->reply.fd >= 0 && !out->sent) {
			memset(&ctl, 0, sizeof(ctl));
			ctl.hdr.cmsg_level = SOL_SOCKET;
			ctl.hdr.cmsg_type = SCM_RIGHTS;
			ctl.hdr.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&ctl.hdr), &out->reply.fd,
			       sizeof(int));
			mh.msg_control = &ctl;
			mh.msg_controllen = sizeof(ctl.space);
		}
		n = sendmsg(srv->client_fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			vfu_hangup(srv);
			return;
		}
		out->sent += (size_t)n;
	}
	if (out->hangup)
		vfu_hangup(srv);
	else
		memset(out, 0, sizeof(*out));
}

static void handle_input(struct vfu *srv)
{
	struct vfu_input *in = &srv->in;
	unsigned int nfds = in->nfds;

	in->nfds = 0;	/* vfu_handle owns them now */
	srv->out.hangup = vfu_handle(srv, in->buf, in->len, in->fds, nfds,
				     &srv->out.reply) != 0;
	srv->out.sent = 0;
	in->len = 0;
	send_some(srv);
}

/* Bytes that the message now needs to have; only ever grows. */
static size_t input_size(const struct vfu_input *in)
{
	struct vfu_hdr hdr;

	if (in->len < sizeof(hdr))
		return sizeof(hdr);
	memcpy(&hdr, in->buf, sizeof(hdr));
	/* A size that is refused is refused at once, by vfu_handle. */
	if (hdr.size < sizeof(hdr) || hdr.size > VFU_MSG_MAX)
		return sizeof(hdr);
	return hdr.size;
}

static void take_fds(struct vfu *srv, struct msghdr *mh)
{
	struct vfu_input *in = &srv->in;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t i, n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			/* Beyond the array the message is refused anyway. */
			if (in->nfds < VFU_SCM_MAX)
				in->fds[in->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* One recvmsg: returns false when there is no more to read now. */
static bool receive(struct vfu *srv)
{
	struct vfu_input *in = &srv->in;
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int) * VFU_SCM_MAX)];
	} ctl;
	struct iovec iov = {
		.iov_base = in->buf + in->len,
		.iov_len = input_size(in) - in->len,
	};
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &ctl,
		.msg_controllen = sizeof(ctl.space),
	};
	ssize_t n = recvmsg(srv->client_fd, &mh,
			    MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		vfu_hangup(srv);
		return false;
	}
	in->len += (size_t)n;
	take_fds(srv, &mh);
	if (mh.msg_flags & MSG_CTRUNC) {
		vfu_log(srv, "no room for the client's descriptors (see ulimit -n): hanging up");
		vfu_hangup(srv);
		return false;
	}
	return true;
}

/* At most one message per turn, so that the owner's descriptors get theirs. */
static void serve_client(struct vfu *srv)
{
	if (srv->out.reply.len || srv->out.hangup) {
		send_some(srv);
		return;
	}
	while (receive(srv)) {
		if (srv->in.len == input_size(&srv->in)) {
			handle_input(srv);
			return;
		}
	}
}

/* The loop */

static struct vfu_watch *find_watch(struct vfu *srv, int fd)
{
	for (size_t i = 0; i < srv->nr_watches; i++)
		if (srv->watches[i].fd == fd)
			return &srv->watches[i];
	return NULL;
}

int vfu_add_fd(struct vfu *srv, int fd, short events, vfu_fd_fn fn, void *arg)
{
	struct vfu_watch *w;

	if (find_watch(srv, fd))
		return -EEXIST;
	w = reallocarray(srv->watches, srv->nr_watches + 1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	srv->watches = w;
	w[srv->nr_watches++] = (struct vfu_watch) { fd, events, fn, arg, false };
	return 0;
}

void vfu_rest_fd(struct vfu *srv, int fd)
{
	struct vfu_watch *w = find_watch(srv, fd);

	if (w)
		w->resting = true;
}

void vfu_del_fd(struct vfu *srv, int fd)
{
	struct vfu_watch *w = find_watch(srv, fd);
	size_t i;

	if (w)
		*w = srv->watches[--srv->nr_watches];
	/* Its events of the last poll() are void, even if the number is used again. */
	for (i = POLL_FIXED; i < srv->nr_polls; i++)
		if (srv->polls[i].fd == fd)
			srv->polls[i].revents = 0;
}

/* Milliseconds, as poll() has them: until a client has to have negotiated, or something rested. */
static int time_left(const struct vfu *srv)
{
	int64_t left = INT_MAX;
	bool resting = srv->resting;

	for (size_t i = 0; i < srv->nr_watches; i++)
		resting |= srv->watches[i].resting;
	if (srv->client_fd >= 0 && !srv->negotiated)
		left = srv->hello_until - now_ms();
	if (resting && left > REST_MS)
		left = REST_MS;
	return left == INT_MAX ? -1 : left > 0 ? (int)left : 0;
}

/* poll() ignores negative descriptors. */
static int prepare_polls(struct vfu *srv)
{
	size_t i, n = POLL_FIXED + srv->nr_watches;
	struct pollfd *p = reallocarray(srv->polls, n, sizeof(*p));

	if (!p)
		return -ENOMEM;
	srv->polls = p;
	srv->nr_polls = n;
	p[POLL_WAKE] = (struct pollfd) { srv->wake_fd, POLLIN, 0 };
	if (srv->client_fd < 0)
		p[POLL_SOCKET] = (struct pollfd) {
			srv->resting ? -1 : srv->listener.fd, POLLIN, 0
		};
	else
		p[POLL_SOCKET] = (struct pollfd) {
			srv->client_fd, srv->out.reply.len ? POLLOUT : POLLIN, 0
		};
	for (i = 0; i < srv->nr_watches; i++)
		p[POLL_FIXED + i] = (struct pollfd) {
			srv->watches[i].resting ? -1 : srv->watches[i].fd,
			srv->watches[i].events, 0
		};
	return 0;
}

static void end_rests(struct vfu *srv)
{
	srv->resting = false;
	for (size_t i = 0; i < srv->nr_watches; i++)
		srv->watches[i].resting = false;
}

static void call_watch(struct vfu *srv, int fd, short revents)
{
	struct vfu_watch *w = find_watch(srv, fd);

	if (w)
		w->fn(w->arg, fd, revents);
}

/* One that says nothing, or not all of it, must not keep others waiting. */
static void end_silence(struct vfu *srv)
{
	if (srv->client_fd < 0 || srv->negotiated || now_ms() < srv->hello_until)
		return;
	vfu_log(srv, "the client has not negotiated in time: hanging up");
	vfu_hangup(srv);
}

static int run_once(struct vfu *srv)
{
	size_t i;
	int ret;

	ret = prepare_polls(srv);
	if (ret)
		return ret;
	if (poll(srv->polls, srv->nr_polls, time_left(srv)) < 0)
		return errno == EINTR ? 0 : -errno;

	end_rests(srv);
	for (i = POLL_FIXED; i < srv->nr_polls; i++)
		if (srv->polls[i].revents)
			call_watch(srv, srv->polls[i].fd,
				   srv->polls[i].revents);
	if (srv->polls[POLL_SOCKET].revents) {
		if (srv->client_fd < 0)
			accept_client(srv);
		else
			serve_client(srv);
	}
	end_silence(srv);
	return 0;
}

int vfu_run(struct vfu *srv)
{
	uint64_t ignored;
	int ret = 0;

	while (!ret && !atomic_load(&srv->stop))
		ret = run_once(srv);
	/* The next vfu_run starts afresh. */
	atomic_store(&srv->stop, false);
	if (read(srv->wake_fd, &ignored, sizeof(ignored)) < 0 &&
	    errno != EAGAIN && !ret)
		ret = -errno;
	return ret;
}

void vfu_stop(struct vfu *srv)
{
	const uint64_t one = 1;
	int saved = errno;

	atomic_store(&srv->stop, true);
	/* Only a full counter refuses, and that wakes as well. */
	if (write(srv->wake_fd, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}
