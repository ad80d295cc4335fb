#include "cli/run/run_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "plan/resolve.h"
#include "result/host/host_findings.h"
#include "run/group.h"
#include "run/journal.h"

/* Why there is no device to run on: what the config requests, and what the backends report. */
static enum status run_setup_no_devices(const struct config *config, const struct probe *probe,
					struct error *err)
{
	const struct setting *backend =
		resolve_setting_or_null(config_section(config, "run", ""), "backend");
	struct text why = TEXT_EMPTY;

	if (backend && strcmp(backend->values[0].text, "auto") != 0)
		text_addf(&why, ": backend = %s (%s)", backend->values[0].text,
			  text_starts_with(backend->origin, "--") ? "the command line"
								  : backend->origin);
	for (size_t i = 0; i < probe->finding_count; i++)
		text_addf(&why, "\n  %s: %s", probe->findings[i].subject, probe->findings[i].text);
	error_set(err, STATUS_UNSUPPORTED, "no device that can be measured%s",
		  why.length ? why.data : "");
	text_release(&why);
	return err->status;
}

static enum status run_setup_build_plan(struct run_setup *setup, bool in_fleet, struct error *err)
{
	const struct probe *probe = &setup->probe;
	struct device_info *devices = NULL;
	size_t count = 0;
	enum status status;

	if (probe->device_count == 0)
		return run_setup_no_devices(&setup->config, probe, err);
	status = plan_select_devices(&setup->config, probe->devices, probe->device_count, &devices,
				     &count, err);
	if (status == STATUS_OK)
		status = plan_build(&setup->plan, &setup->config, devices, count, err);
	if (status == STATUS_OK && setup->plan.case_count == 0 &&
	    !((in_fleet || config_section(&setup->config, "fleet", "")) &&
	      plan_has_groups(&setup->config)))
		status = error_set(err, STATUS_USAGE, "%s: no case to run%s", setup->config.name,
				   plan_has_groups(&setup->config)
					   ? "; its cases need several nodes: add --hosts FILE, or "
					     "--simulate-nodes 3 to try them"
					   : "");
	free(devices);
	return status;
}

static int run_setup_count_gpus(const struct probe *probe)
{
	int count = 0;

	for (size_t i = 0; i < probe->device_count; i++)
		count += !device_is_host(&probe->devices[i]);
	return count;
}

/*
 * True if the config promises a judgement (promises), one of its sections names a GPU backend, and
 * the run may use any backend.
 */
static bool run_setup_is_about_gpus(const struct config *config)
{
	const struct section *run = config_section(config, "run", "");
	const struct setting *chosen = resolve_setting_or_null(run, "backend");
	const struct setting *promises = resolve_setting_or_null(run, "promises");

	if ((chosen && strcmp(chosen->values[0].text, "auto") != 0) || !promises ||
	    !promises->count)
		return false;
	for (size_t i = 0; i < config->count; i++) {
		const struct section *section = &config->sections[i];
		const struct setting *backend =
			strcmp(section->kind, "suite") == 0
				? resolve_setting_or_null(section, "backend")
				: NULL;

		if (backend && strcmp(backend->values[0].text, "host") != 0 &&
		    strcmp(backend->values[0].text, "auto") != 0)
			return true;
	}
	return false;
}

/* Adds doctor's findings about the driver. */
static void run_setup_add_driver_finding(void *text, const struct finding *finding)
{
	static const char *const topics[] = { FINDING_DRIVER, FINDING_DEVICE_NODES,
					      FINDING_PERMISSIONS };
	bool ok = finding->severity == SEVERITY_OK;

	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]) && !ok; i++)
		if (strcmp(finding->topic, topics[i]) == 0)
			text_addf(text, "\n  %s: %s", finding->subject, finding->text);
}

enum status run_setup_refuse_cpu(const struct run_setup *setup, struct error *err)
{
	struct text why = TEXT_EMPTY;

