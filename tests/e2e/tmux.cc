#include "tests/e2e/tmux.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <array>
#include <filesystem>
#include <utility>

#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using std::chrono::steady_clock;

constexpr char kTmux[] = "/usr/bin/tmux";

}  // namespace

bool HasTmux() {
  return std::filesystem::exists(kTmux);
}

Tmux::Tmux(size_t columns, size_t rows, const std::string& command,
           const std::vector<std::string>& environment) {
  const std::string pipe = dir_.At("written");
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // For writing too: there is no end while tmux has not opened it yet.
  written_.Reset(open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  std::string line = "env TERM=screen LANG=C.UTF-8";
  for (const std::string& entry : environment) {
    line += fmt::format(" '{}'", entry);
  }
  // The program starts once its output is piped to us, too.
  Run({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
       std::to_string(rows), fmt::format("read begin; {} sh -c '{}; read end'", line, command)});
  Run({"set-option", "-g", "window-size", "manual"});
  Run({"pipe-pane", "-O", fmt::format("cat > {}", pipe)});
  Press({"Enter"});
}

Tmux::~Tmux() {
  Run({"kill-server"});
}

std::string Tmux::Run(std::vector<std::string> words) const {
  words.insert(words.begin(), {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", kTmux,
                               "-S", dir_.At("socket")});
  const Result result = RunProgram(std::move(words));
  EXPECT_EQ(result.code, 0) << result.err;
  return result.out;
}

void Tmux::Press(const std::vector<std::string>& keys) const {
  std::vector<std::string> words = {"send-keys"};
  words.insert(words.end(), keys.begin(), keys.end());
  Run(std::move(words));
}

void Tmux::Resize(size_t columns, size_t rows) const {
  Run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

std::string Tmux::Screen() const {
  return Run({"capture-pane", "-p"});
}

bool Tmux::WaitUntil(const std::function<bool(const std::string& screen)>& condition,
                     std::chrono::milliseconds limit) const {
  const auto end = steady_clock::now() + limit;
  while (!condition(Screen())) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    // The program may have written just before it is piped: look again now and then.
    constexpr long kLongest = 1'000;
    pollfd polled{.fd = written_.get(), .events = POLLIN, .revents = 0};
    if (left <= 0) {
      return false;
    }
    if (poll(&polled, 1, static_cast<int>(std::min<long>(left, kLongest))) > 0) {
      std::array<char, 65536> bytes{};
      while (read(written_.get(), bytes.data(), bytes.size()) > 0) {
      }
    }
  }
  return true;
}

bool Tmux::WaitFor(std::string_view text) const {
  return WaitUntil(
      [&](const std::string& screen) { return screen.find(text) != std::string::npos; });
}

}  // namespace kgpu::e2e
