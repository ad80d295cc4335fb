/* Network adapters from a made-up /sys: rates, states, counters that move, distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "result/host/host_findings.h"

#define SWITCH "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0"
#define NEAR SWITCH "/0000:17:01.0/0000:18:00.0"
#define GPU SWITCH "/0000:17:02.0/0000:19:00.0"
#define SAME_ROOT "/sys/devices/pci0000:15/0000:15:02.0/0000:20:00.0"
#define FAR "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"

static char root[] = "/tmp/test_nics.XXXXXX";

static struct finding found[64];
static size_t count;

static void collect(void *context, const struct finding *finding)
{
	(void)context;
	assert_true(count < ARRAY_SIZE(found));
	found[count++] = *finding;
}

static void run(const char *format, const char *a, const char *b)
{
	char *command = xasprintf(format, root, a, b);

	assert_int_equal(system(command), 0);
	free(command);
}

static void put(const char *path, const char *text)
{
	char *whole = xasprintf("%s%s", root, path), *folder = xstrdup(whole);
	FILE *f;

	*strrchr(folder, '/') = '\0';
	run("mkdir -p '%2$s' # %1$s %3$s", folder, "");
	f = fopen(whole, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
	free(whole);
	free(folder);
}

static void put_adapter(const char *name, const char *device, const char *numa, const char *rate,
			const char *state)
{
	static const char *const files[] = { "rate", "state", "link_layer", "counters/symbol_error",
					     "counters/link_downed" };
	const char *const texts[] = { rate, state, "InfiniBand", "0", "0" };
	char *path;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		path = xasprintf("%s/infiniband/%s/ports/1/%s", device, name, files[i]);
		put(path, texts[i]);
		free(path);
	}
	path = xasprintf("%s/numa_node", device);
	put(path, numa);
	free(path);
	path = xasprintf("%s/infiniband/%s", device, name);
	run("mkdir -p %1$s/sys/class/infiniband && ln -sfn %1$s%2$s %1$s/sys/class/infiniband/%3$s",
	    path, name);
	free(path);
	path = xasprintf("%s/infiniband/%s/device", device, name);
	run("ln -sfn %1$s%2$s %1$s%3$s", device, path);
	free(path);
}

static const struct finding *of(const char *subject)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(found[i].subject, subject) == 0)
			return &found[i];
	fail_msg("no finding '%s'", subject);
	return NULL;
}

static void says(const char *subject, enum severity severity, const char *text)
{
	const struct finding *f = of(subject);

	if (f->severity != severity || !strstr(f->text, text))
		fail_msg("%s: %d '%s', not %d '%s'", subject, f->severity, f->text, severity, text);
}

static void look(void)
{
	count = 0;
	nic_findings(root, collect, NULL);
}

static void a_machine_without_adapters(void **state)
{
	(void)state;
	look();
	assert_int_equal(count, 0);
	assert_true(nic_bandwidth(root) == 0);
	put("/sys/class/net/eth2/operstate", "up");
	put("/sys/class/net/eth2/device/vendor", "0x15b3");
	put("/sys/class/net/eth2/speed", "-1");
	assert_true(nic_bandwidth(root) == 0);
	put("/sys/class/net/eth2/speed", "10000");
	assert_true(nic_bandwidth(root) == 1.25e9);
	put("/sys/class/net/eth2/operstate", "down");
}

static void rates_states_and_counters(void **state)
{
	(void)state;
	put_adapter("mlx5_0", NEAR, "0", "400 Gb/sec (4X NDR)", "4: ACTIVE");
	put_adapter("mlx5_1", SAME_ROOT, "0", "200 Gb/sec (4X HDR)", "4: ACTIVE");
	put_adapter("mlx5_2", FAR, "1", "400 Gb/sec (4X NDR)", "1: DOWN");
	look();
	says("nic mlx5_0:1", SEVERITY_OK, "InfiniBand, 400 Gb/sec (4X NDR), 4: ACTIVE");
	says("nic mlx5_1:1", SEVERITY_WARNING, "other ports have 400 Gb/s");
	says("nic mlx5_2:1", SEVERITY_WARNING, "1: DOWN");
	assert_null(strstr(of("nic mlx5_0:1")->text, "symbol_error"));
	assert_true(nic_bandwidth(root) == 50e9);
	put(NEAR "/infiniband/mlx5_0/ports/1/counters/symbol_error", "17");
	look();
	says("nic mlx5_0:1", SEVERITY_OK, "symbol_error 17");
}

static void further_interfaces(void **state)
{
	(void)state;
	put("/sys/class/net/eth0/operstate", "up");
	put("/sys/class/net/eth0/speed", "25000");
	put("/sys/class/net/eth0/device/vendor", "0x15b3");
	put("/sys/class/net/eth0/statistics/rx_crc_errors", "4");
	put("/sys/class/net/eth1/operstate", "down");
	put("/sys/class/net/eth1/device/vendor", "0x15b3");
	put("/sys/class/net/lo/operstate", "up");
	look();
	says("nic eth0", SEVERITY_OK, "25 Gb/s, up, rx_crc_errors 4");
	assert_true(nic_bandwidth(root) == 50e9); /* the port of InfiniBand, which NCCL prefers */
	for (size_t i = 0; i < count; i++)
		assert_false(strcmp(found[i].subject, "nic eth1") == 0 ||
			     strcmp(found[i].subject, "nic lo") == 0);
}

static void put_gpu(const char *pci, const char *path)
{
	char *file = xasprintf("%s/numa_node", path),
	     *link = xasprintf("/sys/bus/pci/devices/%s", pci);

	put(file, "0");
	run("mkdir -p %1$s/sys/bus/pci/devices && ln -sfn %1$s%2$s %1$s%3$s", path, link);
	free(file);
	free(link);
}

static void distances_to_the_nearest(void **state)
{
	struct device_info gpu = { .id = "cuda:0", .pci = "0000:19:00.0" },
			   lone = { .id = "cuda:1", .pci = "0000:A1:00.0" },
			   host = { .id = "host:0" };

	(void)state;
	put_gpu("0000:19:00.0", GPU);
	put_gpu("0000:a1:00.0", "/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0");
	count = 0;
	nic_distance_finding(root, &gpu, collect, NULL);
	nic_distance_finding(root, &lone, collect, NULL);
	nic_distance_finding(root, &host, collect, NULL);
	assert_int_equal(count, 2);
	says("nearest nic cuda:0", SEVERITY_OK, "mlx5_0, connected through PCIe switches only");
	says("nearest nic cuda:1", SEVERITY_OK, "on the GPU's NUMA node");
	put("/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0/numa_node", "3");
	count = 0;
	nic_distance_finding(root, &lone, collect, NULL);
	says("nearest nic cuda:1", SEVERITY_WARNING, "on another NUMA node");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_without_adapters),
		cmocka_unit_test(rates_states_and_counters),
		cmocka_unit_test(further_interfaces),
		cmocka_unit_test(distances_to_the_nearest),
	};
	int failures;

	if (!mkdtemp(root))
		return 1;
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	run("rm -rf '%1$s' # %2$s %3$s", "", "");
	return failures;
}
