#include "src/functions/gateway/fx_gateway.h"

#include <fx_gateway.pb.h>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "src/functions/service/function_call.h"
#include "src/functions/spec/checks.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMaxAnswerBytes = size_t{64} << 20;
constexpr size_t kMaxStatusText = 4'000;

using Reader = StatusOr<http::Request> (*)(std::string_view message);
using Writer = StatusOr<std::string> (*)(std::string_view body);

template <typename T>
StatusOr<T> Parsed(std::string_view bytes) {
  T message;
  if (bytes.size() > size_t{std::numeric_limits<int>::max()} ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the message is not valid protobuf");
  }
  return message;
}

http::Request BareRequest(std::string_view method, std::string target) {
  return {.method = std::string(method), .target = std::move(target)};
}

// Errors: InvalidArgument (a text that is not UTF-8, which JSON's must be).
StatusOr<http::Request> JsonRequest(std::string_view method, std::string target,
                                    const json::object& body) {
  http::Request request = BareRequest(method, std::move(target));
  request.headers.Add("Content-Type", "application/json");
  request.body = doc::PrintLine(body);
  if (FindInvalidUtf8(request.body)) {
    return InvalidArgument("the message has a text that is not UTF-8");
  }
  return request;
}

template <typename Map>
json::object TextsOf(const Map& map) {
  // Protobuf's maps have no order.
  std::map<std::string, std::string> sorted(map.begin(), map.end());
  return doc::TextMap(sorted);
}

json::object ResourcesOf(const pb::FunctionResources& resources) {
  return {{"Memory", resources.memory()}, {"CPU", resources.cpu()}, {"GPU", resources.gpu()}};
}

StatusOr<http::Request> DeploymentOf(std::string_view method, std::string_view message) {
  ASSIGN_OR_RETURN(const auto given, Parsed<pb::CreateFunctionRequest>(message));
  json::object body{{"Service", given.service()},
                    {"Image", given.image()},
                    {"EnvVars", TextsOf(given.envvars())},
                    {"Labels", TextsOf(given.labels())},
                    {"Annotations", TextsOf(given.annotations())},
                    {"Constraints", doc::Texts(given.constraints())},
                    {"Secrets", doc::Texts(given.secrets())},
                    {"RegistryAuth", given.registryauth()},
                    {"MinReplicas", given.minreplicas()},
                    {"MaxReplicas", given.maxreplicas()}};
  if (given.has_limits()) {
    body["Limits"] = ResourcesOf(given.limits());
  }
  if (given.has_requests()) {
    body["Requests"] = ResourcesOf(given.requests());
  }
  return JsonRequest(method, "/system/functions", body);
}

// Of a path: nothing that would make it another one.
StatusOr<std::string> PathWith(std::string_view folder, const std::string& name) {
  RETURN_IF_ERROR(functions::CheckFunctionName(name));
  return std::string(folder) + name;
}

template <typename T>
StatusOr<http::Request> OfFunction(std::string_view method, std::string_view folder,
                                   std::string_view message) {
  ASSIGN_OR_RETURN(const auto given, Parsed<T>(message));
  ASSIGN_OR_RETURN(std::string target, PathWith(folder, given.functionname()));
  return BareRequest(method, std::move(target));
}

StatusOr<http::Request> ReadInvoke(std::string_view message) {
  ASSIGN_OR_RETURN(auto given, Parsed<pb::InvokeServiceRequest>(message));
  ASSIGN_OR_RETURN(std::string target, PathWith("/function/", given.service()));
  http::Request request = BareRequest("POST", std::move(target));
  request.headers.Add("Content-Type", "application/octet-stream");
  request.body = std::move(*given.mutable_input());
  return request;
}

StatusOr<http::Request> ReadScale(std::string_view message) {
  ASSIGN_OR_RETURN(const auto given, Parsed<pb::ScaleServiceRequest>(message));
  return JsonRequest(
      "PUT", "/system/scale-function",
      {{"ServiceName", given.servicename()}, {"Replicas", std::to_string(given.replicas())}});
}

template <const char* kPath>
StatusOr<http::Request> ReadEmpty(std::string_view message) {
  RETURN_IF_ERROR(Parsed<pb::Empty>(message).status());
  return BareRequest("GET", kPath);
}

Status Unexpected(std::string_view what) {
  return Internal("the function service's answer has no valid {}", what);
}

StatusOr<json::object> ObjectOf(std::string_view body) {
  StatusOr<json::value> value = doc::ParseJson(body, "the answer", {.bytes = kMaxAnswerBytes});
  if (!value.ok() || !value->is_object()) {
    return Unexpected("JSON");
  }
  return std::move(value->get_object());
}

std::string TextAt(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string()
             ? std::string(value->get_string().data(), value->get_string().size())
             : "";
}

uint64_t NumberAt(const json::object& object, const char* key) {
  return ParseUint(TextAt(object, key)).value_or(0);
}

template <typename Map>
void FillTexts(const json::object& object, const char* key, Map& map) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_object()) {
    return;
  }
  for (const auto& [name, text] : value->get_object()) {
    if (text.is_string()) {
      map[std::string(name.data(), name.size())] =
          std::string(text.get_string().data(), text.get_string().size());
    }
  }
}

void FillFunction(const json::object& object, pb::Function& function) {
  function.set_name(TextAt(object, "Name"));
  function.set_image(TextAt(object, "Image"));
  function.set_invocationcount(NumberAt(object, "InvocationCount"));
  function.set_replicas(NumberAt(object, "Replicas"));
  function.set_availablereplicas(NumberAt(object, "AvailableReplicas"));
  FillTexts(object, "Annotations", *function.mutable_annotations());
  FillTexts(object, "Labels", *function.mutable_labels());
}

