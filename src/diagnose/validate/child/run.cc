#include "src/diagnose/validate/child/run.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "src/diagnose/validate/child/driver.h"
#include "src/diagnose/validate/protocol.h"

namespace kgpu::validate::child {
namespace {

namespace cu = cuda_api;

struct Vectors {
  float a[kElements];
  float b[kElements];
  float c[kElements];
};

// The resources of a run. None is released: the process ends, and frees all of them.
struct Bench {
  const Driver& driver;
  const Job& job;
  Vectors* host = nullptr;
  cu::Device device = 0;
  cu::Module module = nullptr;
};

// A number in [0, 1) for each place, the same in every run.
float Element(uint32_t index, uint32_t seed) {
  return static_cast<float>((index * 2654435761U + seed) >> 8) / 16777216.0F;
}

// Before the first phase, so that no phase is longer for it.
Vectors* MakeVectors() {
  auto* host = static_cast<Vectors*>(calloc(1, sizeof(Vectors)));
  for (uint32_t i = 0; host != nullptr && i < kElements; ++i) {
    host->a[i] = Element(i, 1);
    host->b[i] = Element(i, 0x5bd1e995U);
    host->c[i] = -1;
  }
  return host;
}

bool Launch(const Driver& driver, cu::Function kernel, unsigned blocks, void** arguments) {
  void** extra = nullptr;
  const cu::Stream stream = nullptr;
  return driver.Call<cu::LaunchKernelFn>("cuLaunchKernel", kernel, blocks, 1U, 1U, kThreads, 1U, 1U,
                                         0U, stream, arguments, extra) &&
         driver.Call<cu::CtxSynchronizeFn>("cuCtxSynchronize");
}

// The UUID in the form that every tool prints; drivers since CUDA 11.4 name MIG devices, too.
void ReportUuid(const Bench& bench) {
  cu::Uuid uuid{};
  if (!bench.driver.Try<cu::DeviceGetUuidFn>("cuDeviceGetUuid_v2", &uuid, bench.device) &&
      !bench.driver.Try<cu::DeviceGetUuidFn>("cuDeviceGetUuid", &uuid, bench.device)) {
    return;
  }
  char text[40];
  char* at = text;
  for (int i = 0; i < 16; ++i) {
    const bool has_dash = i == 4 || i == 6 || i == 8 || i == 10;
    at += snprintf(at, static_cast<size_t>(text + sizeof(text) - at), "%s%02x", has_dash ? "-" : "",
                   uuid.bytes[i]);
  }
  bench.driver.Set("uuid", "%s", text);
}

bool ReadAttribute(const Bench& bench, cu::Attribute attribute, int* value) {
  return bench.driver.Call<cu::DeviceGetAttributeFn>("cuDeviceGetAttribute", value, attribute,
                                                     bench.device);
}

bool Initialise(Bench& bench) {
  const Driver& driver = bench.driver;
  int version = 0;
  int count = 0;
  driver.Begin("init");
  if (!driver.Call<cu::InitFn>("cuInit", 0U) ||
      !driver.Call<cu::DriverGetVersionFn>("cuDriverGetVersion", &version) ||
      !driver.Call<cu::DeviceGetCountFn>("cuDeviceGetCount", &count)) {
    return false;
  }
  driver.Set("cuda", "%d.%d", version / 1000, version % 1000 / 10);
  return count > 0 ? driver.Call<cu::DeviceGetFn>("cuDeviceGet", &bench.device, 0)
                   : driver.Fail(cu::kNoDevice, "CUDA reports no device to this process");
}

bool Describe(const Bench& bench) {
  char name[128] = {};
  int major = 0;
  int minor = 0;
  if (!bench.driver.Call<cu::DeviceGetNameFn>("cuDeviceGetName", &name[0],
                                              static_cast<int>(sizeof(name) - 1), bench.device) ||
      !ReadAttribute(bench, cu::kComputeCapabilityMajor, &major) ||
      !ReadAttribute(bench, cu::kComputeCapabilityMinor, &minor)) {
    return false;
  }
  bench.driver.Set("name", "%s", name);
  bench.driver.Set("compute", "%d.%d", major, minor);
  ReportUuid(bench);
  return true;
}

bool Prepare(Bench& bench) {
  cu::Context context = nullptr;
  bench.driver.Begin("context");
  if (!bench.driver.Call<cu::CtxCreateFn>("cuCtxCreate_v2", &context, 0U, bench.device)) {
    return false;
  }
  bench.driver.Begin("compile");
  return bench.driver.Compile(bench.job.ptx, &bench.module);
}

bool FindKernel(const Bench& bench, const char* name, cu::Function* kernel) {
  return bench.driver.Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", kernel, bench.module,
                                                    name);
}

bool CheckSum(const Driver& driver, const Vectors& host) {
  for (uint32_t i = 0; i < kElements; ++i) {
    // Not less than: what is no number is wrong, too.
    if (!(fabsf(host.a[i] + host.b[i] - host.c[i]) <= 1e-5F)) {
      return driver.Fail(kWrongResult, "Result verification failed at element %u: %g + %g gave %g",
                         i, static_cast<double>(host.a[i]), static_cast<double>(host.b[i]),
                         static_cast<double>(host.c[i]));
    }
  }
  return true;
}

bool AddVectors(const Bench& bench) {
  const Driver& driver = bench.driver;
  Vectors& host = *bench.host;
  constexpr size_t kBytes = sizeof(Vectors::a);
  cu::DevicePointer a = 0;
  cu::DevicePointer b = 0;
  cu::DevicePointer c = 0;
  cu::Function kernel = nullptr;
  driver.Begin("copy-in");
  for (cu::DevicePointer* pointer : {&a, &b, &c}) {
    if (!driver.Call<cu::MemAllocFn>("cuMemAlloc_v2", pointer, kBytes)) {
      return false;
    }
  }
  if (!driver.Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", a, &host.a[0], kBytes) ||
      !driver.Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", b, &host.b[0], kBytes)) {
    return false;
  }
  driver.Begin("kernel");
  uint32_t count = kElements;
  void* arguments[] = {&a, &b, &c, &count};
  if (!FindKernel(bench, "vector_add", &kernel) ||
      !Launch(driver, kernel, kBlocks, &arguments[0])) {
    return false;
  }
  driver.Begin("copy-out");
  if (!driver.Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", &host.c[0], c, kBytes)) {
    return false;
  }
  driver.Begin("check");
  return CheckSum(driver, host);
}

// Bytes a second of the best of three copies, after one that is not counted.
template <typename Copy>
bool Measure(const Bench& bench, const char* key, uint64_t bytes, Copy&& copy) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t start = NowNs();
    if (!copy() || !bench.driver.Call<cu::CtxSynchronizeFn>("cuCtxSynchronize")) {
      return false;
    }
    const uint64_t took = NowNs() - start;
    best = i > 0 && took < best ? took : best;
  }
  const double seconds = static_cast<double>(best > 0 ? best : 1) / 1e9;
  bench.driver.Set(key, "%.0f", static_cast<double>(bytes) / seconds);
  return true;
}

