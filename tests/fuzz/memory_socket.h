/*
 * A connection in memory, for a target whose source file is part of it: calls to the kernel for
 * each input would leave little time for the input. Included after the system's headers and before
 * that file. One piece can be received; the clock is the target's.
 */
#ifndef GPUPROOF_TESTS_FUZZ_MEMORY_SOCKET_H
#define GPUPROOF_TESTS_FUZZ_MEMORY_SOCKET_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/net.h"

static struct {
	const uint8_t *bytes;
	size_t count;
	bool over;        /* the other side has closed */
	bool refuses;     /* what is sent */
	double now;       /* seconds */
	uint64_t checked; /* a sum of what was sent, so that each byte is looked at */
} memory_socket;

static inline ssize_t memory_receive(int fd, void *to, size_t most, int flags)
{
	size_t count = memory_socket.count < most ? memory_socket.count : most;

	(void)fd;
	(void)flags;
	if (!count) {
		errno = EAGAIN;
		return memory_socket.over ? 0 : -1;
	}
	memcpy(to, memory_socket.bytes, count);
	memory_socket.bytes += count;
	memory_socket.count -= count;
	return (ssize_t)count;
}

static inline ssize_t memory_send(int fd, const void *from, size_t count, int flags)
{
	(void)fd;
	(void)flags;
	if (memory_socket.refuses) {
		errno = EPIPE;
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		memory_socket.checked += ((const uint8_t *)from)[i];
	return (ssize_t)count;
}

static inline bool memory_send_all(int fd, const void *from, size_t count, double seconds)
{
	(void)seconds;
	return memory_send(fd, from, count, 0) >= 0;
}

static inline int memory_option(int fd, int level, int name, const void *value, socklen_t size)
{
	return fd < 0 || level < 0 || name < 0 || !value || !size ? -1 : 0;
}

static inline int memory_watch(int poll, int operation, int fd, struct epoll_event *event)
{
	(void)poll;
	return operation < 0 || fd < 0 || !event ? -1 : 0;
}

static inline int memory_close(int fd)
{
	return fd < 0 ? -1 : 0;
}

static inline double memory_seconds(void)
{
	return memory_socket.now;
}

#define recv memory_receive
#define send memory_send
#define net_send memory_send_all
#define setsockopt memory_option
#define epoll_ctl memory_watch
#define close memory_close
#define clock_seconds memory_seconds

#endif
