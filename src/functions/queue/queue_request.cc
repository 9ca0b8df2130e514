#include "src/functions/queue/queue_request.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kWhere = "request";
constexpr size_t kMaxIds = 1'000;
constexpr std::array kStates = {CallState::kWaiting, CallState::kRunning, CallState::kDead};

std::string_view TextOf(const boost::json::string& text) {
  return {text.data(), text.size()};
}

StatusOr<std::string> StringOf(std::string_view key, const boost::json::value& value) {
  if (!value.is_string() || value.get_string().empty()) {
    return InvalidArgument("{}: {}: must be a string that is not empty", kWhere, key);
  }
  return std::string(TextOf(value.get_string()));
}

Status ReadIds(const boost::json::value& value, CallSelection& selection) {
  if (!value.is_array() || value.get_array().empty() || value.get_array().size() > kMaxIds) {
    return InvalidArgument("{}: ids: must be a list of 1 to {} ids", kWhere, kMaxIds);
  }
  for (const boost::json::value& id : value.get_array()) {
    ASSIGN_OR_RETURN(std::string text, StringOf("ids", id));
    selection.ids.insert(std::move(text));
  }
  return OkStatus();
}

Status ReadKey(std::string_view key, const boost::json::value& value, ChangeRequest& request) {
  if (key == "function") {
    ASSIGN_OR_RETURN(request.selection.function, StringOf(key, value));
    return OkStatus();
  }
  if (key == "ids") {
    return ReadIds(value, request.selection);
  }
  if (key == "state") {
    ASSIGN_OR_RETURN(const std::string text, StringOf(key, value));
    ASSIGN_OR_RETURN(request.selection.state, ParseCallState(text));
    if (request.selection.state == CallState::kRunning) {
      return InvalidArgument("{}: state: running calls cannot be changed: use waiting or dead",
                             kWhere);
    }
    return OkStatus();
  }
  if (key == "dryRun") {
    if (!value.is_bool()) {
      return InvalidArgument("{}: dryRun: must be true or false", kWhere);
    }
    request.is_dry_run = value.get_bool();
    return OkStatus();
  }
  return InvalidArgument("{}: {}: no such key: use function, ids, state and dryRun", kWhere,
                         Printable(key));
}

}  // namespace

std::string_view NameOf(CallState state) {
  static constexpr std::array<std::string_view, kStates.size()> kNames = {"waiting", "running",
                                                                          "dead"};
  return kNames.at(static_cast<size_t>(state));
}

StatusOr<CallState> ParseCallState(std::string_view text) {
  const auto* found = std::ranges::find(kStates, text, NameOf);
  if (found == kStates.end()) {
    return InvalidArgument("state: {} must be waiting, running or dead", Printable(text));
  }
  return *found;
}

StatusOr<CallSelection> ParseListRequest(const http::Request& request) {
  CallSelection selection;
  selection.function = request.QueryValue("function").value_or("");
  if (const auto state = request.QueryValue("state"); state && !state->empty()) {
    ASSIGN_OR_RETURN(selection.state, ParseCallState(*state));
  }
  return selection;
}

StatusOr<ChangeRequest> ParseChangeRequest(std::string_view text) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(text, kWhere, {}));
  if (!root.is_object()) {
    return InvalidArgument("{}: must be a map with function, ids or state", kWhere);
  }
  ChangeRequest request;
  for (const auto& member : root.get_object()) {
    RETURN_IF_ERROR(ReadKey({member.key().data(), member.key().size()}, member.value(), request));
  }
  if (!request.selection.state) {
    request.selection.state = CallState::kDead;
  }
  return request;
}

boost::json::object CallView(const CallRecord& call, CallState state) {
  boost::json::object view{{"id", call.call_id},
                           {"function", call.function},
                           {"state", doc::View(NameOf(state))},
                           {"method", call.method},
                           {"path", call.target},
                           {"bytes", call.bytes},
                           {"arrived", FormatTime(call.arrived)},
                           {"attempts", call.attempts},
                           {"retriesLeft", call.retries_left},
                           {"code", call.code},
                           {"problem", call.problem}};
  if (state == CallState::kWaiting) {
    view["notBefore"] = FormatTime(call.not_before);
  }
  if (!call.callback.empty()) {
    view["callback"] = call.callback;
  }
  return view;
}

boost::json::array CountsView(const std::map<std::string, FunctionCounts>& counts, WallTime now) {
  boost::json::array list;
  for (const auto& [name, count] : counts) {
    const auto oldest = count.oldest
                            ? std::chrono::duration_cast<std::chrono::seconds>(now - *count.oldest)
                            : std::chrono::seconds(0);
    list.push_back(boost::json::object{{"function", name},
                                       {"waiting", count.waiting},
                                       {"running", count.running},
                                       {"dead", count.dead},
                                       {"retries", count.retries},
                                       {"oldestSeconds", std::max<int64_t>(oldest.count(), 0)}});
  }
  return list;
}

}  // namespace kgpu::functions
