#include "cli/run/run_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/resolve.h"
#include "run/group.h"

/* Why there is nothing to run on: what the config asks for, and what the backends told. */
static enum status no_devices(const struct config *config, const struct probe *probe,
			      struct error *err)
{
	const struct setting *backend =
		setting_or_null(config_section(config, "run", ""), "backend");
	struct text why = TEXT_EMPTY;

	if (backend && strcmp(backend->values[0].text, "auto") != 0)
		text_addf(&why, ": backend = %s is asked for by %s", backend->values[0].text,
			  text_starts_with(backend->origin, "--") ? "the command line"
								  : backend->origin);
	for (size_t i = 0; i < probe->finding_count; i++)
		text_addf(&why, "\n  %s: %s", probe->findings[i].subject, probe->findings[i].text);
	error_set(err, STATUS_UNSUPPORTED, "there is no device to run on%s",
		  why.length ? why.data : "");
	text_release(&why);
	return err->status;
}

static enum status make_plan(struct run_setup *setup, bool in_fleet, struct error *err)
{
	const struct probe *probe = &setup->probe;
	struct device_info *devices = NULL;
	size_t count = 0;
	enum status status;

	if (probe->device_count == 0)
		return no_devices(&setup->config, probe, err);
	status = plan_select_devices(&setup->config, probe->devices, probe->device_count, &devices,
				     &count, err);
	if (status == STATUS_OK)
		status = plan_build(&setup->plan, &setup->config, devices, count, err);
	if (status == STATUS_OK && setup->plan.case_count == 0 &&
	    !((in_fleet || config_section(&setup->config, "fleet", "")) &&
	      plan_has_groups(&setup->config)))
		status = error_set(err, STATUS_USAGE, "%s: no case to run%s", setup->config.name,
				   plan_has_groups(&setup->config)
					   ? "; its cases need several nodes: --hosts FILE, or "
					     "--simulate-nodes 3 to try them"
					   : "");
	free(devices);
	return status;
}

static int count_gpus(const struct probe *probe)
{
	int count = 0;

	for (size_t i = 0; i < probe->device_count; i++)
		count += !device_is_host(&probe->devices[i]);
	return count;
}

/*
 * Keeps every `shares`th device of each GPU backend, or, where there are more shares than GPUs, one
 * that several have; the host is everybody's.
 */
static void keep_share(struct probe *probe, int share, int shares)
{
	int gpus = count_gpus(probe), own = share % shares;
	size_t kept = 0;

	for (size_t i = 0; i < probe->device_count; i++) {
		const struct device_info *d = &probe->devices[i];

		if (device_is_host(d) ||
		    (gpus < shares ? d->index == own % gpus : d->index % shares == own))
			probe->devices[kept++] = *d;
	}
	probe->device_count = kept;
}

static enum status finish(struct run_setup *setup, enum status status, struct text *errors,
			  struct error *err)
{
	if (errors->data)
		fputs(errors->data, stderr);
	if (status == STATUS_OK &&
	    (probe_devices(&setup->probe, &setup->config, err) != STATUS_OK ||
	     make_plan(setup, false, err) != STATUS_OK))
		status = err->status;
	text_release(errors);
	return status;
}

enum status run_setup_load(struct run_setup *setup, const char *source,
			   const struct override *overrides, size_t override_count,
			   struct error *err)
{
	struct text errors = TEXT_EMPTY;

	memset(setup, 0, sizeof(*setup));
	return finish(setup,
		      config_load(&setup->config, source, overrides, override_count, &errors),
		      &errors, err);
}

enum status run_setup_resume(struct run_setup *setup, const char *directory, struct error *err)
{
	struct text errors = TEXT_EMPTY;
	struct result header = { 0 };
	enum status status;

	memset(setup, 0, sizeof(*setup));
	if (conduct_resume_header(directory, &header, err) != STATUS_OK)
		return err->status;
	status = config_parse_written(&setup->config, header.config_name, header.config_text,
				      strlen(header.config_text), &errors);
	result_release(&header);
	return finish(setup, status, &errors, err);
}

enum status run_setup_node(struct run_setup *setup, const char *directory, const char *run,
			   int share, int shares, struct error *err)
{
	struct text errors = TEXT_EMPTY;
	struct result header = { 0 };
	enum status status;

	memset(setup, 0, sizeof(*setup));
	if (conduct_resume_header(directory, &header, err) != STATUS_OK)
		return error_prefix(err, "the folder of the run must be the same on all nodes");
	if (strcmp(header.run_id, run) != 0)
		status = error_set(err, STATUS_USAGE,
				   "%s is of another run on this node; the folder of the run must "
				   "be the same on all nodes",
				   directory);
	else
		status =
			config_parse_written(&setup->config, header.config_name, header.config_text,
					     strlen(header.config_text), &errors);
	result_release(&header);
	if (status == STATUS_OK)
		status = probe_devices(&setup->probe, &setup->config, err);
	if (status == STATUS_OK)
		keep_share(&setup->probe, share, shares > 0 ? shares : 1);
	if (status == STATUS_OK)
		status = make_plan(setup, true, err);
	if (status != STATUS_OK && !err->message[0])
		error_set(err, status, "%s",
			  errors.data ? errors.data : "the config is unreadable");
	text_release(&errors);
	return status;
}

enum status run_setup_group(struct run_setup *setup, const char *directory,
			    const char *const *names, const struct plan_group *group,
			    struct error *err)
{
	struct text errors = TEXT_EMPTY;
	struct result header = { 0 };
	struct device_info *devices = NULL;
	size_t count = 0;

	memset(setup, 0, sizeof(*setup));
	if (conduct_resume_header(directory, &header, err) != STATUS_OK)
		return err->status;
	if (config_parse_written(&setup->config, header.config_name, header.config_text,
				 strlen(header.config_text), &errors) != STATUS_OK)
		error_set(err, STATUS_INTERNAL, "%s", errors.data);
	if (err->status == STATUS_OK && group_devices(directory, names, (size_t)group->nodes,
						      &devices, &count, err) == STATUS_OK)
		plan_build_group(&setup->plan, &setup->config, devices, count, group, err);
	free(devices);
	result_release(&header);
	text_release(&errors);
	return err->status;
}

void run_setup_release(struct run_setup *setup)
{
	plan_release(&setup->plan);
	probe_release(&setup->probe);
	config_release(&setup->config);
}
