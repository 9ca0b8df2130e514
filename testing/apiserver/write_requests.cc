#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/event_form.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/server_state.h"
#include "testing/apiserver/time_text.h"
#include "testing/apiserver/validation.h"
#include "testing/apiserver/view.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr size_t kMaxManager = 128;

std::string_view ContentType(const http::Request& request) {
  const std::string_view type = request.headers.Find("Content-Type").value_or("");
  return Trim(type.substr(0, type.find(';')));
}

StatusOr<json::value> ParseBody(const http::Request& request, bool may_be_yaml) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = 100;
  json::value body = json::parse(request.body, error, {}, options);
  if (!error) {
    return body;
  }
  if (may_be_yaml) {
    auto yaml = doc::Parse(request.body, doc::Format::kYaml, "body");
    if (yaml.ok()) {
      return *std::move(yaml);
    }
  }
  return BadRequest(fmt::format("the body could not be read: {}", error.message()));
}

StatusOr<json::object> ParseObject(const http::Request& request) {
  const std::string_view type = ContentType(request);
  const bool is_yaml = type == "application/yaml";
  if (!type.empty() && type != "application/json" && !is_yaml) {
    return Failure(415, "UnsupportedMediaType",
                   fmt::format("the body of the request was in an unknown format: {}", type));
  }
  ASSIGN_OR_RETURN(json::value body, ParseBody(request, is_yaml));
  if (!body.is_object()) {
    return BadRequest("the body must be an object");
  }
  return std::move(body.get_object());
}

StatusOr<WriteOptions> OptionsOf(const Route& route, const http::Request& request) {
  WriteOptions options{.subresource = route.subresource};
  const std::string_view agent = request.headers.Find("User-Agent").value_or("unknown");
  options.manager = route.Query("fieldManager");
  if (options.manager.size() > kMaxManager) {
    return InvalidObject(
        "meta.k8s.io", "PatchOptions", "",
        {InvalidValue("fieldManager", options.manager, "may not be more than 128 bytes")});
  }
  if (options.manager.empty() && route.verb == "apply") {
    return InvalidObject("meta.k8s.io", "PatchOptions", "",
                         {RequiredValue("fieldManager", "is required for apply patch")});
  }
  if (options.manager.empty()) {
    options.manager = agent.substr(0, agent.find('/'));
  }
  const std::string_view dry_run = route.Query("dryRun");
  if (!dry_run.empty() && dry_run != "All") {
    return InvalidObject("meta.k8s.io", "PatchOptions", "",
                         {UnsupportedValue("dryRun", dry_run, {"All"})});
  }
  options.is_dry_run = !dry_run.empty();
  options.force = route.IsSet("force");
  if (options.force && route.verb != "apply") {
    return InvalidObject("meta.k8s.io", "PatchOptions", "",
                         {ForbiddenChange("force", "may not be specified for non-apply patch")});
  }
  return options;
}

// How fieldValidation treats fields that the type does not have.
StatusOr<std::vector<std::string>> WarningsFor(const Route& route, const json::object& object) {
  std::vector<std::string> warnings;
  const std::string_view mode = route.Query("fieldValidation");
  for (const std::string& field :
       mode == "Ignore" ? std::vector<std::string>() : UnknownFields(object, *route.resource)) {
    warnings.push_back(fmt::format("unknown field \"{}\"", field));
  }
  if (mode == "Strict" && !warnings.empty()) {
    return BadRequest(fmt::format("strict decoding error: {}", Join(warnings, ", ")));
  }
  return warnings;
}

Reply ObjectReply(const ServerState& state, const Route& route, const http::Request& request,
                  const Written& written, const std::vector<std::string>& warnings = {}) {
  const View view = ViewOf(request.headers.Find("Accept").value_or(""),
                           route.Query("includeObject"), state.NowSeconds());
  Reply reply{.response = http::JsonResponse(written.is_created ? 201 : 200,
                                             ShowObject(*route.resource, *written.object, view)),
              .effect = !written.has_changed             ? Effect::kNoOp
                        : !route.Query("dryRun").empty() ? Effect::kNone
                                                         : Effect::kChanged};
  for (const std::string& warning : warnings) {
    std::string quoted;
    for (const char c : warning) {
      quoted += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    }
    reply.response.headers.Add("Warning", fmt::format("299 - \"{}\"", quoted));
  }
  return reply;
}

StatusOr<DeleteOptions> DeleteOptionsOf(const Route& route, const json::object& body) {
  DeleteOptions options{
      .uid = std::string(TextAt(body, {"preconditions", "uid"})),
      .resource_version = std::string(TextAt(body, {"preconditions", "resourceVersion"})),
      .grace_seconds = NumberAt(body, {"gracePeriodSeconds"}, -1),
      .orphans = TextAt(body, {"propagationPolicy"}) == "Orphan" ||
                 route.Query("propagationPolicy") == "Orphan",
      .is_dry_run = !route.Query("dryRun").empty() || ListAt(body, {"dryRun"}) != nullptr};
  if (const auto grace = ParseUint(route.Query("gracePeriodSeconds")); grace) {
    options.grace_seconds = static_cast<int64_t>(*grace);
  }
  return options;
}

