#include "run/workers/run_settings.h"

#include <stdio.h>

/* "3.7" is 37, "none" 0. */
static int capability_number(const char *text)
{
	int major = 0, minor = 0;

	return sscanf(text, "%d.%d", &major, &minor) == 2 ? major * 10 + minor : 0;
}

struct run_settings run_settings_from(const struct config *config)
{
	const struct section *run = config ? config_section(config, "run", "") : NULL;
	struct run_settings settings = { .backend = "auto", .seed = 1, .label = "", .tags = "" };

	if (!run)
		return settings;
	settings.backend = section_text(run, "backend");
	settings.backend_options.host_devices = (int)section_integer(run, "host_devices");
	settings.backend_options.emulate_capability =
		capability_number(section_text(run, "emulate_capability"));
	settings.telemetry_seconds = section_real(run, "telemetry");
	settings.seed = section_integer(run, "seed");
	settings.label = section_text(run, "label");
	settings.tags = section_text(run, "tags");
	return settings;
}
