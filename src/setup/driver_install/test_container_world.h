// A host and its container for tests, both in one folder that outlives every run; programs that
// load modules change the host's files.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/host/change/test_mortal_disk.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/container_install.h"
#include "src/setup/driver_install/test_run.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {

inline constexpr const char* kOldKernel = "6.1.0-56-amd64";
inline constexpr const char* kNewKernel = "6.1.0-57-amd64";

// Every action asks before it is done and again after it; a copy or removal that is cut off leaves
// a part: at worst, a removal leaves the file that marks the folder as complete.
class MortalTrees final : public Trees {
 public:
  MortalTrees(const sys::Root& host, change::Fate& fate) : host_(host), trees_(host), fate_(fate) {}

  Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
              const std::string& to) override {
    if (const Status alive = fate_.Live(); !alive.ok()) {
      std::filesystem::create_directories(host_.At(to) + "/usr/part");
      return alive;
    }
    RETURN_IF_ERROR(trees_.Copy(from, left_out, to));
    return fate_.Live();
  }
  Status CheckUnmounted(const std::string& tree) override { return trees_.CheckUnmounted(tree); }
  Status Put(const std::string& tree, const std::string& place) override {
    RETURN_IF_ERROR(fate_.Live());
    RETURN_IF_ERROR(trees_.Put(tree, place));
    return fate_.Live();
  }
  Status Remove(const std::string& tree) override {
    if (const Status alive = fate_.Live(); !alive.ok()) {
      std::filesystem::remove_all(host_.At(tree) + "/usr/bin");
      return alive;
    }
    RETURN_IF_ERROR(trees_.Remove(tree));
    return fate_.Live();
  }
  Status PointTo(const std::string& link, const std::string& place) override {
    RETURN_IF_ERROR(fate_.Live());
    RETURN_IF_ERROR(trees_.PointTo(link, place));
    return fate_.Live();
  }

 private:
  const sys::Root& host_;
  HostTrees trees_;
  change::Fate& fate_;
};

class ContainerWorld {
 public:
  ContainerWorld() : host_(Opened("host")), container_(Opened("container")) {
    dir_.WriteFile("host/usr/sbin/modprobe", "");
    dir_.WriteFile("host/proc/modules", "");
    dir_.WriteFile("host/sys/module/firmware_class/parameters/path", "\n");
    dir_.MakeDir("host/var/lib/kgpu");
    dir_.MakeDir("host/run/nvidia/driver");  // as the kubelet makes it
    for (const char* program : {"insmod", "rmmod", "modinfo"}) {
      dir_.WriteFile(fmt::format("container/usr/sbin/{}", program), "");
    }
  }

  const TempDir& dir() const { return dir_; }
  const sys::Root& host() const { return host_; }
  const sys::Root& container() const { return container_; }

  // The next container: without anything that was installed in this one.
  void FreshContainer() const {
    std::filesystem::remove_all(dir_.At("container/usr/lib"));
    std::filesystem::remove_all(dir_.At("container/lib"));
  }
  void Reboot() const {
    dir_.WriteFile("host/proc/modules", "");
    std::filesystem::remove_all(dir_.At("host/sys/module/nvidia"));
    std::filesystem::remove_all(dir_.At("host/run/nvidia"));
    dir_.WriteFile("host/sys/module/firmware_class/parameters/path", "\n");
  }
  // A module's file holds its version; the tools that read it only know one other field, the
  // kind.
  void Install(const std::string& kernel, const std::string& version,
               const std::string& module_version) const {
    for (const char* name : {"libcuda", "libnvidia-ml"}) {
      dir_.WriteFile(fmt::format("container/usr/lib/x86_64-linux-gnu/{}.so.{}", name, version), "");
    }
    for (const char* name : {"nvidia-current", "nvidia-current-uvm", "nvidia-fs"}) {
      dir_.WriteFile(fmt::format("container/lib/modules/{}/updates/dkms/{}.ko", kernel, name),
                     module_version);
    }
    dir_.WriteFile("container/usr/src/nvidia/source.c", "");
    dir_.WriteFile(fmt::format("container/lib/modules/{}/modules.dep", kernel),
                   "updates/dkms/nvidia-current.ko:\n"
                   "updates/dkms/nvidia-current-uvm.ko: updates/dkms/nvidia-current.ko\n");
    dir_.WriteFile("container/usr/bin/nvidia-modprobe", "");
  }

