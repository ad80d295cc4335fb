#include "run/header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "plan/suite.h"
#include "result/host/build.h"
#include "result/host/host_findings.h"
#include "run/workers/run_settings.h"

static void run_header_fill_config(struct result *result, const struct config *config)
{
	struct text text = TEXT_EMPTY;
	size_t capacity;

	config_write(config, 0, &text);
	result->config_text = text_detach(&text);
	result->config_name = xstrdup(config->name);
	capacity = 0;
	for (size_t i = 0; i < config->count; i++) {
		const struct section *section = &config->sections[i];

		for (size_t j = 0; j < section->count; j++) {
			const struct setting *setting = &section->settings[j];
			struct text value = TEXT_EMPTY;

			for (size_t v = 0; v < setting->count; v++)
				text_addf(&value, "%s%s", v ? ", " : "", setting->values[v].text);
			ARRAY_GROW(result->settings, result->setting_count, capacity);
			result->settings[result->setting_count++] = (struct result_setting){
				.section = xasprintf("%s%s%s%s%s", section->kind,
						     *section->name ? " " : "", section->name,
						     *section->label ? " " : "", section->label),
				.key = xstrdup(setting->key->name),
				.value = text_detach(&value),
				.origin = xstrdup(setting->origin),
			};
		}
	}
}

static void run_header_fill_machine(struct result *result, const struct plan *plan,
				    const struct probe *probe)
{
	result->environment = xcalloc(probe->fact_count, sizeof(*result->environment));
	result->environment_count = probe->fact_count;
	for (size_t i = 0; i < probe->fact_count; i++)
		result->environment[i] = (struct fact){ .name = xstrdup(probe->facts[i].name),
							.value = xstrdup(probe->facts[i].value) };
	result->devices = xcalloc(plan->device_count, sizeof(*result->devices));
	result->device_count = plan->device_count;
	for (size_t i = 0; i < plan->device_count; i++) {
		result->devices[i] = plan->devices[i];
		result->devices[i].nic_bandwidth = nic_bandwidth("");
	}
}

/*
 * With devices = all, devices that failed when they were listed are missing, and a run on the
 * others must not look whole; who named some knows why.
 */
static void run_header_fill_lost(struct result *result, const struct config *config,
				 const struct probe *probe)
{
	const char *wanted = section_text(config_section(config, "run", ""), "devices");
	size_t capacity = 0;

	for (size_t i = 0; i < probe->finding_count && strcmp(wanted, "all") == 0; i++) {
		const struct finding *f = &probe->findings[i];
		struct finding lost = { .severity = SEVERITY_ERROR };

		if (f->severity != SEVERITY_ERROR || strcmp(f->topic, FINDING_DEVICE) != 0)
			continue;
		finding_set_subject(&lost, FINDING_LOST, "");
		snprintf(lost.text, sizeof(lost.text), "%.40s is present but unusable: %.250s",
			 f->device, f->text);
		ARRAY_GROW(result->preflight, result->preflight_count, capacity);
		result->preflight[result->preflight_count++] = lost;
	}
}

void run_header_fill(struct result *result, const struct plan *plan, const struct probe *probe,
		     const char *command)
{
	struct run_settings settings = run_settings_from(plan->config);
	char now[32];
	unsigned char bytes[8];
	uint64_t number;

	clock_iso8601(now, sizeof(now));
	result->version = RESULT_VERSION;
	result->gpuproof_version = xstrdup(build_version());
	number = 0;
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		snprintf((char *)bytes, sizeof(bytes), "%.5f", clock_seconds());
	for (size_t i = 0; i < sizeof(bytes); i++)
		number = number << 8 | bytes[i];
	result->run_id = xasprintf("%016" PRIx64, number);
	result->label = xstrdup(settings.label);
	result->tags = xstrdup(settings.tags);
	result->started = xstrdup(now);
	result->finished = xstrdup("");
	result->state = xstrdup("incomplete"); /* until the run has ended otherwise */
	result->command = xstrdup(command ? command : "");
	result->seed = settings.seed;
	result->planned = plan->case_count;
	run_header_fill_config(result, plan->config);
	/* How pages show the cases of every suite in the plan. */
	for (size_t i = 0; i < plan->case_count; i++) {
		const struct presentation p = suite_presentation(plan->cases[i].suite);

		if (!i || plan->cases[i].suite != plan->cases[i - 1].suite)
			result_present(result, &p);
	}
	run_header_fill_machine(result, plan, probe);
	run_header_fill_lost(result, plan->config, probe);
}

enum status run_header_same_host(const struct result *then, const struct probe *now,
				 struct error *err)
{
	const char *before = result_fact(then, "hostname"), *here = NULL;
	bool tells_itself = true;

	for (size_t i = 0; i < then->device_count; i++)
		tells_itself = tells_itself && *then->devices[i].uuid;
	for (size_t i = 0; i < now->fact_count; i++)
		if (strcmp(now->facts[i].name, "hostname") == 0)
			here = now->facts[i].value;
	if (tells_itself || !before || !here || strcmp(before, here) == 0)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "the run began on host %.100s, but this host is %.100s; all cases of a "
			 "run must be measured on one host",
			 before, here);
}
