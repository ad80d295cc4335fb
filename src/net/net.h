/* Sockets that rooms open alike, and secrets compared. */
#ifndef GPUPROOF_NET_NET_H
#define GPUPROOF_NET_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/* Address and port of a socket, IPv4 or IPv6. */
struct net_address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
};

#define NET_HOST_SIZE 64 /* "10.0.0.1", "fd00::2" */
#define NET_TEXT_SIZE 72 /* "10.0.0.1:4242", "[fd00::2]:4242" */

/* A numeric host, IPv4 or IPv6, without brackets. False: it is none. */
bool net_address_parse(struct net_address *out, const char *host, int port);
int net_address_port(const struct net_address *address);
void net_address_set_port(struct net_address *address, int port);
/* Both write into `out` and return it. An IPv4 address that IPv6 maps is IPv4. */
const char *net_address_host(const struct net_address *address, char out[NET_HOST_SIZE]);
const char *net_address_text(const struct net_address *address, char out[NET_TEXT_SIZE]);
/* This machine's end of a connection. */
void net_address_own(struct net_address *out, int fd);

/*
 * Listens on a free port of this address alone (NULL: of all, IPv6 as well where there is any).
 * `*fd` (-1 on failure) is non-blocking and the caller's to close; `*bound` is where it listens.
 * STATUS_IO.
 */
enum status net_listen(const struct net_address *address, int *fd, struct net_address *bound,
		       struct error *err);

/*
 * Connects within `seconds`. `*fd` (-1 on failure) is non-blocking, without delay (TCP_NODELAY) and
 * the caller's to close. `buffer_bytes`: of the socket's send and receive buffers; 0: the system's.
 * STATUS_TIMEOUT, STATUS_IO, STATUS_INTERNAL.
 */
enum status net_connect(const struct net_address *to, double seconds, int buffer_bytes, int *fd,
			struct error *err);

/* Sends all bytes within `seconds`. False: errno says why, ETIMEDOUT if time ran out. */
bool net_send(int fd, const void *bytes, size_t count, double seconds);

/*
 * The first address of an interface of this machine, IPv4 before IPv6; `interface` may be a numeric
 * address instead. STATUS_USAGE names the interfaces that there are. Link-local addresses do not
 * count: another machine would need the name of its own interface.
 */
enum status net_interface_address(const char *interface, struct net_address *out,
				  struct error *err);
/* "10.0.0.1:4242,[fd00::2]:4242,": those of this machine that others can reach. STATUS_INTERNAL. */
enum status net_list_addresses(int port, struct text *out, struct error *err);

/* Compares secrets: takes the same time wherever they differ. */
bool net_equal(const void *a, const void *b, size_t bytes);

#endif
