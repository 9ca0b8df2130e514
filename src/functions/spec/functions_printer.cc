// FunctionsFileTree and PrintFunctionsFile of functions_file.h.
#include <boost/json.hpp>

#include <string_view>
#include <utility>

#include "src/functions/spec/checks.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/trees.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

void AddText(std::string_view key, const std::string& text, json::object& out) {
  if (!text.empty()) {
    out[doc::View(key)] = text;
  }
}

template <typename Texts>
void AddTexts(std::string_view key, const Texts& texts, json::value tree, json::object& out) {
  if (!texts.empty()) {
    out[doc::View(key)] = std::move(tree);
  }
}

std::string_view ScalerText(ScaledBy by) {
  switch (by) {
    case ScaledBy::kHpa:
      return "hpa";
    case ScaledBy::kKeda:
      return "keda";
    case ScaledBy::kKgpu:
      break;
  }
  return "kgpu";
}

json::object ResourcesTree(const Resources& resources) {
  json::object tree;
  if (resources.memory) {
    tree["memory"] = MemoryText(*resources.memory);
  }
  if (resources.cpu_millis) {
    tree["cpu"] = FormatCpuMillis(*resources.cpu_millis);
  }
  return tree;
}

// A plain count where it says all.
json::value LimitGpuTree(const GpuRequest& gpu) {
  return gpu.models.empty() && !gpu.memory ? json::value(gpu.count) : json::value(GpuTree(gpu));
}

json::object HandlerTree(const Handler& handler) {
  json::object tree{{"dir", handler.dir}};
  AddText("file", handler.file, tree);
  tree["name"] = handler.name;
  return tree;
}

json::array BuildArgsTree(const Function& function) {
  json::array args;
  for (const auto& [name, value] : function.build_args) {
    args.emplace_back(doc::View(fmt::format("{}={}", name, value)));
  }
  return args;
}

json::object FunctionTree(const Function& function) {
  json::object tree;
  AddText("runtime", function.runtime, tree);
  AddText("desc", function.description, tree);
  AddText("maintainer", function.maintainer, tree);
  tree["handler"] = HandlerTree(function.handler);
  AddText("docker_registry", function.docker_registry, tree);
  AddText("image", function.image, tree);
  AddText("baseImage", function.base_image, tree);
  AddTexts("environment", function.environment, doc::TextMap(function.environment), tree);
  AddTexts("environment_file", function.environment_files, doc::Texts(function.environment_files),
           tree);
  AddTexts("secrets", function.secrets, doc::Texts(function.secrets), tree);
  AddTexts("constraints", function.constraints, doc::Texts(function.constraints), tree);
  AddText("registry_auth", function.registry_auth, tree);
  AddTexts("labels", function.labels, doc::TextMap(function.labels), tree);
  AddTexts("annotations", function.annotations, doc::TextMap(function.annotations), tree);
  json::object limits = ResourcesTree(function.limits);
  limits["gpu"] = LimitGpuTree(function.gpu);
  tree["limits"] = std::move(limits);
  json::object requests = ResourcesTree(function.requests);
  AddTexts("requests", requests, requests, tree);
  AddTexts("build_options", function.build_options, doc::Texts(function.build_options), tree);
  AddTexts("build_args", function.build_args, BuildArgsTree(function), tree);
  tree["replicas"] = ReplicasTree(function.scaling);
  AddOwnFields(function, tree);
  return tree;
}

}  // namespace

std::string MemoryText(int64_t bytes) {
  return FormatQuantity(Bytes{static_cast<uint64_t>(bytes)});
}

json::object GpuTree(const GpuRequest& gpu) {
  json::object tree{{"count", gpu.count}};
  if (!gpu.models.empty()) {
    tree["model"] = doc::Texts(gpu.models);
  }
  if (gpu.memory) {
    tree["memory"] = MemoryText(*gpu.memory);
  }
  return tree;
}

json::object ReplicasTree(const Scaling& scaling) {
  return {{"min", scaling.min_replicas}, {"max", scaling.max_replicas}};
}

void AddOwnFields(const Function& function, json::object& out) {
  const Calls& calls = function.calls;
  out["concurrency"] = calls.concurrency;
  out["processes"] = calls.processes;
  out["timeout"] = FormatDuration(calls.timeout);
  if (calls.max_input) {
    out["maxInput"] = MemoryText(*calls.max_input);
  }
  if (calls.max_output) {
    out["maxOutput"] = MemoryText(*calls.max_output);
  }
  out["idle"] = FormatDuration(function.scaling.idle);
  out["scaling"] = {{"by", doc::View(ScalerText(function.scaling.by))}};
  out["async"] = calls.is_async;
  out["retries"] = calls.retries;
  out["pids"] = function.pids;
  out["readOnlyRoot"] = function.has_read_only_root;
  out["network"] = function.network == NetworkAccess::kNone ? "none" : "default";
}

json::value FunctionsFileTree(const FunctionsFile& file) {
  json::object functions;
  for (const Function& function : file.functions) {
    functions[function.name] = FunctionTree(function);
  }
  json::object tree{{"functions", std::move(functions)}};
  if (!file.gateway.empty()) {
    tree["openfx"] = {{"gateway", file.gateway}};
  }
  return tree;
}

std::string PrintFunctionsFile(const FunctionsFile& file, doc::Format format) {
  return doc::Print(FunctionsFileTree(file), format);
}

}  // namespace kgpu::functions
