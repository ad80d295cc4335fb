#include "net/net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define BACKLOG 4096

enum status net_listen(struct in_addr address, int *fd, struct sockaddr_in *bound,
		       struct error *err)
{
	socklen_t length = sizeof(*bound);

	*bound = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address };
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 && bind(*fd, (struct sockaddr *)bound, length) == 0 &&
	    listen(*fd, BACKLOG) == 0 && getsockname(*fd, (struct sockaddr *)bound, &length) == 0)
		return STATUS_OK;
	error_errno(err, "listening for connections");
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return err->status;
}

/* Waits until a connection that has begun is there or has failed. */
static enum status finish_connecting(int fd, double seconds, struct error *err)
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

enum status net_connect(const struct sockaddr_in *to, double seconds, int buffer_bytes, int *fd,
			struct error *err)
{
	int on = 1;
	enum status status = STATUS_OK;

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return error_errno(err, "socket");
	setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (buffer_bytes) {
		setsockopt(*fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
		setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
	}
	if (connect(*fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		status = errno == EINPROGRESS ? finish_connecting(*fd, seconds, err)
					      : error_errno(err, "connect");
	if (status != STATUS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}

bool net_send(int fd, const void *bytes, size_t count, double seconds)
{
	double limit = clock_seconds() + seconds;
	const char *at = bytes;

	while (count > 0) {
		struct pollfd waiting = { .fd = fd, .events = POLLOUT };
		ssize_t n = send(fd, at, count, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			count -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (clock_seconds() > limit) {
			errno = ETIMEDOUT;
			return false;
		}
		poll(&waiting, 1, 100);
	}
	return true;
}

/* "eth0, lo": interfaces with an IPv4 address; *out: the first one of `interface`. */
static bool find_interface(const struct ifaddrs *all, const char *interface, struct in_addr *out,
			   struct text *known)
{
	bool found = false;

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		text_addf(known, "%s%s", known->length ? ", " : "", i->ifa_name);
		if (found || strcmp(i->ifa_name, interface) != 0)
			continue;
		*out = ((const struct sockaddr_in *)i->ifa_addr)->sin_addr;
		found = true;
	}
	return found;
}

enum status net_interface_address(const char *interface, struct in_addr *out, struct error *err)
{
	struct text known = TEXT_EMPTY;
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) != 0)
		return error_errno(err, "getifaddrs");
	if (!find_interface(all, interface, out, &known))
		error_set(err, STATUS_USAGE,
			  "there is no interface %s with an IPv4 address; there are: %s", interface,
			  known.length ? known.data : "none");
	freeifaddrs(all);
	text_release(&known);
	return err->status;
}

bool net_equal(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a, *y = b;
	unsigned char difference = 0;

	for (size_t i = 0; i < bytes; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}
