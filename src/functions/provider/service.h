// The service of `kgpu fn serve`: OpenFx's REST API, with correct status codes, over the provider.
// docs/reference/functions.md lists paths and codes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/functions/provider/async_call.h"
#include "src/functions/provider/logs.h"
#include "src/functions/provider/provider.h"
#include "src/functions/queue/disk_queue.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/http/server.h"

namespace kgpu::functions {

struct ServiceOptions {
  std::string version{};
  // Of asynchronous calls; empty: a DiskQueue with the options below, whose folder is the
  // provider's.
  QueueMaker make_queue{};
  QueueOptions queue{};
  std::function<void()> stopped{};  // after POST /v1/stop: all replicas are gone
};

// Lives on the loop's thread.
class Service {
 public:
  // Reads the asynchronous calls that an earlier service has left, and goes on with them. `loop`
  // and `provider` must outlive the service. Errors: ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<Service>> Start(EventLoop& loop, Provider& provider,
                                                  uint64_t seed, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // As http::Server::Listen.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600);
  // On the socket that the containers of functions reach, for calls alone. Errors: those of the
  // folder and of the socket.
  Status ListenForFunctions();

 private:
  Service(EventLoop& loop, Provider& provider, uint64_t seed, ServiceOptions options);
  struct Follower {
    std::string function;
    http::Stream stream;
    std::unique_ptr<LogFollower> follower;
  };
  void Handle(const http::Request& request, const http::Responder& responder);
  void HandleMesh(const http::Request& request, const http::Responder& responder);
  void HandleSystem(const http::Request& request, const http::Responder& responder);
  void HandleFunctions(const http::Request& request, const http::Responder& responder);
  void HandleFunction(const http::Request& request, const http::Responder& responder,
                      const std::string& name);
  void HandleOwn(const http::Request& request, const http::Responder& responder);
  void List(const http::Responder& responder) const;
  void Deploy(const http::Request& request, const http::Responder& responder);
  void Delete(const std::string& name, const http::Responder& responder);
  void Scale(const http::Request& request, const http::Responder& responder);
  void Logs(const http::Request& request, const http::Responder& responder,
            const std::string& name);
  void Follow(const http::Responder& responder, const std::string& name, std::string first);
  void EndFollowers(const std::string& function);
  void Usage(const http::Request& request, const http::Responder& responder);
  void Metrics(const http::Request& request, const http::Responder& responder);
  void Stop(const http::Responder& responder);
  enum class Caller : uint8_t { kHost, kFunction };
  void Call(const http::Request& request, const http::Responder& responder, Caller caller);
  void CallAsync(const std::string& name, http::Request request, const std::string& call_id,
                 const http::Responder& responder);
  std::string NewCallId();

  EventLoop& loop_;
  Provider& provider_;
  Random random_;
  const ServiceOptions options_;
  std::unique_ptr<AsyncCalls> async_calls_;
  uint64_t last_follower_ = 0;
  std::map<uint64_t, Follower> followers_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> mesh_;  // for functions that call others
  std::shared_ptr<bool> is_alive_;
};

}  // namespace kgpu::functions
