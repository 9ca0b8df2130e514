#include "tests/engines/box.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/unix_socket.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::engines {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBoxScript = KGPU_SOURCE_DIR "/tests/engines/box.sh";
constexpr const char* kCgroups = "/sys/fs/cgroup";
constexpr std::chrono::seconds kStartLimit{60};

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) {
    children.push_back(child);
  }
  return children;
}

// The one child of a process; 0 when it has none.
pid_t OnlyChild(pid_t parent) {
  const std::vector<pid_t> children = ChildrenOf(parent);
  return children.empty() ? 0 : children.front();
}

// Looks without reaping.
bool HasEnded(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

// Kills the first process of the namespace, and with it all others; over when all are gone.
void KillNamespace(pid_t unshare) {
  const pid_t init = OnlyChild(unshare);
  const UniqueFd pidfd(init == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, init, 0)));
  if (!pidfd.is_valid()) {
    return;
  }
  (void)syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  constexpr int kLimitMs = 20'000;
  EXPECT_EQ(poll(&ended, 1, kLimitMs), 1) << "processes of an engine are still there";
}

// Depth first: a cgroup goes with rmdir alone, its files do not count.
void RemoveCgroup(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) {
      RemoveCgroup(entry.path());
    }
  }
  (void)rmdir(folder.c_str());
}

}  // namespace

void LetEverybodyIn(const std::string& folder) {
  constexpr mode_t kMode = 0755;
  EXPECT_EQ(chmod(folder.c_str(), kMode), 0);
}

EngineBox::EngineBox() {
  for (const char* folder : {"run/cdi", "run/kgpu", "log", "etc"}) {
    dir_.MakeDir(folder);
  }
}

EngineBox::~EngineBox() {
  if (daemon_) {
    KillNamespace(daemon_->pid());
    daemon_.reset();
  }
  const std::string name = cgroup_parent().substr(1);
  std::error_code error;
  RemoveCgroup(fs::path(kCgroups) / name);
  for (const auto& controller : fs::directory_iterator(kCgroups, error)) {
    if (fs::exists(controller.path() / name, error)) {
      RemoveCgroup(controller.path() / name);
    }
  }
}

std::string EngineBox::cgroup_parent() const {
  return "/" + fs::path(dir_.path()).filename().string();
}

void EngineBox::WriteEtc(const std::string& path, std::string_view text) const {
  dir_.WriteFile("etc/" + path, text);
}

void EngineBox::ShareRun(const std::string& folder) {
  for (const char* name : {"cdi", "kgpu"}) {
    const std::string shared = fmt::format("{}/run/{}", folder, name);
    fs::create_directories(shared);
    AddPrologue(fmt::format("mount --bind {} /run/{}", shared, name));
  }
}

void EngineBox::ShareDevices(const std::string& folder) {
  const std::string dev = At("scratch/dev");
  AddPrologue(
      fmt::format("mkdir -p {0}/pts {0}/shm\n"
                  "cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty {0}/\n"
                  "cp -a {1}/dev/. {0}/\n"
                  "ln -s pts/ptmx {0}/ptmx\n"
                  "ln -s /proc/self/fd {0}/fd\n"
                  "chmod 1777 {0}/shm\n"
                  "mount --bind /dev/pts {0}/pts\n"
                  "mount --rbind {0} /dev",
                  dev, folder));
}

void EngineBox::BecomeHost(const std::string& folder) {
  ShareDevices(folder);
  // A kernel that cannot load modules has no /proc/modules.
  AddPrologue(fmt::format(
      "mount --bind {0}/run /run\n"
      "mount -t overlay overlay -o lowerdir=/usr:{0}/usr /usr\n"
      "cp -an {0}/etc/. /etc/\n"
      "mkdir {1}\n"
      "mount -t proc proc {1}\n"
      "mount --bind {0}/proc/driver {1}/driver\n"
      "(cd {0}/proc; find . -path ./driver -prune -o -type f -print) | while read -r file; do\n"
      "  [ ! -e {1}/$file ] || mount --bind {0}/proc/$file {1}/$file\n"
      "done",
      folder, proc()));
}

void EngineBox::UseOneCgroupHierarchy() {
  AddPrologue("if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi");
}

std::vector<std::string> EngineBox::Boxed(std::vector<std::string> argv) const {
  std::vector<std::string> boxed = {"/usr/bin/unshare",
                                    "--mount",
                                    "--propagation",
                                    "private",
                                    "--pid",
                                    "--fork",
                                    "--kill-child",
                                    "--mount-proc",
                                    kBoxScript,
                                    dir_.path(),
                                    "/bin/sh",
                                    "-c",
                                    "set -e\n" + prologue_ + "exec \"$@\"",
                                    "sh"};
  argv.at(0) = e2e::ProgramPath(argv.at(0));
  boxed.insert(boxed.end(), argv.begin(), argv.end());
  return boxed;
}

void EngineBox::StartDaemon(std::vector<std::string> argv) {
  std::vector<std::string> logged = {"/bin/sh", "-c", "exec \"$@\" >>" + At("daemon.log") + " 2>&1",
                                     "sh"};
  const std::vector<std::string> boxed = Boxed(std::move(argv));
  logged.insert(logged.end(), boxed.begin(), boxed.end());
  daemon_ = std::make_unique<e2e::Background>(std::move(logged));
}

bool EngineBox::WaitForSocket(const std::string& socket) const {
  bool is_there = false;
  const auto is_decided = [&] {
    is_there = sys::ConnectUnix(socket).ok();
    return is_there || HasEnded(daemon_->pid());
  };
  return integration::WaitInFolder(fs::path(socket).parent_path(), is_decided, kStartLimit) &&
         is_there;
}

e2e::Result EngineBox::Enter(std::vector<std::string> argv, std::chrono::milliseconds limit) const {
  const pid_t init = daemon_ ? OnlyChild(daemon_->pid()) : 0;
  std::vector<std::string> entered = {"/usr/bin/nsenter", "--target", std::to_string(init),
                                      "--mount",          "--pid",    "--"};
  argv.at(0) = e2e::ProgramPath(argv.at(0));
  entered.insert(entered.end(), argv.begin(), argv.end());
  return e2e::RunProgram(std::move(entered), limit);
}

std::vector<pid_t> EngineBox::ProcessesNamed(std::string_view name) const {
  std::vector<pid_t> found;
  std::vector<pid_t> all = {daemon_ ? OnlyChild(daemon_->pid()) : 0};
  for (size_t i = 0; i < all.size(); ++i) {
    std::ifstream file(fmt::format("/proc/{}/comm", all[i]));
    std::ifstream words(fmt::format("/proc/{}/cmdline", all[i]));  // empty of one that has ended
    std::string comm;
    if (std::getline(file, comm) && comm == name && words.get() != EOF) {
      found.push_back(all[i]);
    }
    std::ranges::copy(ChildrenOf(all[i]), std::back_inserter(all));
  }
  std::ranges::sort(found);
  return found;
}

e2e::Result EngineBox::Run(std::vector<std::string> argv, std::chrono::milliseconds limit) const {
  return e2e::RunProgram(Boxed(std::move(argv)), limit);
}

}  // namespace kgpu::engines
