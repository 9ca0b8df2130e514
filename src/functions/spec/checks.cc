#include "src/functions/spec/checks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/runtimes/runtimes.h"
#include "src/host/features/label_text.h"
#include "src/node/config/selector_text.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/base64.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr size_t kNameLimit = 63;
constexpr size_t kImageLimit = 400;
constexpr size_t kWordLimit = 253;
constexpr size_t kPathLimit = 1'000;

// Whoever sets these would change what a container sees of the GPUs, or how its calls are served.
constexpr std::array<std::string_view, 5> kReservedVariables = {
    "HANDLER_DIR", "HANDLER_FILE", "HANDLER_NAME", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES"};
constexpr std::string_view kReservedPrefix = "KGPU_FN_";

bool IsLowerOrDigit(char c) {
  return IsLower(c) || IsDigit(c);
}

bool IsControl(char c) {
  constexpr unsigned char kDelete = 0x7f;
  return static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) == kDelete;
}

bool HasOnly(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return IsAlphanumeric(c) || others.find(c) != std::string_view::npos; });
}

// Begins and ends with a lower-case letter or a digit.
bool IsLowerName(std::string_view text, std::string_view others, size_t limit) {
  return !text.empty() && text.size() <= limit && IsLowerOrDigit(text.front()) &&
         IsLowerOrDigit(text.back()) && std::ranges::all_of(text, [&](char c) {
           return IsLowerOrDigit(c) || others.find(c) != std::string_view::npos;
         });
}

Status Refuse(std::string_view text, std::string_view rule) {
  return InvalidArgument("\"{}\" must be {}", Printable(text, 80), rule);
}

// A registry's or a gateway's address: a name or an IP address, and a port.
bool IsHostPort(std::string_view text, bool needs_port) {
  const size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && !text.ends_with(']');
  const auto port = has_port ? ParseUint(text.substr(colon + 1)) : std::optional<uint64_t>(1);
  const std::string_view host = has_port ? text.substr(0, colon) : text;
  return (has_port || !needs_port) && port && *port > 0 && *port <= 65'535 &&
         host.size() <= kWordLimit && HasOnly(host, ".-[]:");
}

// Whether `text` names an image before its tag and digest: "registry:5000/team/hello".
bool IsRepository(std::string_view text) {
  const auto parts = Split(text, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_host = i == 0 && parts.size() > 1;
    const bool is_legal =
        is_host ? !parts[i].empty() && parts[i].front() != ':' && IsHostPort(parts[i], false)
                : IsLowerName(parts[i], "._-", kWordLimit);
    if (!is_legal) {
      return false;
    }
  }
  return true;
}

bool IsTag(std::string_view text) {
  return !text.empty() && text.size() <= 128 && text.front() != '.' && text.front() != '-' &&
         HasOnly(text, "._-");
}

