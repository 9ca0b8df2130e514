#include "src/platform/base/random_text.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

namespace kgpu {

StatusOr<std::string> RandomHex(size_t bytes) {
  // A read of so few is never cut short. Source: getrandom(2).
  std::array<unsigned char, kMaxRandomBytes> random{};
  if (bytes > random.size()) {
    return InvalidArgument("{} random bytes are more than {}", bytes, random.size());
  }
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return ErrnoStatus(errno, "read random bytes");
  }
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += fmt::format("{:02x}", random.at(i));
  }
  return text;
}

}  // namespace kgpu
