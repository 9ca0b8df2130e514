// A worker for tests, in one thread: answers with frames as the input of the call says, one letter
// an action, so that a test can make it misbehave at any point.
//   e  the end   d  "data"   h  a head   f  a failure   x  exit 7   n  bytes that are no frame
//   i  an invalid head   b  64 KiB of data   o  an end of call 999   c  closes its output
//   p  reads no more
// Any other letter does nothing: the call stays open.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "src/functions/watchdog/frame.h"

namespace {

using kgpu::watchdog::FrameType;

constexpr int kInput = 3;
constexpr int kOutput = 4;

struct Head {
  uint32_t size = 0;
  char type = 0;
  uint32_t call = 0;
};

void WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(kOutput, bytes.data(), bytes.size());
    if (count <= 0) {
      _exit(0);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void Send(FrameType type, uint32_t call, std::string_view payload) {
  std::string frame;
  kgpu::watchdog::AppendFrame(frame, type, call, payload);
  WriteAll(frame);
}

std::string ReadExactly(size_t size) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t count = read(kInput, bytes.data() + have, size - have);
    if (count <= 0) {
      _exit(0);
    }
    have += static_cast<size_t>(count);
  }
  return bytes;
}

Head ReadHead() {
  const std::string bytes = ReadExactly(kgpu::watchdog::kFrameHead);
  const auto u32 = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    }
    return value;
  };
  return {.size = u32(0), .type = bytes[4], .call = u32(8)};
}

void Act(char letter, uint32_t call) {
  switch (letter) {
    case 'e':
      return Send(FrameType::kEnd, call, "");
    case 'd':
      return Send(FrameType::kData, call, "data");
    case 'h':
      return Send(FrameType::kHead, call, R"({"status":201,"headers":{"x-a":"1"}})");
    case 'i':
      return Send(FrameType::kHead, call, R"({"status":99})");
    case 'f':
      return Send(FrameType::kFailed, call, "no such thing");
    case 'x':
      _exit(7);
    case 'n':
      return WriteAll("Traceback (most recent call last):\n");
    case 'b':
      return Send(FrameType::kData, call, std::string(size_t{64} << 10, 'x'));
    case 'o':
      return Send(FrameType::kEnd, 999, "");
    case 'c':
      close(kOutput);
      return;
    case 'p':
      (void)pause();
      return;
    default:
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "broken") {
    return 5;
  }
  Send(FrameType::kReady, 0,
       argc > 1 && std::string_view(argv[1]) == "concurrent" ? R"({"concurrent":true})" : "{}");
  while (true) {
    const Head head = ReadHead();
    const std::string payload = ReadExactly(head.size);
    if (head.type == 'Q') {
      return 0;
    }
    if (head.type == 'D') {
      for (const char letter : payload) {
        Act(letter, head.call);
      }
    }
  }
}
