// Daemons of the simulated MPS, for tests: real processes, on a loop whose time the test controls.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/node/mps/daemon.h"
#include "src/node/mps/lasting_process.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/temp_dir.h"

namespace kgpu::mps {

inline Program TestProgram() {
  return {.path = KGPU_SIM_MPS, .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"}};
}

// True once the process has ended; waits at most 20 s.
inline bool WaitForEnd(const LastingProcess& process) {
  pollfd ended{.fd = process.pidfd(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 20'000) == 1;
}

// To the daemon whose folder is `folder`.
inline UniqueFd ConnectToDaemon(const std::string& folder) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (folder + "/pipe/control").copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// A program that uses the device whose daemon's folder is `folder`.
class TestClient {
 public:
  explicit TestClient(const std::string& folder) : fd_(ConnectToDaemon(folder)) {
    Send(fmt::format("client {}\n", getpid()));
  }
  void Send(std::string_view text) const {
    EXPECT_EQ(send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Without its end; empty when the daemon is gone.
  std::string ReadLine() const {
    std::string line;
    for (char c = 0; read(fd_.get(), &c, 1) == 1 && c != '\n';) {
      line += c;
    }
    return line;
  }

 private:
  UniqueFd fd_;
};

class DaemonFixture : public ::testing::Test {
 protected:
  DaemonFixture() = default;
  ~DaemonFixture() override {
    // Whatever the test has left: by their own files, in folders that nobody else knows.
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (const pid_t pid = PidOf(entry.path().filename().string()); pid != 0) {
        (void)AskDaemonIn(entry.path().string(), "quit\n");
      }
    }
  }

  // Runs the loop, with its time going on as fast as nothing else happens; but slowly while a
  // program may be answering, since a busy machine takes its time for that.
  bool RunLoopUntil(const std::function<bool()>& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition() && std::chrono::steady_clock::now() < limit) {
      const std::chrono::milliseconds wait(loop_.watches() > 1 ? 100 : 5);
      if (!loop_.WaitForDescriptor(wait)) {
        loop_.Advance(std::chrono::milliseconds(250));
      }
    }
    return condition();
  }
  void RunLoopFor(std::chrono::seconds time) {
    const SteadyTime end = loop_.clock().Now() + time;
    EXPECT_TRUE(RunLoopUntil([&] { return loop_.clock().Now() >= end; }));
  }
  pid_t PidOf(const std::string& device) const {
    const auto root = sys::Root::Open("/");
    const auto text = root.ok()
                          ? root->ReadFile(dir_.At(device + "/pipe/nvidia-cuda-mps-control.pid"))
                          : StatusOr<std::string>(root.status());
    const auto pid = text.ok() ? ParseUint(Trim(*text)) : std::nullopt;
    return static_cast<pid_t>(pid.value_or(0));
  }
  // What the daemon answers, whatever the loop under test does.
  std::string AskDaemon(const std::string& device, const std::string& commands) const {
    return AskDaemonIn(dir_.At(device), commands);
  }

  TempDir dir_;
  FakeLoop loop_;

 private:
  static std::string AskDaemonIn(const std::string& folder, const std::string& commands) {
    FakeLoop loop;
    std::string text;
    bool has_answer = false;
    const Program program = TestProgram();
    std::vector<std::string> environment = program.environment;
    environment.push_back(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/pipe", folder));
    const auto call = ControlCall::Start(
        loop, {.argv = {program.path}, .environment = environment, .commands = commands},
        [&](const StatusOr<std::string>& answer) {
          text = answer.value_or("");
          has_answer = true;
        });
    EXPECT_TRUE(call.ok());
    EXPECT_TRUE(RunUntil(loop, [&] { return has_answer; }));
    return text;
  }
};

}  // namespace kgpu::mps
