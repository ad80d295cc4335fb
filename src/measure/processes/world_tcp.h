/*
 * A world over TCP, for ranks on several nodes. The process that has rank 0 carries a hub in a
 * thread, to which all ranks connect, its own too: an exchange is one message from each rank and
 * the messages of all to each. So a world costs one connection a rank, and an exchange two hops.
 *
 * A rank identifies itself by the world's token, 256 random bits, which must reach it by a way that
 * others cannot read (the environment, never the command line). No wait is without an end: a rank
 * that does not connect, closes its connection or stays away from an exchange ends the world, and
 * every other rank is told which one it was. A machine that dies without a word is noticed by TCP's
 * keep-alive.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_TCP_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_TCP_H

#include "measure/processes/world.h"
#include "net/net.h"

#define WORLD_TOKEN_BYTES 32

struct world_tcp_options {
	const char *interface; /* to listen on ("eth0"); NULL: loopback, ranks of this node only */
	const char *host;    /* numeric address to listen on, instead of `interface`; NULL: none */
	double join_seconds; /* in which all ranks must have connected; 0: 30 */
	double silent_seconds; /* that a rank may be missing where others wait for it; 0: 600 */
};

/* Connection data for the ranks of other nodes; the token is secret. */
struct world_tcp_address {
	char host[NET_HOST_SIZE]; /* numeric */
	int port;
	uint64_t id;
	unsigned char token[WORLD_TOKEN_BYTES];
};

/*
 * The node of rank 0, before fork(), as world_create(): listens. STATUS_USAGE names the interfaces
 * there are when options->interface is none of them. Fills `address` (NULL: not needed).
 */
enum status world_tcp_create(struct world *world, int size, const struct world_tcp_options *options,
			     struct world_tcp_address *address, struct error *err);
/*
 * The other nodes, before fork(): nothing is connected yet. Each rank connects by its first call.
 */
enum status world_tcp_attach(struct world *world, int size, const struct world_tcp_options *options,
			     const struct world_tcp_address *address, struct error *err);

#endif