bool Copy(const Bench& bench, uint64_t bytes, uint32_t* host) {
  const Driver& driver = bench.driver;
  cu::DevicePointer first = 0;
  cu::DevicePointer second = 0;
  if (!driver.Call<cu::MemAllocFn>("cuMemAlloc_v2", &first, bytes) ||
      !driver.Call<cu::MemAllocFn>("cuMemAlloc_v2", &second, bytes)) {
    return false;
  }
  const uint64_t words = bytes / sizeof(uint32_t);
  for (uint64_t i = 0; i < words; ++i) {
    host[i] = static_cast<uint32_t>(i * 2654435761U);
  }
  const auto in = [&] {
    return driver.Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", first, static_cast<const void*>(host),
                                         bytes);
  };
  const auto within = [&] {
    return driver.Call<cu::MemcpyDtoDFn>("cuMemcpyDtoD_v2", second, first, bytes);
  };
  const auto out = [&] {
    return driver.Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", static_cast<void*>(host), second,
                                         bytes);
  };
  if (!Measure(bench, "h2d", bytes, in) || !Measure(bench, "d2d", bytes, within)) {
    return false;
  }
  memset(host, 0, bytes);
  if (!Measure(bench, "d2h", bytes, out)) {
    return false;
  }
  for (uint64_t i = 0; i < words; ++i) {
    if (host[i] != static_cast<uint32_t>(i * 2654435761U)) {
      return driver.Fail(kWrongResult, "A copy was corrupted at byte %llu",
                         static_cast<unsigned long long>(i) * sizeof(uint32_t));
    }
  }
  return driver.Call<cu::MemFreeFn>("cuMemFree_v2", first) &&
         driver.Call<cu::MemFreeFn>("cuMemFree_v2", second);
}

