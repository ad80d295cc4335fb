/* Callers of a port: silent ones keep no room, and only the hello is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/backend.h"
#include "device/ranks/tcp_mesh.h"
#include "net/greeter.h"
#include "net/net.h"

#define HELLO 16

struct port {
	struct greeter *greeter;
	struct net_address bound;
};

static struct net_address address_of(const char *host)
{
	struct net_address address;

	assert_true(net_address_parse(&address, host, 0));
	return address;
}

static void open_port(struct port *p)
{
	struct net_address loopback = address_of("127.0.0.1");
	struct error err = ERROR_NONE;
	int listener;

	assert_int_equal(net_listen(&loopback, &listener, &p->bound, &err), STATUS_OK);
	assert_int_equal(p->bound.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(greeter_open(&p->greeter, listener, HELLO, &err), STATUS_OK);
}

static int call(const struct net_address *to)
{
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &to->any,
				 to->any.sa_family == AF_INET ? sizeof(to->v4) : sizeof(to->v6)),
			 0);
	return fd;
}

static void say(int fd, const char *bytes, size_t count)
{
	assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), count);
}

/* Waits for the next caller; -1: there is none within `milliseconds`. */
static int await(struct port *p, char hello[HELLO], int milliseconds)
{
	struct pollfd fds = { .fd = greeter_fd(p->greeter), .events = POLLIN };
	char from[GREETER_FROM];
	int fd;

	while ((fd = greeter_next(p->greeter, hello, from)) < 0)
		if (poll(&fds, 1, milliseconds) <= 0)
			return -1;
	assert_int_equal(strncmp(from, "127.0.0.1:", 10), 0);
	return fd;
}

static void a_hello_comes_in_parts(void **state)
{
	char hello[HELLO], rest[8];
	struct port p;
	int caller, fd;

	(void)state;
	open_port(&p);
	caller = call(&p.bound);
	say(caller, "01234", 5);
	assert_int_equal(await(&p, hello, 50), -1);
	say(caller, "56789abcdefrest", 15);
	fd = await(&p, hello, 10000);
	assert_true(fd >= 0);
	assert_memory_equal(hello, "0123456789abcdef", HELLO);
	/* Bytes after the hello stay unread. */
	assert_int_equal(recv(fd, rest, sizeof(rest), 0), 4);
	assert_memory_equal(rest, "rest", 4);
	assert_int_equal(greeter_closed(p.greeter), 0);
	close(fd);
	close(caller);
	greeter_close(p.greeter);
}

/* More silent callers than there is room for: the oldest are closed. */
static void strangers_keep_no_room(void **state)
{
	int strangers[3 * GREETER_MOST], caller, fd;
	char hello[HELLO], byte;
	struct port p;

	(void)state;
	open_port(&p);
	for (size_t i = 0; i < 3 * GREETER_MOST; i++) {
		strangers[i] = call(&p.bound);
		if (i % 50 == 0)
			await(&p, hello, 0);
	}
	caller = call(&p.bound);
	say(caller, "0123456789abcdef", HELLO);
	fd = await(&p, hello, 10000);
	assert_true(fd >= 0);
	assert_true(greeter_closed(p.greeter) >= 2 * GREETER_MOST);
	assert_int_equal(recv(strangers[0], &byte, 1, 0), 0);
	close(fd);
	close(caller);
	for (size_t i = 0; i < 3 * GREETER_MOST; i++)
		close(strangers[i]);
	greeter_close(p.greeter);
}

/* Callers that have said hello before a flood of silent ones are all handed over. */
static void a_flood_closes_none_that_has_said_hello(void **state)
{
	int strangers[2 * GREETER_MOST], callers[3], fd;
	char hello[HELLO];
	struct port p;

	(void)state;
	open_port(&p);
	for (size_t i = 0; i < 3; i++) {
		callers[i] = call(&p.bound);
		say(callers[i], "0123456789abcdef", HELLO);
	}
	for (size_t i = 0; i < 2 * GREETER_MOST; i++)
		strangers[i] = call(&p.bound);
	for (size_t i = 0; i < 3; i++) {
		fd = await(&p, hello, 10000);
		assert_true(fd >= 0);
		close(fd);
		close(callers[i]);
	}
	for (size_t i = 0; i < 2 * GREETER_MOST; i++)
		close(strangers[i]);
	greeter_close(p.greeter);
}

