#include "src/diagnose/image/need.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "src/gpu/cuda/compatibility.h"
#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/requirement_reader.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

using cuda::CudaVersion;

constexpr size_t kMostLines = 8;

class Collector {
 public:
  void Add(CudaVersion version, bool is_minor_known, std::string line, unsigned update = 0) {
    if (need_.evidence.size() < kMostLines) {
      need_.evidence.push_back(std::move(line));
    }
    // A name that tells the major version alone says nothing beside one that tells both.
    const bool is_more = !need_.cuda || version.major > need_.cuda->major ||
                         (version.major == need_.cuda->major && is_minor_known &&
                          (!need_.is_minor_known || version > *need_.cuda));
    if (is_more) {
      need_.cuda = version;
      need_.is_minor_known = is_minor_known;
      need_.update = update;
    } else if (version == *need_.cuda) {
      need_.update = std::max(need_.update, update);
    }
  }
  bool has_any() const { return need_.cuda.has_value(); }
  Need Take() { return std::move(need_); }

 private:
  Need need_;
};

void AddVariable(const ImageFacts& image, Collector& collector) {
  std::string_view text = EnvOf(image, "CUDA_VERSION");
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  const auto version = CudaVersion::Parse(text);
  const auto numbers = cuda::ParseVersionNumbers(text);
  if (version.ok() && numbers.ok()) {
    collector.Add(*version, text.find('.') != std::string_view::npos,
                  fmt::format("CUDA_VERSION={}", Printable(text, 40)), cuda::UpdateOf(*numbers));
  }
}

void AddLibraries(const ImageFacts& image, Collector& collector) {
  std::set<std::string> seen;  // versions: one line each
  for (const CudaLibrary& library : image.libraries) {
    const auto version = CudaVersion::Parse(library.version);
    if (library.kind != LibraryKind::kRuntime || !version.ok() ||
        !seen.insert(library.version).second) {
      continue;
    }
    collector.Add(
        *version, library.version.find('.') != std::string::npos,
        fmt::format("/{} is from CUDA {}", Printable(library.path, 200), library.version));
  }
}

// The weakest of the alternatives: any of them is enough.
void AddRequirement(const ImageFacts& image, Collector& collector) {
  const std::string_view text = EnvOf(image, "NVIDIA_REQUIRE_CUDA");
  std::optional<CudaVersion> least;
  cuda::AlternativeReader reader(text.substr(0, cuda::kRequirementLimit));
  cuda::Alternative alternative;
  while (reader.Next(alternative)) {
    for (const cuda::Condition& condition : alternative.conditions) {
      const bool is_floor = condition.property == cuda::Property::kCuda &&
                            (condition.op == cuda::Operator::kGreaterOrEqual ||
                             condition.op == cuda::Operator::kEqual);
      const CudaVersion version{condition.version[0], condition.version[1]};
      if (is_floor && alternative.problem.empty() && (!least || version < *least)) {
        least = version;
      }
    }
  }
  if (least) {
    collector.Add(*least, true, fmt::format("NVIDIA_REQUIRE_CUDA requires CUDA {}", least->str()));
  }
}

}  // namespace

Need NeedOf(const ImageFacts& image) {
  Collector collector;
  AddVariable(image, collector);
  AddLibraries(image, collector);
  if (!collector.has_any()) {
    AddRequirement(image, collector);
  }
  return collector.Take();
}

}  // namespace kgpu::image
