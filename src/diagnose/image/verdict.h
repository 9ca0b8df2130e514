// Whether the CUDA of an image runs on a host: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/version.h"
#include "src/platform/report/finding.h"

namespace kgpu::image {

struct HostGpu {
  std::string name;  // for people: "GPU 0 (A100-SXM4-80GB)"
  std::optional<cuda::ComputeCapability> compute;
  std::string brand;                   // "tesla", in lower case; empty: not known
  std::optional<bool> is_data_center;  // nothing: not known
};

struct HostFacts {
  cuda::DriverVersion driver;
  std::string cuda;          // that the driver says it supports: "12.2"; empty: by our table
  std::string architecture;  // "amd64", "arm64"; empty: not known
  std::vector<HostGpu> gpus;
};

enum class Answer : uint8_t {
  kRuns,
  kRunsByMinor,  // by minor-version compatibility: not what compiles PTX when it runs
  kUnknown,      // nothing of CUDA was seen, and not all of the image; or a CUDA we do not know
  kPtxOnly,      // only as far as programs hold PTX: the GPU is newer than the image's CUDA
  kNeedsCompat,  // with the libraries of a cuda-compat package
  kNot
};

// "runs", "runs-by-minor-version", "unknown", "runs-from-ptx-only", "needs-cuda-compat",
// "will-not-run".
std::string_view ToString(Answer answer);
// For people: "runs by minor-version compatibility (programs that compile PTX excepted)".
std::string_view Describe(Answer answer);

struct ImageVerdict {
  Answer answer = Answer::kRuns;
  std::optional<cuda::CudaVersion> cuda;  // that the image needs; nothing: none was seen
  unsigned update = 0;                    // of it: 1 of 12.4.1
  bool is_minor_known = true;             // of it; else it is .0 of the major
  // Whether its requirements stop a start by kgpu-runtime or NVIDIA's hook, whatever the answer.
  bool is_refused = false;
  bool has_compat = false;  // libraries that would do, in the image
  // Its id is the answer; an error unless the image runs and nothing refuses to start it.
  report::Finding finding{};
  std::vector<std::string> notes{};
};

ImageVerdict Judge(const ImageFacts& image, const HostFacts& host);

}  // namespace kgpu::image
