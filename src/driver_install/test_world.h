// A host for tests whose programs, units, modules and packages are files of a folder, so that they
// outlive the process that changes them; and a fate that ends a run at any of its deeds.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/driver_install/carry_out.h"
#include "src/packages/kept_files.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {

// Every deed asks before it is done, and programs once more after it. Past its last deed the
// process is as if killed: nothing is done any more, or it ends at once.
class Fate {
 public:
  enum class End { kNone, kDead, kExit };

  explicit Fate(End end = End::kNone, int lives = 0) : end_(end), lives_(lives) {}

  Status Live() {
    ++deeds_;
    if (end_ == End::kNone || --lives_ >= 0) {
      return OkStatus();
    }
    is_dead_ = true;
    if (end_ == End::kExit) {
      _exit(7);
    }
    return Internal("dead");
  }
  bool is_dead() const { return is_dead_; }
  int deeds() const { return deeds_; }

 private:
  End end_;
  int lives_;
  int deeds_ = 0;
  bool is_dead_ = false;
};

class MortalDisk final : public engine::Disk {
 public:
  MortalDisk(engine::Disk& disk, Fate& fate) : disk_(disk), fate_(fate) {}

  Status Write(const std::string& path, std::string_view bytes, mode_t mode) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Write(path, bytes, mode);
  }
  Status Replace(const std::string& path, std::string_view bytes,
                 const engine::Attributes& attributes) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Replace(path, bytes, attributes);
  }
  Status Remove(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Remove(path);
  }
  Status Link(const std::string& path, const std::string& target) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Link(path, target);
  }
  Status MakeFolder(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.MakeFolder(path);
  }
  Status RemoveFolder(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.RemoveFolder(path);
  }
  Status Move(const std::string& path, const std::string& to) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Move(path, to);
  }
  Status Tidy(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Tidy(path);
  }

 private:
  engine::Disk& disk_;
  Fate& fate_;
};

// The world outside of the host's tree: what is installed, which units run. One file each.
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
    Set("configs", {});     // that packages left
    Set("unfinished", {});  // packages that are listed, and not configured or half removed
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
  // From now on modules and daemons are those of the driver's packages that are here, the daemon
  // starts only beside a module of its own version, and one of "old-driver" runs.
  void RunOldDriver() const {
    Set("strict", {"on"});
    Set("modules", {"nvidia"});
    Add("active", std::string(kDaemon));
    Load("470");
  }
  bool IsStrict() const { return !Get("strict").empty(); }
  static constexpr std::string_view kDaemon = "nvidia-persistenced.service";
  // Version of the driver whose packages are here; empty: of none.
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

  // Whatever ran and was loaded is so no more: what is enabled starts, and nouveau is loaded where
  // there is no driver.
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
  // The daemon of the driver needs its module.
  bool CanStart(const std::string& unit) const {
    return unit != kDaemon || (Get("modules").contains("nvidia") &&
                               (!IsStrict() || LoadedVersion() == DriverVersion()));
  }

  // Every path of host and world but the kernel's files, with mode and bytes.
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

// Programs that change the world. One that is told to fail prints its reason and changes nothing.
class WorldRunner final : public sys::ProgramRunner {
 public:
  WorldRunner(const World& world, Fate& fate) : world_(world), fate_(fate) {}

  void Fail(std::string command, std::string reason) {
    fails_[std::move(command)] = std::move(reason);
  }
  // The kernel takes no module of this version.
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
    RETURN_IF_ERROR(fate_.Live());  // killed, and the program went on
    return result;
  }

 private:
  // Not all of them may be called twice, and some need what others brought.
  bool Systemctl(const std::vector<std::string>& argv) const {
    const std::string& verb = argv[1];
    const std::string list =
        verb == "enable" || verb == "disable" || verb == "is-enabled" ? "enabled" : "active";
    if (verb.starts_with("is-")) {
      return world_.Get(list).contains(argv[3]);
    }
    bool is_well = true;
    for (size_t i = 2; i < argv.size(); ++i) {
      if (verb == "start" && !world_.CanStart(argv[i])) {
        is_well = false;
      } else if (verb == "start" || verb == "enable") {
        world_.Add(list, argv[i]);
      } else {
        world_.Drop(list, argv[i]);
      }
    }
    return is_well;
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

  // Wants the way clear, as those of NVIDIA do.
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
  Fate& fate_;
  std::map<std::string, std::string> fails_;
  std::string refused_;
  std::vector<std::string> commands_;
};

// Packages come and go one after the other, each of them a deed. "nvidia-driver" needs "libnvidia".
class WorldPackages final : public packages::PackageManager {
 public:
  WorldPackages(const World& world, Fate& fate) : world_(world), fate_(fate) {}

  void FailInstall(Status status) { failure_ = std::move(status); }
  void FailRemove(Status status) { remove_failure_ = std::move(status); }
  void FailKeep(Status status) { keep_failure_ = std::move(status); }
  void FailPutBack(Status status) { put_back_failure_ = std::move(status); }
  // What is put back comes, and its module is not built.
  void FailConfigure(Status status) { configure_failure_ = std::move(status); }
  // Goes with the next ones that are taken off, though no trial told of it.
  void TakeToo(std::string name) { went_too_ = std::move(name); }
  void Need(std::string needer, std::string needed) {
    needs_[std::move(needer)] = std::move(needed);
  }

