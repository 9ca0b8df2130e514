#include "src/diagnose/image/test_tar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

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

std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string bytes(text);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  EXPECT_EQ(deflateEnd(&stream), Z_OK);
  return packed;
}

std::string Zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
  EXPECT_EQ(ZSTD_isError(size), 0U);
  packed.resize(size);
  return packed;
}

}  // namespace kgpu::image
