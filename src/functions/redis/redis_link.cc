#include "src/functions/redis/redis_link.h"

#include <optional>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr BackoffOptions kPauses{.first = std::chrono::milliseconds(500),
                                 .longest = std::chrono::seconds(10)};

// The value of "name:value" in a reply to INFO.
std::optional<std::string_view> InfoValue(std::string_view info, std::string_view name) {
  for (const std::string_view line : Split(info, '\n')) {
    const std::string_view text = Trim(line);
    if (text.starts_with(name) && text.substr(name.size()).starts_with(':')) {
      return text.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// The value of a key in a map as the protocol gives it.
std::string_view MapValue(const RedisReply& map, std::string_view key) {
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].text == key) {
      return map.items[i + 1].text;
    }
  }
  return {};
}

}  // namespace

RedisLink::RedisLink(EventLoop& loop, RedisLinkOptions options, uint64_t seed, Handlers handlers)
    : loop_(loop),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      random_(seed),
      backoff_(random_, kPauses),
      timer_(loop) {
  Connect();
}

RedisLink::~RedisLink() {
  if (connection_ != nullptr) {
    connection_->Finish();
  }
}

std::string RedisLink::Where() const {
  const net::Endpoint& server = options_.address.servers[server_];
  return fmt::format("redis server {}", server.kind == net::Endpoint::Kind::kUnix
                                            ? server.host
                                            : net::JoinHostPort(server.host, server.port));
}

void RedisLink::Send(const std::vector<std::string_view>& words, RedisConnection::Done done) {
  if (is_ready_) {
    return connection_->Send(words, std::move(done));
  }
  if (!problem_.ok()) {
    return done(problem_);
  }
  held_.push_back({.words = {words.begin(), words.end()}, .done = std::move(done)});
}

void RedisLink::Connect() {
  ++tried_;
  dial_ = net::Dial::Start(loop_, options_.address.servers[server_], {},
                           [this](StatusOr<UniqueFd> socket) { OnDialed(std::move(socket)); },
                           {.timeout = options_.connect_limit});
}

void RedisLink::OnDialed(StatusOr<UniqueFd> socket) {
  const auto ended = std::move(dial_);
  if (!socket.ok()) {
    return Lose(Annotate(socket.status(), "{}", Where()));
  }
  StatusOr<std::shared_ptr<RedisConnection>> connection = Open(*std::move(socket));
  if (!connection.ok()) {
    return Lose(connection.status());
  }
  connection_ = *std::move(connection);
  const StatusOr<std::vector<std::string>> greeting = Greeting();
  if (!greeting.ok()) {
    return Lose(greeting.status());
  }
  Ask({greeting->begin(), greeting->end()}, &RedisLink::OnGreeted);
}

StatusOr<std::shared_ptr<RedisConnection>> RedisLink::Open(UniqueFd socket) {
  std::unique_ptr<tls::Session> session;
  if (options_.address.is_tls) {
    ASSIGN_OR_RETURN(std::shared_ptr<const tls::Context> context, options_.trust());
    ASSIGN_OR_RETURN(session, tls::Session::ForClient(std::move(context),
                                                      options_.address.servers[server_].host));
  }
  return RedisConnection::Open(
      loop_, std::move(socket), std::move(session), Where(), options_.answer_limit,
      {.on_push =
           [this](const RedisReply& push) {
             const bool is_message = !push.items.empty() && push.items[0].text == "message";
             if (is_message && is_ready_ && handlers_.on_message) {
               handlers_.on_message();
             }
           },
       .on_end = [this](const Status& status) { Lose(status); }});
}

// Source: redis.io/commands/hello.
StatusOr<std::vector<std::string>> RedisLink::Greeting() const {
  std::vector<std::string> words = {"HELLO", "3"};
  if (options_.login) {
    ASSIGN_OR_RETURN(RedisLogin login, options_.login());
    words.emplace_back("AUTH");
    words.push_back(login.user.empty() ? "default" : std::move(login.user));
    words.push_back(std::move(login.password));
  }
  return words;
}

// The connection's first commands, one after the other.
void RedisLink::Ask(const std::vector<std::string_view>& words, Step next) {
  connection_->Send(words, [this, next](const StatusOr<RedisReply>& reply) {
    if (connection_ == nullptr) {
      return;
    }
    reply.ok() ? (this->*next)(*reply) : Lose(reply.status());
  });
}

void RedisLink::OnGreeted(const RedisReply& reply) {
  if (MapValue(reply, "role") != "master") {
    return Lose(Unavailable("{}: is a replica: give the address of the primary", Where()));
  }
  if (MapValue(reply, "mode") != "standalone") {
    return Lose(FailedPrecondition("{}: runs in mode {}: use a server without Redis Cluster",
                                   Where(), Printable(MapValue(reply, "mode"))));
  }
  Ask({"INFO", "persistence"}, &RedisLink::OnPersistence);
}

// A server that forgets calls must not be trusted with them.
void RedisLink::OnPersistence(const RedisReply& reply) {
  if (InfoValue(reply.text, "aof_enabled") != "1") {
    return Lose(FailedPrecondition(
        "{}: would lose calls when it stops: set appendonly yes and appendfsync always", Where()));
  }
  Ask({"INFO", "memory"}, &RedisLink::OnMemory);
}

void RedisLink::OnMemory(const RedisReply& reply) {
  const bool is_bounded = InfoValue(reply.text, "maxmemory").value_or("0") != "0";
  if (is_bounded && InfoValue(reply.text, "maxmemory_policy") != "noeviction") {
    return Lose(FailedPrecondition(
        "{}: would drop calls when its memory is full: set maxmemory-policy noeviction", Where()));
  }
  // SUBSCRIBE answers by a push, and with a reply only if it fails.
  connection_->Send({"SUBSCRIBE", options_.channel}, nullptr);
  Ask({"PING"}, &RedisLink::OnSubscribed);
}

void RedisLink::OnSubscribed(const RedisReply& /*reply*/) {
  is_ready_ = true;
  tried_ = 0;
  backoff_.Reset();
  if (!std::exchange(logged_, {}).empty()) {
    KGPU_LOG(kInfo, "queue server works again", {"server", Where()});
  }
  problem_ = OkStatus();
  ReleaseHeld(OkStatus());
  if (is_ready_ && handlers_.on_ready) {
    handlers_.on_ready();
  }
}

// Tries the next server at once; after the last one it waits.
void RedisLink::Lose(const Status& status) {
  const bool was_ready = std::exchange(is_ready_, false);
  if (const auto connection = std::exchange(connection_, nullptr)) {
    connection->Close();
  }
  server_ = (server_ + 1) % options_.address.servers.size();
  const bool has_tried_all = tried_ >= options_.address.servers.size();
  std::chrono::nanoseconds pause{0};
  if (!was_ready && has_tried_all) {
    tried_ = 0;
    problem_ = status;
    if (logged_ != Message(status)) {
      logged_ = Message(status);
      KGPU_LOG(kError, "queue server not usable", {"reason", logged_});
    }
    ReleaseHeld(status);
    pause = backoff_.Next(loop_.clock().Now());
  }
  timer_.Arm(pause, [this] { Connect(); });
}

void RedisLink::ReleaseHeld(const Status& status) {
  const std::vector<Held> held = std::exchange(held_, {});
  for (const Held& command : held) {
    if (status.ok()) {
      Send({command.words.begin(), command.words.end()}, command.done);
    } else {
      command.done(status);
    }
  }
}

}  // namespace kgpu::functions