bool MeasureCopies(const Bench& bench) {
  size_t free_bytes = 0;
  size_t total = 0;
  bench.driver.Begin("bandwidth");
  if (!bench.driver.Call<cu::MemGetInfoFn>("cuMemGetInfo_v2", &free_bytes, &total)) {
    return false;
  }
  // A GPU in use has little left; both buffers must fit with room to spare.
  const uint64_t most = free_bytes / 4 / 4096 * 4096;
  const uint64_t bytes = bench.job.copy_bytes < most ? bench.job.copy_bytes : most;
  if (bytes == 0) {
    bench.driver.Set("bandwidth-skipped", "the GPU is out of memory");
    return true;
  }
  void* host = nullptr;
  // Pinned: what the bus can do. Pageable where the limit of locked memory is small.
  const bool is_pinned = bench.driver.Try<cu::MemAllocHostFn>("cuMemAllocHost_v2", &host, bytes);
  host = is_pinned ? host : malloc(bytes);
  if (host == nullptr) {
    return bench.driver.Fail(kNoHostMemory, "out of host memory for copies");
  }
  bench.driver.Set("host-memory", "%s", is_pinned ? "pinned" : "pageable");
  const bool is_good = Copy(bench, bytes, static_cast<uint32_t*>(host));
  if (!is_pinned) {
    free(host);
  }
  return is_good;
}

// The value that the burn kernel stores for thread `index`: see kernels.h.
uint32_t BurnResult(uint32_t index) {
  uint32_t hash = index * 0x9e3779b1U;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result ^= hash >> 9 | 0x3f800000U;
    hash *= 0x85ebca6bU;
  }
  return result;
}

struct Burner {
  const Bench& bench;
  cu::Function kernel = nullptr;
  cu::DevicePointer out = 0;
  uint32_t* host = nullptr;
  uint32_t blocks = 0;
  uint32_t rounds = 8;
  double operations = 0;

  uint32_t threads() const { return blocks * kThreads; }
  bool Once();
};

// One launch of about a tenth of a second, and its check.
bool Burner::Once() {
  const Driver& driver = bench.driver;
  driver.Begin("burn");
  void* arguments[] = {&out, &rounds};
  const uint64_t start = NowNs();
  if (!Launch(driver, kernel, blocks, &arguments[0])) {
    return false;
  }
  const uint64_t took = NowNs() - start;
  operations += 16.0 * rounds * threads();
  if (!driver.Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", static_cast<void*>(host), out,
                                     threads() * sizeof(uint32_t))) {
    return false;
  }
  for (uint32_t i = 0; i < threads(); ++i) {
    if (host[i] != BurnResult(i)) {
      return driver.Fail(kWrongResult,
                         "Burn test gave a wrong result in thread %u: %08x instead of %08x", i,
                         host[i], BurnResult(i));
    }
  }
  constexpr uint64_t kWantedNs = 100'000'000;
  if (took < kWantedNs / 2 && rounds < 1U << 24) {
    rounds *= 2;
  } else if (took > kWantedNs * 2 && rounds > 1) {
    rounds /= 2;
  }
  return true;
}

bool Burn(const Bench& bench) {
  const Driver& driver = bench.driver;
  Burner burner{.bench = bench};
  int processors = 0;
  driver.Begin("burn");
  if (!ReadAttribute(bench, cu::kMultiprocessorCount, &processors) ||
      !FindKernel(bench, "burn", &burner.kernel)) {
    return false;
  }
  burner.blocks = static_cast<uint32_t>(processors > 0 ? processors : 1) * 2;
  const size_t bytes = burner.threads() * sizeof(uint32_t);
  burner.host = static_cast<uint32_t*>(calloc(1, bytes));
  if (burner.host == nullptr) {
    return driver.Fail(kNoHostMemory, "out of host memory for %zu bytes", bytes);
  }
  bool is_good = driver.Call<cu::MemAllocFn>("cuMemAlloc_v2", &burner.out, bytes);
  const uint64_t start = NowNs();
  const uint64_t end = start + bench.job.burn_ms * 1'000'000;
  while (is_good && NowNs() < end) {
    is_good = burner.Once();
  }
  free(burner.host);
  if (is_good) {
    driver.Set("burn-flops", "%.0f",
               burner.operations / (static_cast<double>(NowNs() - start) / 1e9));
  }
  return is_good;
}

bool RunAll(Bench& bench) {
  return Initialise(bench) && Describe(bench) && Prepare(bench) && AddVectors(bench) &&
         (bench.job.copy_bytes == 0 || MeasureCopies(bench)) &&
         (bench.job.burn_ms == 0 || Burn(bench));
}

}  // namespace

int Run(const Job& job) {
  Driver driver;
  Bench bench{.driver = driver, .job = job, .host = MakeVectors()};
  if (bench.host == nullptr) {
    (void)driver.Fail(kNoHostMemory, "out of host memory for %zu bytes", sizeof(Vectors));
    return 1;
  }
  driver.Begin("load");
  for (int i = 0; i < job.preload_count; ++i) {
    driver.Preload(job.preloads[i]);
  }
  const bool is_good =
      driver.Load(job.library) && RunAll(bench) && puts("done") >= 0 && fflush(stdout) == 0;
  free(bench.host);
  return is_good ? 0 : 1;
}

}  // namespace kgpu::validate::child
