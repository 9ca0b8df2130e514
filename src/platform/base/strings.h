// Text handling that std lacks. Everything works on std::string_view and never allocates more than
// its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu {

// Removes leading and trailing blanks, tabs, carriage returns and newlines.
std::string_view Trim(std::string_view text);

// The pieces between separators; empty pieces stay. Split("a,,b", ',') is {"a", "", "b"}.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The words of a text separated by any run of blanks and tabs.
std::vector<std::string_view> Words(std::string_view text);

// `first` followed by `second`.
std::vector<std::string> Concat(std::vector<std::string> first,
                                const std::vector<std::string>& second);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Parses all of `text` as a number; nothing if it is empty, contains other characters or overflows.
// `base` 16 accepts an optional "0x".
std::optional<uint64_t> ParseUint(std::string_view text, int base = 10);

// ASCII only, like every name that we use.
std::string ToLower(std::string_view text);

// The candidate closest to `word`, for "did you mean …?"; nothing if none is close (edit distance
// over a third of the word's length). The earlier candidate wins a tie.
std::optional<std::string_view> Nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

// Controls, marks of direction and bytes that are not UTF-8 become \xNN: hostile input must not
// write to a terminal or break a log line. At most `limit` bytes of input, then "…".
std::string Printable(std::string_view text, size_t limit = 200);

}  // namespace kgpu
