// What shell completion offers for a command line that is being typed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/commands/command.h"

namespace kgpu::commands {

struct Candidate {
  std::string word;
  std::string description{};
  bool operator==(const Candidate&) const = default;
};

// A command line up to the word that is being typed.
struct TypedLine {
  std::vector<std::string> words;  // complete words, without the program's name
  std::string current;             // may be empty
};

// From the words that a shell passes on; the last one is being typed. bash splits "--output=json"
// into three words.
TypedLine TypedLineOf(std::vector<std::string> words);

// What has been typed of a command so far.
struct TypedCommand {
  const Command* command = nullptr;
  const Flag* flag = nullptr;  // the flag whose value is being typed; null: none
  size_t arguments = 0;        // arguments before the word that is being typed
  size_t depth = 0;            // number of words that name the command
};
TypedCommand Locate(const Command& root, const TypedLine& line);

// The values of a kind that only the host knows, such as "GPU". Empty for unknown kinds.
using HostValues = std::function<std::vector<Candidate>(std::string_view kind)>;

// Empty where a file name or free text is expected: shells then offer files.
std::vector<Candidate> CandidatesFor(const Command& root, const TypedLine& line,
                                     const HostValues& values);

// One line per candidate: the word, a tab, the description.
std::string CandidatesText(const std::vector<Candidate>& candidates);

}  // namespace kgpu::commands
