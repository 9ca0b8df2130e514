#include "src/metrics/gzip.h"

#define ZLIB_CONST  // zlib only reads its input
#include <zlib.h>

#include <cstdlib>

namespace kgpu::metrics {
namespace {

// The text repeats itself so much that a better level gains little and costs much.
constexpr int kLevel = 1;
// Without zlib's own header and end: ours stand around all parts.
constexpr int kRawWindow = -15;
constexpr int kMemoryLevel = 8;
// "deflate", no name, no time, fastest level, made on Unix.
constexpr char kHeader[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 4, 3};

const Bytef* BytesOf(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());  // NOLINT: zlib's bytes are unsigned
}

uint32_t CrcOf(std::string_view text) {
  return static_cast<uint32_t>(crc32_z(crc32_z(0, nullptr, 0), BytesOf(text), text.size()));
}

// Appends `text` compressed; `flush` is Z_FINISH at the stream's end, or Z_SYNC_FLUSH.
void Deflate(std::string_view text, int flush, std::string& out) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kRawWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    std::abort();  // there is no memory, its only cause
  }
  const size_t begin = out.size();
  constexpr size_t kFlushBytes = 16;  // a block's end is not part of the bound
  out.resize(begin + deflateBound(&stream, text.size()) + kFlushBytes);
  stream.next_in = BytesOf(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);  // NOLINT: as above
  stream.avail_out = static_cast<uInt>(out.size() - begin);
  deflate(&stream, flush);
  out.resize(begin + stream.total_out);
  deflateEnd(&stream);
}

void AppendLittleEndian(uint32_t number, std::string& out) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(number >> shift & 0xff);
  }
}

}  // namespace

GzipFront CompressFront(std::string_view text) {
  GzipFront front{
      .bytes = std::string(kHeader, sizeof kHeader), .crc = CrcOf(text), .size = text.size()};
  if (!text.empty()) {
    Deflate(text, Z_SYNC_FLUSH, front.bytes);
  }
  front.bytes.shrink_to_fit();
  return front;
}

std::string CompressRest(const GzipFront& front, std::string_view text) {
  std::string rest;
  Deflate(text, Z_FINISH, rest);
  const auto crc = crc32_combine(front.crc, CrcOf(text), static_cast<z_off_t>(text.size()));
  AppendLittleEndian(static_cast<uint32_t>(crc), rest);
  AppendLittleEndian(static_cast<uint32_t>(front.size + text.size()), rest);
  return rest;
}

}  // namespace kgpu::metrics
