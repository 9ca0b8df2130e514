#include "testing/kubelet/control_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/acceptor.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/kubelet/lifeline.h"

namespace kgpu::kubelet {
namespace {

constexpr size_t kRequestLimit = size_t{1} << 20;
constexpr size_t kReplyLimit = size_t{64} << 20;
constexpr size_t kMaxClients = 64;
// A client that does not read holds nobody up: the rest of its answer is sent bit by bit.
constexpr std::chrono::milliseconds kSendAgain{2};

// Appends what is there; false at the end of the connection.
bool Receive(int fd, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
  if (got > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

struct ControlServer::State {
  struct Client {
    UniqueFd fd;
    WatchId watch = WatchId::kNone;
    std::string input;
    std::string output;
  };

  explicit State(EventLoop& on_loop, Handler in_handler)
      : loop(on_loop), handler(std::move(in_handler)) {}
  ~State() {
    for (const auto& [number, client] : clients) {
      loop.Unwatch(client.watch);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void Accept(UniqueFd fd) {
    if (clients.size() >= kMaxClients) {
      return;
    }
    const uint64_t number = next++;
    const auto watch = loop.WatchReadable(fd.get(), [this, number] { Read(number); });
    if (watch.ok()) {
      clients[number] = {.fd = std::move(fd), .watch = *watch, .input = {}, .output = {}};
    }
  }

  void Read(uint64_t number) {
    Client& client = clients.at(number);
    if (!Receive(client.fd.get(), client.input) || client.input.size() > kRequestLimit) {
      Drop(number);
      return;
    }
    const size_t end = client.input.find('\n');
    if (end == std::string::npos) {
      return;
    }
    const std::string line = client.input.substr(0, end);
    client.input.erase(0, end + 1);
    handler(line, lifeline.Guard([this, number](const std::string& answer) {
      if (const auto found = clients.find(number); found != clients.end()) {
        found->second.output += answer + "\n";
        Send(number);
      }
    }));
  }

  void Send(uint64_t number) {
    const auto found = clients.find(number);
    if (found == clients.end()) {
      return;
    }
    std::string& output = found->second.output;
    const ssize_t sent =
        send(found->second.fd.get(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      Drop(number);
      return;
    }
    output.erase(0, sent < 0 ? 0 : static_cast<size_t>(sent));
    if (!output.empty()) {
      loop.After(kSendAgain, lifeline.Guard([this, number] { Send(number); }));
    }
  }

  void Drop(uint64_t number) {
    loop.Unwatch(clients.at(number).watch);
    clients.erase(number);
  }

  EventLoop& loop;
  Handler handler;
  std::map<uint64_t, Client> clients;
  uint64_t next = 1;
  std::unique_ptr<sys::Acceptor> acceptor;
  Lifeline lifeline;
};

StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(EventLoop& loop,
                                                              const std::string& path,
                                                              Handler handler) {
  ASSIGN_OR_RETURN(sys::UnixListener listener, sys::UnixListener::Listen(path, {}));
  auto state = std::make_unique<State>(loop, std::move(handler));
  ASSIGN_OR_RETURN(state->acceptor, sys::Acceptor::Create(loop, std::move(listener),
                                                          [raw = state.get()](UniqueFd fd) {
                                                            raw->Accept(std::move(fd));
                                                          }));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {
}

ControlServer::~ControlServer() = default;

StatusOr<std::string> AskControl(const std::string& path, const std::string& line,
                                 std::chrono::milliseconds limit) {
  ASSIGN_OR_RETURN(const UniqueFd fd, sys::ConnectUnix(path));
  const std::string request = line + "\n";
  // The server reads at once, and a request fits into the socket's buffer.
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return Unavailable("{}: cannot send the request", path);
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string answer;
  while (answer.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd polled{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&polled, 1, static_cast<int>(left.count())) == 0) {
      return DeadlineExceeded("{}: no answer within {} ms", path, limit.count());
    }
    if (!Receive(fd.get(), answer) || answer.size() > kReplyLimit) {
      return Unavailable("{}: the kubelet's process has exited", path);
    }
  }
  answer.resize(answer.find('\n'));
  return answer;
}

}  // namespace kgpu::kubelet
