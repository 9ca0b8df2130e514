#include "src/platform/commands/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/base/suggest.h"
#include "src/platform/commands/command_tree.h"
#include "src/platform/commands/parse_problem.h"

namespace kgpu::commands {
namespace {

constexpr size_t kMaxShown = 40;  // characters of a word

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* child : app.get_subcommands(nullptr)) {
    // A former name has no group; an option group has no name.
    if (!child->get_group().empty() && !child->get_name().empty()) {
      names.push_back(child->get_name());
    }
  }
  return names;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// "did you mean devices?", or `otherwise`.
std::string Advice(std::string_view word, const std::vector<std::string>& names,
                   const std::string& otherwise) {
  const std::string question = DidYouMean(Suggest(word, {names.begin(), names.end()}));
  return question.empty() ? otherwise : question;
}

bool IsFlag(std::string_view word) {
  return word.size() > 1 && word.starts_with('-');
}

std::string UnknownFlag(const Reached& reached, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const std::vector<std::string> flags = FlagsOf(*reached.app);
  // -n is --namespace, as in kubectl; it was --dry-run here once.
  if (name == "-n" && std::ranges::find(flags, "--dry-run") != flags.end()) {
    return fmt::format("{}: unknown flag \"-n\": did you mean --dry-run?", reached.words);
  }
  return fmt::format("{}: unknown flag \"{}\": {}", reached.words, Printable(name, kMaxShown),
                     Advice(name, flags, fmt::format("see {} --help", reached.words)));
}

}  // namespace

std::string UnknownCommand(const CLI::App& app, const UsualWords& usual) {
  const Reached reached = ReachedBy(app);
  const std::vector<std::string> left = app.remaining(true);
  const std::vector<std::string> names = CommandsOf(*reached.app);
  if (left.empty() || IsFlag(left.front()) || names.empty()) {
    return "";
  }
  const auto meant = reached.app == &app ? usual.find(left.front()) : usual.end();
  if (meant != usual.end()) {
    return fmt::format("{}: unknown command \"{}\": did you mean {}?", reached.words, left.front(),
                       meant->second);
  }
  return fmt::format(
      "{}: unknown command \"{}\": {}", reached.words, Printable(left.front(), kMaxShown),
      Advice(left.front(), names, fmt::format("choose one of {}", Join(names, ", "))));
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error, const UsualWords& usual) {
  if (std::string unknown = UnknownCommand(app, usual); !unknown.empty()) {
    return unknown;
  }
  const Reached reached = ReachedBy(app);
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) {
    return fmt::format("{}: {}\nusage: {}", reached.words, ParseProblem(*reached.app, error),
                       UsageLine(reached));
  }
  if (IsFlag(left.front())) {
    return UnknownFlag(reached, left.front());
  }
  return fmt::format("{}: unexpected argument \"{}\": see {} --help", reached.words,
                     Printable(left.front(), kMaxShown), reached.words);
}

}  // namespace kgpu::commands