/* Silent callers that fill the room are closed for a new caller only, not before. */
static void a_full_room_closes_none_by_itself(void **state)
{
	int strangers[GREETER_MOST];
	char hello[HELLO];
	struct port p;

	(void)state;
	open_port(&p);
	for (size_t i = 0; i < GREETER_MOST; i++)
		strangers[i] = call(&p.bound);
	for (int turn = 0; turn < 5; turn++)
		assert_int_equal(await(&p, hello, 10), -1);
	assert_int_equal(greeter_closed(p.greeter), 0);
	for (size_t i = 0; i < GREETER_MOST; i++)
		close(strangers[i]);
	greeter_close(p.greeter);
}

/* Callers from another process use up this one's descriptors. */
static void descriptors_run_out(void **state)
{
	const struct rlimit few = { 40, 40 };
	char hello[HELLO];
	struct port p;
	pid_t child;
	int status;

	(void)state;
	open_port(&p);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 100; i++)
			call(&p.bound);
		say(call(&p.bound), "0123456789abcdef", HELLO);
		pause();
	}
	if (fork() == 0) {
		if (setrlimit(RLIMIT_NOFILE, &few) != 0)
			_exit(2);
		_exit(await(&p, hello, 10000) >= 0 ? 0 : 1);
	}
	wait(&status);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	greeter_close(p.greeter);
}

/* Silent callers of a communicator cost its ranks no time of their own. */
static void a_mesh_opens_among_strangers(void **state)
{
	struct communicator_id id;
	struct error err = ERROR_NONE;
	struct net_address address;
	int strangers[20], peers[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(tcp_mesh_id(&id, &err), STATUS_OK);
	memcpy(&address, &id, sizeof(address)); /* its first member */
	for (size_t i = 0; i < 20; i++)
		strangers[i] = call(&address);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(tcp_mesh_open(&id, 1, 2, 30, peers, &err) != STATUS_OK);
	/* One after the other they would take 20 times GREETER_SECONDS. */
	assert_int_equal(tcp_mesh_open(&id, 0, 2, 30, peers, &err), STATUS_OK);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	tcp_mesh_close(peers, 2);
	for (size_t i = 0; i < 20; i++)
		close(strangers[i]);
}

static void an_interface_is_named(void **state)
{
	struct error err = ERROR_NONE;
	struct net_address address;

	(void)state;
	assert_int_equal(net_interface_address("lo", &address, &err), STATUS_OK);
	assert_int_equal(ntohl(address.v4.sin_addr.s_addr) >> 24, 127);
	assert_int_equal(net_interface_address("fd00::7", &address, &err), STATUS_OK);
	assert_int_equal(address.any.sa_family, AF_INET6);
	assert_int_equal(net_interface_address("nowhere0", &address, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "nowhere0"));
	assert_non_null(strstr(err.message, "lo"));
}

/* A free port refuses at once; a stopped reader holds a sender no longer than it asked. */
static void connecting_and_sending_end(void **state)
{
	static const char block[1 << 20];
	struct net_address loopback = address_of("127.0.0.1"), bound;
	struct error err = ERROR_NONE;
	int listener, fd;
	bool whole = true;

	(void)state;
	assert_int_equal(net_listen(&loopback, &listener, &bound, &err), STATUS_OK);
	assert_int_equal(net_connect(&bound, 5, 4096, &fd, &err), STATUS_OK);
	for (int i = 0; i < 64 && whole; i++)
		whole = net_send(fd, block, sizeof(block), 0.01);
	assert_false(whole);
	assert_int_equal(errno, ETIMEDOUT);
	close(fd);
	close(listener);
	assert_int_equal(net_connect(&bound, 5, 0, &fd, &err), STATUS_IO);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.message, "Connection refused"));
}

static void addresses_are_read_and_written(void **state)
{
	static const char *const invalid[] = { "",      "10.0.0", "10.0.0.1:1",
					       "[::1]", "::g",    "fe80::1%lo" };
	char host[NET_HOST_SIZE], text[NET_TEXT_SIZE];
	struct net_address a;

	(void)state;
	assert_true(net_address_parse(&a, "10.0.0.1", 4242));
	assert_string_equal(net_address_text(&a, text), "10.0.0.1:4242");
	assert_true(net_address_parse(&a, "fd00::2", 4242));
	assert_string_equal(net_address_host(&a, host), "fd00::2");
	assert_string_equal(net_address_text(&a, text), "[fd00::2]:4242");
	assert_true(net_address_parse(&a, "::ffff:10.0.0.1", 1));
	assert_string_equal(net_address_text(&a, text), "10.0.0.1:1");
	net_address_set_port(&a, 65535);
	assert_int_equal(net_address_port(&a), 65535);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
		assert_false(net_address_parse(&a, invalid[i], 1));
}

