#include "src/platform/compress/gzip.h"

#define ZLIB_CONST  // zlib only reads its input
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace kgpu::compress {
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

// The checksum of `text` after text with the checksum `before`; 0 for no text.
uint32_t CrcOf(std::string_view text, uint32_t before) {
  return text.empty() ? before : static_cast<uint32_t>(crc32_z(before, BytesOf(text), text.size()));
}

// A stream of raw blocks.
class Deflater {
 public:
  Deflater() {
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kRawWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      std::abort();  // there is no memory, its only cause
    }
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // Appends what comes of `text` to `out`. `flush` is Z_NO_FLUSH, Z_SYNC_FLUSH or, at the end of
  // the stream, Z_FINISH.
  void Add(std::string_view text, int flush, std::string& out) {
    stream_.next_in = BytesOf(text);
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      std::array<char, 8192> piece;  // NOLINT: filled before it is read
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());  // NOLINT: as above
      stream_.avail_out = piece.size();
      deflate(&stream_, flush);
      out.append(piece.data(), piece.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
};

void AppendLittleEndian(uint32_t number, std::string& out) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(number >> shift & 0xff);
  }
}

}  // namespace

struct GzipWriter::State {
  Deflater deflater;
  GzipFront front;
};

GzipWriter::GzipWriter() : state_(std::make_unique<State>()) {
  state_->front.bytes.assign(kHeader, sizeof kHeader);
}

GzipWriter::~GzipWriter() = default;

void GzipWriter::Add(std::string_view text) {
  GzipFront& front = state_->front;
  front.crc = CrcOf(text, front.crc);
  front.size += text.size();
  state_->deflater.Add(text, Z_NO_FLUSH, front.bytes);
}

GzipFront GzipWriter::Finish() {
  GzipFront& front = state_->front;
  state_->deflater.Add({}, Z_SYNC_FLUSH, front.bytes);
  front.bytes.shrink_to_fit();
  return std::move(front);
}

std::string CompressRest(const GzipFront& front, std::string_view text) {
  std::string rest;
  Deflater().Add(text, Z_FINISH, rest);
  const auto crc = crc32_combine(front.crc, CrcOf(text, 0), static_cast<z_off_t>(text.size()));
  AppendLittleEndian(static_cast<uint32_t>(crc), rest);
  AppendLittleEndian(static_cast<uint32_t>(front.size + text.size()), rest);
  return rest;
}

}  // namespace kgpu::compress
