#include "src/platform/net/http/body_decoder.h"

#include <algorithm>
#include <limits>

#include "src/platform/base/strings.h"

namespace kgpu::http {
namespace {

constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

bool IsText(char byte) {
  return (static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f) || byte == '\t';
}

}  // namespace

BodyDecoder BodyDecoder::OfLength(uint64_t length, size_t limit) {
  BodyDecoder decoder(Part::kPlain, length, limit, 0);
  if (length > limit) {
    decoder.state_ = State::kTooLarge;
  } else if (length == 0) {
    decoder.state_ = State::kDone;
  }
  return decoder;
}

BodyDecoder BodyDecoder::OfChunks(size_t limit, size_t line_limit) {
  return {Part::kFirstDigit, 0, limit, line_limit};
}

BodyDecoder BodyDecoder::UntilClose(size_t limit) {
  return {Part::kPlain, kEndless, limit, 0};
}

size_t BodyDecoder::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && state_ == State::kMore) {
    if (part_ == Part::kPlain || part_ == Part::kData) {
      taken += TakeData(bytes.substr(taken));
    } else {
      TakeLineByte(bytes[taken++]);
    }
  }
  return taken;
}

void BodyDecoder::FeedEnd() {
  if (state_ == State::kMore) {
    state_ = left_ == kEndless ? State::kDone : State::kBad;
  }
}

size_t BodyDecoder::TakeData(std::string_view bytes) {
  bytes = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
  if (bytes.size() > limit_ - body_.size()) {
    state_ = State::kTooLarge;
    return 0;
  }
  body_ += bytes;
  if (left_ == kEndless) {
    return bytes.size();
  }
  left_ -= bytes.size();
  if (left_ == 0 && part_ == Part::kPlain) {
    state_ = State::kDone;
  } else if (left_ == 0) {
    part_ = Part::kDataCr;
  }
  return bytes.size();
}

void BodyDecoder::TakeLineByte(char byte) {
  if (++line_size_ > line_limit_) {
    state_ = State::kLineTooLong;
    return;
  }
  switch (part_) {
    case Part::kFirstDigit:
    case Part::kSize:
      return TakeDigit(byte);
    case Part::kExtension:
      if (byte == '\r') {
        part_ = Part::kSizeEnd;
      } else if (!IsText(byte)) {
        state_ = State::kBad;
      }
      return;
    case Part::kSizeEnd:
      Expect(byte, '\n', Part::kData);
      return BeginChunk();
    case Part::kDataCr:
      return Expect(byte, '\r', Part::kDataLf);
    case Part::kDataLf:
      line_size_ = 0;
      return Expect(byte, '\n', Part::kFirstDigit);
    case Part::kFieldStart:
    case Part::kField:
      if (byte == '\r') {
        part_ = part_ == Part::kFieldStart ? Part::kEnd : Part::kFieldEnd;
      } else if (IsText(byte)) {
        part_ = Part::kField;
      } else {
        state_ = State::kBad;
      }
      return;
    case Part::kFieldEnd:
      return Expect(byte, '\n', Part::kFieldStart);
    case Part::kEnd:
      state_ = byte == '\n' ? State::kDone : State::kBad;
      return;
    case Part::kPlain:
    case Part::kData:
      return;  // no lines
  }
}

void BodyDecoder::TakeDigit(char byte) {
  if (const auto digit = ParseUint({&byte, 1}, 16)) {
    // A number with more digits than a limit can have is too large, whatever follows.
    if (left_ > limit_) {
      state_ = State::kTooLarge;
      return;
    }
    left_ = left_ * 16 + *digit;
    part_ = Part::kSize;
  } else if (part_ == Part::kSize && (byte == ';' || byte == '\r')) {
    part_ = byte == ';' ? Part::kExtension : Part::kSizeEnd;
  } else {
    state_ = State::kBad;
  }
}

void BodyDecoder::BeginChunk() {
  if (state_ != State::kMore) {
    return;
  }
  line_size_ = 0;
  if (left_ == 0) {
    part_ = Part::kFieldStart;
  } else if (left_ > limit_ - body_.size()) {
    state_ = State::kTooLarge;
  }
}

void BodyDecoder::Expect(char byte, char wanted, Part next) {
  if (byte == wanted) {
    part_ = next;
  } else {
    state_ = State::kBad;
  }
}

}  // namespace kgpu::http
