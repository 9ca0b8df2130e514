#include "src/preload/limits.h"

#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

struct Word {
  const char* text;
  size_t size;
};

bool Is(const Word& word, const char* text) {
  for (size_t at = 0; at < word.size; ++at) {
    if (text[at] == '\0' || text[at] != word.text[at]) {
      return false;
    }
  }
  return text[word.size] == '\0';
}

bool ParseNumber(const Word& word, uint64_t* number) {
  uint64_t value = 0;
  for (size_t at = 0; at < word.size; ++at) {
    const char digit = word.text[at];
    if (digit < '0' || digit > '9' || value > (UINT64_MAX - 9) / 10) {
      return false;
    }
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  *number = value;
  return word.size > 0;
}

bool IsIdentifier(const Word& word) {
  for (size_t at = 0; at < word.size; ++at) {
    const char letter = word.text[at];
    const bool is_ok = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '/';
    if (!is_ok) {
      return false;
    }
  }
  return true;
}

const char* ReadDevice(const Word& value, Limits* limits) {
  if (value.size == 0 || value.size >= kUuidTextSize || !IsIdentifier(value)) {
    return "device: want a UUID such as GPU-5d…";
  }
  for (size_t at = 0; at < value.size; ++at) {
    limits->device[at] = value.text[at];
  }
  limits->device[value.size] = '\0';
  return nullptr;
}

// Keys whose values are numbers. Returns null for others, too.
const char* ReadNumber(const Word& key, bool is_number, uint64_t number, Limits* limits) {
  if (Is(key, "memory")) {
    limits->memory = number;
    return is_number && number > 0 ? nullptr : "memory: want a number of bytes above 0";
  }
  if (Is(key, "context")) {
    limits->context = number;
    return is_number ? nullptr : "context: want a number of bytes";
  }
  if (Is(key, "pinned")) {
    limits->is_pinned_counted = number == 1;
    return is_number && number <= 1 ? nullptr : "pinned: want 0 or 1";
  }
  if (Is(key, "compute")) {
    limits->compute = static_cast<uint32_t>(number);
    return is_number && number >= 1 && number <= 100 ? nullptr : "compute: want 1 to 100";
  }
  return nullptr;
}

// One line; `has_version` becomes true when it is the version.
const char* ReadLine(const Word& key, const Word& value, Limits* limits, bool* has_version) {
  uint64_t number = 0;
  const bool is_number = ParseNumber(value, &number);
  if (Is(key, "version")) {
    *has_version = true;
    return is_number && number == 1 ? nullptr : "version: only 1 is known: update kgpu";
  }
  if (Is(key, "device")) {
    return ReadDevice(value, limits);
  }
  if (Is(key, "unknown")) {
    limits->may_call_unknown = Is(value, "flag");
    return Is(value, "flag") || Is(value, "refuse") ? nullptr : "unknown: want refuse or flag";
  }
  return ReadNumber(key, is_number, number, limits);
}

Word NextWord(const char* text, size_t end, size_t* at) {
  while (*at < end && (text[*at] == ' ' || text[*at] == '\t')) {
    ++*at;
  }
  const size_t start = *at;
  while (*at < end && text[*at] != ' ' && text[*at] != '\t') {
    ++*at;
  }
  return {text + start, *at - start};
}

}  // namespace

const char* ParseLimits(const char* text, size_t size, Limits* limits) {
  *limits = Limits{};
  if (size > kMaxLimitsSize) {
    return "longer than 4096 bytes";
  }
  bool has_version = false;
  for (size_t start = 0; start < size;) {
    size_t end = start;
    while (end < size && text[end] != '\n') {
      ++end;
    }
    size_t at = start;
    const Word key = NextWord(text, end, &at);
    const Word value = NextWord(text, end, &at);
    const char* problem = ReadLine(key, value, limits, &has_version);
    if (problem != nullptr) {
      return problem;
    }
    start = end + 1;
  }
  if (!has_version) {
    return "no version: want a line \"version 1\"";
  }
  if (limits->device[0] == '\0') {
    return "no device: want a line \"device GPU-…\"";
  }
  return limits->memory == 0 ? "no memory: want a line \"memory BYTES\"" : nullptr;
}

}  // namespace kgpu::preload
