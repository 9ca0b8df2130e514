#include "src/preload/file_tag.h"

#include "src/preload/system.h"
#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

// Names lie in one range, above the offsets of files and with room for the size below 2^63.
constexpr uint64_t kFirstName = uint64_t{1} << 61;
constexpr uint64_t kMaxSize = uint64_t{1} << 50;

// Two numbers at the end of a line.
struct Ends {
  uint64_t first;
  uint64_t last;
};

Ends LastNumbers(const char* line, const char* end) {
  Ends ends{};
  bool is_between = true;
  for (const char* at = line; at < end; ++at) {
    const bool is_digit = *at >= '0' && *at <= '9';
    if (is_digit && is_between) {
      ends = {.first = ends.last, .last = 0};
    }
    ends.last = is_digit ? ends.last * 10 + static_cast<uint64_t>(*at - '0') : ends.last;
    is_between = *at == ' ' || *at == '\t';
  }
  return ends;
}

bool Contains(const char* line, const char* end, const char* word) {
  const size_t size = Length(word);
  for (const char* at = line; at + size <= end; ++at) {
    if (StartsWith(at, word)) {
      return true;
    }
  }
  return false;
}

}  // namespace

uint64_t MakeTagName(uint64_t number) {
  return kFirstName + (number >> 4);
}

bool TagFile(int descriptor, const FileTag& tag) {
  return tag.size > 0 && tag.size < kMaxSize &&
         LockRange(descriptor, {.start = tag.name, .size = tag.size});
}

bool ReadFileTag(int descriptor, FileTag* tag) {
  char text[4096];
  Line path;
  path.Add("/proc/self/fdinfo/").Add(static_cast<uint64_t>(descriptor));
  const int64_t got = descriptor < 0 ? -1 : ReadFile(path.text(), text, sizeof(text) - 1);
  const char* end = text + (got > 0 ? got : 0);
  text[got > 0 ? got : 0] = '\0';
  uint32_t count = 0;
  for (const char* line = text; line < end;) {
    const char* next = line;
    while (next < end && *next != '\n') {
      ++next;
    }
    const Ends ends = LastNumbers(line, next);
    const bool is_tag = StartsWith(line, "lock:") && Contains(line, next, "OFDLCK") &&
                        ends.first >= kFirstName && ends.last >= ends.first &&
                        ends.last - ends.first < kMaxSize;
    if (is_tag) {
      *tag = {.name = ends.first, .size = ends.last - ends.first + 1};
      ++count;
    }
    line = next + 1;
  }
  return count == 1;
}

}  // namespace kgpu::preload
