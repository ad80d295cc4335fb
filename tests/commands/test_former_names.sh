#!/usr/bin/env bash
# Files of version 0.1 run, render, are checked and compared as before; former names are read, with a note.
set -u
program=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../data")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

fail() {
	echo "$*"
	cat out err
	failed=1
}

printf '[limit a]\nmetric = transfer.bandwidth\nsisters = 2 %%\nsisters_warn = 1 %%\n' >old.ini
sed 's/sisters/outlier_margin/' old.ini >new.ini
for result in "$data"/*.json "$data"/nights/*.json; do
	name=${result#"$data"/}
	"$program" report "$result" -o page.html >out 2>err || fail "report $name: exit code $?"
	grep -q '</html>' page.html || fail "report $name: no page"
	for limits in '' --limits=generic --limits=old.ini; do
		"$program" check "$result" $limits >out 2>err
		case $? in 2|3|1??) fail "check $name $limits: refused" ;; esac
	done
	"$program" check "$result" --limits=old.ini 2>&1 | grep -v ': note:' | sed 's/old\.ini/new.ini/' >out
	"$program" check "$result" --limits=new.ini >err 2>&1
	cmp -s out err || fail "check $name: a former name of a key gives another verdict"
	"$program" compare "$result" "$result" >out 2>err
	case $? in 2|3|1??) fail "compare $name with itself: refused" ;; esac
	if "$program" compare "$result" "$result" --json 2>/dev/null | grep -q '"sisters"'; then
		fail "compare $name: shows a former name"
	fi
done

cat >old.ini <<'END'
[suite transfer]
sisters = one
[suite launch]
sisters = one
[limit a]
metric = transfer.kept
sisters = 2 %
sisters_warn = 1 %
END
"$program" config show old.ini >out 2>err || fail "config show old.ini: exit code $?"
for line in 'identical_devices = one' 'outlier_margin = 2 %' 'outlier_margin_warn = 1 %'; do
	grep -qxF -- "$line" out || fail "config show old.ini: no '$line'"
done
! grep -q sisters out || fail "config show old.ini: shows a former name"
[ "$(grep -c 'sisters is now called identical_devices' err)" = 1 ] || fail "no note, or several, for one key"
grep -qxF 'old.ini:2: note: the key sisters is now called identical_devices; both names are accepted' err || fail "another note"
"$program" config validate old.ini >out 2>err || fail "config validate old.ini: exit code $?"
grep -qF 'old.ini:7: note: the key sisters is now called outlier_margin; both names are accepted' err || fail "validate: no note"

"$program" config show old.ini --set limit:a.sisters='3 %' >out 2>err || fail "--set with a former name: exit code $?"
grep -qxF 'outlier_margin = 3 %' out || fail "--set with a former name has no effect"

# A retired key is read, ignored and noted once; of another suite, or misspelt, it is an error as ever.
printf '[suite parallel]\nfusion = off\n[suite trainmem]\ntrial_time = 3 s\n[defaults]\npiece = 2MiB\n' >retired.ini
"$program" config show retired.ini --set parallel.predict_bus=1e9 >out 2>err || fail "retired keys: exit code $?"
for note in 'retired.ini:2: note: the key fusion no longer has' 'retired.ini:4: note: the key trial_time no longer has' \
	'retired.ini:6: note: the key piece no longer has' '--set parallel.predict_bus=1e9: note: the key predict_bus no longer has'; do
	[ "$(grep -cF -- "$note an effect" err)" = 1 ] || fail "no note '$note'"
done
! grep -q 'fusion\|trial_time\|piece\|predict_bus' out || fail "config show: shows a retired key"
printf '[suite matmul]\nfusion = off\n' >other.ini
"$program" config validate other.ini >out 2>err && fail "another suite's retired key: accepted"
grep -qF "other.ini:2: [suite matmul] has no key 'fusion'" err || fail "another suite's retired key: another message"
sed -E 's/\{"section": "[^"]*", "key": "(fusion|weight_gradient|predict_[a-z]*)"[^}]*\}, //g' "$data/acceptance_h100.json" >newer.json
! cmp -s "$data/acceptance_h100.json" newer.json || fail "no retired key in the stored result"
"$program" compare "$data/acceptance_h100.json" newer.json >out 2>err
[ $? = 0 ] || fail "compare without retired keys: refused"
! grep -q 'fusion\|predict_\|weight_gradient' out || fail "compare: a retired key at its default counts as a difference"

printf '[limit a]\nmetric = transfer.bandwidth\nsisters = 2 %%\noutlier_margin = 2 %%\n' >both.ini
"$program" config validate both.ini >out 2>err
[ $? -eq 2 ] || fail "both names of one key: accepted"
grep -qF 'both.ini:4: [limit a] outlier_margin' err || fail "both names of one key: no line"

printf '[limit a]\nmetric = transfer.bandwidth\nsisters = 2\n' >wrong.ini
"$program" config validate wrong.ini >out 2>err
[ $? -eq 2 ] || fail "a wrong value under a former name: accepted"
grep -qF "wrong.ini:3: [limit a] outlier_margin = 2: '2' lacks a unit" err || fail "a wrong value: another message"
# A history of an earlier version: each renamed metric's series continues under its current name.
sed -n 's/.*NAME_METRIC, "", "\([^"]*\)", "\([^"]*\)".*/\1 \2/p' "$data/../../src/base/former_names.c" >metrics
[ -s metrics ] || fail "no renamed metric is listed"
while read -r former current; do
	rm -f old.db
	"$program" history add "$data/quick_h200.json" --db old.db >out 2>err || fail "history add: exit code $?"
	python3 - "$former" <<'PY' || fail "the history cannot be changed"
import sqlite3, sys
db = sqlite3.connect("old.db")
series = db.execute("SELECT min(id) FROM series WHERE headline = 1").fetchone()
db.execute("UPDATE series SET metric = ? WHERE id = ?", (sys.argv[1], series[0]))
db.commit()
PY
	"$program" history trend --db old.db --all --metric "$current" >out 2>err || fail "history trend: exit code $?"
	grep -q "no series" out err && fail "$former: its series did not continue as $current"
done <metrics
exit $failed
