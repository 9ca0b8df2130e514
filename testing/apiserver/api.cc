#include "testing/apiserver/api.h"

#include <boost/json.hpp>
#include <optional>
#include <set>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/dump.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/rbac_roles.h"
#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

// Counts what goes out.
class CountingSink final : public Sink {
 public:
  CountingSink(std::shared_ptr<Sink> sink, Counters& counters, CounterKey key)
      : sink_(std::move(sink)), counters_(counters), key_(std::move(key)) {}

  void Answer(const http::Response& response) override {
    Count& count = counters_.For(key_);
    count.bytes_out += response.body.size();
    count.refused += response.code >= 400 ? 1 : 0;
    sink_->Answer(response);
  }
  void Begin(int code, const http::Headers& headers) override { sink_->Begin(code, headers); }
  bool Write(std::string_view bytes) override {
    counters_.For(key_).bytes_out += bytes.size();
    return sink_->Write(bytes);
  }
  void End() override { sink_->End(); }
  void Cut() override { sink_->Cut(); }
  bool is_open() const override { return sink_->is_open(); }

 private:
  std::shared_ptr<Sink> sink_;
  Counters& counters_;
  CounterKey key_;
};

// Keeps an answer, for requests from within.
class KeepingSink final : public Sink {
 public:
  void Answer(const http::Response& response) override { response_ = response; }
  void Begin(int code, const http::Headers& headers) override {
    response_.code = code;
    response_.headers = headers;
  }
  bool Write(std::string_view bytes) override {
    response_.body.append(bytes);
    return true;
  }
  void End() override {}
  void Cut() override {}
  bool is_open() const override { return false; }
  const http::Response& response() const { return response_; }

 private:
  http::Response response_;
};

std::string TokenOf(std::string_view authorization) {
  static constexpr std::string_view kBearer = "Bearer ";
  return std::string(authorization.starts_with(kBearer) ? authorization.substr(kBearer.size())
                                                        : "");
}

std::string_view ReasonOf(int code) {
  static const std::map<int, std::string_view> kReasons = {
      {400, "BadRequest"},    {401, "Unauthorized"},
      {403, "Forbidden"},     {404, "NotFound"},
      {409, "Conflict"},      {410, "Expired"},
      {422, "Invalid"},       {429, "TooManyRequests"},
      {500, "InternalError"}, {503, "ServiceUnavailable"},
      {504, "Timeout"}};
  const auto found = kReasons.find(code);
  return found == kReasons.end() ? "Unknown" : found->second;
}

http::Response FaultResponse(const Fault& fault) {
  http::Response response =
      FailureResponse(Failure(fault.code, ReasonOf(fault.code), "a fault that was asked for"));
  if (fault.retry_after.count() > 0) {
    response.headers.Add("Retry-After", std::to_string(fault.retry_after.count()));
  }
  return response;
}

void SendWatchError(const Fault& fault, Sink& sink) {
  const Status status = Failure(fault.code, ReasonOf(fault.code), "a fault that was asked for");
  sink.Begin(200, {{"Content-Type", "application/json"}});
  sink.Write(fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n",
                         json::serialize(StatusObjectOf(status))));
  sink.End();
}

}  // namespace

ServerState::ServerState(EventLoop& its_loop, const ApiOptions& its_options)
    : loop(its_loop),
      options(its_options),
      store(its_options.max_history),
      registry(its_loop, store, resources,
               {.pod_stop_time = its_options.pod_stop_time, .seed = its_options.seed}),
      hub(its_loop, store, its_options.bookmark_interval, its_options.max_watches),
      access(its_loop.clock()),
      rbac(store),
      faults(its_loop),
      proxy(its_loop) {
}

int64_t ServerState::NowSeconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(loop.clock().WallNow().time_since_epoch())
      .count();
}

http::Response FailureResponse(const Status& status) {
  const json::object body = StatusObjectOf(status);
  http::Response response = http::JsonResponse(HttpCodeOf(status), json::serialize(body));
  if (const int64_t seconds = NumberAt(body, {"details", "retryAfterSeconds"}, 0); seconds > 0) {
    response.headers.Add("Retry-After", std::to_string(seconds));
  }
  return response;
}

class Api::Impl {
 public:
  Impl(EventLoop& loop, const ApiOptions& options) : state_(loop, options) {
    state_.store.SetListener([this](const Change& change) { Notify(change); });
    state_.faults.OnAway([this](bool is_away) {
      if (is_away) {
        state_.hub.CutAll();
      }
    });
    MakeFirstObjects();
    if (options.has_rbac) {
      DecideReviewsByRbac();
    }
  }

  ServerState& state() { return state_; }

  uint64_t AddObserver(std::function<void(const Change&)> observer) {
    observers_.emplace(++last_observer_, std::move(observer));
    return last_observer_;
  }
  void RemoveObserver(uint64_t id) { observers_.erase(id); }

