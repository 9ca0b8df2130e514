// A host for tests whose programs, units, modules and packages are files in a folder, so that they
// outlive the process that changes them.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {

// The world outside the host's tree: what is installed, which units run. One file each.
class World {
 public:
  World() : host_(Opened(dir_)) {
    for (const char* program :
         {"usr/bin/systemctl", "usr/sbin/modprobe", "usr/sbin/modinfo", "usr/sbin/rmmod"}) {
      dir_.WriteFile(std::string("host/") + program, "");
    }
    dir_.MakeDir("host/run/systemd/system");
    dir_.MakeDir("host/var/lib");
    dir_.WriteFile("host/etc/modprobe.d/old.conf", "theirs\n");
    chmod(dir_.At("host/etc/modprobe.d/old.conf").c_str(), 0640);
    dir_.WriteFile("host/etc/removed.conf", "to be removed\n");
    dir_.Symlink("removed.conf", "host/etc/link.conf");
    Set("packages", {"kept=1", "libc6=2.36", "old-driver=470"});
    Set("configs", {});     // left by packages
    Set("unfinished", {});  // packages that are listed, but not configured or half removed
    Set("owned", {});       // a configuration file of old-driver
    Set("enabled", {});
    Set("switch", {});
    Set("strict", {});
    Reboot("boot-1");
  }

  const sys::Root& host() const { return host_; }
  const TempDir& dir() const { return dir_; }

  std::set<std::string> Get(const std::string& name) const {
    std::set<std::string> words;
    const std::string text = dir_.ReadFile("world/" + name);
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.empty()) {
        words.emplace(line);
      }
    }
    return words;
  }
  void Set(const std::string& name, const std::set<std::string>& words) const {
    std::string text;
    for (const std::string& word : words) {
      text += word + "\n";
    }
    dir_.WriteFile("world/" + name, text);
    if (name == "modules") {
      std::ranges::replace(text, '-', '_');
      dir_.WriteFile("host/proc/modules", text);
    }
  }
  void Add(const std::string& name, const std::string& word) const {
    std::set<std::string> words = Get(name);
    words.insert(word);
    Set(name, words);
  }
  void Drop(const std::string& name, const std::string& word) const {
    std::set<std::string> words = Get(name);
    words.erase(word);
    Set(name, words);
  }
  // From now on modules and daemons are those of the installed driver packages; the daemon only
  // starts with a module of its own version and ends when its package is removed; one of
  // "old-driver" runs and is enabled.
  void RunOldDriver() const {
    Set("strict", {"on"});
    Set("modules", {"nvidia"});
    Add("active", std::string(kDaemon));
    Add("enabled", std::string(kDaemon));
    Load("470");
  }
  // Like rpm: when its package is removed, the file is put aside if somebody changed it.
  void OwnConfig(const std::string& path) const {
    Set("owned", {path});
    dir_.WriteFile("host" + path, std::string(kDefault));
  }
  static constexpr std::string_view kDefault = "as the package brings it\n";
  bool IsStrict() const { return !Get("strict").empty(); }
  static constexpr std::string_view kDaemon = "nvidia-persistenced.service";
  // Version of the driver whose packages are installed; empty: none.
  std::string DriverVersion() const {
    const std::set<std::string> unfinished = Get("unfinished");
    for (const std::string& line : Get("packages")) {
      if (unfinished.contains(line.substr(0, line.find('=')))) {
        continue;
      }
      if (line.starts_with("nvidia-driver=") || (IsStrict() && line.starts_with("old-driver="))) {
        return line.substr(line.find('=') + 1);
      }
    }
    return "";
  }
  bool HasDriver() const { return !DriverVersion().empty(); }
  void Load(const std::string& version) const {
    dir_.WriteFile("host/sys/module/nvidia/version", version + "\n");
  }
  std::string LoadedVersion() const {
    return std::string(Trim(dir_.ReadFile("host/sys/module/nvidia/version")));
  }

  // Nothing runs and nothing is loaded after it, except that enabled units start, and nouveau is
  // loaded if there is no driver.
  void Reboot(const std::string& boot_id) const {
    dir_.WriteFile("host/proc/sys/kernel/random/boot_id", boot_id + "\n");
    Set("modules", HasDriver() ? std::set<std::string>() : std::set<std::string>{"nouveau"});
    std::set<std::string> active = {"display-manager.service"};
    for (const std::string& unit : Get("enabled")) {
      if (CanStart(unit)) {
        active.insert(unit);
      }
    }
    Set("active", active);
  }
  // The driver's daemon needs its module.
  bool CanStart(const std::string& unit) const {
    return unit != kDaemon || (Get("modules").contains("nvidia") &&
                               (!IsStrict() || LoadedVersion() == DriverVersion()));
  }

  // Every path of host and world except the kernel's files, with mode and content.
  std::map<std::string, std::string> Tree() const {
    std::map<std::string, std::string> tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      const std::string path = entry.path().lexically_relative(dir_.path());
      struct stat status = {};
      const bool is_lock = path == "host/var/lib/kgpu" && std::filesystem::is_empty(entry.path());
      if (is_lock || path.starts_with("host/proc") || path.starts_with("host/sys") ||
          lstat(entry.path().c_str(), &status) != 0) {
        continue;
      }
      if (entry.is_symlink()) {
        tree[path] = "-> " + std::filesystem::read_symlink(entry.path()).string();
      } else {
        const std::string bytes = entry.is_directory() ? "" : dir_.ReadFile(path);
        tree[path] = fmt::format("{:o} {}", status.st_mode, bytes);
      }
    }
    return tree;
  }

 private:
  static sys::Root Opened(const TempDir& dir) {
    dir.MakeDir("host");
    auto root = sys::Root::Open(dir.At("host"));
    return *std::move(root);
  }

  TempDir dir_;
  sys::Root host_;
};

}  // namespace kgpu::driver_install
