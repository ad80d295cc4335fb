/*
 * gpuproof-gpu-check: tries the CUDA backend on every GPU and prints one row per check. Exit 0:
 * all passed, 1: a check failed, 77: there is no GPU (and why). All CUDA calls are made in
 * children: one lists the devices, then one for each GPU checks it concurrently with the others,
 * one checks what takes several GPUs or a quiet driver, and the ranks of the collective check are
 * the last.
 */
#include "gpu_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kernels/kernel_checks.h"
#include "base/clock.h"

#define EXIT_NO_GPU 77
/*
 * A check that hangs (a lost rank, a gate that never opens) ends its process instead of the
 * patience of CI.
 */
#define CHILD_SECONDS 240

struct check_settings settings = { .backend = "cuda", .only = "" };

/* --only: a part of names, or a whole one ("=scale"). */
static bool is_wanted(const char *check)
{
	return settings.only[0] == '=' ? strcmp(check, settings.only + 1) == 0
				       : strstr(check, settings.only) != NULL;
}

int check_report(const char *check, const char *device, enum status status, const char *detail)
{
	const char *verdict = status == STATUS_OK            ? "PASS"
			      : status == STATUS_UNSUPPORTED ? "SKIP"
							     : "FAIL";

	printf("%-24s %-8s %-5s %s\n", check, device, verdict, detail);
	fflush(stdout);
	return status != STATUS_OK && status != STATUS_UNSUPPORTED;
}

static void print_fact(void *context, const char *name, const char *value)
{
	(void)context;
	printf("  %s %s\n", name, value);
}

static void print_software(const struct backend *backend)
{
	struct component components[16];
	struct finding findings[64];
	static const char *const severities[] = { "ok", "note", "warning", "error" };
	size_t count =
		backend->components ? backend->components(components, ARRAY_SIZE(components)) : 0;

	printf("module %s\n", backend->module);
	backend->facts(print_fact, NULL);
	for (size_t i = 0; i < count; i++)
		printf("  %s: %s %s, %s\n", components[i].name,
		       components[i].present ? "present" : "MISSING", components[i].version,
		       components[i].detail);
	count = backend->findings ? backend->findings(findings, ARRAY_SIZE(findings)) : 0;
	for (size_t i = 0; i < count; i++)
		printf("  %s (%s): %s\n", findings[i].subject, severities[findings[i].severity],
		       findings[i].text);
}

static void print_device(const struct device_info *d)
{
	printf("%s %s %s serial %s, %s capability %d.%d, %d multiprocessors, memory %.1f GiB (free "
	       "%.1f), L2 %.0f MiB, %.0f MHz, memory %.0f MHz x %d bit, PCIe %d x%d of %d x%d, ECC "
	       "%d, NUMA %d, capabilities %#x, peers %#llx, NVLinks %d\n",
	       d->id, d->name, d->uuid, *d->serial ? d->serial : "unknown", d->pci,
	       d->capability_major, d->capability_minor, d->multiprocessors,
	       (double)d->memory_bytes / 0x1p30, (double)d->memory_free_bytes / 0x1p30,
	       (double)d->l2_bytes / 0x1p20, d->clock_hz / 1e6, d->memory_clock_hz / 1e6,
	       d->memory_bus_bits, d->pcie_generation, d->pcie_width, d->pcie_generation_max,
	       d->pcie_width_max, d->ecc, d->numa_node, d->capabilities,
	       (unsigned long long)d->peers.words[0], d->nvlink_count);
}

static int report_timed(const struct check_context *context, const char *name, double start,
			enum status status, const struct error *err)
{
	char line[1400];

	snprintf(line, sizeof(line), "%s (%.0f ms)",
		 status == STATUS_OK ? context->detail : err->message,
		 1e3 * (clock_seconds() - start));
	return check_report(name, context->device->info.id, status, line);
}

static int run_checks(struct check_context *context, const struct check *checks)
{
	int failures = 0;

	for (; checks->name; checks++) {
		struct error err = ERROR_NONE;
		double start = clock_seconds();

		if (!is_wanted(checks->name))
			continue;
		context->detail[0] = '\0';
		failures += report_timed(context, checks->name, start, checks->run(context, &err),
					 &err);
		coverage_note(context->device, err.status == STATUS_OK);
	}
	return failures;
}

/* The checks that every backend's kernels and matrix products pass. */
static int run_kernel_checks(struct check_context *context)
{
	int failures = 0;

	context->detail[0] = '\0';
	for (const struct kernel_check *check = kernel_checks; check->name; check++) {
		struct error err = ERROR_NONE;
		double start = clock_seconds();

		if (!is_wanted(check->name))
			continue;
		failures += report_timed(context, check->name, start,
					 check->run(context->device, &err), &err);
		/* Part of a check may have passed before the rest was found not to be there. */
		coverage_note(context->device,
			      err.status == STATUS_OK || err.status == STATUS_UNSUPPORTED);
	}
	return failures;
}

static int check_device(struct check_context *context, int index)
{
	struct device *device = context->device;
	struct error err = ERROR_NONE;
	int failures = 0;

	if (backend_stream_create(device, false, &context->stream, &err) != STATUS_OK)
		return check_report("stream", device->info.id, err.status, err.message);
	failures += run_checks(context, memory_checks);
	failures += run_checks(context, allocator_checks);
	failures += run_checks(context, stream_checks);
	failures += run_kernel_checks(context);
	if (strncmp(settings.only, "rate", 4) == 0)
		failures += run_checks(context, rate_checks);
	backend_stream_destroy(context->stream);
	if (settings.coverage && index == 0)
		failures += coverage_write(&device->info, settings.coverage);
	return failures;
}

