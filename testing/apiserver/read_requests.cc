#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/apiserver/event_form.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/selectors.h"
#include "testing/apiserver/server_state.h"
#include "testing/apiserver/view.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

View ViewFor(const ServerState& state, const Route& route, const http::Request& request) {
  return ViewOf(request.headers.Find("Accept").value_or(""), route.Query("includeObject"),
                state.NowSeconds());
}

// Where a list in chunks goes on.
struct ContinueToken {
  uint64_t revision = 0;  // 0: whatever there is now
  ObjectKey after;
};

std::string PrintToken(const ContinueToken& token) {
  return EncodeBase64(json::serialize(json::object{
      {"rv", token.revision}, {"namespace", token.after.name_space}, {"name", token.after.name}}));
}

StatusOr<ContinueToken> ParseToken(std::string_view text) {
  const auto plain = DecodeBase64(text);
  json::error_code error;
  const json::value parsed = json::parse(plain.value_or(""), error);
  const json::object* object = parsed.if_object();
  if (!plain.ok() || error || object == nullptr) {
    return BadRequest("continue key is not valid");
  }
  return ContinueToken{.revision = static_cast<uint64_t>(NumberAt(*object, {"rv"}, 0)),
                       .after = {std::string(TextAt(*object, {"namespace"})),
                                 std::string(TextAt(*object, {"name"}))}};
}

StatusOr<std::optional<uint64_t>> VersionOf(const Route& route) {
  const std::string_view text = route.Query("resourceVersion");
  if (text.empty()) {
    return std::optional<uint64_t>();
  }
  const auto version = ParseUint(text);
  if (!version) {
    return InvalidObject("meta.k8s.io", "ListOptions", "",
                         {InvalidValue("resourceVersion", text, "must be a number")});
  }
  return version;
}

Status CheckVersionMatch(const Route& route, const std::optional<uint64_t>& version) {
  const std::string_view match = route.Query("resourceVersionMatch");
  const auto forbidden = [](std::string_view why) {
    return InvalidObject("meta.k8s.io", "ListOptions", "",
                         {ForbiddenChange("resourceVersionMatch", why)});
  };
  if (match.empty()) {
    return OkStatus();
  }
  if (match != "Exact" && match != "NotOlderThan") {
    return forbidden("must be Exact or NotOlderThan");
  }
  if (!route.Query("continue").empty()) {
    return forbidden("is forbidden for continue");
  }
  if (!version) {
    return forbidden("is forbidden unless resourceVersion is provided");
  }
  if (match == "Exact" && *version == 0) {
    return forbidden("Exact is forbidden for resourceVersion \"0\"");
  }
  return OkStatus();
}

struct Selection {
  LabelSelector labels;
  FieldSelector fields;
};

StatusOr<Selection> SelectionOf(const Route& route) {
  Selection selection;
  ASSIGN_OR_RETURN(selection.labels, LabelSelector::Parse(route.Query("labelSelector")));
  ASSIGN_OR_RETURN(selection.fields,
                   FieldSelector::Parse(route.Query("fieldSelector"), *route.resource));
  return selection;
}

bool IsSelected(const Route& route, const Selection& selection, const Stored& stored) {
  const json::object& object = stored.object();
  return selection.labels.Matches(ObjectAt(object, {"metadata", "labels"})) &&
         (selection.fields.is_empty() ||
          selection.fields.Matches(ToExternal(*route.resource, object)));
}

struct Chunk {
  std::vector<StoredPtr> items{};
  json::object metadata;
};

// From `all`, what is selected behind `from`, at most `limit` (0: all).
Chunk Collect(const Route& route, const Selection& selection, const ObjectMap& all,
              const std::optional<ContinueToken>& from, size_t limit, uint64_t revision) {
  Chunk chunk;
  size_t remaining = 0;
  // Each of many nodes asks for itself: the others need not be looked at more closely.
  const std::optional<std::string> name = selection.fields.Exactly("metadata.name");
  for (const auto& [key, stored] : all) {
    if ((from && key <= from->after) || (name && key.name != *name) ||
        (!route.name_space.empty() && key.name_space != route.name_space) ||
        !IsSelected(route, selection, *stored)) {
      continue;
    }
    if (limit == 0 || chunk.items.size() < limit) {
      chunk.items.push_back(stored);
    } else {
      ++remaining;
    }
  }
  chunk.metadata = {{"resourceVersion", std::to_string(revision)}};
  if (remaining > 0) {
    const json::object& last = chunk.items.back()->object();
    chunk.metadata["continue"] =
        PrintToken({.revision = revision,
                    .after = {std::string(TextAt(last, {"metadata", "namespace"})),
                              std::string(TextAt(last, {"metadata", "name"}))}});
    if (selection.labels.is_empty() && selection.fields.is_empty()) {
      chunk.metadata["remainingItemCount"] = remaining;
    }
  }
  return chunk;
}