  StatusOr<Versions> Installed() override {
    RETURN_IF_ERROR(fate_.Live());
    Versions versions;
    for (const std::string& line : world_.Get("packages")) {
      versions[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    }
    return versions;
  }
  // What another manager installs or upgrades while the next installation waits for its lock.
  void Meanwhile(std::string line) { meanwhile_ = std::move(line); }

  StatusOr<packages::Foreseen> Foresee(const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(fate_.Live());
    packages::Foreseen foreseen;
    for (const std::string& name : names) {
      foreseen.names.insert(name.substr(0, name.find('=')));
      if (name == "nvidia-driver") {
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
        continue;  // also one that is not finished: rpm knows no such state
      }
      if (name == "nvidia-driver") {
        world_.Add("packages", "libnvidia=535");
        RETURN_IF_ERROR(fate_.Live());
      }
      RETURN_IF_ERROR(failure_);
      Put(name);
    }
    return fate_.Live();
  }
  Status Remove(const std::vector<std::string>& names) override {
    RETURN_IF_ERROR(remove_failure_);
    for (const std::string& name : names) {
      RETURN_IF_ERROR(fate_.Live());
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
    return others;
  }
  Status TakeOff(const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      RETURN_IF_ERROR(fate_.Live());
      RETURN_IF_ERROR(remove_failure_);
      if (IsThere(name)) {
        world_.Add("unfinished", name);  // its module is gone
        RETURN_IF_ERROR(fate_.Live());
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
  Status Keep(const std::vector<std::string>& names, const std::string& folder) override {
    RETURN_IF_ERROR(keep_failure_);
    for (const std::string& line : world_.Get("packages")) {
      if (std::ranges::find(names, line.substr(0, line.find('='))) != names.end()) {
        RETURN_IF_ERROR(fate_.Live());
        world_.dir().WriteFile(fmt::format("host{}/x86_64/{}.rpm", folder, line), line);
      }
    }
    return fate_.Live();
  }
  Status PutBack(const std::string& folder) override {
    RETURN_IF_ERROR(put_back_failure_);
    for (const std::string& path : packages::FilesBelow(world_.host(), folder, ".rpm")) {
      const std::string line = world_.dir().ReadFile("host" + path);
      const std::string name = line.substr(0, line.find('='));
      RETURN_IF_ERROR(fate_.Live());
      Put(line);
      world_.Add("unfinished", name);
      RETURN_IF_ERROR(fate_.Live());
      RETURN_IF_ERROR(configure_failure_);
      world_.Drop("unfinished", name);
    }
    return fate_.Live();
  }

 private:
  bool IsThere(const std::string& name) const {
    return std::ranges::any_of(world_.Get("packages"), [&name](const std::string& line) {
      return line.starts_with(name + "=");
    });
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
  Fate& fate_;
  Status failure_;
  Status remove_failure_;
  Status keep_failure_;
  Status put_back_failure_;
  Status configure_failure_;
  std::string meanwhile_;
  std::string went_too_;
  std::map<std::string, std::string> needs_;
};

class ToldProgress final : public Progress {
 public:
  void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) override {
    told_.push_back(fmt::format("{}/{} {}{}", number, count, step.id, is_undone ? " back" : ""));
  }
  void OnLine(std::string_view line) override { lines_.emplace_back(line); }
  const std::vector<std::string>& told() const { return told_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> told_;
  std::vector<std::string> lines_;
};

// All that one run needs, in a world that outlives it.
class OneRun {
 public:
  explicit OneRun(const World& world, Fate fate = Fate())
      : world_(world),
        fate_(fate),
        host_disk_(world.host(), sys::Durability::kMemory),
        disk_(host_disk_, fate_),
        runner_(world, fate_),
        packages_(world, fate_) {
    options_.resume_command = {"/usr/local/bin/kgpu", "driver", "install", "--resume"};
  }

  Hands hands() {
    return {world_.host(),
            disk_,
            runner_,
            &packages_,
            clock_,
            progress_,
            [this](const driver::Verify&) { return seen_; }};
  }
  StatusOr<Outcome> Begin(const driver::Plan& plan) {
    return Locked([&](const Hands& with) { return CarryOut(plan, options_, with); });
  }
  StatusOr<Outcome> GoOn() {
    return Locked([&](const Hands& with) { return Resume(options_, with); });
  }
  StatusOr<Outcome> Undo() {
    return Locked([&](const Hands& with) { return TakeBack(options_, with); });
  }

  Fate& fate() { return fate_; }
  WorldRunner& runner() { return runner_; }
  WorldPackages& packages() { return packages_; }
  ToldProgress& progress() { return progress_; }
  Options& options() { return options_; }
  void See(driver::Verified seen) { seen_ = std::move(seen); }

 private:
  StatusOr<Outcome> Locked(const std::function<StatusOr<Outcome>(const Hands&)>& work) {
    const Hands with = hands();
    ASSIGN_OR_RETURN(const UniqueFd lock, LockHost(with));
    return work(with);
  }

  const World& world_;
  Fate fate_;
  engine::HostDisk host_disk_;
  MortalDisk disk_;
  WorldRunner runner_;
  WorldPackages packages_;
  FakeClock clock_;
  ToldProgress progress_;
  Options options_;
  driver::Verified seen_;
};

}  // namespace kgpu::driver_install
