#include "result/environment.h"

#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

struct facts {
	const char *root;
	fact_fn *add;
	void *context;
};

static void add(const struct facts *facts, const char *name, const char *value)
{
	if (value && value[0])
		facts->add(facts->context, name, value);
}

static void add_count(const struct facts *facts, const char *name, size_t count)
{
	char value[32];

	snprintf(value, sizeof(value), "%zu", count);
	if (count)
		add(facts, name, value);
}

static FILE *open_below(const struct facts *facts, const char *path)
{
	char *whole = xasprintf("%s%s", facts->root, path);
	FILE *file = fopen(whole, "re");

	free(whole);
	return file;
}

static void trim(char *s)
{
	size_t length = strlen(s);

	while (length && isspace((unsigned char)s[length - 1]))
		s[--length] = '\0';
}

/* The first line of a file; false when there is none. */
static bool first_line(const struct facts *facts, const char *path, char *out, int size)
{
	FILE *file = open_below(facts, path);
	bool found = file && fgets(out, size, file);

	if (file)
		fclose(file);
	if (found)
		trim(out);
	return found;
}

/*
 * The value of the first line "KEY<separator>VALUE" of a file, quotes taken off; "" when there is none. Keys are
 * compared without the blanks that /proc pads them with.
 */
static void find_value(const struct facts *facts, const char *path, const char *key, char separator,
		       char *out, size_t size)
{
	FILE *file = open_below(facts, path);
	char line[4096];

	out[0] = '\0';
	while (file && !out[0] && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, separator);

		if (!value)
			continue;
		*value++ = '\0';
		trim(line);
		if (strcmp(line, key) != 0)
			continue;
		trim(value);
		value += strspn(value, " \t\"");
		snprintf(out, size, "%s", value);
		if (text_ends_with(out, "\""))
			out[strlen(out) - 1] = '\0';
	}
	if (file)
		fclose(file);
}

static void system_facts(const struct facts *facts)
{
	struct utsname name;
	char value[256];

	if (gethostname(value, sizeof(value)) == 0) {
		value[sizeof(value) - 1] = '\0';
		add(facts, "hostname", value);
	}
	find_value(facts, "/etc/os-release", "PRETTY_NAME", '=', value, sizeof(value));
	add(facts, "os", value);
	if (uname(&name) == 0) {
		snprintf(value, sizeof(value), "%s %s", name.release, name.machine);
		add(facts, "kernel", value);
	}
}

/* Distinct pairs of (package, core) and distinct packages among the CPUs that are there. */
struct topology {
	struct core {
		long package, core;
	} *cores;
	size_t count, capacity, packages, threads;
};

static long number_below(const char *folder, const char *file)
{
	struct facts here = { .root = folder };
	char line[64];

	return first_line(&here, file, line, sizeof(line)) ? strtol(line, NULL, 10) : -1;
}

static void count_core(struct topology *topology, long package, long core)
{
	bool known_package = false;

	topology->threads++;
	for (size_t i = 0; i < topology->count; i++) {
		known_package |= topology->cores[i].package == package;
		if (topology->cores[i].package == package && topology->cores[i].core == core)
			return;
	}
	topology->packages += !known_package;
	ARRAY_GROW(topology->cores, topology->count, topology->capacity);
	topology->cores[topology->count++] = (struct core){ package, core };
}

/* Calls `visit` for each path that matches `pattern` below the root; returns how many there were. */
static size_t each_match(const struct facts *facts, const char *pattern,
			 void (*visit)(void *state, const char *path), void *state)
{
	char *whole = xasprintf("%s%s", facts->root, pattern);
	glob_t matches = { 0 };
	size_t count = 0;

	if (glob(whole, 0, NULL, &matches) == 0)
		count = matches.gl_pathc;
	for (size_t i = 0; visit && i < count; i++)
		visit(state, matches.gl_pathv[i]);
	globfree(&matches);
	free(whole);
	return count;
}

static void visit_cpu(void *state, const char *path)
{
	count_core(state, number_below(path, "/physical_package_id"), number_below(path, "/core_id"));
}

static void topology_facts(const struct facts *facts)
{
	struct topology topology = { 0 };
	cpu_set_t set;

	each_match(facts, "/sys/devices/system/cpu/cpu[0-9]*/topology", visit_cpu, &topology);
	add_count(facts, "cpu sockets", topology.packages);
	add_count(facts, "cpu cores", topology.count);
	add_count(facts, "cpu threads", topology.threads);
	free(topology.cores);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		add_count(facts, "cpu threads usable", (size_t)CPU_COUNT(&set));
	add_count(facts, "numa nodes", each_match(facts, "/sys/devices/system/node/node[0-9]*", NULL, NULL));
}

