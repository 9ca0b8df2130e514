#include "tests/e2e/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::e2e {
namespace {

using std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
    read.Reset(fds[0]);
    write.Reset(fds[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

std::vector<std::string> Environment() {
  return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8"};
}

std::vector<std::string> WithPath(std::vector<std::string> argv) {
  argv.at(0) = ProgramPath(argv.at(0));
  return argv;
}

int Code(const sys::ExitState& state) {
  return state.code ? *state.code : 128 + state.signal.value_or(0);
}

int Left(steady_clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Appends what is there; false at the end of the file.
bool ReadSome(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return got > 0;
}

// Reads both pipes until both end or the time is over.
void ReadBoth(UniqueFd& out, UniqueFd& err, Result& result, steady_clock::time_point end) {
  while (out.is_valid() || err.is_valid()) {
    std::array<pollfd, 2> polled{{{.fd = out.get(), .events = POLLIN, .revents = 0},
                                  {.fd = err.get(), .events = POLLIN, .revents = 0}}};
    if (poll(polled.data(), polled.size(), Left(end)) <= 0) {
      return;
    }
    if (polled[0].revents != 0 && !ReadSome(out.get(), result.out)) {
      out.Reset();
    }
    if (polled[1].revents != 0 && !ReadSome(err.get(), result.err)) {
      err.Reset();
    }
  }
}

bool EndsWithin(const sys::ChildProcess& child, int timeout_ms) {
  pollfd ended{.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, timeout_ms) == 1;
}

sys::ExitState WaitForEnd(sys::ChildProcess& child, int timeout_ms) {
  if (!EndsWithin(child, timeout_ms)) {
    EXPECT_OK(child.Kill());
    EXPECT_TRUE(EndsWithin(child, 10'000));
  }
  return child.TryReap().value_or(sys::ExitState{.code = 255, .signal = std::nullopt});
}

sys::ChildProcess Start(std::vector<std::string> argv, int out, int err) {
  return std::move(sys::ChildProcess::Spawn({.argv = WithPath(std::move(argv)),
                                             .environment = Environment(),
                                             .fds = {{out, STDOUT_FILENO}, {err, STDERR_FILENO}}})
                       .value());
}

}  // namespace

std::string ProgramPath(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return std::string(name);
  }
  return std::string(KGPU_BIN_DIR) + "/" + std::string(name);
}

Result RunProgram(std::vector<std::string> argv, std::chrono::milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  Result result;
  Pipe out;
  Pipe err;
  sys::ChildProcess child = Start(std::move(argv), out.write.get(), err.write.get());
  out.write.Reset();
  err.write.Reset();
  ReadBoth(out.read, err.read, result, end);
  result.code = Code(WaitForEnd(child, Left(end)));
  return result;
}

namespace {

sys::ChildProcess StartInBackground(std::vector<std::string> argv, UniqueFd& read_end) {
  Pipe out;
  read_end = std::move(out.read);
  return Start(std::move(argv), out.write.get(), STDERR_FILENO);
}

}  // namespace

Background::Background(std::vector<std::string> argv)
    : child_(StartInBackground(std::move(argv), read_)) {
}

Background::~Background() {
  if (!child_.TryReap()) {
    (void)child_.Kill();
    (void)WaitForEnd(child_, 10'000);
  }
}

bool Background::RunsFor(std::chrono::milliseconds limit) const {
  return !EndsWithin(child_, static_cast<int>(limit.count()));
}

bool Background::WaitFor(std::string_view text, std::chrono::milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  while (out_.find(text) == std::string::npos) {
    pollfd polled{.fd = read_.get(), .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, Left(end)) <= 0 || !ReadSome(read_.get(), out_)) {
      return false;
    }
  }
  return true;
}

sys::ExitState Background::Stop() {
  EXPECT_EQ(kill(child_.pid(), SIGTERM), 0);
  return WaitForEnd(child_, 10'000);
}

}  // namespace kgpu::e2e
