/*
 * Directions of the transfer suite: which devices a case has and which copies run between them.
 * Adding a direction: a row in DIRECTIONS, its routes in direction.c, its words in
 * suites/transfer.c and its line in docs/nvbandwidth.md.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_DIRECTION_H
#define GPUPROOF_SUITES_TRANSFER_DIRECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

/*
 * DIRECTIONS(X): X(symbol, name, placing, timing, uses host memory, uses memory of other devices)
 */
#define DIRECTIONS(X)                                                                       \
	X(H2D, "h2d", EACH_DEVICE, TIME_ONE, true, false)                                   \
	X(D2H, "d2h", EACH_DEVICE, TIME_ONE, true, false)                                   \
	X(BOTH, "both", EACH_DEVICE, TIME_IN_TURN, true, false)                             \
	X(LOCAL, "local", EACH_DEVICE, TIME_ONE, false, false)                              \
	X(P2P, "p2p", EACH_PAIR, TIME_ONE, false, true)                                     \
	X(P2P_BOTH, "p2p_both", EACH_TWO, TIME_IN_TURN, false, true)                        \
	X(P2P_READ, "p2p_read", EACH_PAIR, TIME_ONE, false, true)                           \
	X(P2P_READ_BOTH, "p2p_read_both", EACH_TWO, TIME_IN_TURN, false, true)              \
	X(H2D_ALL, "h2d_all", ALL_DEVICES, TIME_TOGETHER, true, false)                      \
	X(D2H_ALL, "d2h_all", ALL_DEVICES, TIME_TOGETHER, true, false)                      \
	X(BOTH_ALL, "both_all", ALL_DEVICES, TIME_TOGETHER, true, false)                    \
	X(HOST_TO_ALL, "host_to_all", EACH_AMONG_ALL, TIME_FIRST, true, false)              \
	X(ALL_TO_HOST, "all_to_host", EACH_AMONG_ALL, TIME_FIRST, true, false)              \
	X(HOST_TO_ALL_BOTH, "host_to_all_both", EACH_AMONG_ALL, TIME_FIRST, true, false)    \
	X(ALL_TO_HOST_BOTH, "all_to_host_both", EACH_AMONG_ALL, TIME_FIRST, true, false)    \
	X(ALL_TO_ONE_WRITE, "all_to_one_write", EACH_AMONG_ALL, TIME_TOGETHER, false, true) \
	X(ALL_TO_ONE_READ, "all_to_one_read", EACH_AMONG_ALL, TIME_TOGETHER, false, true)   \
	X(ONE_TO_ALL_WRITE, "one_to_all_write", EACH_AMONG_ALL, TIME_TOGETHER, false, true) \
	X(ONE_TO_ALL_READ, "one_to_all_read", EACH_AMONG_ALL, TIME_TOGETHER, false, true)   \
	X(LATENCY_HOST, "latency_host", EACH_DEVICE, TIME_CHASE, true, false)               \
	X(LATENCY_P2P, "latency_p2p", EACH_PAIR, TIME_CHASE, false, true)                   \
	X(LATENCY_LOCAL, "latency_local", EACH_DEVICE, TIME_CHASE, false, false)            \
	X(P2P_PAIRS, "p2p_pairs", EACH_ROUND, TIME_PAIRS, false, true)

enum direction {
#define X(symbol, name, placing, timing, host, peer) symbol,
	DIRECTIONS(X)
#undef X
		DIRECTION_COUNT
};

/* Names by value, NULL-terminated. */
extern const char *const direction_names[];

/* Devices of a case, with the measured one first. */
enum placing {
	EACH_DEVICE,
	EACH_PAIR,      /* ordered */
	EACH_TWO,       /* unordered pairs */
	ALL_DEVICES,    /* one case */
	EACH_AMONG_ALL, /* one case per device, followed by the others */
	EACH_ROUND /* all devices in pairs, pair after pair; each two meet in one of the cases */
};

enum timing_kind {
	TIME_ONE,     /* a single route */
	TIME_IN_TURN, /* each of two routes while the other one is busy; the headline is the sum */
	TIME_FIRST,   /* the first route while the others are busy */
	/* all routes start together; the headline is all bytes until the last one ends */
	TIME_TOGETHER,
	TIME_PAIRS, /* the first route alone, then all together */
	TIME_CHASE  /* no copy: dependent loads */
};

struct direction_info {
	enum placing placing;
	enum timing_kind timing;
	bool host; /* uses host memory */
	bool peer; /* uses memory of other devices */
};

const struct direction_info *direction_info(enum direction direction);

#define ROUTE_HOST (-1)

/* One stream of copies; numbers are positions in the case's list of devices. */
struct route {
	int from, to; /* ROUTE_HOST: host memory near the other end's device */
	int issuer;   /* owner of the stream, and of the copy engine or cores */
};

/*
 * The routes of a case on `devices` devices, the timed one first; returns their number, at most two
 * per device.
 */
#define ROUTES_MOST(devices) (2 * (devices))
size_t direction_routes(enum direction direction, size_t devices, struct route *out);

/* True if each route is followed by its reverse, with the same issuer. */
bool direction_goes_back(enum direction direction);

/* The device at the route's end that is not the issuer's; -1: none. */
int transfer_direction_route_peer(const struct route *route);

#endif
