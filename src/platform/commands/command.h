// A program's commands and flags as a value: completion, manual pages and the tests that go through
// all commands read it.
#pragma once

#include <string>
#include <vector>

namespace kgpu::commands {

// What may follow a flag: one of these words, or several with commas between.
struct FlagWords {
  std::string flag;  // "--only", or the name of an argument
  std::vector<std::string> words;
};

struct Flag {
  std::string name;      // "--output"
  std::string letter{};  // "-o"; empty: it has none
  std::string value{};   // the kind of its value, "FILE"; empty: it takes none
  std::string description{};
  std::string environment{};         // the variable that sets it; empty: none
  std::vector<std::string> words{};  // the values it takes; empty: not known
};

// What stands without a flag: "FILE".
struct Argument {
  std::string name;
  std::string description{};
  bool is_required = false;
  bool is_many = false;
  std::vector<std::string> words{};
};

struct Command {
  std::string name;
  std::string description{};
  std::string footer{};  // see examples.h
  std::vector<Flag> flags{};
  std::vector<Argument> arguments{};
  std::vector<Command> commands{};
  // Another program reads its words: kgpu-sim those of `kgpu sim`.
  bool is_passed_on = false;
};

}  // namespace kgpu::commands
