#include "src/cluster/run/images.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::run {
namespace {

// A new version of an image is a change of its row: the tag and its CUDA together.
constexpr std::array kBuiltin = {
    BuiltinImage{RunKind::kShell, "docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "12.4.1",
                 "its tag"},
    BuiltinImage{RunKind::kJupyter, "docker.io/tensorflow/tensorflow:2.17.0-gpu-jupyter", "12.3",
                 "TensorFlow's tested build configurations"},
};

std::string_view TagOf(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const size_t colon = image.rfind(':');
  const bool has_tag = colon != std::string_view::npos && image.find('/', colon) == image.npos;
  return has_tag ? image.substr(colon + 1) : std::string_view();
}

// Of NVIDIA's own images, wherever they are mirrored.
bool IsNvidiaCuda(std::string_view image) {
  constexpr std::string_view kName = "nvidia/cuda:";
  return image.starts_with(kName) || image.find(fmt::format("/{}", kName)) != image.npos;
}

// "12.4" or "12.4.1", all of it.
bool IsCudaVersion(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  constexpr size_t kMostDigits = 2;
  return (parts.size() == 2 || parts.size() == 3) &&
         std::ranges::all_of(parts, [](std::string_view part) {
           return part.size() <= kMostDigits && ParseUint(part).has_value();
         });
}

// "12.1" for "121": PyTorch's way, major 10 and above.
std::string CudaOfDigits(std::string_view digits) {
  constexpr size_t kDigits = 3;
  return digits.size() == kDigits && digits.front() != '0' && ParseUint(digits).has_value()
             ? fmt::format("{}.{}", digits.substr(0, 2), digits.substr(2))
             : std::string();
}

}  // namespace

std::span<const BuiltinImage> BuiltinImages() {
  return kBuiltin;
}

const BuiltinImage* DefaultImage(RunKind kind) {
  const auto* const found = std::ranges::find(kBuiltin, kind, &BuiltinImage::kind);
  return found == kBuiltin.end() ? nullptr : found;
}

const BuiltinImage* FindBuiltin(std::string_view image) {
  const auto* const found = std::ranges::find(kBuiltin, image, &BuiltinImage::image);
  return found == kBuiltin.end() ? nullptr : found;
}

std::string CudaOfTag(std::string_view image) {
  bool is_first = IsNvidiaCuda(image.substr(0, image.find('@')));
  // A local version, too: 2.4.0+cu121 becomes 2.4.0_cu121.
  std::string tag(TagOf(image));
  std::ranges::replace(tag, '_', '-');
  for (const std::string_view word : Split(tag, '-')) {
    if (std::exchange(is_first, false) && IsCudaVersion(word)) {
      return std::string(word);
    }
    if (word.starts_with("cuda") && IsCudaVersion(word.substr(4))) {
      return std::string(word.substr(4));
    }
    if (std::string version = word.starts_with("cu") ? CudaOfDigits(word.substr(2)) : "";
        !version.empty()) {
      return version;
    }
  }
  return "";
}

}  // namespace kgpu::run
