#!/usr/bin/env python3
"""Checks the texts that users read: strings of src and suites, help topics, README and docs.

usage: user_texts.py TOP

No text has a phrase of user_texts.txt, begins a sentence with a noun clause (What ..., Of ...), or has a sentence of more
than 25 words. user_texts.txt lists the phrases, and exceptions by file prefix. Prints one line for each and exits 1, or exits 0.
"""
import os
import re
import sys

MOST_WORDS = 25
MOST_EXCEPTIONS = 20
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|(?:\s|\\\n)+|\w+|.", re.S)
NOUN_CLAUSE = re.compile(r"(?:^|[.:;] )(What|Of|That|How|Whether)(?= [a-z%])(?! to | it works|ever)(?![^.:;]*\?)")
SQL = re.compile(r"^(SELECT|CREATE|ALTER|INSERT|UPDATE|DELETE|PRAGMA|WITH) ")


def strings(source):
	"""The string literals of C source, neighbours joined."""
	joined = None
	for match in TOKEN.finditer(source):
		token = match.group(0)
		if token[0] == '"':
			joined = (joined or "") + token[1:-1]
		elif token.replace("\\\n", "").strip():
			if joined is not None:
				yield joined
			joined = None


def paragraphs(text):
	return (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def sentences(text):
	return re.split(r"(?<=[.;:?!])\s|\\n", text)


def texts(top):
	for folder in ("src", "suites"):
		for path, _, names in sorted(os.walk(os.path.join(top, folder))):
			for name in sorted(n for n in names if n.endswith((".c", ".h", ".def"))):
				with open(os.path.join(path, name), encoding="utf-8") as f:
					for text in strings(f.read()):
						if len(re.findall("[A-Za-z]{2,}", text)) > 1 and " " in text and not SQL.match(text):
							yield os.path.relpath(os.path.join(path, name), top), text, True
	documents = ["README.md", "SECURITY.md"]
	documents += sorted("docs/topics/" + n for n in os.listdir(os.path.join(top, "docs/topics")) if n.endswith(".txt"))
	for name in documents:
		with open(os.path.join(top, name), encoding="utf-8") as f:
			for text in paragraphs(f.read()):
				yield name, text, False
	for name in sorted(n for n in os.listdir(os.path.join(top, "docs/commands"))):
		with open(os.path.join(top, "docs/commands", name), encoding="utf-8") as f:
			for text in f.read().splitlines():
				yield "docs/commands/" + name, text, False


def faults(text, is_string, phrases):
	for phrase, instead in phrases:
		if phrase.search(text):
			yield phrase.pattern, instead
	if NOUN_CLAUSE.search(text):
		yield "noun clause", "begin with the actor, then its verb"
	if is_string:
		for sentence in sentences(text):
			if len(re.findall(r"[A-Za-z][\w'-]*", sentence)) > MOST_WORDS:
				yield "long sentence", "at most %d words" % MOST_WORDS


def read_rules(top):
	phrases, exceptions = [], []
	with open(os.path.join(top, "tests/project/user_texts.txt"), encoding="utf-8") as f:
		for line in f:
			first, _, second = line.rstrip("\n").partition("\t")
			if line.startswith("allow "):
				exceptions.append((first[6:], second))
			elif line.strip() and not line.startswith("#"):
				phrases.append((re.compile(first), second))
	return phrases, exceptions


def main(top):
	phrases, exceptions = read_rules(top)
	used, failed = set(), False
	if len(exceptions) > MOST_EXCEPTIONS:
		print("user_texts.txt has %d exceptions, more than %d" % (len(exceptions), MOST_EXCEPTIONS))
		failed = True
	for name, text, is_string in texts(top):
		for fault, instead in faults(text, is_string, phrases):
			allowed = [e for e in exceptions if name.startswith(e[0]) and fault == e[1]]
			used.update(allowed)
			if not allowed:
				print("%s: %s: %s\n    instead: %s" % (name, fault, text[:150], instead))
				failed = True
	for exception in exceptions:
		if exception not in used:
			print("user_texts.txt: no text needs the exception %s, %s" % exception)
			failed = True
	return failed


if __name__ == "__main__":
	sys.exit(main(sys.argv[1]))
