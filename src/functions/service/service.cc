#include "src/functions/service/service.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "src/functions/queue/queue_metrics.h"
#include "src/functions/service/answers.h"
#include "src/functions/service/folders.h"
#include "src/functions/service/origin.h"
#include "src/functions/service/queue_handler.h"
#include "src/functions/service/service_request.h"
#include "src/functions/service/views.h"
#include "src/functions/spec/wire.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/net/http/body_budget.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFunctionPath = "/system/function/";
constexpr std::string_view kLogPath = "/system/function-log/";
constexpr std::string_view kCallPath = "/function/";
constexpr std::string_view kAsyncPath = "/async-function/";
constexpr size_t kMaxFollowers = 64;
constexpr int kUnknownYet = 503;
constexpr mode_t kReadableByAll = 0755;
constexpr mode_t kWritableByAll = 0666;

http::ServerOptions OptionsOfServer(size_t max_bodies) {
  http::ServerOptions options;
  options.limits = {.header = size_t{64} << 10, .body = size_t{16} << 20};
  options.max_connections = 1'024;
  options.bodies = std::make_shared<http::BodyBudget>(max_bodies);
  // The watchdog bounds an answer; a slow caller may be all of it behind.
  options.stream_buffer = size_t{80} << 20;
  return options;
}

}  // namespace

Service::Service(EventLoop& loop, FunctionProvider& provider, uint64_t seed, ServiceOptions options)
    : loop_(loop),
      provider_(provider),
      random_(seed),
      options_(std::move(options)),
      server_(std::make_unique<http::Server>(
          loop,
          [this](http::Request request, const http::Responder& responder) {
            // A TCP address is open to the programs that reach it, but not to pages in browsers.
            const std::string problem =
                request.is_from_unix_socket ? "" : ForeignPageProblem(request, false);
            problem.empty() ? Handle(std::move(request), responder)
                            : SendError(responder, PermissionDenied("{}", problem));
          },
          OptionsOfServer(kMaxBodies))) {
}

StatusOr<std::unique_ptr<Service>> Service::Start(EventLoop& loop, FunctionProvider& provider,
                                                  uint64_t seed, ServiceOptions options) {
  QueueMaker make_queue = options.make_queue;
  if (!make_queue) {
    make_queue = DiskQueueMaker(loop, options.queue);
  }
  std::unique_ptr<Service> service(new Service(loop, provider, seed, std::move(options)));
  auto take = [&provider](const std::string& name, FunctionCall& call) {
    const bool is_taken = provider.Take(name, call);
    // A function that is not known yet is not one that is not deployed: no attempt is counted.
    if (!is_taken && (provider.may_lag() || !provider.CheckHealth().ok())) {
      call.sink->Refuse({kUnknownYet, "start", "the function is not known yet"});
      return true;
    }
    return is_taken;
  };
  ASSIGN_OR_RETURN(service->async_calls_, AsyncCalls::Start(loop, make_queue, std::move(take),
                                                            [&provider](const std::string& key) {
                                                              return provider.IdentityOf(key);
                                                            }));
  return service;
}

Service::~Service() {
  server_->Stop();
  if (mesh_ != nullptr) {
    mesh_->Stop();
  }
}

StatusOr<std::string> Service::Listen(const std::string& address, mode_t mode) {
  return server_->Listen(address, mode);
}

// The folder is closed to all but root; containers see the one in it.
Status Service::ListenForFunctions() {
  const std::string& folder = options_.mesh_folder;
  RETURN_IF_ERROR(MakeFolder(fs::path(folder).parent_path(), kOursAlone));
  RETURN_IF_ERROR(MakeFolder(folder, kReadableByAll));
  mesh_ = std::make_unique<http::Server>(
      loop_,
      [this](http::Request request, const http::Responder& responder) {
        HandleMesh(request, responder);
      },
      OptionsOfServer(kMaxMeshBodies));
  return mesh_->Listen(folder + "/fn.sock", kWritableByAll).status();
}

// A function may call functions, and nothing else.
void Service::HandleMesh(http::Request& request, const http::Responder& responder,
                         const std::string& space) {
  if (request.path.starts_with(kAsyncPath) || request.path.starts_with(kCallPath)) {
    return Call(request, responder, Caller::kFunction, space);
  }
  responder.Send(http::UnknownPath(request));
}

void Service::HandleReplica(http::Request request, const http::Responder& responder) {
  const std::optional<std::string> space = provider_.SpaceOfReplica(request.peer);
  if (!space) {
    return SendError(responder, PermissionDenied("only functions may call here: use the gateway's "
                                                 "address, with a token"));
  }
  HandleMesh(request, responder, *space);
}

