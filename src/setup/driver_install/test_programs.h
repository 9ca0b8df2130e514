// A host's programs for tests: they change its world.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/host/change/test_mortal_disk.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver_install/test_world.h"

namespace kgpu::driver_install {

// Programs that change the world. One set to fail prints its reason and changes nothing.
class WorldRunner final : public sys::ProgramRunner {
 public:
  WorldRunner(const World& world, change::Fate& fate) : world_(world), fate_(fate) {}

  void Fail(std::string command, std::string reason) {
    fails_[std::move(command)] = std::move(reason);
  }
  // The kernel refuses modules of this version.
  void RefuseModule(std::string version) { refused_ = std::move(version); }
  const std::vector<std::string>& commands() const { return commands_; }

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    RETURN_IF_ERROR(fate_.Live());
    const std::string command = Join(request.argv, " ");
    commands_.push_back(command);
    sys::RunResult result{.exit = {.code = 0, .signal = std::nullopt}, .out = "", .err = ""};
    for (const auto& [start, reason] : fails_) {
      if (command.starts_with(start)) {
        result.exit.code = 1;
        for (const std::string_view line : Split(reason, '\n')) {
          if (request.on_line) {
            request.on_line(line);
          }
        }
        return result;
      }
    }
    result.exit.code = Act(request.argv) ? 0 : 1;
    if (request.argv[0] == "/usr/sbin/modinfo") {
      result.out = world_.DriverVersion() + "\n";
    }
    RETURN_IF_ERROR(fate_.Live());  // killed, but the program continued
    return result;
  }

 private:
  // Not all commands may be repeated, and some need what others brought.
  bool Systemctl(const std::vector<std::string>& argv) const {
    const std::string& verb = argv[1];
    const std::string list =
        verb == "enable" || verb == "disable" || verb == "is-enabled" ? "enabled" : "active";
    if (verb.starts_with("is-")) {
      return world_.Get(list).contains(argv[3]);
    }
    bool is_healthy = true;
    for (size_t i = 2; i < argv.size(); ++i) {
      if (verb == "start" && !world_.CanStart(argv[i])) {
        is_healthy = false;
      } else if (verb == "start" || verb == "enable") {
        world_.Add(list, argv[i]);
      } else {
        world_.Drop(list, argv[i]);
      }
    }
    return is_healthy;
  }

  bool Modprobe(const std::string& name) const {
    const bool is_drivers = name.starts_with("nvidia");
    if (is_drivers && (!world_.HasDriver() || world_.DriverVersion() == refused_)) {
      return false;
    }
    if (world_.IsStrict() && !world_.Get("modules").contains(name)) {
      world_.Load(world_.DriverVersion());
    }
    world_.Add("modules", name);
    return true;
  }

  // Requires free GPUs, like NVIDIA's installers.
  bool Installer() const {
    if (world_.Get("modules").contains("nouveau")) {
      return false;
    }
    world_.Add("packages", "nvidia-driver=535");
    return true;
  }

  bool Switch(bool is_on) const {
    if (is_on) {
      world_.Add("switch", "on");
      return true;
    }
    const bool was_on = world_.Get("switch").contains("on");
    world_.Drop("switch", "on");
    return was_on;
  }

  bool Act(const std::vector<std::string>& argv) const {
    const std::string name = std::filesystem::path(argv[0]).filename();
    if (name == "systemctl") {
      return Systemctl(argv);
    }
    if (name == "switch") {
      return Switch(argv[1] == "on");
    }
    if (name == "modprobe") {
      return Modprobe(argv[1]);
    }
    if (name == "installer") {
      return Installer();
    }
    if (name == "rmmod") {
      if (world_.IsStrict() && world_.Get("active").contains(std::string(World::kDaemon))) {
        return false;  // in use
      }
      std::string dashed = argv[1];
      std::ranges::replace(dashed, '_', '-');
      world_.Drop("modules", dashed);
    }
    return true;
  }

  const World& world_;
  change::Fate& fate_;
  std::map<std::string, std::string> fails_;
  std::string refused_;
  std::vector<std::string> commands_;
};

}  // namespace kgpu::driver_install
