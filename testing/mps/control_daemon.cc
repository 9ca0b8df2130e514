// The control daemon: one server at most, a process of its own; clients, limits, faults.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "testing/mps/protocol.h"

namespace kgpu::simmps {
namespace {

constexpr size_t kMaxLine = 1024;

std::string Variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : otherwise;
}

std::string LogFolder() {
  return Variable("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps");
}

void Log(const char* file, const std::string& text) {
  const std::string path = LogFolder() + "/" + file;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    return;
  }
  timespec now = {};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  tm parts = {};
  (void)gmtime_r(&now.tv_sec, &parts);
  std::array<char, 64> stamp{};
  (void)std::strftime(stamp.data(), stamp.size(), "%F %T", &parts);
  const std::string line = "[" + std::string(stamp.data()) + "] " + text + "\n";
  (void)!write(fd, line.data(), line.size());
  close(fd);
}

// "4G", "900M" in MiB; 0: neither.
uint64_t MebiOf(const std::string& value) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(value.c_str(), &end, 10);
  const std::string unit = end != nullptr ? end : "";
  return unit == "G" ? number << 10 : unit == "M" ? number : 0;
}

struct Connection {
  int fd = -1;
  std::string input;
  pid_t client = 0;  // 0: a person's
  bool is_faulted = false;
  bool is_ignored = false;  // until it ends
};

class ControlDaemon {
 public:
  bool Open();
  void Run();
  ~ControlDaemon();

 private:
  void Accept();
  bool Receive(Connection& connection);
  bool Handle(Connection& connection, const std::string& line);
  void AddClient(Connection& connection, pid_t pid);
  void Fault(const Connection& culprit);
  std::string Answer(const std::string& line);
  std::string AnswerAboutServer(const std::string& command, std::istringstream& words);
  void StartServer();
  void PrepareServer();
  void EndServer();
  size_t Clients() const {
    return static_cast<size_t>(std::ranges::count_if(
        connections_, [](const Connection& connection) { return connection.client != 0; }));
  }
  bool IsFaulted() const { return std::ranges::any_of(connections_, &Connection::is_faulted); }

  std::string folder_ = PipeFolder();
  std::string mute_ = Variable(kMuteVariable, "");
  int lock_ = -1;
  int listener_ = -1;
  std::vector<Connection> connections_;
  std::string threads_ = "100.0";
  std::string server_threads_ = "100.0";
  std::map<std::string, std::string> memory_;  // by device, as given
  uint64_t server_mebi_ = 0;
  pid_t server_ = 0;
  bool is_quitting_ = false;
};

bool ControlDaemon::Open() {
  lock_ = open((folder_ + "/" + kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    (void)std::fprintf(stderr, "An instance of this daemon is already running\n");
    return false;
  }
  const std::string path = folder_ + "/" + kControlSocket;
  (void)unlink(path.c_str());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return false;
  }
  path.copy(address.sun_path, path.size());
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(listener_, 128) != 0) {
    return false;
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  const int file =
      open((folder_ + "/" + kPidFile).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool is_written =
      file >= 0 && write(file, pid.data(), pid.size()) == static_cast<ssize_t>(pid.size());
  if (file >= 0) {
    close(file);
  }
  Log("control.log", "Start");
  return is_written;
}

ControlDaemon::~ControlDaemon() {
  EndServer();
  if (listener_ >= 0) {
    (void)unlink((folder_ + "/" + kControlSocket).c_str());
    (void)unlink((folder_ + "/" + kPidFile).c_str());
  }
}

void ControlDaemon::Run() {
  while (!is_quitting_) {
    std::vector<pollfd> fds = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
      const short events = connection.is_ignored ? 0 : POLLIN;
      fds.push_back({.fd = connection.fd, .events = events, .revents = 0});
    }
    if (poll(fds.data(), fds.size(), -1) < 0) {
      continue;
    }
    for (size_t i = fds.size() - 1; i > 0; --i) {
      if (fds[i].revents != 0 && !Receive(connections_[i - 1])) {
        close(connections_[i - 1].fd);
        connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(i - 1));
      }
    }
    if (fds[0].revents != 0) {
      Accept();
    }
  }
}

void ControlDaemon::Accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) {
    connections_.push_back({.fd = fd, .input = {}});
  }
}

// False: the connection ends.
bool ControlDaemon::Receive(Connection& connection) {
  std::array<char, kMaxLine> buffer{};
  const ssize_t size = read(connection.fd, buffer.data(), buffer.size());
  if (size <= 0 || connection.input.size() > kMaxLine) {
    return false;
  }
  connection.input.append(buffer.data(), static_cast<size_t>(size));
  for (size_t end = connection.input.find('\n'); end != std::string::npos;
       end = connection.input.find('\n')) {
    const std::string line = connection.input.substr(0, end);
    connection.input.erase(0, end + 1);
    if (!Handle(connection, line)) {
      return false;
    }
  }
  return true;
}

