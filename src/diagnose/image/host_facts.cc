#include "src/diagnose/image/host_facts.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "src/diagnose/image/gpu_models.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

std::optional<bool> IsDataCenter(const std::optional<GpuModel>& model, std::string_view brand) {
  if (model) {
    return model->is_data_center;
  }
  if (brand == "tesla") {
    return true;
  }
  if (brand.starts_with("geforce") || brand.starts_with("titan")) {
    return false;
  }
  return std::nullopt;
}

}  // namespace

StatusOr<HostFacts> FactsOfWords(const HostWords& words) {
  HostFacts host;
  auto driver = cuda::DriverVersion::Parse(words.driver);
  if (!driver.ok()) {
    return Annotate(driver.status(), "--driver");
  }
  host.driver = *driver;
  host.architecture = words.architecture;
  if (words.model.empty() && words.compute.empty()) {
    return host;
  }
  HostGpu gpu;
  const std::optional<GpuModel> model = FindGpuModel(words.model);
  if (model) {
    gpu.compute = model->compute;
  }
  gpu.name = words.model;
  gpu.is_data_center = IsDataCenter(model, "");
  if (!words.compute.empty()) {
    auto compute = cuda::ComputeCapability::Parse(words.compute);
    if (!compute.ok()) {
      return Annotate(compute.status(), "--gpu-arch");
    }
    gpu.compute = *compute;
  } else if (!model) {
    return InvalidArgument(
        "--model: \"{}\" is unknown: set its compute capability with --gpu-arch, e.g. 9.0",
        Printable(words.model, 80));
  }
  host.gpus.push_back(std::move(gpu));
  return host;
}

StatusOr<HostFacts> FactsOfSnapshot(const device::Snapshot& snapshot,
                                    std::string_view architecture) {
  const device::Driver& driver = snapshot.driver;
  const std::string& version = driver.version.empty() ? driver.module_version : driver.version;
  auto parsed = cuda::DriverVersion::Parse(version);
  if (!parsed.ok()) {
    return FailedPrecondition(
        "the driver of this host is unknown ({}): run kgpu doctor to see why, or set --driver",
        driver.reason.empty() ? device::ToString(driver.state) : std::string_view(driver.reason));
  }
  HostFacts host;
  host.driver = *parsed;
  host.architecture = architecture;
  if (driver.cuda_major && driver.cuda_minor) {
    host.cuda = fmt::format("{}.{}", *driver.cuda_major, *driver.cuda_minor);
  }
  for (const device::Gpu& seen : snapshot.gpus) {
    HostGpu gpu;
    gpu.name = fmt::format("GPU {} ({})", seen.index, seen.model.empty() ? seen.name : seen.model);
    // NVIDIA's images ask for brands in lower case, and for "unknown".
    gpu.brand = seen.brand.empty() ? "unknown" : ToLower(seen.brand);
    if (seen.compute) {
      gpu.compute = cuda::ComputeCapability{static_cast<uint32_t>(seen.compute->major),
                                            static_cast<uint32_t>(seen.compute->minor)};
    }
    gpu.is_data_center = IsDataCenter(FindGpuModel(seen.name), gpu.brand);
    host.gpus.push_back(std::move(gpu));
  }
  return host;
}

std::string ImageArchitecture(std::string_view machine) {
  if (machine == "x86_64") {
    return "amd64";
  }
  return machine == "aarch64" ? "arm64" : std::string(machine);
}

}  // namespace kgpu::image