static int check_node(struct check_context *context, struct device *device)
{
	struct error err = ERROR_NONE;
	int failures;

	context->device = device;
	if (backend_stream_create(device, false, &context->stream, &err) != STATUS_OK)
		return check_report("stream", device->info.id, err.status, err.message);
	failures = run_checks(context, node_checks);
	backend_stream_destroy(context->stream);
	return failures;
}

/* The backend of this process; NULL, and said so: there is none. */
static const struct backend *open_backend(struct backend_list *list)
{
	backends_open(list, settings.backend, &settings.options);
	if (list->count == 0)
		printf("gpu-check: no GPU to check: %s\n",
		       list->missing_count ? list->missing[0] : "no CUDA module was built");
	return list->count ? list->backends[0] : NULL;
}

/* In a child: tells what there is, and the number of devices through the pipe. */
static int survey(int pipe)
{
	struct backend_list list;
	const struct backend *backend = open_backend(&list);
	struct device_info info;
	int count;

	if (!backend)
		return EXIT_NO_GPU;
	count = backend->device_count();
	print_software(backend);
	for (int i = 0; i < count; i++)
		if (backend->device_info(i, &info, NULL) == STATUS_OK)
			print_device(&info);
	backends_close(&list);
	return write(pipe, &count, sizeof(count)) == sizeof(count) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int report_closed(int index, const struct error *err)
{
	char device[32];

	snprintf(device, sizeof(device), "%d", index);
	check_report("open", device, err->status, err->message);
	return EXIT_FAILURE;
}

/* In a child: what one device can be asked while the others are checked as well. */
static int check_one(int index)
{
	struct check_context context = { .device_count = 1 };
	struct error err = ERROR_NONE;
	struct backend_list list;
	const struct backend *backend = open_backend(&list);
	int failures;

	if (!backend)
		return EXIT_FAILURE;
	if (backend->device_open(index, &context.device, &err) != STATUS_OK)
		return report_closed(index, &err);
	context.devices = &context.device;
	failures = check_device(&context, index);
	backend->device_close(context.device);
	backends_close(&list);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* In a child: checks of several devices, or that need the driver alone. */
static int check_together(int count)
{
	struct check_context context = { .device_count = count };
	struct error err = ERROR_NONE;
	struct backend_list list;
	const struct backend *backend = open_backend(&list);
	int failures = 0;

	if (!backend)
		return EXIT_FAILURE;
	context.devices = xcalloc((size_t)count, sizeof(*context.devices));
	for (int i = 0; i < count; i++)
		if (backend->device_open(i, &context.devices[i], &err) != STATUS_OK)
			return report_closed(i, &err);
	for (int i = 0; i < count; i++)
		failures += check_node(&context, context.devices[i]);
	for (int i = 0; i < count; i++)
		backend->device_close(context.devices[i]);
	free(context.devices);
	backends_close(&list);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return EXIT_FAILURE;
	if (WIFSIGNALED(status)) {
		printf("gpu-check: a process ended by signal %d (%s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return EXIT_FAILURE;
	}
	return WEXITSTATUS(status);
}

static pid_t start(int (*work)(int argument), int argument)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(CHILD_SECONDS);
		exit(work(argument));
	}
	return child;
}

/* Every device in a process of its own, at the same time. */
static int check_each(int count)
{
	pid_t *children = xcalloc((size_t)count, sizeof(*children));
	int code = EXIT_SUCCESS;

	for (int i = 0; i < count; i++)
		children[i] = start(check_one, i);
	for (int i = 0; i < count; i++)
		if (wait_for(children[i]) != EXIT_SUCCESS)
			code = EXIT_FAILURE;
	free(children);
	return code;
}

static int usage(void)
{
	fputs("usage: gpuproof-gpu-check [--backend cuda|cuda13|cuda11] [--emulate 3.7] [--only "
	      "NAME|=NAME] [--small on|off] [--coverage FILE] | --list kernels\n",
	      stderr);
	return 2;
}

static bool take_option(const char *name, const char *value)
{
	int major, minor;

	if (strcmp(name, "--backend") == 0)
		settings.backend = value;
	else if (strcmp(name, "--only") == 0)
		settings.only = value;
	else if (strcmp(name, "--coverage") == 0)
		settings.coverage = value;
	else if (strcmp(name, "--small") == 0)
		kernel_checks_small = strcmp(value, "on") == 0;
	else if (strcmp(name, "--emulate") == 0 && sscanf(value, "%d.%d", &major, &minor) == 2)
		settings.options.emulate_capability = major * 10 + minor;
	else
		return false;
	return true;
}

static int list_kernel_checks(void)
{
	for (const struct kernel_check *check = kernel_checks; check->name; check++)
		puts(check->name);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int ends[2], code, count = 0;

	if (argc == 3 && strcmp(argv[1], "--list") == 0 && strcmp(argv[2], "kernels") == 0)
		return list_kernel_checks();

	for (int i = 1; i < argc; i += 2)
		if (i + 1 == argc || !take_option(argv[i], argv[i + 1]))
			return usage();

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(ends) != 0)
		return EXIT_FAILURE;
	code = wait_for(start(survey, ends[1]));
	close(ends[1]);
	if (code != EXIT_SUCCESS || read(ends[0], &count, sizeof(count)) != sizeof(count))
		return code == EXIT_SUCCESS ? EXIT_FAILURE : code;
	code = check_each(count);
	if (wait_for(start(check_together, count)) != EXIT_SUCCESS)
		code = EXIT_FAILURE;
	if (is_wanted("collectives") && collective_check(count) != 0)
		code = EXIT_FAILURE;
	printf("gpu-check: %s\n", code == EXIT_SUCCESS ? "no check failed" : "FAILED");
	return code;
}
