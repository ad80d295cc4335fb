#!/usr/bin/env bash
# docs/claims.md has sixty rows; each names claims that are shipped, and every shipped claim is in one. A row says what it needs
# exactly where no measure of its claims decides anything on one machine, and at most six do.
set -euo pipefail
cd "$(dirname "$0")/../.."

awk '
	function close_measure() {
		if (measure && bounded && !across && !optional)
			decided[claim] = 1
		measure = bounded = across = optional = 0
	}
	FNR == 1 { close_measure() }
	FILENAME ~ /\.ini$/ {
		if ($0 ~ /^\[claim /) { close_measure(); claim = $2; sub(/\]/, "", claim); shipped[claim] = 1 }
		else if ($0 ~ /^\[measure /) { close_measure(); measure = 1 }
		else if ($0 ~ /^(min|max) = /) bounded = 1
		else if ($0 ~ /^across = /) across = 1
		else if ($0 ~ /^optional = yes/) optional = 1
		next
	}
	/^\| [0-9]+ \|/ {
		split($0, cell, / *\| */)
		rows++
		if (cell[2] != rows) { print "row " rows " has the number " cell[2]; bad = 1 }
		count = split(cell[5], ids, /, /)
		here = 0
		for (i = 1; i <= count; i++) {
			if (!(ids[i] in shipped)) { print "row " rows ": no claim " ids[i]; bad = 1 }
			named[ids[i]] = 1
			here += ids[i] in decided
		}
		if (count == 0) { print "row " rows " names no claim"; bad = 1 }
		if (cell[6] != "") needing++
		if ((cell[6] != "") == (here > 0)) { print "row " rows ": \"" cell[6] "\", and " here + 0 " of its claims are decided here"; bad = 1 }
	}
	END {
		for (id in shipped) if (!(id in named)) { print "claim " id " is in no row"; bad = 1 }
		if (rows != 60) { print rows + 0 " rows, not 60"; bad = 1 }
		if (needing > 6) { print needing " rows cannot be decided on one machine, more than 6"; bad = 1 }
		exit bad
	}
' configs/claims/*.ini docs/claims.md
