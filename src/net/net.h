/* Sockets shared by several rooms, and comparison of secrets. */
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

/* Parses a numeric host, IPv4 or IPv6, without brackets. False: invalid. */
bool net_address_parse(struct net_address *out, const char *host, int port);
int net_address_port(const struct net_address *address);
void net_address_set_port(struct net_address *address, int port);
/* Both write into `out` and return it. IPv4-mapped IPv6 addresses are written as IPv4. */
const char *net_address_host(const struct net_address *address, char out[NET_HOST_SIZE]);
const char *net_address_text(const struct net_address *address, char out[NET_TEXT_SIZE]);
/* Local address of a connection. */
void net_address_own(struct net_address *out, int fd);

/*
 * Listens on a free port of this address (NULL: of all, including IPv6 if available). `*fd` (-1 on
 * failure) is non-blocking and closed by the caller; `*bound` is the address and port. STATUS_IO.
 */
enum status net_listen(const struct net_address *address, int *fd, struct net_address *bound,
		       struct error *err);

/*
 * Connects within `seconds`. `*fd` (-1 on failure) is non-blocking, without delay (TCP_NODELAY),
 * and closed by the caller. `buffer_bytes`: size of the socket's send and receive buffers; 0: the
 * system's default. STATUS_TIMEOUT, STATUS_IO, STATUS_INTERNAL.
 */
enum status net_connect(const struct net_address *to, double seconds, int buffer_bytes, int *fd,
			struct error *err);

/*
 * Send or receive all bytes within `seconds`. False: see errno, ETIMEDOUT after the timeout,
 * ECONNRESET if the peer has closed the connection.
 */
bool net_send(int fd, const void *bytes, size_t count, double seconds);
bool net_receive(int fd, void *bytes, size_t count, double seconds);

/*
 * First address of an interface of this machine, IPv4 before IPv6; `interface` may be a numeric
 * address instead. STATUS_USAGE names the existing interfaces. Ignores link-local addresses,
 * because another machine would need the name of its own interface.
 */
enum status net_interface_address(const char *interface, struct net_address *out,
				  struct error *err);
/*
 * Writes "10.0.0.1:4242,[fd00::2]:4242,": the addresses at which others can reach this machine.
 * STATUS_INTERNAL.
 */
enum status net_list_addresses(int port, struct text *out, struct error *err);

/* Compares secrets in constant time. */
bool net_equal(const void *a, const void *b, size_t bytes);

#endif