bool ControlDaemon::Handle(Connection& connection, const std::string& line) {
  if (line.starts_with("client ")) {
    AddClient(connection, static_cast<pid_t>(std::strtol(line.c_str() + 7, nullptr, 10)));
    return connection.client != 0;
  }
  if (line == "fault" && connection.client != 0) {
    Fault(connection);
    return true;
  }
  Log("control.log", "Cmd:" + line);
  if (!mute_.empty() && line.starts_with(mute_)) {
    connection.is_ignored = true;
    return true;
  }
  const std::string answer = Answer(line);
  (void)send(connection.fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  return false;
}

void ControlDaemon::AddClient(Connection& connection, pid_t pid) {
  if (IsFaulted() || Clients() >= kMaxClients || pid <= 0) {
    (void)send(connection.fd, "not-ready\n", 10, MSG_NOSIGNAL);
    return;
  }
  if (server_ == 0) {
    StartServer();
  }
  connection.client = pid;
  Log("server.log", "New client " + std::to_string(pid) + " connected");
  const std::string answer = "ok " + server_threads_ + " " + std::to_string(server_mebi_) + "\n";
  (void)send(connection.fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

// From Volta on, a fault ends the contexts of all clients; new ones wait until they have gone.
void ControlDaemon::Fault(const Connection& culprit) {
  Log("server.log", "Server " + std::to_string(server_) + " status FAULT");
  constexpr std::string_view kFault = "fault\n";
  for (Connection& connection : connections_) {
    connection.is_faulted = connection.client != 0;
    if (connection.is_faulted && &connection != &culprit) {
      (void)send(connection.fd, kFault.data(), kFault.size(), MSG_NOSIGNAL);
    }
  }
  (void)send(culprit.fd, kFault.data(), kFault.size(), MSG_NOSIGNAL);
}

std::string ControlDaemon::Answer(const std::string& line) {
  std::istringstream words(line);
  std::string command;
  std::string first;
  std::string second;
  words >> command;
  if (command == "quit") {
    is_quitting_ = true;
    return "";
  }
  if (command == "get_server_list") {
    return server_ != 0 ? std::to_string(server_) + "\n" : "";
  }
  if (command == "get_default_active_thread_percentage") {
    return threads_ + "\n";
  }
  if (command == "set_default_active_thread_percentage" && words >> first) {
    const int64_t percent = std::strtol(first.c_str(), nullptr, 10);
    if (percent < 1 || percent > 100) {
      return "Invalid percentage\n";
    }
    threads_ = std::to_string(percent) + ".0";
    return threads_ + "\n";
  }
  if (command == "set_default_device_pinned_mem_limit" && words >> first >> second) {
    if (MebiOf(second) == 0) {
      return "Invalid limit\n";
    }
    memory_[first] = second;
    return "";
  }
  if (command == "get_default_device_pinned_mem_limit" && words >> first) {
    const auto found = memory_.find(first);
    return (found == memory_.end() ? "Device pinned memory limit is not set" : found->second) +
           "\n";
  }
  return AnswerAboutServer(command, words);
}

std::string ControlDaemon::AnswerAboutServer(const std::string& command,
                                             std::istringstream& words) {
  pid_t server = 0;
  const bool is_right = words >> server && server_ != 0 && server == server_;
  if (command == "get_server_status" && is_right) {
    return IsFaulted() ? "FAULT\n" : "ACTIVE\n";
  }
  if (command == "get_client_list" && is_right) {
    std::string list;
    for (const Connection& connection : connections_) {
      list += connection.client != 0 ? std::to_string(connection.client) + "\n" : "";
    }
    return list;
  }
  return command + ": unknown command, or no such server\n";
}

// As NVIDIA's, it outlives a daemon that is killed.
void ControlDaemon::StartServer() {
  server_threads_ = threads_;
  const auto limit = memory_.find("0");
  server_mebi_ = limit == memory_.end() ? 0 : MebiOf(limit->second);
  std::array<int, 2> ready{-1, -1};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) {
    return;
  }
  server_ = fork();
  if (server_ == 0) {
    PrepareServer();
    close(ready[0]);
    close(ready[1]);
    for (;;) {
      (void)pause();
    }
  }
  close(ready[1]);
  // Nobody meets it before it is what it is to be: its end of the pipe is closed then.
  char byte = 0;
  (void)!read(ready[0], &byte, 1);
  close(ready[0]);
}

// In the server's process.
void ControlDaemon::PrepareServer() {
  (void)prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
  close(listener_);
  close(lock_);
  // Whoever has asked reads until the daemon's end of it is closed.
  for (const Connection& connection : connections_) {
    close(connection.fd);
  }
  const std::string user = Variable(kServerUserVariable, "");
  if (!user.empty() && setuid(static_cast<uid_t>(std::strtoul(user.c_str(), nullptr, 10))) != 0) {
    _exit(1);
  }
}

void ControlDaemon::EndServer() {
  if (server_ > 0) {
    (void)kill(server_, SIGKILL);
    (void)waitpid(server_, nullptr, 0);
  }
}

}  // namespace

int RunDaemon() {
  (void)signal(SIGPIPE, SIG_IGN);
  ControlDaemon daemon;
  if (!daemon.Open()) {
    return 1;
  }
  daemon.Run();
  return 0;
}

}  // namespace kgpu::simmps
