#include "src/cluster/run/request.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::run {
namespace {

// Pods add up to 17 characters to it, and a label value has at most 63.
constexpr size_t kMaxName = 40;
constexpr int64_t kMostGpus = 1024;
constexpr int64_t kFirstNodePort = 30'000;
constexpr int64_t kLastNodePort = 32'767;
constexpr uint64_t kMostMemory = uint64_t{1} << 50;

bool IsLabel(std::string_view text, size_t limit) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= limit && is_letter(text.front()) &&
         is_letter(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || c == '-'; });
}

bool IsSubdomain(std::string_view text) {
  const auto parts = Split(text, '.');
  return text.size() <= 253 &&
         std::ranges::all_of(parts, [](std::string_view part) { return IsLabel(part, 253); });
}

bool IsModel(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_';
         });
}

bool IsVariable(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '_'; });
}

Status CheckJupyter(const RunRequest& request) {
  const bool is_port = request.node_port == 0 ||
                       (request.node_port >= kFirstNodePort && request.node_port <= kLastNodePort);
  if (!is_port) {
    return InvalidArgument("--node-port: {} must be between {} and {}, or 0 for any free one",
                           request.node_port, kFirstNodePort, kLastNodePort);
  }
  return ParseGpuMemory("--storage", request.storage).status();
}

}  // namespace

std::string_view ToString(RunKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"job", "shell", "jupyter"};
  return kNames.at(static_cast<size_t>(kind));
}

Status CheckRequest(const RunRequest& request) {
  if (!IsLabel(request.name, kMaxName)) {
    return InvalidArgument(
        "--name: \"{}\" must have at most {} lower-case letters, digits and dashes, and begin and "
        "end with a letter or digit",
        Printable(request.name), kMaxName);
  }
  if (!IsLabel(request.space, 63)) {
    return InvalidArgument("--namespace: \"{}\" is no name of a namespace",
                           Printable(request.space));
  }
  if (request.image.empty() || request.image.find_first_of(" \t\n") != std::string::npos) {
    return InvalidArgument("IMAGE: \"{}\" is no name of an image", Printable(request.image));
  }
  if (!request.claim.empty() && !IsSubdomain(request.claim)) {
    return InvalidArgument("--claim: \"{}\" is no name of a ResourceClaim",
                           Printable(request.claim));
  }
  if (request.gpus < 1 || request.gpus > kMostGpus) {
    return InvalidArgument("--gpus: {} must be between 1 and {}", request.gpus, kMostGpus);
  }
  for (const std::string& model : request.models) {
    if (!IsModel(model)) {
      return InvalidArgument(
          "--model: \"{}\" is no model: `kgpu devices` on a node shows its name, such as "
          "A100-SXM4-80GB",
          Printable(model));
    }
  }
  if (!request.cuda.empty()) {
    RETURN_IF_ERROR(Annotate(cuda::CudaVersion::Parse(request.cuda).status(), "--cuda"));
  }
  return request.kind == RunKind::kJupyter ? CheckJupyter(request) : OkStatus();
}

StatusOr<int64_t> ParseGpuMemory(std::string_view flag, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, uint64_t>, 6> kUnits = {
      {{"Ti", uint64_t{1} << 40},
       {"Gi", uint64_t{1} << 30},
       {"Mi", uint64_t{1} << 20},
       {"T", 1'000'000'000'000},
       {"G", 1'000'000'000},
       {"M", 1'000'000}}};
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) {
      continue;
    }
    const auto count = ParseUint(text.substr(0, text.size() - unit.size()));
    if (count && *count > 0 && *count <= kMostMemory / bytes) {
      return static_cast<int64_t>((*count * bytes + (uint64_t{1} << 20) - 1) >> 20);
    }
    break;
  }
  return InvalidArgument("{}: \"{}\" must be a whole number with a unit: 40Gi, 80G, 40960Mi", flag,
                         Printable(text));
}

StatusOr<std::pair<std::string, std::string>> ParseVariable(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || !IsVariable(text.substr(0, equals))) {
    return InvalidArgument("--env: \"{}\" must be NAME=value", Printable(text));
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

StatusOr<Mount> ParseMount(std::string_view text, std::string_view path) {
  const size_t colon = text.find(':');
  Mount mount{.claim = std::string(text.substr(0, colon)),
              .path = std::string(colon == std::string_view::npos ? path : text.substr(colon + 1))};
  if (!IsSubdomain(mount.claim) || !mount.path.starts_with('/') || mount.path.size() < 2) {
    return InvalidArgument(
        "--volume: \"{}\" must be CLAIM:/PATH, with the name of a PersistentVolumeClaim",
        Printable(text));
  }
  return mount;
}

}  // namespace kgpu::run
