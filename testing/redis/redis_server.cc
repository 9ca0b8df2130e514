#include "testing/redis/redis_server.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/pipe.h"

namespace kgpu {
namespace {

// Debian's redis-server is a link to this file of redis-tools, which, unlike redis-server, starts
// no service when it is installed. The name by which it is started decides what it does.
constexpr char kProgram[] = "/usr/bin/redis-check-rdb";
constexpr char kReady[] = "eady to accept connections at";  // of the socket, in all versions

}  // namespace

bool RedisServer::IsInstalled() {
  return access(kProgram, X_OK) == 0;
}

RedisServer::~RedisServer() {
  Kill();
}

Status RedisServer::Start(const std::vector<std::string>& flags) {
  Kill();
  const std::string program = dir_.At("redis-server");
  if (access(program.c_str(), X_OK) != 0) {
    dir_.Symlink(kProgram, "redis-server");
  }
  std::vector<std::string> argv = {program,  "--port",        "0",         "--unixsocket",
                                   socket(), "--dir",         dir_.path(), "--appendonly",
                                   "yes",    "--appendfsync", "always",    "--save",
                                   ""};
  argv.insert(argv.end(), flags.begin(), flags.end());
  ASSIGN_OR_RETURN(sys::Pipe output, sys::MakePipe());
  ASSIGN_OR_RETURN(sys::ChildProcess process,
                   sys::ChildProcess::Spawn(
                       {.argv = argv, .environment = {}, .fds = {{output.write.get(), 1}}}));
  process_.emplace(std::move(process));
  output.write.Reset();
  std::string text;
  std::array<char, 4'096> bytes{};
  while (text.find(kReady) == std::string::npos) {
    const ssize_t count = read(output.read.get(), bytes.data(), bytes.size());
    if (count <= 0) {
      return Unavailable("redis-server did not start: {}", text);
    }
    text.append(bytes.data(), static_cast<size_t>(count));
  }
  return OkStatus();
}

void RedisServer::Kill() {
  if (!process_) {
    return;
  }
  (void)process_->Kill();
  pollfd end{.fd = process_->pidfd(), .events = POLLIN, .revents = 0};
  (void)poll(&end, 1, -1);
  (void)process_->TryReap();
  process_.reset();
}

void RedisServer::Freeze() {
  kill(process_->pid(), SIGSTOP);
}

void RedisServer::Thaw() {
  kill(process_->pid(), SIGCONT);
}

}  // namespace kgpu
