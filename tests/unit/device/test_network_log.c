/* NCCL's choice of network, read from lines of its log as several releases print them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/ranks/network_log.h"

static void expect(const char *log, const char *choice)
{
	char *found = network_log_choice_text(log, strlen(log)).text;

	if (choice)
		assert_string_equal(found, choice);
	else
		assert_null(found);
	free(found);
}

static void release_2_4(void **state)
{
	(void)state;
	expect("node1:20:289 [0] NCCL INFO NET/Socket : Using [0]ib0:192.168.11.1<0>\n"
	       "node1:20:289 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so).\n"
	       "node1:20:289 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB "
	       "ib0:192.168.11.1<0>\n"
	       "NCCL version 2.4.7+cuda10.0\n"
	       "node1:20:313 [0] NCCL INFO Ring 00 : 7 -> 0 [receive] via NET/IB/0\n"
	       "node1:20:313 [0] NCCL INFO Ring 00 : 0 -> 1 [send] via NET/IB/0\n",
	       "NET/IB over mlx5_0:1/IB, no GPUDirect RDMA");
}

/* How often GPUDirect RDMA is used, of how many connections to other nodes. */
static void connections_are_counted(void **state)
{
	static const char log[] =
		"n1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
		"n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n"
		"n1:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1\n"
		"n1:1:2 [0] NCCL INFO Channel 02/0 : 0[0] -> 2[2] via P2P/CUMEM\n";
	struct network_choice found = network_log_choice_text(log, strlen(log));

	(void)state;
	assert_int_equal(found.all, 3);
	assert_int_equal(found.direct, 2);
	free(found.text);
	found = network_log_choice_text("", 0);
	assert_int_equal(found.all + found.direct, 0);
	assert_null(found.text);
}

static void release_2_8(void **state)
{
	(void)state;
	expect("node1:32729:33061 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB "
	       "ib0:10.0.0.1<0>\n"
	       "node1:32729:33061 [3] NCCL INFO Using network IB\n"
	       "node1:32726:33054 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 18000 / HCA 0 "
	       "(distance 5 > 4)\n"
	       "node1:32726:33054 [0] NCCL INFO Channel 00 : 1[18000] -> 0[3b000] [receive] via "
	       "NET/IB/0\n",
	       "NET/IB over mlx5_0:1/IB, no GPUDirect RDMA: distance 5 > 4 of GPU and adapter");
}

static void release_2_19(void **state)
{
	(void)state;
	expect("n4:460770:460770 [0] NCCL INFO Bootstrap : Using enp220s0np0:11.1.128.136<0>\n"
	       "n4:460770:460770 [0] NCCL INFO cudaDriverVersion 12000\n"
	       "NCCL version 2.19.3+cuda12.3\n"
	       "n4:460770:460842 [0] NCCL INFO NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/RoCE "
	       "[RO]; OOB enp220s0np0:11.1.128.136<0>\n"
	       "n4:460770:460842 [0] NCCL INFO Using non-device net plugin version 0\n"
	       "n4:460770:460842 [0] NCCL INFO Using network IB\n"
	       "n4:460770:460842 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via "
	       "NET/IB/0/GDRDMA\n"
	       "n4:460770:460842 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via "
	       "NET/IB/1/GDRDMA\n",
	       "NET/IB over mlx5_10:1/RoCE, mlx5_11:1/RoCE, GPUDirect RDMA");
}

static void a_plugin_with_rails(void **state)
{
	(void)state;
	expect("w0:5664:5734 [1] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP "
	       "[1]mlx5_1:1/IB/SHARP [RO]; OOB eth0:172.24.180.73<0>\n"
	       "w0:5664:5734 [1] NCCL INFO Using network IBext_v8\n"
	       "w0:5664:5734 [1] NCCL INFO Channel 00/0 : 1[1] -> 9[1] [send] via "
	       "NET/IBext_v8/1(0)/GDRDMA/Shared\n"
	       "w0:5664:5734 [1] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [send] via "
	       "NET/IBext_v8/0\n",
	       "NET/IBext_v8 over mlx5_0:1/IB/SHARP, mlx5_1:1/IB/SHARP, GPUDirect RDMA in some "
	       "connections");
	expect("w0:1:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 9[1] [send] via "
	       "NET/AWS Libfabric/3/GDRDMA\n",
	       "NET/AWS Libfabric over unknown adapters, GPUDirect RDMA");
}

static void release_2_28_without_an_adapter(void **state)
{
	(void)state;
	expect("h:1:7 [0] NCCL INFO NET/IB : No device found.\n"
	       "h:1:7 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0> [1]eth0:10.0.0.7<0>\n"
	       "h:1:7 [0] NCCL INFO Initialized NET plugin Socket\n"
	       "h:1:7 [0] NCCL INFO Assigned NET plugin Socket to comm\n"
	       "h:1:7 [0] NCCL INFO Using network Socket\n"
	       "h:1:7 [0] NCCL INFO NET/Socket : GPU Direct RDMA Disabled for HCA 0 'lo'\n"
	       "h:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n",
	       "NET/Socket over lo, eth0, no GPUDirect RDMA");
	expect("h:1:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
	       "p0:10.10.10.10<0>\n"
	       "h:1:7 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
	       "h:1:7 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'\n"
	       "h:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0\n",
	       "NET/IB over mlx5_0:1/RoCE, mlx5_1:1/RoCE, no GPUDirect RDMA: the adapters' driver "
	       "does not support it");
}

static void nothing_over_the_network(void **state)
{
	(void)state;
	expect("", NULL);
	expect("h:1:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.1<0>\n"
	       "h:1:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
	       NULL);
	expect("h:1:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL\n",
	       "NVLink between nodes");
	expect("h:1:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/", NULL);
}

static void damaged_lines(void **state)
{
	const char log[] = "NCCL INFO NET/IB : Using [0\nNCCL INFO NET/IB : Using [0]\n"
			   "NCCL INFO NET/Socket : Using [0] ;\nNCCL INFO Channel via NET/\n"
			   "NCCL INFO GPU Direct RDMA Disabled for (\n";

	(void)state;
	for (size_t length = 0; length < sizeof(log); length++)
		free(network_log_choice_text(log, length).text);
}

/* NCCL opens the file that the variable names, and writes into it. */
static void the_log_of_this_process(void **state)
{
	FILE *f;
	char *choice;

	(void)state;
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
	unsetenv("NCCL_DEBUG_SUBSYS");
	network_log_open();
	assert_null(network_log_choice().text);
	assert_string_equal(getenv("NCCL_DEBUG"), "INFO");
	f = fopen(getenv("NCCL_DEBUG_FILE"), "w");
	assert_non_null(f);
	fprintf(f, "h:1:7 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>\n"
		   "h:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n");
	fflush(f);
	choice = network_log_choice().text;
	assert_string_equal(choice, "NET/Socket over lo, no GPUDirect RDMA");
	free(choice);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(release_2_4),
		cmocka_unit_test(connections_are_counted),
		cmocka_unit_test(release_2_8),
		cmocka_unit_test(release_2_19),
		cmocka_unit_test(a_plugin_with_rails),
		cmocka_unit_test(release_2_28_without_an_adapter),
		cmocka_unit_test(nothing_over_the_network),
		cmocka_unit_test(damaged_lines),
		cmocka_unit_test(the_log_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
