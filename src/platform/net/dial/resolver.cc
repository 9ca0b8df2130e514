#include "src/platform/net/dial/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "src/platform/base/timer.h"

namespace kgpu::net {
namespace {

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string TextOf(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address.sa_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  (void)inet_ntop(address.sa_family, bytes, text.data(), text.size());
  return text.data();
}

// Families in turns, beginning with that of the first: one that leads nowhere costs one try only.
// Source: RFC 8305, section 4.
std::vector<std::string> InTurns(const ares_addrinfo_node* first) {
  std::vector<std::string> lead;
  std::vector<std::string> other;
  const int family = first == nullptr ? 0 : first->ai_family;
  for (const ares_addrinfo_node* node = first; node != nullptr; node = node->ai_next) {
    (node->ai_family == family ? lead : other).push_back(TextOf(*node->ai_addr));
  }
  std::vector<std::string> turns;
  for (size_t i = 0; i < std::max(lead.size(), other.size()); ++i) {
    if (i < lead.size()) {
      turns.push_back(lead[i]);
    }
    if (i < other.size()) {
      turns.push_back(other[i]);
    }
  }
  return turns;
}

Status StatusOfAres(int code, const std::string& name) {
  switch (code) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_ENONAME:
      return NotFound("{}: host not found", name);
    case ARES_EBADNAME:
      return InvalidArgument("{}: not a valid DNS name", name);
    default:
      return Unavailable("{}: no answer from DNS ({}): check /etc/resolv.conf", name,
                         ares_strerror(code));
  }
}

}  // namespace

class Lookup::Impl : public std::enable_shared_from_this<Lookup::Impl> {
 public:
  Impl(EventLoop& loop, std::string name, Done done)
      : loop_(loop), name_(std::move(name)), done_(std::move(done)) {}
  ~Impl() { Cancel(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Start(const ResolverOptions& options) {
    if (IsAddress(name_)) {
      return FinishLater(std::vector<std::string>{name_});
    }
    ares_options settings{};
    settings.timeout = static_cast<int>(std::max<int64_t>(options.timeout.count() / 4, 1));
    settings.tries = 3;
    settings.sock_state_cb = [](void* self, ares_socket_t socket, int reads, int writes) {
      static_cast<Impl*>(self)->OnSocket(socket, reads != 0, writes != 0);
    };
    settings.sock_state_cb_data = this;
    int code = ares_init_options(&channel_, &settings,
                                 ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (code != ARES_SUCCESS) {
      channel_ = nullptr;
      return FinishLater(StatusOfAres(code, name_));
    }
    if (!options.servers.empty()) {
      code = ares_set_servers_ports_csv(channel_, options.servers.c_str());
      if (code != ARES_SUCCESS) {
        return FinishLater(InvalidArgument("{}: no DNS servers", options.servers));
      }
    }
    deadline_.Arm(options.timeout, [this] { Finish(StatusOfAres(ARES_ETIMEOUT, name_)); });
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_flags = ARES_AI_NOSORT;
    ares_getaddrinfo(
        channel_, name_.c_str(), nullptr, &hints,
        [](void* self, int status, int /*timeouts*/, ares_addrinfo* result) {
          static_cast<Impl*>(self)->OnResult(status, result);
        },
        this);
    ArmTimer();
  }

  // Gives it up.
  void Cancel() {
    done_ = nullptr;
    deadline_.Cancel();
    timer_.Cancel();
    for (const auto& [socket, watches] : watches_) {
      loop_.Unwatch(watches.first);
      loop_.Unwatch(watches.second);
    }
    watches_.clear();
    if (ares_channel channel = std::exchange(channel_, nullptr)) {
      is_ending_ = true;
      ares_destroy(channel);
    }
  }

 private:
  void OnSocket(ares_socket_t socket, bool reads, bool writes) {
    auto& [readable, writable] = watches_[socket];
    Watch(
        readable, reads, [this, socket] { Process(socket, ARES_SOCKET_BAD); },
        [&](auto task) { return loop_.WatchReadable(socket, std::move(task)); });
    Watch(
        writable, writes, [this, socket] { Process(ARES_SOCKET_BAD, socket); },
        [&](auto task) { return loop_.WatchWritable(socket, std::move(task)); });
    if (!reads && !writes) {
      watches_.erase(socket);
    }
  }

  template <typename Task, typename Begin>
  void Watch(WatchId& watch, bool is_wanted, Task task, Begin begin) {
    if (is_wanted == (watch != WatchId::kNone)) {
      return;
    }
    if (!is_wanted) {
      return loop_.Unwatch(std::exchange(watch, WatchId::kNone));
    }
    if (StatusOr<WatchId> made = begin(std::move(task)); made.ok()) {
      watch = *made;  // else the deadline ends it
    }
  }

  void Process(ares_socket_t readable, ares_socket_t writable) {
    const auto self = shared_from_this();
    ares_process_fd(channel_, readable, writable);
    ArmTimer();
  }

  // c-ares wants to be called when the answer to a question is late.
  void ArmTimer() {
    timer_.Cancel();
    timeval left{};
    if (channel_ == nullptr || ares_timeout(channel_, nullptr, &left) == nullptr) {
      return;
    }
    timer_.Arm(std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec),
               [this] { Process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); });
  }

  // From within c-ares, which must not be destroyed here.
  void OnResult(int status, ares_addrinfo* result) {
    if (is_ending_) {
      return;
    }
    StatusOr<std::vector<std::string>> addresses = StatusOfAres(status, name_);
    if (status == ARES_SUCCESS && result != nullptr) {
      addresses = InTurns(result->nodes);
    }
    if (result != nullptr) {
      ares_freeaddrinfo(result);
    }
    if (addresses.ok() && addresses->empty()) {
      addresses = StatusOfAres(ARES_ENODATA, name_);
    }
    // It may have been in a file: nothing is called from Start.
    FinishLater(std::move(addresses));
  }

  void FinishLater(StatusOr<std::vector<std::string>> result) {
    deadline_.Arm(std::chrono::nanoseconds(0),
                  [this, result = std::move(result)] { Finish(result); });
  }

  void Finish(StatusOr<std::vector<std::string>> result) {
    const auto self = shared_from_this();
    const Done done = std::exchange(done_, nullptr);
    Cancel();
    if (done) {
      done(std::move(result));
    }
  }

  EventLoop& loop_;
  const std::string name_;
  Done done_;
  ares_channel channel_ = nullptr;
  bool is_ending_ = false;
  std::map<ares_socket_t, std::pair<WatchId, WatchId>> watches_;
  Timer timer_{loop_};
  Timer deadline_{loop_};
};

Lookup::Lookup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Lookup::~Lookup() {
  impl_->Cancel();
}

std::unique_ptr<Lookup> Lookup::Start(EventLoop& loop, const std::string& name, Done done,
                                      const ResolverOptions& options) {
  auto impl = std::make_shared<Impl>(loop, name, std::move(done));
  impl->Start(options);
  return std::unique_ptr<Lookup>(new Lookup(std::move(impl)));
}

}  // namespace kgpu::net
