#!/usr/bin/env bash
# Enters Sluice in the suite of onthebench.ai: the functions that its runner calls, with $MOCK_PORT, $CORES and $GW_DIR set.
#
# What is measured is what is served: an API key, rate limits, holds, and a ledger that is on the disk before a response
# ends. Nothing is switched off, so the governed launch is the same one. Limits are set where no request meets them.
GW_KIND=native
GW_DISPLAY="Sluice"
GW_LANG=TypeScript
GW_CLASS="LLM gateway"
GW_PORT=${GW_PORT:-8787}
GW_PATH=/v1/chat/completions
GW_ANTHROPIC_PATH=/v1/messages
GW_MODEL=gpt-4o-mini
GW_AUTH=sk-benchbenchbenchbenchbenchbenchbenchbench
GW_MATRIX_EGRESS="openai openai-responses anthropic"

SLUICE_DATA_DIR=$GW_DIR/data

# The executable: $SLUICE_BIN, or compiled from $SLUICE_SOURCE, by default the clone that this folder is in.
gw_build() {
  [ -x "${SLUICE_BIN:=$GW_DIR/sluice}" ] && return 0
  local source=${SLUICE_SOURCE:-$GW_DIR/../..}
  (cd "$source" && deno task compile) && cp "$source/dist/sluice" "$SLUICE_BIN"
}

gw_version() { "${SLUICE_BIN:-$GW_DIR/sluice}" --version; }

# $1: the upstream's dialect as Sluice calls it
_sluice_launch() {
  gw_stop
  mkdir -p "$SLUICE_DATA_DIR"
  cat > "$GW_DIR/sluice.jsonc" <<JSON
{
  "host": "127.0.0.1",
  "port": $GW_PORT,
  "logLevel": "error",
  "owner": { "key": "$GW_AUTH" },
  "credits": { "ownerGrant": 1e12 },
  "tiers": [{ "above": 0, "minute": 1e12, "hour": 1e12, "day": 1e12 }],
  "limits": { "accountShare": 1 },
  "upstreams": { "mock": { "url": "http://127.0.0.1:$MOCK_PORT/v1", "key": "x", "dialect": "$1" } },
  "routes": {
    "$GW_MODEL": {
      "context": 128000,
      "prices": { "input": 100, "cached": 25, "output": 400 },
      "minimum": 1,
      "targets": [{ "upstream": "mock", "model": "$GW_MODEL" }]
    }
  }
}
JSON
  # settings of the machine's own must not get in; its home is this folder
  setsid taskset -c "$CORES" env -i PATH="$PATH" HOME="$GW_DIR" \
    "${SLUICE_BIN:-$GW_DIR/sluice}" serve --data "$SLUICE_DATA_DIR" --config "$GW_DIR/sluice.jsonc" \
    </dev/null >"$GW_DIR/sluice.log" 2>&1 &
  echo $! > "$GW_DIR/sluice.pid"
}

gw_launch() { _sluice_launch chat; }

gw_matrix_egress() {
  case $1 in
    openai) _sluice_launch chat ;;
    openai-responses) _sluice_launch responses ;;
    anthropic) _sluice_launch messages ;;
    *) return 1 ;;
  esac
}

gw_governed_launch() { gw_launch; }
gw_governed_token() { echo "$GW_AUTH"; }

_sluice_pid() { cat "$GW_DIR/sluice.pid" 2>/dev/null; }
# $1: a line of /proc/PID/status in kB
_sluice_mib() { awk -v name="$1:" '$1 == name { printf "%.1f", $2 / 1024 }' "/proc/$(_sluice_pid)/status" 2>/dev/null; }
gw_rss() { _sluice_mib VmRSS; }
gw_hwm() { _sluice_mib VmHWM; }

gw_diag() { tail -n 20 "$GW_DIR/sluice.log" 2>/dev/null; }

gw_stop() {
  local pid
  pid=$(_sluice_pid) || return 0
  kill "$pid" 2>/dev/null
  # in-flight requests end first
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -9 "$pid" 2>/dev/null
  rm -rf "$GW_DIR/sluice.pid" "$SLUICE_DATA_DIR"
}
