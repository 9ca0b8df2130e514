// The rules of a function's values, the same for config.yaml, requests and flags. Pure functions;
// errors are InvalidArgument with the value and the fix, but without the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::functions {

struct Range {
  int64_t low;
  int64_t high;
};
inline constexpr Range kGpuRange{0, 64};
inline constexpr Range kMinReplicasRange{0, 1'000};
inline constexpr Range kMaxReplicasRange{1, 1'000};
inline constexpr Range kConcurrencyRange{1, 1'000};
inline constexpr Range kProcessesRange{1, 256};
inline constexpr Range kRetriesRange{0, 100};
inline constexpr Range kPidsRange{16, 1'000'000};
inline constexpr Range kMemoryRange{1, int64_t{1} << 50};
// The gateway and the service take no larger inputs; an output is in the watchdog's memory.
inline constexpr Range kInputRange{1, int64_t{16} << 20};
inline constexpr Range kOutputRange{1, int64_t{1} << 30};
inline constexpr Range kCpuMillisRange{1, 10'000'000};
inline constexpr Range kTimeoutMillisRange{1, 86'400'000};
inline constexpr Range kIdleMillisRange{1'000, 86'400'000};

// Of a list or a map.
inline constexpr size_t kMaxEntries = 256;
// Of names and values of the environment together: a process gets little more.
inline constexpr size_t kMaxEnvironmentBytes = size_t{256} << 10;
inline constexpr size_t kMaxTextBytes = size_t{64} << 10;

// "hello-2": a DNS label. Source: RFC 1123.
Status CheckFunctionName(std::string_view name);
// A runtime's name or alias.
Status CheckRuntimeName(std::string_view name);
// "./src": relative, and below the folder of config.yaml.
Status CheckHandlerDir(std::string_view path);
Status CheckHandlerFile(std::string_view name);
// "Handler", "FxWatcher.Handler".
Status CheckHandlerName(std::string_view name);
// "registry:5000/team/hello:1.2", also with a digest.
Status CheckImage(std::string_view image);
// "registry:5000/team": an image's name without its last part.
Status CheckRegistry(std::string_view registry);
// As Kubernetes accepts it, without names that would change which GPUs a container gets.
Status CheckVariableName(std::string_view name);
Status CheckSecretName(std::string_view name);
// "key=value", both as labels have them.
Status CheckConstraint(std::string_view text);
Status CheckLabelKey(std::string_view key);
Status CheckLabelValue(std::string_view value);
// A Debian package, with a version or without: "libpng-dev", "jq=1.6-2.1".
Status CheckPackage(std::string_view package);
Status CheckBuildArgName(std::string_view name);
// "host:port", with or without http:// or https://.
Status CheckGateway(std::string_view gateway);
// A canonical model id, exactly: "A100-SXM4-80GB".
Status CheckModel(std::string_view model);
Status CheckPath(std::string_view path);
// Any text without NUL, up to kMaxTextBytes.
Status CheckText(std::string_view text);
// "user:password" in base64. The error never quotes it.
Status CheckRegistryAuth(std::string_view auth);

// "50m", "0.5", "2" cores, in thousandths. Errors: InvalidArgument.
StatusOr<int64_t> ParseCpuMillis(std::string_view text);
std::string FormatCpuMillis(int64_t millis);
// A quantity of Kubernetes' in bytes: "50Mi". Errors: InvalidArgument.
StatusOr<int64_t> ParseMemoryBytes(std::string_view text);

}  // namespace kgpu::functions
