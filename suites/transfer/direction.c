#include "suites/transfer/direction.h"

const char *const direction_names[] = {
#define X(symbol, name, placing, timing, host, peer) name,
	DIRECTIONS(X)
#undef X
		NULL
};

static const struct direction_info infos[] = {
#define X(symbol, name, placing, timing, host, peer) { placing, timing, host, peer },
	DIRECTIONS(X)
#undef X
};

const struct direction_info *direction_info(enum direction direction)
{
	return &infos[direction];
}

/* Route of device `i` in a direction with one route per device; in the other directions i is 0. */
static struct route transfer_direction_route_of(enum direction direction, int i)
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
		struct route route = transfer_direction_route_of(direction, i);

		out[count++] = route;
		if (direction_goes_back(direction))
			out[count++] = (struct route){ route.to, route.from, route.issuer };
	}
	return count;
}

int transfer_direction_route_peer(const struct route *route)
{
	int other = route->from == route->issuer ? route->to : route->from;

	return other == route->issuer || other == ROUTE_HOST ? -1 : other;
}