void Service::Handle(http::Request request, const http::Responder& responder) {
  const std::string_view path = request.path;
  if (path.starts_with(kCallPath) || path.starts_with(kAsyncPath)) {
    return Call(request, responder, Caller::kHost);
  }
  if (path.starts_with("/system/")) {
    return HandleSystem(request, responder);
  }
  HandleOwn(request, responder);
}

void Service::HandleSystem(const http::Request& request, const http::Responder& responder) {
  const std::string& path = request.path;
  if (path == "/system/functions") {
    return HandleFunctions(request, responder);
  }
  if (path.starts_with(kFunctionPath)) {
    return HandleFunction(request, responder, std::string_view(path).substr(kFunctionPath.size()));
  }
  if (path.starts_with(kLogPath)) {
    return IsGet(request) ? Logs(request, responder, std::string_view(path).substr(kLogPath.size()))
                          : responder.Send(http::WrongMethod(request, "GET"));
  }
  if (path == "/system/scale-function") {
    return request.method == "PUT" ? Scale(request, responder)
                                   : responder.Send(http::WrongMethod(request, "PUT"));
  }
  if (path == "/system/info" && IsGet(request)) {
    return SendJson(
        responder, 200,
        MessageView(doc::PrintLine(boost::json::object{{"provider", doc::View(provider_.name())},
                                                       {"version", options_.version}})));
  }
  responder.Send(http::UnknownPath(request));
}

void Service::HandleFunctions(const http::Request& request, const http::Responder& responder) {
  if (IsGet(request)) {
    return List(request, responder);
  }
  if (request.method == "POST" || request.method == "PUT") {
    return Deploy(request, responder);
  }
  responder.Send(http::WrongMethod(request, "GET, POST, PUT"));
}

StatusOr<std::string> Service::Deployed(std::string_view name, std::string_view space) const {
  ASSIGN_OR_RETURN(std::string key, provider_.KeyOf(name, space));
  if (provider_.Find(key) == nullptr) {
    RETURN_IF_ERROR(provider_.CheckHealth());
    return NotFound("function {}: is not deployed", Printable(key));
  }
  return key;
}

void Service::HandleFunction(const http::Request& request, const http::Responder& responder,
                             std::string_view name) {
  const bool is_delete = request.method == "DELETE";
  if (!is_delete && !IsGet(request)) {
    return responder.Send(http::WrongMethod(request, "GET, DELETE"));
  }
  const StatusOr<std::string> key = Deployed(name, SpaceOf(request));
  if (!key.ok()) {
    return SendError(responder, key.status());
  }
  is_delete ? Delete(*key, responder) : SendJson(responder, 200, provider_.View(*key));
}

void Service::HandleOwn(const http::Request& request, const http::Responder& responder) {
  if (request.path == "/" && IsGet(request)) {
    return responder.Send(
        http::LinksPage("kgpu: functions", {"healthz", "metrics", "system/functions", "v1/usage"}));
  }
  if (request.path == "/healthz" && IsGet(request)) {
    const Status health = provider_.CheckHealth();
    return health.ok() ? SendJson(responder, 200, MessageView("OK")) : SendError(responder, health);
  }
  if (request.path == "/metrics" && IsGet(request)) {
    return Metrics(request, responder);
  }
  if (request.path == "/v1/usage" && IsGet(request)) {
    return Usage(request, responder);
  }
  if (request.path.starts_with("/v1/queue")) {
    return HandleQueue(async_calls_->queue(), request, responder);
  }
  if (request.path == "/v1/stop") {
    const bool may_stop = request.method == "POST" && request.is_from_unix_socket;
    return may_stop ? Stop(responder) : responder.Send(http::WrongMethod(request, "POST"));
  }
  responder.Send(http::UnknownPath(request));
}

void Service::List(const http::Request& request, const http::Responder& responder) const {
  const std::string space = SpaceOf(request);
  // Of any name: whether there is such a namespace.
  if (const StatusOr<std::string> key = provider_.KeyOf("any", space); !key.ok()) {
    return SendError(responder, key.status());
  }
  SendJson(responder, 200, boost::json::object{{"Functions", provider_.Views(space)}});
}

