#include "tests/functions/watchdog_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <boost/json.hpp>

#include <chrono>
#include <csignal>
#include <utility>

#include "src/platform/doc/doc.h"
#include "src/platform/sys/run.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::e2e {
namespace {

constexpr std::chrono::seconds kLimit{60};

}  // namespace

WatchdogRun::WatchdogRun(const Settings& settings) {
  std::vector<std::string> argv{KGPU_BIN_DIR "/kgpu-fnwatch", "--listen", dir_.At("s"), "--grpc",
                                dir_.At("g")};
  argv.insert(argv.end(), settings.flags.begin(), settings.flags.end());
  argv.emplace_back("--");
  argv.insert(argv.end(), settings.command.begin(), settings.command.end());
  std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent"};
  environment.insert(environment.end(), settings.environment.begin(), settings.environment.end());
  log_.Reset(open(dir_.At("log").c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600));
  StatusOr<sys::ChildProcess> child =
      sys::ChildProcess::Spawn({.argv = std::move(argv),
                                .environment = std::move(environment),
                                .fds = {{log_.get(), 1}, {log_.get(), 2}}});
  if (child.ok()) {
    child_.emplace(*std::move(child));
  } else {
    ADD_FAILURE() << child.status();
  }
}

WatchdogRun::~WatchdogRun() {
  if (child_ && !child_->TryReap()) {
    Signal(SIGTERM);
    (void)Wait();
  }
}

std::string WatchdogRun::WaitUntilReady() {
  const auto until = std::chrono::steady_clock::now() + kLimit;
  http::Response answer;
  while (std::chrono::steady_clock::now() < until && !child_->TryReap()) {
    answer = Call({.target = "/_/ready"});
    if (answer.code == 200) {
      return "";
    }
    pollfd ended{.fd = child_->pidfd(), .events = POLLIN, .revents = 0};
    (void)poll(&ended, 1, 20);  // its socket, or its worker, is not there yet
  }
  return answer.body + Log();
}

http::Response WatchdogRun::Call(const http::Request& request) const {
  http::CallOptions options;
  options.timeout = kLimit;
  options.max_body = size_t{256} << 20;
  const StatusOr<http::Response> response = http::Fetch(dir_.At("s"), request, options);
  if (!response.ok()) {
    return {.code = 0, .body = std::string(Message(response.status()))};
  }
  return *response;
}

http::Response WatchdogRun::Post(std::string_view path, std::string body) const {
  return Call({.method = "POST", .target = std::string(path), .body = std::move(body)});
}

UniqueFd WatchdogRun::Connect() const {
  StatusOr<UniqueFd> socket = sys::ConnectUnix(dir_.At("s"));
  EXPECT_TRUE(socket.ok()) << socket.status();
  return socket.ok() ? *std::move(socket) : UniqueFd();
}

std::string WatchdogRun::Status(std::string_view key) const {
  const http::Response page = Call({.target = "/_/status"});
  const auto tree = doc::Parse(page.body, doc::Format::kJson, "status");
  if (!tree.ok() || !tree->is_object() || !tree->as_object().contains(key)) {
    return page.body;
  }
  return doc::PrintLine(tree->as_object().at(key));
}

void WatchdogRun::Signal(int number) const {
  (void)kill(child_->pid(), number);
}

std::string WatchdogRun::Wait() {
  pollfd ended{.fd = child_->pidfd(), .events = POLLIN, .revents = 0};
  (void)poll(&ended, 1, static_cast<int>(std::chrono::milliseconds(kLimit).count()));
  const std::optional<sys::ExitState> state = child_->TryReap();
  return state ? sys::Describe(*state) : "still running";
}

}  // namespace kgpu::e2e
