#include "measure/processes/world_wire.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "net/net.h"

bool notice_set(_Atomic int *flag, struct error *to, const struct error *said)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(flag, &none, -1))
		return false;
	*to = *said;
	atomic_store(flag, 1);
	return true;
}

bool notice_read(const _Atomic int *flag, const struct error *from, struct error *said)
{
	if (atomic_load(flag) <= 0)
		return false;
	*said = *from;
	return true;
}

void wire_prepare(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 }, { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, 30000 },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

struct frame wire_order(struct frame frame)
{
	return (struct frame){ htole32(frame.kind), (int32_t)htole32((uint32_t)frame.operation),
			       (int32_t)htole32((uint32_t)frame.root), htole32(frame.bytes) };
}

struct frame wire_error(enum frame_kind kind, const struct error *said)
{
	return (struct frame){ .kind = kind,
			       .operation = said->status,
			       .root = said->rank,
			       .bytes = (uint32_t)strnlen(said->message,
							  sizeof(said->message) - 1) };
}

bool wire_send_frame(int fd, const struct frame *frame, const void *data, double seconds)
{
	unsigned char bytes[sizeof(*frame) + WORLD_MAX_BYTES];
	struct frame ordered = wire_order(*frame);

	memcpy(bytes, &ordered, sizeof(ordered));
	if (data)
		memcpy(bytes + sizeof(ordered), data, frame->bytes);
	else
		memset(bytes + sizeof(ordered), 0, frame->bytes);
	return net_send(fd, bytes, sizeof(ordered) + frame->bytes, seconds);
}
