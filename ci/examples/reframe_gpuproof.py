"""A ReFrame test: one run of gpuproof per node, its verdict as sanity, its main figures as performance.

usage: reframe -c reframe_gpuproof.py -r

Checked for syntax only: no ReFrame has run it.
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class gpuproof_check(rfm.RunOnlyRegressionTest):
	valid_systems = ["*"]
	valid_prog_environs = ["*"]
	config = variable(str, value="quick")
	executable = "gpuproof"

	@run_after("init")
	def set_options(self):
		self.executable_opts = ["run", self.config, "--check", "-q", "-o", "run"]
		self.postrun_cmds = ["gpuproof check run --as nagios"]

	@sanity_function
	def accepted(self):
		return sn.assert_found(r"^GPUPROOF (OK|WARNING)", self.stdout)

	@run_before("performance")
	def take_figures(self):
		with open(os.path.join(self.stagedir, "run", "result.json"), encoding="utf-8") as f:
			result = json.load(f)
		self.perf_variables = {
			f"{case['id']} {name}": sn.make_performance_function(sn.defer(metric["value"]), metric["unit"])
			for case in result["cases"] if case["status"] == "OK"
			for name, metric in case["metrics"].items() if metric.get("headline") and metric["value"] is not None
		}