Reply SuccessReply(const Resource& resource, const Stored& gone, int code = 200) {
  return {.response = http::JsonResponse(
              code, json::serialize(
                        json::object{{"kind", "Status"},
                                     {"apiVersion", "v1"},
                                     {"metadata", json::object()},
                                     {"status", "Success"},
                                     {"details",
                                      {{"name", TextAt(gone.object(), {"metadata", "name"})},
                                       {"group", resource.group},
                                       {"kind", resource.plural},
                                       {"uid", TextAt(gone.object(), {"metadata", "uid"})}}}})),
          .effect = Effect::kChanged};
}

StatusOr<json::object> OptionalObject(const http::Request& request) {
  return request.body.empty() ? StatusOr<json::object>(json::object()) : ParseObject(request);
}

StatusOr<Reply> DeleteOne(ServerState& state, const Route& route, const http::Request& request) {
  ASSIGN_OR_RETURN(const json::object body, OptionalObject(request));
  ASSIGN_OR_RETURN(const DeleteOptions options, DeleteOptionsOf(route, body));
  ASSIGN_OR_RETURN(const Written written,
                   state.registry.Delete(*route.resource, route.Key(), options));
  Reply reply = written.is_gone ? SuccessReply(*route.resource, *written.object)
                                : ObjectReply(state, route, request, written);
  reply.effect = options.is_dry_run    ? Effect::kNone
                 : written.has_changed ? Effect::kChanged
                                       : Effect::kNoOp;
  return reply;
}

StatusOr<Reply> DeleteMany(ServerState& state, const Route& route, const http::Request& request) {
  ASSIGN_OR_RETURN(const json::object body, OptionalObject(request));
  ASSIGN_OR_RETURN(const DeleteOptions options, DeleteOptionsOf(route, body));
  ASSIGN_OR_RETURN(const LabelSelector labels, LabelSelector::Parse(route.Query("labelSelector")));
  ASSIGN_OR_RETURN(const FieldSelector fields,
                   FieldSelector::Parse(route.Query("fieldSelector"), *route.resource));
  std::vector<StoredPtr> items;
  std::vector<ObjectKey> keys;
  for (const auto& [key, stored] : state.store.All(route.resource->StorageName())) {
    if ((route.name_space.empty() || key.name_space == route.name_space) &&
        labels.Matches(ObjectAt(stored->object(), {"metadata", "labels"})) &&
        fields.Matches(ToExternal(*route.resource, stored->object()))) {
      items.push_back(stored);
      keys.push_back(key);
    }
  }
  for (const ObjectKey& key : keys) {
    RETURN_IF_ERROR(state.registry.Delete(*route.resource, key, options).status());
  }
  const View view = ViewOf(request.headers.Find("Accept").value_or(""), "", state.NowSeconds());
  return Reply{
      .response = http::JsonResponse(
          200, ShowList(*route.resource, items,
                        {{"resourceVersion", std::to_string(state.store.revision())}}, view)),
      .effect = items.empty() ? Effect::kNoOp : Effect::kChanged};
}

StatusOr<Reply> PatchOne(ServerState& state, const Route& route, const http::Request& request) {
  ASSIGN_OR_RETURN(const WriteOptions options, OptionsOf(route, request));
  const std::string_view type = ContentType(request);
  ASSIGN_OR_RETURN(const json::value body, ParseBody(request, route.verb == "apply"));
  if (route.verb == "apply") {
    if (!body.is_object()) {
      return BadRequest("the applied body must be an object");
    }
    ASSIGN_OR_RETURN(const auto warnings, WarningsFor(route, body.get_object()));
    ASSIGN_OR_RETURN(const Written written, state.registry.Apply(*route.resource, route.Key(),
                                                                 body.get_object(), options));
    return ObjectReply(state, route, request, written, warnings);
  }
  static const std::map<std::string_view, PatchType> kTypes = {
      {"application/merge-patch+json", PatchType::kMerge},
      {"application/json-patch+json", PatchType::kJson},
      {"application/strategic-merge-patch+json", PatchType::kStrategic}};
  const auto found = kTypes.find(type);
  if (found == kTypes.end() ||
      (found->second == PatchType::kStrategic && route.resource->is_custom)) {
    return Failure(415, "UnsupportedMediaType",
                   fmt::format("the body of the request was in an unknown format: {}", type));
  }
  ASSIGN_OR_RETURN(const Written written, state.registry.Patch(*route.resource, route.Key(),
                                                               found->second, body, options));
  return ObjectReply(state, route, request, written);
}

