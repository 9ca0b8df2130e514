// All of kgpu's commands, in one parser.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/command_registrar.h"
#include "src/platform/commands/command.h"

namespace kgpu::cli {

class Program {
 public:
  // Only with the command `only`, if it exists and needs no other, else with all: creating every
  // flag takes a millisecond, which is longer than some commands run.
  explicit Program(std::string_view only = "");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Parses the words after the program's name. Throws what CLI11 throws.
  void Parse(std::vector<std::string> words);

  CLI::App& app() { return *app_; }
  // The value of --color.
  const std::string& color() const { return color_; }
  // The action of the parsed command; empty if there was none, or only a group.
  const CommandRegistrar::Action& chosen() const { return registrar_.chosen(); }
  commands::Command Tree() const;

 private:
  std::string color_ = "auto";
  std::unique_ptr<CLI::App> app_;
  CommandRegistrar registrar_;
};

}  // namespace kgpu::cli