void Service::Deploy(const http::Request& request, const http::Responder& responder) {
  StatusOr<Function> function = ParseWire(request.body, kRequestWhere);
  if (!function.ok()) {
    return SendError(responder, function.status());
  }
  const StatusOr<std::string> key = provider_.KeyOf(function->name, SpaceOf(request));
  if (!key.ok()) {
    return SendError(responder, key.status());
  }
  const bool replaces = request.QueryValue("replace") == "true";
  const DeployMode mode = request.method == "POST"
                              ? DeployMode::kCreate
                              : (replaces ? DeployMode::kReplace : DeployMode::kUpdate);
  provider_.Deploy(*key, *std::move(function), mode,
                   [responder](const StatusOr<FunctionProvider::Notes>& notes) {
                     if (!notes.ok()) {
                       return SendError(responder, notes.status());
                     }
                     boost::json::object answer = MessageView("OK");
                     if (!notes->empty()) {
                       answer["Notes"] = doc::Texts(*notes);
                     }
                     SendJson(responder, 200, answer);
                   });
}

void Service::Delete(const std::string& key, const http::Responder& responder) {
  auto forget = lifetime_.Bind([this, key] {
    EndFollowers(key);
    async_calls_->queue().RemoveFunction(key);
  });
  provider_.Delete(key, [responder, forget](const Status& status) mutable {
    if (!status.ok()) {
      return SendError(responder, status);
    }
    forget();
    SendJson(responder, 200, MessageView("OK"));
  });
}

void Service::Scale(const http::Request& request, const http::Responder& responder) {
  const StatusOr<ScaleRequest> scale = ParseScale(request.body);
  const StatusOr<std::string> key =
      scale.ok() ? Deployed(scale->name, SpaceOf(request)) : scale.status();
  if (!key.ok()) {
    return SendError(responder, key.status());
  }
  provider_.SetReplicas(*key, scale->replicas, [responder](const Status& status) {
    status.ok() ? SendJson(responder, 200, MessageView("OK")) : SendError(responder, status);
  });
}

void Service::Logs(const http::Request& request, const http::Responder& responder,
                   std::string_view name) {
  const StatusOr<std::string> key = Deployed(name, SpaceOf(request));
  if (!key.ok()) {
    return SendError(responder, key.status());
  }
  const StatusOr<LogRequest> log = ParseLogRequest(request, loop_.clock().WallNow());
  if (!log.ok()) {
    return SendError(responder, log.status());
  }
  provider_.ReadLogs(
      *key, *log,
      lifetime_.Bind([this, request, responder, key = *key](StatusOr<std::string> text) {
        text.ok() ? SendLogs(request, responder, key, *std::move(text))
                  : SendError(responder, text.status());
      }));
}

void Service::SendLogs(const http::Request& request, const http::Responder& responder,
                       const std::string& key, std::string text) {
  if (request.QueryValue("follow") == "true") {
    return Follow(responder, key, std::move(text));
  }
  if (AcceptsText(request)) {
    http::Response response;
    response.headers.Add("Content-Type", "text/plain; charset=utf-8");
    response.body = std::move(text);
    return responder.Send(std::move(response));
  }
  // As OpenFx has it for every pod.
  SendJson(responder, 200, MessageView(fmt::format("---\nName: {}\nLog:\n{}", key, text)));
}

void Service::Follow(const http::Responder& responder, const std::string& key, std::string first) {
  // A caller that has left is only noticed when something is written, which may be never.
  std::erase_if(followers_, [](const auto& numbered) { return !numbered.second.stream.is_open(); });
  if (followers_.size() >= kMaxFollowers) {
    return SendError(responder, ResourceExhausted("logs: {} are followed already: end one first",
                                                  kMaxFollowers));
  }
  http::Response head;
  head.headers.Add("Content-Type", "text/plain; charset=utf-8");
  head.body = std::move(first);
  const uint64_t number = ++last_follower_;
  auto stream = std::make_shared<std::optional<http::Stream>>();
  // Its end comes from within itself.
  auto end_follower = lifetime_.Bind([this, number] {
    if (const auto found = followers_.find(number); found != followers_.end()) {
      found->second.stream.End();
      followers_.erase(found);
    }
  });
  auto ended = [&loop = loop_, end_follower] { loop.Post(end_follower); };
  StatusOr<std::unique_ptr<LogReader>> reader = provider_.FollowLogs(
      key, [stream](std::string_view text) { return (*stream)->Write(text); }, std::move(ended));
  if (!reader.ok()) {
    return SendError(responder, reader.status());
  }
  auto& begun = stream->emplace(responder.Begin(std::move(head)));
  followers_.emplace(number, Follower{key, begun, *std::move(reader)});
}

