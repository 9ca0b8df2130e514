#include "src/functions/spec/function_check.h"

#include <string_view>
#include <utility>

#include "src/functions/spec/checks.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

// Collects what is wrong with a Function that nobody read from a file.
class FunctionChecker {
 public:
  std::vector<std::string> Check(const Function& function) {
    Note("name", CheckFunctionName(function.name));
    CheckTexts(function);
    CheckLists(function);
    CheckMaps(function);
    CheckNumbers(function);
    return std::move(problems_);
  }

 private:
  using CheckOne = Status (*)(std::string_view text);

  void Note(std::string_view field, const Status& status) {
    if (!status.ok()) {
      problems_.push_back(fmt::format("{}: {}", field, Message(status)));
    }
  }
  void Optional(std::string_view field, std::string_view text, CheckOne check) {
    if (!text.empty()) {
      Note(field, check(text));
    }
  }
  void Each(std::string_view field, const std::vector<std::string>& texts, CheckOne check) {
    Size(field, texts.size());
    for (const std::string& text : texts) {
      Note(field, check(text));
    }
  }
  void Each(std::string_view field, const std::map<std::string, std::string>& texts,
            CheckOne check_key, CheckOne check_value) {
    Size(field, texts.size());
    for (const auto& [key, value] : texts) {
      Note(field, check_key(key));
      Note(fmt::format("{}.{}", field, Printable(key, 60)), check_value(value));
    }
  }
  void Size(std::string_view field, size_t size) {
    if (size > kMaxEntries) {
      problems_.push_back(
          fmt::format("{}: {} entries exceed the limit of {}", field, size, kMaxEntries));
    }
  }
  void Number(std::string_view field, int64_t number, Range range) {
    if (number < range.low || number > range.high) {
      problems_.push_back(fmt::format("{}: {} must be an integer from {} to {}", field, number,
                                      range.low, range.high));
    }
  }
  void Number(std::string_view field, std::optional<int64_t> number, Range range) {
    if (number) {
      Number(field, *number, range);
    }
  }

  void CheckTexts(const Function& function) {
    Optional("runtime", function.runtime, &CheckRuntimeName);
    Optional("desc", function.description, &CheckText);
    Optional("maintainer", function.maintainer, &CheckText);
    Note("handler.dir", CheckHandlerDir(function.handler.dir));
    Optional("handler.file", function.handler.file, &CheckHandlerFile);
    Note("handler.name", CheckHandlerName(function.handler.name));
    Optional("docker_registry", function.docker_registry, &CheckRegistry);
    Optional("image", function.image, &CheckImage);
    Optional("baseImage", function.base_image, &CheckImage);
    Optional("registry_auth", function.registry_auth, &CheckRegistryAuth);
  }
  void CheckLists(const Function& function) {
    Each("environment_file", function.environment_files, &CheckPath);
    Each("secrets", function.secrets, &CheckSecretName);
    Each("constraints", function.constraints, &CheckConstraint);
    Each("build_options", function.build_options, &CheckPackage);
    Each("limits.gpu.model", function.gpu.models, &CheckModel);
  }
  void CheckMaps(const Function& function) {
    Each("environment", function.environment, &CheckVariableName, &CheckText);
    Each("labels", function.labels, &CheckLabelKey, &CheckLabelValue);
    Each("annotations", function.annotations, &CheckLabelKey, &CheckText);
    Each("build_args", function.build_args, &CheckBuildArgName, &CheckText);
  }
  void CheckNumbers(const Function& function) {
    Number("limits.memory", function.limits.memory, kMemoryRange);
    Number("limits.cpu", function.limits.cpu_millis, kCpuMillisRange);
    Number("requests.memory", function.requests.memory, kMemoryRange);
    Number("requests.cpu", function.requests.cpu_millis, kCpuMillisRange);
    Number("limits.gpu.count", function.gpu.count, kGpuRange);
    Number("limits.gpu.memory", function.gpu.memory, kMemoryRange);
    Number("replicas.min", function.scaling.min_replicas, kMinReplicasRange);
    Number("replicas.max", function.scaling.max_replicas, kMaxReplicasRange);
    Number("idle", function.scaling.idle.count(), kIdleMillisRange);
    Number("concurrency", function.calls.concurrency, kConcurrencyRange);
    Number("processes", function.calls.processes, kProcessesRange);
    Number("timeout", function.calls.timeout.count(), kTimeoutMillisRange);
    Number("maxInput", function.calls.max_input, kInputRange);
    Number("maxOutput", function.calls.max_output, kOutputRange);
    Number("retries", function.calls.retries, kRetriesRange);
    Number("pids", function.pids, kPidsRange);
  }

