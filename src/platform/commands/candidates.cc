#include "src/platform/commands/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace kgpu::commands {
namespace {

const Flag* FindFlag(const Command& command, std::string_view name) {
  const auto found = std::ranges::find_if(command.flags, [name](const Flag& flag) {
    return flag.name == name || (!flag.letter.empty() && flag.letter == name);
  });
  return found == command.flags.end() ? nullptr : &*found;
}

const Command* FindChild(const Command& command, std::string_view name) {
  const auto found = std::ranges::find_if(
      command.commands, [name](const Command& child) { return child.name == name; });
  return found == command.commands.end() ? nullptr : &*found;
}

// Keeps those that begin with `typed`. Of several values with commas between, the last is typed:
// `before` is put in front of what is offered for it.
std::vector<Candidate> Matching(std::vector<Candidate> offered, std::string_view typed,
                                std::string before = "") {
  if (const size_t comma = typed.rfind(','); comma != std::string_view::npos) {
    before += typed.substr(0, comma + 1);
    typed.remove_prefix(comma + 1);
  }
  std::erase_if(offered, [typed](const Candidate& one) { return !one.word.starts_with(typed); });
  for (Candidate& one : offered) {
    one.word.insert(0, before);
  }
  return offered;
}

std::vector<Candidate> ValuesOf(const std::vector<std::string>& words, std::string_view kind,
                                const HostValues& values) {
  std::vector<Candidate> offered;
  for (const std::string& word : words) {
    offered.push_back({.word = word});
  }
  return offered.empty() ? values(kind) : offered;
}

std::vector<Candidate> OfferedFlags(const Command& command) {
  std::vector<Candidate> offered;
  for (const Flag& flag : command.flags) {
    offered.push_back({.word = flag.name, .description = flag.description});
  }
  return offered;
}

std::vector<Candidate> OfferedCommands(const Command& command) {
  std::vector<Candidate> offered;
  for (const Command& child : command.commands) {
    offered.push_back({.word = child.name, .description = child.description});
  }
  return offered;
}

// Candidates where neither a flag nor its value is expected.
std::vector<Candidate> OfferedArguments(const TypedCommand& typed, const HostValues& values) {
  const std::vector<Argument>& arguments = typed.command->arguments;
  if (arguments.empty()) {
    return {};
  }
  const Argument& argument = arguments[std::min(typed.arguments, arguments.size() - 1)];
  const bool is_taken = typed.arguments >= arguments.size() && !argument.is_many;
  return is_taken ? std::vector<Candidate>() : ValuesOf(argument.words, argument.name, values);
}

}  // namespace

TypedLine TypedLineOf(std::vector<std::string> words) {
  TypedLine line;
  std::string current = words.empty() ? "" : std::move(words.back());
  if (!words.empty()) {
    words.pop_back();
  }
  // "--output" "=" "json": the sign means the same as a blank.
  std::erase(words, "=");
  line.words = std::move(words);
  line.current = current == "=" ? "" : std::move(current);
  return line;
}

TypedCommand Locate(const Command& root, const TypedLine& line) {
  TypedCommand typed{.command = &root};
  for (size_t i = 0; i < line.words.size() && !typed.command->is_passed_on; ++i) {
    const std::string& word = line.words[i];
    if (typed.flag != nullptr) {
      typed.flag = nullptr;
    } else if (word.size() > 1 && word.starts_with('-')) {
      const Flag* flag = FindFlag(*typed.command, word);
      typed.flag = flag != nullptr && !flag->value.empty() ? flag : nullptr;
    } else if (const Command* child = FindChild(*typed.command, word)) {
      typed = {.command = child, .depth = i + 1};
    } else {
      ++typed.arguments;
    }
  }
  return typed;
}

std::vector<Candidate> CandidatesFor(const Command& root, const TypedLine& line,
                                     const HostValues& values) {
  const TypedCommand typed = Locate(root, line);
  if (typed.flag != nullptr) {
    return Matching(ValuesOf(typed.flag->words, typed.flag->value, values), line.current);
  }
  const size_t sign = line.current.find('=');
  if (line.current.starts_with('-') && sign != std::string::npos) {
    const std::string name = line.current.substr(0, sign);
    const Flag* flag = FindFlag(*typed.command, name);
    return flag == nullptr ? std::vector<Candidate>()
                           : Matching(ValuesOf(flag->words, flag->value, values),
                                      std::string_view(line.current).substr(sign + 1), name + "=");
  }
  if (line.current.starts_with('-')) {
    return Matching(OfferedFlags(*typed.command), line.current);
  }
  std::vector<Candidate> offered =
      typed.arguments == 0 ? OfferedCommands(*typed.command) : std::vector<Candidate>();
  std::ranges::move(OfferedArguments(typed, values), std::back_inserter(offered));
  const bool takes_flags_alone =
      typed.command->arguments.empty() && typed.command->commands.empty();
  if (takes_flags_alone) {
    offered = OfferedFlags(*typed.command);
  }
  return Matching(std::move(offered), line.current);
}

std::string CandidatesText(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& one : candidates) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\n", one.word, one.description);
  }
  return text;
}

}  // namespace kgpu::commands
