/*
 * A listening port and its callers until each has sent a hello of fixed size. A caller that is
 * silent for GREETER_SECONDS is closed, and the oldest one where GREETER_MOST wait or descriptors
 * are used up: strangers keep no room from callers that say who they are. Nothing is parsed here.
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

/* Takes the listener (net_listen()) over, also on failure. */
enum status greeter_open(struct greeter **greeter, int listener, size_t hello_bytes,
			 struct error *err);
/* A descriptor to wait for: readable when greeter_next() has something to do. */
int greeter_fd(const struct greeter *greeter);
/*
 * The next caller whose hello is whole: its connection, non-blocking, without delay and the
 * caller's to close; what follows the hello is unread. -1: there is none now. Never waits; call it
 * every second or more often, for it keeps the deadlines.
 */
int greeter_next(struct greeter *greeter, void *hello, char from[GREETER_FROM]);
/* Callers that were closed without a hello since the last call. */
size_t greeter_closed(struct greeter *greeter);
/* NULL is fine. */
void greeter_close(struct greeter *greeter);

#endif