bool IsDigest(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  return text.starts_with(kAlgorithm) && text.size() == kAlgorithm.size() + 64 &&
         std::ranges::all_of(text.substr(kAlgorithm.size()),
                             [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

bool IsImage(std::string_view image) {
  if (const size_t at = image.find('@'); at != std::string_view::npos) {
    if (!IsDigest(image.substr(at + 1))) {
      return false;
    }
    image = image.substr(0, at);
  }
  const size_t colon = image.rfind(':');
  if (colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos) {
    if (!IsTag(image.substr(colon + 1))) {
      return false;
    }
    image = image.substr(0, colon);
  }
  return IsRepository(image);
}

}  // namespace

Status CheckFunctionName(std::string_view name) {
  return IsLowerName(name, "-", kNameLimit)
             ? OkStatus()
             : Refuse(name,
                      "a function's name: at most 63 lower-case letters, digits and dashes, with a "
                      "letter or digit at both ends");
}

Status CheckRuntimeName(std::string_view name) {
  if (FindRuntime(name) != nullptr) {
    return OkStatus();
  }
  std::vector<std::string_view> names;
  for (const Runtime& runtime : Runtimes()) {
    names.push_back(runtime.name);
  }
  std::vector<std::string_view> all = names;
  for (const Runtime& runtime : Runtimes()) {
    all.push_back(runtime.alias);
  }
  const auto nearest = Nearest(name, all);
  return InvalidArgument("\"{}\" must be one of {}{}", Printable(name, 40), fmt::join(names, ", "),
                         nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
}

Status CheckHandlerDir(std::string_view path) {
  const auto parts = Split(path, '/');
  const bool is_below = !path.empty() && path.front() != '/' &&
                        std::ranges::find(parts, std::string_view("..")) == parts.end();
  return is_below && path.size() <= kPathLimit && CheckText(path).ok()
             ? OkStatus()
             : Refuse(path, "a folder below this file's own, without \"..\": ./src");
}

Status CheckHandlerFile(std::string_view name) {
  return !name.empty() && name.size() <= kWordLimit && name.front() != '.' && HasOnly(name, "._-")
             ? OkStatus()
             : Refuse(name, "the name of a file in handler.dir: handler.py");
}

Status CheckHandlerName(std::string_view name) {
  return !name.empty() && name.size() <= kWordLimit && !IsDigit(name.front()) &&
                 HasOnly(name, "_.:")
             ? OkStatus()
             : Refuse(name, "the name of a function in handler.file: Handler");
}

Status CheckImage(std::string_view image) {
  return image.size() <= kImageLimit && IsImage(image)
             ? OkStatus()
             : Refuse(image, "an image in lower case: registry:5000/team/hello:1.2");
}

Status CheckRegistry(std::string_view registry) {
  // As the beginning of an image's name.
  return CheckImage(fmt::format("{}/x", registry)).ok()
             ? OkStatus()
             : Refuse(registry, "a registry: localhost:5000, registry.example.com/team");
}

Status CheckVariableName(std::string_view name) {
  if (name.empty() || name.size() > kWordLimit || IsDigit(name.front()) || !HasOnly(name, "_.-")) {
    return Refuse(
        name,
        "the name of a variable: letters, digits, \"_\", \"-\" and \".\"; the first is no digit");
  }
  if (std::ranges::find(kReservedVariables, name) != kReservedVariables.end() ||
      name.starts_with(kReservedPrefix)) {
    return InvalidArgument(
        "\"{}\" is set by kgpu: remove it; GPUs are requested with requests.gpu, the rest with "
        "fields of their own",
        name);
  }
  return OkStatus();
}

Status CheckSecretName(std::string_view name) {
  return IsLowerName(name, "-.", kWordLimit) && name.find("..") == std::string_view::npos
             ? OkStatus()
             : Refuse(name, "the name of a secret: lower-case letters, digits, dashes and dots");
}

Status CheckConstraint(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && features::IsLabelKey(text.substr(0, equals)) &&
                 features::IsLabelValue(text.substr(equals + 1))
             ? OkStatus()
             : Refuse(text, "a node's label: nodetype=gpunode");
}

Status CheckLabelKey(std::string_view key) {
  return features::IsLabelKey(key) ? OkStatus()
                                   : Refuse(key, "a label's key: team, example.com/team");
}

Status CheckLabelValue(std::string_view value) {
  return features::IsLabelValue(value)
             ? OkStatus()
             : Refuse(value,
                      "a label's value: at most 63 letters, digits, -, _ and ., with a letter or "
                      "digit at both ends");
}

Status CheckPackage(std::string_view package) {
  const size_t equals = package.find('=');
  const std::string_view version =
      equals == std::string_view::npos ? "1" : package.substr(equals + 1);
  return IsLowerName(package.substr(0, 1), "", 1) && package.size() <= kWordLimit &&
                 HasOnly(package.substr(0, equals), "+.-:") && !version.empty() &&
                 HasOnly(version, "+.-:~")
             ? OkStatus()
             : Refuse(package, "a Debian package: libpng-dev, jq=1.6-2.1");
}

Status CheckBuildArgName(std::string_view name) {
  return !name.empty() && name.size() <= kWordLimit && !IsDigit(name.front()) && HasOnly(name, "_")
             ? OkStatus()
             : Refuse(name, "a build argument's name, as in NAME=value");
}

Status CheckGateway(std::string_view gateway) {
  std::string_view address = gateway;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (address.starts_with(scheme)) {
      address.remove_prefix(scheme.size());
      break;
    }
  }
  return IsHostPort(address, true) ? OkStatus() : Refuse(gateway, "host:port: 10.0.0.5:31113");
}

Status CheckModel(std::string_view model) {
  RETURN_IF_ERROR(config::ParseModel(model).status());
  return model.find('*') == std::string_view::npos
             ? OkStatus()
             : Refuse(model, "one model: list several, the preferred one first");
}

Status CheckPath(std::string_view path) {
  return !path.empty() && path.size() <= kPathLimit && CheckText(path).ok()
             ? OkStatus()
             : Refuse(path, "the path of a file");
}

Status CheckText(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument("{} bytes exceed the limit of {}", text.size(), kMaxTextBytes);
  }
  return text.find('\0') == std::string_view::npos
             ? OkStatus()
             : InvalidArgument("contains a byte 0: remove it");
}

Status CheckRegistryAuth(std::string_view auth) {
  const StatusOr<std::string> decoded = DecodeBase64(auth);
  const bool is_pair = decoded.ok() && auth.size() <= kMaxTextBytes &&
                       EncodeBase64(*decoded) == auth && !decoded->starts_with(':') &&
                       decoded->find(':') != std::string::npos &&
                       std::ranges::none_of(*decoded, IsControl);
  return is_pair ? OkStatus()
                 : InvalidArgument(
                       "must be \"user:password\" in base64, on one line: "
                       "printf %s user:password | base64 -w0");
}

StatusOr<int64_t> ParseCpuMillis(std::string_view text) {
  const bool is_milli = text.ends_with('m');
  const std::string_view number = is_milli ? text.substr(0, text.size() - 1) : text;
  const size_t point = is_milli ? std::string_view::npos : number.find('.');
  const auto whole = ParseUint(number.substr(0, point));
  const std::string_view decimals =
      point == std::string_view::npos ? "0" : number.substr(point + 1);
  const auto part = ParseUint(decimals);
  constexpr std::array<int64_t, 4> kPowers = {1'000, 100, 10, 1};
  constexpr auto kMost = static_cast<uint64_t>(kCpuMillisRange.high);
  if (!whole || !part || decimals.size() > 3 || *whole > kMost) {
    return Refuse(text, "a number of cores: 500m, 0.5, 2");
  }
  const auto count = static_cast<int64_t>(*whole);
  const int64_t millis =
      is_milli ? count : count * 1'000 + static_cast<int64_t>(*part) * kPowers.at(decimals.size());
  if (millis < kCpuMillisRange.low || millis > kCpuMillisRange.high) {
    return Refuse(text, "between 1m and 10000 cores");
  }
  return millis;
}

std::string FormatCpuMillis(int64_t millis) {
  return millis % 1'000 == 0 ? fmt::format("{}", millis / 1'000) : fmt::format("{}m", millis);
}

StatusOr<int64_t> ParseMemoryBytes(std::string_view text) {
  ASSIGN_OR_RETURN(const Bytes bytes, ParseQuantity(text));
  if (bytes.count == 0 || bytes.count > static_cast<uint64_t>(kMemoryRange.high)) {
    return Refuse(text, "between 1 byte and 1Pi");
  }
  return static_cast<int64_t>(bytes.count);
}

}  // namespace kgpu::functions
