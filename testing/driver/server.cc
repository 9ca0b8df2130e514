#include "testing/driver/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/command.h"
#include "testing/driver/counters.h"
#include "testing/driver/gpus.h"
#include "testing/driver/shared_state.h"
#include "testing/driver/state_file.h"

namespace kgpu::sim {

namespace {

Status MakeFolders(const std::string& root, const std::string& folder) {
  for (size_t end = root.size() + 1; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    const std::string part = folder.substr(0, end);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "mkdir " + part);
    }
  }
  return OkStatus();
}

// The path of the program that `pid` runs, or "": the process may be gone, or another user's.
std::string ProgramOf(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t size = readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

std::unique_ptr<SimState> CopyOf(const SimState& state) {
  return std::make_unique<SimState>(state);
}

}  // namespace

struct StateServer::Client {
  UniqueFd fd;
  WatchId watch = WatchId::kNone;
  ClientInfo info;
  std::string input;
  uint64_t gpu_mask = 0;
  uint64_t event_types = 0;
};

StateServer::StateServer(EventLoop& loop, ServerOptions options, std::unique_ptr<SimState> state)
    : loop_(loop),
      options_(std::move(options)),
      state_(std::move(state)),
      ledger_({.on_entry =
                   [this](uint32_t slot, uint32_t index) {
                     if (shared_ != nullptr) {
                       shared_->WriteProcess(slot, index, state_->gpus[slot].processes[index]);
                     }
                   },
               .on_processes = [this] { ShowProcessesSoon(); },
               .name_of = &ProgramOf}) {
}

StatusOr<std::unique_ptr<StateServer>> StateServer::Create(EventLoop& loop, ServerOptions options) {
  ASSIGN_OR_RETURN(auto state, LoadState(options.root));
  ASSIGN_OR_RETURN(auto shared, SharedState::Create());
  std::unique_ptr<StateServer> server(new StateServer(loop, std::move(options), std::move(state)));
  server->SettleCounters(*server->state_);
  server->ledger_.Show(*server->state_);  // the processes of an earlier server are gone
  shared->Write(*server->state_);
  server->shared_ = std::move(shared);
  RETURN_IF_ERROR(server->Listen());
  return server;
}

StateServer::~StateServer() {
  // Clients that stay keep their mapping: they must not go on with a driver that nobody runs.
  state_->driver.is_loaded = 0;
  if (shared_ != nullptr) {
    shared_->Write(*state_);
  }
  loop_.CancelTimer(show_processes_);
  loop_.Unwatch(listener_watch_);
  for (const auto& [fd, client] : clients_) {
    loop_.Unwatch(client->watch);
  }
}

Status StateServer::Listen() {
  const std::string path = fmt::format("{}/{}", options_.root, kSocketPath);
  RETURN_IF_ERROR(MakeFolders(options_.root, path.substr(0, path.rfind('/'))));
  ASSIGN_OR_RETURN(sys::UnixListener listener, sys::UnixListener::Listen(path, {.mode = 0666}));
  listener_ = std::make_unique<sys::UnixListener>(std::move(listener));
  ASSIGN_OR_RETURN(listener_watch_, loop_.WatchReadable(listener_->fd(), [this] { Accept(); }));
  return OkStatus();
}

std::vector<ClientInfo> StateServer::clients() const {
  std::vector<ClientInfo> infos;
  infos.reserve(clients_.size());
  for (const auto& [fd, client] : clients_) {
    infos.push_back(client->info);
  }
  std::ranges::sort(infos, {},
                    [](const ClientInfo& info) { return std::make_pair(info.pid, info.uid); });
  return infos;
}

void StateServer::Accept() {
  UniqueFd fd = listener_->Accept().value_or(std::nullopt).value_or(UniqueFd());
  if (!fd.is_valid()) {
    return;
  }
  const StatusOr<ucred> peer = sys::PeerOf(fd.get());
  if (!peer.ok()) {
    return;
  }
  if (clients_.size() >= kMaxClients) {
    KGPU_LOG(kWarning, "client rejected", {"pid", peer->pid}, {"clients", clients_.size()});
    return;
  }
  auto client = std::make_unique<Client>();
  const int number = fd.get();
  client->info = {.pid = peer->pid, .uid = peer->uid};
  client->fd = std::move(fd);
  const auto watch = loop_.WatchReadable(number, [this, number] { Read(number); });
  if (!watch.ok()) {
    return;
  }
  client->watch = *watch;
  const HelloPayload hello = {kStateMagic, kStateLayout, sizeof(SimState)};
  Client& placed = *(clients_[number] = std::move(client));
  if (!Send(placed, kHello, {reinterpret_cast<const char*>(&hello), sizeof(hello)},
            shared_->read_only_fd())) {
    Drop(number);
  }
}

