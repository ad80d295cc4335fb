/* CPU telemetry as reported by Linux. A virtual machine often reports nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/host/host_device.h"
#include "device/host/sensors/rapl.h"
#include "device/limits.h"

/* `format`: a path with a number in it. */
static double sensors_telemetry_sysfs_read_number(const char *format, int n)
{
	char line[64];
	double value;

	return device_limits_read_line(line, sizeof(line), format, n) &&
			       sscanf(line, "%lf", &value) == 1
		       ? value
		       : (double)NAN;
}

/*
 * hwmon drivers for the CPU. The first temperature is that of the package (coretemp) or the control
 * temperature (k10temp).
 */
static double sensors_telemetry_temperature_celsius(void)
{
	static const char *const drivers[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal" };

	for (int i = 0; i < 64; i++) {
		char name[64];

		if (!device_limits_read_line(name, sizeof(name), "/sys/class/hwmon/hwmon%d/name",
					     i))
			break;
		for (size_t d = 0; d < ARRAY_SIZE(drivers); d++) {
			if (strcmp(name, drivers[d]) == 0)
				return 1e-3 * sensors_telemetry_sysfs_read_number(
						      "/sys/class/hwmon/hwmon%d/temp1_input", i);
		}
	}
	return NAN;
}

enum status host_telemetry(struct device *device, struct telemetry *out, struct error *err)
{
	double clocks = 0;
	int count = 0, cpu;

	(void)err;
	hwloc_bitmap_foreach_begin (cpu, host_device(device)->partition->cpuset) {
		clocks += 1e3 * sensors_telemetry_sysfs_read_number("/sys/devices/system/cpu/cpu%d/"
								    "cpufreq/scaling_cur_freq",
								    cpu);
		count++;
	}
	hwloc_bitmap_foreach_end();
	telemetry_unknown(out);
	out->sm_clock_hz = count > 0 ? clocks / count : NAN; /* mean over the partition */
	out->temperature_celsius = sensors_telemetry_temperature_celsius();
	return STATUS_OK;
}

enum status host_telemetry_quick(struct device *device, struct telemetry *out, struct error *err)
{
	return host_telemetry(device, out, err);
}

/* All packages of the machine: a partition's share is not counted separately. */
enum status host_energy(struct device *device, struct energy *out, struct error *err)
{
	static struct rapl rapl;

	(void)device;
	if (!rapl.count && rapl_open(&rapl, RAPL_FOLDER, err) != STATUS_OK) {
		rapl.count = 0;
		return err->status;
	}
	return rapl_read(&rapl, out, err);
}
