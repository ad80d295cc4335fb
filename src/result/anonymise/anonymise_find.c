/* Finds identifying text by its form alone. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise_parts.h"

bool anonymise_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Digits of a hexadecimal number; 0 unless there are at least `least` and at most `most`. */
static size_t hex_run(const char *s, size_t least, size_t most)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n >= least && n <= most ? n : 0;
}

/* Length of 8-4-4-4-12 hexadecimal digits; 0: there are none. */
static size_t whole_uuid_at(const char *s)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (i && s[n++] != '-')
			return 0;
		if (!hex_run(s + n, groups[i], groups[i]))
			return 0;
		n += groups[i];
	}
	return n;
}

/* Length of a UUID, also of "GPU-8f1c2d3e": CUDA takes any beginning that only one device has. */
static size_t uuid_at(const char *s)
{
	size_t prefix = text_starts_with(s, "GPU-") || text_starts_with(s, "MIG-") ? 4 : 0;
	size_t n = whole_uuid_at(s + prefix);
	bool digit = false;

	if (n || !prefix)
		return n ? prefix + n : 0;
	for (; isxdigit((unsigned char)s[prefix + n]) || s[prefix + n] == '-'; n++)
		digit |= isdigit((unsigned char)s[prefix + n]) != 0;
	return n >= 2 && digit && !anonymise_in_word(s[prefix + n]) ? prefix + n : 0;
}

/* Length of "0000:3b:00.0" or "3b:00.0", and of "0000:3b:00" as nccl-tests write it; 0: no PCI address. */
static size_t pci_at(const char *s)
{
	size_t domain = hex_run(s, 4, 8), n = domain && s[domain] == ':' ? domain + 1 : 0, end = n + 5;
	bool function;

	if (!hex_run(s + n, 2, 2) || s[n + 2] != ':' || !hex_run(s + n + 3, 2, 2))
		return 0;
	function = s[end] == '.' && s[end + 1] >= '0' && s[end + 1] <= '7';
	if (!function)
		return n && s[end] != ':' && s[end] != '.' && !anonymise_in_word(s[end]) ? end : 0;
	end += 2;
	return anonymise_in_word(s[end]) || s[end] == '.' ? 0 : end;
}

/* Length of six groups of two hexadecimal digits with the same separator; 0: no hardware address. */
static size_t mac_at(const char *s)
{
	size_t n = 0;

	for (int i = 0; i < 6; i++, n += 2) {
		if (i && ((s[n] != ':' && s[n] != '-') || s[n++] != s[2]))
			return 0;
		if (!hex_run(s + n, 2, 2))
			return 0;
	}
	return n;
}

/* Versions have four numbers as well: "cuBLAS 12.8.4.1". */
static bool is_version(const char *text, const char *at)
{
	static const char *const before[] = { "version ", "cublas ", "cudnn ", "driver ", "runtime ", "release " };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		size_t length = strlen(before[i]);

		if ((size_t)(at - text) >= length && strncasecmp(at - length, before[i], length) == 0)
			return true;
	}
	return false;
}

/* Length of "10.20.30.40"; 0: none. A text that is nothing else may be a version. */
static size_t ipv4_at(const char *text, const char *at)
{
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		int value = 0, digits = 0;

		if (i && at[n++] != '.')
			return 0;
		for (; isdigit((unsigned char)at[n]) && digits < 4; n++, digits++)
			value = 10 * value + at[n] - '0';
		if (!digits || value > 255)
			return 0;
	}
	if (anonymise_in_word(at[n]) || (at[n] == '.' && isdigit((unsigned char)at[n + 1])))
		return 0;
	return (at == text && !at[n]) || is_version(text, at) ? 0 : n;
}

#define LONGEST_IPV6 39

/* Length of "fe80::1" or of eight groups, with "%eth0"; 0: none. A time has colons too, but no "::". */
static size_t ipv6_at(const char *s)
{
	size_t n = 0, colons = 0;
	bool gap = false, digit = false;

	while (n <= LONGEST_IPV6 && (isxdigit((unsigned char)s[n]) || s[n] == ':'))
		n++;
	if (n > LONGEST_IPV6)
		return 0;
	while (n && s[n - 1] == ':' && (n < 2 || s[n - 2] != ':'))
		n--;
	for (size_t i = 0; i < n; i++) {
		colons += s[i] == ':';
		gap |= i && s[i] == ':' && s[i - 1] == ':';
		digit |= isdigit((unsigned char)s[i]) != 0;
	}
	if (n < 3 || colons < 2 || colons > 7 || !digit || (!gap && colons != 7) || anonymise_in_word(s[n]))
		return 0;
	if (s[n] == '%')
		n += 1 + strcspn(s + n + 1, " \t\n<]/");
	return n;
}

