#include "src/diagnose/image/test_tar.h"

#include <fmt/format.h>

namespace kgpu::image {
namespace {

constexpr size_t kBlock = 512;

void Put(std::string& block, size_t at, std::string_view text) {
  block.replace(at, text.size(), text);
}

}  // namespace

std::string TarFile(std::string_view path, std::string_view body, char type) {
  std::string block(kBlock, '\0');
  Put(block, 0, path.substr(0, 100));
  Put(block, 100, "0000644");
  Put(block, 124, fmt::format("{:011o}", body.size()));
  Put(block, 148, "        ");
  block[156] = type;
  Put(block, 257, "ustar");
  Put(block, 263, "00");
  unsigned sum = 0;
  for (const char c : block) {
    sum += static_cast<unsigned char>(c);
  }
  Put(block, 148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  block.append(body);
  block.resize((block.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return block;
}

std::string TarEnd() {
  return std::string(2 * kBlock, '\0');
}

}  // namespace kgpu::image
