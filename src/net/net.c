#include "net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define BACKLOG 4096

static socklen_t net_length(const struct net_address *a)
{
	return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

bool net_address_parse(struct net_address *out, const char *host, int port)
{
	*out = (struct net_address){ .any.sa_family = AF_INET };
	if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
		out->v4.sin_port = htons((uint16_t)port);
		return true;
	}
	out->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					 .sin6_port = htons((uint16_t)port) };
	return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
}

int net_address_port(const struct net_address *a)
{
	return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

void net_address_set_port(struct net_address *a, int port)
{
	*(a->any.sa_family == AF_INET6 ? &a->v6.sin6_port : &a->v4.sin_port) =
		htons((uint16_t)port);
}

const char *net_address_host(const struct net_address *a, char out[NET_HOST_SIZE])
{
	bool six = a->any.sa_family == AF_INET6, mapped;

	mapped = six && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr);
	snprintf(out, NET_HOST_SIZE, "?");
	if (mapped)
		inet_ntop(AF_INET, &a->v6.sin6_addr.s6_addr[12], out, NET_HOST_SIZE);
	else if (six)
		inet_ntop(AF_INET6, &a->v6.sin6_addr, out, NET_HOST_SIZE);
	else
		inet_ntop(AF_INET, &a->v4.sin_addr, out, NET_HOST_SIZE);
	return out;
}

const char *net_address_text(const struct net_address *a, char out[NET_TEXT_SIZE])
{
	char host[NET_HOST_SIZE];
	bool six = strchr(net_address_host(a, host), ':');

	snprintf(out, NET_TEXT_SIZE, "%s%s%s:%d", six ? "[" : "", host, six ? "]" : "",
		 net_address_port(a));
	return out;
}

void net_address_own(struct net_address *out, int fd)
{
	socklen_t length = sizeof(*out);

	*out = (struct net_address){ .any.sa_family = AF_INET };
	getsockname(fd, &out->any, &length);
}

/* A socket bound to the address, or to all addresses; an IPv6 socket accepts IPv4 as well. */
static int net_bind(const struct net_address *address)
{
	const struct net_address all[] = {
		{ .v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT } },
		{ .v4 = { .sin_family = AF_INET } },
	};
	const struct net_address *at = address ? address : all;
	int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0;
	bool bound =
		fd >= 0 &&
		(address || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
		bind(fd, &at->any, net_length(at)) == 0;

	if (bound || fd == -1)
		return bound || address ? fd : net_bind(&all[1]);
	close(fd);
	return address ? -1 : net_bind(&all[1]);
}

enum status net_listen(const struct net_address *address, int *fd, struct net_address *bound,
		       struct error *err)
{
	*fd = net_bind(address);
	if (*fd >= 0 && listen(*fd, BACKLOG) == 0) {
		net_address_own(bound, *fd);
		return STATUS_OK;
	}
	error_errno(err, "listening for connections");
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return err->status;
}

/* Waits until a pending connection is established or has failed. */
static enum status net_finish_connecting(int fd, double seconds, struct error *err)
{
	struct pollfd waiting = { .fd = fd, .events = POLLOUT };
	double limit = clock_seconds() + seconds, left = seconds;
	socklen_t length = sizeof(int);
	int failure = 0;

	while (poll(&waiting, 1, left > 0 ? (int)(1e3 * left) + 1 : 0) != 1) {
		left = limit - clock_seconds();
		if (left <= 0)
			return error_set(err, STATUS_TIMEOUT, "connect: no answer");
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length);
	return failure ? error_set(err, STATUS_IO, "connect: %s", strerror(failure)) : STATUS_OK;
}

enum status net_connect(const struct net_address *to, double seconds, int buffer_bytes, int *fd,
			struct error *err)
{
	int on = 1;
	enum status status = STATUS_OK;

