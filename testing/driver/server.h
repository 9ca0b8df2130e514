// The driver behind the simulated libraries: owns the state, gives clients read-only access over a
// unix socket at nvidia-persistenced's path, applies commands, delivers events.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/driver/memory_ledger.h"
#include "testing/driver/protocol.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

class SharedState;

struct ServerOptions {
  std::string root;  // folder of the simulated host
  // Called on the loop after each applied change, and when a CUDA process has begun or ended, so
  // that the host tree (nodes, /proc, /sys) can follow. The sender of the command gets its error.
  std::function<Status(const SimState& before, const SimState& now)> on_change = {};
  // Energy, traffic and the like advance from the start of the server, instead of standing still.
  bool counts_on = false;
  // Applies a command to a copy of the state; unset: ApplyCommand. For hosts with more commands.
  std::function<StatusOr<std::string>(SimState& state, std::string_view line)> apply = {};
};

// A process that holds a connection. Source: SO_PEERCRED, as the server's PID namespace counts.
struct ClientInfo {
  pid_t pid = 0;
  uid_t uid = 0;
  bool operator==(const ClientInfo&) const = default;
};

// Lives on the loop's thread. At most kMaxClients connections; a client that does not read its
// events is dropped when its socket's buffer is full.
class StateServer {
 public:
  static constexpr size_t kMaxClients = 256;
  // How long a CUDA process uses a GPU before the host tree shows it.
  static constexpr std::chrono::milliseconds kShowProcessesAfter{50};

  // Loads the state from <root>/.kgpu-sim/state and listens. `loop` must outlive the server.
  // Errors: NotFound (no state: create the host first), AlreadyExists (a server answers there),
  // InvalidArgument (state of another version), as ErrnoStatus.
  static StatusOr<std::unique_ptr<StateServer>> Create(EventLoop& loop, ServerOptions options);
  // To connected clients, the driver is then unloaded; the file keeps it loaded.
  ~StateServer();
  StateServer(const StateServer&) = delete;
  StateServer& operator=(const StateServer&) = delete;

  const SimState& state() const { return *state_; }
  // Sorted by pid; one entry per connection.
  std::vector<ClientInfo> clients() const;

  // Executes a control client's command, for servers in the same process: see command.h.
  StatusOr<std::string> Execute(std::string_view command_line);
  // Replaces the whole state.
  Status Replace(const SimState& next);

 private:
  struct Client;

  StateServer(EventLoop& loop, ServerOptions options, std::unique_ptr<SimState> state);
  Status Listen();
  void Accept();
  void Read(int fd);
  bool Answer(Client& client, const Frame& frame);
  bool AnswerMemory(Client& client, std::string_view payload);
  // What killed processes had, although their hang-up has not been read yet.
  void ReclaimFrom(const Client& asking);
  void ShowProcessesSoon();
  Status RefuseResetBy(const Client& asking, std::string_view command_line) const;
  std::string AnswerCommand(const Client& client, std::string_view command_line);
  void SettleCounters(SimState& state) const;
  Status Publish(std::unique_ptr<SimState> next);
  void DeliverEvents(uint64_t since);
  bool Send(Client& client, uint32_t type, std::string_view payload, int passed_fd = -1);
  void Drop(int fd);

  EventLoop& loop_;
  ServerOptions options_;
  std::unique_ptr<SimState> state_;
  std::unique_ptr<SharedState> shared_;
  std::unique_ptr<sys::UnixListener> listener_;
  WatchId listener_watch_ = WatchId::kNone;
  std::map<int, std::unique_ptr<Client>> clients_;
  MemoryLedger ledger_;
  TimerId show_processes_ = TimerId::kNone;
};

}  // namespace kgpu::sim
