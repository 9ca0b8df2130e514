// A program's commands and flags as a value, read by completion, manual pages and the tests that
// visit every command.
#pragma once

#include <string>
#include <vector>

namespace kgpu::commands {

// The value of a flag: one of these words, or several separated by commas.
struct FlagWords {
  std::string flag;  // "--only", or the name of an argument
  std::vector<std::string> words;
};

struct Flag {
  std::string name;      // "--output"
  std::string letter{};  // "-o"; empty: it has none
  std::string value{};   // the kind of its value, "FILE"; empty: it takes none
  std::string description{};
  std::string environment{};         // environment variable that sets it; empty: none
  std::vector<std::string> words{};  // the values it accepts; empty: unknown
};

// A positional argument: "FILE".
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
  // Another program parses its arguments: kgpu-sim parses those of `kgpu sim`.
  bool is_passed_on = false;
};

}  // namespace kgpu::commands