	*fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return error_errno(err, "socket");
	setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (buffer_bytes) {
		setsockopt(*fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
		setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
	}
	if (connect(*fd, &to->any, net_length(to)) != 0)
		status = errno == EINPROGRESS ? net_finish_connecting(*fd, seconds, err)
					      : error_errno(err, "connect");
	if (status != STATUS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}

static bool net_transfer(int fd, char *at, size_t count, bool sends, double seconds)
{
	double limit = clock_seconds() + seconds;

	while (count > 0) {
		struct pollfd waiting = { .fd = fd, .events = sends ? POLLOUT : POLLIN };
		ssize_t n = sends ? send(fd, at, count, MSG_NOSIGNAL | MSG_DONTWAIT)
				  : recv(fd, at, count, MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			count -= (size_t)n;
			continue;
		}
		if (n == 0)
			errno = ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return false;
		if (clock_seconds() > limit) {
			errno = ETIMEDOUT;
			return false;
		}
		poll(&waiting, 1, 100);
	}
	return true;
}

bool net_send(int fd, const void *bytes, size_t count, double seconds)
{
	return net_transfer(fd, (char *)bytes, count, true, seconds);
}

bool net_receive(int fd, void *bytes, size_t count, double seconds)
{
	return net_transfer(fd, bytes, count, false, seconds);
}

/* False: not an IP address, or one that other machines cannot use. */
static bool net_take_interface(const struct ifaddrs *i, struct net_address *out)
{
	int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;

	if (family != AF_INET && family != AF_INET6)
		return false;
	*out = (struct net_address){ .any.sa_family = AF_INET };
	memcpy(out, i->ifa_addr, family == AF_INET6 ? sizeof(out->v6) : sizeof(out->v4));
	return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&out->v6.sin6_addr);
}

/* "eth0, lo": interfaces with an address; *out: the first of `interface`, IPv4 before IPv6. */
static bool net_find_interface(const struct ifaddrs *all, const char *interface,
			       struct net_address *out, struct text *known)
{
	struct net_address address;
	bool found = false;

	for (int family = AF_INET; family; family = family == AF_INET ? AF_INET6 : 0)
		for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
			if (!net_take_interface(i, &address) || address.any.sa_family != family)
				continue;
			if (!known->data || !strstr(known->data, i->ifa_name))
				text_addf(known, "%s%s", known->length ? ", " : "", i->ifa_name);
			if (found || strcmp(i->ifa_name, interface) != 0)
				continue;
			*out = address;
			found = true;
		}
	return found;
}

enum status net_interface_address(const char *interface, struct net_address *out, struct error *err)
{
	struct text known = TEXT_EMPTY;
	struct ifaddrs *all = NULL;

	if (net_address_parse(out, interface, 0))
		return STATUS_OK;
	if (getifaddrs(&all) != 0)
		return error_errno(err, "getifaddrs");
	if (!net_find_interface(all, interface, out, &known))
		error_set(err, STATUS_USAGE,
			  "interface %s does not exist or has no IPv4 or global IPv6 address; "
			  "interfaces: %s",
			  interface, known.length ? known.data : "none");
	freeifaddrs(all);
	text_release(&known);
	return err->status;
}

enum status net_list_addresses(int port, struct text *out, struct error *err)
{
	struct net_address address;
	struct ifaddrs *all = NULL;
	char host[NET_HOST_SIZE];

	if (getifaddrs(&all) != 0)
		return error_errno(err, "getifaddrs");
	for (int family = AF_INET; family; family = family == AF_INET ? AF_INET6 : 0)
		for (const struct ifaddrs *i = all; i; i = i->ifa_next)
			if (!(i->ifa_flags & IFF_LOOPBACK) && net_take_interface(i, &address) &&
			    address.any.sa_family == family)
				text_addf(out, family == AF_INET ? "%s:%d," : "[%s]:%d,",
					  net_address_host(&address, host), port);
	freeifaddrs(all);
	return STATUS_OK;
}

bool net_equal(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a, *y = b;
	unsigned char difference = 0;

	for (size_t i = 0; i < bytes; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}
