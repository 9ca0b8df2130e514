// gzip in two parts that are compressed at different times: the first is cached and sent many
// times, the second is made for each page. Together they form one gzip member, which every reader
// accepts. Source: RFC 1952, RFC 1951.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kgpu::compress {

// The first part of a page: the member's header and its first blocks, up to a byte boundary.
struct GzipFront {
  std::string bytes{};
  uint32_t crc = 0;
  uint64_t size = 0;  // of the uncompressed text
};

// Builds a GzipFront from pieces, so that the whole text need not be in memory.
class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void Add(std::string_view text);
  // Call once, at the end.
  GzipFront Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The rest of the page after `front`, with the end of the member. `text` may be empty.
std::string CompressRest(const GzipFront& front, std::string_view text);

}  // namespace kgpu::compress
