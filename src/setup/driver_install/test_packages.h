// A host's package manager for tests: a file of its world lists what is installed.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/host/change/test_mortal_disk.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/journal.h"
#include "src/setup/driver_install/test_world.h"

namespace kgpu::driver_install {

// Installs and removes packages one by one, each an action. "nvidia-driver" needs
// "libnvidia".
class WorldPackages final : public packages::PackageManager {
 public:
  WorldPackages(const World& world, change::Fate& fate) : world_(world), fate_(fate) {}

  // `of`: the beginning of the names for which it fails.
  void FailInstall(Status status, std::string of = "") {
    failure_ = std::move(status);
    fails_of_ = std::move(of);
  }
  void FailRemove(Status status) { remove_failure_ = std::move(status); }
  // Drivers are installed, but their module is not built.
  void FailConfigure(Status status) { configure_failure_ = std::move(status); }
  // Removed with the next packages that are removed, though no dry run listed it.
  void TakeToo(std::string name) { went_too_ = std::move(name); }
  void Need(std::string needer, std::string needed) {
    needs_[std::move(needer)] = std::move(needed);
  }

  // What would be installed to replace removed packages while `needer` stays.
  void Bring(std::string other, std::string needer) {
    brings_[std::move(other)] = std::move(needer);
  }

  StatusOr<Versions> Installed() override {
    RETURN_IF_ERROR(fate_.Live());
    Versions versions;
    for (const std::string& line : world_.Get("packages")) {
      versions[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    }
    return versions;
  }
  StatusOr<std::set<std::string>> Unfinished() override {
    RETURN_IF_ERROR(fate_.Live());
    return reports_unfinished_ ? world_.Get("unfinished") : std::set<std::string>();
  }
  // Like dpkg, and unlike rpm.
  void ReportUnfinished() { reports_unfinished_ = true; }
  // What another manager installs or upgrades while the next installation waits for its lock.
  void Meanwhile(std::string line) { meanwhile_ = std::move(line); }

  StatusOr<packages::Foreseen> Foresee(const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(fate_.Live());
    packages::Foreseen foreseen;
    for (const std::string& name : names) {
      foreseen.names.insert(name.substr(0, name.find('=')));
      if (name.substr(0, name.find('=')) == "nvidia-driver") {
        foreseen.names.insert("libnvidia");
      }
    }
    for (const std::string& name : world_.Get("configs")) {
      if (foreseen.names.contains(name)) {
        foreseen.configured.insert(name);
      }
    }
    return foreseen;
  }
  Status Install(const std::vector<std::string>& names) override {
    if (!meanwhile_.empty()) {
      Put(meanwhile_);
    }
    for (const std::string& name : names) {
      RETURN_IF_ERROR(fate_.Live());
      if (world_.Get("packages").contains(name)) {
        continue;  // also an unfinished one: rpm has no such state
      }
      if (name.substr(0, name.find('=')) == "nvidia-driver" && !IsThere("libnvidia")) {
        world_.Add("packages", "libnvidia=535");
        RETURN_IF_ERROR(fate_.Live());
      }
      if (name.starts_with(fails_of_)) {
        RETURN_IF_ERROR(failure_);
      }
      Put(name);
      RETURN_IF_ERROR(Configure(name.substr(0, name.find('='))));
    }
    return fate_.Live();
  }
  Status Remove(const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(remove_failure_);
    for (const std::string& name : names) {
      RETURN_IF_ERROR(fate_.Live());
      EndDaemon(name);
      Take(name);
      world_.Drop("configs", name);
    }
    return fate_.Live();
  }
  StatusOr<std::vector<std::string>> GoWith(const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(fate_.Live());
    std::vector<std::string> others;
    for (const auto& [needer, needed] : needs_) {
      if (std::ranges::find(names, needed) != names.end() &&
          std::ranges::find(names, needer) == names.end()) {
        others.push_back(needer);
      }
    }
    for (const auto& [other, needer] : brings_) {
      if (std::ranges::find(names, needer) == names.end()) {
        others.push_back(other);
      }
    }
    return others;
  }
  StatusOr<std::vector<std::string>> ChangedConfigs(
      const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(fate_.Live());
    std::vector<std::string> changed;
    if (std::ranges::find(names, "old-driver") != names.end() && IsThere("old-driver")) {
      std::ranges::copy_if(world_.Get("owned"), std::back_inserter(changed),
                           [this](const std::string& path) {
                             return world_.host().Exists(path) &&
                                    world_.dir().ReadFile("host" + path) != World::kDefault;
                           });
    }
    return changed;
  }
  Status TakeOff(const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      RETURN_IF_ERROR(fate_.Live());
      RETURN_IF_ERROR(remove_failure_);
      if (IsThere(name)) {
        world_.Add("unfinished", name);  // its module is gone
        RETURN_IF_ERROR(fate_.Live());
        EndDaemon(name);
        PutConfigAside(name);
        Take(name);
        world_.Add("configs", name);
      }
    }
    RETURN_IF_ERROR(fate_.Live());
    if (went_too_.empty()) {
      return OkStatus();
    }
    Take(std::exchange(went_too_, ""));
    return FailedPrecondition("with them went others");
  }

 private:
  // A kill or a failed build leaves it unfinished.
  Status Configure(const std::string& name) {
    if (name != "old-driver") {
      return OkStatus();
    }
    BringConfig(name);
    world_.Add("unfinished", name);
    RETURN_IF_ERROR(fate_.Live());
    RETURN_IF_ERROR(configure_failure_);
    world_.Drop("unfinished", name);
    return OkStatus();
  }
  bool IsThere(const std::string& name) const {
    return std::ranges::any_of(world_.Get("packages"), [&name](const std::string& line) {
      return line.starts_with(name + "=");
    });
  }
  // Like scripts of rpm packages, none of which enables it at boot again.
  void EndDaemon(const std::string& name) const {
    if (world_.IsStrict() && IsThere(name) && name.ends_with("-driver")) {
      world_.Drop("active", std::string(World::kDaemon));
      world_.Drop("enabled", std::string(World::kDaemon));
    }
  }
  void PutConfigAside(const std::string& name) const {
    for (const std::string& owned : world_.Get("owned")) {
      const std::string path = world_.host().At(owned);
      if (name == "old-driver" && world_.dir().ReadFile("host" + owned) == World::kDefault) {
        std::filesystem::remove(path);
      } else if (name == "old-driver" && std::filesystem::exists(path)) {
        std::filesystem::rename(path, path + ".rpmsave");
      }
    }
  }
  void BringConfig(const std::string& name) const {
    for (const std::string& owned : world_.Get("owned")) {
      if (name == "old-driver" && !world_.host().Exists(owned)) {
        world_.dir().WriteFile("host" + owned, std::string(World::kDefault));
      }
    }
  }
  void Take(const std::string& name) const {
    for (const std::string& line : world_.Get("packages")) {
      if (line.starts_with(name + "=")) {
        world_.Drop("packages", line);
      }
    }
    world_.Drop("unfinished", name);
  }
  void Put(const std::string& name) const {
    const size_t equals = name.find('=');
    Take(name.substr(0, equals));
    world_.Drop("configs", name.substr(0, equals));
    world_.Add("packages", equals == std::string::npos ? name + "=535" : name);
  }

  const World& world_;
  change::Fate& fate_;
  Status failure_;
  Status remove_failure_;
  std::string fails_of_;
  Status configure_failure_;
  bool reports_unfinished_ = false;
  std::string meanwhile_;
  std::string went_too_;
  std::map<std::string, std::string> needs_;
  std::map<std::string, std::string> brings_;
};

}  // namespace kgpu::driver_install
