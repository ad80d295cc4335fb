#include "run/workers/run_settings.h"

#include <stdio.h>

struct run_settings run_settings_from(const struct config *config)
{
	const struct section *run = config ? config_section(config, "run", "") : NULL;
	int major, minor;
	struct run_settings settings = { .backend = "auto", .seed = 1, .label = "", .tags = "" };

	if (!run)
		return settings;
	settings.backend = section_text(run, "backend");
	settings.backend_options.host_devices = (int)section_integer(run, "host_devices");
	/* "3.7" is 37, "none" 0 */
	if (sscanf(section_text(run, "emulate_capability"), "%d.%d", &major, &minor) == 2)
		settings.backend_options.emulate_capability = major * 10 + minor;
	settings.telemetry_seconds = section_real(run, "telemetry");
	settings.seed = section_integer(run, "seed");
	settings.label = section_text(run, "label");
	settings.tags = section_text(run, "tags");
	return settings;
}
