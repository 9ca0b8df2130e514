// What the author of a function asks for: one entry of config.yaml, validated. All defaults of
// functions are here. docs/reference/functions-file.md describes every field.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::functions {

// Where the sources are and what is called in them. `dir` is relative to the folder of config.yaml.
struct Handler {
  std::string dir = "./src";
  std::string file{};
  std::string name = "Handler";
  bool operator==(const Handler&) const = default;
};

// Host memory in bytes and CPU in thousandths of a core; nothing: not limited, not requested.
struct Resources {
  std::optional<int64_t> memory{};
  std::optional<int64_t> cpu_millis{};
  bool operator==(const Resources&) const = default;
};

// The GPUs of one replica.
struct GpuRequest {
  int64_t count = 0;
  std::vector<std::string> models{};  // canonical ids, the first is preferred; empty: any
  std::optional<int64_t> memory{};    // bytes of each GPU; nothing: the whole GPU
  bool operator==(const GpuRequest&) const = default;
};

// Who changes the number of replicas on a cluster: the gateway, a HorizontalPodAutoscaler, or KEDA.
enum class ScaledBy : uint8_t { kKgpu, kHpa, kKeda };

struct Scaling {
  int64_t min_replicas = 1;  // 0: no replica while there are no calls
  int64_t max_replicas = 1;
  // Without a call for so long, replicas above min_replicas are stopped.
  std::chrono::milliseconds idle{300'000};
  ScaledBy by = ScaledBy::kKgpu;
  bool operator==(const Scaling&) const = default;
};

struct Calls {
  int64_t concurrency = 1;  // calls at a time in one replica; more wait, then get 429
  int64_t processes = 1;    // handler processes of a replica, which share the calls
  std::chrono::milliseconds timeout{60'000};
  // Bytes of a call's input and output; nothing: 16 MiB and 64 MiB.
  std::optional<int64_t> max_input{};
  std::optional<int64_t> max_output{};
  bool is_async = false;  // callers get 202 at once
  int64_t retries = 0;    // of an asynchronous call
  bool operator==(const Calls&) const = default;
};

enum class NetworkAccess : uint8_t { kDefault, kNone };

struct Function {
  std::string name{};
  std::string runtime{};
  std::string description{};  // `desc`
  std::string maintainer{};
  Handler handler{};
  std::string docker_registry{};
  std::string image{};       // empty: localhost/kgpu-fn/<name>
  std::string base_image{};  // to build from; empty: built from Debian's packages
  std::map<std::string, std::string> environment{};
  std::vector<std::string> environment_files{};  // relative to the folder of config.yaml
  std::vector<std::string> secrets{};
  std::vector<std::string> constraints{};  // "key=value"
  std::string registry_auth{};
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  Resources limits{};
  Resources requests{};
  GpuRequest gpu{};
  std::vector<std::string> build_options{};
  std::map<std::string, std::string> build_args{};
  Scaling scaling{};
  Calls calls{};
  int64_t pids = 512;
  bool has_read_only_root = false;
  NetworkAccess network = NetworkAccess::kDefault;
  bool operator==(const Function&) const = default;
};

// A config.yaml.
struct FunctionsFile {
  std::vector<Function> functions{};  // by name
  std::string gateway{};              // "host:port"; empty: the functions of this machine
  bool operator==(const FunctionsFile&) const = default;
};

}  // namespace kgpu::functions
