#include "src/platform/compress/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace kgpu::compress {
namespace {

// As a reader does that takes one member and no more; "" for what is no gzip.
std::string Decompress(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, kGzipWindow), Z_OK);
  std::string text(size_t{1} << 22, '\0');
  std::string input = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());  // NOLINT: zlib's bytes are unsigned
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());  // NOLINT: as above
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

GzipFront CompressFront(const std::string& text) {
  GzipWriter writer;
  writer.Add(text);
  return writer.Finish();
}

std::string RoundTrip(const std::string& front, const std::string& rest) {
  const GzipFront compressed = CompressFront(front);
  return Decompress(compressed.bytes + CompressRest(compressed, rest));
}

TEST(GzipTest, TwoPartsAreOneMember) {
  EXPECT_EQ(RoundTrip("one ", "two"), "one two");
}

TEST(GzipTest, EitherPartMayBeEmpty) {
  EXPECT_EQ(RoundTrip("", "two"), "two");
  EXPECT_EQ(RoundTrip("one", ""), "one");
  EXPECT_EQ(RoundTrip("", ""), "");
}

TEST(GzipTest, OneFrontServesManyRests) {
  const GzipFront front = CompressFront("front ");
  EXPECT_EQ(Decompress(front.bytes + CompressRest(front, "1")), "front 1");
  EXPECT_EQ(Decompress(front.bytes + CompressRest(front, "2")), "front 2");
}

TEST(GzipTest, TheFrontMayComeInPieces) {
  GzipWriter writer;
  for (int i = 0; i < 1000; ++i) {
    writer.Add("piece ");
    writer.Add("");
  }
  const GzipFront front = writer.Finish();
  EXPECT_EQ(front.size, 6000U);
  EXPECT_EQ(Decompress(front.bytes + CompressRest(front, "end")).substr(5990), "ece piece end");
}

TEST(GzipTest, LargeTextsStayWhole) {
  std::string page;
  unsigned noise = 1;
  while (page.size() < 900'000) {
    noise = noise * 1'664'525 + 1'013'904'223;
    page += "kgpu_gpu_utilization_ratio{gpu=\"" + std::to_string(noise) + "\"} 1\n";
  }
  const GzipFront front = CompressFront(page);
  EXPECT_LT(front.bytes.size(), page.size() / 2);
  EXPECT_EQ(Decompress(front.bytes + CompressRest(front, page)), page + page);
}

}  // namespace
}  // namespace kgpu::compress
