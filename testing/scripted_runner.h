// A host's programs for tests, with scripted output.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/sys/run.h"

namespace kgpu {

// Answers each command as scripted; records the commands that were run, joined by blanks.
class ScriptedRunner final : public sys::ProgramRunner {
 public:
  // What a command prints, and its exit code. The longest matching prefix counts.
  void Answer(std::string command, std::string out, int code = 0, std::string err = "") {
    answers_[std::move(command)] = {.exit = {.code = code, .signal = std::nullopt},
                                    .out = std::move(out),
                                    .err = std::move(err)};
  }
  void OnRun(std::function<void(const std::string& command)> watch) { watch_ = std::move(watch); }

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    const std::string command = Join(request.argv, " ");
    commands_.push_back(command);
    if (watch_) {
      watch_(command);
    }
    const sys::RunResult* best = nullptr;
    for (const auto& [start, answer] : answers_) {  // in order: a longer start comes later
      best = command.starts_with(start) ? &answer : best;
    }
    if (best == nullptr) {
      return NotFound("start {}: no such program", request.argv[0]);
    }
    return *best;
  }

  const std::vector<std::string>& commands() const { return commands_; }
  size_t Count(std::string_view start) const {
    return static_cast<size_t>(std::ranges::count_if(
        commands_, [&](const std::string& command) { return command.starts_with(start); }));
  }

 private:
  std::map<std::string, sys::RunResult> answers_;
  std::function<void(const std::string&)> watch_;
  std::vector<std::string> commands_;
};

}  // namespace kgpu
