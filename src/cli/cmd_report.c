#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/anonymise_option.h"
#include "cli/command.h"
#include "cli/result_list.h"
#include "report/report.h"

extern const struct command command_report;

struct report_arguments {
	struct report_options options;
	const char *dump;
	struct anonymise_option anonymise;
	bool help;
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "template-dir", required_argument, NULL, 't' },
	{ "dump-templates", required_argument, NULL, 'd' },
	{ "title", required_argument, NULL, 'T' },
	{ "layout", required_argument, NULL, 'l' },
	{ "reference", optional_argument, NULL, 'r' },
	{ "baseline", required_argument, NULL, 'b' },
	{ "memory-limits", required_argument, NULL, 'm' },
	{ "anonymise", no_argument, NULL, 'a' },
	{ "anonymise-key", required_argument, NULL, 'k' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* NULL, or what is wrong with the options. */
static const char *parse(int argc, char **argv, struct report_arguments *arguments)
{
	int option;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1) {
		switch (option) {
		case 'o':
			arguments->options.output = optarg;
			break;
		case 't':
			arguments->options.template_dir = optarg;
			break;
		case 'd':
			arguments->dump = optarg;
			break;
		case 'T':
			arguments->options.title = optarg;
			break;
		case 'l':
			if (strcmp(optarg, "single") != 0 && strcmp(optarg, "dir") != 0)
				return "--layout is single or dir";
			arguments->options.separate_css = strcmp(optarg, "dir") == 0;
			break;
		case 'r':
			arguments->options.reference = optarg ? optarg : "all";
			break;
		case 'b':
			arguments->options.baseline = optarg;
			break;
		case 'm':
			arguments->options.memory_limits = optarg;
			break;
		case 'a':
			anonymise_take_option(&arguments->anonymise, "anonymise", NULL);
			break;
		case 'k':
			anonymise_take_option(&arguments->anonymise, "anonymise-key", optarg);
			break;
		case 'h':
			arguments->help = true;
			break;
		case ':':
			return "an option lacks its argument";
		default:
			return "unknown option";
		}
	}
	return NULL;
}

static int write_report(char **paths, size_t count, struct report_arguments *arguments)
{
	struct result_list results = { 0 };
	struct error err = ERROR_NONE;
	enum status status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < count; i++)
		status = result_list_add(&results, paths[i], &err);
	if (status == STATUS_OK)
		status = anonymise_lists(&arguments->anonymise, &results, NULL, &err);
	if (status == STATUS_OK)
		status = report_write(results.items, results.count, &arguments->options, &err);
	result_list_release(&results);
	anonymise_option_release(&arguments->anonymise);
	if (status != STATUS_OK)
		return command_fail(&err);
	printf("%s\n", arguments->options.output);
	return EXIT_ACCEPTED;
}

static int report_run(int argc, char **argv)
{
	struct report_arguments arguments = { .options = { .output = "report.html" } };
	struct error err = ERROR_NONE;
	const char *wrong = parse(argc, argv, &arguments);

	if (wrong)
		return command_usage(&command_report, "%s", wrong);
	if (arguments.help) {
		printf("%s\n\nusage: gpuproof %s\n", command_report.summary, command_report.usage);
		return EXIT_ACCEPTED;
	}
	if (arguments.dump && report_dump_templates(arguments.dump, &err) != STATUS_OK)
		return command_fail(&err);
	if (arguments.dump && optind == argc)
		return EXIT_ACCEPTED;
	if (optind == argc)
		return command_usage(&command_report, "which result?");
	return write_report(argv + optind, (size_t)(argc - optind), &arguments);
}

const struct command command_report = {
	.name = "report",
	.summary = "publish results as one HTML page",
	.usage = "report RESULT... [-o FILE] [--title TITLE] [--reference[=GPU,...]] [--baseline "
		 "GPU] [--memory-limits LIMIT,...] "
		 "[--layout single|dir] [--template-dir "
		 "DIR] [--dump-templates DIR]\n"
		 "       [--anonymise] [--anonymise-key FILE]\n"
		 "\n"
		 "One RESULT (result.json) gives a page about that run, several a comparison with "
		 "the first as the baseline.\n"
		 "  -o, --output FILE      the page (default: report.html)\n"
		 "  --title TITLE          its title\n"
		 "  --reference[=GPU,...]  beside it published figures and data sheets of these "
		 "GPUs (gpuproof "
		 "list gpus), or all\n"
		 "  --baseline GPU         the one that ratios are to (default: the oldest)\n"
		 "  --memory-limits LIMIT,...  names the fastest split of each model for devices of so much "
		 "memory: sizes\n"
		 "                         (8GiB), or GPUs (gpuproof list gpus)\n"
		 "  --layout single|dir    dir: also write report.css beside the page and link it, "
		 "for servers that block\n"
		 "                         inline style (Jenkins)\n"
		 "  --template-dir DIR     Mustache templates and report.css that replace the "
		 "built-in ones of the same name\n"
		 "  --dump-templates DIR   write the built-in ones into DIR, to be "
		 "edited\n" ANONYMISE_USAGE,
	.run = report_run,
};
