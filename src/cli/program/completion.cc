#include "src/cli/program/completion.h"

#include <algorithm>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/cli/base/output.h"
#include "src/cli/program/host_values.h"
#include "src/cli/program/program.h"
#include "src/cli/program/sim.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

// Where nothing is offered, -o default offers files.
constexpr std::string_view kBash = R"(# bash completion for kgpu: source <(kgpu completion bash)
_kgpu_complete() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kgpu_complete kgpu
)";

constexpr std::string_view kZsh = R"(#compdef kgpu
# zsh completion for kgpu: source <(kgpu completion zsh), after compinit
compdef _kgpu kgpu
_kgpu() {
  local line
  local -a offered
  for line in "${(@f)$(${~words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && offered+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#offered )); then
    _describe kgpu offered
  else
    _files
  fi
}
# Not where the file is only read.
if [[ $funcstack[1] == _kgpu ]]; then
  _kgpu
fi
)";

constexpr std::string_view kFish = R"(# fish completion for kgpu: kgpu completion fish | source
function __kgpu_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l offered ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test (count $offered) -gt 0
        printf '%s\n' $offered
    else
        __fish_complete_path "$current"
    end
end
complete -c kgpu -f -a '(__kgpu_complete)'
)";

}  // namespace

StatusOr<std::string> CompletionScript(std::string_view shell) {
  if (shell == "bash") {
    return std::string(kBash);
  }
  if (shell == "zsh") {
    return std::string(kZsh);
  }
  if (shell == "fish") {
    return std::string(kFish);
  }
  return InvalidArgument("completion: shell: \"{}\" must be bash, zsh or fish",
                         Printable(shell, 40));
}

StatusOr<ExitCode> PrintCandidates(std::vector<std::string> words) {
  // What may follow `kgpu help` and `kgpu man` are commands, as after kgpu itself; what follows a
  // flag may be its value.
  if (words.size() > 1 && (words.front() == "help" || words.front() == "man") &&
      std::ranges::none_of(words, [](const std::string& word) { return word.starts_with('-'); })) {
    words.erase(words.begin());
  }
  const commands::TypedLine line = commands::TypedLineOf(std::move(words));
  const commands::Command root = Program(line.words.empty() ? "" : line.words.front()).Tree();
  const commands::TypedCommand typed = commands::Locate(root, line);
  if (typed.command->is_passed_on) {
    std::vector<std::string> rest = {"__complete"};
    rest.insert(rest.end(), line.words.begin() + static_cast<ptrdiff_t>(typed.depth),
                line.words.end());
    rest.push_back(line.current);
    return OkOr(RunSim(rest));
  }
  const HostSource source = HostSourceOf(line, Environment());
  return OkOr(PrintOut(commands::CandidatesText(commands::CandidatesFor(
      root, line, [&source](std::string_view kind) { return HostValuesOf(source, kind); }))));
}

}  // namespace kgpu::cli