/* A machine may have no IPv6: false, with the reason printed. */
static bool has_ipv6(void)
{
	struct net_address loopback = address_of("::1"), bound;
	struct error err = ERROR_NONE;
	int fd;

	if (net_listen(&loopback, &fd, &bound, &err) != STATUS_OK) {
		print_message("skipped: no IPv6 here: %s\n", err.message);
		return false;
	}
	close(fd);
	return true;
}

/* It listens there alone, and a caller is named with brackets. */
static void an_ipv6_port_has_callers(void **state)
{
	struct net_address loopback = address_of("::1"), bound, other;
	char from[GREETER_FROM], hello[HELLO];
	struct error err = ERROR_NONE;
	struct greeter *greeter;
	int listener, fd, caller;

	(void)state;
	if (!has_ipv6())
		skip();
	assert_int_equal(net_listen(&loopback, &listener, &bound, &err), STATUS_OK);
	assert_memory_equal(&bound.v6.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
	other = address_of("127.0.0.1");
	net_address_set_port(&other, net_address_port(&bound));
	assert_int_equal(net_connect(&other, 5, 0, &fd, &err), STATUS_IO);
	error_clear(&err);
	assert_int_equal(greeter_open(&greeter, listener, HELLO, &err), STATUS_OK);
	caller = call(&bound);
	say(caller, "0123456789abcdef", HELLO);
	while ((fd = greeter_next(greeter, hello, from)) < 0)
		;
	assert_int_equal(strncmp(from, "[::1]:", 6), 0);
	close(fd);
	close(caller);
	greeter_close(greeter);
}

/* Without an address, callers of both kinds reach it. */
static void all_addresses_are_of_both_kinds(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	struct error err = ERROR_NONE;
	struct net_address bound, to;
	int listener, fd;

	(void)state;
	if (!has_ipv6())
		skip();
	assert_int_equal(net_listen(NULL, &listener, &bound, &err), STATUS_OK);
	for (size_t i = 0; i < 2; i++) {
		assert_true(net_address_parse(&to, hosts[i], net_address_port(&bound)));
		assert_int_equal(net_connect(&to, 5, 0, &fd, &err), STATUS_OK);
		close(fd);
	}
	close(listener);
}

static void a_mesh_opens_over_ipv6(void **state)
{
	struct communicator_id id;
	struct error err = ERROR_NONE;
	struct net_address address;
	int peers[3], status;
	pid_t children[2];

	(void)state;
	if (!has_ipv6())
		skip();
	tcp_mesh_host("::1");
	assert_int_equal(tcp_mesh_id(&id, &err), STATUS_OK);
	memcpy(&address, &id, sizeof(address)); /* its first member */
	assert_memory_equal(&address.v6.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
	for (int rank = 1; rank < 3; rank++) {
		children[rank - 1] = fork();
		assert_true(children[rank - 1] >= 0);
		if (children[rank - 1] == 0)
			_exit(tcp_mesh_open(&id, rank, 3, 30, peers, &err) != STATUS_OK);
	}
	assert_int_equal(tcp_mesh_open(&id, 0, 3, 30, peers, &err), STATUS_OK);
	for (int i = 0; i < 2; i++) {
		waitpid(children[i], &status, 0);
		assert_int_equal(status, 0);
	}
	tcp_mesh_close(peers, 3);
	tcp_mesh_host("");
}

static void secrets_are_compared(void **state)
{
	(void)state;
	assert_true(net_equal("abc", "abc", 3));
	assert_false(net_equal("abc", "abd", 3));
	assert_false(net_equal("abc", "xbc", 3));
	assert_true(net_equal("", "", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_comes_in_parts),
		cmocka_unit_test(strangers_keep_no_room),
		cmocka_unit_test(a_flood_closes_none_that_has_said_hello),
		cmocka_unit_test(a_full_room_closes_none_by_itself),
		cmocka_unit_test(descriptors_run_out),
		cmocka_unit_test(a_mesh_opens_among_strangers),
		cmocka_unit_test(an_interface_is_named),
		cmocka_unit_test(connecting_and_sending_end),
		cmocka_unit_test(addresses_are_read_and_written),
		cmocka_unit_test(an_ipv6_port_has_callers),
		cmocka_unit_test(all_addresses_are_of_both_kinds),
		cmocka_unit_test(a_mesh_opens_over_ipv6),
		cmocka_unit_test(secrets_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