	if (run_setup_count_gpus(&setup->probe) || !run_setup_is_about_gpus(&setup->config))
		return STATUS_OK;
	host_findings("", ".", run_setup_add_driver_finding, &why);
	for (size_t i = 0; i < setup->probe.finding_count; i++)
		if (strcmp(setup->probe.findings[i].topic, FINDING_BACKEND) == 0)
			text_addf(&why, "\n  %s: %s", setup->probe.findings[i].subject,
				  setup->probe.findings[i].text);
	error_set(err, STATUS_UNSUPPORTED,
		  "%s is a config to accept GPUs, and no GPU is visible. To judge the CPU instead: "
		  "--backend host%s",
		  setup->config.name, why.data ? why.data : "");
	text_release(&why);
	return err->status;
}

/* The config with which the run in `directory` started; of the run `run`, unless that is NULL. */
static enum status run_setup_read_config_of(const char *directory, const char *run,
					    struct config *config, struct text *errors,
					    struct error *err)
{
	struct result header = { 0 };
	enum status status = journal_read_header(directory, &header, err);

	if (status != STATUS_OK)
		return run ? error_prefix(err, "the run directory must be shared by all nodes")
			   : status;
	if (run && strcmp(header.run_id, run) != 0)
		status = error_set(err, STATUS_USAGE,
				   "%s belongs to another run on this node; the run directory must "
				   "be shared by all nodes",
				   directory);
	else
		status = config_parse_written(config, header.config_name, header.config_text,
					      strlen(header.config_text), errors);
	result_release(&header);
	return status;
}

enum status run_setup_config(struct run_setup *setup, const char *source,
			     const struct overrides *overrides, const char *resume,
			     struct error *err)
{
	struct text errors = TEXT_EMPTY;
	enum status status;

	memset(setup, 0, sizeof(*setup));
	status = resume ? run_setup_read_config_of(resume, NULL, &setup->config, &errors, err)
			: config_load(&setup->config, source, overrides->items, overrides->count,
				      &errors);
	cli_command_print_errors(&errors);
	return status;
}

enum status run_setup_plan(struct run_setup *setup, struct error *err)
{
	if (probe_devices(&setup->probe, &setup->config, err) == STATUS_OK)
		run_setup_build_plan(setup, false, err);
	return err->status;
}

enum status run_setup_node(struct run_setup *setup, const char *directory, const char *run,
			   int share, int shares, struct error *err)
{
	struct text errors = TEXT_EMPTY;
	enum status status;
	size_t kept = 0;
	int gpus;

	memset(setup, 0, sizeof(*setup));
	status = run_setup_read_config_of(directory, run, &setup->config, &errors, err);
	if (status == STATUS_OK)
		status = probe_devices(&setup->probe, &setup->config, err);
	gpus = run_setup_count_gpus(&setup->probe);
	/*
	 * Keeps every `shares`th device of each GPU backend or, with more shares than GPUs, one
	 * that several shares have; the host belongs to all.
	 */
	for (size_t i = 0; i < setup->probe.device_count; i++) {
		const struct device_info *d = &setup->probe.devices[i];

		if (device_is_host(d) || shares < 2 ||
		    (gpus < shares ? d->index == share % shares % gpus
				   : d->index % shares == share % shares))
			setup->probe.devices[kept++] = *d;
	}
	setup->probe.device_count = kept;
	if (status == STATUS_OK)
		status = run_setup_build_plan(setup, true, err);
	if (status != STATUS_OK && !err->message[0])
		error_set(err, status, "%s",
			  errors.data ? errors.data : "cannot read the config of the run");
	text_release(&errors);
	return status;
}

enum status run_setup_group(struct run_setup *setup, const char *directory,
			    const char *const *names, const struct plan_group *group,
			    struct error *err)
{
	struct text errors = TEXT_EMPTY;
	struct device_info *devices = NULL;
	size_t count = 0;

	memset(setup, 0, sizeof(*setup));
	if (run_setup_read_config_of(directory, NULL, &setup->config, &errors, err) != STATUS_OK &&
	    !err->message[0])
		error_set(err, STATUS_INTERNAL, "%s", errors.data);
	if (err->status == STATUS_OK && run_group_devices(directory, names, (size_t)group->nodes,
							  &devices, &count, err) == STATUS_OK)
		plan_build_group(&setup->plan, &setup->config, devices, count, group, err);
	free(devices);
	text_release(&errors);
	return err->status;
}

void run_setup_release(struct run_setup *setup)
{
	plan_release(&setup->plan);
	probe_release(&setup->probe);
	config_release(&setup->config);
}
