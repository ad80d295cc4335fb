/* Non-blocking connections between conductor and agents. */
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
	double since, heard; /* times of the connection and of the last bytes received */
	size_t node;         /* node index; all ones until it has identified itself */
	bool closing;        /* peers_sweep() closes it after `out` is sent */
	char from[GREETER_FROM];
};

struct peers {
	struct greeter *greeter; /* callers that have not sent the token yet */
	int poll;
	struct peer **items;
	size_t count, capacity;
};

#define PEERS_NONE          \
	{                   \
		.poll = -1, \
	}

/*
 * Listens on the address of `interface`, an interface name or numeric address ("": on all of them;
 * `loopback`: on 127.0.0.1 whatever the interface). `addresses`, which the caller frees, lists
 * where agents can connect: "10.0.0.1:4242,127.0.0.1:4242". STATUS_USAGE names the existing
 * interfaces.
 */
enum status peers_open(struct peers *peers, const char *interface, bool loopback, char **addresses,
		       struct error *err);
/* The connection of the next caller, to close or to pass to peers_add(). -1: none at present. */
int peers_call(struct peers *peers, struct fleet_call *call, char from[GREETER_FROM]);
void peers_add(struct peers *peers, int fd, const char *from);
/*
 * Waits at most `milliseconds`, also for signals and callers, and sends pending output. Returns the
 * number of `ready` peers that have input or have ended.
 */
size_t peers_wait(struct peers *peers, struct peer **ready, size_t most, int milliseconds);
/* Reads all pending input. False: the connection has ended. */
bool peer_receive(struct peer *peer);
void peer_send(struct peers *peers, struct peer *peer, const char *bytes, size_t count);
/* Closes the connections marked as closing; pointers to them become invalid. */
void peers_sweep(struct peers *peers);
void peers_close(struct peers *peers);

#endif