StatusOr<Reply> List(const ServerState& state, const Route& route, const View& view) {
  ASSIGN_OR_RETURN(const Selection selection, SelectionOf(route));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> version, VersionOf(route));
  RETURN_IF_ERROR(CheckVersionMatch(route, version));
  const uint64_t current = state.store.revision();
  if (version && *version > current) {
    return VersionTooLarge(*version, current);
  }
  std::optional<ContinueToken> from;
  if (const std::string_view token = route.Query("continue"); !token.empty()) {
    ASSIGN_OR_RETURN(from, ParseToken(token));
  }
  const bool is_exact = route.Query("resourceVersionMatch") == "Exact";
  const uint64_t wanted = from ? from->revision : is_exact ? version.value_or(0) : 0;
  const uint64_t revision = wanted == 0 ? current : wanted;
  if (revision < state.store.compacted()) {
    // The rest can still be had, as it is now.
    return ExpiredVersion("the list's version is too old: it has been compacted",
                          from ? PrintToken({.revision = 0, .after = from->after}) : std::string());
  }
  const auto limit = ParseUint(route.Query("limit"));
  const std::string storage = route.resource->StorageName();
  const Chunk chunk =
      revision == current
          ? Collect(route, selection, state.store.All(storage), from, limit.value_or(0), revision)
          : Collect(route, selection, state.store.AllAt(storage, revision), from, limit.value_or(0),
                    revision);
  return Reply{.response = http::JsonResponse(
                   200, ShowList(*route.resource, chunk.items, chunk.metadata, view))};
}

}  // namespace

StatusOr<Reply> Read(const ServerState& state, const Route& route, const http::Request& request) {
  const View view = ViewFor(state, route, request);
  if (route.name.empty()) {
    return List(state, route, view);
  }
  if (!route.subresource.empty() && route.subresource != "status") {
    return Failure(405, "MethodNotAllowed", "the subresource cannot be read");
  }
  ASSIGN_OR_RETURN(const StoredPtr object, state.registry.Get(*route.resource, route.Key()));
  return Reply{.response = http::JsonResponse(200, ShowObject(*route.resource, *object, view))};
}

Status ServeLog(ServerState& state, const Route& route, const std::shared_ptr<Sink>& sink) {
  RETURN_IF_ERROR(state.registry.Get(*route.resource, route.Key()).status());
  LogRequest request{.follows = route.IsSet("follow")};
  if (route.query.contains("tailLines")) {
    const auto lines = ParseUint(route.Query("tailLines"));
    if (!lines) {
      return BadRequest(fmt::format("tailLines: {} is no number", route.Query("tailLines")));
    }
    request.tail_lines = lines;
  }
  return state.logs.Serve(route.Key(), request, sink);
}

Status ServeProxy(ServerState& state, const Route& route, const http::Request& request,
                  const std::shared_ptr<Sink>& sink) {
  ASSIGN_OR_RETURN(const PodPort pod, PodPortOf(route.name));
  ASSIGN_OR_RETURN(const StoredPtr object,
                   state.registry.Get(*route.resource, {route.name_space, pod.name}));
  const std::string address(TextAt(object->object(), {"status", "podIP"}));
  if (address.empty()) {
    return Failure(503, "ServiceUnavailable", "address not allowed");
  }
  constexpr std::string_view kProxy = "/proxy";
  const std::string rest = request.target.substr(request.target.find(kProxy) + kProxy.size());
  state.proxy.Forward(fmt::format("{}:{}", address, pod.port), request,
                      rest.starts_with('/') ? rest : "/" + rest, sink);
  return OkStatus();
}

Status BeginWatch(ServerState& state, const Route& route, const http::Request& request,
                  const std::shared_ptr<Sink>& sink) {
  ASSIGN_OR_RETURN(Selection selection, SelectionOf(route));
  if (!route.name.empty()) {
    ASSIGN_OR_RETURN(
        selection.fields,
        FieldSelector::Parse(fmt::format("metadata.name={}", route.name), *route.resource));
  }
  ASSIGN_OR_RETURN(const std::optional<uint64_t> version, VersionOf(route));
  const bool streams_list = route.IsSet("sendInitialEvents");
  if (streams_list != (route.Query("resourceVersionMatch") == "NotOlderThan")) {
    return InvalidObject(
        "meta.k8s.io", "ListOptions", "",
        {ForbiddenChange("resourceVersionMatch",
                         "sendInitialEvents and resourceVersionMatch=NotOlderThan need each "
                         "other")});
  }
  if (version && *version > state.store.revision()) {
    return VersionTooLarge(*version, state.store.revision());
  }
  const auto seconds = ParseUint(route.Query("timeoutSeconds"));
  state.hub.Start({.resource = route.resource,
                   .name_space = route.name_space,
                   .labels = std::move(selection.labels),
                   .fields = std::move(selection.fields),
                   .view = ViewFor(state, route, request),
                   .wants_bookmarks = route.IsSet("allowWatchBookmarks"),
                   .sends_initial = streams_list || version.value_or(0) == 0,
                   .marks_initial_end = streams_list && route.IsSet("allowWatchBookmarks"),
                   .after = version.value_or(0),
                   .timeout = seconds && *seconds > 0
                                  ? std::chrono::milliseconds(std::chrono::seconds(*seconds))
                                  : state.options.watch_timeout},
                  sink);
  return OkStatus();
}

}  // namespace kgpu::apiserver
