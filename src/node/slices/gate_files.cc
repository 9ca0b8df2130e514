#include "src/node/slices/gate_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "src/node/sharing/slice_paths.h"
#include "src/platform/base/unique_fd.h"
#include "src/preload/gate.h"

namespace kgpu::slices {
namespace {

// One word. Should somebody see half of it, that holds until the next look, 10 ms later. A lease
// that the container has taken must not block us. Source: fcntl(2), leases.
Status WriteGate(const std::string& path, uint64_t word) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  if (pwrite(file.get(), &word, sizeof(word), offsetof(preload::Gate, word)) != sizeof(word)) {
    return ErrnoStatus(errno, fmt::format("write {}", path));
  }
  return OkStatus();
}

}  // namespace

Status WriteGates(const std::string& folder, const std::vector<GateWord>& words) {
  Status first = OkStatus();
  for (const GateWord& gate : words) {
    Status written =
        WriteGate(fmt::format("{}/{}", folder, sharing::FileOfSlot(gate.slot, sharing::kGateName)),
                  gate.word);
    if (first.ok() && !written.ok()) {
      first = std::move(written);
    }
  }
  return first;
}

}  // namespace kgpu::slices