StatusOr<std::string> WriteOutput(std::string_view body) {
  pb::Message message;
  message.set_msg(body.data(), body.size());
  return message.SerializeAsString();
}

StatusOr<std::string> WriteText(std::string_view body) {
  ASSIGN_OR_RETURN(const json::object object, ObjectOf(body));
  return WriteOutput(TextAt(object, "Msg"));
}

StatusOr<std::string> WriteFunction(std::string_view body) {
  ASSIGN_OR_RETURN(const json::object object, ObjectOf(body));
  pb::Function function;
  FillFunction(object, function);
  return function.SerializeAsString();
}

StatusOr<std::string> WriteFunctions(std::string_view body) {
  ASSIGN_OR_RETURN(const json::object object, ObjectOf(body));
  const json::value* list = object.if_contains("Functions");
  if (list == nullptr || !list->is_array()) {
    return Unexpected("list of functions");
  }
  pb::Functions functions;
  for (const json::value& function : list->get_array()) {
    if (!function.is_object()) {
      return Unexpected("list of functions");
    }
    FillFunction(function.get_object(), *functions.add_functions());
  }
  return functions.SerializeAsString();
}

constexpr char kListPath[] = "/system/functions";
constexpr char kInfoPath[] = "/system/info";
constexpr char kHealthPath[] = "/healthz";
constexpr std::string_view kOneFunction = "/system/function/";

struct FxMethod {
  std::string_view name;
  std::string_view route;  // its id
  Reader read;
  Writer write;
};

constexpr std::array kMethods = std::to_array<FxMethod>({
    {"Invoke", "callByPost", &ReadInvoke, &WriteOutput},
    {"List", "listFunctions", &ReadEmpty<kListPath>, &WriteFunctions},
    {"Deploy", "createFunction",
     [](std::string_view message) { return DeploymentOf("POST", message); }, &WriteText},
    {"Delete", "deleteFunction",
     [](std::string_view message) {
       return OfFunction<pb::DeleteFunctionRequest>("DELETE", kOneFunction, message);
     },
     &WriteText},
    {"Update", "updateFunction",
     [](std::string_view message) { return DeploymentOf("PUT", message); }, &WriteText},
    {"GetMeta", "getFunction",
     [](std::string_view message) {
       return OfFunction<pb::FunctionRequest>("GET", kOneFunction, message);
     },
     &WriteFunction},
    {"GetLog", "getFunctionLog",
     [](std::string_view message) {
       return OfFunction<pb::FunctionRequest>("GET", "/system/function-log/", message);
     },
     &WriteText},
    {"ReplicaUpdate", "scaleFunction", &ReadScale, &WriteText},
    {"Info", "getInfo", &ReadEmpty<kInfoPath>, &WriteText},
    {"HealthCheck", "getHealth", &ReadEmpty<kHealthPath>, &WriteText},
});

// gRPC has the same numbers as absl, and a few HTTP codes that absl's table has no use for.
h2::GrpcCode CodeOfHttp(int code) {
  switch (code) {
    case 405:
      return h2::GrpcCode::kUnimplemented;
    case 408:
      return h2::GrpcCode::kDeadlineExceeded;
    case 413:
    case 431:
    case 507:
      return h2::GrpcCode::kResourceExhausted;
    case 422:
      return static_cast<h2::GrpcCode>(StatusCode::kFailedPrecondition);
    case 500:
      return h2::GrpcCode::kInternal;
    default:
      return static_cast<h2::GrpcCode>(http::StatusOf(code, "").code());
  }
}

// What the service says in its error, or all of the body if that is none.
std::string TextOfError(std::string_view body) {
  const StatusOr<json::object> object = ObjectOf(body);
  std::string text = object.ok() ? TextAt(*object, "message") : "";
  if (text.empty()) {
    text = Trim(body);
  }
  text.resize(std::min(text.size(), kMaxStatusText));
  return text;
}

}  // namespace

StatusOr<http::Request> RestRequest(std::string_view method, std::string_view message) {
  const auto* const found = std::ranges::find(kMethods, method, &FxMethod::name);
  if (found == kMethods.end()) {
    return MakeStatus(StatusCode::kUnimplemented,
                      fmt::format("pb.FxGateway has no method {}", Printable(method, 100)));
  }
  ASSIGN_OR_RETURN(http::Request request, found->read(message));
  RETURN_IF_ERROR(http::SplitTarget(request));
  return request;
}

std::string_view RouteIdOf(std::string_view method) {
  const auto* const found = std::ranges::find(kMethods, method, &FxMethod::name);
  return found == kMethods.end() ? std::string_view() : found->route;
}

StatusOr<std::string> ReplyMessage(std::string_view method, std::string_view body) {
  const auto* const found = std::ranges::find(kMethods, method, &FxMethod::name);
  if (found == kMethods.end()) {
    return Internal("pb.FxGateway has no method {}", Printable(method, 100));
  }
  return found->write(body);
}

GrpcStatus StatusOfAnswer(const http::Response& answer) {
  const std::string_view fault = answer.headers.Find(functions::kFaultHeader).value_or("");
  if (fault == "handler") {
    return {h2::GrpcCode::kUnknown, TextOfError(answer.body)};
  }
  // The handler's own answer has the id of its call, and no fault.
  if (fault.empty() && answer.headers.Find(functions::kCallIdHeader)) {
    return {h2::GrpcCode::kUnknown,
            fmt::format("handler: status {}: {}", answer.code, TextOfError(answer.body))};
  }
  return {CodeOfHttp(answer.code), TextOfError(answer.body)};
}

}  // namespace kgpu::gateway
