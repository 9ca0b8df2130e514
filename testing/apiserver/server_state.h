// All parts of the server, for the code that answers requests.
#pragma once

#include <string>

#include "src/platform/net/http/message.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/pod_logs.h"
#include "testing/apiserver/pod_proxy.h"
#include "testing/apiserver/registry.h"
#include "testing/apiserver/route.h"
#include "testing/apiserver/watch_hub.h"

namespace kgpu::apiserver {

struct ServerState {
  ServerState(EventLoop& its_loop, const ApiOptions& its_options);

  EventLoop& loop;
  ApiOptions options;
  Store store;
  ResourceTable resources;
  Registry registry;
  WatchHub hub;
  Access access;
  Rbac rbac;
  Faults faults;
  Counters counters;
  PodLogs logs;
  PodProxy proxy;

  int64_t NowSeconds() const;
};

enum class Effect : uint8_t { kNone, kChanged, kNoOp };

struct Reply {
  http::Response response{};
  Effect effect = Effect::kNone;
};

// get and list of resources. Errors: Failures.
StatusOr<Reply> Read(const ServerState& state, const Route& route, const http::Request& request);
// Starts a watch. Errors: Failures; `sink` has then not been used.
Status BeginWatch(ServerState& state, const Route& route, const http::Request& request,
                  const std::shared_ptr<Sink>& sink);
// What a pod has printed. Errors: as BeginWatch.
Status ServeLog(ServerState& state, const Route& route, const std::shared_ptr<Sink>& sink);
// Forwards the request to a pod. Errors: as BeginWatch.
Status ServeProxy(ServerState& state, const Route& route, const http::Request& request,
                  const std::shared_ptr<Sink>& sink);
// create, update, patch, apply, delete, deletecollection, and subresources. Errors: Failures.
StatusOr<Reply> Write(ServerState& state, const Route& route, const http::Request& request,
                      const User& user);
// Requests other than for resources: discovery, OpenAPI, version, health. Errors: Failures.
StatusOr<Reply> Discover(const ServerState& state, const Route& route,
                         const http::Request& request);

// Below /openapi. Errors: Failures.
StatusOr<Reply> ShowOpenApi(const ServerState& state, const Route& route,
                            const http::Request& request);

http::Response FailureResponse(const Status& status);

}  // namespace kgpu::apiserver