  void Handle(const http::Request& request, const std::shared_ptr<Sink>& sink) {
    if (state_.faults.is_away()) {
      sink->Cut();
      return;
    }
    const StatusOr<Route> route = ParseRoute(state_.resources, request);
    if (!route.ok()) {
      sink->Answer(FailureResponse(route.status()));
      return;
    }
    const std::string_view agent = request.headers.Find("User-Agent").value_or("");
    const CounterKey key{.verb = route->verb,
                         .resource = route->ResourceName(),
                         .user_agent = std::string(agent.substr(0, agent.find('/')))};
    Count& count = state_.counters.For(key);
    ++count.requests;
    count.bytes_in += request.body.size() + request.target.size();
    const std::vector<Fault> faults =
        state_.faults.Take({.verb = key.verb,
                            .resource = key.resource,
                            .user_agent = std::string(agent),
                            .token = TokenOf(request.headers.Find("Authorization").value_or(""))});
    const auto counted =
        std::make_shared<CountingSink>(WithFaults(state_.loop, sink, faults), state_.counters, key);
    if (!AnswerWithFault(faults, *counted)) {
      HandleInner(*route, request, counted, &key);
    }
  }

  // `key`: where its effect is counted; null: nowhere.
  void HandleInner(const Route& route, const http::Request& request,
                   const std::shared_ptr<Sink>& sink, const CounterKey* key) {
    const StatusOr<User> user =
        key == nullptr
            ? StatusOr<User>(User())
            : state_.access.Authenticate(request.headers.Find("Authorization").value_or(""));
    const bool is_open_path =
        route.parts.size() == 1 && (route.parts[0].ends_with("z") || route.parts[0] == "version");
    if (!user.ok() && !is_open_path) {
      sink->Answer(FailureResponse(user.status()));
      return;
    }
    if (key != nullptr && state_.options.has_rbac && !is_open_path) {
      if (const Status status = CheckAccess(route, request, *user); !status.ok()) {
        sink->Answer(FailureResponse(status));
        return;
      }
    }
    if (const auto begun = AnswerLater(route, request, sink)) {
      if (!begun->ok()) {
        sink->Answer(FailureResponse(*begun));
      }
      return;
    }
    const StatusOr<Reply> reply = Dispatch(route, request, user.ok() ? *user : User());
    if (!reply.ok()) {
      sink->Answer(FailureResponse(reply.status()));
      return;
    }
    if (key != nullptr) {
      state_.counters.For(*key).changes += reply->effect == Effect::kChanged ? 1 : 0;
      state_.counters.For(*key).no_ops += reply->effect == Effect::kNoOp ? 1 : 0;
    }
    sink->Answer(reply->response);
  }

 private:
  // Begins a response that does not come at once; nothing for other requests.
  std::optional<Status> AnswerLater(const Route& route, const http::Request& request,
                                    const std::shared_ptr<Sink>& sink) {
    const auto is_for = [&](std::string_view name) {
      return route.resource != nullptr && route.subresource == name &&
             route.resource->HasSubresource(name);
    };
    if (is_for("log") && route.verb == "get") {
      return ServeLog(state_, route, sink);
    }
    if (is_for("proxy")) {
      return ServeProxy(state_, route, request, sink);
    }
    return route.resource != nullptr && route.verb == "watch"
               ? std::optional(BeginWatch(state_, route, request, sink))
               : std::nullopt;
  }

  // From 1.36 on, who writes the status of devices needs a right for the part of each driver.
  Status CheckDrivers(AccessRequest access, const http::Request& request, const User& user) {
    const auto body = doc::Parse(request.body, doc::Format::kJson, "body");
    std::set<std::string> drivers;
    for (const json::value& device : body.ok() && body->is_object()
                                         ? ItemsAt(body->get_object(), {"status", "devices"})
                                         : json::array()) {
      drivers.emplace(device.is_object() ? TextAt(device.get_object(), {"driver"}) : "");
    }
    access.verb = fmt::format("associated-node:{}", access.verb);
    access.resource = "resourceclaims/driver";
    for (const std::string& driver : drivers) {
      access.name = driver;
      RETURN_IF_ERROR(state_.rbac.Check(user, access));
    }
    return OkStatus();
  }

  // An apply that creates its object must be allowed both.
  Status CheckAccess(const Route& route, const http::Request& request, const User& user) {
    AccessRequest access = AccessRequestOf(route);
    RETURN_IF_ERROR(state_.rbac.Check(user, access));
    if (access.resource == "resourceclaims/status") {
      return CheckDrivers(std::move(access), request, user);
    }
    const bool creates = route.verb == "apply" && route.resource != nullptr &&
                         state_.store.Get(route.resource->StorageName(), route.Key()) == nullptr;
    if (creates) {
      access.verb = "create";
      return state_.rbac.Check(user, access);
    }
    return OkStatus();
  }

  void Notify(const Change& change) {
    state_.hub.Notify(change);
    if (change.storage == "pods" && change.type == ChangeType::kDeleted) {
      state_.logs.Forget(change.key);
    }
    for (const auto& [id, observer] : observers_) {
      observer(change);
    }
  }