  std::vector<std::string> Loaded() const {
    std::vector<std::string> names;
    const std::string text = dir_.ReadFile("host/proc/modules");
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.empty()) {
        names.emplace_back(line.substr(0, line.find(' ')));
      }
    }
    return names;
  }
  // `users`: processes that have a device of the first module open.
  void SetLoaded(const std::vector<std::string>& names, int users = 0) const {
    std::string text;
    for (const std::string& name : names) {
      fmt::format_to(std::back_inserter(text), "{} 1 {} - Live 0x0\n", name, users);
      users = 0;
    }
    dir_.WriteFile("host/proc/modules", text);
  }
  // Every path of the host, with mode and content.
  std::map<std::string, std::string> Tree() const {
    std::map<std::string, std::string> tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.At("host"))) {
      const std::string path = entry.path().lexically_relative(dir_.At("host"));
      struct stat status = {};
      lstat(entry.path().c_str(), &status);
      const std::string bytes = entry.is_symlink()
                                    ? std::filesystem::read_symlink(entry.path()).string()
                                : entry.is_directory() ? ""
                                                       : dir_.ReadFile("host/" + path);
      tree[path] = fmt::format("{:o} {}", status.st_mode, bytes);
    }
    return tree;
  }

 private:
  sys::Root Opened(const std::string& name) const {
    dir_.MakeDir(name);
    auto root = sys::Root::Open(dir_.At(name));
    return *std::move(root);
  }

  TempDir dir_;
  sys::Root host_;
  sys::Root container_;
};

// Programs of the container and the host. Those set to fail change nothing.
class ContainerRunner final : public sys::ProgramRunner {
 public:
  ContainerRunner(const ContainerWorld& world, change::Fate& fate) : world_(world), fate_(fate) {}

  // A program, or a whole command.
  void Fail(std::string name) { failing_ = std::move(name); }
  void SayOpen() { is_open_ = true; }  // for every module that is queried
  const std::vector<std::string>& commands() const { return commands_; }

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    RETURN_IF_ERROR(fate_.Live());
    const std::string name = std::filesystem::path(request.argv[0]).filename();
    const std::string last = std::filesystem::path(request.argv.back()).filename();
    commands_.push_back(Join(Named(request.argv), " "));
    sys::RunResult result{.exit = {.code = 0, .signal = std::nullopt}, .out = "", .err = ""};
    if (name == failing_ || commands_.back() == failing_) {
      result.exit.code = 1;
      result.err = "in use\n";
    } else if (name == "modinfo") {
      result.out = request.argv.size() == 2 ? Fields(request) : Depends(last);
    } else {
      Act(name, last, request);
    }
    RETURN_IF_ERROR(fate_.Live());
    return result;
  }

 private:
  // A command without the folders of its program and its file.
  static std::vector<std::string> Named(std::vector<std::string> argv) {
    for (std::string& word : argv) {
      word = word.starts_with('/') ? std::filesystem::path(word).filename().string() : word;
    }
    return argv;
  }
  std::string Bytes(const sys::RunRequest& request) const {
    const std::filesystem::path path = request.root + request.argv[1];
    return world_.dir().ReadFile(path.lexically_relative(world_.dir().path()).string());
  }
  std::string Fields(const sys::RunRequest& request) const {
    return fmt::format("version:        {}\nlicense:        {}\n", Bytes(request),
                       is_open_ ? "Dual MIT/GPL" : "NVIDIA");
  }
  static std::string Depends(const std::string& file) {
    return file.find("uvm") == std::string::npos ? "video,i2c-core\n" : "nvidia\n";
  }
  // Like nvidia-modprobe: after -u the numbers are nvidia-uvm's first ones, and -m is used as well.
  // Replaces a node with another number. Files stand for nodes, and hold their numbers.
  void MakeNodes(const std::vector<std::string>& argv) const {
    const auto make = [this](const std::string& name, std::string_view major, uint64_t minor) {
      std::filesystem::remove(world_.dir().At("host/dev/" + name));
      world_.dir().WriteFile("host/dev/" + name, fmt::format("{}:{}", major, minor));
    };
    const bool is_uvm = std::ranges::find(argv, "-u") != argv.end();
    for (size_t at = 1; at + 1 < argv.size(); ++at) {
      const uint64_t minor = ParseUint(argv[at + 1]).value_or(0);
      if (argv[at] != "-c") {
        continue;
      }
      if (is_uvm) {
        make("nvidia-uvm", "uvm", minor);
        make("nvidia-uvm-tools", "uvm", minor + 1);
      } else {
        make(minor == 255 ? "nvidiactl" : fmt::format("nvidia{}", minor), "195", minor);
      }
    }
    if (std::ranges::find(argv, "-m") != argv.end()) {
      make("nvidia-modeset", "195", 254);
    }
  }
  void Act(const std::string& name, const std::string& last, const sys::RunRequest& request) const {
    std::vector<std::string> loaded = world_.Loaded();
    if (name == "rmmod") {
      std::erase(loaded, last);
      if (last == "nvidia") {
        std::filesystem::remove_all(world_.dir().At("host/sys/module/nvidia"));
      }
    } else if (name == "modprobe") {
      if (std::ranges::find(loaded, last) == loaded.end()) {
        loaded.push_back(last);
      }
    } else if (name == "insmod") {
      const bool is_uvm = request.argv[1].find("uvm") != std::string::npos;
      const std::string module = is_uvm ? "nvidia_uvm" : "nvidia";
      loaded.push_back(module);
      world_.dir().WriteFile(fmt::format("host/sys/module/{}/version", module), Bytes(request));
    } else if (name == "nvidia-modprobe") {
      MakeNodes(request.argv);
    }
    world_.SetLoaded(loaded);
  }

  const ContainerWorld& world_;
  change::Fate& fate_;
  std::string failing_;
  bool is_open_ = false;
  std::vector<std::string> commands_;
};

