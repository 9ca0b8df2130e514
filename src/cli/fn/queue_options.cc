#include "src/cli/fn/queue_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "src/cli/base/options.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/functions/queue/disk_queue.h"
#include "src/functions/redis/redis_address.h"
#include "src/functions/redis/redis_queue.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

constexpr size_t kMaxCredentials = size_t{16} << 10;

StatusOr<functions::RedisLogin> ReadRedisLogin(const std::string& file) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const StatusOr<std::string> text = root.ReadFile(file, kMaxCredentials);
  RETURN_IF_ERROR(Annotate(text.status(), "--redis-credentials"));
  StatusOr<functions::RedisLogin> login = functions::ParseRedisLogin(*text);
  RETURN_IF_ERROR(Annotate(login.status(), "--redis-credentials: {}", file));
  return login;
}

StatusOr<std::shared_ptr<const tls::Context>> RedisTrust(const std::string& file) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  ASSIGN_OR_RETURN(std::string authorities, ReadAuthorities("--redis-ca", file, root));
  return tls::Context::ForClient({.ca_pem = std::move(authorities)});
}

// Authorities change seldom, and their list is large: it is read again after a minute.
class CallbackAuthorities {
 public:
  explicit CallbackAuthorities(std::string file) : file_(std::move(file)) {}

  StatusOr<std::shared_ptr<const tls::Context>> Get() {
    constexpr std::chrono::minutes kLifetime{1};
    const auto now = std::chrono::steady_clock::now();
    if (context_ == nullptr || now - read_ >= kLifetime) {
      ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
      ASSIGN_OR_RETURN(std::string authorities, ReadAuthorities("--callback-ca", file_, root));
      ASSIGN_OR_RETURN(context_, tls::Context::ForClient({.ca_pem = std::move(authorities)}));
      read_ = now;
    }
    return context_;
  }

 private:
  const std::string file_;
  std::shared_ptr<const tls::Context> context_;
  std::chrono::steady_clock::time_point read_{};
};

functions::CallbackTrust TrustOf(const QueueCommandOptions& given) {
  return [authorities = std::make_shared<CallbackAuthorities>(given.callback_ca)] {
    return authorities->Get();
  };
}

StatusOr<functions::QueueMaker> RedisMakerOf(EventLoop& loop, const QueueCommandOptions& given) {
  if (given.redis_url.empty()) {
    return InvalidArgument("--queue redis: needs --redis-url redis://HOST:PORT");
  }
  functions::RedisQueueOptions options{
      .name = given.redis_name, .trust = TrustOf(given), .seed = Random::SeedFromKernel()};
  ASSIGN_OR_RETURN(options.link.address, functions::ParseRedisUrl(given.redis_url));
  if (!given.redis_credentials.empty()) {
    RETURN_IF_ERROR(ReadRedisLogin(given.redis_credentials).status());
    options.link.login = [file = given.redis_credentials] { return ReadRedisLogin(file); };
  }
  if (options.link.address.is_tls) {
    RETURN_IF_ERROR(RedisTrust(given.redis_ca).status());
    options.link.trust = [file = given.redis_ca] { return RedisTrust(file); };
  } else if (!given.redis_ca.empty()) {
    return InvalidArgument("--redis-ca: {} is without TLS: use rediss://",
                           Printable(given.redis_url));
  }
  return functions::RedisQueueMaker(loop, std::move(options));
}

}  // namespace

void AddQueueOptions(CLI::App& command, QueueCommandOptions& options) {
  AddValue(
      command, "--queue", options.queue, "sqlite|redis",
      "Where asynchronous calls are kept: in a file of this machine, or in a Redis server that "
      "several gateways share");
  AddValue(command, "--redis-url", options.redis_url, "URL",
           "The Redis server: redis://HOST:PORT, rediss:// for TLS, unix:///PATH; several "
           "HOST:PORT with commas: the primary of them is used");
  AsPath(AddValue(command, "--redis-credentials", options.redis_credentials, "FILE",
                  "File with one line: PASSWORD or USER:PASSWORD"));
  AsPath(AddValue(command, "--redis-ca", options.redis_ca, "FILE",
                  "Authorities that signed the Redis server's certificate (default: those that "
                  "this machine trusts)"));
  AsPath(AddValue(command, "--callback-ca", options.callback_ca, "FILE",
                  "Authorities that signed the certificates of https callbacks (default: those "
                  "that this machine trusts)"));
  AddValue(command, "--redis-name", options.redis_name, "NAME",
           "Name of the queue: gateways with the same name share it");
}

StatusOr<functions::QueueMaker> QueueMakerOf(EventLoop& loop, const QueueCommandOptions& options,
                                             const std::string& folder) {
  if (!options.callback_ca.empty()) {
    RETURN_IF_ERROR(TrustOf(options)().status());
  }
  if (options.queue == "redis") {
    return RedisMakerOf(loop, options);
  }
  if (options.queue != "sqlite") {
    return InvalidArgument("--queue: {} must be sqlite or redis", Printable(options.queue));
  }
  for (const auto& [flag, value] : {std::pair("--redis-url", options.redis_url),
                                    std::pair("--redis-credentials", options.redis_credentials),
                                    std::pair("--redis-ca", options.redis_ca)}) {
    if (!value.empty()) {
      return InvalidArgument("{}: is for --queue redis only: add it, or remove this flag", flag);
    }
  }
  return functions::DiskQueueMaker(loop, {.folder = folder, .trust = TrustOf(options)});
}

}  // namespace kgpu::cli
