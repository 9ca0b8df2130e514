// What completion offers for a line that is being typed.
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

// A line up to the word that is being typed.
struct TypedLine {
  std::vector<std::string> words;  // whole ones, without the program's name
  std::string current;             // may be empty
};

// From the words that a shell hands over, the last one being typed. bash splits "--output=json"
// into three.
TypedLine TypedLineOf(std::vector<std::string> words);

// What a line has so far.
struct TypedCommand {
  const Command* command = nullptr;
  const Flag* flag = nullptr;  // whose value is being typed; null: none
  size_t arguments = 0;        // how many stand before the word that is being typed
  size_t depth = 0;            // how many words led to the command
};
TypedCommand Locate(const Command& root, const TypedLine& line);

// The values of a kind that only the host knows: "GPU". Empty for kinds it does not know.
using HostValues = std::function<std::vector<Candidate>(std::string_view kind)>;

// Empty where a file is to be named, or anything at all: shells then offer files.
std::vector<Candidate> CandidatesFor(const Command& root, const TypedLine& line,
                                     const HostValues& values);

// A line each: the word, a tab, the description.
std::string CandidatesText(const std::vector<Candidate>& candidates);

}  // namespace kgpu::commands