void StateServer::Read(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) {
    return;
  }
  Client& client = *found->second;
  char buffer[4096];
  const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    Drop(fd);
    return;
  }
  client.input.append(buffer, static_cast<size_t>(got));
  for (;;) {
    Frame frame;
    size_t used = 0;
    const Decoded decoded = DecodeFrame(client.input, frame, used);
    if (decoded == Decoded::kIncomplete) {
      return;
    }
    if (decoded == Decoded::kMalformed || !Answer(client, frame)) {
      Drop(fd);
      return;
    }
    // Events go to every client: delivering one may have dropped this one.
    if (!clients_.contains(fd)) {
      return;
    }
    client.input.erase(0, used);
  }
}

bool StateServer::Answer(Client& client, const Frame& frame) {
  if (frame.type == kSubscribe) {
    SubscribePayload wanted = {};
    if (frame.payload.size() != sizeof(wanted)) {
      return false;
    }
    std::memcpy(&wanted, frame.payload.data(), sizeof(wanted));
    client.gpu_mask = wanted.gpu_mask;
    client.event_types = wanted.event_types;
    return true;
  }
  if (frame.type == kMemory) {
    return AnswerMemory(client, frame.payload);
  }
  if (frame.type != kCommand) {
    return false;
  }
  const int fd = client.fd.get();
  const std::string reply = AnswerCommand(client, frame.payload);
  return !clients_.contains(fd) || Send(client, kReply, reply);
}

bool StateServer::AnswerMemory(Client& client, std::string_view payload) {
  MemoryRequest request = {};
  if (payload.size() != sizeof(request)) {
    return false;
  }
  std::memcpy(&request, payload.data(), sizeof(request));
  int fd = -1;
  if (request.operation == kAskSpace) {
    ReclaimFrom(client);
  }
  MemoryReply reply = ledger_.Apply(*state_, client.fd.get(), client.info.pid, request, fd);
  if (reply.result == kMemoryExhausted) {
    ReclaimFrom(client);
    reply = ledger_.Apply(*state_, client.fd.get(), client.info.pid, request, fd);
  }
  return Send(client, kMemoryReply, {reinterpret_cast<const char*>(&reply), sizeof(reply)}, fd);
}

void StateServer::ReclaimFrom(const Client& asking) {
  std::vector<int> gone;
  for (const auto& [fd, client] : clients_) {
    char byte = 0;
    if (client.get() != &asking && ledger_.Has(fd) &&
        recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0) {
      gone.push_back(fd);
    }
  }
  for (const int fd : gone) {
    Drop(fd);
  }
}

// Late, so that processes that end soon cost nothing, and many that start cost one update.
void StateServer::ShowProcessesSoon() {
  if (!options_.on_change || show_processes_ != TimerId::kNone) {
    return;
  }
  show_processes_ = loop_.After(kShowProcessesAfter, [this] {
    show_processes_ = TimerId::kNone;
    if (const Status status = options_.on_change(*state_, *state_); !status.ok()) {
      KGPU_LOG(kWarning, "host tree not updated", {"error", Message(status)});
    }
  });
}

// A reset needs a GPU that nobody has open. Short-lived programs have no more to do with it; those
// that listen to events stay.
Status StateServer::RefuseResetBy(const Client& asking, std::string_view command_line) const {
  if (!Trim(command_line).starts_with("mig-activate")) {
    return OkStatus();
  }
  for (const auto& [fd, client] : clients_) {
    if (client->event_types != 0 && client->info.pid != asking.info.pid) {
      return FailedPrecondition("process {} has the GPU open: stop it first", client->info.pid);
    }
  }
  return OkStatus();
}

std::string StateServer::AnswerCommand(const Client& client, std::string_view command_line) {
  StatusOr<std::string> answer =
      PermissionDenied("user {} may not change the simulated driver: only root and user {}",
                       client.info.uid, geteuid());
  if (client.info.uid == 0 || client.info.uid == geteuid()) {
    const Status refused = RefuseResetBy(client, command_line);
    answer = refused.ok() ? Execute(command_line) : refused;
  }
  const auto code = static_cast<uint32_t>(answer.status().code());
  std::string reply(reinterpret_cast<const char*>(&code), sizeof(code));
  reply += answer.ok() ? *answer : std::string(Message(answer.status()));
  reply.resize(std::min<size_t>(reply.size(), kMaxPayload));
  return reply;
}

