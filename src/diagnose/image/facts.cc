#include "src/diagnose/image/facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

constexpr std::string_view kRuntimeName = "libcudart";
constexpr std::string_view kDriverName = "libcuda.so.";
constexpr std::string_view kRecordEnding = ".dist-info";
constexpr std::array<std::string_view, 2> kRecordHeads = {"nvidia_cuda_runtime-",
                                                          "nvidia_cuda_runtime_cu"};

size_t CountOf(std::string_view version) {
  return Split(version, '.').size();
}

// "12.4" of "12.4.127". Names of CUDA 11 and 12 that are links say the major version only: all of
// 11.x have a libcudart.so.11.0.
std::optional<std::string> RuntimeVersion(std::string_view text) {
  const auto version = cuda::CudaVersion::Parse(text);
  if (!version.ok() || version->major == 0) {
    return std::nullopt;
  }
  const bool is_link = CountOf(text) == 1 || (version->major == 11 && CountOf(text) == 2);
  return is_link ? std::to_string(version->major) : version->str();
}

// "libcudart.so.12.4.127", "libcudart-d0da41ae.so.11.0".
std::optional<std::string> RuntimeOfName(std::string_view name) {
  const size_t ending = name.find(".so.");
  if (!name.starts_with(kRuntimeName) || ending == std::string_view::npos ||
      (ending != kRuntimeName.size() && name[kRuntimeName.size()] != '-')) {
    return std::nullopt;
  }
  return RuntimeVersion(name.substr(ending + 4));
}

// "nvidia_cuda_runtime_cu12-12.4.127.dist-info", the folder of a Python package's record.
std::optional<std::string> RuntimeOfRecord(std::string_view name) {
  const bool is_record = name.ends_with(kRecordEnding) &&
                         (name.starts_with(kRecordHeads[0]) || name.starts_with(kRecordHeads[1]));
  if (!is_record) {
    return std::nullopt;
  }
  name.remove_suffix(kRecordEnding.size());
  return RuntimeVersion(name.substr(name.rfind('-') + 1));
}

std::optional<std::string> DriverOfName(std::string_view name) {
  if (!name.starts_with(kDriverName)) {
    return std::nullopt;
  }
  name.remove_prefix(kDriverName.size());
  const auto version = cuda::DriverVersion::Parse(name);
  // libcuda.so.1 is a link to one with its version.
  return version.ok() && CountOf(name) > 1 ? std::optional(std::string(name)) : std::nullopt;
}

bool Put(LibraryKind kind, std::string_view path, std::optional<std::string> version,
         CudaLibrary& library) {
  if (!version) {
    return false;
  }
  library = {kind, std::string(path), *std::move(version)};
  return true;
}

}  // namespace

std::string_view ToString(LibraryKind kind) {
  static constexpr std::array<std::string_view, 3> kWords = {"runtime", "compat", "driver"};
  return kWords.at(static_cast<size_t>(kind));
}

bool ReadLibraryPath(std::string_view path, CudaLibrary& library) {
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (name.starts_with(kDriverName)) {
    const std::string_view folder = path.substr(0, path.size() - name.size());
    const bool is_compat = folder.find("compat/") != std::string_view::npos;
    return Put(is_compat ? LibraryKind::kCompat : LibraryKind::kDriver, path, DriverOfName(name),
               library);
  }
  if (name.starts_with(kRuntimeName)) {
    return Put(LibraryKind::kRuntime, path, RuntimeOfName(name), library);
  }
  return Put(LibraryKind::kRuntime, path, RuntimeOfRecord(name), library);
}

std::string_view EnvOf(const ImageFacts& image, std::string_view name) {
  std::string_view value;
  for (const std::string_view entry : image.env) {
    const size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == name) {
      value = entry.substr(equals + 1);
    }
  }
  return value;
}

bool IsImageName(std::string_view text) {
  const auto is_good = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("./:@_-+[]").find(c) != std::string_view::npos;
  };
  // A name that begins with a dash would be a flag in a command line.
  const bool is_path = !text.empty() && std::string_view("-./").find(text[0]) != text.npos;
  const bool is_file = text.ends_with(".tar") && text.find(':') == std::string_view::npos;
  return !text.empty() && text.size() <= 512 && !is_path && !is_file &&
         std::ranges::all_of(text, is_good);
}

}  // namespace kgpu::image
