#include "src/functions/watchdog/frame.h"

#include <algorithm>
#include <cstring>

#include "src/platform/base/strings.h"

namespace kgpu::watchdog {
namespace {

constexpr std::string_view kFromWorker = "RHDEF";
// What a drained buffer may keep: one large frame must not cost memory for ever.
constexpr size_t kKeptBuffer = size_t{512} << 10;

// Bytes of a little-endian number; compilers make one instruction of it.
uint32_t ReadU32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

void PutU32(char* at, uint32_t value) {
  for (size_t i = 0; i < sizeof(value); ++i) {
    at[i] = static_cast<char>(value >> (8 * i));
  }
}

}  // namespace

void AppendFrameHead(std::string& out, FrameType type, uint32_t call, size_t payload) {
  const size_t at = out.size();
  out.resize(at + kFrameHead);
  PutU32(out.data() + at, static_cast<uint32_t>(payload));
  out[at + 4] = static_cast<char>(type);
  PutU32(out.data() + at + 8, call);
}

void AppendFrame(std::string& out, FrameType type, uint32_t call, std::string_view payload) {
  AppendFrameHead(out, type, call, payload.size());
  out.append(payload);
}

std::span<char> FrameDecoder::Room(size_t size) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kKeptBuffer && size <= kKeptBuffer) {
      buffer_ = std::string();
    }
  } else if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + size) {
    buffer_.resize(end_ + size);
  }
  return std::span(buffer_).subspan(end_, size);
}

StatusOr<std::optional<Frame>> FrameDecoder::Next() {
  if (!status_.ok()) {
    return status_;
  }
  const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
  if (rest.size() < kFrameHead) {
    return std::nullopt;
  }
  const size_t size = ReadU32(rest);
  if (kFromWorker.find(rest[4]) == std::string_view::npos || rest[5] != 0 || rest[6] != 0 ||
      rest[7] != 0) {
    status_ = InvalidArgument(
        "worker: \"{}\" is no head of a frame: only the worker library may write to descriptor 4",
        Printable(rest.substr(0, kFrameHead)));
    return status_;
  }
  if (size > kMaxPayload) {
    status_ =
        InvalidArgument("worker: a frame of {} bytes: at most {} are allowed", size, kMaxPayload);
    return status_;
  }
  if (rest.size() < kFrameHead + size) {
    return std::nullopt;
  }
  begin_ += kFrameHead + size;
  return Frame{.type = static_cast<FrameType>(rest[4]),
               .call = ReadU32(rest.substr(8)),
               .payload = rest.substr(kFrameHead, size)};
}

}  // namespace kgpu::watchdog
