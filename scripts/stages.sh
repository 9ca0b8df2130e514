# Sourced by .ci/run and scripts/nightly.sh: runs their stages and keeps what each took.
# shellcheck shell=bash

kgpu_stages=${kgpu_top:?}/build/stages
mkdir -p "$kgpu_top/build"
: >"$kgpu_stages"

# stage BUDGET TITLE COMMAND …: runs the command and notes its minutes. BUDGET: minutes on two cores
# without a compiler cache; a fifth more prints a warning. TITLE: at most 40 letters.
stage() (
  budget=$1 title=$2
  shift 2
  started=$SECONDS status=0
  step "stage: $title"
  "$@" || status=$?
  minutes=$(awk -v s="$((SECONDS - started))" 'BEGIN { printf "%.1f", s / 60 }')
  # Of what this subshell has waited for: the second line of `times`, which would be another one's in a
  # pipe.
  taken=$kgpu_stages.$BASHPID
  times >"$taken"
  cpu=$(awk 'NR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/)
    printf "%.1f", user[1] + kernel[1] + (user[2] + kernel[2]) / 60 }' "$taken")
  rm -f "$taken"
  printf '%s\t%s\t%s\t%s\t%s\n' "$title" "$minutes" "$cpu" "$budget" "$status" >>"$kgpu_stages"
  if awk -v a="$minutes" -v b="$budget" 'BEGIN { exit !(a > b * 1.2) }'; then
    step "WARNING: '$title' took $minutes minutes, its budget is $budget"
  fi
  return "$status"
)

# The same, for what scripts/nightly.sh runs too: left out, and named, on a machine so slow that the run
# would not end within its limit of 90 minutes.
stage_in_time() {
  if [ "$((SECONDS / 60 + $1 * 2))" -gt "${KGPU_STAGE_LIMIT:-82}" ]; then
    step "LEFT OUT: '$2' would end too late on this machine: scripts/nightly.sh runs it"
    printf '%s\t-\t0\t%s\t0\n' "$2 (left out)" "$1" >>"$kgpu_stages"
    return 0
  fi
  stage "$@"
}

# The table of all stages so far, to standard error.
print_stages() {
  step "what each stage took (minutes; they may overlap)"
  awk -F '\t' -v total="$((SECONDS / 60))" '
    BEGIN { printf "%-42s %8s %8s %8s\n", "stage", "passed", "CPU", "budget" }
    { printf "%-42s %8s %8s %8s%s\n", $1, $2, $3, $4, $5 == 0 ? "" : "  FAILED"; cpu += $3 }
    END { printf "%-42s %8s %8.1f\n", "together", total, cpu }' "$kgpu_stages" >&2
}
