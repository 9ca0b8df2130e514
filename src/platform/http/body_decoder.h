// The body of a message out of the bytes behind its header. Strict, and blind to how the bytes were
// cut into pieces: what others might read another way is refused.
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
    kBad,          // a chunk's size or end is none
    kTooLarge,     // more than the limit
    kLineTooLong,  // the line before a chunk, or the fields behind them
  };

  // A body of so many bytes; 0 is done at once.
  static BodyDecoder OfLength(uint64_t length, size_t limit);
  // Source: RFC 9112, section 7.1. Extensions and the fields behind the chunks are skipped; a line
  // with extensions, and all those fields together, may have `line_limit` bytes.
  static BodyDecoder OfChunks(size_t limit, size_t line_limit);
  static BodyDecoder UntilClose(size_t limit);

  // Takes bytes from the front of `bytes` to the end of the body; returns how many.
  size_t Feed(std::string_view bytes);
  // The peer closed.
  void FeedEnd();
  State state() const { return state_; }
  std::string& body() { return body_; }

 private:
  enum class Part : uint8_t {
    kPlain,       // to the end of left_, or of the connection
    kFirstDigit,  // of a chunk's size
    kSize,        // further digits
    kExtension,   // the rest of that line
    kSizeEnd,     // its LF
    kData,        // left_ bytes
    kDataCr,      // behind them
    kDataLf,
    kFieldStart,  // of a field behind the chunks, or of the empty line that ends the body
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
