// OpenFx's REST API, with correct status codes, over a provider: what `kgpu fn serve` and, on a
// cluster, the gateway answer with.
// docs/reference/functions.md lists paths and codes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/functions/queue/disk_queue.h"
#include "src/functions/service/async_call.h"
#include "src/functions/service/function_provider.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/random.h"
#include "src/platform/net/http/server.h"

namespace kgpu::functions {

// Bytes of the incomplete requests of all connections together: of an address for people and
// programs of the host, and of one that every function may call.
inline constexpr size_t kMaxBodies = size_t{256} << 20;
inline constexpr size_t kMaxMeshBodies = size_t{64} << 20;

struct ServiceOptions {
  std::string version{};
  // Of asynchronous calls; empty: a DiskQueue with the options below.
  QueueMaker make_queue{};
  QueueOptions queue{};
  std::string mesh_folder{};  // see ListenForFunctions
  // How far a caller may fall behind a function's answer, in bytes, before the function waits too.
  // The watchdog bounds an answer: a slow caller keeps no GPU busy.
  size_t answer_buffer = size_t{64} << 20;
  // After POST /v1/stop: all replicas are gone, or left to the next service.
  std::function<void()> stopped{};
};

// Lives on the loop's thread.
class Service {
 public:
  // Reads the asynchronous calls that an earlier service has left, and goes on with them. `loop`
  // and `provider` must outlive the service. Errors: ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<Service>> Start(EventLoop& loop, FunctionProvider& provider,
                                                  uint64_t seed, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // As http::Server::Listen.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600);
  // On the socket that the containers of functions reach, for calls alone. Errors: those of the
  // folder and of the socket.
  Status ListenForFunctions();
  // A request from elsewhere than the service's own addresses.
  void Handle(http::Request request, const http::Responder& responder);
  // A request of a replica on the network: it may call functions of its own namespace, and nothing
  // else. Whoever is no replica is refused.
  void HandleReplica(http::Request request, const http::Responder& responder);
  // Asynchronous calls that have not ended, by function.
  const CallQueue& queue() const { return async_calls_->queue(); }

 private:
  Service(EventLoop& loop, FunctionProvider& provider, uint64_t seed, ServiceOptions options);
  struct Follower {
    std::string function;
    http::Stream stream;
    std::unique_ptr<LogReader> reader;
  };
  // `space`: see Call.
  void HandleMesh(http::Request& request, const http::Responder& responder,
                  const std::string& space = "");
  void HandleSystem(const http::Request& request, const http::Responder& responder);
  void HandleFunctions(const http::Request& request, const http::Responder& responder);
  void HandleFunction(const http::Request& request, const http::Responder& responder,
                      std::string_view name);
  void HandleOwn(const http::Request& request, const http::Responder& responder);
  void List(const http::Request& request, const http::Responder& responder) const;
  void Deploy(const http::Request& request, const http::Responder& responder);
  void Delete(const std::string& key, const http::Responder& responder);
  void Scale(const http::Request& request, const http::Responder& responder);
  void Logs(const http::Request& request, const http::Responder& responder, std::string_view name);
  void SendLogs(const http::Request& request, const http::Responder& responder,
                const std::string& key, std::string text);
  void Follow(const http::Responder& responder, const std::string& key, std::string first);
  void EndFollowers(const std::string& function);
  void Usage(const http::Request& request, const http::Responder& responder);
  void Metrics(const http::Request& request, const http::Responder& responder);
  void Stop(const http::Responder& responder);
  enum class Caller : uint8_t { kHost, kFunction };
  // `space`: the namespace that the caller may call; empty: every one.
  void Call(http::Request& request, const http::Responder& responder, Caller caller,
            const std::string& space = "");
  void CallAsync(const std::string& key, http::Request request, const std::string& call_id,
                 const http::Responder& responder);
  // The key of a function that is deployed. Errors: as FunctionProvider::KeyOf; NotFound.
  StatusOr<std::string> Deployed(std::string_view name, std::string_view space) const;
  std::string NewCallId();

  EventLoop& loop_;
  FunctionProvider& provider_;
  Random random_;
  const ServiceOptions options_;
  std::unique_ptr<AsyncCalls> async_calls_;
  uint64_t last_follower_ = 0;
  std::map<uint64_t, Follower> followers_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> mesh_;  // for functions that call others
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
