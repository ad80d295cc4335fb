/*
 * A listening port, and its callers until each has sent a hello of fixed size. Closes a caller that
 * is silent for GREETER_SECONDS, and the oldest one if GREETER_MOST wait or descriptors are used
 * up, so that strangers cannot block legitimate callers. Nothing is parsed here.
 */
#ifndef GPUPROOF_NET_GREETER_H
#define GPUPROOF_NET_GREETER_H

#include <stddef.h>

#include "base/error.h"

#define GREETER_SECONDS 5.0
#define GREETER_MOST 128
#define GREETER_HELLO_MOST 128 /* bytes */
#define GREETER_FROM 72        /* "10.0.0.1:4242": NET_TEXT_SIZE */

struct greeter;

/* Takes ownership of the listener (net_listen()), even on failure. */
enum status greeter_open(struct greeter **greeter, int listener, size_t hello_bytes,
			 struct error *err);
/* A descriptor to poll: readable when greeter_next() has work. */
int greeter_fd(const struct greeter *greeter);
/*
 * The next caller with a complete hello: its connection, non-blocking and without delay, for the
 * caller to close; data after the hello is unread. -1: none at present. Never waits. Call it at
 * least every second, because it enforces the deadlines.
 */
int greeter_next(struct greeter *greeter, void *hello, char from[GREETER_FROM]);
/* Number of callers closed without a hello since the last call. */
size_t greeter_closed(struct greeter *greeter);
/* Accepts NULL. */
void greeter_close(struct greeter *greeter);

#endif