void Service::EndFollowers(const std::string& function) {
  std::erase_if(followers_, [&function](const auto& numbered) {
    if (numbered.second.function != function) {
      return false;
    }
    numbered.second.stream.End();
    return true;
  });
}

void Service::Usage(const http::Request& request, const http::Responder& responder) {
  const StatusOr<std::chrono::seconds> since =
      ParseSince("since", request.QueryValue("since").value_or("24h"));
  if (!since.ok()) {
    return SendError(responder, since.status());
  }
  SendJson(responder, 200, UsageView(provider_.UsageSince(loop_.clock().WallNow() - *since)));
}

void Service::Metrics(const http::Request& request, const http::Responder& responder) {
  const auto accept = request.headers.Find("Accept");
  const bool is_open = accept && accept->find("openmetrics") != std::string_view::npos;
  http::Response response;
  response.headers.Add("Content-Type", is_open ? "application/openmetrics-text; version=1.0.0; "
                                                 "charset=utf-8"
                                               : "text/plain; version=0.0.4; charset=utf-8");
  const metrics::Format format = is_open ? metrics::Format::kOpenMetrics : metrics::Format::kText;
  response.body = provider_.MetricsPage(format) +
                  QueueMetrics(async_calls_->queue().Counts(), loop_.clock().WallNow(), format);
  if (is_open) {
    response.body += metrics::Exposition::kEnd;
  }
  responder.Send(std::move(response));
}

void Service::Stop(const http::Responder& responder) {
  auto stopped = lifetime_.Bind([this] {
    if (options_.stopped) {
      options_.stopped();
    }
  });
  provider_.StopAll([responder, stopped](const Status& status) mutable {
    // The rest is left to the next service, or to `kgpu fn down`: this one takes no calls now.
    status.ok() ? SendJson(responder, 200, MessageView("OK")) : SendError(responder, status);
    stopped();
  });
}

std::string Service::NewCallId() {
  return fmt::format("{:016x}", random_.Next());
}

void Service::Call(http::Request& request, const http::Responder& responder, Caller caller,
                   const std::string& space) {
  const bool is_async = request.path.starts_with(kAsyncPath);
  if (!IsCallMethod(request.method, is_async)) {
    return responder.Send(
        http::WrongMethod(request, is_async ? "GET, POST, PUT, PATCH, DELETE"
                                            : "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
  }
  CallTarget target = TargetOf(request, is_async ? kAsyncPath : kCallPath);
  const StatusOr<std::string> key = Deployed(target.name, space);
  if (!key.ok()) {
    return SendError(responder, key.status());
  }
  const Function* function = provider_.Find(*key);
  if (const Status status = CheckCall(request, function->calls); !status.ok()) {
    return SendError(responder, status);
  }
  const StatusOr<std::optional<std::chrono::milliseconds>> patience = CallerPatience(request);
  if (!patience.ok()) {
    return SendError(responder, patience.status());
  }
  const auto given = request.headers.Find(kCallIdHeader);
  const std::string call_id = given ? std::string(*given) : NewCallId();
  http::Request passed = PassedOn(request, std::move(target.target), call_id);
  if (is_async || function->calls.is_async) {
    if (caller == Caller::kFunction && request.headers.Find(kCallbackHeader)) {
      // The callback would be made from the host's network.
      return SendError(responder, PermissionDenied("{}: functions cannot set it: the function "
                                                   "that is called can call another one",
                                                   kCallbackHeader));
    }
    return CallAsync(*key, std::move(passed), call_id, responder);
  }
  const SteadyTime now = loop_.clock().Now();
  FunctionCall call{.request = std::move(passed),
                    .call_id = call_id,
                    .sink = std::make_unique<HttpSink>(responder, call_id, options_.answer_buffer,
                                                       request.method == "HEAD"),
                    .arrived = now};
  if (const auto& limit = *patience) {
    call.deadline = now + *limit;
  }
  (void)provider_.Take(*key, call);
}

void Service::CallAsync(const std::string& key, http::Request request, const std::string& call_id,
                        const http::Responder& responder) {
  const int64_t retries = provider_.Find(key)->calls.retries;
  async_calls_->Start(key, std::move(request), call_id, retries,
                      [responder, call_id](const StatusOr<std::string>& accepted) {
                        if (!accepted.ok()) {
                          return RefuseAsync(responder, call_id, accepted.status());
                        }
                        responder.Send({.code = 202, .headers = {{kCallIdHeader, *accepted}}});
                      });
}

}  // namespace kgpu::functions
