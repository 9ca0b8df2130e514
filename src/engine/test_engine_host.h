// A host with engines for tests: files below a temporary folder, programs that answer by a script.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/strings.h"
#include "src/sys/root.h"
#include "src/sys/run.h"
#include "testing/temp_dir.h"

namespace kgpu::engine {

// Answers each command by what was said for it; the commands run are kept, joined by blanks.
class ScriptedRunner final : public sys::ProgramRunner {
 public:
  // What a command prints, and its exit code. The longest text that the command starts with counts.
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

class EngineHost {
 public:
  EngineHost() : root_(Opened(folder_.path())) {
    folder_.WriteFile("proc/stat", "cpu 1 2\nbtime 1700000000\n");
  }

  const sys::Root& root() const { return root_; }
  const TempDir& folder() const { return folder_; }
  ScriptedRunner& runner() { return runner_; }

  void AddProgram(const std::string& path, const std::string& version) {
    folder_.WriteFile(path.substr(1), "");
    runner_.Answer(path + " --version", version);
  }
  // A process that was started `after_boot` seconds after boot.
  void AddProcess(int pid, const std::string& name, const std::vector<std::string>& argv,
                  int after_boot = 100, const std::string& namespaces = "") {
    const std::string at = fmt::format("proc/{}/", pid);
    folder_.WriteFile(at + "comm", name + "\n");
    folder_.WriteFile(at + "cmdline", Join(argv, std::string(1, '\0')) + '\0');
    folder_.WriteFile(at + "status",
                      fmt::format("Name:\t{}\nNSpid:\t{}{}\n", name, pid, namespaces));
    folder_.WriteFile(at + "stat", fmt::format("{} (x) y) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 "
                                               "0 9 0 {} 1 1\n",
                                               pid, after_boot * 100));
  }
  void AddSystemd(const std::vector<std::string>& units) {
    folder_.MakeDir("run/systemd/system");
    folder_.WriteFile("usr/bin/systemctl", "");
    runner_.Answer("/usr/bin/systemctl", "");
    for (const std::string& unit : units) {
      folder_.WriteFile("usr/lib/systemd/system/" + unit, "");
    }
  }

 private:
  static sys::Root Opened(const std::string& path) {
    auto root = sys::Root::Open(path);
    return *std::move(root);
  }

  TempDir folder_;
  sys::Root root_;
  ScriptedRunner runner_;
};

}  // namespace kgpu::engine