  std::vector<std::string> problems_;
};

void AddGpuConflicts(const GpuRequest& gpu, std::vector<std::string>& conflicts) {
  if (gpu.count == 0 && (!gpu.models.empty() || gpu.memory)) {
    conflicts.emplace_back(
        "limits.gpu: count is 0, but a model or memory is set: set count, or remove them");
  }
}

void AddResourceConflicts(const Function& function, std::vector<std::string>& conflicts) {
  const Resources& limits = function.limits;
  const Resources& requests = function.requests;
  if (limits.memory && requests.memory && *requests.memory > *limits.memory) {
    conflicts.push_back(fmt::format("requests.memory: {} must be at most limits.memory, {}",
                                    FormatQuantity(Bytes{static_cast<uint64_t>(*requests.memory)}),
                                    FormatQuantity(Bytes{static_cast<uint64_t>(*limits.memory)})));
  }
  if (limits.cpu_millis && requests.cpu_millis && *requests.cpu_millis > *limits.cpu_millis) {
    conflicts.push_back(fmt::format("requests.cpu: {} must be at most limits.cpu, {}",
                                    FormatCpuMillis(*requests.cpu_millis),
                                    FormatCpuMillis(*limits.cpu_millis)));
  }
}

void AddCallConflicts(const Function& function, std::vector<std::string>& conflicts) {
  const Calls& calls = function.calls;
  const Scaling& scaling = function.scaling;
  if (scaling.min_replicas > scaling.max_replicas) {
    conflicts.push_back(fmt::format("replicas.min: {} must be at most replicas.max, {}",
                                    scaling.min_replicas, scaling.max_replicas));
  }
  if (calls.processes > calls.concurrency) {
    conflicts.push_back(
        fmt::format("processes: {} must be at most concurrency, {}: the others would have no calls",
                    calls.processes, calls.concurrency));
  }
}

// A HorizontalPodAutoscaler divides what pods use by what they have requested, and cannot tell
// anything about a function that has no pods.
void AddScalerConflicts(const Function& function, std::vector<std::string>& conflicts) {
  if (function.scaling.by != ScaledBy::kHpa) {
    return;
  }
  if (function.scaling.min_replicas < 1) {
    conflicts.emplace_back(
        "scaling.by: hpa needs replicas.min of at least 1, since it cannot start a first replica: "
        "set replicas.min, or scaling.by to kgpu or keda");
  }
  if (!function.requests.cpu_millis && !function.limits.cpu_millis) {
    conflicts.emplace_back(
        "scaling.by: hpa needs requests.cpu or limits.cpu, since it compares what is used with "
        "it: set one of them, or scaling.by to kgpu or keda");
  }
}

}  // namespace

std::vector<std::string> ConflictsIn(const Function& function) {
  std::vector<std::string> conflicts;
  if (function.runtime.empty() && function.image.empty()) {
    conflicts.emplace_back(
        "runtime: missing: set it, `kgpu fn runtime list` shows them; or set image to one that "
        "exists");
  }
  AddGpuConflicts(function.gpu, conflicts);
  AddResourceConflicts(function, conflicts);
  AddCallConflicts(function, conflicts);
  AddScalerConflicts(function, conflicts);
  for (const std::string_view key : {"desc", "maintainer"}) {
    if (function.annotations.contains(std::string(key))) {
      conflicts.push_back(fmt::format("annotations.{0}: set {0} instead", key));
    }
  }
  size_t bytes = 0;
  for (const auto& [name, value] : function.environment) {
    bytes += name.size() + value.size() + 2;
  }
  if (bytes > kMaxEnvironmentBytes) {
    conflicts.push_back(fmt::format("environment: {} bytes exceed the limit of {}: pass a file",
                                    bytes, kMaxEnvironmentBytes));
  }
  return conflicts;
}

Status CheckFunction(const Function& function) {
  const std::vector<std::string> problems =
      Concat(FunctionChecker().Check(function), ConflictsIn(function));
  if (problems.empty()) {
    return OkStatus();
  }
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const std::string& problem : problems) {
    lines.push_back(fmt::format("function {}: {}", Printable(function.name, 80), problem));
  }
  return InvalidArgument("{}", Join(lines, "\n"));
}

}  // namespace kgpu::functions
