#include "src/platform/compress/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "src/platform/base/status_macros.h"

namespace kgpu::compress {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMostName = 100;

// Offsets and sizes of a header's fields.
struct Field {
  size_t at;
  size_t size;
};
constexpr Field kName{0, kMostName};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 8};

void Put(std::string& header, const Field& field, std::string_view text) {
  header.replace(field.at, std::min(text.size(), field.size), text.substr(0, field.size));
}

void PutOctal(std::string& header, const Field& field, uint64_t number) {
  Put(header, field, fmt::format("{:0{}o}", number, field.size - 1));
}

std::string HeaderOf(const TarFile& file, WallTime when) {
  std::string header(kBlock, '\0');
  Put(header, kName, file.path);
  PutOctal(header, kMode, 0600);
  PutOctal(header, kUser, 0);
  PutOctal(header, kGroup, 0);
  PutOctal(header, kSize, file.text.size());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch());
  PutOctal(header, kTime, static_cast<uint64_t>(std::max<int64_t>(seconds.count(), 0)));
  Put(header, kType, "0");
  Put(header, kMagic,
      std::string_view("ustar\0"
                       "00",
                       kMagic.size));
  // Over the header with blanks in the sum's place.
  Put(header, kChecksum, std::string(kChecksum.size, ' '));
  uint64_t sum = 0;
  for (const char c : header) {
    sum += static_cast<unsigned char>(c);
  }
  Put(header, kChecksum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

}  // namespace

StatusOr<std::string> Tar(std::span<const TarFile> files, WallTime when) {
  std::string archive;
  for (const TarFile& file : files) {
    if (file.path.empty() || file.path.size() > kMostName || file.path.front() == '/') {
      return InvalidArgument("{}: no path for an archive: relative, at most {} bytes", file.path,
                             kMostName);
    }
    archive += HeaderOf(file, when);
    archive += file.text;
    archive.append((kBlock - file.text.size() % kBlock) % kBlock, '\0');
  }
  archive.append(2 * kBlock, '\0');
  return archive;
}

}  // namespace kgpu::compress