/* The port after an address: "<53455>", ":53455". */
static size_t port_at(const char *s)
{
	size_t n = strspn(s + (*s != '\0'), "0123456789");

	if (*s == '<' && n && s[n + 1] == '>')
		return n + 2;
	return *s == ':' && n ? n + 1 : 0;
}

/* Length of an IP or hardware address with its port; 0: none. */
static size_t address_at(const char *text, const char *at)
{
	size_t n = mac_at(at);

	if (n)
		return anonymise_in_word(at[n]) ? 0 : n;
	n = ipv4_at(text, at);
	if (!n)
		n = ipv6_at(at);
	return n ? n + port_at(at + n) : 0;
}

/* Directories that begin a path even after a letter: "-I/home/alice", "rpath/opt/acme". */
static bool is_root(const char *s)
{
	static const char *const roots[] = {
		"/home/", "/root/",    "/Users/", "/srv/",	"/mnt/",    "/media/", "/data/",
		"/opt/",  "/scratch/", "/export/", "/nfs/",	"/gpfs/",   "/lustre/", "/var/",
		"/tmp/",  "/usr/local/", "/work/", "/projects/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (text_starts_with(s, roots[i]))
			return true;
	return false;
}

static bool is_common(const char *s)
{
	static const char *const everywhere[] = { "/proc/", "/sys/", "/dev/" };

	for (size_t i = 0; i < ARRAY_SIZE(everywhere); i++)
		if (text_starts_with(s, everywhere[i]))
			return true;
	return false;
}

/* Bytes of "/", "//", "./", "../", "~/" and "~alice/" before the first name of a path; 0: no path begins here. */
static size_t path_start(const char *s)
{
	size_t n = *s == '~' ? 1 : strspn(s, ".") <= 2 ? strspn(s, ".") : 0;

	if (*s == '~' && isalpha((unsigned char)s[1]))
		n += strspn(s + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	if (s[n] != '/')
		return 0;
	n += strspn(s + n, "/");
	return anonymise_in_word(s[n]) || s[n] == '.' || (unsigned char)s[n] >= 0x80 ? n : 0;
}

/* The end of a path that begins with a quote: the closing quote, blanks included; 0: there is none in the line. */
static size_t quoted_end(const char *text, const char *at)
{
	char quote = at > text ? at[-1] : '\0';
	size_t n;

	if (quote != '\'' && quote != '"' && quote != '`')
		return 0;
	n = strcspn(at, quote == '"' ? "\"\n" : quote == '`' ? "`\n" : "'\n");
	return at[n] == quote ? n : 0;
}

/* True if a path may begin at `at`, by the character before it. */
static bool path_may_begin(const char *text, const char *at)
{
	char before = at > text ? at[-1] : ' ';

	if (before == '/')
		return false;
	/* "https://": addresses of the web are sources; "file://" is a path. */
	if (before == ':' && text_starts_with(at, "//"))
		return at - text >= 5 && strncmp(at - 5, "file:", 5) == 0;
	if (anonymise_in_word(before)) /* "-I/srv/x" */
		return is_root(at) || (at - text >= 2 && at[-2] == '-' &&
				       (at - text == 2 || !anonymise_in_word(at[-3])));
	return !strchr(".~-", before);
}

static size_t path_at(const char *text, const char *at)
{
	size_t start = path_may_begin(text, at) ? path_start(at) : 0, n;

	if (!start || is_common(at))
		return 0;
	n = quoted_end(text, at);
	if (!n)
		n = start + strcspn(at + start, " \t\n\"'`,;:()[]<>|=");
	while (n > start && at[n - 1] == '.')
		n--;
	return n;
}

/* Length of "server9.x" in "server9.x:/export", as NFS writes where a directory is; 0: none. */
static size_t server_at(const char *text, const char *at)
{
	size_t n;

	if ((at > text && strchr("./-", at[-1])) || !isalnum((unsigned char)*at))
		return 0;
	n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
	return n >= 2 && at[n] == ':' && at[n + 1] == '/' && anonymise_in_word(at[n + 2]) ? n : 0;
}

size_t anonymise_identifier(const char *text, const char *at, const char **kind)
{
	bool within = at > text && anonymise_in_word(at[-1]);
	size_t n = 0;

	if (!within && (n = uuid_at(at)))
		*kind = "uuid";
	else if (!within && (n = mac_at(at) ? 0 : pci_at(at)))
		*kind = "pci";
	else if (!within && !(at > text && strchr(".:", at[-1]) && at - text > 1 && anonymise_in_word(at[-2])) &&
		 (n = address_at(text, at)))
		*kind = "address";
	else if (!within && (n = server_at(text, at)))
		*kind = "host";
	else if ((n = path_at(text, at)))
		*kind = "path";
	return n;
}
