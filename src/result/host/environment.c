#include "result/host/environment.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "result/host/build.h"
#include "result/host/host_files.h"

struct facts {
	const char *root;
	fact_fn *add;
	void *context;
};

static void environment_add_known(const struct facts *facts, const char *name, const char *value)
{
	if (value && value[0])
		facts->add(facts->context, name, value);
}

static void environment_add_count(const struct facts *facts, const char *name, size_t count)
{
	char value[32];

	snprintf(value, sizeof(value), "%zu", count);
	if (count)
		environment_add_known(facts, name, value);
}

/* Prefers $GPUPROOF_NODE, because a pod has a new host name each time. */
static void environment_system_facts(const struct facts *facts)
{
	const char *node = getenv("GPUPROOF_NODE");
	struct utsname name;
	char value[256] = "";

	if ((!node || !*node) && gethostname(value, sizeof(value)) == 0)
		value[sizeof(value) - 1] = '\0';
	environment_add_known(facts, "hostname", node && *node ? node : value);
	host_files_value(facts->root, "/etc/os-release", "PRETTY_NAME", '=', value, sizeof(value));
	environment_add_known(facts, "os", value);
	if (uname(&name) == 0) {
		snprintf(value, sizeof(value), "%s %s", name.release, name.machine);
		environment_add_known(facts, "kernel", value);
	}
}

/* Distinct (package, core) pairs and distinct packages of the present CPUs. */
struct topology {
	struct core {
		long package, core;
	} * cores;
	size_t count, capacity, packages, threads;
};

static long environment_number_below(const char *folder, const char *file)
{
	char line[64];

	return host_files_first_line(folder, file, line, sizeof(line)) ? strtol(line, NULL, 10)
								       : -1;
}

static void environment_visit_cpu(void *state, const char *path)
{
	struct topology *topology = state;
	const struct core here = { environment_number_below(path, "/physical_package_id"),
				   environment_number_below(path, "/core_id") };
	bool known_package = false;

	topology->threads++;
	for (size_t i = 0; i < topology->count; i++) {
		known_package |= topology->cores[i].package == here.package;
		if (topology->cores[i].package == here.package &&
		    topology->cores[i].core == here.core)
			return;
	}
	topology->packages += !known_package;
	ARRAY_GROW(topology->cores, topology->count, topology->capacity);
	topology->cores[topology->count++] = here;
}

/* The common value of all CPUs, or "mixed". */
struct agreement {
	char word[64];
	bool any, mixed;
};

static void environment_governor_visit_path(void *state, const char *path)
{
	struct agreement *governor = state;
	char word[64];

	if (!host_files_first_line("", path, word, sizeof(word)))
		return;
	if (!governor->any)
		memcpy(governor->word, word, sizeof(word));
	governor->mixed |= strcmp(word, governor->word) != 0;
	governor->any = true;
}

static void environment_cpu_facts(const struct facts *facts)
{
	struct topology topology = { 0 };
	struct agreement governor = { 0 };
	char value[4096];
	cpu_set_t set;

	host_files_value(facts->root, "/proc/cpuinfo", "model name", ':', value, sizeof(value));
	if (!value[0]) /* for ARM and POWER */
		host_files_value(facts->root, "/proc/cpuinfo", "cpu", ':', value, sizeof(value));
	environment_add_known(facts, "cpu", value);
	host_files_matches(facts->root, "/sys/devices/system/cpu/cpu[0-9]*/topology",
			   environment_visit_cpu, &topology);
	environment_add_count(facts, "cpu sockets", topology.packages);
	environment_add_count(facts, "cpu cores", topology.count);
	environment_add_count(facts, "cpu threads", topology.threads);
	free(topology.cores);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		environment_add_count(facts, "cpu threads usable", (size_t)CPU_COUNT(&set));
	environment_add_count(facts, "numa nodes",
			      host_files_matches(facts->root, "/sys/devices/system/node/node[0-9]*",
						 NULL, NULL));
	host_files_matches(facts->root,
			   "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
			   environment_governor_visit_path, &governor);
	environment_add_known(facts, "cpu governor", governor.mixed ? "mixed" : governor.word);
}

