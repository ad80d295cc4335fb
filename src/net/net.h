/* Sockets that rooms open alike, and secrets compared. */
#ifndef GPUPROOF_NET_NET_H
#define GPUPROOF_NET_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Listens on a free port of this address alone (INADDR_ANY: all of them). `*fd` (-1 on failure) is
 * non-blocking and the caller's to close; `*bound` is where it listens. STATUS_IO.
 */
enum status net_listen(struct in_addr address, int *fd, struct sockaddr_in *bound,
		       struct error *err);

/*
 * Connects within `seconds`. `*fd` (-1 on failure) is non-blocking, without delay (TCP_NODELAY) and
 * the caller's to close. `buffer_bytes`: of the socket's send and receive buffers; 0: the system's.
 * STATUS_TIMEOUT, STATUS_IO, STATUS_INTERNAL.
 */
enum status net_connect(const struct sockaddr_in *to, double seconds, int buffer_bytes, int *fd,
			struct error *err);

/* Sends all bytes within `seconds`. False: errno says why, ETIMEDOUT if time ran out. */
bool net_send(int fd, const void *bytes, size_t count, double seconds);

/*
 * The first IPv4 address of an interface of this machine. STATUS_USAGE names those that there are;
 * IPv6 alone is not enough.
 */
enum status net_interface_address(const char *interface, struct in_addr *out, struct error *err);

/* Compares secrets: takes the same time wherever they differ. */
bool net_equal(const void *a, const void *b, size_t bytes);

#endif