  static bool AnswerWithFault(const std::vector<Fault>& faults, Sink& sink) {
    for (const Fault& fault : faults) {
      if (fault.kind == FaultKind::kReset) {
        sink.Cut();
        return true;
      }
      if (fault.kind == FaultKind::kAnswer) {
        sink.Answer(FaultResponse(fault));
        return true;
      }
      if (fault.kind == FaultKind::kWatchError) {
        SendWatchError(fault, sink);
        return true;
      }
    }
    return false;
  }

  StatusOr<Reply> Dispatch(const Route& route, const http::Request& request, const User& user) {
    if (route.resource == nullptr) {
      if (route.names_group_version) {
        return Failure(404, "NotFound", "the server could not find the requested resource");
      }
      return Discover(state_, route, request);
    }
    if (!route.subresource.empty() && !route.resource->HasSubresource(route.subresource)) {
      return Failure(404, "NotFound", "the server could not find the requested resource");
    }
    if (route.resource->is_review && route.verb != "create") {
      return Failure(405, "MethodNotAllowed", "reviews can only be created");
    }
    if (route.verb == "get" || route.verb == "list") {
      return Read(state_, route, request);
    }
    return Write(state_, route, request, user);
  }

  // SubjectAccessReviews too.
  void DecideReviewsByRbac() {
    MakeFirstRoles(state_.registry, state_.resources);
    state_.access.SetAuthorizer([this](const json::object& spec) {
      User user{.name = std::string(TextAt(spec, {"user"}))};
      for (const json::value& group : ItemsAt(spec, {"groups"})) {
        user.groups.push_back(PlainText(&group));
      }
      return state_.rbac.Allows(user, AccessRequestOfReview(spec));
    });
  }

  void MakeFirstObjects() {
    const Resource* namespaces = state_.resources.Find("", "v1", "namespaces");
    const Resource* accounts = state_.resources.Find("", "v1", "serviceaccounts");
    for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
      const json::object object = {{"metadata", {{"name", name}}}};
      const WriteOptions options{.manager = "kube-apiserver"};
      state_.registry.Create(*namespaces, "", object, options).status().IgnoreError();
      state_.registry.Create(*accounts, name, {{"metadata", {{"name", "default"}}}}, options)
          .status()
          .IgnoreError();
    }
  }

  ServerState state_;
  std::map<uint64_t, std::function<void(const Change&)>> observers_;
  uint64_t last_observer_ = 0;
};

Api::Api(EventLoop& loop, ApiOptions options) : impl_(std::make_unique<Impl>(loop, options)) {
}

Api::~Api() = default;

void Api::Handle(const http::Request& request, const std::shared_ptr<Sink>& sink) {
  impl_->Handle(request, sink);
}

Faults& Api::faults() {
  return impl_->state().faults;
}

Counters& Api::counters() {
  return impl_->state().counters;
}

Access& Api::access() {
  return impl_->state().access;
}

Rbac& Api::rbac() {
  return impl_->state().rbac;
}

PodLogs& Api::logs() {
  return impl_->state().logs;
}

uint64_t Api::AddObserver(std::function<void(const Change&)> observer) {
  return impl_->AddObserver(std::move(observer));
}

void Api::RemoveObserver(uint64_t id) {
  impl_->RemoveObserver(id);
}

const Store& Api::store() const {
  return impl_->state().store;
}

std::string Api::Dump() const {
  return DumpText(impl_->state());
}

void Api::Compact() {
  impl_->state().store.Compact();
}

void Api::CutWatches(std::string_view resource) {
  impl_->state().hub.CutAll(resource);
}

void Api::EndWatches(std::string_view resource) {
  impl_->state().hub.EndAll(resource);
}

size_t Api::watches() const {
  return impl_->state().hub.size();
}

StoredPtr Api::Find(std::string_view path) const {
  http::Request request;
  request.target = path;
  const StatusOr<Route> route = ParseRoute(impl_->state().resources, request);
  if (!route.ok() || route->resource == nullptr) {
    return nullptr;
  }
  return impl_->state().store.Get(route->resource->StorageName(), route->Key());
}

StatusOr<json::object> Api::Do(std::string_view method, std::string_view target,
                               const json::value& body) {
  http::Request request;
  request.method = method;
  request.target = target;
  request.headers.Add("User-Agent", "test");
  const bool is_patch = method == "PATCH";
  request.headers.Add("Content-Type",
                      is_patch ? "application/merge-patch+json" : "application/json");
  if (!body.is_null()) {
    request.body = json::serialize(body);
  }
  ASSIGN_OR_RETURN(const Route route, ParseRoute(impl_->state().resources, request));
  const auto sink = std::make_shared<KeepingSink>();
  impl_->HandleInner(route, request, sink, nullptr);
  const json::value answer = json::parse(sink->response().body);
  if (sink->response().code >= 400) {
    return Failure(sink->response().code, TextAt(answer.get_object(), {"reason"}),
                   TextAt(answer.get_object(), {"message"}));
  }
  return answer.get_object();
}

}  // namespace kgpu::apiserver
