// Which driver runs which CUDA, and which CUDA runs on which GPU. Sources: the release notes of the
// CUDA toolkit ("CUDA Toolkit and Corresponding Driver Versions") and NVIDIA's page on CUDA
// compatibility.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "src/gpu/cuda/version.h"

namespace kgpu::cuda {

// A release of the toolkit and the least driver for Linux that has all of it.
struct Toolkit {
  CudaVersion cuda;
  unsigned update = 0;  // 0: the first release of this version
  DriverVersion least_driver;
};

// Newest first.
std::span<const Toolkit> Toolkits();

// The highest CUDA that `driver` has all of; nothing when it is older than all we know.
std::optional<CudaVersion> HighestCuda(const DriverVersion& driver);

// The oldest toolkit whose drivers say `cuda` or more; nothing when that is newer than all we know.
std::optional<Toolkit> LeastToolkit(const VersionNumbers& cuda);

// The least driver that is sure to have all of `cuda` in its update `update` (0: the first
// release); nothing as LeastToolkit.
std::optional<DriverVersion> LeastDriver(const CudaVersion& cuda, unsigned update = 0);

// Which update of CUDA a version of three numbers names: 1 for "12.4.1", 1 for "11.0.3". 0 for the
// first release, for versions before 11 and for a third number that counts builds: "12.4.127".
unsigned UpdateOf(const VersionNumbers& version);

// The least driver that runs programs of any minor version of a major one (minor-version
// compatibility, from CUDA 11 on); nothing where there is no such promise. Excepted are programs
// that compile PTX when they run, and those that need newer functions of the driver.
std::optional<DriverVersion> LeastDriverForMinors(uint32_t cuda_major);

// How programs of a CUDA version fare on a driver.
enum class Fit : uint8_t {
  kWhole,   // all of that CUDA
  kMinor,   // by minor-version compatibility
  kNone,    // not
  kUnknown  // a CUDA that we do not know
};

// Of its update `update`, as LeastDriver.
Fit FitOf(const CudaVersion& cuda, const DriverVersion& driver, unsigned update = 0);

// The least compute capability that toolkits of this major version make programs for: CUDA 13
// dropped Maxwell, Pascal and Volta, 12 dropped Kepler. Nothing for a version that we do not know.
std::optional<ComputeCapability> LeastCompute(uint32_t cuda_major);

// The highest major version of CUDA for GPUs of `compute`, where a later one has dropped them.
std::optional<uint32_t> LastCudaMajor(const ComputeCapability& compute);

// The last branch of the driver that runs GPUs of `compute`; nothing where branches still do, or
// for a GPU that we do not know. Source: the release notes of the branches 390, 470 and 580.
std::optional<uint32_t> LastDriverBranch(const ComputeCapability& compute);

// The first toolkit that makes machine code for GPUs of this major capability: code for 8.0 runs on
// 8.6, none for 8.x runs on 9.0. Programs of an older one run as far as they hold PTX, which the
// driver compiles. Nothing for a GPU that we do not know. Source: the release notes of the
// toolkits.
std::optional<CudaVersion> FirstCuda(const ComputeCapability& compute);

// Whether the cuda-compat libraries of `cuda` are known to run over the kernel module of this
// branch: only some production and long-term branches, and each CUDA leaves old ones behind.
bool TakesCompat(const CudaVersion& cuda, const DriverVersion& driver);
// There are cuda-compat packages from CUDA 10.0 on.
bool HasCompat(const CudaVersion& cuda);

}  // namespace kgpu::cuda
