#include "src/node/slices/ledger_figures.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/platform/base/unique_fd.h"
#include "src/preload/ledger.h"

namespace kgpu::slices {

std::optional<LedgerFigures> ParseLedgerFigures(std::string_view bytes) {
  preload::LedgerHeader header{};
  if (bytes.size() < sizeof(header)) {
    return std::nullopt;
  }
  memcpy(static_cast<void*>(&header), bytes.data(), sizeof(header));
  // Containers from before an upgrade have the former version, with the same header.
  if (header.magic != preload::kLedgerMagic || header.version == 0 ||
      header.version > preload::kLedgerVersion) {
    return std::nullopt;
  }
  return LedgerFigures{.refused = header.refused, .waited_ns = header.waited};
}

StatusOr<LedgerFigures> ReadLedgerFigures(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  std::array<char, sizeof(preload::LedgerHeader)> bytes{};
  const ssize_t size = pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) {
    return ErrnoStatus(errno, fmt::format("read {}", path));
  }
  const auto figures =
      ParseLedgerFigures(std::string_view(bytes.data(), static_cast<size_t>(size)));
  if (!figures) {
    return FailedPrecondition("{}: no program has used it yet, or the container has spoilt it",
                              path);
  }
  return *figures;
}

}  // namespace kgpu::slices
