#include "src/diagnose/image/tar.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kLongTextLimit = size_t{1} << 20;
// Extended headers before one file: packers write two or three.
constexpr size_t kExtendedLimit = 16;
// No file of an image has so many bytes; larger numbers are broken headers.
constexpr uint64_t kSizeLimit = uint64_t{1} << 46;

struct Field {
  size_t at = 0;
  size_t size = 0;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kSum{148, 8};
constexpr Field kMagic{257, 5};
constexpr Field kPrefix{345, 155};
constexpr size_t kType = 156;

std::string_view BytesOf(std::string_view block, Field field) {
  return block.substr(field.at, field.size);
}

std::string_view FieldText(std::string_view block, Field field) {
  const std::string_view bytes = BytesOf(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

// Octal digits, or GNU's base 256 with the highest bit set.
std::optional<uint64_t> NumberOf(std::string_view block, Field field) {
  const std::string_view bytes = BytesOf(block, field);
  if ((static_cast<unsigned char>(bytes[0]) & 0x80U) != 0) {
    uint64_t number = 0;
    for (const char c : bytes.substr(field.size - sizeof(uint64_t))) {
      number = number << 8U | static_cast<unsigned char>(c);
    }
    return number;
  }
  const std::string_view digits = Trim(FieldText(block, field));
  return digits.empty() ? std::optional<uint64_t>(0) : ParseUint(digits, 8);
}

bool HasRightSum(std::string_view block) {
  uint64_t sum = kSum.size * ' ';
  for (size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_sum ? 0U : static_cast<unsigned char>(block[i]);
  }
  return NumberOf(block, kSum) == sum;
}

std::string PathOf(std::string_view block) {
  const std::string_view name = FieldText(block, kName);
  const bool is_ustar = BytesOf(block, kMagic) == "ustar";
  const std::string_view prefix = is_ustar ? FieldText(block, kPrefix) : std::string_view();
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

struct Extended {
  std::optional<std::string> path;
  std::optional<uint64_t> size;
};

// "<length> <name>=<value>\n"; the length counts the whole record.
void ReadExtended(std::string_view text, Extended& extended) {
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    const auto length = ParseUint(text.substr(0, std::min(blank, text.size())));
    if (!length || blank == std::string_view::npos || *length <= blank + 1 ||
        *length > text.size()) {
      return;
    }
    std::string_view record = text.substr(blank + 1, *length - blank - 1);
    record.remove_suffix(record.ends_with('\n') ? 1 : 0);
    if (record.starts_with("path=")) {
      extended.path = record.substr(5);
    } else if (record.starts_with("size=")) {
      extended.size = ParseUint(record.substr(5));
    }
    text.remove_prefix(*length);
  }
}

std::string WithoutDot(const std::string& path) {
  std::string_view view = path;
  while (view.starts_with("./") || view.starts_with('/')) {
    view.remove_prefix(view.starts_with('/') ? 1 : 2);
  }
  return std::string(view);
}

}  // namespace

StatusOr<bool> TarReader::ReadBlock(std::string& block) {
  block.resize(kBlock);
  size_t have = 0;
  while (have < kBlock) {
    ASSIGN_OR_RETURN(const size_t got, source_.Read(std::span(block.data() + have, kBlock - have)));
    if (got == 0) {
      break;
    }
    have += got;
  }
  at_ += have;
  if (have == 0) {
    return false;
  }
  if (have < kBlock) {
    return InvalidArgument("byte {}: the archive ends inside a header", at_);
  }
  return block.find_first_not_of('\0') != std::string::npos;
}

Status TarReader::Advance(uint64_t count) {
  at_ += count;
  return source_.Skip(count);
}

StatusOr<std::string> TarReader::ReadLongText(uint64_t size) {
  left_ = size;
  filling_ = (kBlock - size % kBlock) % kBlock;
  ASSIGN_OR_RETURN(std::string text, ReadBody(kLongTextLimit));
  RETURN_IF_ERROR(Advance(filling_));
  filling_ = 0;
  return text;
}

StatusOr<bool> TarReader::Next(TarEntry& entry) {
  RETURN_IF_ERROR(Advance(left_ + filling_));
  left_ = 0;
  filling_ = 0;
  Extended extended;
  std::string block;
  for (size_t i = 0; i <= kExtendedLimit; ++i) {
    ASSIGN_OR_RETURN(const bool is_header, ReadBlock(block));
    if (!is_header) {
      return false;
    }
    const std::optional<uint64_t> size = NumberOf(block, kSize);
    if (!HasRightSum(block) || !size || *size > kSizeLimit) {
      return InvalidArgument("byte {}: not a tar header", at_ - kBlock);
    }
    const char type = block[kType];
    if (type != 'x' && type != 'g' && type != 'L' && type != 'K') {
      left_ = std::min(extended.size.value_or(*size), kSizeLimit);
      filling_ = (kBlock - left_ % kBlock) % kBlock;
      entry.path = WithoutDot(extended.path ? *std::move(extended.path) : PathOf(block));
      entry.is_file = type == '0' || type == '\0' || type == '7';
      entry.size = left_;
      entry.offset = at_;
      return true;
    }
    ASSIGN_OR_RETURN(std::string text, ReadLongText(*size));
    if (type == 'x') {
      ReadExtended(text, extended);
    } else if (type == 'L') {
      extended.path = text.substr(0, text.find('\0'));
    }
  }
  return InvalidArgument("byte {}: more than {} extended headers for one file", at_,
                         kExtendedLimit);
}

StatusOr<std::string> TarReader::ReadBody(size_t limit) {
  if (left_ > limit) {
    return OutOfRange("{} bytes exceed the limit of {}", left_, limit);
  }
  std::string text(left_, '\0');
  size_t have = 0;
  while (have < text.size()) {
    ASSIGN_OR_RETURN(const size_t got,
                     source_.Read(std::span(text.data() + have, text.size() - have)));
    if (got == 0) {
      return InvalidArgument("byte {}: the archive ends inside a file", at_ + have);
    }
    have += got;
  }
  at_ += have;
  left_ = 0;
  return text;
}

}  // namespace kgpu::image
