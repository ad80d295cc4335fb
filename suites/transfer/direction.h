/*
 * Directions of the transfer suite: which devices a case has and which copies run between them.
 *
 * Adding a direction: a value in the enum, a row in direction.c, its words in report/view/format.c
 * and its line in docs/nvbandwidth.md.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_DIRECTION_H
#define GPUPROOF_SUITES_TRANSFER_DIRECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

enum direction {
	H2D,
	D2H,
	BOTH,
	LOCAL,
	P2P,
	P2P_BOTH,
	P2P_READ,
	P2P_READ_BOTH,
	H2D_ALL,
	D2H_ALL,
	BOTH_ALL,
	HOST_TO_ALL,
	ALL_TO_HOST,
	HOST_TO_ALL_BOTH,
	ALL_TO_HOST_BOTH,
	ALL_TO_ONE_WRITE,
	ALL_TO_ONE_READ,
	ONE_TO_ALL_WRITE,
	ONE_TO_ALL_READ,
	LATENCY_HOST,
	LATENCY_P2P,
	LATENCY_LOCAL,
	P2P_PAIRS,
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
int route_peer(const struct route *route);

#endif
