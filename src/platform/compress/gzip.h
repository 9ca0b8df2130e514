// gzip, in two parts that are compressed at different times: the first is kept and sent many times,
// the second is made again for each page. Together they are one gzip member, as every reader takes.
// Source: RFC 1952, RFC 1951.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kgpu::compress {

// The beginning of a page: the member's header and its first blocks, to a byte's end.
struct GzipFront {
  std::string bytes{};
  uint32_t crc = 0;
  uint64_t size = 0;  // of the plain text
};

// Makes one out of pieces, so that the plain text need not be in memory as a whole.
class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void Add(std::string_view text);
  // Once, at the end.
  GzipFront Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The rest of the page behind `front`, and the member's end. `text` may be empty.
std::string CompressRest(const GzipFront& front, std::string_view text);

}  // namespace kgpu::compress
