#include "tests/e2e/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "testing/status_matchers.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using std::chrono::steady_clock;

int TimeLeft(steady_clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// The program's end of the terminal; none where there are no terminals.
UniqueFd OpenOther(const UniqueFd& ours) {
  std::array<char, 64> name{};
  const bool is_open = ours.is_valid() && grantpt(ours.get()) == 0 && unlockpt(ours.get()) == 0 &&
                       ptsname_r(ours.get(), name.data(), name.size()) == 0;
  return UniqueFd(is_open ? open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC) : -1);
}

}  // namespace

AtTerminal::AtTerminal(std::vector<std::string> argv)
    : ours_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  const UniqueFd other = OpenOther(ours_);
  if (!other.is_valid()) {
    return;
  }
  argv.at(0) = ProgramPath(argv.at(0));
  auto child = sys::ChildProcess::Spawn(
      {.argv = std::move(argv),
       .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb", "LANG=C.UTF-8"},
       .fds = {{other.get(), STDIN_FILENO},
               {other.get(), STDOUT_FILENO},
               {other.get(), STDERR_FILENO}}});
  EXPECT_OK(child);
  if (child.ok()) {
    child_.emplace(*std::move(child));
  }
}

AtTerminal::~AtTerminal() {
  if (child_ && !child_->TryReap()) {
    EXPECT_OK(child_->Kill());
    End();
  }
}

// False at the end: a terminal that nobody has open any more tells an error.
bool AtTerminal::ReadSome(int timeout_ms) {
  pollfd polled{.fd = ours_.get(), .events = POLLIN, .revents = 0};
  std::array<char, 4096> buffer{};
  if (poll(&polled, 1, timeout_ms) <= 0) {
    return false;
  }
  const ssize_t got = read(ours_.get(), buffer.data(), buffer.size());
  if (got <= 0) {
    return false;
  }
  shown_.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

bool AtTerminal::WaitFor(std::string_view text, std::chrono::milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  while (shown_.find(text) == std::string::npos) {
    if (!ReadSome(TimeLeft(end))) {
      return false;
    }
  }
  return true;
}

void AtTerminal::Type(std::string_view text) const {
  EXPECT_EQ(write(ours_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

int AtTerminal::End(std::chrono::milliseconds limit) {
  if (!child_) {
    return -1;
  }
  const auto end = steady_clock::now() + limit;
  while (ReadSome(TimeLeft(end))) {
  }
  pollfd ended{.fd = child_->pidfd(), .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, TimeLeft(end)) != 1) {
    EXPECT_OK(child_->Kill());
    EXPECT_EQ(poll(&ended, 1, 10'000), 1);
  }
  const sys::ExitState state =
      child_->TryReap().value_or(sys::ExitState{.code = 255, .signal = std::nullopt});
  return state.code ? *state.code : 128 + state.signal.value_or(0);
}

}  // namespace kgpu::e2e
