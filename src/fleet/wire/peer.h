/* Connections of agents with the conductor: reads and writes that never wait. */
#ifndef GPUPROOF_FLEET_WIRE_PEER_H
#define GPUPROOF_FLEET_WIRE_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "fleet/wire/message.h"
#include "net/greeter.h"

struct peer {
	int fd;
	struct text in, out;
	double since, heard; /* connected; last bytes */
	size_t node;         /* index; all ones until it has identified itself */
	bool closing;        /* closed by peers_sweep(), once `out` is sent */
	char from[GREETER_FROM];
};

struct peers {
	struct greeter *greeter; /* callers that have not shown the token yet */
	int poll;
	struct peer **items;
	size_t count, capacity;
};

#define PEERS_NONE          \
	{                   \
		.poll = -1, \
	}

/*
 * Listens on the address of `interface`, which may be a numeric address, alone ("": on all of them;
 * `loopback`: on 127.0.0.1, whatever the interface).
 * `addresses` (freed by the caller): where agents can call, "10.0.0.1:4242,127.0.0.1:4242".
 * STATUS_USAGE names the interfaces that there are.
 */
enum status peers_open(struct peers *peers, const char *interface, bool loopback, char **addresses,
		       struct error *err);
/*
 * The next caller: its connection, the caller's to close or to hand to peers_add(). -1: there is
 * none now.
 */
int peers_call(struct peers *peers, struct fleet_call *call, char from[GREETER_FROM]);
void peers_add(struct peers *peers, int fd, const char *from);
/*
 * Waits for at most `milliseconds`, also for signals and callers; sends what is waiting. Returns
 * how many of `ready` have something to read or have ended.
 */
size_t peers_wait(struct peers *peers, struct peer **ready, size_t most, int milliseconds);
/* Reads all that is there. False: the connection has ended. */
bool peer_receive(struct peer *peer);
void peer_send(struct peers *peers, struct peer *peer, const char *bytes, size_t count);
/* Closes those that are closing; pointers to them end here. */
void peers_sweep(struct peers *peers);
void peers_close(struct peers *peers);

#endif
