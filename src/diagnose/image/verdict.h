// Whether the CUDA of an image runs on a host: pure functions.
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
  std::optional<bool> is_data_center;  // nothing: unknown
};

struct HostFacts {
  cuda::DriverVersion driver;
  std::string cuda;          // that the driver says it supports: "12.2"; empty: by our table
  std::string architecture;  // "amd64", "arm64"; empty: not known
  std::vector<HostGpu> gpus;
};

enum class Answer : uint8_t {
  kRuns,
  kRunsByMinor,  // by minor-version compatibility, except programs that compile PTX at run time
  kUnknown,      // no sign of CUDA in what could be read, or a CUDA version that kgpu does not know
  kPtxOnly,      // only programs that contain PTX: the GPU is newer than the image's CUDA
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
  std::optional<cuda::CudaVersion> cuda;  // what the image needs; nothing: none was found
  unsigned update = 0;                    // of it: 1 for 12.4.1
  bool is_minor_known = true;             // of it; else it is .0 of the major version
  // Whether kgpu-runtime or NVIDIA's hook refuses to start it, because of its requirements.
  bool is_refused = false;
  bool has_compat = false;  // the image contains sufficient compat libraries
  // Its id is the answer; an error unless the image runs and nothing refuses to start it.
  report::Finding finding{};
  std::vector<std::string> notes{};
};

ImageVerdict Judge(const ImageFacts& image, const HostFacts& host);

}  // namespace kgpu::image