// Everything that one container needs.
class ContainerRun {
 public:
  explicit ContainerRun(const ContainerWorld& world, change::Fate fate = change::Fate())
      : world_(world),
        fate_(fate),
        host_disk_(world.host(), sys::Durability::kMemory),
        disk_(host_disk_, fate_),
        trees_(world.host(), fate_),
        runner_(world, fate_) {}

  StatusOr<ContainerOutcome> Go(std::string config = "a", std::string kernel = kOldKernel,
                                std::string version = "535.309.01") {
    const auto install = [&]() -> Status {
      RETURN_IF_ERROR(fate_.Live());
      ++builds_;
      RETURN_IF_ERROR(failure_);
      world_.Install(built_for_.empty() ? kernel : built_for_, version,
                     built_version_.empty() ? version : built_version_);
      return fate_.Live();
    };
    const auto verify = [this](const driver::Verify&) { return seen_; };
    const Dependencies host{world_.host(), disk_, runner_, nullptr, clock_, progress_, verify};
    return InstallFromContainer(
        {.kernel = kernel, .config = std::move(config), .driver_dir = "/run/nvidia/driver"},
        {host, world_.container(), trees_, install, is_running_system_});
  }

  StatusOr<std::optional<ContainerOutcome>> Look() {
    const auto install = [] { return Internal("a look installs nothing"); };
    const auto verify = [this](const driver::Verify&) { return seen_; };
    const Dependencies host{world_.host(), disk_, runner_, nullptr, clock_, progress_, verify};
    return LookFromContainer(
        {.kernel = kOldKernel, .config = "a", .driver_dir = "/run/nvidia/driver"},
        {host, world_.container(), trees_, install, is_running_system_});
  }

  change::Fate& fate() { return fate_; }
  ContainerRunner& runner() { return runner_; }
  int builds() const { return builds_; }
  void BuildFor(std::string kernel) { built_for_ = std::move(kernel); }
  void BuildVersion(std::string version) { built_version_ = std::move(version); }
  Status WriteHostJournal(const Journal& journal) { return WriteJournal(journal, host_disk_); }
  void FailInstall(Status failure) { failure_ = std::move(failure); }
  void See(driver::Verified seen) { seen_ = std::move(seen); }
  void LetNoKernelRun() { is_running_system_ = false; }

 private:
  const ContainerWorld& world_;
  change::Fate fate_;
  change::HostDisk host_disk_;
  change::MortalDisk disk_;
  MortalTrees trees_;
  ContainerRunner runner_;
  FakeClock clock_;
  ReportedProgress progress_;
  driver::Verified seen_;
  Status failure_;
  std::string built_for_;      // empty: the wanted kernel
  std::string built_version_;  // of the modules; empty: the libraries' version
  bool is_running_system_ = true;
  int builds_ = 0;
};

}  // namespace kgpu::driver_install
