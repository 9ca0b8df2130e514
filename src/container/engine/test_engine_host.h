// A host with engines for tests: files below a temporary folder, programs that answer by a script.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/container/engine/control.h"
#include "src/container/engine/disk.h"
#include "src/container/engine/engine_api.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
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

// An engine whose reloads and restarts are counted, and may fail.
class FakeControl final : public EngineControl {
 public:
  Status CheckWay(const Engine&, bool) override { return way_; }
  Status Reload(const Engine&) override {
    ++reloads_;
    return OkStatus();
  }
  Status Restart(const Engine&) override {
    ++restarts_;
    return restarts_ <= good_restarts_ ? OkStatus() : Unavailable("systemctl restart: exit code 1");
  }
  Status ReloadUnits() override {
    ++unit_reloads_;
    return OkStatus();
  }

  void SetWay(Status way) { way_ = std::move(way); }
  void FailRestartsAfter(int good) { good_restarts_ = good; }
  int reloads() const { return reloads_; }
  int restarts() const { return restarts_; }
  int unit_reloads() const { return unit_reloads_; }

 private:
  Status way_;
  int good_restarts_ = 1000;
  int reloads_ = 0;
  int restarts_ = 0;
  int unit_reloads_ = 0;
};

// Answers what the test says, at once; what is not good is as if time had run out.
class FakeApi final : public EngineApi {
 public:
  StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds, std::string_view wanted,
                          const std::function<bool(const LiveFacts&)>& is_good) override {
    StatusOr<LiveFacts> facts = answer_();
    if (!facts.ok() || is_good(*facts)) {
      return facts;
    }
    return FailedPrecondition("{} answers, but {} does not show", engine.Name(), wanted);
  }
  void SetAnswer(std::function<StatusOr<LiveFacts>()> answer) { answer_ = std::move(answer); }

 private:
  std::function<StatusOr<LiveFacts>()> answer_ = [] { return LiveFacts{}; };
};

// Dies at the given change of the disk: that one and all after it do nothing, as after a kill -9.
class DyingDisk final : public Disk {
 public:
  DyingDisk(Disk& disk, int lives) : disk_(disk), lives_(lives) {}

  Status Write(const std::string& path, std::string_view bytes, mode_t mode) override {
    return Live([&] { return disk_.Write(path, bytes, mode); });
  }
  Status Replace(const std::string& path, std::string_view bytes,
                 const Attributes& attributes) override {
    return Live([&] { return disk_.Replace(path, bytes, attributes); });
  }
  Status Remove(const std::string& path) override {
    return Live([&] { return disk_.Remove(path); });
  }
  Status Link(const std::string& path, const std::string& target) override {
    return Live([&] { return disk_.Link(path, target); });
  }
  Status MakeFolder(const std::string& path) override {
    return Live([&] { return disk_.MakeFolder(path); });
  }
  Status RemoveFolder(const std::string& path) override {
    return Live([&] { return disk_.RemoveFolder(path); });
  }
  Status Move(const std::string& path, const std::string& to) override {
    return Live([&] { return disk_.Move(path, to); });
  }
  Status Tidy(const std::string& path) override {
    return Live([&] { return disk_.Tidy(path); });
  }
  bool is_dead() const { return lives_ < 0; }

 private:
  Status Live(const std::function<Status()>& change) {
    return --lives_ < 0 ? Internal("dead") : change();
  }

  Disk& disk_;
  int lives_;
};

}  // namespace kgpu::engine
