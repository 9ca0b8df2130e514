#include "testing/driver/shared_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "src/platform/base/status_macros.h"

// Since Linux 5.1; Debian 12's C library headers may lack it.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace kgpu::sim {

namespace {

// ThreadSanitizer does not know fences. It need not: readers are in other mappings.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
void WriteBarrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace

StatusOr<std::unique_ptr<SharedState>> SharedState::Create() {
  const UniqueFd fd(memfd_create("kgpu-sim-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_valid() || ftruncate(fd.get(), sizeof(SimState)) != 0) {
    return ErrnoStatus(errno, "memfd_create");
  }
  void* mapped = mmap(nullptr, sizeof(SimState), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    return ErrnoStatus(errno, "mmap of the state");
  }
  // Our own mapping stays writable. Where the kernel is older, the read-only descriptor is all
  // that keeps clients from writing: enough against mistakes.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0) {
    (void)fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  }
  const std::string path = fmt::format("/proc/self/fd/{}", fd.get());
  UniqueFd read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only.is_valid()) {
    const int error = errno;
    munmap(mapped, sizeof(SimState));
    return ErrnoStatus(error, "open " + path);
  }
  return std::unique_ptr<SharedState>(
      new SharedState(std::move(read_only), static_cast<SimState*>(mapped)));
}

SharedState::~SharedState() {
  munmap(mapped_, sizeof(SimState));
}

void SharedState::Write(const SimState& state) {
  constexpr size_t kAfterSequence = offsetof(SimState, version);
  const uint32_t gpus = std::max(state.gpu_count, std::min(mapped_->gpu_count, kMaxGpus));
  const size_t end = offsetof(SimState, gpus) + gpus * sizeof(SimGpu);
  const std::atomic_ref<uint64_t> sequence(mapped_->sequence);
  const uint64_t before = sequence.load(std::memory_order_relaxed);
  sequence.store(before + 1, std::memory_order_relaxed);
  WriteBarrier();
  mapped_->magic = state.magic;
  mapped_->layout = state.layout;
  mapped_->size = state.size;
  std::memcpy(reinterpret_cast<char*>(mapped_) + kAfterSequence,
              reinterpret_cast<const char*>(&state) + kAfterSequence, end - kAfterSequence);
  sequence.store(before + 2, std::memory_order_release);
}

void SharedState::WriteProcess(uint32_t slot, uint32_t index, const SimProcess& process) {
  const std::atomic_ref<uint64_t> sequence(mapped_->sequence);
  const uint64_t before = sequence.load(std::memory_order_relaxed);
  sequence.store(before + 1, std::memory_order_relaxed);
  WriteBarrier();
  mapped_->gpus[slot].processes[index] = process;
  sequence.store(before + 2, std::memory_order_release);
}

}  // namespace kgpu::sim
