#include "src/cli/completion.h"

#include <fmt/format.h>

#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

// Calls `visit` with each verb and the words that lead to it ("kgpu cdi generate").
template <typename Visit>
void Walk(const Verb& verb, const std::string& words, const Visit& visit) {
  visit(verb, words);
  for (const Verb& child : verb.verbs) {
    Walk(child, fmt::format("{} {}", words, child.name), visit);
  }
}

std::string NamesOf(const Verb& verb) {
  std::vector<std::string> names;
  names.reserve(verb.verbs.size() + verb.flags.size());
  for (const Verb& child : verb.verbs) {
    names.push_back(child.name);
  }
  names.insert(names.end(), verb.flags.begin(), verb.flags.end());
  return Join(names, " ");
}

// One case per path of verbs; flags among the words are skipped, with what stands behind them.
std::string Bash(const Verb& root) {
  std::string cases;
  std::string values;
  std::string known = "|";
  Walk(root, root.name, [&](const Verb& verb, const std::string& words) {
    fmt::format_to(std::back_inserter(known), "{}|", words);
    fmt::format_to(std::back_inserter(cases), "    '{}') names='{}' ;;\n", words, NamesOf(verb));
    for (const FlagWords& offer : verb.values) {
      fmt::format_to(std::back_inserter(values), "    '{} {}') names='{}' ;;\n", words, offer.flag,
                     Join(offer.words, " "));
    }
  });
  return fmt::format(
      R"(# bash completion for {0}: source <({0} completion bash)
_{0}_complete() {{
  local words='{0}' word names='' i head='' now=${{COMP_WORDS[COMP_CWORD]}}
  local known='{3}'
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    if [[ $known == *"|$words $word|"* || ! ($word == [-=]* || ${{COMP_WORDS[i - 1]}} == [-=]*) ]]; then
      words+=" $word"
    fi
  done
  case $words in
{1}    *) names='' ;;
  esac
  case "$words ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{2}    *) ;;
  esac
  [[ $now == *,* ]] && head=${{now%,*}},
  mapfile -t COMPREPLY < <(compgen -P "$head" -W "$names" -- "${{now##*,}}")
}}
complete -o default -F _{0}_complete {0}
)",
      root.name, cases, values, known);
}

std::string Zsh(const Verb& root) {
  return fmt::format(
      "#compdef {0}\n# zsh completion for {0}: source <({0} completion zsh)\n"
      "autoload -U +X bashcompinit && bashcompinit\n{1}",
      root.name, Bash(root));
}

// fish has no single quotes inside single quotes; descriptions lose theirs.
std::string FishQuoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted;
}

std::string Fish(const Verb& root) {
  std::string out =
      fmt::format("# fish completion for {0}: {0} completion fish | source\n", root.name);
  const auto put = std::back_inserter(out);
  Walk(root, "", [&](const Verb& verb, const std::string& words) {
    std::string condition = "__fish_use_subcommand";
    if (!words.empty()) {
      condition = fmt::format("__fish_seen_subcommand_from {}", verb.name);
    }
    for (const Verb& child : verb.verbs) {
      fmt::format_to(put, "complete -c {} -n '{}' -a {} -d '{}'\n", root.name, condition,
                     child.name, FishQuoted(child.description));
    }
    for (const std::string& flag : verb.flags) {
      if (flag.starts_with("--")) {
        fmt::format_to(put, "complete -c {} -n '{}' -l {}\n", root.name, condition, flag.substr(2));
      }
    }
    for (const FlagWords& offer : verb.values) {
      fmt::format_to(put, "complete -c {} -n '{}' -l {} -x -a '{}'\n", root.name, condition,
                     offer.flag.substr(2), Join(offer.words, " "));
    }
  });
  return out;
}

}  // namespace

StatusOr<std::string> CompletionScript(const Verb& root, std::string_view shell) {
  if (shell == "bash") {
    return Bash(root);
  }
  if (shell == "zsh") {
    return Zsh(root);
  }
  if (shell == "fish") {
    return Fish(root);
  }
  return InvalidArgument("completion: shell: \"{}\" must be bash, zsh or fish",
                         Printable(shell, 40));
}

}  // namespace kgpu::cli