static void environment_memory_facts(const struct facts *facts)
{
	char value[256], size[32];
	const char *chosen;

	/* "263996044 kB", in units of 1024 bytes */
	host_files_value(facts->root, "/proc/meminfo", "MemTotal", ':', value, sizeof(value));
	if (value[0])
		environment_add_known(facts, "memory",
				      units_si(strtod(value, NULL) * 1024, "B", size,
					       sizeof(size)));
	if (!host_files_first_line(facts->root, "/sys/kernel/mm/transparent_hugepage/enabled",
				   value, sizeof(value)))
		return;
	chosen = strchr(value, '['); /* "always [madvise] never" */
	if (chosen && strchr(chosen, ']')) {
		*strchr(value, ']') = '\0';
		environment_add_known(facts, "transparent huge pages", chosen + 1);
	}
}

static void environment_virtual_facts(const struct facts *facts)
{
	static const char *const containers[][2] = {
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
		{ "/.dockerenv", "docker" },
		{ "/run/.containerenv", "podman" },
		{ "/.singularity.d", "apptainer" },
	};
	char value[4096], product[256];

	host_files_value(facts->root, "/proc/cpuinfo", "flags", ':', value, sizeof(value));
	if (strstr(value, " hypervisor")) {
		if (!host_files_first_line(facts->root, "/sys/class/dmi/id/product_name", product,
					   sizeof(product)))
			snprintf(product, sizeof(product), "yes");
		environment_add_known(facts, "hypervisor", product);
	}
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
		if (host_files_has(facts->root, containers[i][0])) {
			environment_add_known(facts, "container", containers[i][1]);
			break;
		}
	/* DMA address translation slows down peer copies. */
	if (host_files_matches(facts->root, "/sys/class/iommu/*", NULL, NULL))
		environment_add_known(facts, "iommu", "on");
}

static void environment_variable_facts(const struct facts *facts)
{
	/*
	 * Only variables that affect measurements and cannot contain secrets, addresses or user
	 * names.
	 */
	static const char *const names[] = {
		"CUDA_VISIBLE_DEVICES",
		"CUDA_DEVICE_ORDER",
		"CUDA_MODULE_LOADING",
		"CUDA_LAUNCH_BLOCKING",
		"CUDA_DEVICE_MAX_CONNECTIONS",
		"CUDA_FORCE_PTX_JIT",
		"NVIDIA_TF32_OVERRIDE",
		"NVIDIA_VISIBLE_DEVICES",
		"CUBLAS_WORKSPACE_CONFIG",
		"NCCL_ALGO",
		"NCCL_PROTO",
		"NCCL_P2P_LEVEL",
		"NCCL_P2P_DISABLE",
		"NCCL_SHM_DISABLE",
		"NCCL_IB_DISABLE",
		"NCCL_NVLS_ENABLE",
		"NCCL_MIN_NCHANNELS",
		"NCCL_MAX_NCHANNELS",
		"NCCL_NTHREADS",
		"NCCL_BUFFSIZE",
		"NCCL_CUMEM_ENABLE",
		"NCCL_NET_GDR_LEVEL",
		"NCCL_CROSS_NIC",
		"OMP_NUM_THREADS",
		"OMP_PROC_BIND",
		"OMP_PLACES",
		"OPENBLAS_NUM_THREADS",
		"OPENBLAS_CORETYPE",
		"MALLOC_ARENA_MAX",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char fact[64];

		snprintf(fact, sizeof(fact), "env %s", names[i]);
		environment_add_known(facts, fact, getenv(names[i]));
	}
}

void environment_read(const char *root, fact_fn *add_fact, void *context)
{
	struct facts facts = { root, add_fact, context };

	environment_system_facts(&facts);
	environment_cpu_facts(&facts);
	environment_memory_facts(&facts);
	environment_virtual_facts(&facts);
	environment_add_known(&facts, "gpuproof", build_version());
	environment_add_known(&facts, "compiler", build_compiler());
	environment_variable_facts(&facts);
}

void environment_collect(fact_fn *add_fact, void *context)
{
	environment_read("", add_fact, context);
}