StatusOr<std::string> StateServer::Execute(std::string_view command_line) {
  const std::string_view command = Trim(command_line);
  if (command == "clients") {
    std::string lines;
    for (const ClientInfo& info : clients()) {
      lines += fmt::format("{} {}\n", info.pid, info.uid);
    }
    return lines;
  }
  if (command == "save") {
    RETURN_IF_ERROR(SaveState(options_.root, *state_));
    return std::string();
  }
  if (command == "reload") {
    ASSIGN_OR_RETURN(const auto next, LoadState(options_.root));
    RETURN_IF_ERROR(Replace(*next));
    return std::string();
  }
  auto next = CopyOf(*state_);
  SettleCounters(*next);
  ASSIGN_OR_RETURN(std::string answer,
                   options_.apply ? options_.apply(*next, command) : ApplyCommand(*next, command));
  SettleCounters(*next);  // of GPUs that have come
  RETURN_IF_ERROR(Publish(std::move(next)));
  return answer;
}

// Before a rate changes, so that what came until now is counted by the old one.
void StateServer::SettleCounters(SimState& state) const {
  if (!options_.counts_on) {
    return;
  }
  timespec time = {};
  (void)clock_gettime(CLOCK_BOOTTIME, &time);
  const uint64_t now = static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond +
                       static_cast<uint64_t>(time.tv_nsec);
  for (const uint32_t slot : PresentGpus(state)) {
    SimGpu& gpu = state.gpus[slot];
    // Nothing counts without a driver, nor over a boot of the machine.
    if (state.driver.is_loaded == 0 || gpu.settled_ns == 0 || gpu.settled_ns > now) {
      gpu.settled_ns = now;
    } else {
      Settle(gpu, now);
    }
  }
}

Status StateServer::Replace(const SimState& next) {
  RETURN_IF_ERROR(ValidateState(next));
  return Publish(CopyOf(next));
}

// Clients first, the host tree and the disk after: what is waited for is how fast clients know.
Status StateServer::Publish(std::unique_ptr<SimState> next) {
  next->version = state_->version + 1;
  ledger_.Show(*next);
  const std::unique_ptr<SimState> before = std::exchange(state_, std::move(next));
  shared_->Write(*state_);
  DeliverEvents(before->event_count);
  if (options_.on_change) {
    if (const Status status = options_.on_change(*before, *state_); !status.ok()) {
      return Annotate(status, "driver changed, host tree not updated");
    }
  }
  return Annotate(SaveState(options_.root, *state_), "driver changed, file not updated");
}

void StateServer::DeliverEvents(uint64_t since) {
  if (state_->event_count > since + kMaxEvents) {
    since = state_->event_count - kMaxEvents;
  }
  std::vector<int> slow;
  const bool is_silent = state_->event_count == since;
  for (const auto& [fd, client] : clients_) {
    if (is_silent && client->event_types != 0 && !Send(*client, kChanged, {})) {
      slow.push_back(fd);
    }
  }
  for (uint64_t number = since; number < state_->event_count; ++number) {
    const SimEvent& event = state_->events[number % kMaxEvents];
    for (const auto& [fd, client] : clients_) {
      const bool is_wanted = event.gpu < kMaxGpus && ((client->gpu_mask >> event.gpu) & 1) != 0 &&
                             (client->event_types & event.type) != 0;
      if (is_wanted &&
          !Send(*client, kEvent, {reinterpret_cast<const char*>(&event), sizeof(event)})) {
        slow.push_back(fd);
      }
    }
  }
  for (const int fd : slow) {
    Drop(fd);
  }
}

bool StateServer::Send(Client& client, uint32_t type, std::string_view payload, int passed_fd) {
  const FrameHeader header = {type, static_cast<uint32_t>(payload.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += payload;
  iovec part = {bytes.data(), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header_of_fd = CMSG_FIRSTHDR(&message);
    header_of_fd->cmsg_level = SOL_SOCKET;
    header_of_fd->cmsg_type = SCM_RIGHTS;
    header_of_fd->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header_of_fd), &passed_fd, sizeof(int));
  }
  const ssize_t sent = sendmsg(client.fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

void StateServer::Drop(int fd) {
  const auto found = clients_.find(fd);
  if (found != clients_.end()) {
    loop_.Unwatch(found->second->watch);
    clients_.erase(found);
    ledger_.Drop(*state_, fd);
  }
}

}  // namespace kgpu::sim
