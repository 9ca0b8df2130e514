#include "src/container/shim/visible_devices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/container/cdi/names.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

constexpr uint64_t kImexChannels = uint64_t{1} << 20;

// The words of a comma-separated list without empty ones, within the limits.
StatusOr<std::vector<std::string_view>> WordsOf(std::string_view text) {
  if (text.size() > kLongestList) {
    return InvalidArgument("the list has {} bytes, limit {}", text.size(), kLongestList);
  }
  std::vector<std::string_view> words;
  for (const std::string_view piece : Split(text, ',')) {
    const std::string_view word = Trim(piece);
    if (word.size() > kLongestName) {
      return InvalidArgument("\"{}\" has {} characters, limit {}", Printable(word, 40), word.size(),
                             kLongestName);
    }
    if (!word.empty()) {
      words.push_back(word);
    }
  }
  if (words.size() > kMostNames) {
    return InvalidArgument("{} devices requested, limit {}", words.size(), kMostNames);
  }
  return words;
}

// Indices, UUIDs, "0:1", and "MIG-GPU-…/1/0" of old drivers. Never a path: no dot.
bool IsPlainName(std::string_view word) {
  return std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == ':' || c == '/' || c == '_';
  });
}

}  // namespace

StatusOr<CdiName> ParseCdiName(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument("\"{}\" must be a CDI name such as kgpu.dev/gpu=0", Printable(text, 80));
  }
  const std::string_view kind = text.substr(0, equals);
  const std::string_view device = text.substr(equals + 1);
  RETURN_IF_ERROR(Annotate(cdi::ParseKind(kind).status(), "\"{}\"", Printable(text, 80)));
  RETURN_IF_ERROR(Annotate(cdi::ValidateDeviceName(device), "\"{}\"", Printable(text, 80)));
  return CdiName{std::string(kind), std::string(device)};
}

StatusOr<DeviceList> ParseVisibleDevices(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string_view> words, WordsOf(text));
  DeviceList list;
  bool has_none = false;
  for (const std::string_view word : words) {
    if (word == "void") {
      return DeviceList();
    }
    if (word == "none") {
      has_none = true;
    } else if (word == "all") {
      list.all = true;
    } else if (word.find('=') != std::string_view::npos) {
      ASSIGN_OR_RETURN(list.cdi.emplace_back(), ParseCdiName(word));
    } else if (IsPlainName(word)) {
      list.names.emplace_back(word);
    } else {
      return InvalidArgument("\"{}\" must be an index, UUID, GPU:MIG pair or CDI name",
                             Printable(word, 80));
    }
  }
  const bool has_devices = list.all || !list.names.empty() || !list.cdi.empty();
  if (has_none && has_devices) {
    return InvalidArgument("\"none\" cannot be combined with devices: remove one of them");
  }
  if (has_devices) {
    list.kind = DeviceList::Kind::kDevices;
  } else if (has_none) {
    list.kind = DeviceList::Kind::kDriverOnly;
  }
  return list;
}

StatusOr<std::vector<CdiName>> ParseCdiNames(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string_view> words, WordsOf(text));
  std::vector<CdiName> names;
  for (const std::string_view word : words) {
    ASSIGN_OR_RETURN(names.emplace_back(), ParseCdiName(word));
  }
  return names;
}

StatusOr<std::vector<std::string>> ParseImexChannels(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string_view> words, WordsOf(text));
  std::vector<std::string> channels;
  for (const std::string_view word : words) {
    const std::optional<uint64_t> channel = ParseUint(word);
    if (!channel || *channel >= kImexChannels) {
      return InvalidArgument("IMEX channel \"{}\" must be a number below {}", Printable(word, 40),
                             kImexChannels);
    }
    channels.push_back(std::to_string(*channel));
  }
  return channels;
}

}  // namespace kgpu::shim