/* One word when all CPUs agree, else "mixed". */
struct agreement {
	char word[64];
	bool any, mixed;
};

static void visit_governor(void *state, const char *path)
{
	struct agreement *governor = state;
	struct facts here = { .root = "" };
	char word[64];

	if (!first_line(&here, path, word, sizeof(word)))
		return;
	if (!governor->any)
		memcpy(governor->word, word, sizeof(word));
	governor->mixed |= strcmp(word, governor->word) != 0;
	governor->any = true;
}

static void governor_fact(const struct facts *facts)
{
	struct agreement governor = { 0 };

	each_match(facts, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor", visit_governor, &governor);
	add(facts, "cpu governor", governor.mixed ? "mixed" : governor.word);
}

static void cpu_facts(const struct facts *facts)
{
	char value[4096];

	find_value(facts, "/proc/cpuinfo", "model name", ':', value, sizeof(value));
	if (!value[0]) /* ARM and POWER */
		find_value(facts, "/proc/cpuinfo", "cpu", ':', value, sizeof(value));
	add(facts, "cpu", value);
	topology_facts(facts);
	governor_fact(facts);
}

static void memory_facts(const struct facts *facts)
{
	char value[256], size[32];
	const char *chosen;

	find_value(facts, "/proc/meminfo", "MemTotal", ':', value, sizeof(value)); /* "263996044 kB", of 1024 */
	if (value[0])
		add(facts, "memory", units_format(strtod(value, NULL) * 1024, "B", size, sizeof(size)));
	if (!first_line(facts, "/sys/kernel/mm/transparent_hugepage/enabled", value, sizeof(value)))
		return;
	chosen = strchr(value, '['); /* "always [madvise] never" */
	if (chosen && strchr(chosen, ']')) {
		*strchr(value, ']') = '\0';
		add(facts, "transparent huge pages", chosen + 1);
	}
}

static bool exists(const struct facts *facts, const char *path)
{
	char *whole = xasprintf("%s%s", facts->root, path);
	bool found = access(whole, F_OK) == 0;

	free(whole);
	return found;
}

static void virtual_facts(const struct facts *facts)
{
	char value[4096], product[256];

	find_value(facts, "/proc/cpuinfo", "flags", ':', value, sizeof(value));
	if (strstr(value, " hypervisor")) {
		if (!first_line(facts, "/sys/class/dmi/id/product_name", product, sizeof(product)))
			snprintf(product, sizeof(product), "yes");
		add(facts, "hypervisor", product);
	}
	if (exists(facts, "/var/run/secrets/kubernetes.io"))
		add(facts, "container", "kubernetes");
	else if (exists(facts, "/.dockerenv"))
		add(facts, "container", "docker");
	else if (exists(facts, "/run/.containerenv"))
		add(facts, "container", "podman");
	else if (exists(facts, "/.singularity.d"))
		add(facts, "container", "apptainer");
	/* Translation of DMA addresses costs peer copies. */
	if (each_match(facts, "/sys/class/iommu/*", NULL, NULL))
		add(facts, "iommu", "on");
}

#if defined(__SANITIZE_ADDRESS__)
#define BUILD_TYPE "with AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define BUILD_TYPE "with ThreadSanitizer"
#elif defined(__OPTIMIZE__)
#define BUILD_TYPE "optimised"
#else
#define BUILD_TYPE "not optimised"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

static void variable_facts(const struct facts *facts)
{
	/* Only what changes measurements and can hold no secret, no address and no user's name. */
	static const char *const names[] = {
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING",
		"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_FORCE_PTX_JIT", "NVIDIA_TF32_OVERRIDE",
		"NVIDIA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_LEVEL",
		"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_NVLS_ENABLE",
		"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_CUMEM_ENABLE",
		"NCCL_NET_GDR_LEVEL", "NCCL_CROSS_NIC", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",
		"OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MALLOC_ARENA_MAX",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char fact[64];

		snprintf(fact, sizeof(fact), "env %s", names[i]);
		add(facts, fact, getenv(names[i]));
	}
}

void environment_read(const char *root, fact_fn *add_fact, void *context)
{
	struct facts facts = { root, add_fact, context };

	system_facts(&facts);
	cpu_facts(&facts);
	memory_facts(&facts);
	virtual_facts(&facts);
	add(&facts, "gpuproof", GPUPROOF_VERSION);
	add(&facts, "compiler", COMPILER ", " BUILD_TYPE);
	variable_facts(&facts);
}

void environment_collect(fact_fn *add_fact, void *context)
{
	environment_read("", add_fact, context);
}
