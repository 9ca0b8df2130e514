#include "src/diagnose/image/compat.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

bool SuitsCuda(const CudaLibrary& library, const cuda::CudaVersion& cuda) {
  const auto version = cuda::DriverVersion::Parse(library.version);
  if (library.kind != LibraryKind::kCompat || !version.ok()) {
    return false;
  }
  const cuda::Fit fit = cuda::FitOf(cuda, *version);
  return fit == cuda::Fit::kWhole || fit == cuda::Fit::kMinor;
}

// Whether a search in `part`, "/usr/local/cuda/compat", finds libraries of `folder`,
// "/usr/local/cuda-12.4/compat".
bool MayLeadTo(const std::string& part, std::string_view folder) {
  constexpr std::string_view kToolkits = "/usr/local/cuda";
  constexpr std::string_view kEnd = "/compat";
  if (part == folder) {
    return true;
  }
  if (!part.starts_with(kToolkits) || !part.ends_with(kEnd) || !folder.ends_with(kEnd)) {
    return false;
  }
  // The link: "/usr/local/cuda", or "/usr/local/cuda-12".
  const std::string link = part.substr(0, part.size() - kEnd.size());
  const char next = link == kToolkits ? '-' : '.';
  return folder.starts_with(fmt::format("{}{}", link, next));
}

}  // namespace

const CudaLibrary* FindCompat(const ImageFacts& image, const cuda::CudaVersion& cuda) {
  for (const CudaLibrary& library : image.libraries) {
    if (SuitsCuda(library, cuda)) {
      return &library;
    }
  }
  return nullptr;
}

const CudaLibrary* FindSearchedCompat(const ImageFacts& image, const cuda::CudaVersion& cuda) {
  for (const std::string_view text : Split(EnvOf(image, "LD_LIBRARY_PATH"), ':')) {
    std::string part = std::filesystem::path(text).lexically_normal();
    if (part.size() > 1 && part.ends_with('/')) {
      part.pop_back();
    }
    const CudaLibrary* found = nullptr;
    for (const CudaLibrary& library : image.libraries) {
      const std::string path = fmt::format("/{}", library.path);
      if (library.kind != LibraryKind::kCompat ||
          !MayLeadTo(part, std::string_view(path).substr(0, path.rfind('/')))) {
        continue;
      }
      if (!SuitsCuda(library, cuda)) {
        return nullptr;
      }
      found = &library;
    }
    if (found != nullptr) {
      return found;  // the first part that has one counts
    }
  }
  return nullptr;
}

}  // namespace kgpu::image
