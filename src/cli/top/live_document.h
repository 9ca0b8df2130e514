// The agent's answer to GET /v1/live as values: what its GPUs do now, and who uses them.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::top {

struct Process {
  uint64_t pid = 0;
  std::string name{};
  std::optional<uint64_t> memory{};  // bytes
  std::optional<double> sm{};        // percent
};

// A container with a device, or with shares of one.
struct User {
  std::string space{};
  std::string pod{};
  std::string container{};
  std::string claim{};  // of DRA; empty: by a counted resource
  uint64_t slots = 1;
  std::optional<uint64_t> used{};  // bytes
  std::optional<uint64_t> limit{};
  std::optional<uint64_t> peak{};
  std::optional<double> sm{};  // percent
  std::vector<Process> processes{};

  std::string PodName() const { return space + "/" + pod; }
};

struct MigDevice {
  std::string uuid{};
  uint64_t index = 0;
  std::string profile{};
  std::optional<uint64_t> gpu_instance{};
  std::optional<uint64_t> memory_total{};
  std::optional<uint64_t> memory_used{};
  bool is_healthy = true;
  std::string reason{};
  std::string message{};
  std::string pool{};
  std::vector<User> users{};
};

struct NvLink {
  uint64_t peer = 0;
  uint64_t links = 0;
};

struct History {
  uint64_t step_seconds = 0;
  std::vector<std::optional<double>> utilization{};  // percent, oldest first
  std::vector<std::optional<double>> memory{};
};

// Figures that the driver does not report are empty.
struct LiveGpu {
  uint64_t index = 0;
  std::string uuid{};
  std::string model{};
  std::string pci{};
  std::optional<int64_t> numa_node{};
  bool is_healthy = true;
  std::string reason{};
  std::string message{};
  std::vector<std::string> warnings{};
  std::optional<double> utilization{};  // percent
  std::optional<double> memory_utilization{};
  std::optional<double> encoder{};
  std::optional<double> decoder{};
  std::optional<uint64_t> memory_total{};  // bytes
  std::optional<uint64_t> memory_used{};
  std::optional<double> temperature{};  // Celsius
  std::optional<double> memory_temperature{};
  std::optional<double> slowdown_temperature{};
  std::optional<double> watts{};
  std::optional<double> watts_limit{};
  std::optional<uint64_t> sm_clock{};  // MHz
  std::optional<uint64_t> memory_clock{};
  std::optional<uint64_t> max_sm_clock{};
  std::vector<std::string> throttled{};
  std::string pool{};
  std::string lent_to{};  // "fn/hello/4f1c"; empty: not lent
  std::vector<NvLink> nvlinks{};
  std::vector<MigDevice> mig{};
  std::vector<User> users{};
  std::vector<Process> processes{};  // outside of any pod
  History history{};
};

struct PoolUse {
  std::string name{};
  uint64_t total = 0;
  uint64_t used = 0;
  uint64_t unhealthy = 0;
};

struct LiveDocument {
  std::string node{};
  std::string time{};
  std::string agent{};     // its version
  std::string measured{};  // empty: not yet
  double every_seconds = 0;
  bool is_ready = false;
  std::string problem{};
  std::string driver_state{};
  std::string driver_version{};
  std::string cuda_version{};
  std::string driver_reason{};
  std::vector<LiveGpu> gpus{};
  std::vector<PoolUse> pools{};
};

// Larger answers are refused: sixteen GPUs with an hour of history are a tenth of it.
inline constexpr size_t kMaxLiveDocument = size_t{4} << 20;

// Fields that it does not know are skipped, since an agent may be newer. Errors: InvalidArgument
// naming the field: it is missing, or of another kind; the text is no JSON or too large.
StatusOr<LiveDocument> ReadLiveDocument(std::string_view text);
// The same, of a text that is parsed.
StatusOr<LiveDocument> LiveDocumentOf(const boost::json::value& document);
// The text as a tree. Errors: as above.
StatusOr<boost::json::value> ParseLiveDocument(std::string_view text);

}  // namespace kgpu::top
