// Decodes the body of a message from the bytes after its header. Strict, and independent of how the
// bytes were split: refuses what others might read another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kgpu::http {

class BodyDecoder {
 public:
  enum class State : uint8_t {
    kMore,
    kDone,
    kBad,          // invalid chunk size or chunk end
    kTooLarge,     // over the limit
    kLineTooLong,  // the line before a chunk, or the trailer fields
  };

  // A body of `length` bytes; one of 0 bytes is done immediately.
  static BodyDecoder OfLength(uint64_t length, size_t limit);
  // Source: RFC 9112, section 7.1. Skips extensions and trailer fields; a line with extensions, and
  // all trailer fields together, may have `line_limit` bytes.
  static BodyDecoder OfChunks(size_t limit, size_t line_limit);
  static BodyDecoder UntilClose(size_t limit);

  // Consumes bytes from the front of `bytes` up to the end of the body; returns how many.
  size_t Feed(std::string_view bytes);
  // The peer closed the connection.
  void FeedEnd();
  State state() const { return state_; }
  std::string& body() { return body_; }

 private:
  enum class Part : uint8_t {
    kPlain,       // until left_ is 0, or the connection ends
    kFirstDigit,  // of a chunk's size
    kSize,        // further digits
    kExtension,   // the rest of that line
    kSizeEnd,     // its LF
    kData,        // left_ bytes
    kDataCr,      // after the data
    kDataLf,
    kFieldStart,  // of a trailer field, or of the empty line that ends the body
    kField,
    kFieldEnd,  // its LF
    kEnd,       // the last LF
  };

  BodyDecoder(Part part, uint64_t left, size_t limit, size_t line_limit)
      : part_(part), left_(left), limit_(limit), line_limit_(line_limit) {}
  size_t TakeData(std::string_view bytes);
  void TakeLineByte(char byte);
  void TakeDigit(char byte);
  void BeginChunk();
  void Expect(char byte, char wanted, Part next);

  State state_ = State::kMore;
  Part part_;
  uint64_t left_;
  size_t limit_;
  size_t line_limit_;
  size_t line_size_ = 0;
  std::string body_;
};

}  // namespace kgpu::http
