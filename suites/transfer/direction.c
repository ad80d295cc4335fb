#include "suites/transfer/direction.h"

const char *const direction_names[] = {
	[H2D] = "h2d",
	[D2H] = "d2h",
	[BOTH] = "both",
	[LOCAL] = "local",
	[P2P] = "p2p",
	[P2P_BOTH] = "p2p_both",
	[P2P_READ] = "p2p_read",
	[P2P_READ_BOTH] = "p2p_read_both",
	[H2D_ALL] = "h2d_all",
	[D2H_ALL] = "d2h_all",
	[BOTH_ALL] = "both_all",
	[HOST_TO_ALL] = "host_to_all",
	[ALL_TO_HOST] = "all_to_host",
	[HOST_TO_ALL_BOTH] = "host_to_all_both",
	[ALL_TO_HOST_BOTH] = "all_to_host_both",
	[ALL_TO_ONE_WRITE] = "all_to_one_write",
	[ALL_TO_ONE_READ] = "all_to_one_read",
	[ONE_TO_ALL_WRITE] = "one_to_all_write",
	[ONE_TO_ALL_READ] = "one_to_all_read",
	[LATENCY_HOST] = "latency_host",
	[LATENCY_P2P] = "latency_p2p",
	[LATENCY_LOCAL] = "latency_local",
	[P2P_PAIRS] = "p2p_pairs",
	[DIRECTION_COUNT] = NULL,
};

/* placing, timing, host, peer */
static const struct direction_info infos[] = {
	[H2D] = { EACH_DEVICE, TIME_ONE, true, false },
	[D2H] = { EACH_DEVICE, TIME_ONE, true, false },
	[BOTH] = { EACH_DEVICE, TIME_IN_TURN, true, false },
	[LOCAL] = { EACH_DEVICE, TIME_ONE, false, false },
	[P2P] = { EACH_PAIR, TIME_ONE, false, true },
	[P2P_BOTH] = { EACH_TWO, TIME_IN_TURN, false, true },
	[P2P_READ] = { EACH_PAIR, TIME_ONE, false, true },
	[P2P_READ_BOTH] = { EACH_TWO, TIME_IN_TURN, false, true },
	[H2D_ALL] = { ALL_DEVICES, TIME_TOGETHER, true, false },
	[D2H_ALL] = { ALL_DEVICES, TIME_TOGETHER, true, false },
	[BOTH_ALL] = { ALL_DEVICES, TIME_TOGETHER, true, false },
	[HOST_TO_ALL] = { EACH_AMONG_ALL, TIME_FIRST, true, false },
	[ALL_TO_HOST] = { EACH_AMONG_ALL, TIME_FIRST, true, false },
	[HOST_TO_ALL_BOTH] = { EACH_AMONG_ALL, TIME_FIRST, true, false },
	[ALL_TO_HOST_BOTH] = { EACH_AMONG_ALL, TIME_FIRST, true, false },
	[ALL_TO_ONE_WRITE] = { EACH_AMONG_ALL, TIME_TOGETHER, false, true },
	[ALL_TO_ONE_READ] = { EACH_AMONG_ALL, TIME_TOGETHER, false, true },
	[ONE_TO_ALL_WRITE] = { EACH_AMONG_ALL, TIME_TOGETHER, false, true },
	[ONE_TO_ALL_READ] = { EACH_AMONG_ALL, TIME_TOGETHER, false, true },
	[LATENCY_HOST] = { EACH_DEVICE, TIME_CHASE, true, false },
	[LATENCY_P2P] = { EACH_PAIR, TIME_CHASE, false, true },
	[LATENCY_LOCAL] = { EACH_DEVICE, TIME_CHASE, false, false },
	[P2P_PAIRS] = { EACH_ROUND, TIME_PAIRS, false, true },
};

const struct direction_info *direction_info(enum direction direction)
{
	return &infos[direction];
}

/* Route of device `i` in a direction with one route per device; in the other directions i is 0. */
static struct route route_of(enum direction direction, int i)
{
	switch (direction) {
	case D2H:
	case D2H_ALL:
	case ALL_TO_HOST:
	case ALL_TO_HOST_BOTH:
		return (struct route){ i, ROUTE_HOST, i };
	case LOCAL:
	case LATENCY_LOCAL:
		return (struct route){ 0, 0, 0 };
	case P2P:
	case P2P_BOTH:
		return (struct route){ i, !i, i };
	case P2P_READ:
	case P2P_READ_BOTH:
	case LATENCY_P2P:
		return (struct route){ !i, i, i };
	case P2P_PAIRS:
		return (struct route){ 2 * i, 2 * i + 1, 2 * i };
	case ALL_TO_ONE_WRITE:
		return (struct route){ i, 0, i };
	case ALL_TO_ONE_READ:
		return (struct route){ 0, i, i };
	case ONE_TO_ALL_WRITE:
		return (struct route){ 0, i, 0 };
	case ONE_TO_ALL_READ:
		return (struct route){ i, 0, 0 };
	default:
		return (struct route){ ROUTE_HOST, i, i };
	}
}

bool direction_goes_back(enum direction direction)
{
	return direction == BOTH || direction == BOTH_ALL || direction == HOST_TO_ALL_BOTH ||
	       direction == ALL_TO_HOST_BOTH;
}

size_t direction_routes(enum direction direction, size_t devices, struct route *out)
{
	const struct direction_info *info = &infos[direction];
	int first = info->placing == EACH_AMONG_ALL && info->peer ? 1 : 0;
	int end = 1;
	size_t count = 0;

	if (info->placing == EACH_AMONG_ALL || info->placing == ALL_DEVICES)
		end = (int)devices;
	else if (info->placing == EACH_TWO)
		end = 2;
	else if (info->placing == EACH_ROUND)
		end = (int)devices / 2;
	for (int i = first; i < end; i++) {
		struct route route = route_of(direction, i);

		out[count++] = route;
		if (direction_goes_back(direction))
			out[count++] = (struct route){ route.to, route.from, route.issuer };
	}
	return count;
}

int route_peer(const struct route *route)
{
	int other = route->from == route->issuer ? route->to : route->from;

	return other == route->issuer || other == ROUTE_HOST ? -1 : other;
}
