#include "tests/engines/boxed_engine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "tests/integration/wait_for_file.h"

namespace kgpu::engines {
namespace {

namespace fs = std::filesystem;

// Restarts a daemon that is not its child, as a service manager would.
constexpr const char* kRestart = R"(#!/bin/sh
if [ -s /run/daemon.pid ]; then
  pid=$(cat /run/daemon.pid)
  kill "$pid" && timeout 20 tail --pid="$pid" -f /dev/null
fi
{1}
PATH={2}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin setsid {0} >>/var/log/daemon 2>&1 </dev/null &
echo $! >/run/daemon.pid
)";

}  // namespace

BoxedEngine::BoxedEngine() {
  for (const char* folder : {"varlib", "bin"}) {
    box_.dir().MakeDir(folder);
  }
  box_.AddPrologue("mount --bind " + box_.At("varlib") + " /var/lib");
  box_.AddPrologue("mount --bind " + box_.At("bin") + " /usr/local/bin");
}

void BoxedEngine::Start(const std::string& command, const std::string& socket, Origin origin,
                        const std::string& before) {
  path_ = fs::path(FindProgram("containerd", origin)).parent_path();
  command_ = command;
  WriteRestart(before);
  // A shell, for the first process has to take in those that lose their parents.
  box_.StartDaemon({"/bin/sh", "-c", "echo up >/run/up; sleep infinity; exit"});
  ASSERT_TRUE(WaitForBox());
  ASSERT_EQ(box_.Enter({Restart()}).code, 0);
  ASSERT_TRUE(box_.WaitForSocket(box_.At("run/" + socket))) << Log();
}

void BoxedEngine::WriteRestart(const std::string& before) {
  box_.dir().WriteFile("restart.sh", fmt::format(fmt::runtime(kRestart), command_, before, path_));
  ASSERT_EQ(chmod(Restart().c_str(), 0755), 0);
}

e2e::Result BoxedEngine::Kgpu(std::vector<std::string> words) const {
  words.insert(words.begin(), {"kgpu", "runtime"});
  return box_.Enter(std::move(words));
}

std::string BoxedEngine::Leftovers() const {
  return box_
      .Enter({"/bin/sh", "-c",
              "find /usr/local/bin /var/lib/kgpu /etc/kgpu -type f -o "
              "-type l 2>/dev/null"})
      .out;
}

// nsenter needs the box's first process to be past its mounts.
bool BoxedEngine::WaitForBox() const {
  return integration::WaitInFolder(
      box_.At("run"), [&] { return fs::exists(box_.At("run/up")); }, std::chrono::seconds(20));
}

}  // namespace kgpu::engines
