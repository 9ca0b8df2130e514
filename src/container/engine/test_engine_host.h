// A host with engines for tests: files in a temporary folder, programs with scripted answers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/container/engine/control.h"
#include "src/container/engine/engine_api.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "testing/scripted_runner.h"
#include "testing/temp_dir.h"

namespace kgpu::engine {

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
  // A file that may be executed: a low-level runtime, say.
  void AddExecutable(const std::string& path) const {
    folder_.WriteFile(path.substr(1), "");
    std::filesystem::permissions(folder_.At(path.substr(1)), std::filesystem::perms(0755));
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

// An engine that counts reloads and restarts, which can be made to fail.
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

// Answers immediately, as the test sets it; a bad answer counts as if time had run out.
class FakeApi final : public EngineApi {
 public:
  StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds, std::string_view wanted,
                          const std::function<bool(const LiveFacts&)>& is_good) override {
    StatusOr<LiveFacts> facts = answer_();
    if (!facts.ok() || is_good(*facts)) {
      return facts;
    }
    return FailedPrecondition("{} answers, but did not report {}", engine.Name(), wanted);
  }
  void SetAnswer(std::function<StatusOr<LiveFacts>()> answer) { answer_ = std::move(answer); }

 private:
  std::function<StatusOr<LiveFacts>()> answer_ = [] { return LiveFacts{}; };
};

}  // namespace kgpu::engine
