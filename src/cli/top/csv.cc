#include "src/cli/top/csv.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::top {
namespace {

template <typename T>
std::string Field(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string PodsOf(const std::vector<User>& users) {
  std::set<std::string> pods;
  for (const User& user : users) {
    pods.insert(user.PodName());
  }
  return fmt::format("{}", fmt::join(pods, " "));
}

std::vector<std::string> GpuFields(const LiveDocument& document, const LiveGpu& gpu) {
  return {document.node,
          document.time,
          fmt::format("{}", gpu.index),
          "",
          gpu.uuid,
          gpu.model,
          "",
          gpu.is_healthy ? "true" : "false",
          gpu.reason,
          gpu.pool,
          Field(gpu.utilization),
          Field(gpu.memory_used),
          Field(gpu.memory_total),
          Field(gpu.temperature),
          Field(gpu.watts),
          Field(gpu.watts_limit),
          Field(gpu.sm_clock),
          Field(gpu.memory_clock),
          Join(gpu.throttled, " "),
          gpu.lent_to,
          PodsOf(gpu.users)};
}

std::vector<std::string> MigFields(const LiveDocument& document, const LiveGpu& gpu,
                                   const MigDevice& mig) {
  std::vector<std::string> fields = {document.node,
                                     document.time,
                                     fmt::format("{}", gpu.index),
                                     fmt::format("{}", mig.index),
                                     mig.uuid,
                                     gpu.model,
                                     mig.profile,
                                     mig.is_healthy ? "true" : "false",
                                     mig.reason,
                                     mig.pool,
                                     "",
                                     Field(mig.memory_used),
                                     Field(mig.memory_total)};
  // The others are of the whole GPU.
  fields.resize(fields.size() + 7);
  fields.push_back(PodsOf(mig.users));
  return fields;
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    line += &field == &fields.front() ? "" : ",";
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char character : field) {
      line += character == '"' ? "\"\"" : std::string(1, character);
    }
    line += '"';
  }
  return line + "\n";
}

std::string NodeCsv(const LiveDocument& document) {
  std::string text = CsvLine({"node",
                              "time",
                              "gpu",
                              "mig",
                              "uuid",
                              "model",
                              "profile",
                              "healthy",
                              "reason",
                              "pool",
                              "utilization_percent",
                              "memory_used_bytes",
                              "memory_total_bytes",
                              "temperature_celsius",
                              "power_watts",
                              "power_limit_watts",
                              "sm_clock_mhz",
                              "memory_clock_mhz",
                              "throttled",
                              "lent_to",
                              "pods"});
  for (const LiveGpu& gpu : document.gpus) {
    text += CsvLine(GpuFields(document, gpu));
    for (const MigDevice& mig : gpu.mig) {
      text += CsvLine(MigFields(document, gpu, mig));
    }
  }
  return text;
}

}  // namespace kgpu::top
