#include "measure/run_settings.h"

struct run_settings run_settings_from(const struct config *config)
{
	const struct section *run = config ? config_section(config, "run", "") : NULL;
	struct run_settings settings = { .backend = "auto", .seed = 1, .label = "" };

	if (!run)
		return settings;
	settings.backend = section_text(run, "backend");
	settings.backend_options.host_devices = (int)section_integer(run, "host_devices");
	settings.telemetry_seconds = section_real(run, "telemetry");
	settings.seed = section_integer(run, "seed");
	settings.label = section_text(run, "label");
	return settings;
}
