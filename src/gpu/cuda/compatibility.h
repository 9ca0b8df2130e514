// Which driver runs which CUDA version, and which CUDA version runs on which GPU. Sources: the
// release notes of the CUDA toolkit ("CUDA Toolkit and Corresponding Driver Versions") and NVIDIA's
// page on CUDA compatibility.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "src/gpu/cuda/version.h"

namespace kgpu::cuda {

// A toolkit release and the minimum Linux driver that fully supports it.
struct Toolkit {
  CudaVersion cuda;
  unsigned update = 0;  // 0: the first release of this version
  DriverVersion least_driver;
};

// Newest first.
std::span<const Toolkit> Toolkits();

// The highest CUDA that `driver` fully supports; nothing if it is older than all known ones.
std::optional<CudaVersion> HighestCuda(const DriverVersion& driver);

// The oldest toolkit whose drivers report at least `cuda`; nothing if that is newer than any known.
std::optional<Toolkit> LeastToolkit(const VersionNumbers& cuda);

// The minimum driver that is certain to support all of `cuda` at update `update` (0: the first
// release); nothing in the same cases as LeastToolkit.
std::optional<DriverVersion> LeastDriver(const CudaVersion& cuda, unsigned update = 0);

// The CUDA update that a version of three numbers names: 1 for "12.4.1", 1 for "11.0.3". 0 for the
// first release, for versions before 11 and for a third number that counts builds: "12.4.127".
unsigned UpdateOf(const VersionNumbers& version);

// The minimum driver that runs programs of any minor version of a major version (minor-version
// compatibility, from CUDA 11 on); nothing if there is no such guarantee. It does not cover
// programs that compile PTX at run time, nor those that need newer driver functions.
std::optional<DriverVersion> LeastDriverForMinors(uint32_t cuda_major);

// How well a driver runs programs of a CUDA version.
enum class Fit : uint8_t {
  kWhole,   // all features of that CUDA version
  kMinor,   // through minor-version compatibility
  kNone,    // not at all
  kUnknown  // a CUDA version that we do not know
};

// At update `update`, as in LeastDriver.
Fit FitOf(const CudaVersion& cuda, const DriverVersion& driver, unsigned update = 0);

// The minimum compute capability for which toolkits of this major version compile: CUDA 13 dropped
// Maxwell, Pascal and Volta, 12 dropped Kepler. Nothing for an unknown version.
std::optional<ComputeCapability> LeastCompute(uint32_t cuda_major);

// The highest major version of CUDA for GPUs of `compute`, if a later one has dropped them.
std::optional<uint32_t> LastCudaMajor(const ComputeCapability& compute);

// The last driver branch that supports GPUs of `compute`; nothing if current branches still do, or
// for an unknown GPU. Source: the release notes of the branches 390, 470 and 580.
std::optional<uint32_t> LastDriverBranch(const ComputeCapability& compute);

// The first toolkit that compiles machine code for GPUs of this major capability: code for 8.0 runs
// on 8.6, but code for 8.x never runs on 9.0. Programs from an older toolkit run only if they
// contain PTX, which the driver compiles. Nothing for an unknown GPU. Source: the release notes of
// the toolkits.
std::optional<CudaVersion> FirstCuda(const ComputeCapability& compute);

// Whether the cuda-compat libraries of `cuda` are known to run on the kernel module of this branch:
// only some production and long-term branches work, and each CUDA version drops old ones.
bool TakesCompat(const CudaVersion& cuda, const DriverVersion& driver);
// cuda-compat packages exist from CUDA 10.0 on.
bool HasCompat(const CudaVersion& cuda);

}  // namespace kgpu::cuda
