#!/usr/bin/env bash
# Proves that a Java program can read what the syncer stores: a Git history of
# awkward specs goes through bin/syncer into a Redis of its own, and ReadSpecs
# reads it back with Jackson. Needs bin/syncer (make build); installs by apt
# what else is absent. Everything that it starts ends with it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
syncer=$here/../bin/syncer
jars=/usr/share/java
prefix=streaming:runtime:control:

fail() { echo "interop: $*" >&2; exit 1; }

install_absent() {
	local need=() sudo=
	command -v git >/dev/null || need+=(git)
	command -v redis-server >/dev/null || need+=(redis-server)
	command -v javac >/dev/null || need+=(default-jdk-headless)
	[[ -e $jars/jackson-databind.jar && -e $jars/jackson-core.jar && -e $jars/jackson-annotations.jar ]] ||
		need+=(libjackson2-databind-java)
	((${#need[@]})) || return 0
	[[ $(id -u) == 0 ]] || sudo=sudo
	echo "interop: installing ${need[*]}"
	$sudo apt-get update -qq
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
}

[[ -x $syncer ]] || fail "bin/syncer is not there: run make build first"
install_absent

tmp=$(mktemp -d)
redis_pid=
cleanup() {
	if [[ -n $redis_pid ]]; then
		kill "$redis_pid" 2>/dev/null || true
		wait "$redis_pid" 2>/dev/null || true
	fi
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# start_redis takes a port at random until one is free. The answer must come
# from our own server, not from another one that has the port.
start_redis() {
	local deadline
	for _ in {1..20}; do
		port=$((20000 + RANDOM % 12000))
		redis-server --port "$port" --bind 127.0.0.1 --dir "$tmp" --save "3600 1" --appendonly no \
			--maxmemory-policy noeviction >"$tmp/redis.log" 2>&1 &
		redis_pid=$!
		deadline=$((SECONDS + 10))
		while kill -0 "$redis_pid" 2>/dev/null && ((SECONDS < deadline)); do
			if redis-cli -p "$port" info server 2>/dev/null | tr -d '\r' | grep -qx "process_id:$redis_pid"; then
				return 0
			fi
			sleep 0.05
		done
		kill "$redis_pid" 2>/dev/null || true
		wait "$redis_pid" 2>/dev/null || true
		redis_pid=
	done
	cat "$tmp/redis.log" >&2
	fail "redis-server did not start"
}

# The repository. Nothing of the machine's Git configuration reaches it.
repo=$tmp/repo
zoe='Zoë 李 <zoe@example.com>'
bob="Bob O'Neil & Söhne <bob@example.com>"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_COMMITTER_NAME=merge-bot GIT_COMMITTER_EMAIL=bot@example.com
clock=1700000000

g() { git -C "$repo" "$@"; }

# as ACTOR: who makes the commits that follow.
as() {
	export GIT_AUTHOR_NAME=${1% <*} GIT_AUTHOR_EMAIL=${1##*<}
	GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL%>}
}

# tick: a minute passes.
tick() {
	clock=$((clock + 60))
	export GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000"
}

commit() {
	tick
	g add --all
	g commit --quiet --message "$1"
}

# spec NAME: a document; its spec comes from standard input.
spec() {
	{
		printf 'apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: %s}\nspec:\n' "$1"
		sed 's/^/  /'
	} >"$repo/jobs/$1.yaml"
}

orders() { # PARALLELISM
	spec orders <<-YAML
		pipelineFactory: kafka-to-redis
		parallelism: $1
		description: 处理订单
		config: {b: "2", a.b: "4", a: "1", B: "3"}
	YAML
}

retired() { # PARALLELISM
	spec retired <<<"{pipelineFactory: enrich, parallelism: $1}"
}

comeback() {
	spec comeback <<<'{pipelineFactory: enrich, description: gone and back}'
}

nightly() { # SUSPEND
	spec nightly <<<"{pipelineFactory: enrich, suspend: $1}"
}

first_commits() {
	git init --quiet --initial-branch main "$repo"
	mkdir "$repo/jobs"
	as "$zoe"
	orders 4
	spec j <<-'YAML'
		pipelineFactory: f
		config: {"Ａ": bmp, "😀": smp}
	YAML
	spec plain <<<'pipelineFactory: f'
	spec odd <<-'YAML'
		pipelineFactory: f
		description: '<b>"bold" & ''brave''</b> \o/ 😀'
		config:
		  html: "<a href='x'>&amp;</a>"
		  quotes: "\"double\" 'single' `back`"
		  backslash: 'C:\temp\new\u0041'
		  separators: "a\u2028b\u2029c"
		  tab: "a\tb"
		  block: |
		    first
		      second
		  empty: ""
		  collides: a=1;b=2|c
		  "ключ": значение
	YAML
	spec counter <<<'{pipelineFactory: f, config: {step: "1"}}'
	spec parked <<<'{pipelineFactory: f, suspend: true}'
	nightly true
	retired 1
	comeback
	commit 'the first jobs'

	orders 1024
	commit 'orders: all that there is'
	upgrade=$(g rev-parse HEAD)

	as "$bob"
	spec j <<-'YAML'
		pipelineFactory: f
		config: {secret.raw: "a <literal> & more", secret.db: env:DB_PASS}
	YAML
	commit 'j: read from the database'
	retired 2
	commit 'retired: one more'
	rm "$repo/jobs/comeback.yaml"
	commit 'comeback: not needed'
}

later_commits() {
	as "$zoe"
	tick
	g revert --no-edit "$upgrade" >/dev/null
	as "$bob"
	for step in {2..13}; do
		spec counter <<<"{pipelineFactory: f, config: {step: \"$step\"}}"
		commit "counter: step $step"
	done
	rm "$repo/jobs/retired.yaml"
	commit 'retired: as its name says'
	nightly false
	commit 'nightly: run'
	comeback
	commit 'comeback: needed after all'
}

sync() { # TENANT
	echo "interop: syncer run --once, tenant $1, $(g rev-list --count HEAD) commits"
	"$syncer" run --once --repo "$repo" --tenant "$1" --cid X8FD --pavilion NT:1 \
		--redis "redis://127.0.0.1:$port" --state-dir "$tmp/state" >"$tmp/syncer.log" 2>&1 || {
		cat "$tmp/syncer.log" >&2
		fail "the syncer refused or failed"
	}
}

# fact WORDS...: a line of what ReadSpecs has to find.
fact() {
	local IFS=$'\t'
	echo "$*"
}

sha() { printf '%s' "$1" | sha256sum | cut -d' ' -f1; }

# expect TENANT: what the history above has to become. The hash inputs are
# spelled out here, apart from both implementations.
expect() {
	local t=$1 odd
	odd="odd|$t|f|"
	odd+='backslash=C:\temp\new\u0041;block=first'$'\n''  second'$'\n'';collides=a=1;b=2|c;empty=;'
	odd+="html=<a href='x'>&amp;</a>;"'quotes="double" '"'single' \`back\`;"
	odd+=$'separators=a\u2028b\u2029c;tab=a\tb;ключ=значение;'
	odd+="|1|<b>\"bold\" & 'brave'</b> \\o/ 😀"

	fact live "$t" orders 3 "$(sha "orders|$t|kafka-to-redis|B=3;a=1;a.b=4;b=2;|4|处理订单")" PENDING_DEPLOY "$zoe"
	fact past "$t" orders 2 "$(sha "orders|$t|kafka-to-redis|B=3;a=1;a.b=4;b=2;|1024|处理订单")"
	fact live "$t" j 2 "$(sha "j|$t|f|secret.db=env:DB_PASS;secret.raw=***;|1|")" PENDING_DEPLOY "$bob"
	fact past "$t" j 1 "$(sha "j|$t|f|😀=smp;Ａ=bmp;|1|")"
	fact live "$t" plain 1 "$(sha "plain|$t|f||1|")" PENDING_DEPLOY "$zoe"
	fact live "$t" odd 1 "$(sha "$odd")" PENDING_DEPLOY "$zoe"
	fact live "$t" counter 13 "$(sha "counter|$t|f|step=13;|1|")" PENDING_DEPLOY "$bob"
	fact past "$t" counter 3 "$(sha "counter|$t|f|step=3;|1|")"
	fact live "$t" parked 1 "$(sha "parked|$t|f||1|")" DESIRED_STOPPED "$zoe"
	fact live "$t" nightly 2 "$(sha "nightly|$t|enrich||1|")" PENDING_DEPLOY "$bob"
	fact live "$t" comeback 2 "$(sha "comeback|$t|enrich||1|gone and back")" PENDING_DEPLOY "$bob"
	fact removed "$t" retired 2

	fact audit "$t" orders SUBMIT - 1
	fact audit "$t" orders UPGRADE 1 2
	fact audit "$t" orders ROLLBACK 2 3
	fact audit "$t" retired STOP 2 -
	fact audit "$t" nightly RESUME 1 2
	fact audit "$t" comeback ROLLBACK 1 2
}

# The contract's own vectors, for the tenant default.
vectors() {
	fact live default orders 3 59f800e06faaa8ec9267a558c7566b3b84ae10edaad10c8cb450b6d7ef93da3e PENDING_DEPLOY "$zoe"
	fact past default j 1 845ce3b6cfd774add75b81fb9dcbcdf2c1474d20ae4ceb017665f231ec924c39
	fact live default j 2 194602fffbf89a6838a14cf71c702dd9a13f6e6af59f7bd3d9f28d58ef56f5e6 PENDING_DEPLOY "$bob"
}

start_redis
first_commits
sync default
later_commits
sync default # goes on from where it was
sync acme    # reads the whole line at once, and must come to the same versions

{ expect default; expect acme; vectors; } >"$tmp/expected"

classpath=$jars/jackson-databind.jar:$jars/jackson-core.jar:$jars/jackson-annotations.jar
mkdir "$tmp/classes"
javac --release 17 -encoding UTF-8 -Xlint:all,-path -cp "$classpath" -d "$tmp/classes" "$here/ReadSpecs.java"
java -cp "$tmp/classes:$classpath" ReadSpecs 127.0.0.1 "$port" "$prefix" "$tmp/expected"