StatusOr<Reply> Evict(ServerState& state, const Route& route, const json::object& body) {
  const json::object* options_json = ObjectAt(body, {"deleteOptions"});
  ASSIGN_OR_RETURN(
      const DeleteOptions options,
      DeleteOptionsOf(route, options_json == nullptr ? json::object() : *options_json));
  ASSIGN_OR_RETURN(const Written written, state.registry.Evict(route.Key(), options));
  return SuccessReply(*route.resource, *written.object, 201);
}

// POST …/serviceaccounts/NAME/token: a token that the server then knows.
StatusOr<Reply> MakeToken(ServerState& state, const Route& route, json::object body) {
  ASSIGN_OR_RETURN(const StoredPtr account, state.registry.Get(*route.resource, route.Key()));
  const int64_t seconds = NumberAt(body, {"spec", "expirationSeconds"}, 3600);
  const WallTime expires = state.loop.clock().WallNow() + std::chrono::seconds(seconds);
  const std::string token = fmt::format("stub.{}", state.registry.NewUid());
  User user{.name = fmt::format("system:serviceaccount:{}:{}", route.name_space, route.name),
            .uid = std::string(TextAt(account->object(), {"metadata", "uid"})),
            .groups = {"system:serviceaccounts",
                       fmt::format("system:serviceaccounts:{}", route.name_space),
                       "system:authenticated"}};
  for (const json::value& audience : ItemsAt(body, {"spec", "audiences"})) {
    user.audiences.push_back(PlainText(&audience));
  }
  state.access.AddToken(token, std::move(user), expires);
  body["kind"] = "TokenRequest";
  body["apiVersion"] = "authentication.k8s.io/v1";
  body["status"] = {{"token", token}, {"expirationTimestamp", TimeText(expires)}};
  return Reply{.response = http::JsonResponse(201, json::serialize(body))};
}

StatusOr<Reply> Review(const ServerState& state, const Route& route, json::object body,
                       const User& user) {
  const bool is_own = route.resource->kind == "SelfSubjectAccessReview";
  const json::object reviewed =
      route.resource->kind == "TokenReview"
          ? state.access.ReviewToken(std::move(body))
          : state.access.ReviewAccess(std::move(body), is_own ? &user : nullptr);
  return Reply{.response = http::JsonResponse(201, json::serialize(reviewed))};
}

StatusOr<Reply> Post(ServerState& state, const Route& route, const http::Request& request,
                     const User& user) {
  ASSIGN_OR_RETURN(json::object body, ParseObject(request));
  if (route.resource->is_review) {
    return Review(state, route, std::move(body), user);
  }
  if (route.subresource == "eviction") {
    return Evict(state, route, body);
  }
  if (route.subresource == "token") {
    return MakeToken(state, route, std::move(body));
  }
  if (!route.name.empty()) {
    return Failure(405, "MethodNotAllowed", "objects are created in their collection");
  }
  ASSIGN_OR_RETURN(const WriteOptions options, OptionsOf(route, request));
  ASSIGN_OR_RETURN(const auto warnings, WarningsFor(route, body));
  const std::string name_space = route.name_space.empty() && route.resource->is_namespaced
                                     ? std::string(TextAt(body, {"metadata", "namespace"}))
                                     : route.name_space;
  ASSIGN_OR_RETURN(const Written written,
                   state.registry.Create(*route.resource, name_space, std::move(body), options));
  return ObjectReply(state, route, request, written, warnings);
}

}  // namespace

StatusOr<Reply> Write(ServerState& state, const Route& route, const http::Request& request,
                      const User& user) {
  if (request.body.size() > state.options.max_body) {
    return Failure(413, "RequestEntityTooLarge",
                   fmt::format("the body may have {} bytes", state.options.max_body));
  }
  if (route.verb == "create") {
    return Post(state, route, request, user);
  }
  if (route.verb == "deletecollection") {
    return DeleteMany(state, route, request);
  }
  if (route.verb == "delete") {
    return DeleteOne(state, route, request);
  }
  if (route.name.empty()) {
    return Failure(405, "MethodNotAllowed", "the request must name an object");
  }
  if (route.verb == "patch" || route.verb == "apply") {
    return PatchOne(state, route, request);
  }
  ASSIGN_OR_RETURN(json::object body, ParseObject(request));
  ASSIGN_OR_RETURN(const WriteOptions options, OptionsOf(route, request));
  ASSIGN_OR_RETURN(const auto warnings, WarningsFor(route, body));
  ASSIGN_OR_RETURN(const Written written,
                   state.registry.Update(*route.resource, route.Key(), std::move(body), options));
  return ObjectReply(state, route, request, written, warnings);
}

}  // namespace kgpu::apiserver
