#include "src/functions/gateway/openapi.h"

#include <boost/json.hpp>

#include <string>

#include "src/functions/gateway/routes.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::gateway {
namespace {

using boost::json::array;
using boost::json::object;

constexpr std::string_view kPathParameter = "{Path}";

object Text() {
  return {{"type", "string"}};
}

// As protobuf's JSON has it: a quoted decimal.
object BigNumber() {
  return {{"type", "string"}, {"format", "uint64"}};
}

object Number() {
  return {{"type", "integer"}, {"format", "int32"}};
}

object ListOf(object items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

object MapOf(object values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

object Reference(std::string_view name) {
  return {{"$ref", "#/components/schemas/" + std::string(name)}};
}

object Fields(object properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

object Schemas() {
  const object own{{"type", "object"},
                   {"description", "What OpenFx lacks; the reference of functions lists it"}};
  return {{"Object", object{{"type", "object"}}},
          {"Message", Fields({{"Msg", Text()}, {"Notes", ListOf(Text())}})},
          {"Error", Fields({{"code", object{{"type", "integer"}, {"description", "gRPC's number"}}},
                            {"message", Text()},
                            {"details", ListOf(object{{"type", "object"}})}})},
          {"Resources", Fields({{"Memory", Text()}, {"CPU", Text()}, {"GPU", Text()}})},
          {"Function", Fields({{"Name", Text()},
                               {"Image", Text()},
                               {"InvocationCount", BigNumber()},
                               {"Replicas", BigNumber()},
                               {"AvailableReplicas", BigNumber()},
                               {"Annotations", MapOf(Text())},
                               {"Labels", MapOf(Text())},
                               {"Kgpu", own}})},
          {"Functions", Fields({{"Functions", ListOf(Reference("Function"))}})},
          {"CreateFunctionRequest", Fields({{"Service", Text()},
                                            {"Image", Text()},
                                            {"EnvVars", MapOf(Text())},
                                            {"Labels", MapOf(Text())},
                                            {"Annotations", MapOf(Text())},
                                            {"Constraints", ListOf(Text())},
                                            {"Secrets", ListOf(Text())},
                                            {"RegistryAuth", Text()},
                                            {"Limits", Reference("Resources")},
                                            {"Requests", Reference("Resources")},
                                            {"MinReplicas", Number()},
                                            {"MaxReplicas", Number()},
                                            {"Kgpu", own}})},
          {"ScaleServiceRequest", Fields({{"ServiceName", Text()}, {"Replicas", BigNumber()}})}};
}

// A body of the schema, "*" for any bytes.
object Content(std::string_view schema) {
  if (schema == "*") {
    return {{"application/octet-stream",
             object{{"schema", object{{"type", "string"}, {"format", "binary"}}}}}};
  }
  return {{"application/json", object{{"schema", Reference(schema)}}}};
}

array Parameters(const Route& route) {
  array parameters;
  for (const std::string_view name : {std::string_view("FunctionName"), std::string_view("Path")}) {
    if (route.path.find("{" + std::string(name) + "}") != std::string_view::npos) {
      parameters.push_back(object{
          {"name", doc::View(name)}, {"in", "path"}, {"required", true}, {"schema", Text()}});
    }
  }
  if (route.answerer == Answerer::kService) {
    parameters.push_back(object{{"name", "X-Deadline-Ms"},
                                {"in", "header"},
                                {"description", "How long the caller waits"},
                                {"schema", Number()}});
  }
  return parameters;
}

object Responses(const Route& route) {
  object responses;
  if (route.answerer == Answerer::kRedirect) {
    responses["308"] = object{{"description", "The document's address"}};
    return responses;
  }
  const bool is_queued = route.id.starts_with("queueBy");
  object good{{"description", is_queued ? "Queued" : "OK"}};
  if (!route.response.empty()) {
    good["content"] = Content(route.response);
  }
  responses[is_queued ? "202" : "200"] = std::move(good);
  responses["default"] = object{{"description",
                                 "An error, with the status code that says what "
                                 "to do about it"},
                                {"content", Content("Error")}};
  return responses;
}

object Operation(const Route& route, bool needs_tokens) {
  object operation{{"operationId", doc::View(route.id)},
                   {"summary", doc::View(route.summary)},
                   {"parameters", Parameters(route)},
                   {"responses", Responses(route)}};
  if (!route.request.empty()) {
    operation["requestBody"] = object{{"content", Content(route.request)}};
  }
  if (needs_tokens && route.role != Role::kNone) {
    operation["security"] = array{object{{"token", array()}}};
    operation["x-kgpu-role"] = doc::View(NameOf(route.role));
  }
  return operation;
}

// OpenAPI has no parameter that contains slashes: "{Path}" is written as the next segment.
std::string DocumentPath(std::string_view path) {
  std::string text(path);
  if (text.ends_with(kPathParameter)) {
    text.insert(text.size() - kPathParameter.size(), "/");
  }
  return text;
}

std::string MethodKey(std::string_view method) {
  std::string key;
  for (const char c : method) {
    key += static_cast<char>(c | 0x20);
  }
  return key;
}

}  // namespace

object OpenApiDocument(std::string_view version, bool needs_tokens) {
  object paths;
  for (const Route& route : Routes()) {
    boost::json::value& path = paths[DocumentPath(route.path)];
    if (path.is_null()) {
      path.emplace_object();
    }
    path.get_object()[MethodKey(route.method)] = Operation(route, needs_tokens);
  }
  object components{{"schemas", Schemas()}};
  if (needs_tokens) {
    components["securitySchemes"] =
        object{{"token", object{{"type", "http"}, {"scheme", "bearer"}}}};
  }
  return {{"openapi", "3.0.3"},
          {"info", object{{"title", "kgpu function gateway"}, {"version", doc::View(version)}}},
          {"paths", std::move(paths)},
          {"components", std::move(components)}};
}

}  // namespace kgpu::gateway
